"""Belongs here: BatchGetItem and BatchWriteItem. Must not be here: transactions, the steps of one write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.values import Item, item_size
from surewrite.engine.capacity import Charges, collection_metrics, read_units, wanted_capacity
from surewrite.engine.context import Context, Place
from surewrite.engine.faults import ServiceError, serialization, validation
from surewrite.engine.item_operations import read_projection, shown
from surewrite.engine.key_validation import KEY_MISMATCH, check_key, check_key_paths
from surewrite.engine.legacy_parameters import ATTRIBUTES_TO_GET, require_one_style
from surewrite.engine.members import (
    CAPACITY,
    COLLECTION_METRICS,
    CONSISTENT,
    NAMES,
    Member,
    Shapes,
    broken,
    expression,
    require_map,
    require_none,
    table_name,
)
from surewrite.engine.schemas import Table
from surewrite.engine.streams import Change
from surewrite.engine.syntax import ProjectionNode
from surewrite.engine.validation import EMPTY_VALUE, SEVERAL_TYPES, check_item
from surewrite.engine.writes import WriteAction, check_against_schema, check_content, check_shape, make

_DUPLICATES: Final = "Provided list of item keys contains duplicates"

_ITEMS: Final = Member("RequestItems", "map", required=True)
_GET_REQUEST: Final = Shapes("BatchGetItem", (_ITEMS, CAPACITY))
_WRITE_REQUEST: Final = Shapes("BatchWriteItem", (_ITEMS, CAPACITY, COLLECTION_METRICS))
_KEYS: Final = Shapes(
    "KeysAndAttributes",
    (Member("Keys", "list", required=True, least=1, most=limits.BATCH_KEYS), CONSISTENT, expression("ProjectionExpression"), NAMES, ATTRIBUTES_TO_GET),
)
_ENTRY: Final = Shapes("WriteRequest", (Member("PutRequest", "map"), Member("DeleteRequest", "map")))
_PUT: Final = Shapes("PutRequest", (Member("Item", "map", required=True),))
_DELETE: Final = Shapes("DeleteRequest", (Member("Key", "map", required=True),))


@dataclass(frozen=True, slots=True)
class _KeyRead:
    """The keys asked of one table, as written and as checked."""

    reference: str
    asked: Mapping[str, Any]
    keys: tuple[Item, ...]
    projection: ProjectionNode | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One write of a batch: as asked, and as an action."""

    reference: str
    asked: Mapping[str, Any]
    action: WriteAction


def batch_get_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """BatchGetItem: each item read on its own; what would exceed 16 MB is left for another request."""
    reads = _read_keys(body)
    charges = Charges()
    responses: dict[str, list[Item]] = {}
    unprocessed: dict[str, dict[str, Any]] = {}
    room = limits.BATCH_BYTES
    with context.store.session(write=False) as session:
        tables = [context.catalogue.table(session, table_name(read.reference)) for read in reads]
        for read, table in zip(reads, tables, strict=True):
            _check_keys(read, table)
        for read, table in zip(reads, tables, strict=True):
            found = responses.setdefault(read.reference, [])
            for at, key in enumerate(read.keys):
                item = session.get(table.space, *table.key.place(key))
                size = item_size(item) if item is not None else 0
                room -= size
                if room < 0:
                    unprocessed[read.reference] = {**read.asked, "Keys": list(read.asked["Keys"][at:])}
                    break
                charges.of(table).units += read_units(size, consistent=bool(read.asked.get("ConsistentRead")))
                if item is not None:
                    found.append(shown(item, read.projection))
    answer: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    wanted = wanted_capacity(body)
    if wanted is not None:
        answer["ConsumedCapacity"] = charges.told(wanted)
    return answer


def batch_write_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """BatchWriteItem: puts and deletes without conditions. An entry on an item that a transaction holds is left unprocessed."""
    entries = _read_entries(body)
    changes: list[Change] = []
    unprocessed: dict[str, list[Mapping[str, Any]]] = {}
    with context.store.session(write=True) as session:
        tables = [context.catalogue.table(session, entry.action.table) for entry in entries]
        places = _entry_places(entries, tables)
        for entry, table, place in zip(entries, tables, places, strict=True):
            if context.locks.is_locked(table, place):
                unprocessed.setdefault(entry.reference, []).append(dict(entry.asked))
            else:
                changes.append(make(entry.action, table, place, session.get(table.space, *place)).change)
        context.apply(session, changes)
    answer: dict[str, Any] = {"UnprocessedItems": unprocessed}
    wanted = wanted_capacity(body)
    if wanted is not None:
        charges = Charges()
        for change in changes:
            charges.of(change.table).add_write(change)
        answer["ConsumedCapacity"] = charges.told(wanted)
    for table, metrics in collection_metrics(body, changes):
        answer.setdefault("ItemCollectionMetrics", {}).setdefault(table.name, []).append(metrics)
    return answer


