"""A process of its own that writes to a file until it is killed; it prints each write once that is acknowledged."""

from __future__ import annotations

import sys

from surewrite.engine.service import Service
from surewrite.engine.stores.sqlite import SqliteStore

MOST_WRITES = 100_000


def write(path: str, name: str) -> None:
    service = Service(SqliteStore(path))
    for at in range(MOST_WRITES):
        pair = [{"Put": {"TableName": "shop", "Item": {"pk": {"S": f"{name}-{at}"}, "half": {"S": half}, "sk": {"S": half}}}} for half in ("left", "right")]
        service.execute("TransactWriteItems", {"TransactItems": pair})
        service.execute(
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
