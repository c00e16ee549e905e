"""Belongs here: sending one plan until the table gives its word. Must not be here: what the word means to the caller, the table itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from surewrite.core.answers import Answer, NotSent, Rejection, Success
from surewrite.core.asking import ATTEMPTS_MAX, pause_before_next, timeout_seconds, until_answered
from surewrite.core.decisions import CONFLICT_CODES, AnswerClass, Decision, brings_doubt, class_of_answer, decide, decide_at_deadline
from surewrite.core.effects import Moment, Steps, now, send
from surewrite.core.environment import Environment
from surewrite.core.frozen import quickly_made
from surewrite.core.observation import Observation, ObservationKind
from surewrite.core.outcomes import RefusalReason
from surewrite.core.plans import Plan, classify_refusal, explain_refusal, is_own
from surewrite.core.requests import Request
from surewrite.core.values import Item
from surewrite.errors import SurewriteError


class AppliedWrites:
    """Counts the writes that were applied, or may have been, inside one run of a body that may be run again."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


applied_in_this_run: ContextVar[AppliedWrites | None] = ContextVar("surewrite_applied_in_this_run", default=None)
"""Set by the retry of a body around each run, so that a write inside it is seen without being handed through."""


def count_applied(writes: int = 1) -> None:
    """Tell the run of a body that this is part of, if there is one, of writes that were applied, or may have been."""
    applied = applied_in_this_run.get()
    if applied is not None:
        applied.count += writes


@quickly_made
@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan ended: the final word and what it rests on. ``item`` is what the service returned, or the item that refused.

    ``seen`` is false where nothing showed what refused: neither an answer nor a read.
    """

    decision: Decision
    answer: Answer
    item: Item | None
    attempts: int
    in_doubt: bool
    seen: bool = True


@dataclass(slots=True)
class _Course:
    """Where the sending of one plan stands: when the latest attempt began, and what an interrupt would leave behind."""

    moment: Moment
    in_doubt: bool = False
    under_way: bool = False
    """An attempt is being made: an interrupt now leaves its answer unread."""


def attempt_until_decided(environment: Environment, plan: Plan, started: Moment, *, in_doubt: bool = False) -> Steps[Ending]:
    """Send the plan, and again as far as its guard allows, until there is a word for it.

    ``in_doubt`` says that an earlier request of the same write may still take effect: the word then speaks of both.
    """
    course = _Course(started, in_doubt)
    try:
        ending = yield from _send_until_decided(environment, plan, course, started.monotonic + environment.deadline_seconds)
    except BaseException as interruption:
        if course.in_doubt or course.under_way:
            _record_interruption(environment, plan, course, interruption)
        raise
    return _end(environment, plan, ending, course.moment)


def _send_until_decided(environment: Environment, plan: Plan, course: _Course, deadline: float) -> Steps[Ending]:
    for number in range(1, ATTEMPTS_MAX + 1):
        course.under_way = True
        try:
            answer = yield from send(environment, plan.request(number), timeout_seconds(environment, course.moment, deadline))
        except SurewriteError as error:
            # Nothing of this attempt was sent, for a cause that no resend mends: no credentials, a closed connection.
            course.under_way = False
            if not course.in_doubt:
                raise
            return Ending(Decision.UNKNOWN, NotSent(str(error)), None, number, in_doubt=True)
        course.under_way = False
        if isinstance(answer, (Success, Rejection)) and answer.resent:
            course.in_doubt = True
        answer_class, item = _classify(environment, plan, answer)
        decision = decide(plan.guard, course.in_doubt, answer_class, raise_in_doubt=plan.raise_in_doubt)
        course.in_doubt = course.in_doubt or brings_doubt(answer_class)
        if environment.observer is not None:
            yield from _observe_attempt(environment, plan, number, answer_class, course.moment)
        if decision is Decision.READ:
            return (yield from _settle_by_reading(environment, plan, answer, number, course.in_doubt, deadline))
        if decision is not Decision.RESEND:
            return Ending(decision, answer, item, number, course.in_doubt)
        if isinstance(answer, Rejection) and answer.code in CONFLICT_CODES:
            environment.contention.of(plan.table, plan.entity).conflict(plan.key, "transaction")
        moment = yield from pause_before_next(number, deadline)
        if moment is None or number == ATTEMPTS_MAX:
            return Ending(decide_at_deadline(Decision.RESEND, course.in_doubt), answer, item, number, course.in_doubt)
        course.moment = moment
    raise AssertionError("the last attempt is decided")


def _record_interruption(environment: Environment, plan: Plan, course: _Course, interruption: BaseException) -> None:
    """An interrupted write is in doubt: it is kept in the registry, and the interrupt carries its plan."""
    count_applied()
    if plan.stamp is not None:
        environment.doubts.add(plan.stamp, course.moment.monotonic)
    interruption.add_note(f"surewrite: a {plan.verb} of {plan.entity} was interrupted after it was begun: it may have taken effect")
    vars(interruption)["plan"] = plan


def _classify(environment: Environment, plan: Plan, answer: Answer) -> tuple[AnswerClass, Item | None]:
    if isinstance(answer, Success):
        return AnswerClass.DONE, answer.body.get("Attributes")
    found = class_of_answer(answer)
    if found is not None:
        return found, None
    assert isinstance(answer, Rejection)
    if environment.traits.old_item is None and (answer.item is not None or not plan.fails_on_absent):
        # A condition that holds where nothing is stored was refused by an item: then the answer shows it, or the endpoint never does.
        environment.learn(old_item=answer.item is not None)
    return classify_refusal(plan, answer.item, shows_items=environment.traits.old_item is True), answer.item


def _settle_by_reading(environment: Environment, plan: Plan, answer: Answer, number: int, in_doubt: bool, deadline: float) -> Steps[Ending]:  # noqa: FBT001
    """The refusal did not show its item. Read it, consistently: only an own stamp or birth concludes anything that was in doubt."""
    read = yield from read_until_answered(environment, plan, deadline)
    if read is None:
        return Ending(decide_at_deadline(Decision.READ, in_doubt), answer, None, number, in_doubt, seen=False)
    item: Item | None = read.body.get("Item")
    if item is not None and is_own(plan, item):
        decision = Decision.RECOVERED
    elif not in_doubt:
        decision = Decision.REFUSED
    elif item is None and plan.guard.deletes:
        decision = Decision.GONE
    else:
        decision = Decision.UNKNOWN
    return Ending(decision, answer, item, number, in_doubt)


def read_until_answered(environment: Environment, plan: Plan, deadline: float) -> Steps[Success | None]:
    """Read the plan's item, consistently, until the deadline on the monotonic clock; ``None`` if it cannot be read."""
    request = Request("GetItem", {"TableName": plan.table, "Key": plan.key, "ConsistentRead": True})
    moment = yield from now()
    try:
        reply = yield from until_answered(environment, request, moment, deadline)
    except SurewriteError:
        return None
    return reply.answer if isinstance(reply.answer, Success) else None


