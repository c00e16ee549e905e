"""Patterns over the core, written once and run by either client. They are pure, as the core is, and do not know each other.

Belongs here: the names of the recipes. Must not be here: a recipe. Each is loaded with its name: ``sw.recipes.HiLo``
loads the module of the sequences and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite.recipes.append import Append as Append
    from surewrite.recipes.append import AppendOutcome as AppendOutcome
    from surewrite.recipes.append import Appended as Appended
    from surewrite.recipes.buffered_counters import BufferedCounter as BufferedCounter
    from surewrite.recipes.counters import AtMostOnceCounter as AtMostOnceCounter
    from surewrite.recipes.counters import ExactCounter as ExactCounter
    from surewrite.recipes.counters import TransactionalCounter as TransactionalCounter
    from surewrite.recipes.counters import WindowedCounter as WindowedCounter
    from surewrite.recipes.idempotency import Idempotency as Idempotency
    from surewrite.recipes.idempotency import NotDone as NotDone
    from surewrite.recipes.idempotency_leases import Claim as Claim
    from surewrite.recipes.idempotency_leases import EffectUnknown as EffectUnknown
    from surewrite.recipes.idempotency_leases import LeaseLost as LeaseLost
    from surewrite.recipes.idempotency_leases import LeasedEffects as LeasedEffects
    from surewrite.recipes.idempotency_leases import NotKnown as NotKnown
    from surewrite.recipes.idempotency_leases import Running as Running
    from surewrite.recipes.idempotency_leases import StillRunning as StillRunning
    from surewrite.recipes.idempotency_records import AnswerNotKept as AnswerNotKept
    from surewrite.recipes.idempotency_records import Done as Done
    from surewrite.recipes.idempotency_records import IdempotencyKeyReused as IdempotencyKeyReused
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
    from surewrite.recipes.queue_batches import handle_queue_batch as handle_queue_batch
    from surewrite.recipes.queue_batches import queue_batch as queue_batch
    from surewrite.recipes.sequences import Gapless as Gapless
    from surewrite.recipes.sequences import HiLo as HiLo
    from surewrite.recipes.sharded_counters import ShardedCounter as ShardedCounter
    from surewrite.recipes.small_lists import ListOutcome as ListOutcome
    from surewrite.recipes.small_lists import ListPart as ListPart
    from surewrite.recipes.small_lists import SmallList as SmallList

_MODULES = {
    "AnswerNotKept": "idempotency_records",
    "Append": "append",
    "AppendOutcome": "append",
    "Appended": "append",
    "AtMostOnceCounter": "counters",
    "BufferedCounter": "buffered_counters",
    "Claim": "idempotency_leases",
    "Done": "idempotency_records",
    "EffectUnknown": "idempotency_leases",
    "EventOutcome": "ordered",
    "ExactCounter": "counters",
    "Gapless": "sequences",
    "HiLo": "sequences",
    "Idempotency": "idempotency",
    "IdempotencyKeyReused": "idempotency_records",
    "Judged": "ordered",
    "Lease": "leases",
    "LeaseLost": "idempotency_leases",
    "LeaseState": "leases",
    "LeasedEffects": "idempotency_leases",
    "ListOutcome": "small_lists",
    "ListPart": "small_lists",
    "NotDone": "idempotency",
    "NotKnown": "idempotency_leases",
    "Ordered": "ordered",
    "OrderedEvent": "ordered",
    "OrderedGroup": "ordered",
    "OrderedState": "ordered",
    "Running": "idempotency_leases",
    "ShardedCounter": "sharded_counters",
    "SmallList": "small_lists",
    "StillRunning": "idempotency_leases",
    "TieRule": "ordered",
    "Tombstones": "ordered",
    "TransactionalCounter": "counters",
    "WindowedCounter": "counters",
    "handle_queue_batch": "queue_batches",
    "queue_batch": "queue_batches",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - loaded with the first recipe that is asked for

    if name not in _MODULES:
        raise AttributeError(f"surewrite.recipes has no recipe {name!r}; there are: {', '.join(sorted(_MODULES))}")
    return getattr(import_module(f"surewrite.recipes.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
