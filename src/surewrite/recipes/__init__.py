"""Patterns over the core, written once and run by either client. They are pure, as the core is, and do not know each other.

Belongs here: the names of the recipes. Must not be here: a recipe. Each is loaded with its name: ``sw.recipes.HiLo``
loads the module of the sequences and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite.recipes.buffered_counters import BufferedCounter as BufferedCounter
    from surewrite.recipes.counters import AtMostOnceCounter as AtMostOnceCounter
    from surewrite.recipes.counters import ExactCounter as ExactCounter
    from surewrite.recipes.counters import TransactionalCounter as TransactionalCounter
    from surewrite.recipes.counters import WindowedCounter as WindowedCounter
    from surewrite.recipes.leases import Lease as Lease
    from surewrite.recipes.leases import LeaseState as LeaseState
    from surewrite.recipes.ordered import EventOutcome as EventOutcome
    from surewrite.recipes.ordered import Judged as Judged
    from surewrite.recipes.ordered import Ordered as Ordered
    from surewrite.recipes.ordered import OrderedEvent as OrderedEvent
    from surewrite.recipes.ordered import OrderedGroup as OrderedGroup
    from surewrite.recipes.ordered import OrderedState as OrderedState
    from surewrite.recipes.ordered import TieRule as TieRule
    from surewrite.recipes.ordered import Tombstones as Tombstones
    from surewrite.recipes.sequences import Gapless as Gapless
    from surewrite.recipes.sequences import HiLo as HiLo
    from surewrite.recipes.sharded_counters import ShardedCounter as ShardedCounter

_MODULES = {
    "AtMostOnceCounter": "counters",
    "BufferedCounter": "buffered_counters",
    "EventOutcome": "ordered",
    "ExactCounter": "counters",
    "Gapless": "sequences",
    "HiLo": "sequences",
    "Judged": "ordered",
    "Lease": "leases",
    "LeaseState": "leases",
    "Ordered": "ordered",
    "OrderedEvent": "ordered",
    "OrderedGroup": "ordered",
    "OrderedState": "ordered",
    "ShardedCounter": "sharded_counters",
    "TieRule": "ordered",
    "Tombstones": "ordered",
    "TransactionalCounter": "counters",
    "WindowedCounter": "counters",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - loaded with the first recipe that is asked for

    if name not in _MODULES:
        raise AttributeError(f"surewrite.recipes has no recipe {name!r}; there are: {', '.join(sorted(_MODULES))}")
    return getattr(import_module(f"surewrite.recipes.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
