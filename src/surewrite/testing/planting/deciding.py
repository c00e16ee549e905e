"""Belongs here: planted bugs in what an answer is taken to mean: doubt, deadlines, recognition, tokens and fences. Must not be here: bugs in what is sent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from surewrite.core import attempts, conclusions, decisions, fence, plans, transaction_drafts, transactions, writes
from surewrite.core.answers import Answer, Rejection
from surewrite.core.decisions import AT_THE_DEADLINE, TABLES, AnswerClass, Decision, Guard, decide
from surewrite.core.effects import Steps
from surewrite.core.fence import FenceWord
from surewrite.core.outcomes import Canceled
from surewrite.core.plans import Expected, Plan, stored_text, stored_version
from surewrite.core.registry import DoubtRegistry
from surewrite.core.requests import Request
from surewrite.core.scopes import Scope
from surewrite.core.token_life import TokenLife
from surewrite.core.transaction_drafts import TransactionPlan
from surewrite.core.values import Item
from surewrite.errors import VersionConflict
from surewrite.testing.planting.bug import PlantedBug, entries_replaced, replaced, together

Plant = AbstractContextManager[None]


def last_answer_wins() -> Plant:
    """Whatever the latest answer says is said, whether or not an earlier attempt is in doubt."""

    def forgetful(guard: Guard, in_doubt: bool, answer: AnswerClass, *, raise_in_doubt: bool = False) -> Decision:  # noqa: ARG001, FBT001
        return decide(guard, False, answer, raise_in_doubt=raise_in_doubt)

    return together(replaced(attempts, decide=forgetful), replaced(transactions, decide=forgetful))


def no_answer_is_no_doubt() -> Plant:
    """A missing answer leaves nothing in doubt."""
    return together(replaced(attempts, brings_doubt=_never), replaced(transactions, brings_doubt=_never))


def _never(answer: AnswerClass) -> bool:  # noqa: ARG001
    return False


def server_error_is_a_no() -> Plant:
    """Status 500 is taken for proof that nothing was written."""
    real = decisions.class_of_answer

    def trusting(answer: Any) -> AnswerClass | None:
        return AnswerClass.REJECTED if isinstance(answer, Rejection) and answer.status >= 500 else real(answer)

    return together(replaced(attempts, class_of_answer=trusting), replaced(transactions, class_of_answer=trusting))


def deadline_says_refused() -> Plant:
    """Whatever is in doubt when the time is over counts as not made."""
    return entries_replaced(AT_THE_DEADLINE, {Decision.RESEND: (Decision.REJECTED, Decision.REJECTED)})


def additions_are_sent_again() -> Plant:
    """What counts twice if it is made twice is sent again after a missing answer."""
    return entries_replaced(TABLES[Guard.NOT_IDEMPOTENT], {AnswerClass.NO_ANSWER: (Decision.RESEND, Decision.RESEND)})


def any_refusal_of_a_delete_is_gone() -> Plant:
    """A delete in doubt that any item refuses is told gone."""
    return entries_replaced(TABLES[Guard.IDEMPOTENT_DELETE], {AnswerClass.OTHER: (Decision.REFUSED, Decision.GONE)})


def never_is_said_of_any_next_version() -> Plant:
    """The next version by another stamp is taken for proof, whatever life the item lives."""

    def without_birth(plan: Plan, expected: Expected, item: Item) -> AnswerClass:  # noqa: ARG001
        version, stamp = stored_version(item, plan.names.version), stored_text(item, plan.names.stamp)
        return AnswerClass.NEVER if version == plan.version and stamp is not None else AnswerClass.OTHER

    return replaced(plans, _classify_expected=without_birth)


def own_writes_are_not_recognised() -> Plant:
    """Nobody looks for the own stamp on the refusing item."""

    def never(plan: Plan, item: Item) -> bool:  # noqa: ARG001
        return False

    return together(replaced(plans, is_own=never), replaced(attempts, is_own=never), replaced(transactions, is_own=never))


def once_is_always_said() -> Plant:
    """Every applied write is told to have taken effect exactly once."""
    return replaced(Plan, once=property(lambda plan: plan is not None))


def unknown_is_told_as_a_conflict() -> Plant:
    """What nobody knows is told as a conflict, as most clients do."""

    def conflict(scope: Scope, plan: Plan, ending: Any) -> VersionConflict:  # noqa: ARG001
        return VersionConflict(f"{plan.entity}: another writer changed the item", key=scope.schema.key_from(plan.key))

    return together(replaced(conclusions, unknown=conflict), replaced(writes, unknown=conflict))


def own_doubts_are_forgotten() -> Plant:
    """A later refusal by an own write in doubt is told as another's."""

    def never(registry: DoubtRegistry, stamp: str, monotonic_seconds: float) -> bool:  # noqa: ARG001
        return False

    return replaced(DoubtRegistry, holds=never)


def any_conflict_is_an_own_earlier_write() -> Plant:
    """Every conflict is told as one with an own earlier write."""

    def always(registry: DoubtRegistry, stamp: str, monotonic_seconds: float) -> bool:  # noqa: ARG001
        return True

    return replaced(DoubtRegistry, holds=always)


def tokens_live_for_ever() -> Plant:
    """The time since the first send is not asked."""

    def always(life: TokenLife, moment: Any) -> bool:  # noqa: ARG001
        return True

    return replaced(TokenLife, may_send=always, fence_proves=always)


