"""A process of its own that writes to a file until it is killed; it prints each write once that is acknowledged."""

from __future__ import annotations

import sys
from typing import Any

from surewrite.engine.service import Service
from surewrite.engine.stores.sqlite import SqliteStore
from surewrite.engine.stores.store import StoreBusy

MOST_WRITES = 100_000
TRIES_MAX = 100


def execute(service: Service, operation: str, body: dict[str, Any]) -> None:
    """The request, again while others keep the file locked, as the error says."""
    for _ in range(TRIES_MAX):
        try:
            service.execute(operation, body)
        except StoreBusy:
            continue
        return
    raise AssertionError("the file stays locked")


def write(path: str, name: str) -> None:
    service = Service(SqliteStore(path))
    for at in range(MOST_WRITES):
        pair = [{"Put": {"TableName": "shop", "Item": {"pk": {"S": f"{name}-{at}"}, "half": {"S": half}, "sk": {"S": half}}}} for half in ("left", "right")]
        execute(service, "TransactWriteItems", {"TransactItems": pair})
        execute(
            service,
            "UpdateItem",
            {
                "TableName": "shop",
                "Key": {"pk": {"S": "total"}, "sk": {"S": "all"}},
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            },
        )
        print(at, flush=True)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2])
