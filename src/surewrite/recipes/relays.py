"""Belongs here: publishing what waits in an outbox, each key in order. Must not be here: the broker, threads, the table's stream.

What holds: every event is published at least once, and *first* deliveries of one key are in the order of their numbers. A
redelivery may follow newer events: a relay that stands still in ``publish`` wakes up after another one took its place,
and no fence of a database stops a broker. So each delivery carries its key, its number and the relay's fence, and consumers
drop what is not newer (``consumers``). Source: outcomes C6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from surewrite.core.bulk import delete_many
from surewrite.core.effects import Operation, Steps, call_user, now, pause, random_number
from surewrite.core.scopes import Options
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactional_reads import transact_get
from surewrite.core.transactions import commit
from surewrite.errors import InvalidRequest, SurewriteError, TransactionConflict
from surewrite.recipes.leases import Hold, Lease
from surewrite.recipes.outbox import Bucket, Outbox, OutboxRow, PoisonRow
from surewrite.recipes.settings import time_span, time_to_wait, whole_number
from surewrite.recipes.user_work import work_done

PASSES_MAX: Final = 1_000_000_000
PAGES_MAX: Final = 1000
"""Of one bucket in one pass, each of at most 1 MB."""

CHECKED_AT_ONCE: Final = 100
"""The service reads so many items in one transaction. Source: API Reference, TransactGetItems."""

DELETES_AT_ONCE: Final = 8
TRY_PAUSE_SECONDS: Final = 0.1
ERROR_TEXT_MOST: Final = 500

Poison = Literal["block", "skip"]

_IF_UNCHANGED: Final = Options(if_unchanged=True)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event as ``publish`` gets it.

    ``id`` names the event in every delivery, ``key`` and ``number`` order it, ``key_parts`` is the key as it was given.
    ``fence`` is higher than that of every relay of this bucket before. ``publish`` has to come to its end within
    ``timeout_seconds``. What is awaited is cancelled then, which counts as not published. Plain code cannot be stopped: give
    it to the broker's client as its own time limit.
    """

    id: str
    key: str
    key_parts: tuple[str, ...]
    number: int
    event: Any
    fence: int
    emitted_at: datetime | None
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class RelayProgress:
    """What a relay did, so far or in all.

    ``blocked`` and ``skipped`` are ids of events that could not be published. ``deferred`` counts events that wait for an
    earlier one of their key, ``overran`` calls of ``publish`` that took longer than they may or were cancelled for it, ``busy`` buckets that another
    relay holds, ``lost`` those that were lost to another. ``oldest_at`` is the emission of the oldest event seen that is not
    published, ``lag_seconds`` how old the oldest one was when it was seen.
    """

    published: int = 0
    deferred: int = 0
    overran: int = 0
    busy: int = 0
    lost: int = 0
    blocked: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    oldest_at: datetime | None = None
    lag_seconds: float = 0.0


@dataclass(slots=True)
class _Tally:
    """A ``RelayProgress`` while it is counted."""

    published: int = 0
    deferred: int = 0
    overran: int = 0
    busy: int = 0
    lost: int = 0
    blocked: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    oldest_at: datetime | None = None
    lag_seconds: float = 0.0

    def progress(self) -> RelayProgress:
        return RelayProgress(
            self.published, self.deferred, self.overran, self.busy, self.lost, tuple(self.blocked), tuple(self.skipped), self.oldest_at, self.lag_seconds
        )

    def left(self, row: OutboxRow) -> None:
        """An event that stays where it is."""
        if row.emitted_at is not None and (self.oldest_at is None or row.emitted_at < self.oldest_at):
            self.oldest_at = row.emitted_at


@dataclass(slots=True)
class _Drain:
    """One bucket in one pass. ``passed`` holds the number of each key up to which events were published or set aside."""

    bucket: Bucket
    lease: Lease
    hold: Hold
    passed: dict[str, int] = field(default_factory=dict[str, int])
    stuck: set[str] = field(default_factory=set[str])
    held: bool = True


def _never() -> bool:
    return False


