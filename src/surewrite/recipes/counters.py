"""Belongs here: counters of one item, each with its own promise in its name. Must not be here: counters over many items, counting in memory.

| class | counts | gives its value | cost of an addition |
|---|---|---|---|
| ``AtMostOnceCounter`` | at most once: under, where an answer is lost | yes | 1 write unit |
| ``ExactCounter`` | exactly once | yes | 1 write unit a KB, and it grows with the additions of one horizon |
| ``TransactionalCounter`` | exactly once | no | 2 write units |
| ``WindowedCounter`` | each event id exactly once in its window | no | 1 write unit a KB, and it grows with the ids of the window |

One item takes about 1,000 write units a second; a hotter counter is a ``ShardedCounter`` or a ``BufferedCounter``. None of
these rows is ever to be deleted or given a time to live. Source: outcomes C4, R8, R10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from math import floor
from typing import Any, ClassVar, Final

from surewrite.core.conditions import Change
from surewrite.core.effects import Operation, Steps, new_id
from surewrite.core.entities import Attribute, Entity, EntityBase, attribute
from surewrite.core.keys import Key
from surewrite.core.outcomes import Canceled, Marker, RefusalReason
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options, Scope, ScopedTable
from surewrite.core.service_time import told_moment
from surewrite.core.transaction_drafts import DraftedTransaction, TransactionDraft
from surewrite.core.transactions import commit
from surewrite.core.writes import NO_OPTIONS, create, update, upsert
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, TransactionConflict
from surewrite.recipes.settings import time_span, whole_number

HORIZON_SECONDS: Final = 900.0
HORIZON_SECONDS_MIN: Final = 600.0
"""An attempt may be executed five minutes after it was sent; an id is kept twice as long at least."""

TRIMMED_AT_ONCE: Final = 20
"""An update expression has at most 4 KB. Source: the Developer Guide, page "Service quotas"."""

ROUNDS_MAX: Final = 3
"""How often an addition in doubt is settled by reading before its doubt is told to the caller."""

TURNS_MAX: Final = 8
"""An exact addition makes the row where there is none, or meets another that trimmed it: a few turns."""


class CounterRow(Entity, discriminator="SUREWRITE_COUNTER", partition_key="COUNTER#{name}", sort_key="COUNTER"):
    """A plain count."""

    name: Attribute[str]
    count: Attribute[int] = attribute(default=0)


class ExactCounterRow(Entity, discriminator="SUREWRITE_EXACT_COUNTER", partition_key="COUNTER#{name}", sort_key="EXACT"):
    """A count, and of each operation of one horizon the count after it and when it was begun, in seconds since 1970.

    ``trimmed``: operations that were begun up to then may be missing from the row though they count.
    """

    name: Attribute[str]
    count: Attribute[int] = attribute(default=0)
    counts: Attribute[dict[str, int]] = attribute(default_factory=dict)
    times: Attribute[dict[str, int]] = attribute(default_factory=dict)
    trimmed: Attribute[int] = attribute(default=0)


class CounterWindow(Entity, discriminator="SUREWRITE_COUNTER_WINDOW", partition_key="COUNTER#{name}", sort_key="WINDOW#{seconds}#{begins}"):
    """The count of one window of time, of that length, and the ids that it counted."""

    name: Attribute[str]
    seconds: Attribute[int]
    begins: Attribute[datetime]
    count: Attribute[int] = attribute(default=0)
    seen: Attribute[frozenset[str]] = attribute(default=frozenset())


class Counting(Enum):
    """What became of an event of a windowed counter."""

    COUNTED = "counted"
    COUNTED_BEFORE = "counted before"


@dataclass(frozen=True, slots=True)
class Counted:
    """An addition that counts exactly once: the count right after it, whoever added since. ``before`` is whether an earlier call had made it."""

    value: int
    before: bool = False


# ------------------------------------------------------------------------------------------------------------ at most once


class AtMostOnceCounter:
    """A counter that counts each addition at most once, so it may come out under. One write unit an addition.

    Where an answer is lost nobody can say whether the addition counted: ``OutcomeUnknown``, always, and it is not sent again.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (CounterRow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str) -> None:
        self._scope = table.scope_of(CounterRow)
        self._key = CounterRow.key_of(name)

    def add(self, amount: int = 1) -> Operation[int]:
        """Add, and give the count right after. Raises ``OutcomeUnknown`` where the answer is lost: adding again may count twice."""
        return Operation(lambda: self._add(amount))

    def value(self) -> Operation[int]:
        """The count, 0 where nothing was counted. One read unit."""
        return Operation(lambda: _count(self._scope, self._key))

    def _add(self, amount: int) -> Steps[int]:
        outcome = yield from upsert(self._scope, self._key, (CounterRow.count.add(amount),), Options(in_doubt="raise"))
        if not outcome:
            raise outcome.error()
        value: int = outcome.item.count
        return value


