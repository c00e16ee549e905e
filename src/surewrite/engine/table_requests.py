"""Belongs here: the checks on CreateTable, and the description that it makes of a table. Must not be here: storage access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from surewrite.core import limits
from surewrite.engine.faults import validation
from surewrite.engine.members import NEW_TABLE, Member, Shapes, require_none
from surewrite.engine.table_members import GLOBAL_INDEX, KEY_SCHEMA, LOCAL_INDEX, SETTINGS, index_faults, key_faults, label, setting_faults, tag_faults
from surewrite.engine.validation import INVALID

_ARN_PREFIX: Final = "arn:aws:dynamodb:local:000000000000:table/"
_ON_DEMAND_READS: Final = 12_000
_ON_DEMAND_WRITES: Final = 4_000
_KEY_ARN_PREFIX: Final = "arn:aws:kms:local:000000000000:key/"

_CREATE: Final = Shapes(
    "CreateTable",
    (
        NEW_TABLE,
        Member("AttributeDefinitions", "list", required=True),
        KEY_SCHEMA,
        Member("GlobalSecondaryIndexes", "list"),
        Member("LocalSecondaryIndexes", "list"),
        *SETTINGS,
        Member("Tags", "list"),
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
            raise validation(f"{INVALID}List of {member} is empty")
    _check_key_schemas(elements, definitions, global_indexes, local_indexes)
    _check_indexes(elements, global_indexes, local_indexes)
    check_units(body.get("ProvisionedThroughput"), on_demand=on_demand)
    for index in global_indexes:
        check_index_units(index, on_demand=on_demand)
    units: Mapping[str, Any] = body.get("ProvisionedThroughput") or {}
    description: dict[str, Any] = {
        "TableName": name,
        "TableArn": _ARN_PREFIX + name,
        "TableId": table_id,
        "TableStatus": "ACTIVE",
        "CreationDateTime": now,
        "KeySchema": elements,
        "AttributeDefinitions": definitions,
        "ProvisionedThroughput": described_units(units),
        "WarmThroughput": _described_readiness(units),
        "ItemCount": 0,
        "TableSizeBytes": 0,
        "DeletionProtectionEnabled": bool(body.get("DeletionProtectionEnabled")),
    }
    if on_demand:
        description["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": now}
    if body.get("TableClass"):
        description["TableClassSummary"] = {"TableClass": body["TableClass"]}
    if global_indexes:
        description["GlobalSecondaryIndexes"] = [described_index(index, name, is_global=True) for index in global_indexes]
    if local_indexes:
        description["LocalSecondaryIndexes"] = [described_index(index, name, is_global=False) for index in local_indexes]
    stream: Mapping[str, Any] = body.get("StreamSpecification") or {}
    if stream and not stream["StreamEnabled"] and stream.get("StreamViewType") is not None:
        raise validation(f"{INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified")
    if stream.get("StreamEnabled"):
        describe_stream(description, stream, now)
    describe_limits(description, body)
    describe_encryption(description, body.get("SSESpecification"))
    return description


def describe_stream(description: dict[str, Any], stream: Mapping[str, Any], now: float) -> None:
    """Enter a stream that begins now into a table's description; raises where its view is not given."""
    if stream.get("StreamViewType") is None:
        raise validation(f"{INVALID}StreamViewType must be specified when StreamEnabled is true")
    began = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    description["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream["StreamViewType"]}
    description["LatestStreamLabel"] = began
    description["LatestStreamArn"] = f"{description['TableArn']}/stream/{began}"


def describe_limits(described: dict[str, Any], settings: Mapping[str, Any]) -> None:
    """Enter the limits and the readiness that are set of a table or an index into its description; -1 takes a limit away."""
    for member in ("OnDemandThroughput", "WarmThroughput"):
        given = settings.get(member)
        if given is not None:
            known = {**described.get(member, {}), **{name: value for name, value in given.items() if value is not None}}
            described[member] = {name: value for name, value in known.items() if value != -1}
            if not described[member]:
                del described[member]


def describe_encryption(description: dict[str, Any], encryption: Mapping[str, Any] | None) -> None:
    """Enter what is set of the key that encrypts a table into its description. The engine encrypts nothing."""
    if encryption is None:
        return
    if not encryption.get("Enabled"):
        description.pop("SSEDescription", None)
        return
    key: str = encryption.get("KMSMasterKeyId") or description["TableId"]
    description["SSEDescription"] = {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key if key.startswith("arn:") else _KEY_ARN_PREFIX + key}


def _plain(elements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in element.items() if value is not None} for element in elements]


def described_units(units: Mapping[str, Any]) -> dict[str, Any]:
    """Provisioned units as descriptions hold them; zero where there are none."""
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": units.get("ReadCapacityUnits", 0), "WriteCapacityUnits": units.get("WriteCapacityUnits", 0)}


def _described_readiness(units: Mapping[str, Any]) -> dict[str, Any]:
    """What a table or index is ready for at once: its provisioned units, or what a new one on demand takes. Developer Guide, page "Warm throughput"."""
    return {
        "ReadUnitsPerSecond": units.get("ReadCapacityUnits", _ON_DEMAND_READS),
        "WriteUnitsPerSecond": units.get("WriteCapacityUnits", _ON_DEMAND_WRITES),
        "Status": "ACTIVE",
    }


def described_index(index: Mapping[str, Any], table: str, *, is_global: bool) -> dict[str, Any]:
    """An index as a table's description holds it."""
    described: dict[str, Any] = {
        "IndexName": index["IndexName"],
        "KeySchema": _plain(index["KeySchema"]),
        "Projection": {name: value for name, value in index["Projection"].items() if value is not None},
        "IndexArn": f"{_ARN_PREFIX}{table}/index/{index['IndexName']}",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
    }
    if is_global:
        units: Mapping[str, Any] = index.get("ProvisionedThroughput") or {}
        described |= {"IndexStatus": "ACTIVE", "ProvisionedThroughput": described_units(units), "WarmThroughput": _described_readiness(units)}
        describe_limits(described, index)
    return described


