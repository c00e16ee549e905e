"""Belongs here: a lease: one owner at a time, for a time, with a number that rises with each owner. Must not be here: what is done under a lease.

Nobody compares wall clocks of two machines. The owner counts from before the write that took or renewed the lease; a
waiter counts from after the read that first showed the record as it is. So an owner who runs late knows it first, as
long as both clocks run at about the same speed. What must hold even where a process stood still is written in a
transaction with ``tx.check(hold.key, hold.condition)``. The record is never deleted and never expires: the fencing
number would begin again. Holds within one region. Source: outcomes C6, leases.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, overload

from surewrite.core.conditions import Change, Condition
from surewrite.core.effects import Moment, Operation, Steps, call_user, new_id, now, pause, random_number, start_side, stop_side
from surewrite.core.entities import Attribute, EntityBase, VersionedEntity, attribute, version
from surewrite.core.keys import VersionedKey
from surewrite.core.outcomes import Refusal, RefusalReason
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import ScopedTable
from surewrite.core.writes import NO_OPTIONS, create, update
from surewrite.errors import OutcomeUnknown, SurewriteError, WrongEntityType
from surewrite.recipes.settings import time_span, time_to_wait

R = TypeVar("R")

DURATION_SECONDS: Final = 30.0

SAFETY_SHARE: Final = 0.1
"""An owner stops this share of the duration before a waiter may begin: the clocks of two machines run at speeds so close by far."""

POLLS_A_LEASE: Final = 5
RENEWALS_A_LEASE: Final = 3

ROUNDS_MAX: Final = 8
"""How often one renewal or release is settled by reading before its doubt is told to the caller."""

TURNS_MAX: Final = 1_000_000
"""Bounds waiting and renewing, which end by their own time long before."""


class LeaseRecord(VersionedEntity, discriminator="SUREWRITE_LEASE", partition_key="LEASE#{name}", sort_key="LEASE"):
    """The one row of a lease. Its version rises with every write of it, ``fence`` with every new owner."""

    name: Attribute[str]
    fence: Attribute[int]
    duration_seconds: Attribute[float]
    owner: Attribute[str | None] = attribute(default=None)
    renewals: Attribute[int] = attribute(default=0)
    revision: Attribute[int | None] = version()


class LeaseState(Enum):
    """Whether a hold is one still."""

    HELD = "held"
    LOST = "lost"
    """Another owner has taken the lease since."""
    NOT_HELD = "not held"
    """Nobody else is known to have taken it, and it is not held: it was given back, or its time has run out."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One acquisition of a lease. True, so that ``if hold := db.run(lease.acquire())`` asks whether there is one.

    ``fence`` is higher than that of every owner before: hand it to whatever can refuse an older one. ``owner`` is new for
    each acquisition. A hold is not to be used by two processes: not over a fork, nor in two restored snapshots of a machine.
    """

    name: str
    owner: str
    fence: int
    duration_seconds: float
    began: Moment = field(compare=False, repr=False)
    record: LeaseRecord = field(compare=False, repr=False)

    @property
    def key(self) -> VersionedKey[LeaseRecord]:
        """The record, for a check in a transaction."""
        return LeaseRecord.key_of(self.name)

    @property
    def condition(self) -> Condition[LeaseRecord]:
        """That the lease is still this hold's: ``marker = tx.check(hold.key, hold.condition)``. The check costs two write units."""
        return (LeaseRecord.fence == self.fence) & (LeaseRecord.owner == self.owner)

    def state_told_by(self, refusal: Refusal[LeaseRecord]) -> LeaseState:
        """Why the check of a transaction was refused: ``LOST`` to another owner, or ``NOT_HELD`` because it was given back."""
        return self.state_in(refusal.item)

    def state_in(self, record: LeaseRecord | None) -> LeaseState:
        """What a stored record says of this hold, whatever the time is."""
        if record is None or record.fence == self.fence:
            return LeaseState.HELD if record is not None and record.owner == self.owner else LeaseState.NOT_HELD
        return LeaseState.LOST

    def remaining_seconds(self, moment: Moment) -> float:
        """How long the lease lasts from that moment on, by the clocks of this process; less than nothing where it has run out.

        By the larger of wall and monotonic time, since one of them may stand still while a process does.
        """
        passed = max(moment.monotonic - self.began.monotonic, moment.wall - self.began.wall)
        return self.duration_seconds * (1.0 - SAFETY_SHARE) - passed

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class NotAcquired:
    """The lease could not be taken for as long as the caller waited. False. ``record`` is how it was seen last, ``None`` where none was."""

    record: LeaseRecord | None

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Ran(Generic[R]):
    """What a function gave that ran under a lease, and whether the lease was held to its end."""

    result: R
    state: LeaseState

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record, and when it was first seen as it is, by the monotonic clock of this process."""

    record: LeaseRecord
    at: float


class KeptHold:
    """A hold that is renewed beside the function that uses it."""

    __slots__ = ("hold", "state")

    def __init__(self, hold: Hold) -> None:
        self.hold: Hold = hold
        """As it was renewed last."""
        self.state: LeaseState = LeaseState.HELD
        """``LOST`` or ``NOT_HELD`` as soon as a renewal found it out."""

    @property
    def fence(self) -> int:
        return self.hold.fence


class Lease:
    """A lease by its name: one owner at a time, unless a process stands still; then the fencing number tells the owners apart.

    ``duration_seconds`` is how long a hold lasts without renewal, and how long others wait after its owner died. Keep one
    object of this class for a lease: what it saw of the record is kept in it, so that a program which asks now and then,
    without waiting, takes over in the end. Each step costs one write unit, each look one read unit.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (LeaseRecord,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, duration_seconds: float = DURATION_SECONDS) -> None:
        self._scope = table.scope_of(LeaseRecord)
        self._key = LeaseRecord.key_of(name)
        self._name = name
        self._duration_seconds = time_span(duration_seconds, "how long a lease lasts")
        self._seen: _Seen | None = None

    def acquire(self, *, wait_seconds: float = 0.0) -> Operation[Hold | NotAcquired]:
        """Take the lease, once it is free or its owner has not been heard of for its whole duration.

        Waits at most ``wait_seconds``, and a call that is under way then. A lost answer is recognised by the owner id, which is
        new for each call. Raises what a read raises where the service does not answer; then at worst nobody has the lease
        for a duration.
        """
        checked = time_to_wait(wait_seconds, "wait_seconds")
        return Operation(lambda: self._acquire(checked))

    def renew(self, hold: Hold) -> Operation[Hold | LeaseState]:
        """The hold with its whole duration before it; ``LOST`` or ``NOT_HELD`` where it is no hold any more.

        A lease that has run out and that nobody took is held again: nobody else was its owner in between.
        """
        return Operation(lambda: self._renew(hold))

    def release(self, hold: Hold) -> Operation[LeaseState]:
        """Give the lease back, so that the next owner need not wait: ``NOT_HELD`` then, or ``LOST`` where another has it by then."""
        return Operation(lambda: self._release(hold))

    def held(self, hold: Hold) -> Operation[LeaseState]:
        """Read whether the hold is one still. True when it was read and no longer: a write that rests on it takes ``hold.condition`` along."""
        return Operation(lambda: self._held(hold))

    @overload
    def run(self, function: Callable[[KeptHold], Awaitable[R]], *, wait_seconds: float = 0.0) -> Operation[Ran[R] | NotAcquired]: ...
    @overload
    def run(self, function: Callable[[KeptHold], R], *, wait_seconds: float = 0.0) -> Operation[Ran[R] | NotAcquired]: ...
    def run(self, function: Callable[[KeptHold], Any], *, wait_seconds: float = 0.0) -> Operation[Ran[Any] | NotAcquired]:
        """Call ``function`` with the lease, renewed beside it, and give it back after; ``NotAcquired`` where it was never called.

        The function is not stopped when the lease is lost: it looks at ``state`` of what it is given, and checks the hold in
        what it writes. ``Ran.state`` says whether the lease was held to the end. Where the lease cannot be given back it runs out
        by itself: the function's result, or its error, is what is told.
        """
        checked = time_to_wait(wait_seconds, "wait_seconds")
        return Operation(lambda: self._run(function, checked))

    # ------------------------------------------------------------------------------------------------------------ taking

    def _acquire(self, wait_seconds: float) -> Steps[Hold | NotAcquired]:
        owner = yield from new_id()
        first = yield from now()
        ends = first.monotonic + wait_seconds
        record: LeaseRecord | None = yield from get_or_none(self._scope, self._key, consistent=True)
        for _ in range(TURNS_MAX):
            began = yield from now()
            if record is None or self._is_free(record, began):
                record, applied = yield from self._take(record, owner)
                if record is not None and applied:
                    return self._hold(owner, began, record)
            if record is not None and record.owner == owner:
                # Taken by an attempt of this call that was in doubt: since when, only a renewal can say.
                found = yield from self._renew(self._hold(owner, first, record))
                if isinstance(found, Hold):
                    return found
                record = yield from get_or_none(self._scope, self._key, consistent=True)
            moment = yield from now()
            if record is not None:
                self._note(record, moment)
            if moment.monotonic >= ends:
                return NotAcquired(record)
            if record is not None and record.owner is not None:
                yield from self._wait(record, moment, ends)
                record = yield from get_or_none(self._scope, self._key, consistent=True)
        raise AssertionError("a wait ends by its time")

    def _hold(self, owner: str, began: Moment, record: LeaseRecord) -> Hold:
        return Hold(self._name, owner, record.fence, record.duration_seconds, began, record)

    def _take(self, record: LeaseRecord | None, owner: str) -> Steps[tuple[LeaseRecord | None, bool]]:
        if record is not None:
            changes = (
                LeaseRecord.owner.set(owner),
                LeaseRecord.fence.set(record.fence + 1),
                LeaseRecord.duration_seconds.set(self._duration_seconds),
            )
            return (yield from self._change(record, *changes))
        first = LeaseRecord(name=self._name, owner=owner, fence=1, duration_seconds=self._duration_seconds)
        try:
            outcome = yield from create(self._scope, first)
        except OutcomeUnknown as error:
            return (yield from self._look_after(error)), False
        return _record_of(outcome), bool(outcome)

    def _is_free(self, record: LeaseRecord, moment: Moment) -> bool:
        seen = self._seen
        if record.owner is None:
            return True
        return seen is not None and seen.record == record and moment.monotonic - seen.at >= record.duration_seconds

    def _note(self, record: LeaseRecord, moment: Moment) -> None:
        if self._seen is None or self._seen.record != record:
            self._seen = _Seen(record, moment.monotonic)

    def _wait(self, record: LeaseRecord, moment: Moment, ends: float) -> Steps[None]:
        seen = self._seen
        share = yield from random_number()
        until_free = record.duration_seconds if seen is None else seen.at + record.duration_seconds - moment.monotonic
        poll = record.duration_seconds / POLLS_A_LEASE * (0.5 + share / 2)
        yield from pause(max(0.0, min(poll, until_free, ends - moment.monotonic)))

    # ----------------------------------------------------------------------------------------------------------- keeping

    def _renew(self, hold: Hold) -> Steps[Hold | LeaseState]:
        """Only a write of this round counts as a renewal: waiters may have seen what an earlier one left long ago."""
        record = hold.record
        for _ in range(ROUNDS_MAX):
            began = yield from now()
            found, applied = yield from self._change(record, LeaseRecord.renewals.add(1))
            state = hold.state_in(found)
            if found is None or state is not LeaseState.HELD:
                return state
            if applied:
                return replace(hold, began=began, duration_seconds=found.duration_seconds, record=found)
            record = found
        raise self._unsettled("renewal")

    def _release(self, hold: Hold) -> Steps[LeaseState]:
        record = hold.record
        for _ in range(ROUNDS_MAX):
            found, _ = yield from self._change(record, LeaseRecord.owner.remove())
            state = hold.state_in(found)
            if found is None or state is not LeaseState.HELD:
                return state
            record = found
        raise self._unsettled("release")

    def _held(self, hold: Hold) -> Steps[LeaseState]:
        record = yield from get_or_none(self._scope, self._key, consistent=True)
        moment = yield from now()
        state = hold.state_in(record)
        return LeaseState.NOT_HELD if state is LeaseState.HELD and hold.remaining_seconds(moment) <= 0.0 else state

    def _run(self, function: Callable[[KeptHold], Any], wait_seconds: float) -> Steps[Ran[Any] | NotAcquired]:
        hold = yield from self._acquire(wait_seconds)
        if isinstance(hold, NotAcquired):
            return hold
        kept = KeptHold(hold)
        side = yield from start_side(Operation(lambda: self._keep(kept)))
        try:
            result = yield from call_user(function, kept)
        except Exception as error:
            # Not of an interrupt: after one nothing may be sent, and the lease runs out by itself.
            yield from stop_side(side)
            try:
                yield from self._release(kept.hold)
            except SurewriteError as failure:
                error.add_note(f"surewrite: the lease was not given back, it runs out by itself: {failure}")
            raise
        yield from stop_side(side)
        moment = yield from now()
        lasted = kept.state is LeaseState.HELD and kept.hold.remaining_seconds(moment) > 0.0
        try:
            state = yield from self._release(kept.hold)
        except SurewriteError:
            # The function is done. A lease that is not given back runs out by itself, and keeps others waiting until then.
            state = LeaseState.NOT_HELD
        if kept.state is LeaseState.HELD and not lasted:
            kept.state = LeaseState.LOST if state is LeaseState.LOST else LeaseState.NOT_HELD
        return Ran(result, kept.state)

    def _keep(self, kept: KeptHold) -> Steps[None]:
        for _ in range(TURNS_MAX):
            yield from pause(self._duration_seconds / RENEWALS_A_LEASE)
            try:
                found = yield from self._renew(kept.hold)
            except WrongEntityType:
                raise
            except SurewriteError:
                # Not renewed as far as is known: the time of the hold goes on running, and says so at the end.
                continue
            if isinstance(found, LeaseState):
                kept.state = found
                return
            kept.hold = found

    # ---------------------------------------------------------------------------------------------------------- settling

    def _change(self, record: LeaseRecord, *changes: Change[Any]) -> Steps[tuple[LeaseRecord | None, bool]]:
        """Change exactly this record. Gives the record as it is stored then, whoever wrote it, and whether this write is known to have."""
        try:
            outcome = yield from update(self._scope, record, changes, NO_OPTIONS)
        except OutcomeUnknown as error:
            return (yield from self._look_after(error)), False
        return _record_of(outcome), bool(outcome)

    def _look_after(self, error: OutcomeUnknown) -> Steps[LeaseRecord | None]:
        """The record as it is stored. What is still under way was made for an older revision, or will show its owner."""
        try:
            found: LeaseRecord | None = yield from get_or_none(self._scope, self._key, consistent=True)
        except SurewriteError:
            raise error from None
        return found

    def _unsettled(self, what: str) -> OutcomeUnknown:
        return OutcomeUnknown(f"the {what} of the lease {self._name!r} may have taken effect: the service did not answer in {ROUNDS_MAX} rounds", key=self._key)


def _record_of(outcome: Any) -> LeaseRecord | None:
    """The record as an outcome shows it: as it was stored, or as it refused."""
    if not outcome and outcome.reason is RefusalReason.WRONG_ENTITY_TYPE:
        raise outcome.error()
    record: LeaseRecord | None = outcome.item
    return record
