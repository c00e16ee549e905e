"""Belongs here: an update applied to one item, as a pure function. Must not be here: conditions, checks of keys and sizes, storage.

Everything that an update reads is read from the item as it was; its clauses have no order. Developer Guide, page
"Using update expressions in DynamoDB", and behaviour measured on the service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, assert_never

from surewrite.core.values import AttributeValue, Item, NumberOutOfRange, add_numbers, decode_binary, subtract_numbers
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.paths import project_tree, value_at
from surewrite.engine.syntax import (
    WRONG_OPERAND_TYPE,
    AddClause,
    Arithmetic,
    Call,
    Clause,
    DeleteClause,
    DocumentPath,
    Operand,
    PathTree,
    RemoveClause,
    SetClause,
    UpdateNode,
    ValueReference,
)
from surewrite.engine.validation import NUMBER_OVERFLOW, check_depth

_NO_ITEM: Final[Item] = {}
_NO_TREE: Final = PathTree({}, {})

Values = Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update leaves: ``item`` is None where there was none and none is created.

    Items share unchanged parts with the old item and with the constants, and so are never to be changed in place.
    """

    old: Item | None
    item: Item | None
    tree: PathTree

    def updated_old(self) -> Item:
        """The old values of the paths that the update names, where they existed."""
        return {} if self.old is None else project_tree(self.tree, self.old)

    def updated_new(self) -> Item:
        """The new values of the paths that the update names, where they exist now.

        A list index is looked up in the new list, as the service does: an element that was appended beyond the end does
        not show, and a removed one shows what moved into its place.
        """
        return {} if self.item is None else project_tree(self.tree, self.item)


def apply_update(node: UpdateNode | None, item: Item | None, key: Item) -> UpdateResult:
    """The item after an update, with its inputs left as they are. Without an update a missing item is created with its key alone.

    Raises ValidationException for what the item at hand makes impossible: a missing operand, one of a wrong type, a path
    that leads nowhere, a number out of range, too many levels. Keys and sizes are checked elsewhere.
    """
    if node is None:
        return UpdateResult(item, key if item is None else item, _NO_TREE)
    old = _NO_ITEM if item is None else item
    changes = [_change(clause, old, node) for clause in node.clauses]
    if item is None and not any(isinstance(clause, (SetClause, AddClause)) for clause in node.clauses):
        return UpdateResult(None, None, node.tree)
    if item is None:
        # Removing below a missing item is allowed, though below a missing attribute it is not.
        changes = [_Keep() if isinstance(clause, RemoveClause) else change for clause, change in zip(node.clauses, changes, strict=True)]
    for target, change in zip(node.targets, changes, strict=True):
        if isinstance(change, dict):
            check_depth(change, len(target.parts))
    return UpdateResult(item, _changed_map(node.tree, key if item is None else item, changes), node.tree)


class _Remove:
    """The target is to be absent."""


class _Keep:
    """The target stays as it is, and need not even be reachable."""


_Change = AttributeValue | _Remove | _Keep


def _change(clause: Clause, old: Item, node: UpdateNode) -> _Change:
    values = node.values
    match clause:
        case SetClause(_, value):
            return _assigned(value, old, values)
        case RemoveClause():
            return _Remove()
        case AddClause(target, reference):
            return _added(value_at(target, old), values[reference.placeholder], node.type_mismatch)
        case DeleteClause(target, reference):
            return _without(value_at(target, old), values[reference.placeholder], node.type_mismatch)
        case _:
            assert_never(clause)


def _assigned(value: Operand | Arithmetic, old: Item, values: Values) -> AttributeValue:
    if not isinstance(value, Arithmetic):
        return _operand(value, old, values)
    left = _operand(value.left, old, values)
    right = _operand(value.right, old, values)
    if "N" not in left or "N" not in right:
        raise _wrong_type()
    return _sum(left["N"], right["N"], subtract=value.operator == "-")


def _sum(left: str, right: str, *, subtract: bool) -> AttributeValue:
    try:
        return {"N": subtract_numbers(left, right) if subtract else add_numbers(left, right)}
    except NumberOutOfRange:
        raise validation(NUMBER_OVERFLOW) from None


