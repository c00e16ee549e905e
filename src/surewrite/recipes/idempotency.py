"""Belongs here: effects that are writes, done once by key: record and effect in one transaction. Must not be here: effects elsewhere, queues, web frameworks.

The effect takes place at most once per key and horizon, also across crashes: the record of the key is an action of the
effect's own transaction. A call that dies at any step leaves nothing or all of it, and the next call goes on from there. Late
copies of an attempt are refused by the record while it is stored, and by the time that they hold after it. Source: outcomes C2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Concatenate, Final, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from surewrite.core import writes
from surewrite.core.asking import pause_before_next
from surewrite.core.effects import Moment, Operation, Steps, call_user, new_id, now
from surewrite.core.entities import EntityBase
from surewrite.core.outcomes import Applied, Canceled, Committed
from surewrite.core.transaction_drafts import DraftedTransaction, TransactingTable
from surewrite.core.transactions import commit
from surewrite.core.writes import NO_OPTIONS
from surewrite.errors import OutcomeUnknown, SurewriteError, TransactionCanceled, TransactionConflict
from surewrite.recipes.documents import document_of, document_text
from surewrite.recipes.idempotency_records import (
    HORIZON_SECONDS,
    NO_PAYLOAD,
    AnswerPart,
    EffectDone,
    IdempotencyRecord,
    LargeAnswers,
    Records,
    fingerprint_of,
    records_of,
    require_same_call,
)
from surewrite.recipes.key_parts import RecipeKey, key_text
from surewrite.recipes.running import Runs, RunsAtOnce, running
from surewrite.recipes.settings import time_to_wait

TX = TypeVar("TX", bound=DraftedTransaction)
TX_co = TypeVar("TX_co", bound=DraftedTransaction, covariant=True)
A = TypeVar("A")
P = ParamSpec("P")
W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)

WAIT_SECONDS: Final = 20.0

ROUNDS_MAX: Final = 100
"""Bounds the rounds of one call, which its waiting time ends long before."""

PAUSE_SECONDS_FIRST: Final = 0.04
PAUSE_SECONDS_MAX: Final = 1.0


@dataclass(frozen=True, slots=True)
class EffectRefused:
    """The effect was refused by its own conditions; nothing was written, and a later call is judged again. False.

    ``refused.refusal_of(marker)`` tells which action it was.
    """

    refused: Canceled

    def __bool__(self) -> Literal[False]:
        return False

    def error(self) -> TransactionCanceled:
        """The refusal as an exception."""
        return self.refused.error()


class OnceDecorator(Protocol[TX_co, W_co]):
    """Keeps the parameters of the function but the transaction; a call gives what the database's ``run`` does."""

    def __call__(self, function: Callable[Concatenate[TX_co, P], Any], /) -> Callable[P, W_co]: ...