def _end(environment: Environment, plan: Plan, ending: Ending, moment: Moment) -> Ending:
    _count(environment, plan, ending)
    if ending.decision in (Decision.APPLIED, Decision.RECOVERED, Decision.GONE, Decision.UNKNOWN, Decision.SUPERSEDED):
        count_applied()
    if ending.decision in (Decision.UNKNOWN, Decision.SUPERSEDED) and plan.stamp is not None:
        environment.doubts.add(plan.stamp, moment.monotonic)
    if environment.observer is not None:
        _observe_ending(environment, plan, ending)
    return ending


def _count(environment: Environment, plan: Plan, ending: Ending) -> None:
    counts = environment.contention.of(plan.table, plan.entity)
    counts.end(plan.key, ending.attempts)
    match ending.decision:
        case Decision.RECOVERED:
            counts.recovered += 1
        case Decision.UNKNOWN | Decision.SUPERSEDED:
            counts.unknown += 1
        case Decision.REFUSED if ending.item is not None and explain_refusal(plan, ending.item) is RefusalReason.VERSION_CONFLICT:
            counts.conflict(plan.key, "version")
        case _:
            pass


def _observe_attempt(environment: Environment, plan: Plan, number: int, answer: AnswerClass, begun: Moment) -> Steps[None]:
    moment = yield from now()
    _observe(environment, plan, "attempt", number, answer.name.lower(), moment.monotonic - begun.monotonic)


def _observe_ending(environment: Environment, plan: Plan, ending: Ending) -> None:
    answer = ending.answer
    conflict = isinstance(answer, Rejection) and answer.code in CONFLICT_CODES
    kind: ObservationKind | None = None
    if ending.decision is Decision.RECOVERED:
        kind = "recovered"
    elif ending.decision in (Decision.UNKNOWN, Decision.SUPERSEDED):
        kind = "unknown"
    elif ending.decision is Decision.REFUSED or (ending.decision is Decision.REJECTED and conflict):
        kind = "conflict"
    if kind is not None:
        _observe(environment, plan, kind, ending.attempts, ending.decision.name.lower(), 0.0)


def _observe(environment: Environment, plan: Plan, kind: ObservationKind, number: int, answer: str, seconds: float) -> None:
    digest = hash(tuple(sorted((name, repr(value)) for name, value in plan.key.items())))
    environment.observe(Observation(kind, plan.verb, plan.table, plan.entity, number, answer, seconds, digest))