def _operand(operand: Operand, old: Item, values: Values) -> AttributeValue:
    # Defaults of defaults are followed here one by one, because a text has room for hundreds of them.
    while isinstance(operand, Call) and operand.function == "if_not_exists":
        path, default = operand.arguments
        # The checks let only a path stand first.
        found = value_at(path, old) if isinstance(path, DocumentPath) else None
        if found is not None:
            return found
        operand = default
    if isinstance(operand, ValueReference):
        return values[operand.placeholder]
    if isinstance(operand, DocumentPath):
        found = value_at(operand, old)
        if found is None:
            raise validation("The provided expression refers to an attribute that does not exist in the item")
        return found
    return _appended(operand, old, values)


def _appended(call: Call, old: Item, values: Values) -> AttributeValue:
    first, second = call.arguments
    head = _operand(first, old, values)
    tail = _operand(second, old, values)
    if "L" not in head or "L" not in tail:
        raise _wrong_type()
    return {"L": [*head["L"], *tail["L"]]}


def _added(old: AttributeValue | None, constant: AttributeValue, type_mismatch: str) -> AttributeValue:
    if old is None:
        return constant
    kind, content = next(iter(constant.items()))
    if kind not in old:
        raise validation(type_mismatch)
    if kind == "N":
        return _sum(old["N"], content, subtract=False)
    if kind == "L":
        return {"L": [*old["L"], *content]}
    return {kind: _ordered(kind, {*old[kind], *content})}


def _without(old: AttributeValue | None, constant: AttributeValue, type_mismatch: str) -> _Change:
    if old is None:
        return _Remove()
    kind, content = next(iter(constant.items()))
    if kind not in old:
        raise validation(type_mismatch)
    removed = frozenset(content)
    left = [member for member in old[kind] if member not in removed]
    return {kind: left} if left else _Remove()


def _ordered(kind: str, members: set[str]) -> list[str]:
    match kind:
        case "NS":
            return sorted(members, key=Decimal)
        case "BS":
            return sorted(members, key=decode_binary)
        case _:
            return sorted(members)


def _changed_map(tree: PathTree, members: Item, changes: Sequence[_Change]) -> Item:
    changed = dict(members)
    for name, branch in tree.members.items():
        if not isinstance(branch, int):
            if _needed(branch, changes):
                changed[name] = _changed(branch, members.get(name), changes)
            continue
        match changes[branch]:
            case _Remove():
                changed.pop(name, None)
            case _Keep():
                pass
            case value:
                changed[name] = value
    return changed


def _changed(tree: PathTree, value: AttributeValue | None, changes: Sequence[_Change]) -> AttributeValue:
    if value is not None and tree.members and "M" in value:
        return {"M": _changed_map(tree, value["M"], changes)}
    if value is not None and tree.elements and "L" in value:
        return {"L": _changed_list(tree, value["L"], changes)}
    raise validation("The document path provided in the update expression is invalid for update")


def _changed_list(tree: PathTree, elements: Sequence[AttributeValue], changes: Sequence[_Change]) -> list[AttributeValue]:
    """Indexes are those of the list as it was: removals take effect last, and elements set beyond the end are appended in ascending order."""
    changed: list[AttributeValue | None] = list(elements)
    appended: list[AttributeValue] = []
    for index, branch in tree.elements.items():
        present = index < len(elements)
        if not isinstance(branch, int):
            if _needed(branch, changes):
                changed[index : index + 1] = [_changed(branch, elements[index] if present else None, changes)]
            continue
        match changes[branch]:
            case _Remove():
                changed[index : index + 1] = [None] * present
            case _Keep():
                pass
            case value if present:
                changed[index] = value
            case value:
                appended.append(value)
    return [element for element in changed if element is not None] + appended


def _needed(tree: PathTree, changes: Sequence[_Change]) -> bool:
    """Whether anything below is to be changed, so that the path to it must lead somewhere."""
    branches = (*tree.members.values(), *tree.elements.values())
    return any(not isinstance(changes[branch], _Keep) if isinstance(branch, int) else _needed(branch, changes) for branch in branches)


def _wrong_type() -> ServiceError:
    return validation(WRONG_OPERAND_TYPE)