def _read_keys(body: Mapping[str, Any]) -> list[_KeyRead]:
    _GET_REQUEST.check(body)
    _require_some(body["RequestItems"], "BatchGetItem")
    faults: list[str] = []
    for reference, asked in body["RequestItems"].items():
        _KEYS.check_shapes(require_map(asked, "an element of RequestItems"))
        faults += _KEYS.faults(asked, f"requestItems.{reference}.member.")
    require_none(faults)
    if sum(len(asked["Keys"]) for asked in body["RequestItems"].values()) > limits.BATCH_KEYS:
        raise validation("Too many items requested for the BatchGetItem call")
    # Both kinds of projection must not be mixed even between tables.
    require_one_style({member: asked[member] for asked in body["RequestItems"].values() for member in asked}, ("AttributesToGet",), ("ProjectionExpression",))
    reads: list[_KeyRead] = []
    for reference, asked in body["RequestItems"].items():
        keys = tuple(check_item(require_map(key, "a key")) for key in asked["Keys"])
        # The service compares these keys as they are written, so 1000 and 1e3 pass for two.
        if len({json.dumps(key, sort_keys=True, default=dict) for key in asked["Keys"]}) < len(keys):
            raise validation(_DUPLICATES)
        reads.append(_KeyRead(reference, asked, keys, read_projection(asked)))
    return reads


def _check_keys(read: _KeyRead, table: Table) -> None:
    for key in read.keys:
        check_key(key, table.key)
    if read.projection is not None:
        check_key_paths(read.projection.paths, table.key, table.indexes)


def _read_entries(body: Mapping[str, Any]) -> list[_Entry]:
    _WRITE_REQUEST.check(body)
    _require_some(body["RequestItems"], "BatchWriteItem")
    listed: list[Any] = list(body["RequestItems"].values())
    if not all(isinstance(entries, (list, tuple)) for entries in listed):
        raise serialization("Unexpected field type")
    if not all(1 <= len(entries) <= limits.BATCH_WRITES for entries in listed):
        bounds = f"[Member must have length less than or equal to {limits.BATCH_WRITES}, Member must have length greater than or equal to 1]"
        require_none(broken(body["RequestItems"], "requestItems", [f"Map value must satisfy constraint: {bounds}"]))
    if sum(map(len, listed)) > limits.BATCH_WRITES:
        raise validation("Too many items requested for the BatchWriteItem call")
    faults: list[str] = []
    for reference, entries in body["RequestItems"].items():
        for at, entry in enumerate(entries, start=1):
            faults += _entry_faults(entry, f"requestItems.{reference}.member.{at}.member")
    require_none(faults)
    return [_read_entry(reference, entry) for reference, entries in body["RequestItems"].items() for entry in entries]


def _entry_faults(entry: object, prefix: str) -> list[str]:
    asked = require_map(entry, "a write request")
    _ENTRY.check_shapes(asked)
    faults: list[str] = []
    for member, shapes in (("PutRequest", _PUT), ("DeleteRequest", _DELETE)):
        request = asked.get(member)
        if request is not None:
            shapes.check_shapes(request)
            faults += shapes.faults(request, f"{prefix}.{member[0].lower()}{member[1:]}.")
    return faults


def _read_entry(reference: str, entry: Mapping[str, Any]) -> _Entry:
    put: Mapping[str, Any] | None = entry.get("PutRequest")
    delete: Mapping[str, Any] | None = entry.get("DeleteRequest")
    if put is not None and delete is None:
        action = WriteAction("Put", table_name(reference), check_item(put["Item"]), None, None, shows_refusing_item=False)
    elif delete is not None and put is None:
        action = WriteAction("Delete", table_name(reference), check_item(delete["Key"]), None, None, shows_refusing_item=False)
    else:
        # The service speaks of a write request as of an attribute value.
        raise validation(EMPTY_VALUE if put is None else SEVERAL_TYPES)
    return _Entry(reference, entry, action)


def _entry_places(entries: Sequence[_Entry], tables: Sequence[Table]) -> list[Place]:
    places: list[Place] = []
    seen: set[tuple[str, Place]] = set()
    for entry, table in zip(entries, tables, strict=True):
        try:
            check_shape(entry.action, table)
        except ServiceError:
            raise validation(KEY_MISMATCH) from None
        check_content(entry.action, table)
        check_against_schema(entry.action, table)
        place = table.key.place(entry.action.subject)
        if (table.space, place) in seen:
            raise validation(_DUPLICATES)
        seen.add((table.space, place))
        places.append(place)
    return places


def _require_some(items: Mapping[str, Any], operation: str) -> None:
    if not items:
        raise validation(f"The requestItems parameter is required for {operation}")
