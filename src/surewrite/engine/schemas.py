"""Belongs here: what the rules need to know of a table: keys, indexes, stream, time to live. Must not be here: operations, storage access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from surewrite.core.values import Item, key_bytes

KeyType = Literal["S", "N", "B"]
ProjectionType = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """One attribute of a key: its name and the type that it must have."""

    name: str
    type: KeyType


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The attributes of a key: the partition key, and the sort key where there is one.

    Either key of a global index may be of several attributes; those after the first are in ``more_partitions`` and ``more_sorts``.
    """

    partition: KeyAttribute
    sort: KeyAttribute | None = None
    more_partitions: tuple[KeyAttribute, ...] = ()
    more_sorts: tuple[KeyAttribute, ...] = ()
    partitions: tuple[KeyAttribute, ...] = field(init=False, repr=False, compare=False)
    """The attributes of the partition key."""
    sorts: tuple[KeyAttribute, ...] = field(init=False, repr=False, compare=False)
    """The attributes of the sort key, in the order in which they sort."""
    attributes: tuple[KeyAttribute, ...] = field(init=False, repr=False, compare=False)
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Put together once, because every request asks.
        partitions = (self.partition, *self.more_partitions)
        sorts = () if self.sort is None else (self.sort, *self.more_sorts)
        object.__setattr__(self, "partitions", partitions)
        object.__setattr__(self, "sorts", sorts)
        object.__setattr__(self, "attributes", (*partitions, *sorts))
        object.__setattr__(self, "names", tuple(attribute.name for attribute in (*partitions, *sorts)))

    def place(self, item: Item) -> tuple[bytes, bytes]:
        """Partition and sort bytes of an item that has the key's attributes in their types; no sort key is the empty bytes. For keys of tables."""
        return key_bytes(item[self.partition.name]), b"" if self.sort is None else key_bytes(item[self.sort.name])

    def of(self, item: Item) -> Item:
        """The key's own attributes of an item, sharing their values."""
        return {name: item[name] for name in self.names}


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index. ``space`` is where its entries are stored."""

    name: str
    is_global: bool
    key: KeySchema
    projection: ProjectionType
    included: frozenset[str]
    space: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table as its definition describes it, indexes by name. ``space`` is where its items are stored; a table that is made anew gets another."""

    name: str
    space: str
    key: KeySchema
    indexes: tuple[Index, ...]
    stream: StreamView | None
    time_to_live: str | None
    tags: Mapping[str, str]
    description: dict[str, Any]

    def index(self, name: str) -> Index | None:
        return next((index for index in self.indexes if index.name == name), None)

    @property
    def has_local_indexes(self) -> bool:
        return any(not index.is_global for index in self.indexes)


def table_of(text: str) -> Table:
    """The table that a definition's text describes; ``definition_text`` makes that text."""
    content = json.loads(text)
    description = content["description"]
    types: dict[str, KeyType] = {definition["AttributeName"]: definition["AttributeType"] for definition in description["AttributeDefinitions"]}
    indexes = [
        Index(
            name=index["IndexName"],
            is_global=is_global,
            key=_key_schema(index["KeySchema"], types),
            projection=index["Projection"]["ProjectionType"],
            included=frozenset(index["Projection"].get("NonKeyAttributes", ())),
            space=f"{description['TableId']}/{index['IndexName']}",
        )
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False))
        for index in description.get(member, ())
    ]
    return Table(
        name=description["TableName"],
        space=description["TableId"],
        key=_key_schema(description["KeySchema"], types),
        # Measured: of several indexes that refuse an item the service tells the first one by name.
        indexes=tuple(sorted(indexes, key=attrgetter("name"))),
        stream=description.get("StreamSpecification", {}).get("StreamViewType"),
        time_to_live=content["time_to_live"],
        tags=content["tags"],
        description=description,
    )


def definition_text(description: dict[str, Any], time_to_live: str | None, tags: Mapping[str, str]) -> str:
    """What the store keeps of a table: its description as DescribeTable tells it, the attribute that expires items, and its tags."""
    return json.dumps({"description": description, "time_to_live": time_to_live, "tags": dict(tags)})


def _key_schema(elements: list[dict[str, str]], types: dict[str, KeyType]) -> KeySchema:
    partitions, sorts = (
        [KeyAttribute(element["AttributeName"], types[element["AttributeName"]]) for element in elements if element["KeyType"] == role]
        for role in ("HASH", "RANGE")
    )
    return KeySchema(partitions[0], sorts[0] if sorts else None, tuple(partitions[1:]), tuple(sorts[1:]))
