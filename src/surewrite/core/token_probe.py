"""Belongs here: finding out whether an endpoint has transactions and honours their tokens. Must not be here: what to do about a transaction in doubt."""

from __future__ import annotations

from surewrite.core.answers import Rejection, Success
from surewrite.core.asking import Reply, failure, until_answered, will_pass
from surewrite.core.decisions import AnswerClass, class_of_answer
from surewrite.core.effects import Steps, new_id, now
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.errors import InvalidRequest, SurewriteError


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
    reply = yield from _settled(environment, first)
    if isinstance(reply.answer, Rejection) and reply.answer.code == "UnknownOperationException":
        environment.learn(transactions=False, tokens=False)
        return
    if not isinstance(reply.answer, Success):
        raise _failure(environment, first, reply)
    other = [
        {
            "Delete": {
                **items[0]["Delete"],
                "ConditionExpression": "attribute_not_exists(#0)",
                "ExpressionAttributeNames": {"#0": next(iter(items[0]["Delete"]["Key"]))},
            }
        }
    ]
    reply = yield from _settled(environment, Request("TransactWriteItems", {"TransactItems": other, "ClientRequestToken": token}))
    environment.learn(transactions=True, tokens=class_of_answer(reply.answer) is AnswerClass.MISMATCH)


def _settled(environment: Environment, harmless: Request) -> Steps[Reply]:
    """What the endpoint says in the end: neither that it is busy nor that others hold the item tells anything of its tokens."""
    moment = yield from now()
    reply = yield from until_answered(environment, harmless, moment, moment.monotonic + environment.deadline_seconds)
    if will_pass(reply.answer):
        raise _failure(environment, harmless, reply)
    return reply


def _failure(environment: Environment, harmless: Request, reply: Reply) -> SurewriteError:
    what = f"finding out whether {environment.traits.name} honours the tokens of transactions"
    return failure(environment, harmless, reply, what, None, advice="nothing was written")