# ----------------------------------------------------------------------------------------------------------- transactional


class TransactionalCounter:
    """An exact counter that does not tell the count after an addition, since a transaction gives nothing back. Two write units an addition.

    Exact for each call; what must be exact across a crash of the caller too is put into a transaction that makes sure of it
    (``add_to``), or is an operation of ``ExactCounter`` or an event of ``WindowedCounter``. Additions that meet cancel each other and
    are tried again until the deadline; other writers of the
    row meet them as conflicts. Needs an endpoint that honours tokens.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (CounterRow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str) -> None:
        self._environment = table.environment
        self._scope = table.scope_of(CounterRow)
        self._key = CounterRow.key_of(name)

    def add(self, amount: int = 1) -> Operation[None]:
        """Add exactly once. Raises ``OutcomeUnknown`` only where no fence could settle a commit in doubt, ``TransactionConflict`` if not made."""
        return Operation(lambda: self._add(amount))

    def add_to(self, tx: DraftedTransaction, amount: int = 1) -> Operation[Marker[CounterRow]]:
        """Put an addition into a transaction of yours: it counts once if the rest of it takes effect, and not at all if not, exactly.

        So what is counted may be what makes sure that it counts once, also after a crash: a create of the like itself, or the record of
        ``Idempotency``. One action, and two write units.
        """
        return Operation(lambda: self._add_to(tx.draft, amount))

    def value(self) -> Operation[int]:
        """The count, 0 where nothing was counted. One read unit."""
        return Operation(lambda: _count(self._scope, self._key))

    def _add_to(self, draft: TransactionDraft, amount: int) -> Steps[Marker[CounterRow]]:
        yield from ()
        return draft.upsert(self._scope, self._key, (CounterRow.count.add(amount),), NO_OPTIONS)

    def _add(self, amount: int) -> Steps[None]:
        draft = TransactionDraft(self._environment)
        yield from self._add_to(draft, amount)
        result = yield from commit(draft)
        if isinstance(result, Canceled):
            raise result.error()


# ------------------------------------------------------------------------------------------------------------------- exact


class ExactCounter:
    """An exact counter that gives each addition its value: the operation's id stays in the row until the horizon has passed.

    An addition is sent again freely, also by another process that knows the operation's id, as long as ``horizon_seconds``
    have not passed since it was first begun. Each id takes twice its length and about 12 bytes of the row, which is billed whole, 1 write
    unit a KB: without names 36 bytes, so that at one addition a second a horizon of 15 minutes is 32 units each, and at 12 a second
    the row reaches 400 KB. For rare numbers that matter; otherwise ``TransactionalCounter``.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (ExactCounterRow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, horizon_seconds: float = HORIZON_SECONDS) -> None:
        self._scope = table.scope_of(ExactCounterRow)
        self._key = ExactCounterRow.key_of(name)
        self._name = name
        self._horizon_seconds = time_span(horizon_seconds, "horizon_seconds, twice what a late request may take", least=HORIZON_SECONDS_MIN)
        self._times: Mapping[str, int] = {}

    def add(self, amount: int = 1, *, operation: str | None = None) -> Operation[Counted]:
        """Add exactly once, and give the count right after this addition. Never a value that others' additions are part of.

        ``operation`` names the addition: a call with the same name within the horizon finds it done, and after it counts again,
        so a name is never given to two additions. Without a name each call is another addition.
        Raises ``OutcomeUnknown`` where the service did not answer in a few deadlines: call again with the same name.
        """
        if operation == "":
            raise InvalidRequest("an operation of an exact counter has a name that is not empty, or None")
        return Operation(lambda: self._add(amount, operation))

    def value(self) -> Operation[int]:
        """The count, 0 where nothing was counted. One read unit per started 4 KB."""
        return Operation(lambda: _count(self._scope, self._key))

    def _add(self, amount: int, name: str | None) -> Steps[Counted]:
        operation = (yield from new_id()) if name is None else name
        begun: int | None = None
        doubts: list[OutcomeUnknown] = []
        for _ in range(TURNS_MAX):
            if begun is None or not doubts:
                moment = yield from told_moment(self._scope, self._scope.schema.key_item(self._key), "addition")
                begun = floor(moment.server)
            try:
                counted = yield from self._try(amount, operation, begun)
            except OutcomeUnknown as error:
                doubts.append(error)
                counted = yield from self._settled(operation, begun, error)
                if counted is None and len(doubts) == ROUNDS_MAX:
                    raise
            if counted is not None:
                return Counted(counted.value) if doubts else counted
        if doubts:
            raise doubts[-1]
        raise TransactionConflict(f"the counter {self._name!r}: others trimmed the row in each of {TURNS_MAX} turns; nothing was added", key=self._key)

    def _try(self, amount: int, operation: str, begun: int) -> Steps[Counted | None]:
        """Add to the row, on condition that it does not hold the operation. ``None`` where the row changed so that another try is needed."""
        row = ExactCounterRow
        after = row.count + amount
        changes: list[Change[ExactCounterRow]] = [row.count.set(after), row.counts[operation].set(after), row.times[operation].set(begun)]
        condition = row.counts[operation].not_exists() & (row.trimmed < begun)
        old = self._to_trim(begun, operation)
        if old:
            # The mark never moves back, so that an operation begun before it is refused even where a process stood still for a day.
            mark = self._times[old[-1]]
            condition &= row.trimmed <= mark
            changes.append(row.trimmed.set(mark))
            changes += (change for name in old for change in (row.counts[name].remove(), row.times[name].remove()))
        outcome = yield from update(self._scope, self._key, changes, Options(condition))
        if not outcome and outcome.reason is RefusalReason.ITEM_NOT_FOUND:
            return (yield from self._try_first(amount, operation, begun))
        found = outcome.item
        if found is None:
            assert not outcome
            raise outcome.error()
        self._times = found.times
        return Counted(found.counts[operation], before=not outcome) if operation in found.counts else None

    def _try_first(self, amount: int, operation: str, begun: int) -> Steps[Counted | None]:
        """Make the row with the operation in it. ``None`` where another writer was first."""
        first = ExactCounterRow(name=self._name, count=amount, counts={operation: amount}, times={operation: begun})
        outcome = yield from create(self._scope, first)
        if not outcome and outcome.reason is not RefusalReason.ALREADY_EXISTS:
            raise outcome.error()
        return Counted(amount) if outcome else None

    def _settled(self, operation: str, begun: int, error: OutcomeUnknown) -> Steps[Counted | None]:
        """Whether the row holds the operation. If not, it may be sent again: whichever attempt comes late is refused by the id.

        Raises the doubt where the id may have been trimmed since, because this process stood still for so long.
        """
        try:
            row: ExactCounterRow | None = yield from get_or_none(self._scope, self._key, consistent=True)
        except SurewriteError:
            raise error from None
        if row is not None and operation in row.counts:
            return Counted(row.counts[operation])
        if row is not None and row.trimmed >= begun:
            raise error
        return None

    def _to_trim(self, begun: int, operation: str) -> list[str]:
        """Ids that were in the row when it was last seen, and whose horizon has passed, the oldest first."""
        names = [name for name, time in self._times.items() if time < begun - self._horizon_seconds and name != operation]
        return sorted(names, key=self._times.__getitem__)[:TRIMMED_AT_ONCE]


