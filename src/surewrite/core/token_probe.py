"""Belongs here: finding out whether an endpoint has transactions and honours their tokens. Must not be here: what to do about a transaction in doubt."""

from __future__ import annotations

from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.attempts import ATTEMPTS_MAX, backoff_seconds, describe_answer, explain_rejection
from surewrite.core.decisions import AnswerClass, class_of_answer
from surewrite.core.effects import Steps, new_id, now, pause, send
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.errors import ConnectionFailed, InvalidRequest


def require_tokens(environment: Environment, harmless: Request, *, named: bool) -> Steps[None]:
    """Raise ``InvalidRequest`` where transactions or their tokens are missing. Asked once per database, for 4 write units.

    ``harmless`` is a transaction without effect; the probe sends it under a token of its own, then another content under
    the same token, which an endpoint that honours tokens turns away.
    """
    if environment.traits.tokens is None or environment.traits.transactions is None:
        yield from _probe(environment, harmless)
    name = environment.traits.name
    if environment.traits.transactions is False:
        raise InvalidRequest(f"{name} has no transactions (TransactWriteItems); single writes work there")
    if environment.traits.tokens is False:
        what = "a named transaction" if named else "a transaction"
        raise InvalidRequest(
            f"{name} ignores the tokens of transactions: {what} sent again after a lost answer would be made twice."
            ' Use an endpoint that honours them, such as DynamoDB or "memory:"'
        )


def _probe(environment: Environment, harmless: Request) -> Steps[None]:
    token = "probe-" + (yield from new_id())
    items = harmless.body["TransactItems"]
    first = Request("TransactWriteItems", {"TransactItems": items, "ClientRequestToken": token})
    answer = yield from _answered(environment, first)
    if isinstance(answer, Rejection) and answer.code == "UnknownOperationException":
        environment.learn(transactions=False, tokens=False)
        return
    if not isinstance(answer, Success):
        reason = explain_rejection(environment, answer, (item["Delete"]["TableName"] for item in items))
        raise InvalidRequest(f"{environment.traits.name} refused a harmless transaction: {reason}", code=answer.code)
    other = [
        {
            "Delete": {
                **items[0]["Delete"],
                "ConditionExpression": "attribute_not_exists(#0)",
                "ExpressionAttributeNames": {"#0": next(iter(items[0]["Delete"]["Key"]))},
            }
        }
    ]
    answer = yield from _answered(environment, Request("TransactWriteItems", {"TransactItems": other, "ClientRequestToken": token}))
    environment.learn(transactions=True, tokens=class_of_answer(answer) is AnswerClass.MISMATCH)


def _answered(environment: Environment, request: Request) -> Steps[Success | Rejection]:
    """The answer to a request that does no harm however often it is made."""
    started = yield from now()
    answer: Answer | None = None
    for number in range(1, ATTEMPTS_MAX + 1):
        answer = yield from send(request, environment.timeout_seconds)
        if class_of_answer(answer) not in (AnswerClass.NO_ANSWER, AnswerClass.NOT_SENT, AnswerClass.BUSY, AnswerClass.IN_PROGRESS):
            assert isinstance(answer, (Success, Rejection))
            return answer
        moment = yield from now()
        seconds = yield from backoff_seconds(number)
        if moment.monotonic + seconds - started.monotonic >= environment.deadline_seconds:
            break
        yield from pause(seconds)
    assert answer is not None
    raise ConnectionFailed(
        f"{environment.traits.name} did not answer whether it honours the tokens of transactions: {describe_answer(answer)}; nothing was written"
    )
