"""Belongs here: the checks on UpdateTable, and the changed description that it makes of a table. Must not be here: storage access, the entries of an index.

API Reference, UpdateTable. A change is in effect at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surewrite.engine.copies import copied_description
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.members import Member, Shapes, require_map, require_none
from surewrite.engine.table_members import (
    DELETED_INDEX,
    EXISTING_TABLE,
    GLOBAL_INDEX,
    SETTINGS,
    UPDATED_INDEX,
    index_faults,
    key_faults,
    map_faults,
    setting_faults,
)
from surewrite.engine.table_requests import (
    check_global_count,
    check_index_units,
    check_projections,
    check_roles,
    check_units,
    describe_encryption,
    describe_limits,
    describe_stream,
    described_index,
    described_units,
)
from surewrite.engine.validation import INVALID

_REQUEST: Final = Shapes(
    "UpdateTable",
    (EXISTING_TABLE, Member("AttributeDefinitions", "list"), Member("GlobalSecondaryIndexUpdates", "list"), *SETTINGS),
)
_ACTION: Final = Shapes("GlobalSecondaryIndexUpdate", (Member("Create", "map"), Member("Update", "map"), Member("Delete", "map")))
_ACTIONS: Final = {"Create": GLOBAL_INDEX, "Update": UPDATED_INDEX, "Delete": DELETED_INDEX}


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """A table's new description, and the names of the indexes that an update adds and takes away."""

    description: dict[str, Any]
    created: str | None
    deleted: str | None


def check_update(body: Mapping[str, Any]) -> None:
    """Refuse an UpdateTable request for what its members alone show to be wrong."""
    _REQUEST.check_shapes(body)
    faults = _REQUEST.faults(body) + key_faults(body)
    for at, update in enumerate(body.get("GlobalSecondaryIndexUpdates") or (), start=1):
        prefix = f"globalSecondaryIndexUpdates.{at}.member"
        faults += map_faults(require_map(update, prefix), _ACTION, prefix)
        for action, shapes in _ACTIONS.items():
            if update.get(action) is not None:
                faults += index_faults(update[action], shapes, f"{prefix}.{action.lower()}")
    require_none(faults + setting_faults(body))
    if not body.get("GlobalSecondaryIndexUpdates") and all(body.get(member.name) is None for member in SETTINGS):
        raise validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates "
            "or SSESpecification or ReplicaUpdates is required"
        )


def updated_table(body: Mapping[str, Any], described: Mapping[str, Any], now: float) -> TableUpdate:
    """What a request that ``check_update`` let pass makes of a table; raises the service's errors."""
    description = copied_description(dict(described))
    actions = _read_actions(body.get("GlobalSecondaryIndexUpdates") or ())
    _change_billing(description, body, actions, now)
    _change_stream(description, body.get("StreamSpecification"), now)
    describe_limits(description, body)
    describe_encryption(description, body.get("SSESpecification"))
    if body.get("TableClass") is not None:
        description["TableClassSummary"] = {"TableClass": body["TableClass"], "LastUpdateDateTime": now}
    if body.get("DeletionProtectionEnabled") is not None:
        description["DeletionProtectionEnabled"] = body["DeletionProtectionEnabled"]
    created = deleted = None
    for action, index in actions:
        match action:
            case "Create":
                created = _create_index(description, index, body.get("AttributeDefinitions") or ())
            case "Update":
                _update_index(description, index, now)
            case _:
                deleted = _delete_index(description, index["IndexName"])
    return TableUpdate(description, created, deleted)


