"""Belongs here: a counter that counts in memory and writes now and then. Must not be here: counters that write each addition.

Each writer numbers its flushes, and the row remembers the last number of each writer: ``SET count = count + :d,
writers.#me = :seq`` if ``writers.#me < :seq``. One flush is outstanding at a time, with its number and amount frozen; it is
sent until it is known, and whatever comes late is refused for ever. Source: outcomes R10, C4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar, Final, TypeVar, overload

from surewrite.core.effects import Lock, Operation, Steps, acquire, call_user, new_id, now, pause, release, start_side, stop_side
from surewrite.core.entities import Attribute, Entity, EntityBase, attribute
from surewrite.core.outcomes import RefusalReason
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options, ScopedTable
from surewrite.core.writes import create, update
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, Throttled
from surewrite.recipes.settings import time_span

R = TypeVar("R")

FLUSH_SECONDS: Final = 1.0
FORGET_SECONDS_MIN: Final = 3_600.0
FORGOTTEN_AT_ONCE: Final = 50
"""An update expression has at most 4 KB. Source: the Developer Guide, page "Service quotas"."""

AMOUNT_MOST: Final = 10**18
"""Below the 38 digits of a number by so much that no buffer adds up to them: a flush that cannot be written would hold up all later ones."""

TURNS_MAX: Final = 1_000_000
"""Bounds flushing beside a function and stopping, which end long before."""


class BufferedCounterRow(Entity, discriminator="SUREWRITE_BUFFERED_COUNTER", partition_key="COUNTER#{name}", sort_key="BUFFERED"):
    """A count, and the number of each writer's last flush. Never to be deleted or given a time to live.

    ``forgotten``: writers whose last flush has this number or a lower one may be missing from the row.
    """

    name: Attribute[str]
    count: Attribute[int] = attribute(default=0)
    writers: Attribute[dict[str, int]] = attribute(default_factory=dict)
    forgotten: Attribute[int] = attribute(default=0)


@dataclass(slots=True)
class _Flush:
    """An amount on its way. It keeps its number, and nothing is added to it, until it is known to be counted. ``sent`` is whether it may be under way."""

    sequence: int
    amount: int
    sent: bool = False


class _Writer:
    """What one process has counted and not written. Its parts are safe between threads: each step on a deque is one."""

    __slots__ = ("baton", "forks", "lock", "name", "outstanding", "pending", "sequence")

    def __init__(self, forks: int) -> None:
        self.forks = forks
        self.name: str | None = None
        self.pending: deque[int] = deque()
        self.outstanding: _Flush | None = None
        self.sequence = 0
        self.lock = Lock()
        self.baton: deque[None] = deque((None,))


class BufferedCounter:
    """A counter in memory that is flushed to one row. Each flush counts exactly once; a crash loses at most the unflushed additions: under.

    Keep one object for a counter and share it between threads and tasks of one event loop. After a fork the child counts from
    nothing, as another writer; what the parent had buffered is the parent's. One write unit per started KB of the row a
    flush: each process that ever flushed takes about 30 bytes of it, until ``forget_writers``.

    Broken by: a machine restored twice from one snapshot while a flush was outstanding or additions were buffered.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (BufferedCounterRow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str) -> None:
        self._scope = table.scope_of(BufferedCounterRow)
        self._forks = table.environment.forks
        self._key = BufferedCounterRow.key_of(name)
        self._name = name
        self._writer = _Writer(self._forks.count)

    def add(self, amount: int = 1) -> None:
        """Count in memory. Sends nothing."""
        if isinstance(amount, bool) or not isinstance(amount, int) or abs(amount) > AMOUNT_MOST:  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(f"a buffered counter adds whole numbers, of at most {AMOUNT_MOST}, not {amount!r}")
        self._own_writer().pending.append(amount)

    def flush(self) -> Operation[int]:
        """Write what is counted in memory; gives how much was written.

        Raises ``OutcomeUnknown``, ``Throttled`` or ``ConnectionFailed`` where the service did not answer before the deadline. Nothing
        is lost or counted twice by that: the flush stays outstanding, and the next call sends the same again.
        """
        return Operation(self._flush)

    def stop(self) -> Operation[int]:
        """Flush to the end, for a clean stop. Raises what ``flush`` raises: then additions are not known to be counted, and it can be called again."""
        return Operation(self._stop)

    @overload
    def running(self, function: Callable[[], Awaitable[R]], *, every_seconds: float = FLUSH_SECONDS) -> Operation[R]: ...
    @overload
    def running(self, function: Callable[[], R], *, every_seconds: float = FLUSH_SECONDS) -> Operation[R]: ...
    def running(self, function: Callable[[], Any], *, every_seconds: float = FLUSH_SECONDS) -> Operation[Any]:
        """Call ``function`` while what it counts is flushed beside it, and flush to the end after it. Gives its result.

        A flush that fails beside it is sent again later. Where the last one fails, this raises; an error of the function
        itself goes first, with a note of what is not known to be counted.
        """
        checked = time_span(every_seconds, "every_seconds")
        return Operation(lambda: self._running(function, checked))

    def value(self) -> Operation[int]:
        """The count as it is stored: of all writers, without what is buffered anywhere. One read unit per started 4 KB."""
        return Operation(self._value)

    @property
    def unflushed(self) -> int:
        """What this process counted and does not know to be stored."""
        writer = self._own_writer()
        outstanding = writer.outstanding
        return sum(tuple(writer.pending)) + (0 if outstanding is None else outstanding.amount)

    def forget_writers(self, *, idle_seconds: float) -> Operation[int]:
        """Drop writers that have not flushed for so long from the row, at most 50 a call; gives how many. One read and one write unit a KB.

        A writer that comes back later goes on. Where it has a flush in doubt from before, that flush ends unknown and is counted
        at most once. An hour is the least.
        """
        checked = time_span(idle_seconds, "idle_seconds, after which a writer is forgotten", least=FORGET_SECONDS_MIN)
        return Operation(lambda: self._forget_writers(checked))

    # ---------------------------------------------------------------------------------------------------------- flushing

    def _own_writer(self) -> _Writer:
        """The writer of this process. One that it has from its parent is the parent's."""
        writer = self._writer
        if writer.forks != self._forks.count:
            writer = self._writer = _Writer(self._forks.count)
        return writer

    def _flush(self) -> Steps[int]:
        writer = self._own_writer()
        yield from acquire(writer.lock)
        try:
            # The lock holds for tasks of one loop only, and two flushes side by side would refuse each other.
            writer.baton.popleft()
        except IndexError:
            yield from release(writer.lock)
            raise InvalidRequest(f"the counter {self._name!r} is flushed from two event loops at once: give each its own object") from None
        try:
            flushed = yield from self._flush_alone(writer)
        except Exception:
            writer.baton.append(None)
            yield from release(writer.lock)
            raise
        except BaseException:
            writer.baton.append(None)
            raise
        writer.baton.append(None)
        yield from release(writer.lock)
        return flushed

    def _flush_alone(self, writer: _Writer) -> Steps[int]:
        """First what is outstanding, then what was counted since. They are never merged."""
        if writer.name is None:
            # First of all, so that no flush in doubt ever meets an absent row.
            yield from self._make_row()
            writer.name = yield from new_id()
        flushed = 0
        if writer.outstanding is not None:
            flushed += yield from self._send(writer, writer.name, writer.outstanding)
        moment = yield from now()
        amount = _drained(writer.pending)
        if amount:
            # The time makes the number tell when the writer flushed last; that it rises does not rest on it.
            writer.sequence = max(writer.sequence + 1, floor(moment.server * 1000.0))
            writer.outstanding = _Flush(writer.sequence, amount)
            flushed += yield from self._send(writer, writer.name, writer.outstanding)
        return flushed

    def _send(self, writer: _Writer, name: str, flush: _Flush) -> Steps[int]:
        row = BufferedCounterRow
        sent_before, flush.sent = flush.sent, True
        changes = (row.count.add(flush.amount), row.writers[name].set(flush.sequence))
        options = Options(row.writers[name].not_exists_or_lt(flush.sequence) & (row.forgotten < flush.sequence))
        try:
            outcome = yield from update(self._scope, self._key, changes, options)
        except OutcomeUnknown as error:
            if _is_counted(error.item, name, flush):
                return _done(writer, flush)
            if _is_forgotten(error.item, flush):
                writer.outstanding = None
            raise
        if outcome or _is_counted(outcome.item, name, flush):
            return _done(writer, flush)
        if _is_forgotten(outcome.item, flush):
            self._give_up(writer, flush, outcome.item, sent_before=sent_before)
        raise outcome.error()

    def _give_up(self, writer: _Writer, flush: _Flush, row: BufferedCounterRow | None, *, sent_before: bool) -> None:
        """The writer was forgotten, so its number proves nothing any more. What was never under way is counted with the next flush."""
        assert row is not None
        writer.outstanding = None
        writer.sequence = row.forgotten
        if sent_before:
            raise OutcomeUnknown(
                f"the counter {self._name!r}: a flush of {flush.amount} was in doubt for so long that its writer was forgotten",
                key=self._key,
            )
        writer.pending.append(flush.amount)
        raise Throttled(f"the counter {self._name!r}: the clock of this process is far behind; nothing was flushed, flush again", key=self._key)

    def _make_row(self) -> Steps[None]:
        """An empty row where there is none. A late attempt finds the row there."""
        if (yield from get_or_none(self._scope, self._key, consistent=True)) is not None:
            return
        outcome = yield from create(self._scope, BufferedCounterRow(name=self._name))
        if not outcome and outcome.reason is not RefusalReason.ALREADY_EXISTS:
            raise outcome.error()

    def _stop(self) -> Steps[int]:
        flushed = 0
        for _ in range(TURNS_MAX):
            flushed += yield from self._flush()
            if not self.unflushed:
                return flushed
        raise InvalidRequest(f"the counter {self._name!r} is counted on while it is stopped: stop what counts first")

    def _running(self, function: Callable[[], Any], every_seconds: float) -> Steps[Any]:
        side = yield from start_side(Operation(lambda: self._keep_flushing(every_seconds)))
        try:
            result = yield from call_user(function)
        except Exception as error:
            yield from stop_side(side)
            try:
                yield from self._stop()
            except SurewriteError as failure:
                error.add_note(f"surewrite: {self.unflushed} counted on {self._name!r} are not known to be stored: {failure}")
            raise
        yield from stop_side(side)
        yield from self._stop()
        return result

    def _keep_flushing(self, every_seconds: float) -> Steps[None]:
        for _ in range(TURNS_MAX):
            yield from pause(every_seconds)
            try:
                yield from self._flush()
            except InvalidRequest:
                return
            except SurewriteError:
                # The flush stays outstanding: it is sent again in the next turn, and the clean stop tells if it never got through.
                continue

    def _value(self) -> Steps[int]:
        row: BufferedCounterRow | None = yield from get_or_none(self._scope, self._key, consistent=True)
        return 0 if row is None else row.count

    def _forget_writers(self, idle_seconds: float) -> Steps[int]:
        row: BufferedCounterRow | None = yield from get_or_none(self._scope, self._key, consistent=True)
        moment = yield from now()
        oldest = (moment.server - idle_seconds) * 1000.0
        idle = {} if row is None else {name: number for name, number in row.writers.items() if number < oldest}
        forgotten = sorted(idle, key=idle.__getitem__)[:FORGOTTEN_AT_ONCE]
        if row is None or not forgotten:
            return 0
        mark = max(row.forgotten, idle[forgotten[-1]])
        # Each only as it was read: one that flushed since has a new number, and then nobody is forgotten in this call.
        condition = BufferedCounterRow.forgotten <= mark
        for name in forgotten:
            condition &= BufferedCounterRow.writers[name] == idle[name]
        changes = [BufferedCounterRow.forgotten.set(mark), *(BufferedCounterRow.writers[name].remove() for name in forgotten)]
        outcome = yield from update(self._scope, self._key, changes, Options(condition))
        return len(forgotten) if outcome else 0


def _done(writer: _Writer, flush: _Flush) -> int:
    """Only this writer uses its name, so its number in the row says that this flush is counted, by whichever attempt."""
    writer.outstanding = None
    return flush.amount


def _is_forgotten(row: object, flush: _Flush) -> bool:
    return isinstance(row, BufferedCounterRow) and row.forgotten >= flush.sequence


def _is_counted(row: object, name: str, flush: _Flush) -> bool:
    return isinstance(row, BufferedCounterRow) and row.writers.get(name, 0) >= flush.sequence


def _drained(pending: deque[int]) -> int:
    """The sum of what is in the deque, taken out one by one; what others add meanwhile may stay for the next time."""
    amount = 0
    for _ in range(len(pending)):
        amount += pending.popleft()
    return amount
