"""Belongs here: counts of what becomes of writes, by table and type, and advice where an item stays contended. Must not be here: a clock, any decision.

Source of the advice: what optimistic concurrency costs on a hot item, "If a single item is updated hundreds of times per
second, the retry loop drives up latency and burns capacity on failed writes".
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from surewrite.errors import SurewriteWarning

ContentionKind = Literal["version", "transaction"]

KEYS_MAX: Final = 64
"""How many items of a type are watched at once: those that met a conflict last. Others are counted with their type only."""

WINDOW: Final = 64
"""After so many ends of writes and conflicts of one item its share of conflicts is looked at."""

WINDOWS_HIGH: Final = 2
"""So many windows in a row must be high, so that one burst is not taken for a design."""

SHARE_HIGH: Final = 0.5
"""From half on a change costs two writes and more."""

ADVICE: Final[Mapping[ContentionKind, str]] = {
    "version": (
        "half and more of the writes to one item lose against other writers, so that each change is written several times: count with"
        " sw.recipes.ShardedCounter or sw.recipes.BufferedCounter, collect results with sw.recipes.Append, or split the item"
    ),
    "transaction": (
        "half and more of the writes to one item meet a running transaction, so that each is sent several times:"
        " count with sw.recipes.ExactCounter, which needs no transaction, collect results with sw.recipes.Append, or split the item"
    ),
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What became of the writes of one type in one table, by this connection since it was made.

    ``writes`` were decided, with ``attempts`` requests. ``conflicts`` are refusals by a version that moved on, and requests
    that met a running transaction; a condition that does not hold is an answer, and not counted. ``recovered`` were
    recognised as an own earlier attempt, ``unknown`` ended so. ``advice`` says what to use instead, once an item of the type
    stayed contended. Counts are kept without a lock: where threads run side by side without the interpreter's, some may be missing.
    """

    writes: int = 0
    attempts: int = 0
    conflicts: int = 0
    recovered: int = 0
    unknown: int = 0
    advice: str | None = None


class TypeCounts:
    """The counts of one type in one table, and of its items that met a conflict lately."""

    __slots__ = ("advice", "attempts", "conflicts", "entity", "keys", "recovered", "unknown", "writes")

    def __init__(self, entity: str) -> None:
        self.entity = entity
        self.writes = 0
        self.attempts = 0
        self.conflicts = 0
        self.recovered = 0
        self.unknown = 0
        self.advice: str | None = None
        self.keys: OrderedDict[str, _KeyCounts] = OrderedDict()

    def end(self, key: Mapping[str, Any], attempts: int) -> None:
        """A write was decided. Only an item that met a conflict lately costs more than two additions."""
        self.writes += 1
        self.attempts += attempts
        if self.keys:
            name = str(key)
            watched = self.keys.get(name)
            if watched is not None:
                self._look(name, watched, None)

    def conflict(self, key: Mapping[str, Any], kind: ContentionKind) -> None:
        """A write lost against another writer."""
        self.conflicts += 1
        name = str(key)
        watched = self.keys.get(name)
        if watched is None:
            watched = self.keys[name] = _KeyCounts()
            if len(self.keys) > KEYS_MAX:
                self.keys.popitem(last=False)
        watched.conflicts += 1
        self._look(name, watched, kind)

    def _look(self, name: str, watched: _KeyCounts, kind: ContentionKind | None) -> None:
        watched.seen += 1
        if watched.seen < WINDOW:
            return
        high = watched.conflicts >= SHARE_HIGH * watched.seen
        watched.windows_high = watched.windows_high + 1 if high else 0
        if not watched.conflicts:
            self.keys.pop(name, None)
        watched.seen = watched.conflicts = 0
        if watched.windows_high >= WINDOWS_HIGH and self.advice is None:
            self._advise(kind or "version")

    def _advise(self, kind: ContentionKind) -> None:
        self.advice = f"{self.entity}: {ADVICE[kind]}"
        try:
            warnings.warn(self.advice, SurewriteWarning, stacklevel=2)
        except SurewriteWarning:
            # Where warnings are errors: the word of the write outranks advice, which the statistics still give.
            return


class _KeyCounts:
    """One watched item: the ends and conflicts of this window, and how many windows in a row were high."""

    __slots__ = ("conflicts", "seen", "windows_high")

    def __init__(self) -> None:
        self.seen = 0
        self.conflicts = 0
        self.windows_high = 0


class Contention:
    """The counts of all types of one database. Shared by its threads."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], TypeCounts] = {}

    def of(self, table: str, entity: str) -> TypeCounts:
        """The counts of a type in a table."""
        place = (table, entity)
        found = self._counts.get(place)
        return self._counts.setdefault(place, TypeCounts(entity)) if found is None else found

    def statistics(self, table: str, entity: str) -> Statistics:
        """The counts of a type in a table as they are now."""
        found = self._counts.get((table, entity))
        if found is None:
            return Statistics()
        return Statistics(found.writes, found.attempts, found.conflicts, found.recovered, found.unknown, found.advice)
