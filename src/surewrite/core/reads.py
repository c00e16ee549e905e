"""Belongs here: generators for reading one item. Must not be here: sending again, write logic, caching."""

from __future__ import annotations

from typing import Any

from surewrite.core.answers import Success
from surewrite.core.asking import failure, until_answered
from surewrite.core.effects import Moment, Steps, now
from surewrite.core.keys import Key, is_key
from surewrite.core.plans import expired_before
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Scope
from surewrite.core.service_time import moment_after
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest, ItemNotFound


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
    request = Request("GetItem", {"TableName": scope.table, "Key": scope.schema.key_item(key), "ConsistentRead": wanted})
    environment = scope.environment
    moment = yield from now()
    reply = yield from until_answered(environment, request, moment, moment.monotonic + environment.deadline_seconds)
    if not isinstance(reply.answer, Success):
        raise failure(environment, request, reply, f"{scope.entity}: the get", key)
    return reply.answer.body.get("Item"), (yield from moment_after(moment))


def require_key(scope: Scope, given: Any) -> None:
    """Refuse what is no key; of an entity the text says how its key is written."""
    if is_key(given):
        return
    values = "entity" if isinstance(given, scope.schema.entity) else "..."
    raise InvalidRequest(f"{scope.entity}: expected a key, not {type(given).__name__}: write {scope.entity}.key_of({values})")


def _expired(scope: Scope, item: Item, moment: Moment) -> bool:
    ttl = scope.schema.time_to_live
    return ttl is not None and expired_before(item, ttl.stored_name, Occasion(moment, "").seconds)