# ---------------------------------------------------------------------------------------------------------------- windowed


class WindowedCounter:
    """A counter of events that counts each event id exactly once, in the window of the event's own time. A row a window.

    The window comes from the time of the event and never from the time of the call, so an event that is delivered again after
    the edge of its window finds itself. Events bring their time from the same source each time: another time may be another
    window. A row holds the ids that it counted: at 40 bytes an id it costs 1 write unit for each 25 ids that it holds, and
    10,000 ids fill it; then ``InvalidRequest``. Choose the window by that.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (CounterWindow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, window_seconds: int = 86_400) -> None:
        self._scope = table.scope_of(CounterWindow)
        self._name = name
        self._window_seconds = whole_number(window_seconds, "window_seconds is how long a window is")

    def add(self, amount: int = 1, *, event_id: str, at: datetime) -> Operation[Counting]:
        """Count the event, unless its window has it. ``at`` is the event's own time, with a time zone."""
        key = CounterWindow.key_of(self._name, self._window_seconds, self.window_of(at))
        if not event_id:
            raise InvalidRequest("an event has an id that is not empty")
        return Operation(lambda: self._add(key, amount, event_id))

    def value(self, at: datetime) -> Operation[int]:
        """The count of the window of that time, 0 where nothing was counted. One read unit per started 4 KB."""
        key = CounterWindow.key_of(self._name, self._window_seconds, self.window_of(at))
        return Operation(lambda: _count(self._scope, key))

    def window_of(self, at: datetime) -> datetime:
        """When the window of that time begins. Windows are counted from 1970, in UTC, so a day is a day of UTC."""
        if not isinstance(at, datetime) or at.tzinfo is None:  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest("the time of an event is a datetime with a time zone: write datetime(..., tzinfo=UTC)")
        whole = (at - _EPOCH) // timedelta(seconds=self._window_seconds)
        return _EPOCH + whole * timedelta(seconds=self._window_seconds)

    def _add(self, key: Any, amount: int, event_id: str) -> Steps[Counting]:
        changes = (CounterWindow.count.add(amount), CounterWindow.seen.add(event_id))
        options = Options(~CounterWindow.seen.contains(event_id))
        doubt: OutcomeUnknown | None = None
        for _ in range(ROUNDS_MAX):
            try:
                outcome = yield from upsert(self._scope, key, changes, options)
            except OutcomeUnknown as error:
                doubt = error
                if (yield from self._holds(key, event_id, error)):
                    return Counting.COUNTED
                continue
            if outcome:
                return Counting.COUNTED
            if outcome.item is None or event_id not in outcome.item.seen:
                raise outcome.error()
            return Counting.COUNTED_BEFORE if doubt is None else Counting.COUNTED
        assert doubt is not None
        raise doubt

    def _holds(self, key: Any, event_id: str, error: OutcomeUnknown) -> Steps[bool]:
        try:
            window: CounterWindow | None = yield from get_or_none(self._scope, key, consistent=True)
        except SurewriteError:
            raise error from None
        return window is not None and event_id in window.seen


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _count(scope: Scope, key: Key[Any]) -> Steps[int]:
    row = yield from get_or_none(scope, key, consistent=True)
    return 0 if row is None else row.count