def _check_members(body: Mapping[str, Any]) -> None:
    _CREATE.check_shapes(body)
    if body.get("TableName") is None:
        raise validation("The parameter 'TableName' is required but was not present in the request")
    faults = _CREATE.faults(body) + key_faults(body)
    for member, shapes in (("GlobalSecondaryIndexes", GLOBAL_INDEX), ("LocalSecondaryIndexes", LOCAL_INDEX)):
        for at, index in enumerate(body.get(member) or (), start=1):
            faults += index_faults(index, shapes, f"{label(member)}.{at}.member")
    require_none(faults + setting_faults(body) + tag_faults(body.get("Tags")))


def _check_key_schemas(
    elements: Sequence[Mapping[str, Any]],
    definitions: Sequence[Mapping[str, Any]],
    global_indexes: Sequence[Mapping[str, Any]],
    local_indexes: Sequence[Mapping[str, Any]],
) -> None:
    schemas = [(elements, False), *((index["KeySchema"], True) for index in global_indexes), *((index["KeySchema"], False) for index in local_indexes)]
    defined = [definition["AttributeName"] for definition in definitions]
    if len(set(defined)) != len(defined):
        raise validation("Cannot specify an attribute definition more than once")
    used: set[str] = set()
    for schema, is_global in schemas:
        names = [element["AttributeName"] for element in schema]
        if len(set(names)) != len(names):
            raise validation("Invalid KeySchema: Some index key attribute have no definition")
        missing = [name for name in names if name not in defined]
        if missing:
            told = f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(defined)}]"
            raise validation(f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. {told}")
        check_roles(schema, is_global=is_global)
        used.update(names)
    if len(used) != len(defined):
        if len(schemas) == 1:
            raise validation(f"{INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
        told = f"AttributeDefinitions: [{', '.join(defined)}], keys used: [{', '.join(sorted(used))}]"
        raise validation(f"{INVALID}Some AttributeDefinitions are not used. {told}")


def check_roles(schema: Sequence[Mapping[str, Any]], *, is_global: bool) -> None:
    """Refuse a key schema whose elements do not have their roles. In a global index each role may have several elements."""
    roles = [element["KeyType"] for element in schema]
    if roles[0] != "HASH":
        raise validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if not is_global:
        if len(roles) == 2 and roles[1] != "RANGE":
            raise validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
        return
    if roles != sorted(roles):
        raise validation("Invalid KeySchema: All HASH KeySchemaElements come before those of the RANGE key type")
    for role in ("HASH", "RANGE"):
        if roles.count(role) > limits.INDEX_KEY_ATTRIBUTES:
            raise validation(f"Invalid KeySchema: More than {limits.INDEX_KEY_ATTRIBUTES} KeySchemaElements are of the {role} key type")


def _check_indexes(elements: Sequence[Mapping[str, Any]], global_indexes: Sequence[Mapping[str, Any]], local_indexes: Sequence[Mapping[str, Any]]) -> None:
    check_global_count(len(global_indexes))
    if len(local_indexes) > limits.LOCAL_INDEXES:
        raise validation(f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {limits.LOCAL_INDEXES}")
    if local_indexes and len(elements) == 1:
        raise validation(f"{INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
    seen: set[str] = set()
    for index in (*global_indexes, *local_indexes):
        if index["IndexName"] in seen:
            raise validation(f"{INVALID}Duplicate index name: {index['IndexName']}")
        seen.add(index["IndexName"])
    check_projections((*global_indexes, *local_indexes))
    for index in local_indexes:
        if len(index["KeySchema"]) != 2:
            raise validation(f"{INVALID}Index KeySchema does not have a range key for index: {index['IndexName']}")
        own, shared = index["KeySchema"][0]["AttributeName"], elements[0]["AttributeName"]
        if own != shared:
            told = f"{index['IndexName']}. index hash key: {own}, table hash key: {shared}"
            raise validation(f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {told}")


def _projected_count(projection: Mapping[str, Any]) -> int:
    kind, names = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise validation(f"{INVALID}Unknown ProjectionType: null")
    if kind != "INCLUDE" and names is not None:
        raise validation(f"{INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and names is None:
        raise validation(f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    return len(names or ())


def check_global_count(count: int) -> None:
    """Refuse more global indexes than a table may have."""
    if count > limits.GLOBAL_INDEXES:
        raise validation(f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {limits.GLOBAL_INDEXES}")


def check_projections(indexes: Iterable[Mapping[str, Any]]) -> None:
    """Refuse projections of all indexes of a table that contradict themselves or are too large together."""
    if sum(_projected_count(index["Projection"]) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        raise validation(f"{INVALID}Too many projected attributes: the limit of {limits.PROJECTED_ATTRIBUTES} is exceeded")


def check_units(units: object, *, on_demand: bool) -> None:
    """Refuse provisioned units of a table that its billing mode does not have, or their lack."""
    if on_demand and units is not None:
        raise validation(f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
    if not on_demand and units is None:
        raise validation(f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")


def check_index_units(index: Mapping[str, Any], *, on_demand: bool) -> None:
    """The same for a global index."""
    given = index.get("ProvisionedThroughput") is not None
    if on_demand and given:
        raise validation(f"{INVALID}ProvisionedThroughput should not be specified for index: {index['IndexName']} when BillingMode is PAY_PER_REQUEST")
    if not on_demand and not given:
        raise validation(f"{INVALID}ProvisionedThroughput is not specified for index: {index['IndexName']}")
