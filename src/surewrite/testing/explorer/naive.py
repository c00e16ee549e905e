"""Belongs here: clients that are wrong on purpose, each by one rule that sounds right. Must not be here: the rules of this library.

They show that the search finds what is untrue. What they decide otherwise they say themselves; the rest they ask of the library's table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from surewrite.core.answers import Answer, NoAnswer, Rejection, Success
from surewrite.core.decisions import AnswerClass, Decision, Guard, brings_doubt, class_of_answer, decide, decide_at_deadline
from surewrite.core.effects import Steps, new_id, now, send
from surewrite.core.environment import Environment
from surewrite.core.fence import FenceWord, settle_by_fence
from surewrite.core.plans import Plan, classify_refusal, is_own, stored_text, stored_version
from surewrite.core.scopes import Scope
from surewrite.core.token_life import TokenLife
from surewrite.core.transaction_drafts import TransactionDraft, TransactionPlan, compile_transaction
from surewrite.core.transactions import classify_reasons
from surewrite.core.values import Item
from surewrite.testing.explorer.clients import Start, Told
from surewrite.testing.explorer.stage import occasion

Made = Callable[[Environment], tuple[Scope, Plan]]
Rule = Callable[[Plan, bool, AnswerClass, Item | None], Decision]
"""What a client makes of an answer: (plan, in doubt before it, its class, the item that refused)."""

SENDS_MAX = 8


def under_rule(make: Made, rule: Rule) -> Start:
    """A client that sends its plan until its deadline and judges each answer by a rule of its own."""

    def start(around: Environment) -> Steps[Told]:
        _, plan = make(around)
        in_doubt = False
        for _ in range(SENDS_MAX):
            answer = yield from send(around, plan.request(), around.timeout_seconds)
            answer_class, item = _judge(plan, answer)
            decision = rule(plan, in_doubt, answer_class, item)
            in_doubt = in_doubt or brings_doubt(answer_class)
            if decision is not Decision.RESEND:
                return _told(decision)
            moment = yield from now()
            if moment.monotonic >= around.deadline_seconds:
                break
        return _told(decide_at_deadline(Decision.RESEND, in_doubt))

    return start


def _judge(plan: Plan, answer: Answer) -> tuple[AnswerClass, Item | None]:
    found = class_of_answer(answer)
    if found is not None:
        return found, None
    assert isinstance(answer, Rejection)
    return classify_refusal(plan, answer.item, shows_items=True), answer.item


def _told(decision: Decision) -> Told:
    match decision:
        case Decision.APPLIED | Decision.RECOVERED | Decision.GONE:
            return Told("applied")
        case Decision.UNKNOWN | Decision.SUPERSEDED:
            return Told("unknown")
        case _:
            return Told("refused")


def by_the_table(plan: Plan, in_doubt: bool, answer: AnswerClass, _item: Item | None) -> Decision:  # noqa: FBT001
    """The library's own word; what is wrong is the plan, or that each attempt is sent with the same bytes."""
    return decide(plan.guard, in_doubt, answer)


def last_answer_wins(plan: Plan, _in_doubt: bool, answer: AnswerClass, _item: Item | None) -> Decision:  # noqa: FBT001
    """What was in doubt before is forgotten: what most clients do."""
    return decide(plan.guard, in_doubt=False, answer=answer)


def no_stamp_is_read(_plan: Plan, _in_doubt: bool, answer: AnswerClass, _item: Item | None) -> Decision:  # noqa: FBT001
    """Every refusal is taken at its word, also one by the write's own earlier attempt."""
    found = decide(Guard.IDEMPOTENT, in_doubt=False, answer=answer)
    return Decision.REFUSED if found is Decision.RECOVERED else found


def absence_is_success(plan: Plan, in_doubt: bool, answer: AnswerClass, _item: Item | None) -> Decision:  # noqa: FBT001
    """A delete that finds nothing after a lost answer takes that for its own work."""
    return Decision.APPLIED if in_doubt and answer is AnswerClass.ABSENT else decide(plan.guard, in_doubt=False, answer=answer)


def next_version_is_refusal(plan: Plan, in_doubt: bool, answer: AnswerClass, item: Item | None) -> Decision:  # noqa: FBT001
    """The version that the write wanted to store is there under another stamp: so another writer made it."""
    return _overtaken(plan, in_doubt=in_doubt, answer=answer, item=item, births=False)


