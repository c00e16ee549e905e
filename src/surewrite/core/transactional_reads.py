"""Belongs here: the generator for reading several items at one moment. Must not be here: planning of writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surewrite.core import limits
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.attempts import ATTEMPTS_MAX, backoff_seconds, describe_answer, explain_rejection
from surewrite.core.decisions import BUSY_CODES, BUSY_REASONS, is_misdated
from surewrite.core.effects import Moment, Steps, now, pause, send
from surewrite.core.environment import Environment
from surewrite.core.keys import Key
from surewrite.core.plans import expired_before
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Scope
from surewrite.core.values import Item
from surewrite.errors import ConnectionFailed, InvalidRequest, SurewriteError, Throttled, TransactionConflict


def transact_get(environment: Environment, scoped: Sequence[tuple[Scope, Key[Any]]]) -> Steps[tuple[Any, ...]]:
    """The entities under the keys as they were at one moment, ``None`` where there is none or an expired one.

    Two read units per started 4 KB of each item, missing ones included. A write in flight on one of the items cancels the
    read; it is repeated until the deadline and then raises ``TransactionConflict``.
    """
    if not scoped:
        return ()
    if len(scoped) > limits.TRANSACTION_ACTIONS:
        raise InvalidRequest(
            f"a transactional get reads at most {limits.TRANSACTION_ACTIONS} items, and {len(scoped)} were asked for; their moment cannot be split"
        )
    gets = [{"Get": {"TableName": scope.table, "Key": scope.schema.key_item(key)}} for scope, key in scoped]
    request = Request("TransactGetItems", {"TransactItems": gets})
    started = yield from now()
    answer = yield from _answered(environment, request, started)
    seconds = Occasion(started, "").seconds
    found: list[Any] = []
    for (scope, _), response in zip(scoped, answer.body["Responses"], strict=True):
        item: Item | None = response.get("Item")
        ttl = scope.schema.time_to_live
        if item is None or (ttl is not None and expired_before(item, ttl.stored_name, seconds)):
            found.append(None)
        else:
            found.append(scope.schema.from_item(item))
    return tuple(found)


def _answered(environment: Environment, request: Request, started: Moment) -> Steps[Success]:
    moment = started
    answer: Answer | None = None
    number = 0
    for number in range(1, ATTEMPTS_MAX + 1):
        remaining = started.monotonic + environment.deadline_seconds - moment.monotonic
        answer = yield from send(request, max(0.001, min(environment.timeout_seconds, remaining)))
        if isinstance(answer, Success):
            return answer
        if isinstance(answer, Rejection) and not _may_pass_later(answer):
            break
        seconds = yield from backoff_seconds(number)
        moment = yield from now()
        if moment.monotonic + seconds - started.monotonic >= environment.deadline_seconds:
            break
        yield from pause(seconds)
        moment = yield from now()
    assert answer is not None
    raise _failure(environment, request, answer, number)


def _may_pass_later(answer: Rejection) -> bool:
    if answer.code == "TransactionCanceledException":
        return all(reason.code in BUSY_REASONS or reason.code == "None" for reason in answer.reasons)
    return answer.code in BUSY_CODES or answer.status >= 500 or is_misdated(answer)


def _failure(environment: Environment, request: Request, answer: Answer, attempts: int) -> SurewriteError:
    if isinstance(answer, Rejection) and answer.code == "TransactionCanceledException" and _may_pass_later(answer):
        return TransactionConflict("writes in flight on the items cancelled the transactional get until the deadline; trying again is safe")
    if isinstance(answer, Rejection) and answer.code in BUSY_CODES:
        return Throttled("the transactional get was throttled until the deadline: slow down, then try again")
    if isinstance(answer, Rejection) and answer.status < 500:
        reason = explain_rejection(environment, answer, (get["Get"]["TableName"] for get in request.body["TransactItems"]))
        return InvalidRequest(f"the transactional get failed: {reason}", attempts=attempts, code=answer.code)
    return ConnectionFailed(f"the transactional get was not answered: {describe_answer(answer)}; trying again is safe")
