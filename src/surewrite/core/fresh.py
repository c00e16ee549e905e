"""Belongs here: what changes leave where nothing was stored before. Must not be here: changes of a stored item, which only the service makes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from surewrite.core.expressions import (
    AddTo,
    Arithmetic,
    ChangeTree,
    DeleteFrom,
    IfNotExists,
    ListAppend,
    Name,
    Operand,
    Remove,
    SetTo,
    Size,
    Value,
    describe_change,
)
from surewrite.core.values import AttributeValue, Item, add_numbers, subtract_numbers
from surewrite.errors import InvalidRequest


def fresh_item(key: Item, changes: Iterable[ChangeTree]) -> Item:
    """The item that the changes make of nothing, as UpdateItem makes one where none is stored.

    Raises ``InvalidRequest`` for a change that needs something stored: a nested path, or the value of an attribute.
    """
    item: Item = dict(key)
    for change in changes:
        if len(change.target.parts) != 1:
            raise InvalidRequest(f"the change {describe_change(change)} needs a stored item: its path leads into one")
        name = change.target.parts[0]
        assert isinstance(name, str)
        match change:
            case SetTo(operand=operand):
                item[name] = _value_of(operand, change)
            case AddTo(value=value):
                item[name] = value.value
            case Remove() | DeleteFrom():
                pass
            case _:
                assert_never(change)
    return item


def _value_of(operand: Operand, change: ChangeTree) -> AttributeValue:
    match operand:
        case Value(value=value):
            return value
        case IfNotExists(default=default):
            return _value_of(default, change)
        case Arithmetic(operator=operator, left=left, right=right):
            compute = add_numbers if operator == "+" else subtract_numbers
            return {"N": compute(_value_of(left, change)["N"], _value_of(right, change)["N"])}
        case ListAppend(left=left, right=right):
            return {"L": [*_value_of(left, change)["L"], *_value_of(right, change)["L"]]}
        case Name() | Size():
            raise InvalidRequest(f"the change {describe_change(change)} needs a stored item: it reads one")
        case _:
            assert_never(operand)
