"""Belongs here: reading off a compiled write what guards it. Must not be here: what follows from that.

A guard is only what no other writer can make true again: an order that the write raises itself, or an operation id that
it adds and looks for. ``stamp <> mine`` is none: any other write in between makes it true again. Nor is anything at an index
of a list, which names another element once somebody has removed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surewrite.core.decisions import Guard
from surewrite.core.expressions import (
    AddTo,
    Arithmetic,
    ChangeTree,
    Compare,
    ConditionTree,
    DeleteFrom,
    Function,
    ListAppend,
    Name,
    Not,
    Operand,
    Or,
    Remove,
    SetTo,
    Value,
    conjuncts,
    names_read,
)
from surewrite.core.frozen import quickly_made
from surewrite.core.values import AttributeValue, compare, equal, type_of


@quickly_made
@dataclass(frozen=True, slots=True)
class Mark:
    """Where a guarded write shows that it took effect: the attribute, and the order or operation id that it leaves there."""

    name: Name
    value: AttributeValue


@quickly_made
@dataclass(frozen=True, slots=True)
class StructuralGuard:
    guard: Guard
    mark: Mark | None = None


def guard_of_update(condition: ConditionTree | None, changes: Sequence[ChangeTree]) -> StructuralGuard:
    """The guard of an update that checks neither version nor stamp."""
    order = _order_raised(
        condition, ((change.target, change.operand.value) for change in changes if isinstance(change, SetTo) and isinstance(change.operand, Value))
    )
    if order is not None:
        return StructuralGuard(Guard.ORDER, order)
    if all(is_idempotent(change, changes) for change in changes):
        return StructuralGuard(Guard.IDEMPOTENT)
    # Looked for only here: an element that others may take out again, such as a role, guards nothing, and an update
    # of which every change is idempotent needs no guard to be resent.
    operation_id = _operation_id_added(condition, changes)
    if operation_id is not None:
        return StructuralGuard(Guard.OPERATION_ID, operation_id)
    return StructuralGuard(Guard.NOT_IDEMPOTENT)


def guard_of_put(condition: ConditionTree | None, item: dict[str, AttributeValue]) -> StructuralGuard:
    """The guard of a put that checks neither version nor stamp."""
    order = _order_raised(condition, ((Name((name,)), value) for name, value in item.items()))
    return StructuralGuard(Guard.IDEMPOTENT) if order is None else StructuralGuard(Guard.ORDER, order)


def is_idempotent(change: ChangeTree, changes: Sequence[ChangeTree]) -> bool:
    """Whether the change leaves the same when it is made twice with nothing in between.

    List indexes shift when an element is removed and append when they lie past the end, so a change through one counts as not idempotent.
    """
    if _leads_through_list(change.target):
        return False
    match change:
        case SetTo(target=target, operand=operand):
            return _is_stable(operand) and not any(_overlap(read, other.target) for read in names_read(operand) if read != target for other in changes)
        case Remove() | DeleteFrom():
            return True
        case AddTo(value=value):
            return type_of(value.value) != "N"


def _leads_through_list(name: Name) -> bool:
    return any(isinstance(part, int) for part in name.parts)


def _is_stable(operand: Operand) -> bool:
    return not isinstance(operand, (Arithmetic, ListAppend))


def _overlap(one: Name, other: Name) -> bool:
    shared = min(len(one.parts), len(other.parts))
    return one.parts[:shared] == other.parts[:shared]


def _order_raised(condition: ConditionTree | None, constants: Iterable[tuple[Name, AttributeValue]]) -> Mark | None:
    demanded = [mark for part in conjuncts(condition) if (mark := _less_than(part)) is not None]
    if not demanded:
        return None
    for name, value in constants:
        for mark in demanded:
            if mark.name == name and equal(mark.value, value) and not _leads_through_list(name):
                return mark
    return None


def _less_than(part: ConditionTree) -> Mark | None:
    """The mark of ``n < :v``, or of ``n < :v`` beside the absence of n."""
    match part:
        case Compare(operator="<", left=Name() as name, right=Value(value=value)) | Compare(operator=">", left=Value(value=value), right=Name() as name):
            return Mark(name, value)
        case Or(parts=(one, other)):
            for absent, less in ((one, other), (other, one)):
                mark = _less_than(less)
                if mark is not None and absent == Function("attribute_not_exists", (mark.name,)):
                    return mark
        case _:
            pass
    return None


def _operation_id_added(condition: ConditionTree | None, changes: Sequence[ChangeTree]) -> Mark | None:
    for part in conjuncts(condition):
        match part:
            case Not(part=Function(function="contains", arguments=(Name() as name, Value(value=value)))) if not _leads_through_list(name):
                if any(isinstance(change, AddTo) and change.target == name and set_holds(change.value.value, value) for change in changes):
                    return Mark(name, value)
            case Function(function="attribute_not_exists", arguments=(Name() as name,)) if len(name.parts) > 1 and not _leads_through_list(name):
                for change in changes:
                    if isinstance(change, SetTo) and change.target == name:
                        # The name of the member is the id, so what is stored under it may be computed, such as the value after an addition.
                        return Mark(name, change.operand.value if isinstance(change.operand, Value) else {"NULL": True})
            case _:
                pass
    return None


def set_holds(stored: AttributeValue, element: AttributeValue) -> bool:
    """Whether a stored set has the element. Anything but a set of the element's type does not."""
    kind = type_of(element)
    members = stored.get(kind + "S")
    return members is not None and any(equal({kind: member}, element) for member in members)


def value_at(item: dict[str, AttributeValue], name: Name) -> AttributeValue | None:
    """The value stored under a document path, or ``None``."""
    found: AttributeValue | None = {"M": item}
    for part in name.parts:
        if found is None:
            return None
        if isinstance(part, int):
            elements: list[AttributeValue] | None = found.get("L")
            found = elements[part] if elements is not None and part < len(elements) else None
        else:
            members: dict[str, AttributeValue] = found.get("M") or {}
            found = members.get(part)
    return found


def shows_operation(item: dict[str, AttributeValue], mark: Mark) -> bool:
    """Whether the item holds the operation id: as an element of a set, or as the name of a map's member."""
    stored = value_at(item, mark.name)
    if stored is None:
        return False
    return set_holds(stored, mark.value) if type_of(stored) in ("SS", "NS", "BS") else True


def shows_newer_order(item: dict[str, AttributeValue], mark: Mark) -> bool:
    """Whether the item holds this order or a newer one."""
    stored = value_at(item, mark.name)
    if stored is None:
        return False
    order = compare(stored, mark.value)
    return order is not None and order >= 0
