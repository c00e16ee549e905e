"""Belongs here: the operations on tables and their time to live, and the sweep. Must not be here: items of a request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.values import Item
from surewrite.engine.context import Context
from surewrite.engine.copies import copied_description
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.indexes import fill
from surewrite.engine.members import Member, Shapes, require_none, table_name
from surewrite.engine.schemas import Table, definition_text
from surewrite.engine.stores.store import SLOTS, Session
from surewrite.engine.streams import SWEEP_IDENTITY, Change
from surewrite.engine.table_members import EXISTING_TABLE, map_faults
from surewrite.engine.table_requests import described_table
from surewrite.engine.table_updates import check_update, updated_table
from surewrite.engine.tags import tags_of

_OLDEST_EXPIRY_SECONDS: Final = 5 * 365 * 24 * 3600
"""Developer Guide, page "Using time to live (TTL) in DynamoDB": a time more than five years ago expires nothing."""

_NAMED: Final = {operation: Shapes(operation, (EXISTING_TABLE,)) for operation in ("DescribeTable", "DeleteTable", "DescribeTimeToLive")}
_LIST: Final = Shapes(
    "ListTables",
    (
        Member("ExclusiveStartTableName", "string", least=limits.TABLE_NAME_CHARACTERS_LEAST, most=limits.TABLE_NAME_CHARACTERS),
        Member("Limit", "integer", least=1, most=100),
    ),
)
_LIMITS: Final = Shapes("DescribeLimits", ())
_EXPIRY: Final = Shapes("UpdateTimeToLive", (EXISTING_TABLE, Member("TimeToLiveSpecification", "map", required=True)))
_EXPIRY_SPECIFICATION: Final = Shapes(
    "TimeToLiveSpecification",
    (Member("Enabled", "boolean", required=True), Member("AttributeName", "string", required=True, least=1, most=255)),
)


def create_table(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """CreateTable: the table is usable when this returns, though the answer still calls it CREATING as the service's does."""
    description = described_table(body, str(uuid.uuid4()), context.clock())
    name = description["TableName"]
    with context.store.session(write=True) as session:
        if session.definition(name) is not None:
            raise ServiceError("ResourceInUseException", f"Table already exists: {name}")
        session.put_definition(name, definition_text(description, None, tags_of(body.get("Tags") or [])))
    answer = copied_description(description)
    answer["TableStatus"] = "CREATING"
    for index in answer.get("GlobalSecondaryIndexes", ()):
        index["IndexStatus"] = "CREATING"
    return {"TableDescription": answer}


def update_table(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateTable: in effect when this returns, though the answer still calls the table UPDATING. A new index is filled; that reads every item."""
    check_update(body)
    name = table_name(body["TableName"])
    with context.store.session(write=True) as session:
        table = _required(context, session, name)
        update = updated_table(body, table.description, context.clock())
        session.put_definition(name, definition_text(update.description, table.time_to_live, table.tags))
        changed = _required(context, session, name)
        answer = _described(session, changed)
        answer["TableStatus"] = "UPDATING"
        created = None if update.created is None else changed.index(update.created)
        if created is not None:
            fill(session, changed, created)
            answer["GlobalSecondaryIndexes"][-1]["IndexStatus"] = "CREATING"
        deleted = None if update.deleted is None else table.index(update.deleted)
        if deleted is not None:
            session.drop_space(deleted.space)
    return {"TableDescription": answer}


def describe_limits(_context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeLimits: the quotas of a new account; none is in force here."""
    _LIMITS.check(body)
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def describe_table(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeTable, with the number of items as it is now."""
    name = _existing_name("DescribeTable", body)
    with context.store.session(write=False) as session:
        table = _required(context, session, name)
        return {"Table": _described(session, table)}


def delete_table(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteTable: the table is gone when this returns."""
    name = _existing_name("DeleteTable", body)
    with context.store.session(write=True) as session:
        table = _required(context, session, name)
        if table.description.get("DeletionProtectionEnabled"):
            raise validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
        description = _described(session, table) | {"TableStatus": "DELETING"}
        for space in (table.space, *(index.space for index in table.indexes)):
            session.drop_space(space)
        session.delete_definition(name)
        session.after_commit(partial(context.streams.drop, table.space))
    return {"TableDescription": description}


def list_tables(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """ListTables, by the bytes of the names."""
    _LIST.check(body)
    after, limit = body.get("ExclusiveStartTableName") or "", body.get("Limit") or 100
    with context.store.session(write=False) as session:
        names = [name for name in session.table_names() if name > after]
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


def update_time_to_live(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateTimeToLive: in effect at once, and repeatable without a pause."""
    _EXPIRY.check_shapes(body)
    require_none(_EXPIRY.faults(body) + map_faults(body.get("TimeToLiveSpecification"), _EXPIRY_SPECIFICATION, "timeToLiveSpecification"))
    specification: Mapping[str, Any] = body["TimeToLiveSpecification"]
    enabled: bool = specification["Enabled"]
    attribute: str = specification["AttributeName"]
    with context.store.session(write=True) as session:
        table = _required(context, session, table_name(body["TableName"]))
        if table.time_to_live is not None and table.time_to_live != attribute:
            raise validation(f"TimeToLive is active on a different AttributeName: current AttributeName is {table.time_to_live}")
        if enabled is (table.time_to_live is not None):
            raise validation(f"TimeToLive is already {'enabled' if enabled else 'disabled'}")
        session.put_definition(table.name, definition_text(table.description, attribute if enabled else None, table.tags))
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def describe_time_to_live(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeTimeToLive."""
    name = _existing_name("DescribeTimeToLive", body)
    with context.store.session(write=False) as session:
        table = _required(context, session, name)
    if table.time_to_live is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": table.time_to_live}}


def sweep_expired(context: Context) -> int:
    """Delete all items that have expired by the service's clock and are not part of a held transaction; returns how many. Reads every item."""
    now = context.clock()
    swept = 0
    with context.store.session(write=False) as session:
        names = session.table_names()
    for name in names:
        with context.store.session(write=True) as session:
            table = context.catalogue.find(session, name)
            if table is not None and table.time_to_live is not None:
                changes = _expired(context, session, table, table.time_to_live, now)
                context.apply(session, changes)
                swept += len(changes)
    return swept


def _expired(context: Context, session: Session, table: Table, attribute: str, now: float) -> list[Change]:
    return [
        Change(table, place, item, None, SWEEP_IDENTITY)
        for item in session.scan(table.space, 0, SLOTS, None)
        if _has_expired(item, attribute, now) and not context.locks.is_locked(table, place := table.key.place(item))
    ]


def _has_expired(item: Item, attribute: str, now: float) -> bool:
    text = item.get(attribute, {}).get("N")
    if text is None:
        return False
    age = Decimal(now) - Decimal(text)
    return 0 < age <= _OLDEST_EXPIRY_SECONDS


def _existing_name(operation: str, body: Mapping[str, Any]) -> str:
    _NAMED[operation].check(body)
    return table_name(body["TableName"])


def _required(context: Context, session: Session, name: str) -> Table:
    table = context.catalogue.find(session, name)
    if table is None:
        raise ServiceError("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found")
    return table


def _described(session: Session, table: Table) -> dict[str, Any]:
    description = copied_description(table.description)
    description["ItemCount"] = session.size(table.space)
    described = (*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ()))
    for index in described:
        index["ItemCount"] = session.size(f"{table.space}/{index['IndexName']}")
    return description
