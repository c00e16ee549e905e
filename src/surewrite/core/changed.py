"""Belongs here: what changes leave of a stored item, for writes that are told nothing back. Must not be here: whether a change is made.

A transaction returns no item. Where the item before it is known for certain, the item after it follows from the changes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, assert_never

from surewrite.core.expressions import AddTo, Arithmetic, ChangeTree, DeleteFrom, IfNotExists, ListAppend, Name, Operand, Remove, SetTo, Size, Value
from surewrite.core.guards import value_at
from surewrite.core.values import AttributeValue, Item, add_numbers, equal, subtract_numbers, type_of
from surewrite.errors import InvalidRequest


def changed_item(item: Item, changes: Iterable[ChangeTree]) -> Item:
    """The item after the changes, as UpdateItem leaves it: every operand sees the item as it was, and list elements are removed last.

    Raises ``InvalidRequest`` for a change that the service refuses: one that reads what is not there, or leads into what is no map or list.
    """
    after: Item = copy.deepcopy(item)
    removed: list[Name] = []
    for change in changes:
        match change:
            case SetTo(target=target, operand=operand):
                _put(after, target, copy.deepcopy(_value_of(operand, item)))
            case Remove(target=target):
                removed.append(target)
            case AddTo(target=target, value=value):
                _put(after, target, _added(value_at(item, target), value.value))
            case DeleteFrom(target=target, value=value):
                _take_from(after, target, value_at(item, target), value.value)
            case _:
                assert_never(change)
    # From the last element of a list to the first, since indexes are those before the update.
    for target in sorted(removed, key=lambda name: [(1, part, "") if isinstance(part, int) else (0, 0, part) for part in name.parts], reverse=True):
        _remove(after, target)
    return after


def _value_of(operand: Operand, item: Item) -> AttributeValue:
    match operand:
        case Value(value=value):
            return value
        case Name():
            return _stored(operand, item)
        case Size():
            raise InvalidRequest("size() is for conditions: an update cannot set it")
        case IfNotExists(name=name, default=default):
            found = value_at(item, name)
            return _value_of(default, item) if found is None else found
        case Arithmetic(operator=operator, left=left, right=right):
            compute = add_numbers if operator == "+" else subtract_numbers
            return {"N": compute(_content(_value_of(left, item), "N"), _content(_value_of(right, item), "N"))}
        case ListAppend(left=left, right=right):
            return {"L": [*_content(_value_of(left, item), "L"), *_content(_value_of(right, item), "L")]}
        case _:
            assert_never(operand)


def _stored(name: Name, item: Item) -> AttributeValue:
    found = value_at(item, name)
    if found is None:
        raise InvalidRequest(f"the change reads {_shown(name)}, and the stored item has none")
    return found


def _content(value: AttributeValue, kind: str) -> Any:
    if kind not in value:
        raise InvalidRequest(f"the change needs a value of type {kind}, and one of type {type_of(value)} is stored")
    return value[kind]


def _added(stored: AttributeValue | None, value: AttributeValue) -> AttributeValue:
    if stored is None:
        return value
    kind = type_of(value)
    content = _content(stored, kind)
    if kind == "N":
        return {"N": add_numbers(content, value["N"])}
    return {kind: [*content, *(member for member in value[kind] if not _holds(content, kind[0], member))]}


def _take_from(after: Item, target: Name, stored: AttributeValue | None, value: AttributeValue) -> None:
    if stored is None:
        return
    kind = type_of(value)
    left = [member for member in _content(stored, kind) if not _holds(value[kind], kind[0], member)]
    if left:
        _put(after, target, {kind: left})
    else:
        _remove(after, target)


def _holds(members: Iterable[Any], kind: str, member: Any) -> bool:
    return any(equal({kind: other}, {kind: member}) for other in members)


def _holder(item: Item, target: Name) -> Any:
    """The map or list that the last part of a path leads into."""
    if len(target.parts) == 1:
        return item
    value = value_at(item, Name(target.parts[:-1]))
    kind = "L" if isinstance(target.parts[-1], int) else "M"
    if value is None or kind not in value:
        raise InvalidRequest(f"the path {_shown(target)} leads into nothing that the stored item has")
    return value[kind]


def _put(item: Item, target: Name, value: AttributeValue) -> None:
    holder, last = _holder(item, target), target.parts[-1]
    if isinstance(last, int) and last >= len(holder):
        holder.append(value)
    else:
        holder[last] = value


def _remove(item: Item, target: Name) -> None:
    holder, last = _holder(item, target), target.parts[-1]
    if isinstance(last, int):
        del holder[last : last + 1]
    else:
        holder.pop(last, None)


def _shown(name: Name) -> str:
    return ".".join(str(part) for part in name.parts)