def clock_counts_from_the_last_send() -> Plant:
    """The life of a token is counted from its last send, so that a process that stands still now and then never comes to its end."""
    real: Callable[..., Steps[Answer]] = vars(transactions)["_send"]

    def send(environment: Any, course: Any, moment: Any) -> Steps[Answer]:
        course.life = TokenLife(moment)
        return (yield from real(environment, course, moment))

    return replaced(transactions, _send=send)


@contextmanager
def token_is_fresh_in_doubt() -> Generator[None, None, None]:
    """Each attempt of a transaction has another token."""
    numbers = itertools.count(1)

    def request(plan: TransactionPlan) -> Request:
        return Request("TransactWriteItems", {**plan.body, "ClientRequestToken": f"{plan.token[:24]}.{next(numbers)}"})

    with replaced(TransactionPlan, request=request):
        yield


def refused_transactions_are_not_fenced() -> Plant:
    """A cancellation in doubt is taken for final."""
    return entries_replaced(TABLES[Guard.TOKEN], {AnswerClass.OTHER: (Decision.REFUSED, Decision.REFUSED)})


def fence_uses_another_token() -> Plant:
    """The fence is sent under a token of its own, and proves nothing."""
    real = vars(transaction_drafts)["_fence"]

    def elsewhere(scope: Any, token: str) -> Request:
        request: Request = real(scope, f"{token[:30]}.fence")
        return request

    return replaced(transaction_drafts, _fence=elsewhere)


def fence_takes_a_mismatch_for_applied() -> Plant:
    """A mismatch is taken for proof that the write took effect, though a cancelled one may be remembered."""
    real = vars(fence)["_after_fence"]

    def hasty(phase: Any, answer: AnswerClass) -> Any:
        return FenceWord.APPLIED if answer is AnswerClass.MISMATCH else real(phase, answer)

    return replaced(fence, _after_fence=hasty)


def fence_takes_any_answer_for_its_own() -> Plant:
    """A fence that was not answered, or mismatched, counts as if it had succeeded."""
    real = vars(fence)["_after_fence"]

    def hasty(phase: Any, answer: AnswerClass) -> Any:
        return FenceWord.REFUSED if answer in (AnswerClass.MISMATCH, AnswerClass.NO_ANSWER) else real(phase, answer)

    return replaced(fence, _after_fence=hasty)


def refusals_stand_under_another_action() -> Plant:
    """The action that failed is told as the one after it."""
    real = vars(Canceled)["__init__"]

    def shifted(self: Canceled, refusals: dict[Any, Any], reasons: dict[Any, Any], *, attempts: int = 1) -> None:
        markers = list(reasons)
        moved = {markers[(markers.index(marker) + 1) % len(markers)]: refusal for marker, refusal in refusals.items() if marker in reasons}
        real(self, moved, reasons, attempts=attempts)

    return replaced(Canceled, __init__=shifted)


def stamps_repeat() -> Plant:
    """Every write of a process has the same stamp."""

    def same() -> Steps[str]:
        yield from ()
        return "AAAAAAAAAAAA"

    return replaced(writes, new_id=same)


BUGS = (
    PlantedBug("the last answer wins over doubt", last_answer_wins, ("saves", "deleted and made again"), 200),
    PlantedBug("no answer is no doubt", no_answer_is_no_doubt, ("saves", "deleted and made again"), 200),
    PlantedBug("a server error is taken for a no", server_error_is_a_no, ("saves", "registers"), 200),
    PlantedBug("in doubt at the deadline is told refused", deadline_says_refused, ("saves in little time", "registers"), 400),
    PlantedBug("additions are sent again", additions_are_sent_again, ("counts",), 200),
    PlantedBug("any refusal of a delete in doubt is told gone", any_refusal_of_a_delete_is_gone, ("deletes on condition",), 1000),
    PlantedBug("the next version proves a refusal without the birth", never_is_said_of_any_next_version, ("overtaken by a new life",), 1000),
    PlantedBug("own writes are not recognised", own_writes_are_not_recognised, ("saves", "matrix alone"), 200),
    PlantedBug("once is always said", once_is_always_said, ("registers", "matrix beside another"), 1000),
    PlantedBug("unknown is told as a conflict", unknown_is_told_as_a_conflict, ("counts", "saves"), 200),
    PlantedBug("own writes in doubt are forgotten", own_doubts_are_forgotten, ("saves again",), 1000),
    PlantedBug("any conflict is told as an own earlier write", any_conflict_is_an_own_earlier_write, ("saves",), 200),
    PlantedBug("the life of a token is not watched", tokens_live_for_ever, ("additions over long times",), 2000),
    PlantedBug("the retry clock is counted from the last send", clock_counts_from_the_last_send, ("additions by a process that stands still",), 50),
    PlantedBug("a fresh token while in doubt", token_is_fresh_in_doubt, ("transfers", "exact additions"), 200),
    PlantedBug("a refusal of a transaction in doubt is not fenced", refused_transactions_are_not_fenced, ("refusals in doubt",), 1000),
    PlantedBug("the fence has another token", fence_uses_another_token, ("exact additions", "transfers"), 2000),
    PlantedBug("a mismatch of the fence is taken for applied", fence_takes_a_mismatch_for_applied, ("exact additions", "transfers"), 4000),
    PlantedBug("an unanswered fence is taken for a refusal", fence_takes_any_answer_for_its_own, ("exact additions", "transfers"), 2000),
    PlantedBug("a refused action is told as the one after it", refusals_stand_under_another_action, ("on call", "claims"), 100),
    PlantedBug("stamps repeat", stamps_repeat, ("saves", "deleted and made again"), 400),
)
