"""Belongs here: the secondary indexes that the entities of one table need together, as the service takes and describes them. Must not be here: requests.

Source: API Reference, CreateTable and DescribeTable; Developer Guide, page "Quotas in Amazon DynamoDB", section Secondary indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surewrite.core import limits
from surewrite.core.entities import BoundSchema
from surewrite.core.schemas import BoundIndex
from surewrite.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index as all entities of a table together need it. ``held`` are the attributes beside the keys; ``None`` stands for all."""

    name: str
    is_global: bool
    keys: tuple[tuple[str, str], ...]
    held: frozenset[str] | None

    def members(self) -> dict[str, Any]:
        """The index as CreateTable takes it."""
        if self.held is None:
            projection: dict[str, Any] = {"ProjectionType": "ALL"}
        elif self.held:
            projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": sorted(self.held)}
        else:
            projection = {"ProjectionType": "KEYS_ONLY"}
        return {"IndexName": self.name, "KeySchema": key_schema([name for name, _ in self.keys]), "Projection": projection}


def key_schema(names: Sequence[str]) -> list[dict[str, str]]:
    """Key attributes as the service takes them, partition first."""
    return [{"AttributeName": name, "KeyType": "HASH" if index == 0 else "RANGE"} for index, name in enumerate(names)]


def table_indexes(table: str, schemas: Sequence[BoundSchema[Any]]) -> tuple[TableIndex, ...]:
    """The indexes that the entities declare, each once. Raises ``InvalidRequest`` where two of them contradict each other."""
    found: dict[str, TableIndex] = {}
    first: dict[str, str] = {}
    for schema in schemas:
        name = schema.entity.__name__
        for bound in schema.indexes:
            index = _table_index(schema, bound)
            other = found.get(index.name)
            if other is not None:
                index = _merged(table, first[index.name], name, other, index)
            found[index.name] = index
            first.setdefault(index.name, name)
    _check_counts(table, found.values())
    return tuple(found.values())


def _table_index(schema: BoundSchema[Any], index: BoundIndex) -> TableIndex:
    keys = tuple((key.attribute, key.template.stored) for key in index.keys)
    held = None if index.read is None else index.read - {name for name, _ in keys} - set(schema.key_names)
    return TableIndex(index.name, index.is_global, keys, held)


def _merged(table: str, first: str, second: str, one: TableIndex, other: TableIndex) -> TableIndex:
    both = f"{first} and {second} declare the index {one.name!r} of the table {table!r}"
    if one.is_global != other.is_global:
        raise InvalidRequest(f"{both}, one as global and one as local")
    if one.keys != other.keys:
        raise InvalidRequest(f"{both} with the keys {one.keys} and {other.keys}: name the same attributes by partition_attribute= and sort_attribute=")
    if one.held is None or other.held is None:
        if one.held is not other.held:
            raise InvalidRequest(f'{both}, one with projection="all" and one with less')
        return one
    return TableIndex(one.name, one.is_global, one.keys, one.held | other.held)


def _check_counts(table: str, indexes: Iterable[TableIndex]) -> None:
    of_each = [index.is_global for index in indexes]
    if of_each.count(True) > limits.GLOBAL_INDEXES:
        raise InvalidRequest(f"the entities of {table!r} declare {of_each.count(True)} global indexes, and a table has at most {limits.GLOBAL_INDEXES}")
    if of_each.count(False) > limits.LOCAL_INDEXES:
        raise InvalidRequest(f"the entities of {table!r} declare {of_each.count(False)} local indexes, and a table has at most {limits.LOCAL_INDEXES}")
    held = sum(len(index.held) for index in indexes if index.held is not None)
    if held > limits.PROJECTED_ATTRIBUTES:
        raise InvalidRequest(f"the indexes of {table!r} name {held} attributes in their projections, and a table has at most {limits.PROJECTED_ATTRIBUTES}")


def attribute_types(table: str, keys: Sequence[tuple[str, str]], indexes: Sequence[TableIndex], schemas: Sequence[BoundSchema[Any]]) -> dict[str, str]:
    """The types of all key attributes of the table and its indexes.

    Raises ``InvalidRequest`` where an attribute would have two types: the service refuses a write whose attribute has not
    the type that an index of the table gives it, also one of an entity that does not declare the index.
    """
    types = dict(keys)
    for index in indexes:
        for name, kind in index.keys:
            if types.setdefault(name, kind) != kind:
                raise InvalidRequest(f"the attribute {name!r} of the table {table!r} would be of type {types[name]} and, in the index {index.name!r}, {kind}")
    for schema in schemas:
        for field in schema.fields:
            kind = types.get(field.stored_name, field.codec.stored)
            if field.codec.stored != kind:
                raise InvalidRequest(
                    f"{schema.entity.__name__}.{field.name} is stored as {field.stored_name!r} of type {field.codec.stored}, which is a key of the table"
                    f" {table!r} or of an index of it, of type {kind}: give the field another stored_as="
                )
    return types


def index_members(indexes: Sequence[TableIndex]) -> dict[str, Any]:
    """The members of CreateTable that name the indexes."""
    members: dict[str, Any] = {}
    for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
        chosen = [index.members() for index in indexes if index.is_global == is_global]
        if chosen:
            members[member] = chosen
    return members


def require_indexes(table: str, indexes: Sequence[TableIndex], described: Mapping[str, Any]) -> None:
    """Refuse a table that lacks an index, or has one that holds less: a put of an entity read from it would drop data."""
    for index in indexes:
        member = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
        found = next((each for each in described.get(member) or () if each["IndexName"] == index.name), None)
        if found is None:
            kind = "global" if index.is_global else "local"
            hint = "add it by UpdateTable" if index.is_global else "a local index can be made with its table only"
            raise InvalidRequest(f"the table {table!r} has no {kind} index {index.name!r}: {hint}, or take it out of the entities")
        names = [element["AttributeName"] for element in sorted(found["KeySchema"], key=lambda element: element["KeyType"] != "HASH")]
        if names != [name for name, _ in index.keys]:
            raise InvalidRequest(
                f"the index {index.name!r} of the table {table!r} has the key {names}, and these entities need {[name for name, _ in index.keys]}"
            )
        projection: Mapping[str, Any] = found.get("Projection") or {}
        if projection.get("ProjectionType") == "ALL":
            continue
        missing = ["all attributes"] if index.held is None else sorted(index.held - set(projection.get("NonKeyAttributes") or ()))
        if missing:
            raise InvalidRequest(f"the index {index.name!r} of the table {table!r} does not hold {', '.join(missing)}, as these entities declare")
