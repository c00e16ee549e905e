"""Belongs here: effects outside the database, by key, under a claim with a lease. Must not be here: effects that are writes, threads, a web framework.

No database can make an effect elsewhere happen exactly once. What can be chosen is which way to be wrong: *retake* runs an
effect again whose caller was lost (at least once), *refuse* never does and tells that the outcome is not known (at most once,
and then somebody has to look). The lease of a claim is apart from the life of its record, and is measured by the service's
clock, which every answer tells: a call that comes in fresh must be able to judge it at once. Source: outcomes C2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final, Literal, TypeVar, assert_never, overload

from surewrite.core import writes
from surewrite.core.effects import Moment, Operation, Steps, new_id, now, pause, random_number
from surewrite.core.entities import EntityBase
from surewrite.core.outcomes import Applied, Outcome, RefusalReason
from surewrite.core.scopes import ScopedTable
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.core.writes import NO_OPTIONS
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, Throttled
from surewrite.recipes.documents import document_of, document_text
from surewrite.recipes.effect_answers import EffectClaim, EffectNotKnown, EffectRunning, EffectStillRunning, EffectUnknown, LeaseLost
from surewrite.recipes.idempotency_records import (
    HORIZON_SECONDS,
    NO_PAYLOAD,
    AnswerPart,
    EffectDone,
    IdempotencyRecord,
    LargeAnswers,
    fingerprint_of,
    records_of,
    require_same_call,
)
from surewrite.recipes.key_parts import RecipeKey, key_text
from surewrite.recipes.running import Decorator, Runs, running
from surewrite.recipes.settings import time_span, time_to_wait
from surewrite.recipes.user_work import WorkRefused, work_done

A = TypeVar("A")
T = TypeVar("T")
W = TypeVar("W")

ROUNDS_MAX: Final = 8
"""How often a claim or its end is settled by reading before its doubt is told."""

TURNS_MAX: Final = 100_000
"""Bounds waiting for another call, which ends by its own time long before."""

POLL_SECONDS_FIRST: Final = 0.05
POLL_SECONDS_MAX: Final = 1.0

HANDLER_MARGIN_SECONDS: Final = 1.0
"""A handler that is stopped at its deadline is certainly over this much later."""

_LEASE: Final = "how long a lease lasts"

AfterLost = Literal["retake", "refuse"]


class LeasedEffects:
    """Effects elsewhere by key: ``effects.run(key, function)`` runs a function that no call with this key ran before.

    ``after_lost`` must be chosen: ``"retake"`` runs the effect of a call whose lease ended without a word again, at least
    once in all; ``"refuse"`` does not, at most once in all, and tells ``EffectNotKnown``. ``lease_seconds`` is longer than the effect
    takes, or is renewed while it runs. A function that raises gives its claim back under *retake*; under *refuse* only
    for the errors in ``not_done``, which say that the effect did not take place, and any other one leaves it in doubt.
    ``horizon_seconds`` is how long a key is remembered after its last change, and after the lease of a claim. Costs one read unit and
    two write units a call, each per started KB of the record; a repeated call costs the read.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (IdempotencyRecord, AnswerPart)
    """For ``create_table``, which turns their time to live on."""

    def __init__(
        self,
        table: ScopedTable,
        operation: str,
        *,
        after_lost: AfterLost,
        lease_seconds: float = 60.0,
        horizon_seconds: float = HORIZON_SECONDS,
        wait_seconds: float = 0.0,
        large_answers: LargeAnswers = "stub",
        not_done: tuple[type[Exception], ...] = (),
    ) -> None:
        if after_lost not in ("retake", "refuse"):
            raise InvalidRequest('after_lost is "retake", at least once, or "refuse", at most once')
        self._table = table
        self._records = records_of(table, operation, horizon_seconds, large_answers)
        self._after_lost: AfterLost = after_lost
        self._lease_seconds = time_span(lease_seconds, _LEASE)
        self._wait_seconds = time_to_wait(wait_seconds, "wait_seconds")
        self._not_done = not_done

    # -------------------------------------------------------------------------------------------------------- whole calls

    @overload
    def run(
        self,
        key: RecipeKey,
        function: Callable[[EffectClaim], Operation[A] | Awaitable[A]],
        *,
        payload: object = NO_PAYLOAD,
        lease_seconds: float | None = None,
    ) -> Operation[EffectDone[A] | EffectRunning | EffectNotKnown]: ...
    @overload
    def run(
        self, key: RecipeKey, function: Callable[[EffectClaim], A], *, payload: object = NO_PAYLOAD, lease_seconds: float | None = None
    ) -> Operation[EffectDone[A] | EffectRunning | EffectNotKnown]: ...
    def run(
        self, key: RecipeKey, function: Callable[[EffectClaim], Any], *, payload: object = NO_PAYLOAD, lease_seconds: float | None = None
    ) -> Operation[EffectDone[Any] | EffectRunning | EffectNotKnown]:
        """Run the function with its claim, and record its answer for later calls.

        Raises ``LeaseLost`` where the claim was lost before that, although the effect ran; ``OutcomeUnknown`` where the
        service did not answer whether it is recorded; ``IdempotencyKeyReused`` for another payload than the first call's.
        """
        return Operation(lambda: self._run(key, function, payload, lease_seconds))

    def decorate(self, db: Runs[W], *, key: Callable[..., RecipeKey], payload: Callable[..., object] | None = None) -> Decorator[W]:
        """``@effects.decorate(db, key=lambda order: order.id)`` over ``def send(order)``: a call gives the answer, of this or of an earlier run.

        ``key`` and ``payload`` get the arguments of the call. Raises ``EffectStillRunning`` and ``EffectUnknown`` where there is no
        answer. With an asynchronous database the decorated function is awaited, and so is the function itself if it is ``async``.
        """
        return self._decorator(db, key, payload, lambda _arguments, _named: None)

    def handler(self, db: Runs[W], *, key: Callable[[Any], RecipeKey], payload: Callable[[Any], object] | None = None) -> Decorator[W]:
        """The same over a function of an event and a context, as Lambda calls it; ``key`` and ``payload`` get the event.

        The lease lasts as long as the context says that the handler may still run, and a second more, so that no second
        call begins while the first can still be at work; where the context says nothing it lasts ``lease_seconds``.
        """

        def key_of_event(event: Any, *_rest: Any, **_named: Any) -> RecipeKey:
            return key(event)

        def payload_of_event(event: Any, *_rest: Any, **_named: Any) -> object:
            return NO_PAYLOAD if payload is None else payload(event)

        def lease_of(arguments: tuple[Any, ...], named: dict[str, Any]) -> float | None:
            return _remaining_seconds(arguments[1] if len(arguments) > 1 else named.get("context"))

        return self._decorator(db, key_of_event, payload_of_event, lease_of)

    # ---------------------------------------------------------------------------------------------------------- by hand

    def claim(
        self, key: RecipeKey, *, payload: object = NO_PAYLOAD, lease_seconds: float | None = None
    ) -> Operation[EffectClaim | EffectDone[Any] | EffectRunning | EffectNotKnown]:
        """Take the claim of a key, or tell why not. The effect is then run by the caller, who ends the claim by ``complete`` or ``release``."""
        return Operation(lambda: self._claim(self._text(key), fingerprint_of(payload), self._checked_lease(lease_seconds)))

    def renew(self, claim: EffectClaim, *, lease_seconds: float | None = None) -> Operation[bool]:
        """Let the lease last its whole time from now on. False where the claim was lost: the effect may run elsewhere by then."""
        return Operation(lambda: self._renew(claim, self._checked_lease(lease_seconds)))

    def complete(self, claim: EffectClaim, answer: Any = None) -> Operation[EffectDone[Any]]:
        """Record that the effect was done, with its answer. Only by the owner of the claim: otherwise raises ``LeaseLost``."""
        return Operation(lambda: self._complete(claim, answer))

    def release(self, claim: EffectClaim) -> Operation[bool]:
        """Give the claim back: the effect did not take place, and another call may run it. The record stays, as free. False where the claim was lost."""
        return Operation(lambda: self._end(claim, "free"))

    def record_done(self, key: RecipeKey, answer: Any = None) -> Operation[bool]:
        """Say of a key whose outcome was not known that its effect took place. False where there is nothing to say: it is free, running or done."""
        return Operation(lambda: self._settle(self._text(key), "done", document_text(answer, "the answer")))

    def allow_again(self, key: RecipeKey) -> Operation[bool]:
        """Say of a key whose outcome was not known that its effect did not take place, so that the next call runs it. False as above."""
        return Operation(lambda: self._settle(self._text(key), "free", None))

    # ---------------------------------------------------------------------------------------------------------- running

    def _run(
        self, key: RecipeKey, function: Callable[[EffectClaim], Any], payload: object, lease_seconds: float | None
    ) -> Steps[EffectDone[Any] | EffectRunning | EffectNotKnown]:
        claim = yield from self.claim(key, payload=payload, lease_seconds=lease_seconds).steps()
        if not isinstance(claim, EffectClaim):
            return claim
        try:
            answer = yield from work_done(function, claim)
        except Exception as error:
            # Not for an interrupt: after one nothing may be sent, and the lease ends by itself.
            certainly = self._after_lost == "retake" or isinstance(error, (WorkRefused, *self._not_done))
            try:
                yield from self._end(claim, "free" if certainly else "in doubt")
            except SurewriteError as failure:
                error.add_note(f"surewrite: the claim was not given back, its lease runs out by itself: {failure}")
            raise
        return (yield from self._complete(claim, answer))

    def _decorator(
        self,
        db: Runs[Any],
        key: Callable[..., RecipeKey],
        payload: Callable[..., object] | None,
        lease: Callable[[tuple[Any, ...], dict[str, Any]], float | None],
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def over(function: Callable[..., Any]) -> Callable[..., Any]:
            def start(*arguments: Any, **named: Any) -> Operation[Any]:
                given = NO_PAYLOAD if payload is None else payload(*arguments, **named)
                wanted = key(*arguments, **named)
                run = self.run(wanted, lambda _claim: function(*arguments, **named), payload=given, lease_seconds=lease(arguments, named))
                return Operation(lambda: self._answer_of(self._text(wanted), run))

            return running(db, function, start)

        return over

    def _answer_of(self, key: str, run: Operation[EffectDone[Any] | EffectRunning | EffectNotKnown]) -> Steps[Any]:
        found = yield from run.steps()
        match found:
            case EffectDone():
                return found.answer
            case EffectRunning(seconds_left=seconds):
                raise EffectStillRunning(
                    f"{self._records.operation}: another call with this key is under way", key=self._records.key_of(key), seconds_left=seconds
                )
            case EffectNotKnown():
                raise EffectUnknown(
                    f"{self._records.operation}: an earlier call with this key began, and whether its effect took place is not known; nothing was run now:"
                    " look, then say record_done(key, answer) or allow_again(key)",
                    key=self._records.key_of(key),
                )
            case _:
                assert_never(found)

    def _text(self, key: RecipeKey) -> str:
        return key_text(key, f"the operation {self._records.operation!r}")

    def _checked_lease(self, seconds: float | None) -> float:
        return self._lease_seconds if seconds is None else time_span(seconds, _LEASE)

    # ----------------------------------------------------------------------------------------------------------- taking

    def _claim(self, key: str, wanted: str | None, lease_seconds: float) -> Steps[EffectClaim | EffectDone[Any] | EffectRunning | EffectNotKnown]:
        owner = yield from new_id()
        began = yield from now()
        # The read comes first: its answer tells the service's clock, by which leases are measured.
        record = yield from self._records.read(key)
        for number in range(1, TURNS_MAX + 1):
            moment = yield from now()
            if record is not None:
                require_same_call(record, wanted, leased=True)
                if record.owner == owner and record.state == "running":
                    return EffectClaim(key, record)
                if record.state == "done":
                    return (yield from self._records.answered(record, mine=False))
                left = (record.lease_until or 0.0) - moment.server
                if record.state == "in doubt" or (record.state == "running" and left <= 0.0 and self._after_lost == "refuse"):
                    return EffectNotKnown(record.attempt, record.owner)
                if record.state == "running" and left > 0.0:
                    if not (yield from self._wait(number, began, moment)):
                        return EffectRunning(left)
                    record = yield from self._records.read(key)
                    continue
            record = yield from self._take(key, record, owner, wanted, lease_seconds, moment)
        raise Throttled(f"{self._records.operation}: the claim was not taken: its record changed in each of {TURNS_MAX} tries", key=self._records.key_of(key))

    def _take(
        self, key: str, record: IdempotencyRecord | None, owner: str, wanted: str | None, lease_seconds: float, moment: Moment
    ) -> Steps[IdempotencyRecord | None]:
        """Try to become the owner. Gives the record as it is stored then, whoever wrote it."""
        until, ends = moment.server + lease_seconds, self._records.ends(moment, lease_seconds)
        if record is not None:
            return (yield from self._put(record.replace(owner=owner, state="running", attempt=record.attempt + 1, lease_until=until, ends=ends)))
        first = IdempotencyRecord(
            operation=self._records.operation, key=key, owner=owner, state="running", fingerprint=wanted, attempt=1, lease_until=until, ends=ends
        )
        try:
            outcome = yield from writes.create(self._records.scope, first)
        except OutcomeUnknown as error:
            return (yield from self._look_after(key, error))
        return _record_of(outcome)

    def _wait(self, number: int, began: Moment, moment: Moment) -> Steps[bool]:
        share = yield from random_number()
        seconds = (0.5 + share / 2) * min(POLL_SECONDS_MAX, POLL_SECONDS_FIRST * 2.0 ** min(number, 10))
        if moment.monotonic + seconds - began.monotonic >= self._wait_seconds:
            return False
        yield from pause(seconds)
        return True

    # ----------------------------------------------------------------------------------------------------------- ending

    def _renew(self, claim: EffectClaim, lease_seconds: float) -> Steps[bool]:
        for _ in range(ROUNDS_MAX):
            moment = yield from now()
            until = moment.server + lease_seconds
            found = yield from self._put(claim.record.replace(lease_until=until, ends=self._records.ends(moment, lease_seconds)))
            if found is None or not _is_of(found, claim) or found.state != "running":
                return False
            claim.record = found
            if found.lease_until == until:
                return True
        raise self._unsettled("renewal", claim.key)

    def _end(self, claim: EffectClaim, state: Literal["free", "in doubt"]) -> Steps[bool]:
        for _ in range(ROUNDS_MAX):
            moment = yield from now()
            found = yield from self._put(claim.record.replace(state=state, lease_until=None, ends=self._records.ends(moment)))
            if found is None or not _is_of(found, claim):
                return False
            claim.record = found
            if found.state == state:
                return True
            if found.state != "running":
                return False
        raise self._unsettled("end", claim.key)

    def _complete(self, claim: EffectClaim, answer: Any) -> Steps[EffectDone[Any]]:
        text, given = _kept_form(answer)
        failure: SurewriteError | None = None
        for number in range(ROUNDS_MAX):
            if failure is not None:
                # The effect ran: what stands against recording it now may pass.
                yield from pause(POLL_SECONDS_FIRST * 2.0**number)
            try:
                found, kept = yield from self._put_done(claim.record, text)
            except InvalidRequest as error:
                failure = error
                if error.code is None or (error.code == "ValidationException" and number >= ROUNDS_MAX // 2):
                    # The answer is too large, by this library or again and again by the service: done stays done, without it.
                    text = None
                continue
            except SurewriteError as error:
                failure = error
                continue
            failure = None
            if found is not None and _is_of(found, claim) and found.state == "done":
                return EffectDone(given, kept=kept)
            if found is None or not _is_of(found, claim) or found.state != "running":
                raise LeaseLost(
                    f"{self._records.operation}: the effect ran, but its claim was lost before that was recorded: another call may have run it too",
                    key=self._records.key_of(claim.key),
                    answer=answer,
                )
            claim.record = found
        unsettled = self._unsettled("end", claim.key) if failure is None else failure
        unsettled.add_note("surewrite: the effect ran, and that was not recorded as far as is known")
        raise unsettled

    def _put_done(self, ended: IdempotencyRecord, text: str | None) -> Steps[tuple[IdempotencyRecord | None, bool]]:
        """Record the end of a claim. Gives the record as it is stored then, and whether the answer is with it."""
        moment = yield from now()
        record, parts = self._records.kept(ended.replace(ends=self._records.ends(moment)), text)
        kept = record.answer is not None or bool(parts)
        if not parts:
            return (yield from self._put(record)), kept
        draft = TransactionDraft(self._table.environment)
        marker = draft.put(self._records.scope, record, NO_OPTIONS)
        for part in parts:
            draft.put(self._records.parts, part, NO_OPTIONS)
        try:
            result = yield from commit(draft)
        except OutcomeUnknown as error:
            return (yield from self._look_after(record.key, error)), kept
        if result:
            return result.item_for(marker), kept
        return (yield from self._records.read(record.key)), kept

    # --------------------------------------------------------------------------------------------------------- settling

    def _put(self, record: IdempotencyRecord) -> Steps[IdempotencyRecord | None]:
        """Write over exactly the record that was read. Gives the record as it is stored then, whoever wrote it."""
        try:
            outcome = yield from writes.put(self._records.scope, record, NO_OPTIONS)
        except OutcomeUnknown as error:
            return (yield from self._look_after(record.key, error))
        return _record_of(outcome)

    def _look_after(self, key: str, error: OutcomeUnknown) -> Steps[IdempotencyRecord | None]:
        """The record as it is stored. What is still under way was made for an older version of it, or for none."""
        try:
            return (yield from self._records.read(key))
        except SurewriteError:
            raise error from None

    def _settle(self, key: str, state: Literal["done", "free"], answer: str | None) -> Steps[bool]:
        # A new owner, so that the lost call, should it come back, is told so.
        owner = yield from new_id()
        record = yield from self._records.read(key)
        for _ in range(ROUNDS_MAX):
            moment = yield from now()
            if record is not None and record.owner == owner:
                return True
            if record is None or record.state in ("done", "free") or (record.lease_until is not None and record.lease_until > moment.server):
                return False
            settled = record.replace(owner=owner, state=state, lease_until=None, ends=self._records.ends(moment))
            record = (yield from self._put(settled)) if state == "free" else (yield from self._put_done(settled, answer))[0]
        raise self._unsettled("end", key)

    def _unsettled(self, what: str, key: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"{self._records.operation}: the {what} of the claim may have been recorded: the service did not answer in {ROUNDS_MAX} rounds",
            key=self._records.key_of(key),
        )


def _is_of(record: IdempotencyRecord, claim: EffectClaim) -> bool:
    return record.owner == claim.owner and record.attempt == claim.attempt


def _record_of(outcome: Outcome[IdempotencyRecord]) -> IdempotencyRecord | None:
    """The record as an outcome shows it: as it was stored, or as it refused."""
    if not isinstance(outcome, Applied) and outcome.reason is RefusalReason.WRONG_ENTITY_TYPE:
        raise outcome.error()
    return outcome.item


def _kept_form(answer: Any) -> tuple[str | None, Any]:
    """The text of an answer, and the answer as later calls get it. The effect is done: an answer that cannot be kept undoes nothing."""
    try:
        text = document_text(answer, "the answer")
    except InvalidRequest:
        return None, answer
    return text, document_of(text)


def _remaining_seconds(context: Any) -> float | None:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return None if remaining is None else remaining() / 1000.0 + HANDLER_MARGIN_SECONDS
