"""Belongs here: one page of a query or scan: where it starts and ends, what it holds, what it is charged. Must not be here: conditions on keys, segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from surewrite.core import limits
from surewrite.core.values import Item, item_size
from surewrite.engine.capacity import Charge, read_units, wanted_capacity
from surewrite.engine.context import Context, Place
from surewrite.engine.evaluator import holds
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.indexes import entry_place
from surewrite.engine.item_operations import shown
from surewrite.engine.key_validation import check_key_content
from surewrite.engine.legacy_parameters import ATTRIBUTES_TO_GET, CONDITIONAL_OPERATOR
from surewrite.engine.members import CAPACITY, CONSISTENT, INDEX, NAMES, TABLE, VALUES, Member, expression
from surewrite.engine.schemas import Index, KeyAttribute, KeySchema, Table
from surewrite.engine.stores.store import Session
from surewrite.engine.syntax import ConditionNode, DocumentPath, ProjectionNode
from surewrite.engine.validation import INVALID, check_item

Selection = Literal["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"]

READ_MEMBERS: Final = (
    TABLE,
    INDEX,
    Member("Select", "string", choices=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")),
    Member("Limit", "integer", least=1),
    CONSISTENT,
    Member("ExclusiveStartKey", "map"),
    CAPACITY,
    expression("FilterExpression"),
    expression("ProjectionExpression"),
    NAMES,
    VALUES,
    ATTRIBUTES_TO_GET,
    CONDITIONAL_OPERATOR,
)
"""The members that Query and Scan share."""

_BAD_START: Final = "The provided starting key is invalid"


@dataclass(frozen=True, slots=True)
class Source:
    """What a query or scan walks along: a table, or one of its indexes."""

    table: Table
    index: Index | None

    @property
    def space(self) -> str:
        return self.table.space if self.index is None else self.index.space

    @property
    def key(self) -> KeySchema:
        return self.table.key if self.index is None else self.index.key

    def place(self, item: Item) -> Place:
        return self.table.key.place(item) if self.index is None else entry_place(self.table, self.index, item)

    def resume_key(self, item: Item) -> Item:
        """What LastEvaluatedKey holds of the last item evaluated."""
        return {name: dict(item[name]) for name in self._resume_names()}

    def check_start(self, start: Item, detail: str | None = None) -> None:
        """Refuse an ExclusiveStartKey that has not exactly the attributes of the keys, in their types; ``detail`` is what the error then adds."""
        expected: dict[str, KeyAttribute] = {attribute.name: attribute for schema in (self.table.key, self.key) for attribute in schema.attributes}
        if start.keys() != expected.keys() or any(attribute.type not in start[name] for name, attribute in expected.items()):
            raise bad_start(detail)
        check_key_content(start, self.table.key)

    def _resume_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.table.key.names, *self.key.names)))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a request wants of each item that a page evaluates."""

    selection: Selection
    filter: ConditionNode | None
    projection: ProjectionNode | None


def read_start(body: Mapping[str, Any]) -> Item | None:
    """The ExclusiveStartKey with its values checked, or None."""
    start = body.get("ExclusiveStartKey")
    return None if start is None else check_item(start)


def find_source(context: Context, session: Session, body: Mapping[str, Any], table_name: str) -> Source:
    """The table or index that a request names; raises what the service says where there is none, or of a consistent read on a global index."""
    table = context.catalogue.table(session, table_name)
    name = body.get("IndexName")
    if name is None:
        return Source(table, None)
    index = table.index(name)
    if index is None:
        raise validation(f"The table does not have the specified index: {name}")
    if index.is_global and body.get("ConsistentRead"):
        raise validation("Consistent reads are not supported on global secondary indexes")
    return Source(table, index)


