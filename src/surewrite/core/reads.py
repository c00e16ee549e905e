"""Belongs here: generators for get, with a bounded retry. Must not be here: write logic, caching."""

from __future__ import annotations

from typing import Any

from surewrite.core.answers import Answer, NotSent, Rejection, Success
from surewrite.core.attempts import ATTEMPTS_MAX, backoff_seconds, describe_answer, explain_rejection
from surewrite.core.decisions import BUSY_CODES, is_misdated
from surewrite.core.effects import Moment, Steps, now, pause, send
from surewrite.core.environment import Environment
from surewrite.core.keys import Key, is_key
from surewrite.core.plans import expired_before
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Scope
from surewrite.core.values import Item
from surewrite.errors import ConnectionFailed, InvalidRequest, ItemNotFound, SurewriteError, Throttled


def get_or_none(scope: Scope, key: Key[Any], *, consistent: bool | None = None) -> Steps[Any]:
    """The entity stored under the key, or ``None`` if there is none or it has expired.

    Types with a version are read consistently unless told otherwise: a stale version would only make the next write fail.
    Half a read unit per started 4 KB, a whole one where consistent.
    """
    item, moment = yield from get_item(scope, key, consistent=consistent)
    return None if item is None or _expired(scope, item, moment) else scope.schema.from_item(item)


def get(scope: Scope, key: Key[Any], *, consistent: bool | None = None) -> Steps[Any]:
    """The entity stored under the key. Raises ``ItemNotFound`` if there is none or it has expired."""
    entity = yield from get_or_none(scope, key, consistent=consistent)
    if entity is None:
        raise ItemNotFound(f"{scope.entity}: no item is stored under this key, or it has expired", key=key)
    return entity


def get_item(scope: Scope, key: Key[Any], *, consistent: bool | None = None) -> Steps[tuple[Item | None, Moment]]:
    """The stored item as it is, expired or not, and when it was asked for."""
    require_key(scope, key)
    wanted = scope.schema.version is not None if consistent is None else consistent
    body = {"TableName": scope.table, "Key": scope.schema.key_item(key), "ConsistentRead": wanted}
    moment = yield from now()
    answer = yield from ask(scope.environment, Request("GetItem", body), f"{scope.entity}: the get", key, moment)
    return answer.body.get("Item"), moment


def require_key(scope: Scope, given: Any) -> None:
    """Refuse what is no key; of an entity the text says how its key is written."""
    if is_key(given):
        return
    values = "entity" if isinstance(given, scope.schema.entity) else "..."
    raise InvalidRequest(f"{scope.entity}: expected a key, not {type(given).__name__}: write {scope.entity}.key_of({values})")


def ask(environment: Environment, request: Request, what: str, key: Any, started: Moment) -> Steps[Success]:
    """Send a request that changes nothing, or that may be made any number of times, until it is answered or the deadline comes."""
    deadline = started.monotonic + environment.deadline_seconds
    moment, number = started, 0
    answer: Answer = NotSent("nothing was sent yet")
    for number in range(1, ATTEMPTS_MAX + 1):
        answer = yield from send(request, max(0.001, min(environment.timeout_seconds, deadline - moment.monotonic)))
        if isinstance(answer, Success):
            return answer
        if isinstance(answer, Rejection) and answer.code not in BUSY_CODES and answer.status < 500 and not is_misdated(answer):
            break
        moment = yield from now()
        seconds = yield from backoff_seconds(number)
        if moment.monotonic + seconds >= deadline:
            break
        yield from pause(seconds)
        moment = yield from now()
    raise _failure(environment, request, answer, what, key, number)


def _tables_of(request: Request) -> list[str]:
    """The names of the tables that a read asks."""
    body = request.body
    return list(body["RequestItems"]) if "RequestItems" in body else [body["TableName"]]


def _failure(environment: Environment, request: Request, answer: Any, what: str, key: Any, attempts: int) -> SurewriteError:
    if isinstance(answer, Rejection) and answer.code in BUSY_CODES:
        return Throttled(f"{what} was throttled until the deadline: slow down, then try again", key=key, attempts=attempts)
    if isinstance(answer, Rejection) and answer.status < 500:
        reason = explain_rejection(environment, answer, _tables_of(request))
        return InvalidRequest(f"{what} failed: {reason}", key=key, attempts=attempts, code=answer.code)
    detail = answer.detail if isinstance(answer, NotSent) else describe_answer(answer)
    return ConnectionFailed(f"{what} was not answered: {detail}; trying again is safe", key=key, attempts=attempts)


def _expired(scope: Scope, item: Item, moment: Moment) -> bool:
    ttl = scope.schema.time_to_live
    return ttl is not None and expired_before(item, ttl.stored_name, Occasion(moment, "").seconds)