class Idempotency(Generic[TX]):
    """Effects that are writes: ``keys.once(key, effect)`` does an effect once per key and horizon, and answers later calls like the first.

    ``operation`` names what is done, so that one key may be used for several operations. ``horizon_seconds`` is how long a
    key is remembered, at least ten minutes; differences between clocks shorten it. ``wait_seconds`` is how long a call
    waits for another one of its key that is under way. ``large_answers`` says what is kept of an answer over 200 KB:
    ``"stub"``, only that the effect was done, or ``"parts"``, up to 3 MB in items of the same transaction. Costs one read
    unit a call, and two write units per started KB of the record beside those of the effect's transaction.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (IdempotencyRecord, AnswerPart)
    """For ``create_table``, which turns their time to live on."""

    def __init__(
        self,
        table: TransactingTable[TX],
        operation: str,
        *,
        horizon_seconds: float = HORIZON_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        large_answers: LargeAnswers = "stub",
    ) -> None:
        self._table = table
        self._records = records_of(table, operation, horizon_seconds, large_answers)
        self._wait_seconds = time_to_wait(wait_seconds, "wait_seconds")

    @overload
    def once(self, key: RecipeKey, effect: Callable[[TX], Awaitable[A]], *, payload: object = NO_PAYLOAD) -> Operation[EffectDone[A] | EffectRefused]: ...
    @overload
    def once(self, key: RecipeKey, effect: Callable[[TX], A], *, payload: object = NO_PAYLOAD) -> Operation[EffectDone[A] | EffectRefused]: ...
    @overload
    def once(
        self, key: RecipeKey, effect: Callable[[TX], Any], *, payload: object = NO_PAYLOAD, answer_refusal: Callable[[Canceled], Any] | None
    ) -> Operation[EffectDone[Any] | EffectRefused]: ...
    def once(
        self,
        key: RecipeKey,
        effect: Callable[[TX], Any],
        *,
        payload: object = NO_PAYLOAD,
        answer_refusal: Callable[[Canceled], Any] | None = None,
    ) -> Operation[EffectDone[Any] | EffectRefused]:
        """Do the effect, unless a call with this key did it.

        ``effect`` gets a transaction, adds its actions and returns the answer, which is stored with them; it is committed
        afterwards. It may be called more than once and must do nothing else. An effect that is refused by its own conditions
        gives ``EffectRefused`` and is judged again by the next call; with ``answer_refusal``, a function of the cancellation, its
        result is recorded as the answer of the key. ``payload`` are the values that must be the same in a call that
        repeats the key: others raise ``IdempotencyKeyReused``. Where it is not known whether the effect took place the record
        is read, and the effect is tried again under it. Raises ``TransactionConflict`` where another call of the key
        is still under way after ``wait_seconds``, ``OutcomeUnknown`` where the service did not answer for so long, and
        ``InvalidRequest`` for an empty key and for an answer that cannot be kept.
        """
        text = key_text(key, f"the operation {self._records.operation!r}")
        wanted = fingerprint_of(payload)
        return Operation(lambda: _Call(self._table, self._records, text, wanted, effect, answer_refusal, self._wait_seconds).run())

    @overload
    def decorate(
        self,
        db: RunsAtOnce,
        *,
        key: Callable[..., RecipeKey],
        payload: Callable[..., object] | None = None,
        answer_refusal: Callable[[Canceled], Any] | None = None,
    ) -> Callable[[Callable[Concatenate[TX, P], A]], Callable[P, A]]: ...
    @overload
    def decorate(
        self,
        db: Runs[W],
        *,
        key: Callable[..., RecipeKey],
        payload: Callable[..., object] | None = None,
        answer_refusal: Callable[[Canceled], Any] | None = None,
    ) -> OnceDecorator[TX, W]: ...
    def decorate(
        self,
        db: Runs[Any],
        *,
        key: Callable[..., RecipeKey],
        payload: Callable[..., object] | None = None,
        answer_refusal: Callable[[Canceled], Any] | None = None,
    ) -> Any:
        """``@keys.decorate(db, key=lambda order: order.id)`` over ``def charge(tx, order)``: a call ``charge(order)`` gives its answer, once per key.

        ``key`` and ``payload`` get the arguments of the call. An effect that is refused raises ``TransactionCanceled``. With
        an asynchronous database the decorated function is awaited, and so is the function itself if it is ``async``.
        """

        def over(function: Callable[..., Any]) -> Callable[..., Any]:
            def start(*arguments: Any, **named: Any) -> Operation[Any]:
                given = NO_PAYLOAD if payload is None else payload(*arguments, **named)
                once = self.once(key(*arguments, **named), lambda tx: function(tx, *arguments, **named), payload=given, answer_refusal=answer_refusal)
                return Operation(lambda: _answer_of(once))

            return running(db, function, start)

        return over


def _answer_of(once: Operation[EffectDone[Any] | EffectRefused]) -> Steps[Any]:
    found = yield from once.steps()
    if isinstance(found, EffectRefused):
        raise found.error()
    return found.answer


class _Call(Generic[TX]):
    """One call with a key: its owner id, and where its rounds stand."""

    def __init__(
        self,
        table: TransactingTable[TX],
        records: Records,
        key: str,
        fingerprint: str | None,
        effect: Callable[[TX], Any],
        answer_refusal: Callable[[Canceled], Any] | None,
        wait_seconds: float,
    ) -> None:
        self._table = table
        self._records = records
        self._key = key
        self._fingerprint = fingerprint
        self._effect = effect
        self._answer_refusal = answer_refusal
        self._wait_seconds = wait_seconds
        self._owner = ""

    def run(self) -> Steps[EffectDone[Any] | EffectRefused]:
        self._owner = yield from new_id()
        moment = yield from now()
        deadline = moment.monotonic + self._wait_seconds
        record = yield from self._records.read(self._key)
        if record is not None:
            return (yield from self._conclude(record))
        for number in range(1, ROUNDS_MAX + 1):
            try:
                done = yield from self._round()
            except (OutcomeUnknown, TransactionConflict) as error:
                # What is under way then is refused by the record of a later round, or is the record that the later round meets.
                done = yield from self._look_after(error)
                if done is None and (yield from pause_before_next(number, deadline, first=PAUSE_SECONDS_FIRST, most=PAUSE_SECONDS_MAX)) is None:
                    raise
            if done is not None:
                return done
        raise TransactionConflict(
            f"{self._records.operation}: the effect was not done: nothing settled it in {ROUNDS_MAX} rounds", key=self._records.key_of(self._key)
        )

    def _round(self) -> Steps[EffectDone[Any] | EffectRefused | None]:
        """One try; ``None`` where nothing is known of what refused it, so that it is judged again."""
        transaction = self._table.transaction()
        transaction.draft.lent = True
        try:
            answer = yield from call_user(self._effect, transaction)
        except Exception as error:
            # It may have seen what the first call of the key left, and refused to do that twice.
            done = yield from self._look_after(error)
            if done is None:
                raise
            return done
        text = document_text(answer, f"the answer of {self._records.operation!r}")
        moment = yield from now()
        record, parts = self._records.kept(self._record(moment), text)
        draft = transaction.draft
        draft.lent = False
        marker = draft.create(self._records.scope, record)
        draft.outrank(marker)
        for part in parts:
            draft.put(self._records.parts, part, NO_OPTIONS)
        result = yield from commit(draft)
        if isinstance(result, Committed):
            return EffectDone(document_of(text), kept=record.answer is not None or bool(parts))
        refusal = result.refusal_of(marker)
        if refusal is not None and refusal.item is not None:
            return (yield from self._conclude(refusal.item))
        found = yield from self._records.read(self._key)
        if found is not None:
            return (yield from self._conclude(found))
        if refusal is not None or result.reason_for(marker) is None:
            return None
        return (yield from self._refused(result))

    def _record(self, moment: Moment) -> IdempotencyRecord:
        return IdempotencyRecord(
            operation=self._records.operation, key=self._key, owner=self._owner, state="done", fingerprint=self._fingerprint, ends=self._records.ends(moment)
        )

    def _conclude(self, record: IdempotencyRecord) -> Steps[EffectDone[Any]]:
        require_same_call(record, self._fingerprint, leased=False)
        return (yield from self._records.answered(record, mine=record.owner == self._owner))

    def _refused(self, result: Canceled) -> Steps[EffectDone[Any] | EffectRefused]:
        """The effect's own refusal: told, or recorded as the answer of the key."""
        if self._answer_refusal is None:
            return EffectRefused(result)
        answer = yield from call_user(self._answer_refusal, result)
        text = document_text(answer, f"the answer to a refusal of {self._records.operation!r}")
        moment = yield from now()
        record, parts = self._records.kept(self._record(moment).replace(refused=True), text)
        for part in parts:
            yield from writes.put(self._records.parts, part, NO_OPTIONS)
        outcome = yield from writes.create(self._records.scope, record)
        if isinstance(outcome, Applied):
            return EffectDone(document_of(text), refused=True, kept=record.answer is not None or bool(parts))
        if outcome.item is None:
            raise TransactionConflict(
                f"{self._records.operation}: the refusal was not recorded: the record of the key changed in between", key=self._records.key_of(self._key)
            )
        return (yield from self._conclude(outcome.item))

    def _look_after(self, error: Exception) -> Steps[EffectDone[Any] | None]:
        try:
            record = yield from self._records.read(self._key)
        except SurewriteError:
            raise error from None
        return None if record is None else (yield from self._conclude(record))