def read_selection(body: Mapping[str, Any]) -> Selection:
    """The Select of a request, or the one that its other members imply; raises where they contradict it."""
    selection: Selection | None = body.get("Select")
    member = "ProjectionExpression" if body.get("ProjectionExpression") is not None else "AttributesToGet"
    projected = body.get(member) is not None
    if selection is None:
        return "SPECIFIC_ATTRIBUTES" if projected else "ALL_PROJECTED_ATTRIBUTES" if body.get("IndexName") is not None else "ALL_ATTRIBUTES"
    match selection:
        case "ALL_ATTRIBUTES" if projected:
            raise validation(f"Cannot specify the {member} when choosing to get ALL_ATTRIBUTES")
        case "COUNT" if projected:
            raise validation(f"Cannot specify the {member} when choosing to get only the Count")
        case "SPECIFIC_ATTRIBUTES" if not projected:
            raise validation("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
        case "ALL_PROJECTED_ATTRIBUTES" if body.get("IndexName") is None:
            raise validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
        case "ALL_PROJECTED_ATTRIBUTES" if projected:
            raise validation(f"Cannot specify the {member} when choosing to get ALL_PROJECTED_ATTRIBUTES")
        case _:
            return selection


def check_selection(source: Source, reading: Reading) -> None:
    """Refuse to ask a global index for what it does not hold: whole items, or attributes to project or to filter by."""
    index = source.index
    if index is None or not index.is_global or index.projection == "ALL":
        return
    if reading.selection == "ALL_ATTRIBUTES":
        raise validation(f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} because its projection type is not ALL")
    missing = _not_held(source.table, index, reading.projection.paths if reading.projection is not None else ())
    if missing:
        raise validation(f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]")
    missing = _not_held(source.table, index, reading.filter.paths if reading.filter is not None else ())
    if missing:
        raise validation(f"{INVALID}Secondary index {index.name} does not project one or more filter attributes: [{', '.join(missing)}]")


def read_page(session: Session, source: Source, reading: Reading, rows: Iterator[Item], body: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate rows until the limit, 1 MB or their end, and answer as Query and Scan do."""
    limit: int | None = body.get("Limit")
    fetches = _needs_base_item(source, reading)
    consistent = bool(body.get("ConsistentRead"))
    charge = Charge(source.table)
    items: list[Item] = []
    count = scanned = size = 0
    last: Item | None = None
    for row in rows:
        scanned += 1
        size += item_size(row)
        item = row
        if fetches:
            item = session.get(source.table.space, *source.table.key.place(row)) or row
            charge.units += read_units(item_size(item), consistent=consistent)
        if reading.filter is None or holds(reading.filter, item):
            count += 1
            if reading.selection != "COUNT":
                items.append(shown(item, reading.projection))
        if scanned == limit or size > limits.PAGE_BYTES:
            last = row
            break
    answer: dict[str, Any] = {"Count": count, "ScannedCount": scanned}
    if reading.selection != "COUNT":
        answer["Items"] = items
    if last is not None:
        answer["LastEvaluatedKey"] = source.resume_key(last)
    wanted = wanted_capacity(body)
    if wanted is not None:
        units = read_units(size, consistent=consistent)
        if source.index is None:
            charge.units += units
        else:
            charge.add_index(source.index, units)
        answer["ConsumedCapacity"] = charge.told(wanted)
    return answer


def bad_start(detail: str | None) -> ServiceError:
    """The error of a starting key that does not fit the request."""
    return validation(_BAD_START if detail is None else f"{_BAD_START}: {detail}")


def _needs_base_item(source: Source, reading: Reading) -> bool:
    """Whether a local index lacks an attribute that is asked for, so that the table is read too. Developer Guide, page "Local secondary indexes"."""
    index = source.index
    if index is None or index.is_global or index.projection == "ALL":
        return False
    if reading.selection == "ALL_ATTRIBUTES":
        return True
    paths = (reading.projection.paths if reading.projection is not None else ()) + (reading.filter.paths if reading.filter is not None else ())
    return bool(_not_held(source.table, index, paths))


def _not_held(table: Table, index: Index, paths: Iterable[DocumentPath]) -> list[str]:
    """The attributes that paths begin with and an index does not hold."""
    held = {*table.key.names, *index.key.names, *index.included}
    return [name for name in dict.fromkeys(str(path.parts[0]) for path in paths) if name not in held]