def next_version_in_the_same_life_is_refusal(plan: Plan, in_doubt: bool, answer: AnswerClass, item: Item | None) -> Decision:  # noqa: FBT001
    """The same, if the birth is the loaded one; whether the stamp was written with that version is not looked at."""
    return _overtaken(plan, in_doubt=in_doubt, answer=answer, item=item, births=True)


def _overtaken(plan: Plan, *, in_doubt: bool, answer: AnswerClass, item: Item | None, births: bool) -> Decision:
    if item is None or not in_doubt or is_own(plan, item) or answer is AnswerClass.DONE:
        return decide(plan.guard, in_doubt, answer)
    same_life = not births or (plan.expected is not None and stored_text(item, plan.names.birth) == plan.expected.birth)
    return Decision.REFUSED if same_life and stored_version(item, plan.names.version) == plan.version else Decision.UNKNOWN


def with_condition(make: Made, text: str | None, names: Mapping[str, str], values: Mapping[str, Any], guard: Guard | None = None) -> Made:
    """The library's plan with another condition, and taken for guarded by it."""

    def altered(around: Environment) -> tuple[Scope, Plan]:
        scope, plan = make(around)
        body = {name: member for name, member in plan.body.items() if name != "ConditionExpression"}
        if text is not None:
            body["ConditionExpression"] = text
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        update = str(body.get("UpdateExpression", ""))
        for member, given in (("ExpressionAttributeNames", names), ("ExpressionAttributeValues", values)):
            kept = {placeholder: meaning for placeholder, meaning in body.get(member, {}).items() if _stands_in(placeholder, update)}
            body[member] = {**kept, **given}
            if not body[member]:
                del body[member]
        return scope, replace(plan, body=body, guard=guard if guard is not None else plan.guard)

    return altered


def _stands_in(placeholder: str, text: str) -> bool:
    return any(word.strip("(),") == placeholder for word in text.replace("(", " ( ").replace(",", " , ").replace(")", " ) ").split())


# ------------------------------------------------------------------------------------------------------------- transactions

Drafted = Callable[[Environment], TransactionDraft]


def without_fence(draft: Drafted, *, in_doubt: Decision, fresh_tokens: bool = False) -> Start:
    """A client that sends its transaction until its deadline; a refusal in doubt is told by the word ``in_doubt``."""

    def start(around: Environment) -> Steps[Told]:
        plan = yield from _compiled(draft(around))
        doubt = False
        for _ in range(SENDS_MAX):
            answer = yield from send(around, plan.request(), around.timeout_seconds)
            answer_class = _judge_transaction(plan, answer)
            if answer_class not in (AnswerClass.NO_ANSWER, AnswerClass.BUSY):
                decision = decide(Guard.TOKEN, doubt, answer_class)
                return _told(in_doubt if decision is Decision.FENCE else decision)
            doubt = doubt or isinstance(answer, NoAnswer)
            moment = yield from now()
            if moment.monotonic >= around.deadline_seconds:
                break
            if fresh_tokens:
                plan = plan.with_token((yield from new_id()))
        return _told(decide_at_deadline(Decision.RESEND, doubt))

    return start


def fenced_under_another_token(draft: Drafted) -> Start:
    """A client whose fence is sent under a token of its own, where it proves nothing."""

    def start(around: Environment) -> Steps[Told]:
        plan = yield from _compiled(draft(around))
        other = plan.with_token((yield from new_id())).fence
        moment = yield from now()
        answer = yield from send(around, plan.request(), around.timeout_seconds)
        if isinstance(answer, Success):
            return Told("applied", once=True)
        if not isinstance(answer, NoAnswer):
            return Told("refused")
        word = yield from settle_by_fence(around, replace(plan, fence=other), TokenLife(moment), lambda reply: _judge_transaction(plan, reply))
        match word:
            case FenceWord.APPLIED:
                return Told("applied", once=True)
            case FenceWord.REFUSED | FenceWord.OTHER_CONTENT:
                return Told("refused")
            case FenceWord.UNKNOWN:
                return Told("unknown")

    return start


def _compiled(draft: TransactionDraft) -> Steps[TransactionPlan]:
    unique = yield from new_id()
    token = yield from new_id()
    return compile_transaction(draft, occasion(unique), token)


def _judge_transaction(plan: TransactionPlan, answer: Answer) -> AnswerClass:
    found = class_of_answer(answer)
    if found is not None:
        return found
    assert isinstance(answer, Rejection)
    return classify_reasons(plan.actions, answer.reasons)
