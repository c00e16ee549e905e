"""Belongs here: PutItem, UpdateItem, DeleteItem and GetItem. Must not be here: several items, the steps of a write that transactions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from surewrite.core.values import Item, item_size
from surewrite.engine.capacity import Charge, collection_metrics, read_units, wanted_capacity
from surewrite.engine.context import Context
from surewrite.engine.copies import copied
from surewrite.engine.evaluator import project
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.grammar import Substitutions, parse_projection, require_expressions
from surewrite.engine.key_validation import check_key, check_key_paths
from surewrite.engine.legacy_parameters import ATTRIBUTES_TO_GET, CONDITIONAL_OPERATOR, read_attributes_to_get, require_one_style
from surewrite.engine.members import (
    CAPACITY,
    COLLECTION_METRICS,
    CONSISTENT,
    KEY,
    NAMES,
    RETURN_ON_FAILURE,
    RETURN_VALUES,
    TABLE,
    VALUES,
    Member,
    Shapes,
    expression,
    table_name,
)
from surewrite.engine.schemas import Table
from surewrite.engine.stores.store import Session
from surewrite.engine.syntax import ProjectionNode
from surewrite.engine.validation import check_item
from surewrite.engine.writes import Made, WriteAction, check_against_schema, check_content, check_shape, failed_condition, make, read_action

CONFLICT: Final = "Transaction is ongoing for the item"

_WRITE: Final = (TABLE, CAPACITY, COLLECTION_METRICS, RETURN_VALUES, RETURN_ON_FAILURE, expression("ConditionExpression"), NAMES, VALUES)
_CONDITIONAL: Final = (*_WRITE, Member("Expected", "map"), CONDITIONAL_OPERATOR)
# Measured in most Regions: a bad table name is told alone, and UpdateItem stops at the first fault.
_PUT: Final = Shapes("PutItem", (*_CONDITIONAL, Member("Item", "map", required=True)), reported="table first")
_DELETE: Final = Shapes("DeleteItem", (*_CONDITIONAL, KEY), reported="table first")
_UPDATE: Final = Shapes("UpdateItem", (*_CONDITIONAL, KEY, expression("UpdateExpression"), Member("AttributeUpdates", "map")), reported="first")
_GET: Final = Shapes("GetItem", (CAPACITY, TABLE, KEY, CONSISTENT, expression("ProjectionExpression"), NAMES, ATTRIBUTES_TO_GET))


def put_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """PutItem."""
    _PUT.check(body)
    _require_old_or_none(body)
    made = _write(context, read_action("Put", body))
    return _answer(body, made, made.change.old if body.get("ReturnValues") == "ALL_OLD" else None)


def delete_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteItem."""
    _DELETE.check(body)
    _require_old_or_none(body)
    made = _write(context, read_action("Delete", body))
    return _answer(body, made, made.change.old if body.get("ReturnValues") == "ALL_OLD" else None)


def update_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """UpdateItem."""
    _UPDATE.check(body)
    made = _write(context, read_action("Update", body))
    return _answer(body, made, _updated_values(body.get("ReturnValues"), made))


def get_item(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """GetItem."""
    _GET.check(body)
    key = check_item(body["Key"])
    projection = read_projection(body)
    with context.store.session(write=False) as session:
        table = context.catalogue.table(session, table_name(body["TableName"]))
        check_key(key, table.key)
        if projection is not None:
            check_key_paths(projection.paths, table.key, table.indexes)
        item = session.get(table.space, *table.key.place(key))
    answer: dict[str, Any] = {}
    if item is not None:
        answer["Item"] = shown(item, projection)
    wanted = wanted_capacity(body)
    if wanted is not None:
        units = read_units(item_size(item) if item is not None else 0, consistent=bool(body.get("ConsistentRead")))
        answer["ConsumedCapacity"] = Charge(table, units).told(wanted)
    return answer


def read_projection(body: Mapping[str, Any], *, transactional: bool = False) -> ProjectionNode | None:
    """The projection of a read that has names for nothing else; None where it asks for whole items. A ``transactional`` one may have unused names then."""
    text, names = body.get("ProjectionExpression"), body.get("ExpressionAttributeNames")
    names_attributes = body.get("AttributesToGet") is not None
    if names_attributes:
        require_one_style(body, ("AttributesToGet",), ("ProjectionExpression",))
    if not transactional:
        require_expressions(names, None, {"ProjectionExpression": text})
    if text is None:
        return read_attributes_to_get(body) if names_attributes else None
    substitutions = Substitutions(names, None)
    projection = parse_projection(text, substitutions)
    substitutions.require_all_used()
    return projection


def shown(item: Item, projection: ProjectionNode | None) -> Item:
    """What a read hands out of a stored item: a copy, whole or projected."""
    return copied(item if projection is None else project(projection, item))


def write_one(context: Context, session: Session, table: Table, action: WriteAction) -> Made:
    """Carry out one plain write within a writing session; raises the service's errors and then has changed nothing."""
    check_shape(action, table)
    check_content(action, table)
    check_against_schema(action, table)
    place = table.key.place(action.subject)
    if context.locks.is_locked(table, place):
        raise ServiceError("TransactionConflictException", CONFLICT)
    old = session.get(table.space, *place)
    refusal = failed_condition(action, old)
    if refusal is not None:
        raise refusal
    made = make(action, table, place, old)
    context.apply(session, (made.change,))
    return made


def _write(context: Context, action: WriteAction) -> Made:
    with context.store.session(write=True) as session:
        return write_one(context, session, context.catalogue.table(session, action.table), action)


def _require_old_or_none(body: Mapping[str, Any]) -> None:
    if body.get("ReturnValues") not in (None, "NONE", "ALL_OLD"):
        raise validation("ReturnValues can only be ALL_OLD or NONE")


def _updated_values(wanted: str | None, made: Made) -> Item | None:
    match wanted:
        case "ALL_OLD":
            return made.change.old
        case "ALL_NEW":
            return made.change.new
        case "UPDATED_OLD":
            return made.update.updated_old() if made.update is not None else None
        case "UPDATED_NEW":
            return made.update.updated_new() if made.update is not None else None
        case _:
            return None


def _answer(body: Mapping[str, Any], made: Made, attributes: Item | None) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if attributes:
        answer["Attributes"] = copied(attributes)
    wanted = wanted_capacity(body)
    if wanted is not None:
        charge = Charge(made.change.table)
        charge.add_write(made.change)
        answer["ConsumedCapacity"] = charge.told(wanted)
    for _, metrics in collection_metrics(body, (made.change,)):
        answer["ItemCollectionMetrics"] = metrics
    return answer
