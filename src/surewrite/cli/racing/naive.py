"""Belongs here: how the naive side calls the service: the service's own requests, sent again blindly. Must not be here: anything of Surewrite's promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from surewrite.cli.racing.scenario import Stage
from surewrite.client import Database
from surewrite.errors import ConnectionFailed, OutcomeUnknown, ServiceFault, SurewriteError

RESENDS_MAX = 200

BUSY = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "TransactionConflictException", "InternalServerError"})

TypedItem = dict[str, dict[str, Any]]


class GaveUp(SurewriteError):
    """A naive writer was never answered."""


def call(db: Database, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make a request, and again until it is answered: what an SDK's own retries do."""
    for _ in range(RESENDS_MAX):
        try:
            return db.execute(operation, body)
        except (OutcomeUnknown, ConnectionFailed):
            continue
        except ServiceFault as fault:
            if fault.code not in BUSY:
                raise
    raise GaveUp(f"a naive writer sent {operation} {RESENDS_MAX} times and was never answered: is the target up?")


def key(partition: str, sort: str) -> TypedItem:
    """The typed key attributes."""
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def read(db: Database, table: str, partition: str, sort: str) -> TypedItem:
    """The item, or an empty one."""
    found: TypedItem = dict(call(db, "GetItem", {"TableName": table, "Key": key(partition, sort), "ConsistentRead": True}).get("Item", {}))
    return found


def put(db: Database, table: str, item: TypedItem) -> None:
    """Store the item whole."""
    call(db, "PutItem", {"TableName": table, "Item": item})


def number(item: TypedItem, name: str, default: int = 0) -> int:
    """A whole number of the item."""
    return int(item[name]["N"]) if name in item else default


def remaining_rounds(stage: Stage, rounds: int) -> Iterator[int]:
    """The rounds that are left, by a progress note in the table that is written after each: a writer killed in between repeats its last one."""
    done = number(read(stage.db, stage.table, f"PROGRESS#{stage.name}", "NOTE"), "round")
    for current in range(done + 1, rounds + 1):
        yield current
        put(stage.db, stage.table, key(f"PROGRESS#{stage.name}", "NOTE") | {"round": {"N": str(current)}})
        stage.tick()
