"""Belongs here: the members of requests about tables, and the checks that need nothing but them. Must not be here: what members mean together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from surewrite.core import limits
from surewrite.engine.members import INDEX, TABLE, Member, Shapes, require_map

EXISTING_TABLE: Final = Member("TableName", "string", required=True, least=limits.TABLE_NAME_CHARACTERS_LEAST, most=TABLE.most, pattern=TABLE.pattern)
BILLING_MODE: Final = Member("BillingMode", "string", choices=("PROVISIONED", "PAY_PER_REQUEST"))
TABLE_CLASS: Final = Member("TableClass", "string", choices=("STANDARD", "STANDARD_INFREQUENT_ACCESS"))
KEY_SCHEMA: Final = Member("KeySchema", "list", required=True, least=1, most=2, element="KeySchemaElement")
PROVISIONED: Final = Member("ProvisionedThroughput", "map")
ON_DEMAND: Final = Member("OnDemandThroughput", "map")
WARM: Final = Member("WarmThroughput", "map")
SETTINGS: Final = (
    BILLING_MODE,
    PROVISIONED,
    ON_DEMAND,
    WARM,
    Member("StreamSpecification", "map"),
    Member("SSESpecification", "map"),
    TABLE_CLASS,
    Member("DeletionProtectionEnabled", "boolean"),
)
"""What CreateTable sets of a table, and UpdateTable changes."""

_INDEX_NAME: Final = Member("IndexName", "string", required=True, least=INDEX.least, most=INDEX.most, pattern=INDEX.pattern)
_GLOBAL_KEY_SCHEMA: Final = Member("KeySchema", "list", required=True, least=1, most=2 * limits.INDEX_KEY_ATTRIBUTES, element="KeySchemaElement")
_PROJECTED: Final = Member("Projection", "map", required=True)
LOCAL_INDEX: Final = Shapes("LocalSecondaryIndex", (_INDEX_NAME, KEY_SCHEMA, _PROJECTED))
GLOBAL_INDEX: Final = Shapes("GlobalSecondaryIndex", (_INDEX_NAME, _GLOBAL_KEY_SCHEMA, _PROJECTED, PROVISIONED, ON_DEMAND, WARM))
UPDATED_INDEX: Final = Shapes("UpdateGlobalSecondaryIndexAction", (_INDEX_NAME, PROVISIONED, ON_DEMAND, WARM))
DELETED_INDEX: Final = Shapes("DeleteGlobalSecondaryIndexAction", (_INDEX_NAME,))

_ATTRIBUTE_NAME: Final = Member("AttributeName", "string", required=True, least=1, most=limits.KEY_NAME_BYTES)
_DEFINITION: Final = Shapes("AttributeDefinition", (_ATTRIBUTE_NAME, Member("AttributeType", "string", required=True, choices=("B", "N", "S"))))
_ELEMENT: Final = Shapes("KeySchemaElement", (_ATTRIBUTE_NAME, Member("KeyType", "string", required=True, choices=("HASH", "RANGE"))))
_PROJECTION: Final = Shapes(
    "Projection",
    (Member("ProjectionType", "string", choices=("ALL", "INCLUDE", "KEYS_ONLY")), Member("NonKeyAttributes", "list", least=1, most=20)),
)
_STRUCTURES: Final = {
    "ProvisionedThroughput": Shapes(
        "ProvisionedThroughput",
        (Member("ReadCapacityUnits", "integer", required=True, least=1), Member("WriteCapacityUnits", "integer", required=True, least=1)),
    ),
    "OnDemandThroughput": Shapes("OnDemandThroughput", (Member("MaxReadRequestUnits", "integer"), Member("MaxWriteRequestUnits", "integer"))),
    "WarmThroughput": Shapes("WarmThroughput", (Member("ReadUnitsPerSecond", "integer", least=1), Member("WriteUnitsPerSecond", "integer", least=1))),
    "StreamSpecification": Shapes(
        "StreamSpecification",
        (
            Member("StreamEnabled", "boolean", required=True),
            Member("StreamViewType", "string", choices=("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")),
        ),
    ),
    "SSESpecification": Shapes(
        "SSESpecification",
        (Member("Enabled", "boolean"), Member("SSEType", "string", choices=("AES256", "KMS")), Member("KMSMasterKeyId", "string")),
    ),
}
_TAG: Final = Shapes("Tag", (Member("Key", "string", required=True, least=1, most=128), Member("Value", "string", required=True, most=256)))


def label(member: str) -> str:
    """A member's name as the places of messages write it."""
    return member[0].lower() + member[1:]


def setting_faults(content: Mapping[str, Any], prefix: str = "") -> list[str]:
    """What the constraints say of the structures that set something of a table or of an index."""
    return [fault for member, shapes in _STRUCTURES.items() for fault in map_faults(content.get(member), shapes, f"{prefix}{label(member)}")]


def key_faults(body: Mapping[str, Any]) -> list[str]:
    """What they say of a table's attribute definitions and key schema."""
    return list_faults(body.get("AttributeDefinitions"), _DEFINITION, "attributeDefinitions") + list_faults(body.get("KeySchema"), _ELEMENT, "keySchema")


def index_faults(index: object, shapes: Shapes, prefix: str) -> list[str]:
    """What they say of one index, or of one action on it."""
    faults = map_faults(index, shapes, prefix)
    content = require_map(index, prefix)
    faults += list_faults(content.get("KeySchema"), _ELEMENT, f"{prefix}.keySchema")
    faults += map_faults(content.get("Projection"), _PROJECTION, f"{prefix}.projection")
    return faults + setting_faults(content, f"{prefix}.")


def tag_faults(tags: Sequence[object] | None) -> list[str]:
    """What they say of tags."""
    return list_faults(tags, _TAG, "tags")


def list_faults(elements: Sequence[object] | None, shapes: Shapes, prefix: str) -> list[str]:
    """What they say of each structure of a list."""
    faults: list[str] = []
    for at, element in enumerate(elements or (), start=1):
        name = f"{prefix}.{at}.member"
        faults += map_faults(require_map(element, name), shapes, name)
    return faults


def map_faults(element: object, shapes: Shapes, prefix: str) -> list[str]:
    """What they say of one structure, which may be absent."""
    if element is None:
        return []
    content = require_map(element, prefix)
    shapes.check_shapes(content)
    return shapes.faults(content, f"{prefix}.")
