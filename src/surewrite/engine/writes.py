"""Belongs here: the steps of one write on one item: read, checked against its table, judged, made. Must not be here: sessions, answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

from surewrite.core.values import AttributeValue, Item
from surewrite.engine.copies import copied
from surewrite.engine.evaluator import holds
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.grammar import Substitutions, parse_condition, parse_update, require_expressions
from surewrite.engine.key_validation import (
    check_index_keys,
    check_index_keys_filled,
    check_item_key_shape,
    check_key_filled,
    check_key_length,
    check_key_paths,
    check_key_shape,
    check_update_targets,
    check_updated_index_key_filled,
    check_updated_index_keys,
)
from surewrite.engine.legacy_parameters import read_attribute_updates, read_conditions, require_one_style
from surewrite.engine.members import table_name
from surewrite.engine.schemas import Index, KeyAttribute, Table
from surewrite.engine.streams import Change
from surewrite.engine.syntax import ConditionNode, SetClause, UpdateNode, ValueReference
from surewrite.engine.update_evaluator import UpdateResult, apply_update
from surewrite.engine.validation import INVALID, check_depth, check_item, check_item_size, check_updated_size

ActionKind = Literal["Put", "Update", "Delete", "ConditionCheck"]

_LEGACY: Final = frozenset({"AttributeUpdates", "Expected", "ConditionalOperator"})
CONDITION_FAILED: Final = "The conditional request failed"

# Measured: constants of a transaction's updates are held to 32 levels with their item, those of its condition checks not
# at all, and the request as a whole is refused beyond about 62.
_TRANSACTION_SPARE_LEVELS: Final = 30


@dataclass(frozen=True, slots=True)
class WriteAction:
    """One write as its request says, checked as far as that is possible without its table.

    ``subject`` is the item of a Put and the key of the others, canonical and owned by the engine.
    """

    kind: ActionKind
    table: str
    subject: Item
    condition: ConditionNode | None
    update: UpdateNode | None
    shows_refusing_item: bool

    @property
    def constants(self) -> Mapping[str, AttributeValue]:
        """The constants of its expressions."""
        node = self.condition if self.update is None else self.update
        return {} if node is None else node.values


@dataclass(frozen=True, slots=True)
class Made:
    """What an action makes of the stored item: the change, and for an update expression its parts for the return values."""

    change: Change
    update: UpdateResult | None = None


def read_action(kind: ActionKind, body: Mapping[str, Any], *, transactional: bool = False) -> WriteAction:
    """Read one write from its request; raises the service's errors of values, then of expressions, then of unused names and values.

    A ``transactional`` one may have names and values without any expression (measured).
    """
    condition_text = body.get("ConditionExpression")
    update_text = body.get("UpdateExpression") if kind == "Update" else None
    names, values = body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
    expressions = {"UpdateExpression": update_text, "ConditionExpression": condition_text} if kind == "Update" else {"ConditionExpression": condition_text}
    # Asked first, because most writes have neither, and each pays for what is looked up here.
    is_legacy = not _LEGACY.isdisjoint(body)
    if is_legacy:
        require_one_style(body, sorted(_LEGACY), expressions)
    if not transactional:
        require_expressions(names, values, expressions)
    shows_refusing_item = body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    if condition_text is None and update_text is None:
        subject = check_item(body["Item" if kind == "Put" else "Key"])
        old_update = read_attribute_updates(body) if is_legacy else None
        old_condition = read_conditions(body, "Expected") if is_legacy else None
        return WriteAction(kind, table_name(body["TableName"]), subject, old_condition, old_update, shows_refusing_item)
    spare_levels = _TRANSACTION_SPARE_LEVELS if transactional and kind in ("Update", "ConditionCheck") else 0
    substitutions = Substitutions(names, values, spare_levels=spare_levels)
    subject = check_item(body["Item" if kind == "Put" else "Key"])
    update = parse_update(update_text, substitutions) if update_text is not None else None
    condition = parse_condition(condition_text, "ConditionExpression", substitutions) if condition_text is not None else None
    substitutions.require_all_used()
    return WriteAction(kind, table_name(body["TableName"]), subject, condition, update, shows_refusing_item)


def check_shape(action: WriteAction, table: Table) -> None:
    """Whether the action names a key of its table, in the right types."""
    if action.kind == "Put":
        check_item_key_shape(action.subject, table.key)
    else:
        check_key_shape(action.subject, table.key)


def check_content(action: WriteAction, table: Table) -> None:
    """Empty keys, and the size of an item to be put."""
    check_key_filled(action.subject, table.key)
    if action.kind == "Put":
        check_item_size(action.subject)


def check_index_content(action: WriteAction, table: Table) -> None:
    """Empty keys of indexes, as far as the request alone shows them. A transaction reports these, and those of ``check_content``, for the whole request."""
    if not table.indexes:
        return
    if action.kind == "Put":
        check_index_keys_filled(action.subject, table.indexes)
    for _, attribute, value in _index_constants(action, table):
        if attribute.type in value:
            check_updated_index_key_filled(value)


def check_against_schema(action: WriteAction, table: Table) -> None:
    """What else an action may not do to the keys of its table and indexes. A transaction reports these for the action."""
    check_key_length(action.subject, table.key)
    if table.indexes and action.kind == "Put":
        check_index_keys(action.subject, table.indexes)
    if action.update is not None:
        check_update_targets(action.update.targets, table.key)
        check_key_paths(action.update.paths, table.key, table.indexes)
        for index, attribute, value in _index_constants(action, table):
            if attribute.type not in value:
                told = f"Expected: {attribute.type} Actual: {next(iter(value))} IndexName: {index.name}"
                raise validation(f"{INVALID}Type mismatch for Index Key {attribute.name} {told}")
    if action.condition is not None:
        check_key_paths(action.condition.paths, table.key, table.indexes)


def check_update_depth(action: WriteAction) -> None:
    """Refuse an update of a transaction that has a constant of too many levels."""
    if action.update is not None:
        for value in action.constants.values():
            check_depth(value, 1)


def failed_condition(action: WriteAction, old: Item | None) -> ServiceError | None:
    """The refusal of an action whose condition does not hold for the stored item, with a copy of that item where asked for."""
    if action.condition is None or holds(action.condition, old):
        return None
    shown = copied(old) if action.shows_refusing_item and old is not None else None
    return ServiceError("ConditionalCheckFailedException", CONDITION_FAILED, item=shown)


def make(action: WriteAction, table: Table, place: tuple[bytes, bytes], old: Item | None) -> Made:
    """What an action whose condition holds makes of the stored item; raises the run-time errors of updates."""
    match action.kind:
        case "Put":
            return Made(Change(table, place, old, action.subject))
        case "Delete":
            return Made(Change(table, place, old, None))
        case "ConditionCheck":
            return Made(Change(table, place, old, old))
        case "Update":
            return _make_update(action, table, place, old)
        case _:
            assert_never(action.kind)


def _make_update(action: WriteAction, table: Table, place: tuple[bytes, bytes], old: Item | None) -> Made:
    result = apply_update(action.update, old, action.subject)
    if result.item is not None and result.item is not old:
        if table.indexes:
            check_updated_index_keys(result.item, old, table.indexes)
        check_updated_size(result.item)
    return Made(Change(table, place, old, result.item), result)


def _index_constants(action: WriteAction, table: Table) -> Iterator[tuple[Index, KeyAttribute, AttributeValue]]:
    """The constants that an update assigns to key attributes of indexes."""
    if action.update is None:
        return
    for index in table.indexes:
        for attribute in index.key.attributes:
            for clause in action.update.clauses:
                if isinstance(clause, SetClause) and clause.target.parts == (attribute.name,) and isinstance(clause.value, ValueReference):
                    yield index, attribute, action.update.values[clause.value.placeholder]
