"""Belongs here: generators for transactional writes, with a word for the whole and a reason per action. Must not be here: a second copy of the planning.

A transaction is sent again under its token, which the service remembers for ten minutes after the first success. An
attempt lives as long as its signature, five minutes. So nothing is sent later than four minutes after the first send,
by the larger of wall and monotonic time, and a refusal in doubt is settled by the fence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from surewrite.core.answers import Answer, NotSent, Reason, Rejection, Success
from surewrite.core.asking import ATTEMPTS_MAX, backoff_seconds, describe_answer, timeout_seconds, will_pass
from surewrite.core.attempts import Ending, count_applied, read_until_answered
from surewrite.core.changed import changed_item
from surewrite.core.claim_rounds import commit_with_claims
from surewrite.core.conclusions import about_version, read_after, refusal, rejection, stored_entity
from surewrite.core.decisions import BUSY_REASONS, AnswerClass, Decision, Guard, brings_doubt, class_of_answer, decide, decide_at_deadline
from surewrite.core.effects import Moment, Operation, Steps, new_id, now, pause, send
from surewrite.core.environment import Environment
from surewrite.core.fence import FenceWord, settle_by_fence
from surewrite.core.observation import Observation, ObservationKind
from surewrite.core.outcomes import Canceled, Committed, Marker, Refusal, RefusalReason, TakenValue
from surewrite.core.plan_drafts import changes_beside
from surewrite.core.planning import OVER_EXPIRED_ATTEMPTS_MAX
from surewrite.core.plans import explain_refusal, is_expired, is_own
from surewrite.core.scopes import Occasion
from surewrite.core.service_time import holds_guess, service_moment
from surewrite.core.token_life import TokenLife
from surewrite.core.token_probe import require_tokens
from surewrite.core.transaction_drafts import (
    Action,
    Intent,
    TransactionDraft,
    TransactionPlan,
    compile_transaction,
    replace_expired_items,
    token_of_name,
)
from surewrite.core.uniqueness import taken_value
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, Throttled

R = TypeVar("R")


def commit(draft: TransactionDraft) -> Steps[Committed | Canceled]:
    """Send the transaction until there is a word for it: all of it took effect, exactly once, or nothing did.

    Two write units per started KB of each item, checks included; a fence costs two more. A refusal of a named transaction is
    always settled by a fence, since an earlier process may have sent it; the name is then used up for ten minutes. Where an
    endpoint has shown no item in a refusal yet, each refusal without one costs a consistent read.
    """
    if draft.lent:
        raise InvalidRequest("the recipe that gave this transaction commits it, together with what it remembers: add actions to it, and leave the commit out")
    draft.begin_commit()
    try:
        moves_claims = any(intent.scope.schema.uniques for intent in draft.intents)
        draft.result = (yield from commit_with_claims(draft, _commit)) if moves_claims else (yield from _commit(draft))
    finally:
        draft.end_commit()
    return draft.result


def _commit(draft: TransactionDraft) -> Steps[Committed | Canceled]:
    environment = draft.environment
    moment = yield from now()
    if draft.name is None:
        unique = yield from new_id()
        token = yield from _new_token()
    else:
        unique, token = "", token_of_name(draft.name)
    plan = compile_transaction(draft, Occasion(moment, unique), token)
    guessing = next((action for action in plan.actions if holds_guess(environment, action.plan, moment)), None)
    if guessing is not None:
        moment = yield from service_moment(guessing.intents[0].scope, guessing.plan.key, guessing.plan.verb)
        plan = compile_transaction(draft, Occasion(moment, unique), token)
    yield from require_tokens(environment, plan.fence, named=draft.name is not None)
    draft.committed = True
    for _ in range(OVER_EXPIRED_ATTEMPTS_MAX):
        course = _Course(plan)
        result = yield from _interruptible(environment, course, _send_until_decided(environment, course))
        replacing = (yield from _replace_expired(course)) if isinstance(result, Canceled) and draft.name is None else None
        if replacing is None:
            return result
        plan = replacing
    raise Throttled(f"the transaction was not made: expired items under its keys changed in each of {OVER_EXPIRED_ATTEMPTS_MAX} tries to replace them")


def _replace_expired(course: _Course) -> Steps[TransactionPlan | None]:
    """The transaction once more, with upserts that an expired item refused replacing exactly that item: it counts as absent."""
    reasons = course.answer.reasons if isinstance(course.answer, Rejection) else ()
    if not any(action.intents[0].replace_expired is not None for action in course.plan.actions):
        return None
    moment = yield from now()
    unique = yield from new_id()
    actions = replace_expired_items(course.plan.actions, reasons, Occasion(moment, unique))
    return None if actions is None else course.plan.with_actions(actions, (yield from _new_token()))


def _new_token() -> Steps[str]:
    first = yield from new_id()
    second = yield from new_id()
    return first + second


_NOTHING_SENT = NotSent("nothing was sent yet")


@dataclass(slots=True)
class _Course:
    """Where the sending of one transaction stands. ``sent`` is when its latest attempt began, ``answer`` what that was answered."""

    plan: TransactionPlan
    life: TokenLife | None = None
    deadline: float = 0.0
    sent: Moment | None = None
    answer: Answer = _NOTHING_SENT
    in_doubt: bool = False
    under_way: bool = False
    attempts: int = 0


def _interruptible(environment: Environment, course: _Course, steps: Steps[R]) -> Steps[R]:
    """An interrupt at any step of a transaction in doubt is recorded, and carries its plan."""
    try:
        return (yield from steps)
    except OutcomeUnknown:
        raise
    except SurewriteError as error:
        if not course.in_doubt or (course.attempts == 1 and course.under_way):
            raise
        # A resend or a fence that cannot be sent at all, without credentials for instance: the attempt before may have taken effect.
        raise (yield from _unsettled(environment, course)) from error
    except BaseException as interruption:
        if course.sent is not None and (course.in_doubt or course.under_way):
            _remember_doubt(environment, course.plan, course.sent)
            _count_applied(course.plan)
            interruption.add_note("surewrite: a transaction was interrupted after it was begun: it may have taken effect")
            vars(interruption)["plan"] = course.plan
        raise


def _send_until_decided(environment: Environment, course: _Course) -> Steps[Committed | Canceled]:
    course.sent = yield from now()
    course.life = TokenLife(course.sent)
    course.deadline = course.sent.monotonic + environment.deadline_seconds
    # A named operation may have been sent before, by a process that is gone, and that attempt may be executed any time:
    # a refusal of this one proves nothing of the operation before a fence does.
    course.in_doubt = course.plan.name is not None
    for number in range(1, ATTEMPTS_MAX + 1):
        course.attempts = number
        answer = yield from _send(environment, course, course.sent)
        if isinstance(answer, (Success, Rejection)) and answer.resent:
            course.in_doubt = True
        answer_class = _classify(course.plan, answer)
        decision = decide(Guard.TOKEN, course.in_doubt, answer_class)
        course.in_doubt = course.in_doubt or brings_doubt(answer_class)
        _observe(environment, course, "attempt", answer_class.name.lower())
        if decision is Decision.RESEND:
            if number < ATTEMPTS_MAX and (yield from _wait_to_send_again(course, answer_class)):
                continue
            decision = Decision.FENCE if course.in_doubt else decide_at_deadline(Decision.RESEND, in_doubt=False)
        return (yield from _finish(environment, course, decision))
    raise AssertionError("the last attempt is decided")


def _wait_to_send_again(course: _Course, answer_class: AnswerClass) -> Steps[bool]:
    """Pause. False where no time is left, of the deadline or of the token: also asked after the pause, since a process may be frozen in it."""
    assert course.life is not None
    seconds = yield from backoff_seconds(course.attempts)
    moment = yield from now()
    if moment.monotonic + seconds >= course.deadline or not course.life.may_send(moment):
        return False
    yield from pause(seconds)
    fresh = answer_class is AnswerClass.BUSY and not course.in_doubt and course.plan.name is None
    if fresh:
        # A cancellation with nothing in doubt lets go of its token: whether the service remembers cancelled originals is not documented.
        course.plan = course.plan.with_token((yield from _new_token()))
    moment = yield from now()
    if moment.monotonic >= course.deadline or not (fresh or course.life.may_send(moment)):
        return False
    if fresh:
        course.life = TokenLife(moment)
    course.sent = moment
    return True


def _send(environment: Environment, course: _Course, moment: Moment) -> Steps[Answer]:
    course.under_way = True
    course.answer = yield from send(environment, course.plan.request(), timeout_seconds(environment, moment, course.deadline))
    course.under_way = False
    return course.answer


def _remember_doubt(environment: Environment, plan: TransactionPlan, moment: Moment) -> None:
    for action in plan.actions:
        if action.plan.stamp is not None:
            environment.doubts.add(action.plan.stamp, moment.monotonic)


def _forget_doubt(environment: Environment, plan: TransactionPlan) -> None:
    for action in plan.actions:
        if action.plan.stamp is not None:
            environment.doubts.discard(action.plan.stamp)


def _classify(plan: TransactionPlan, answer: Answer) -> AnswerClass:
    found = class_of_answer(answer)
    if found is not None:
        return found
    assert isinstance(answer, Rejection)
    if answer.code != "TransactionCanceledException" or len(answer.reasons) != len(plan.actions):
        return AnswerClass.NO_ANSWER
    return classify_reasons(plan.actions, answer.reasons)


def classify_reasons(actions: tuple[Action, ...], reasons: tuple[Reason, ...]) -> AnswerClass:
    """What the reasons of a cancellation say together.

    An own stamp on any refusing item: the transaction took effect before. A conflict on an action that asks again outranks
    every refusal. Then any definite refusal is final, and conflicts and throttling alone are not.
    """
    failed = [(action, reason) for action, reason in zip(actions, reasons, strict=True) if reason.code != "None"]
    if any(reason.item is not None and is_own(action.plan, reason.item) for action, reason in failed):
        return AnswerClass.OWN
    busy = [action for action, reason in failed if reason.code in BUSY_REASONS]
    if any(intent.asks_again for action in busy for intent in action.intents) or len(busy) == len(failed):
        return AnswerClass.BUSY
    if any(reason.code == "ConditionalCheckFailed" for _, reason in failed):
        return AnswerClass.OTHER
    return AnswerClass.REJECTED


def _finish(environment: Environment, course: _Course, decision: Decision) -> Steps[Committed | Canceled]:
    plan = course.plan
    if decision is Decision.FENCE:
        assert course.life is not None
        word = yield from settle_by_fence(environment, plan, course.life, lambda reply: _classify(plan, reply))
        return (yield from _tell_fence_word(environment, course, word))
    return (yield from _tell(environment, course, decision))


def _tell_fence_word(environment: Environment, course: _Course, word: FenceWord) -> Steps[Committed | Canceled]:
    if word is not FenceWord.UNKNOWN:
        course.in_doubt = False
        _forget_doubt(environment, course.plan)
    match word:
        case FenceWord.APPLIED:
            return (yield from _tell(environment, course, Decision.RECOVERED))
        case FenceWord.REFUSED:
            return (yield from _tell(environment, course, Decision.REJECTED if _was_busy(course.answer) else Decision.REFUSED))
        case FenceWord.OTHER_CONTENT:
            raise InvalidRequest(
                "this name was used with other content: a transaction of the same name and another body was sent within ten minutes;"
                " nothing of this one was written",
                attempts=course.attempts,
            )
        case FenceWord.UNKNOWN:
            raise (yield from _unsettled(environment, course))


def _was_busy(answer: Answer) -> bool:
    """Whether the last answer was a no to this attempt alone, for conflicts or throttling: nothing was refused by a condition."""
    return isinstance(answer, Rejection) and will_pass(answer) and class_of_answer(answer) in (None, AnswerClass.BUSY)


def _unsettled(environment: Environment, course: _Course) -> Steps[OutcomeUnknown]:
    moment = yield from now()
    _remember_doubt(environment, course.plan, moment)
    _observe(environment, course, "unknown", "unknown")
    _count_applied(course.plan)
    return _unknown(environment, course)


def _unknown(environment: Environment, course: _Course) -> OutcomeUnknown:
    def settle() -> Steps[Committed | Canceled]:
        return _interruptible(environment, course, _finish(environment, course, Decision.FENCE))

    return OutcomeUnknown(
        f"the transaction may have taken effect, or may within five minutes: {describe_answer(course.answer)} after {course.attempts} attempt(s), and no fence"
        " settled it. Run error.settle() within four minutes of the first attempt to settle it, or read what it writes",
        attempts=course.attempts,
        plan=course.plan,
        settlement=Operation(settle),
    )


def _tell(environment: Environment, course: _Course, decision: Decision) -> Steps[Committed | Canceled]:
    plan, answer = course.plan, course.answer
    match decision:
        case Decision.APPLIED | Decision.RECOVERED:
            _count_applied(plan)
            if decision is Decision.RECOVERED:
                _observe(environment, course, "recovered", "applied")
            return Committed(_items(plan), attempts=course.attempts, recovered=decision is Decision.RECOVERED)
        case Decision.REFUSED:
            _observe(environment, course, "conflict", "refused")
            return (yield from _canceled(environment, course))
        case _:
            if isinstance(answer, Rejection) and answer.code == "TransactionCanceledException":
                raise _cancelled_for_another_cause(environment, plan, course.attempts, answer)
            raise rejection("the transaction", "commit", None, Ending(decision, answer, None, course.attempts, course.in_doubt), environment, _tables(plan))


def _tables(plan: TransactionPlan) -> list[str]:
    return [action.plan.table for action in plan.actions]


def _cancelled_for_another_cause(environment: Environment, plan: TransactionPlan, attempts: int, answer: Rejection) -> Exception:
    """Conflicts until the deadline, throttling, or an action that the service finds malformed."""
    codes = [reason.code for reason in answer.reasons if reason.code != "None"]
    for action, reason in zip(plan.actions, answer.reasons, strict=True):
        if reason.code not in BUSY_REASONS and reason.code != "None":
            told = f"{reason.code}: {reason.message}{about_version(action.plan, reason.message or '')}"
            return InvalidRequest(f"{action.intents[0].marker.description}: the transaction was not made: {told}", attempts=attempts, code=reason.code)
    code = "TransactionConflictException" if "TransactionConflict" in codes else "ThrottlingException"
    return rejection("the transaction", "commit", None, Ending(Decision.REJECTED, Rejection(code), None, attempts, in_doubt=False), environment, _tables(plan))


def _canceled(environment: Environment, course: _Course) -> Steps[Canceled]:
    """The refusals with their items. One that the endpoint is not known to show is read: it tells why, not whether, the action was refused."""
    assert course.life is not None
    refusals: dict[Marker[Any], Refusal[Any]] = {}
    reasons: dict[Marker[Any], Reason] = {}
    taken: dict[Marker[Any], list[TakenValue]] = {}
    found = course.answer.reasons if isinstance(course.answer, Rejection) else ()
    if environment.traits.cancelled_items is None and any(reason.item is not None for reason in found):
        environment.learn(cancelled_items=True)
    for action, reason in zip(course.plan.actions, found, strict=False):
        refused = reason.code == "ConditionalCheckFailed"
        item, seen = reason.item, environment.traits.cancelled_items is True
        if refused and item is None and not seen:
            read = yield from read_until_answered(environment, action.plan, course.deadline)
            item, seen = (None, False) if read is None else (read.body.get("Item"), True)
        for intent in action.intents:
            reasons[intent.marker] = reason
            if refused and intent.claim is None:
                refusals[intent.marker] = refusal(intent.scope, action.plan, item, course.attempts, course.life.began, seen=seen)
            elif refused and intent.claim is not None and intent.claim.taker is not None:
                taken.setdefault(intent.claim.taker, []).append(taken_value(intent.claim, item))
    for intent in (intent for action in course.plan.actions for intent in action.intents):
        if intent.marker in taken and intent.marker not in refusals:
            values = tuple(taken[intent.marker])
            refusals[intent.marker] = Refusal(RefusalReason.VALUE_TAKEN, intent.scope.entity, key=intent.named_key, attempts=course.attempts, taken=values)
    return Canceled(refusals, reasons, attempts=course.attempts)


def _items(plan: TransactionPlan) -> dict[Marker[Any], Callable[[], Any]]:
    found: dict[Marker[Any], Callable[[], Any]] = {}
    for action in plan.actions:
        for intent in action.intents:
            found[intent.marker] = _item_of(action, intent)
    return found


def _item_of(action: Action, intent: Intent) -> Callable[[], Any]:
    def stored() -> Any:
        if intent.before is not None:
            return _item_left(action, intent, intent.before)
        if intent.verb not in ("create", "put"):
            raise InvalidRequest(
                f"{action.plan.entity}: a transaction returns no item, so what the {intent.verb} left is not known here: get it by its key",
                key=intent.named_key,
            )
        return stored_entity(intent.scope, action.plan, intent.subject)

    return stored


def _item_left(action: Action, intent: Intent, before: Item) -> Any:
    """The item of a write that was made over exactly the item that was read: what was removed, what was there, or what is there now."""
    plan = action.plan
    if intent.verb == "delete":
        return read_after(intent.scope, plan, before)
    if intent.options.returning == "old":
        return None if before.keys() == plan.key.keys() or is_expired(plan, before) else read_after(intent.scope, plan, before)
    if plan.stored is not None:
        return read_after(intent.scope, plan, plan.stored)
    changes = (*plan.changes, *changes_beside(plan.names, plan.version, plan.stamp))
    return read_after(intent.scope, plan, changed_item(before, changes))


def _count_applied(plan: TransactionPlan) -> None:
    count_applied(sum(action.plan.verb != "check" for action in plan.actions))


def _observe(environment: Environment, course: _Course, kind: ObservationKind, answer: str) -> None:
    _count(environment, course, kind, answer)
    if environment.observer is not None:
        table = course.plan.actions[0].plan.table
        environment.observe(Observation(kind, "transaction", table, None, course.attempts, answer, 0.0))


def _count(environment: Environment, course: _Course, kind: ObservationKind, answer: str) -> None:
    """Each action counts for its type."""
    reasons = course.answer.reasons if isinstance(course.answer, Rejection) else ()
    for action, reason in zip_longest(course.plan.actions, reasons[: len(course.plan.actions)]):
        plan = action.plan
        counts = environment.contention.of(plan.table, plan.entity)
        match kind:
            case "attempt":
                counts.attempts += 1
                if answer == "done":
                    counts.end(plan.key, 0)
                if reason is not None and reason.code == "TransactionConflict":
                    counts.conflict(plan.key, "transaction")
            case "recovered":
                counts.recovered += 1
            case "unknown":
                counts.unknown += 1
            case "conflict":
                counts.end(plan.key, 0)
                if reason is not None and reason.item is not None and explain_refusal(plan, reason.item) is RefusalReason.VERSION_CONFLICT:
                    counts.conflict(plan.key, "version")
