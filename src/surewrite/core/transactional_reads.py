"""Belongs here: the generator for reading several items at one moment. Must not be here: planning of writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surewrite.core import limits
from surewrite.core.asking import ask
from surewrite.core.effects import Steps, now
from surewrite.core.environment import Environment
from surewrite.core.keys import Key
from surewrite.core.plans import expired_before
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Scope
from surewrite.core.service_time import moment_after
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest


def transact_get(environment: Environment, scoped: Sequence[tuple[Scope, Key[Any]]]) -> Steps[tuple[Any, ...]]:
    """The entities under the keys as they were at one moment, ``None`` where there is none or an expired one.

    Two read units per started 4 KB of each item, missing ones included. A write in flight on one of the items cancels the
    read; it is repeated until the deadline and then raises ``TransactionConflict``, or ``Throttled`` where no write did.
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
    answer = yield from ask(environment, request, "the transactional get", None, started)
    seconds = Occasion((yield from moment_after(started)), "").seconds
    found: list[Any] = []
    for (scope, _), response in zip(scoped, answer.body["Responses"], strict=True):
        item: Item | None = response.get("Item")
        ttl = scope.schema.time_to_live
        if item is None or (ttl is not None and expired_before(item, ttl.stored_name, seconds)):
            found.append(None)
        else:
            found.append(scope.schema.from_item(item))
    return tuple(found)