class Relay:
    """Publishes what waits in an outbox: ``db.run(relay.run_once())``, or ``db.run(relay.run(stop=...))`` until told to stop.

    ``publish`` gets a ``Delivery`` and returns when the broker has it; it may be ``async`` with an asynchronous database, and
    an operation that it returns is run. An event for which it raises ``attempts`` times is poison, and ``poison`` must be
    chosen: ``"block"`` keeps all later
    events of its key waiting and tries again in the next pass; ``"skip"`` sets it aside (``outbox.set_aside()``), says so to
    ``on_skip``, and goes on with the next one. Any number of relays may run: each bucket has one at a time, by a lease,
    which takes ``lease_seconds`` to pass on after a death. ``publish_timeout_seconds`` must be well below it. Keep one
    object of this class for as long as a process relays: it remembers since when the leases of others stand still. A program
    that makes it anew for each pass says ``run_once(wait_seconds=...)``.

    Costs a read unit for each bucket a pass. A bucket where something waits costs its events' read, and of the lease a read unit, two write
    units and one for each renewal; each event its delete, and two read units where the event before it was not published by the same pass.
    """

    def __init__(
        self,
        outbox: Outbox,
        publish: Callable[[Delivery], Any],
        *,
        poison: Poison,
        attempts: int = 3,
        lease_seconds: float = 30.0,
        publish_timeout_seconds: float = 10.0,
        on_progress: Callable[[RelayProgress], Any] | None = None,
        on_skip: Callable[[Delivery, Exception], Any] | None = None,
    ) -> None:
        if poison not in ("block", "skip"):
            raise InvalidRequest('poison is "block", later events of the key wait, or "skip", they pass it')
        if time_span(publish_timeout_seconds, "publish_timeout_seconds") > time_span(lease_seconds, "lease_seconds") / 2:
            raise InvalidRequest(f"publish_timeout_seconds is at most half of lease_seconds, {lease_seconds}, not {publish_timeout_seconds!r}")
        self.outbox: Outbox = outbox
        self._publish = publish
        self._poison: Poison = poison
        self._attempts = whole_number(attempts, "attempts is how often an event is tried")
        self._publish_timeout_seconds = publish_timeout_seconds
        self._on_progress = on_progress
        self._on_skip = on_skip
        self._leases = {
            bucket: Lease(outbox.table, f"outbox {outbox.name} {bucket.epoch} {bucket.number}", duration_seconds=lease_seconds) for bucket in outbox.buckets
        }

    def run_once(self, *, wait_seconds: float = 0.0) -> Operation[RelayProgress]:
        """Publish what waits now, but for buckets that another relay holds. Raises the error of a call that the service does not answer; run it again then.

        Those buckets are waited for up to ``wait_seconds`` together, after the others. With the lease's length, or more, the pass takes
        over from a relay that died; with less, an object of this class that has seen them for too short a time leaves them (``busy``).
        """
        checked = time_to_wait(wait_seconds, "wait_seconds")
        return Operation(lambda: self._pass(_Tally(), _never, checked))

    def run(self, *, stop: Callable[[], Any], idle_seconds: float = 1.0) -> Operation[RelayProgress]:
        """Pass after pass, until ``stop()`` is true; asked between events too. Pauses up to ``idle_seconds`` after a pass that published nothing."""
        checked = time_span(idle_seconds, "idle_seconds", least=0.0)
        return Operation(lambda: self._run(stop, checked))

    # ----------------------------------------------------------------------------------------------------------- passes

    def _run(self, stop: Callable[[], Any], idle_seconds: float) -> Steps[RelayProgress]:
        tally = _Tally()
        for _ in range(PASSES_MAX):
            if (yield from call_user(stop)):
                break
            before = tally.published
            tally.oldest_at, tally.lag_seconds = None, 0.0
            tally.blocked.clear()
            yield from self._pass(tally, stop, 0.0)
            if tally.published == before:
                share = yield from random_number()
                yield from pause(idle_seconds * (0.5 + share / 2))
        return tally.progress()

    def _pass(self, tally: _Tally, stop: Callable[[], Any], wait_seconds: float) -> Steps[RelayProgress]:
        buckets = self.outbox.buckets
        # Relays begin at different buckets, so that they meet less. An older epoch is no more urgent: its rows are looked for anyway.
        share = yield from random_number()
        first = int(share * len(buckets))
        busy: list[Bucket] = []
        for bucket in (*buckets[first:], *buckets[:first]):
            if (yield from call_user(stop)):
                break
            waiting = yield from self.outbox.waiting_in(bucket, limit=1).next_page()
            if waiting and not (yield from self._serve(bucket, tally, stop, 0.0)):
                busy.append(bucket)
        looked = yield from now()
        for bucket in busy:
            # Each lease was looked at before, so that they run out side by side.
            moment = yield from now()
            left = looked.monotonic + wait_seconds - moment.monotonic
            if wait_seconds <= 0.0 or not (yield from self._serve(bucket, tally, stop, max(0.0, left))):
                tally.busy += 1
        return tally.progress()

    def _serve(self, bucket: Bucket, tally: _Tally, stop: Callable[[], Any], wait_seconds: float) -> Steps[bool]:
        """Publish what waits in a bucket. False where another relay holds it."""
        lease = self._leases[bucket]
        hold = yield from lease.acquire(wait_seconds=wait_seconds).steps()
        if not isinstance(hold, Hold):
            return False
        drain = _Drain(bucket, lease, hold)
        try:
            yield from self._drain(drain, tally, stop)
        except Exception:
            # Not for an interrupt: after one nothing may be sent, and the lease runs out by itself.
            with suppress(SurewriteError):
                yield from lease.release(drain.hold).steps()
            raise
        if drain.held:
            yield from lease.release(drain.hold).steps()
        else:
            tally.lost += 1
        return True

    def _drain(self, drain: _Drain, tally: _Tally, stop: Callable[[], Any]) -> Steps[None]:
        pages = self.outbox.waiting_in(drain.bucket)
        for _ in range(PAGES_MAX):
            rows = yield from pages.next_page()
            yield from self._note_lag(rows, tally)
            yield from self._find_earlier(rows, drain)
            done: list[OutboxRow] = []
            going = yield from self._publish_all(rows, drain, tally, stop, done)
            # Needs no fence: what was published may go, whoever holds the lease. A row that stays is delivered once more.
            yield from delete_many(self.outbox.scope, done, _IF_UNCHANGED, DELETES_AT_ONCE, None)
            if self._on_progress is not None:
                yield from call_user(self._on_progress, tally.progress())
            if not going or pages.done:
                return

    def _publish_all(self, rows: Sequence[OutboxRow], drain: _Drain, tally: _Tally, stop: Callable[[], Any], done: list[OutboxRow]) -> Steps[bool]:
        """Publish the rows of a page that may go. False where the bucket is to be left: by order, or because it was lost."""
        for row in rows:
            if row.ordering_key in drain.stuck or (row.previous and drain.passed.get(row.ordering_key, -1) < row.previous):
                drain.stuck.add(row.ordering_key)
                tally.deferred += 1
                tally.left(row)
                continue
            if (yield from call_user(stop)):
                tally.left(row)
                return False
            if not (yield from self._try(row, drain, tally, done)):
                tally.left(row)
                return False
        return True

    # ------------------------------------------------------------------------------------------------------------ order

    def _find_earlier(self, rows: Sequence[OutboxRow], drain: _Drain) -> Steps[None]:
        """Hold back keys whose event before the first one of this page still waits somewhere.

        A query reads each row at its own moment: it may show number 3 and have passed the place of number 2 before that was
        committed. A transactional get shows number 2, or proves that it was published or never written: whoever wrote
        number 3 had seen the change of number 2. It also looks into the buckets of the other epochs.
        """
        firsts: dict[str, OutboxRow] = {}
        for row in rows:
            if row.ordering_key not in drain.passed and row.ordering_key not in drain.stuck:
                firsts.setdefault(row.ordering_key, row)
        asked = [row for row in firsts.values() if row.previous]
        for row in firsts.values():
            drain.passed[row.ordering_key] = row.previous
        step = max(1, CHECKED_AT_ONCE // len(self.outbox.counts))
        for start in range(0, len(asked), step):
            yield from self._check_earlier(asked[start : start + step], drain)

    def _check_earlier(self, asked: Sequence[OutboxRow], drain: _Drain) -> Steps[None]:
        places = [(row, place) for row in asked for place in self.outbox.places_of(row.ordering_key, row.previous)]
        try:
            found = yield from transact_get(self.outbox.scope.environment, [(self.outbox.scope, place) for _, place in places])
        except TransactionConflict:
            # Some of them are being written at this moment; the next pass looks again.
            drain.stuck.update(row.ordering_key for row in asked)
            return
        drain.stuck.update(row.ordering_key for (row, _), earlier in zip(places, found, strict=True) if earlier is not None)

    # ------------------------------------------------------------------------------------------------------- publishing

    def _try(self, row: OutboxRow, drain: _Drain, tally: _Tally, done: list[OutboxRow]) -> Steps[bool]:
        """Publish one event. False where the lease was lost before that."""
        failure: Exception | None = None
        for number in range(self._attempts):
            if number:
                yield from pause(TRY_PAUSE_SECONDS * 2.0 ** min(number, 5))
            if not (yield from self._keep(drain)):
                return False
            began = yield from now()
            try:
                yield from work_done(self._publish, self._delivery(row, drain.hold, event=row.event), timeout_seconds=self._publish_timeout_seconds)
                failure = None
            except Exception as error:  # noqa: BLE001 - whatever publish raises means that the event was not published
                failure = error
            ended = yield from now()
            tally.overran += ended.monotonic - began.monotonic >= self._publish_timeout_seconds
            if failure is None:
                tally.published += 1
                drain.passed[row.ordering_key] = row.number
                done.append(row)
                return True
        assert failure is not None
        return (yield from self._give_up(row, drain, tally, failure))

    def _keep(self, drain: _Drain) -> Steps[bool]:
        """Whether the lease lasts for one more call of ``publish``, renewed where it would not."""
        moment = yield from now()
        if drain.hold.remaining_seconds(moment) > self._publish_timeout_seconds:
            return True
        found = yield from drain.lease.renew(drain.hold).steps()
        drain.held = isinstance(found, Hold)
        if isinstance(found, Hold):
            drain.hold = found
        return drain.held

    def _give_up(self, row: OutboxRow, drain: _Drain, tally: _Tally, failure: Exception) -> Steps[bool]:
        if self._poison == "block":
            drain.stuck.add(row.ordering_key)
            tally.blocked.append(row.id)
            tally.left(row)
            return True
        draft = TransactionDraft(self.outbox.scope.environment)
        gone = draft.delete(self.outbox.scope, row, _IF_UNCHANGED)
        there = draft.create(self.outbox.poison_scope, _poisoned(row, failure))
        mine = draft.check(self.outbox.table.scope_of(type(drain.hold.record)), drain.hold.key, drain.hold.condition)
        result = yield from commit(draft)
        if not result and result.refusal_of(mine) is not None:
            drain.held = False
            return False
        aside = bool(result) or result.refusal_of(there) is not None
        if not aside and result.refusal_of(gone) is None:
            # Nothing told why; the next pass looks again.
            drain.stuck.add(row.ordering_key)
            tally.left(row)
            return True
        drain.passed[row.ordering_key] = row.number
        if not aside:
            # The row went and its copy is not there: an earlier relay published it.
            return True
        tally.skipped.append(row.id)
        if self._on_skip is not None:
            yield from call_user(self._on_skip, self._delivery(row, drain.hold, event=_readable(row)), failure)
        return True

    def _delivery(self, row: OutboxRow, hold: Hold, *, event: Any) -> Delivery:
        return Delivery(row.id, row.ordering_key, row.key_parts, row.number, event, hold.fence, row.emitted_at, self._publish_timeout_seconds)

    def _note_lag(self, rows: Sequence[OutboxRow], tally: _Tally) -> Steps[None]:
        moment = yield from now()
        times = [row.emitted_at.timestamp() for row in rows if row.emitted_at is not None]
        if times:
            tally.lag_seconds = max(tally.lag_seconds, moment.server - min(times))


def _readable(row: OutboxRow) -> Any:
    """The event, or its text where it is none: what another program wrote may be the poison."""
    try:
        return row.event
    except (ValueError, ArithmeticError, TypeError, RecursionError):
        return row.body


def _poisoned(row: OutboxRow, failure: Exception) -> PoisonRow:
    return PoisonRow(
        outbox=row.outbox,
        epoch=row.epoch,
        bucket=row.bucket,
        ordering_key=row.ordering_key,
        number=row.number,
        previous=row.previous,
        body=row.body,
        emitted_at=row.emitted_at,
        error=f"{type(failure).__name__}: {failure}"[:ERROR_TEXT_MOST],
    )
