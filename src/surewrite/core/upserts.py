"""Belongs here: what an upsert adds to the changes of its caller, so that it makes a whole item. Must not be here: conditions, requests, how an item looks."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from surewrite.core.conditions import Change
from surewrite.core.expressions import AddTo, Arithmetic, ChangeTree, DeleteFrom, IfNotExists, ListAppend, Name, Operand, SetTo, Value
from surewrite.core.fields import FieldInfo
from surewrite.core.keys import Key
from surewrite.core.schemas import BoundSchema
from surewrite.errors import InvalidRequest

E = TypeVar("E")


def initial_changes(schema: BoundSchema[E], key: Key[E], changed: AbstractSet[str]) -> tuple[ChangeTree, ...]:
    """What an upsert sets beside the caller's changes, so that it makes a whole item: discriminator, key fields, defaults.

    ``changed`` has the stored names that the changes of the caller touch. A default is set only where nothing is stored.
    Raises ``InvalidRequest`` for a required field that the changes leave out.
    """
    changes: list[ChangeTree] = []
    if schema.discriminator_value is not None and schema.layout.discriminator is not None:
        changes.append(SetTo(Name((schema.layout.discriminator,)), Value({"S": schema.discriminator_value})))
    key_values = dict(key.values)
    for field in schema.plain_fields:
        name = Name((field.stored_name,))
        if field.stored_name in changed or field.stored_name in schema.key_names:
            continue
        if field.name in key_values:
            changes.append(SetTo(name, Value(field.codec.store(key_values[field.name]))))
        elif field.has_default:
            default = field.make_default()
            if default is not None and not (field.is_set and not default):
                changes.append(SetTo(name, IfNotExists(name, Value(field.codec.store(default)))))
        elif field.required:
            raise InvalidRequest(
                f"an upsert of {schema.entity.__name__} may make a new item, and {field.name} is required: "
                f"add {schema.entity.__name__}.{field.name}.set(...), or give the field a default",
                key=key,
            )
    return tuple(changes)


def adapt_for_upsert(schema: BoundSchema[Any], change: Change[Any]) -> ChangeTree:
    """The change as it works on an item that is not stored yet: what it reads starts from the field's default, or from 0 or no elements."""
    tree = change.tree
    field = _field_at(schema, tree.target)
    if field is None:
        return tree
    if isinstance(tree, (AddTo, DeleteFrom)) and field.is_set:
        return _checked_set_change(schema, field, tree)
    if isinstance(tree, AddTo):
        start = field.make_default() if field.has_default else None
        first = Value({"N": "0"} if start is None else field.codec.store(start))
        return SetTo(tree.target, Arithmetic("+", IfNotExists(tree.target, first), tree.value))
    if isinstance(tree, SetTo) and isinstance(tree.operand, (Arithmetic, ListAppend)):
        return SetTo(tree.target, _adapted_operand(schema, tree.operand))
    return tree


def _checked_set_change(schema: BoundSchema[Any], field: FieldInfo, tree: AddTo | DeleteFrom) -> ChangeTree:
    if field.has_default and field.make_default():
        place = f"{schema.entity.__name__}.{field.name}"
        raise InvalidRequest(f"{place} starts as a set that is not empty, which an upsert cannot add to or take from: write .set(...) with the whole set")
    return tree


def _adapted_operand(schema: BoundSchema[Any], operand: Arithmetic | ListAppend) -> Operand:
    start: Callable[[BoundSchema[Any], Operand], Operand] = _list_start if isinstance(operand, ListAppend) else _number_start
    left, right = start(schema, operand.left), start(schema, operand.right)
    return ListAppend(left, right) if isinstance(operand, ListAppend) else Arithmetic(operand.operator, left, right)


def _number_start(schema: BoundSchema[Any], operand: Operand) -> Operand:
    field = _field_at(schema, operand)
    if field is None or not isinstance(operand, Name) or not field.has_default:
        return operand
    default = field.make_default()
    return operand if default is None else IfNotExists(operand, Value(field.codec.store(default)))


def _list_start(schema: BoundSchema[Any], operand: Operand) -> Operand:
    field = _field_at(schema, operand)
    if field is None or not isinstance(operand, Name):
        return operand
    default = field.make_default() if field.has_default else None
    return IfNotExists(operand, Value({"L": []} if default is None else field.codec.store(default)))


def _field_at(schema: BoundSchema[Any], operand: Operand) -> FieldInfo | None:
    if not isinstance(operand, Name):
        return None
    name, *members = operand.parts
    return None if members else schema.field_stored_as(str(name))
