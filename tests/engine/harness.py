"""Belongs here: how engine tests make tables, send requests and read refusals. Must not be here: rules of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service

NOON = 1_800_000_000.0


class Clock:
    """Seconds since 1970 that stand still until a test moves them."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Caller:
    """Sends requests to a service with the table's name filled in."""

    def __init__(self, service: Service, clock: Clock, table: str = "shop") -> None:
        self.service = service
        self.clock = clock
        self.table = table

    def __call__(self, operation: str, **members: Any) -> dict[str, Any]:
        return self.service.execute(operation, {"TableName": self.table, **members})

    def refusal(self, operation: str, **members: Any) -> ServiceError:
        """The error that the request must end in."""
        return self.refused(operation, {"TableName": self.table, **members})

    def refused(self, operation: str, body: Mapping[str, Any]) -> ServiceError:
        with pytest.raises(ServiceError) as caught:
            self.service.execute(operation, body)
        return caught.value

    def invalid(self, operation: str, **members: Any) -> str:
        """The text of the ValidationException that the request must end in."""
        error = self.refusal(operation, **members)
        assert error.code == "ValidationException"
        return error.message

    def put(self, **item: Any) -> None:
        self("PutItem", Item=item)

    def item(self, **key: Any) -> dict[str, Any] | None:
        return self("GetItem", Key=key, ConsistentRead=True).get("Item")

    def transact(self, *actions: dict[str, Any], **members: Any) -> dict[str, Any]:
        return self.service.execute("TransactWriteItems", {"TransactItems": list(actions), **members})

    def cancelled(self, *actions: dict[str, Any], **members: Any) -> ServiceError:
        """The cancellation that the transaction must end in."""
        error = self.refused("TransactWriteItems", {"TransactItems": list(actions), **members})
        assert error.code == "TransactionCanceledException"
        return error

    def action(self, kind: str, **members: Any) -> dict[str, Any]:
        return {kind: {"TableName": self.table, **members}}


def text(content: str) -> dict[str, str]:
    return {"S": content}


def number(content: float | str) -> dict[str, str]:
    return {"N": str(content)}


def create_table(
    service: Service,
    name: str = "shop",
    keys: Sequence[tuple[str, str]] = (("pk", "S"),),
    *,
    global_indexes: Sequence[Mapping[str, Any]] = (),
    local_indexes: Sequence[Mapping[str, Any]] = (),
    extra_types: Mapping[str, str] | None = None,
    **members: Any,
) -> dict[str, Any]:
    """Make a table with these key attributes; indexes are given in the service's shape, their attributes' types in ``extra_types``."""
    types = dict(keys) | dict(extra_types or {})
    body: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()],
        "KeySchema": key_schema(*(attribute for attribute, _ in keys)),
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }
    if global_indexes:
        body["GlobalSecondaryIndexes"] = list(global_indexes)
    if local_indexes:
        body["LocalSecondaryIndexes"] = list(local_indexes)
    return service.execute("CreateTable", body)


def key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": role} for name, role in zip(names, ("HASH", "RANGE"), strict=False)]


def index(name: str, *keys: str, projection: str = "ALL", included: Sequence[str] = ()) -> dict[str, Any]:
    projected: dict[str, Any] = {"ProjectionType": projection}
    if included:
        projected["NonKeyAttributes"] = list(included)
    return {"IndexName": name, "KeySchema": key_schema(*keys), "Projection": projected}