def _read_actions(updates: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    actions: list[tuple[str, Mapping[str, Any]]] = []
    for update in updates:
        given = [(action, update[action]) for action in _ACTIONS if update.get(action) is not None]
        if len(given) != 1:
            raise validation(
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        actions += given
    names = [index["IndexName"] for _, index in actions]
    for name in names:
        if names.count(name) > 1:
            raise validation(f"{INVALID}Only one global secondary index update per index is allowed simultaneously. Index: {name}")
    if sum(action != "Update" for action, _ in actions) > 1:
        raise ServiceError("LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
    return actions


def _is_on_demand(description: Mapping[str, Any]) -> bool:
    return bool(description.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST")


def _change_billing(description: dict[str, Any], body: Mapping[str, Any], actions: Sequence[tuple[str, Mapping[str, Any]]], now: float) -> None:
    was_on_demand = _is_on_demand(description)
    mode, units = body.get("BillingMode"), body.get("ProvisionedThroughput")
    on_demand = was_on_demand if mode is None else mode == "PAY_PER_REQUEST"
    if on_demand or mode is not None:
        check_units(units, on_demand=on_demand)
    if on_demand is was_on_demand:
        if units is not None:
            _set_units(description, units, "table", now)
        return
    indexes = description.get("GlobalSecondaryIndexes", ())
    if on_demand:
        description["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": now}
        for described in (description, *indexes):
            described["ProvisionedThroughput"] = described_units({})
        return
    description["BillingModeSummary"]["BillingMode"] = "PROVISIONED"
    description["ProvisionedThroughput"] = described_units(units or {})
    provided = {index["IndexName"] for action, index in actions if action == "Update" and index.get("ProvisionedThroughput") is not None}
    dropped = {index["IndexName"] for action, index in actions if action == "Delete"}
    missing = [index["IndexName"] for index in indexes if index["IndexName"] not in provided | dropped]
    if missing:
        raise validation(f"{INVALID}ProvisionedThroughput must be specified for index: {', '.join(missing)}")


def _set_units(described: dict[str, Any], units: Mapping[str, Any], what: str, now: float) -> None:
    known = described["ProvisionedThroughput"]
    changes = [(known[member], units[member]) for member in ("ReadCapacityUnits", "WriteCapacityUnits")]
    if all(old == new for old, new in changes):
        (reads, _), (writes, _) = changes
        raise validation(
            f"The provisioned throughput for the {what} will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the {what}: {reads}. Requested ReadCapacityUnits: {reads}. "
            f"Current WriteCapacityUnits provisioned for the {what}: {writes}. Requested WriteCapacityUnits: {writes}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    known["ReadCapacityUnits"], known["WriteCapacityUnits"] = (new for _, new in changes)
    if any(new > old for old, new in changes):
        known["LastIncreaseDateTime"] = now
    if any(new < old for old, new in changes):
        known["LastDecreaseDateTime"] = now
        known["NumberOfDecreasesToday"] += 1


def _change_stream(description: dict[str, Any], stream: Mapping[str, Any] | None, now: float) -> None:
    if stream is None:
        return
    streams = "StreamSpecification" in description
    if stream["StreamEnabled"]:
        if streams:
            raise validation(f"Table already has an enabled stream: TableName: {description['TableName']}")
        describe_stream(description, stream, now)
    elif streams:
        del description["StreamSpecification"]
    else:
        raise validation(f"Table has no stream to disable: TableName: {description['TableName']}")


def _create_index(description: dict[str, Any], index: Mapping[str, Any], definitions: Sequence[Mapping[str, Any]]) -> str:
    name: str = index["IndexName"]
    others = [*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ())]
    if any(other["IndexName"] == name for other in others):
        raise validation(f"Attempting to create an index which already exists: {name}")
    # The definitions of the request count here, and not those that the table has already.
    given = {definition["AttributeName"]: definition["AttributeType"] for definition in definitions}
    keys = [element["AttributeName"] for element in index["KeySchema"]]
    if len(set(keys)) != len(keys) or not given.keys() >= set(keys):
        raise validation("Invalid KeySchema: Some index key attribute have no definition")
    check_roles(index["KeySchema"], is_global=True)
    known = {definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]}
    for attribute, kind in given.items():
        if known.get(attribute, kind) != kind:
            raise validation(f"{INVALID}Attribute {attribute} is defined as {known[attribute]} already and cannot become {kind}")
    check_index_units(index, on_demand=_is_on_demand(description))
    check_global_count(len(description.get("GlobalSecondaryIndexes", ())) + 1)
    check_projections([*others, index])
    description["AttributeDefinitions"] += [{"AttributeName": key, "AttributeType": given[key]} for key in keys if key not in known]
    description.setdefault("GlobalSecondaryIndexes", []).append(described_index(index, description["TableName"], is_global=True))
    return name


def _global_index(description: Mapping[str, Any], name: str) -> dict[str, Any]:
    for index in description.get("GlobalSecondaryIndexes", ()):
        if index["IndexName"] == name:
            found: dict[str, Any] = index
            return found
    raise ServiceError("ResourceNotFoundException", "Requested resource not found")


def _update_index(description: dict[str, Any], index: Mapping[str, Any], now: float) -> None:
    described = _global_index(description, index["IndexName"])
    units = index.get("ProvisionedThroughput")
    if units is not None:
        check_index_units(index, on_demand=_is_on_demand(description))
        _set_units(described, units, f"index {index['IndexName']}", now)
    describe_limits(described, index)


def _delete_index(description: dict[str, Any], name: str) -> str:
    indexes: list[dict[str, Any]] = description.get("GlobalSecondaryIndexes", [])
    indexes.remove(_global_index(description, name))
    if not indexes:
        del description["GlobalSecondaryIndexes"]
    schemas = (description, *indexes, *description.get("LocalSecondaryIndexes", ()))
    used = {element["AttributeName"] for schema in schemas for element in schema["KeySchema"]}
    description["AttributeDefinitions"] = [definition for definition in description["AttributeDefinitions"] if definition["AttributeName"] in used]
    return name
