"""Belongs here: numbers that are given out once: in blocks with gaps, and without gaps one by one. Must not be here: ids that are no numbers, counters.

Two tools for two needs. ``HiLo`` is for ids: one write a block, gaps where a process ends or an answer is lost. ``Gapless``
is for invoices: number and row in one commit, one after another, slow on purpose. Source: outcomes C5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, overload

from surewrite.core.effects import Lock, Operation, Steps, acquire, call_user, pause, release, start_side, stop_side
from surewrite.core.entities import Attribute, Entity, EntityBase, attribute
from surewrite.core.outcomes import Canceled, Refusal, RefusalReason
from surewrite.core.reads import get_or_none
from surewrite.core.retries import pause_before_run
from surewrite.core.scopes import Options, ScopedTable
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.core.writes import NO_OPTIONS, update, upsert
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, TransactionConflict, WriteRefused
from surewrite.recipes.settings import time_span, whole_number

E = TypeVar("E", bound=EntityBase)
R = TypeVar("R")

BLOCK_SIZE: Final = 100
BLOCK_SIZE_MAX: Final = 1_000_000
TURNS_MAX: Final = 1_000_000
"""Bounds filling and prefetching, which end long before."""

PREFETCH_POLL_SECONDS: Final = 0.05
TRIES: Final = 20

_RESEND: Final = Options(in_doubt="resend")

# ------------------------------------------------------------------------------------------------------------------- hi/lo


class HiLoRow(Entity, discriminator="SUREWRITE_HILO", partition_key="HILO#{name}", sort_key="HILO"):
    """The highest number of all blocks that were claimed. Never to be deleted, restored from a backup, or given a time to live."""

    name: Attribute[str]
    hi: Attribute[int] = attribute(default=0)


class _Stock:
    """Claimed numbers that were not given out. Its parts are safe between threads: taking from a deque is one step."""

    __slots__ = ("claiming", "forks", "numbers")

    def __init__(self, forks: int) -> None:
        self.forks = forks
        self.numbers: deque[int] = deque()
        # A lock that a thread of the parent held stays locked in the child, so each stock has its own.
        self.claiming = Lock()


class HiLo:
    """Numbers from 1, unique across processes, in blocks of ``block_size`` that one write claims. No number twice; there are gaps.

    Keep one object for a sequence and share it: between threads, tasks and event loops, in the parent and the child of a
    fork, where the child drops what its parent claimed. Processes may use different block sizes. A process that ends, an
    answer that is lost and a fork each waste at most a block. Numbers rise within a process and not between processes.

    Broken by: deleting or restoring the row, and a machine that is restored twice from one snapshot, whose copies hold the
    same block: make the object after the restore. One write unit a block, nothing for the other numbers.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (HiLoRow,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, block_size: int = BLOCK_SIZE) -> None:
        self._scope = table.scope_of(HiLoRow)
        self._forks = table.environment.forks
        self._key = HiLoRow.key_of(name)
        self._block_size = whole_number(block_size, "block_size is how many numbers a block has", most=BLOCK_SIZE_MAX)
        self._stock = _Stock(self._forks.count)

    def next(self) -> Operation[int]:
        """The next number. Claims a block where none is left, and waits where another caller is claiming one.

        Raises ``OutcomeUnknown``, ``Throttled`` or ``ConnectionFailed`` where no block could be claimed before the deadline.
        Calling again is always safe: at worst it wastes a block.
        """
        return Operation(self._next)

    def prefetch(self) -> Operation[int]:
        """Claim a block if less than half of one is left. Gives how many numbers are at hand. For a thread or task of your own."""
        return Operation(self._prefetch)

    @overload
    def prefetching(self, function: Callable[[], Awaitable[R]], *, poll_seconds: float = PREFETCH_POLL_SECONDS) -> Operation[R]: ...
    @overload
    def prefetching(self, function: Callable[[], R], *, poll_seconds: float = PREFETCH_POLL_SECONDS) -> Operation[R]: ...
    def prefetching(self, function: Callable[[], Any], *, poll_seconds: float = PREFETCH_POLL_SECONDS) -> Operation[Any]:
        """Call ``function`` while blocks are claimed beside it before the one in use ends, so that ``next`` in it rarely waits.

        A claim that fails beside it is no error: ``next`` claims again where it has to.
        """
        checked = time_span(poll_seconds, "poll_seconds")
        return Operation(lambda: self._prefetching(function, checked))

    def _next(self) -> Steps[int]:
        for _ in range(TURNS_MAX):
            stock = self._own_stock()
            number = _taken(stock)
            if number is not None:
                return number
            yield from self._fill(stock, below=1)
        raise AssertionError("a claimed block has numbers")

    def _prefetch(self) -> Steps[int]:
        stock = self._own_stock()
        yield from self._fill(stock, below=self._block_size // 2 + 1)
        return len(stock.numbers)

    def _prefetching(self, function: Callable[[], Any], poll_seconds: float) -> Steps[Any]:
        side = yield from start_side(Operation(lambda: self._keep_filled(poll_seconds)))
        result = yield from call_user(function)
        yield from stop_side(side)
        return result

    def _keep_filled(self, poll_seconds: float) -> Steps[None]:
        for _ in range(TURNS_MAX):
            try:
                yield from self._prefetch()
            except OutcomeUnknown:
                # At worst a wasted block. Nothing rests on it.
                pass
            except InvalidRequest:
                return
            except SurewriteError:
                pass
            yield from pause(poll_seconds)

    def _own_stock(self) -> _Stock:
        """What this process claimed. Numbers that it has from its parent are the parent's."""
        stock = self._stock
        if stock.forks != self._forks.count:
            stock = self._stock = _Stock(self._forks.count)
        return stock

    def _fill(self, stock: _Stock, *, below: int) -> Steps[None]:
        """Claim a block where fewer numbers than ``below`` are left. The lock spares claims; that no number is given twice rests on the deque."""
        yield from acquire(stock.claiming)
        try:
            if len(stock.numbers) < below:
                hi = yield from self._claim()
                stock.numbers.extend(range(hi - self._block_size + 1, hi + 1))
        except Exception:
            yield from release(stock.claiming)
            raise
        yield from release(stock.claiming)

    def _claim(self) -> Steps[int]:
        """Each execution gives a value that no other gives, so it is sent again freely, and the last answer counts."""
        outcome = yield from upsert(self._scope, self._key, (HiLoRow.hi.add(self._block_size),), _RESEND)
        if not outcome:
            raise outcome.error()
        hi: int = outcome.item.hi
        return hi


def _taken(stock: _Stock) -> int | None:
    try:
        return stock.numbers.popleft()
    except IndexError:
        return None


# ------------------------------------------------------------------------------------------------------------------ gapless


class GaplessCounter(Entity, discriminator="SUREWRITE_GAPLESS", partition_key="GAPLESS#{name}", sort_key="COUNTER"):
    """The last number that was issued. Never to be deleted, restored, or given a time to live."""

    name: Attribute[str]
    last: Attribute[int]


class GaplessIssue(Entity, discriminator="SUREWRITE_GAPLESS_ISSUE", partition_key="GAPLESS#{name}", sort_key="ISSUE#{business_id}"):
    """Which number a business id has. Voided, never deleted."""

    name: Attribute[str]
    business_id: Attribute[str]
    number: Attribute[int]
    voided: Attribute[str | None] = attribute(default=None)


@dataclass(frozen=True, slots=True)
class Issued(Generic[E]):
    """The number of a business id. True.

    ``row`` is what was stored with it, and ``None`` where an earlier call issued the number: get that row by its key.
    ``voided`` is why the number does not count any more, if it was voided.
    """

    number: int
    row: E | None
    voided: str | None = None

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class RowRefused(Generic[E]):
    """The row was refused: an item is stored under its key that this sequence did not make. No number was used. False."""

    number: int
    refusal: Refusal[E]

    def __bool__(self) -> Literal[False]:
        return False

    def error(self) -> WriteRefused:
        """The refusal as an exception."""
        return self.refusal.error()


class Gapless(Generic[E]):
    """Numbers from 1 without gaps, each with its row in one commit. No number twice, none left out; never ends unknown while the service answers.

    A number belongs to a business id, such as the id of the order that an invoice is for. A call that is made again with the
    same id, also by another process after a crash, gives the number of the first. The numbers are issued one after another
    by compare and set on one counter, a few a second under contention: use ``HiLo`` for ids. Rows are voided, never
    deleted: a deleted one is a gap.

    An issue is a transaction of three items: six write units and half a kilobyte, plus the row's, and two read units before it.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (GaplessCounter, GaplessIssue)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, tries: int = TRIES) -> None:
        self._table = table
        self._counters = table.scope_of(GaplessCounter)
        self._issues = table.scope_of(GaplessIssue)
        self._name = name
        self._tries = whole_number(tries, "tries is how often an issue is tried under contention")

    def issue(self, business_id: str, make_row: Callable[[int], E]) -> Operation[Issued[E] | RowRefused[E]]:
        """Issue the next number to the business id, and store the row that ``make_row`` makes of it, in one commit.

        ``make_row`` is called with each number that is tried, so it does nothing but make the row. Raises
        ``TransactionConflict`` where others were faster in each of the tries, and ``OutcomeUnknown`` only where the reads that
        settle a commit are not answered either: call again with the same id.
        """
        return Operation(lambda: self._issue(business_id, make_row))

    def number_of(self, business_id: str) -> Operation[Issued[E] | None]:
        """The number that the business id has, if any. One read unit."""
        return Operation(lambda: self._issued(business_id))

    def void(self, business_id: str, reason: str) -> Operation[Issued[E] | None]:
        """Mark the number of a business id as void; it stays used. The first reason stays; ``None`` where no number was issued to it."""
        return Operation(lambda: self._void(business_id, reason))

    def _issue(self, business_id: str, make_row: Callable[[int], E]) -> Steps[Issued[E] | RowRefused[E]]:
        for number in range(1, self._tries + 1):
            issued = yield from self._issued(business_id)
            if issued is not None:
                return issued
            counter: GaplessCounter | None = yield from get_or_none(self._counters, GaplessCounter.key_of(self._name), consistent=True)
            found = yield from self._try_number(business_id, 0 if counter is None else counter.last, make_row)
            if found is not None:
                return found
            yield from pause_before_run(number)
        raise TransactionConflict(
            f"the sequence {self._name!r}: others were faster in each of {self._tries} tries; no number was issued", key=GaplessCounter.key_of(self._name)
        )

    def _try_number(self, business_id: str, last: int, make_row: Callable[[int], E]) -> Steps[Issued[E] | RowRefused[E] | None]:
        """Commit number and row, provided that the counter stands where it was read. ``None`` if that is to be tried again."""
        row = yield from call_user(make_row, last + 1)
        if not isinstance(row, EntityBase):
            raise InvalidRequest(f"the function given to issue makes the row of a number, an entity, and it made a {type(row).__name__}")
        draft = TransactionDraft(self._table.environment)
        issue = draft.create(self._issues, GaplessIssue(name=self._name, business_id=business_id, number=last + 1))
        if last == 0:
            draft.create(self._counters, GaplessCounter(name=self._name, last=1))
        else:
            at_last = Options(GaplessCounter.last == last)
            draft.update(self._counters, GaplessCounter.key_of(self._name), (GaplessCounter.last.set(last + 1),), at_last)
        stored = draft.create(self._table.scope_of(type(row)), row)
        draft.outrank(issue)
        try:
            result = yield from commit(draft)
        except OutcomeUnknown as error:
            return (yield from self._settled(business_id, last, error))
        if not isinstance(result, Canceled):
            kept: E = result.item_for(stored)
            return Issued(last + 1, kept)
        refusal = result.refusal_of(stored)
        if refusal is not None and result.refusal_of(issue) is None:
            return (yield from self._row_refused(last, refusal))
        return None

    def _settled(self, business_id: str, last: int, error: OutcomeUnknown) -> Steps[Issued[E] | None]:
        """What became of a commit in doubt. A late attempt of it needs the counter at ``last``: beyond, or with another try there, it is dead."""
        try:
            issued = yield from self._issued(business_id)
        except SurewriteError:
            error.add_note(f"surewrite: issuing number {last + 1} of {self._name!r}: call again with the same business id, which finds or finishes it")
            raise error from None
        return issued

    def _row_refused(self, last: int, refusal: Refusal[E]) -> Steps[RowRefused[E] | None]:
        """A row of that number is there: of another caller, who issued it in between, or one that the sequence did not make."""
        counter: GaplessCounter | None = yield from get_or_none(self._counters, GaplessCounter.key_of(self._name), consistent=True)
        moved_on = (0 if counter is None else counter.last) != last
        return None if moved_on else RowRefused(last + 1, refusal)

    def _issued(self, business_id: str) -> Steps[Issued[E] | None]:
        key = GaplessIssue.key_of(self._name, business_id)
        found: GaplessIssue | None = yield from get_or_none(self._issues, key, consistent=True)
        return None if found is None else Issued(found.number, None, found.voided)

    def _void(self, business_id: str, reason: str) -> Steps[Issued[E] | None]:
        key = GaplessIssue.key_of(self._name, business_id)
        outcome = yield from update(self._issues, key, (GaplessIssue.voided.set(GaplessIssue.voided.if_not_exists(reason)),), NO_OPTIONS)
        if not outcome:
            if outcome.reason is RefusalReason.ITEM_NOT_FOUND:
                return None
            raise outcome.error()
        return Issued(outcome.item.number, None, outcome.item.voided)
