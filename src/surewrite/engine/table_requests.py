"""Belongs here: the checks on CreateTable, and the description that it makes of a table. Must not be here: storage access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from surewrite.core import limits
from surewrite.engine.faults import validation
from surewrite.engine.members import INDEX, NEW_TABLE, Member, Shapes, require_map, require_none

_INVALID: Final = "One or more parameter values were invalid: "
_ARN_PREFIX: Final = "arn:aws:dynamodb:local:000000000000:table/"

_ATTRIBUTE_NAME: Final = Member("AttributeName", "string", required=True, least=1, most=limits.KEY_NAME_BYTES)
_DEFINITION: Final = Shapes("AttributeDefinition", (_ATTRIBUTE_NAME, Member("AttributeType", "string", required=True, choices=("B", "N", "S"))))
_ELEMENT: Final = Shapes("KeySchemaElement", (_ATTRIBUTE_NAME, Member("KeyType", "string", required=True, choices=("HASH", "RANGE"))))
_UNITS: Final = Shapes(
    "ProvisionedThroughput",
    (Member("ReadCapacityUnits", "integer", required=True, least=1), Member("WriteCapacityUnits", "integer", required=True, least=1)),
)
_PROJECTION: Final = Shapes(
    "Projection",
    (Member("ProjectionType", "string", choices=("ALL", "INCLUDE", "KEYS_ONLY")), Member("NonKeyAttributes", "list", least=1, most=20)),
)
_INDEX_NAME: Final = Member("IndexName", "string", required=True, least=INDEX.least, most=INDEX.most, pattern=INDEX.pattern)
_KEY_SCHEMA: Final = Member("KeySchema", "list", required=True, least=1, most=2, element="KeySchemaElement")
_INDEX_MEMBERS: Final = (_INDEX_NAME, _KEY_SCHEMA, Member("Projection", "map", required=True))
_LOCAL_INDEX: Final = Shapes("LocalSecondaryIndex", _INDEX_MEMBERS)
_GLOBAL_INDEX: Final = Shapes("GlobalSecondaryIndex", (*_INDEX_MEMBERS, Member("ProvisionedThroughput", "map")))
_STREAM: Final = Shapes(
    "StreamSpecification",
    (
        Member("StreamEnabled", "boolean", required=True),
        Member("StreamViewType", "string", choices=("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")),
    ),
)
_CREATE: Final = Shapes(
    "CreateTable",
    (
        NEW_TABLE,
        Member("AttributeDefinitions", "list", required=True),
        _KEY_SCHEMA,
        Member("BillingMode", "string", choices=("PROVISIONED", "PAY_PER_REQUEST")),
        Member("ProvisionedThroughput", "map"),
        Member("GlobalSecondaryIndexes", "list"),
        Member("LocalSecondaryIndexes", "list"),
        Member("StreamSpecification", "map"),
        Member("SSESpecification", "map"),
        Member("Tags", "list"),
        Member("TableClass", "string", choices=("STANDARD", "STANDARD_INFREQUENT_ACCESS")),
        Member("DeletionProtectionEnabled", "boolean"),
    ),
)


def described_table(body: Mapping[str, Any], table_id: str, now: float) -> dict[str, Any]:
    """Check a CreateTable request and make the table's description from it; raises the service's errors.

    The table is ACTIVE at once. API Reference, CreateTable.
    """
    _check_members(body)
    name = body["TableName"]
    elements = _plain(body["KeySchema"])
    global_indexes = _plain(body.get("GlobalSecondaryIndexes") or ())
    local_indexes = _plain(body.get("LocalSecondaryIndexes") or ())
    definitions = _plain(body["AttributeDefinitions"])
    on_demand = body.get("BillingMode") == "PAY_PER_REQUEST"
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if body.get(member) is not None and not body[member]:
            raise validation(f"{_INVALID}List of {member} is empty")
    _check_key_schemas(elements, definitions, [*global_indexes, *local_indexes])
    _check_indexes(elements, global_indexes, local_indexes)
    _check_billing(body, global_indexes, on_demand=on_demand)
    units: Mapping[str, Any] = body.get("ProvisionedThroughput") or {}
    description: dict[str, Any] = {
        "TableName": name,
        "TableArn": _ARN_PREFIX + name,
        "TableId": table_id,
        "TableStatus": "ACTIVE",
        "CreationDateTime": now,
        "KeySchema": elements,
        "AttributeDefinitions": definitions,
        "ProvisionedThroughput": _described_units(units),
        "ItemCount": 0,
        "TableSizeBytes": 0,
        "DeletionProtectionEnabled": bool(body.get("DeletionProtectionEnabled")),
    }
    if on_demand:
        description["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": now}
    if body.get("TableClass"):
        description["TableClassSummary"] = {"TableClass": body["TableClass"]}
    if global_indexes:
        description["GlobalSecondaryIndexes"] = [_described_index(index, name, is_global=True) for index in global_indexes]
    if local_indexes:
        description["LocalSecondaryIndexes"] = [_described_index(index, name, is_global=False) for index in local_indexes]
    stream: Mapping[str, Any] = body.get("StreamSpecification") or {}
    if stream.get("StreamEnabled"):
        description["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
        description["LatestStreamLabel"] = f"{now:.3f}"
        description["LatestStreamArn"] = f"{_ARN_PREFIX}{name}/stream/{now:.3f}"
    return description


def _plain(elements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in element.items() if value is not None} for element in elements]


def _described_units(units: Mapping[str, Any]) -> dict[str, Any]:
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": units.get("ReadCapacityUnits", 0), "WriteCapacityUnits": units.get("WriteCapacityUnits", 0)}


def _described_index(index: dict[str, Any], table: str, *, is_global: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "IndexName": index["IndexName"],
        "KeySchema": _plain(index["KeySchema"]),
        "Projection": {name: value for name, value in index["Projection"].items() if value is not None},
        "IndexArn": f"{_ARN_PREFIX}{table}/index/{index['IndexName']}",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
    }
    if is_global:
        described |= {"IndexStatus": "ACTIVE", "ProvisionedThroughput": _described_units(index.get("ProvisionedThroughput") or {})}
    return described


def _check_members(body: Mapping[str, Any]) -> None:
    _CREATE.check_shapes(body)
    if body.get("TableName") is None:
        raise validation("The parameter 'TableName' is required but was not present in the request")
    faults = _CREATE.faults(body)
    for member, shapes in (("AttributeDefinitions", _DEFINITION), ("KeySchema", _ELEMENT)):
        faults += _list_faults(body.get(member), shapes, member[0].lower() + member[1:])
    for member, shapes in (("GlobalSecondaryIndexes", _GLOBAL_INDEX), ("LocalSecondaryIndexes", _LOCAL_INDEX)):
        prefix = member[0].lower() + member[1:]
        faults += _list_faults(body.get(member), shapes, prefix)
        for at, index in enumerate(body.get(member) or (), start=1):
            faults += _list_faults(index.get("KeySchema"), _ELEMENT, f"{prefix}.{at}.member.keySchema")
            faults += _map_faults(index.get("Projection"), _PROJECTION, f"{prefix}.{at}.member.projection")
            faults += _map_faults(index.get("ProvisionedThroughput"), _UNITS, f"{prefix}.{at}.member.provisionedThroughput")
    faults += _map_faults(body.get("ProvisionedThroughput"), _UNITS, "provisionedThroughput")
    faults += _map_faults(body.get("StreamSpecification"), _STREAM, "streamSpecification")
    require_none(faults)


def _list_faults(elements: Sequence[object] | None, shapes: Shapes, prefix: str) -> list[str]:
    faults: list[str] = []
    for at, element in enumerate(elements or (), start=1):
        name = f"{prefix}.{at}.member"
        faults += _map_faults(require_map(element, name), shapes, name)
    return faults


def _map_faults(element: object, shapes: Shapes, prefix: str) -> list[str]:
    if element is None:
        return []
    content = require_map(element, prefix)
    shapes.check_shapes(content)
    return shapes.faults(content, f"{prefix}.")


def _check_key_schemas(elements: Sequence[Mapping[str, Any]], definitions: Sequence[Mapping[str, Any]], indexes: Sequence[Mapping[str, Any]]) -> None:
    defined = [definition["AttributeName"] for definition in definitions]
    if len(set(defined)) != len(defined):
        raise validation("Cannot specify an attribute definition more than once")
    used: set[str] = set()
    for schema in (elements, *(index["KeySchema"] for index in indexes)):
        names = [element["AttributeName"] for element in schema]
        if len(set(names)) != len(names):
            raise validation("Invalid KeySchema: Some index key attribute have no definition")
        missing = [name for name in names if name not in defined]
        if missing:
            told = f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(defined)}]"
            raise validation(f"{_INVALID}Some index key attributes are not defined in AttributeDefinitions. {told}")
        _check_roles(schema)
        used.update(names)
    if len(used) != len(defined):
        if not indexes:
            raise validation(f"{_INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
        told = f"AttributeDefinitions: [{', '.join(defined)}], keys used: [{', '.join(sorted(used))}]"
        raise validation(f"{_INVALID}Some AttributeDefinitions are not used. {told}")


def _check_roles(schema: Sequence[Mapping[str, Any]]) -> None:
    if schema[0]["KeyType"] != "HASH":
        raise validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(schema) == 2 and schema[1]["KeyType"] != "RANGE":
        raise validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def _check_indexes(elements: Sequence[Mapping[str, Any]], global_indexes: Sequence[Mapping[str, Any]], local_indexes: Sequence[Mapping[str, Any]]) -> None:
    if len(global_indexes) > limits.GLOBAL_INDEXES:
        raise validation(f"{_INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {limits.GLOBAL_INDEXES}")
    if len(local_indexes) > limits.LOCAL_INDEXES:
        raise validation(f"{_INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {limits.LOCAL_INDEXES}")
    if local_indexes and len(elements) == 1:
        raise validation(f"{_INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
    seen: set[str] = set()
    included = 0
    for index in (*global_indexes, *local_indexes):
        if index["IndexName"] in seen:
            raise validation(f"{_INVALID}Duplicate index name: {index['IndexName']}")
        seen.add(index["IndexName"])
        included += _projected_count(index["Projection"])
    if included > limits.PROJECTED_ATTRIBUTES:
        raise validation(f"{_INVALID}Too many projected attributes: the limit of {limits.PROJECTED_ATTRIBUTES} is exceeded")
    for index in local_indexes:
        if len(index["KeySchema"]) != 2:
            raise validation(f"{_INVALID}Index KeySchema does not have a range key for index: {index['IndexName']}")
        own, shared = index["KeySchema"][0]["AttributeName"], elements[0]["AttributeName"]
        if own != shared:
            told = f"{index['IndexName']}. index hash key: {own}, table hash key: {shared}"
            raise validation(f"{_INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {told}")


def _projected_count(projection: Mapping[str, Any]) -> int:
    kind, names = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise validation(f"{_INVALID}Unknown ProjectionType: null")
    if kind != "INCLUDE" and names is not None:
        raise validation(f"{_INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and names is None:
        raise validation(f"{_INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    return len(names or ())


def _check_billing(body: Mapping[str, Any], global_indexes: Sequence[Mapping[str, Any]], *, on_demand: bool) -> None:
    units = body.get("ProvisionedThroughput")
    if on_demand and units is not None:
        raise validation(f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
    if not on_demand and units is None:
        raise validation(f"{_INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
    for index in global_indexes:
        given = index.get("ProvisionedThroughput") is not None
        if on_demand and given:
            raise validation(f"{_INVALID}ProvisionedThroughput should not be specified for index: {index['IndexName']} when BillingMode is PAY_PER_REQUEST")
        if not on_demand and not given:
            raise validation(f"{_INVALID}ProvisionedThroughput is not specified for index: {index['IndexName']}")
    stream = body.get("StreamSpecification")
    if stream is not None and not stream["StreamEnabled"] and stream.get("StreamViewType") is not None:
        raise validation(f"{_INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified")
    if stream is not None and stream["StreamEnabled"] and stream.get("StreamViewType") is None:
        raise validation(f"{_INVALID}StreamViewType must be specified when StreamEnabled is true")
