"""Belongs here: how often a write may take effect, read off the request itself. Must not be here: the library's own opinion of its writes.

The classes are those of the guarantee table. They are found by the engine's grammar, not by the planning that made the
request, so that a write which the planning takes for a harmless one is found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from surewrite.core.requests import Request
from surewrite.core.values import AttributeValue, equal
from surewrite.engine.syntax import (
    AddClause,
    Arithmetic,
    Call,
    Comparison,
    Condition,
    Conjunction,
    DeleteClause,
    Disjunction,
    DocumentPath,
    Negation,
    RemoveClause,
    SetClause,
    UpdateNode,
    ValueReference,
)
from surewrite.engine.writes import ActionKind, WriteAction, read_action


class WriteClass(Enum):
    """How often a write may take effect when it is sent more than once, or executed late."""

    TOKEN = "once: a transaction under its token"
    STAMPED = "once: it demands a stamp that every write replaces"
    LIFE = "once in one life of the item: it raises what it demands, or looks for what it adds"
    IDEMPOTENT = "any number of times"
    NOT_IDEMPOTENT = "once: it must not be sent again"


_KINDS: dict[str, ActionKind] = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}


def class_of_write(request: Request, stamp_attribute: str = "_s") -> WriteClass:
    """The class of a write's request. ``stamp_attribute`` is where the table keeps stamps."""
    if request.operation == "TransactWriteItems":
        return WriteClass.TOKEN
    action = read_action(_KINDS[request.operation], request.body)
    demanded = tuple(_conjuncts(action.condition.condition)) if action.condition is not None else ()
    values: Mapping[str, AttributeValue] = action.condition.values if action.condition is not None else {}
    if any(_equals(part, stamp_attribute) for part in demanded):
        return WriteClass.STAMPED
    written = _constants_written(action)
    if any(_raises(part, values, written) or _adds_what_it_looks_for(part, action.update) for part in demanded):
        return WriteClass.LIFE
    if action.update is None or all(_is_idempotent(clause, action.update) for clause in action.update.clauses):
        return WriteClass.IDEMPOTENT
    return WriteClass.NOT_IDEMPOTENT


def _conjuncts(condition: Condition) -> Iterable[Condition]:
    if isinstance(condition, Conjunction):
        for part in condition.conditions:
            yield from _conjuncts(part)
    else:
        yield condition


def _attribute(operand: object) -> str | None:
    return str(operand.parts[0]) if isinstance(operand, DocumentPath) and len(operand.parts) == 1 else None


def _equals(part: Condition, attribute: str) -> bool:
    return isinstance(part, Comparison) and part.operator == "=" and attribute in (_attribute(part.left), _attribute(part.right))


def _constants_written(action: WriteAction) -> dict[str, AttributeValue]:
    if action.kind == "Put":
        return dict(action.subject)
    found: dict[str, AttributeValue] = {}
    for clause in action.update.clauses if action.update is not None else ():
        name = _attribute(clause.target)
        if name is not None and isinstance(clause, SetClause) and isinstance(clause.value, ValueReference) and action.update is not None:
            found[name] = action.update.values[clause.value.placeholder]
    return found


def _raises(part: Condition, values: Any, written: dict[str, AttributeValue]) -> bool:
    """``n < :v`` while n becomes ``:v``, beside its absence or not; ``n = :m`` while n becomes another number."""
    if isinstance(part, Disjunction):
        return any(_raises(other, values, written) for other in part.conditions)
    if not isinstance(part, Comparison):
        return False
    for name, other in ((_attribute(part.left), part.right), (_attribute(part.right), part.left)):
        if name is None or name not in written or not isinstance(other, ValueReference):
            continue
        same = equal(written[name], values[other.placeholder])
        if (part.operator in ("<", ">") and same) or (part.operator == "=" and not same and "N" in written[name]):
            return True
    return False


def _adds_what_it_looks_for(part: Condition, update: UpdateNode | None) -> bool:
    if update is None:
        return False
    looked_for = part.condition if isinstance(part, Negation) else part
    if not isinstance(looked_for, Call):
        return False
    path = looked_for.arguments[0]
    if isinstance(part, Negation) and looked_for.function == "contains":
        return any(isinstance(clause, AddClause) and clause.target == path for clause in update.clauses)
    if looked_for.function == "attribute_not_exists" and isinstance(path, DocumentPath) and len(path.parts) > 1:
        return any(isinstance(clause, SetClause) and clause.target == path for clause in update.clauses)
    return False


def _is_idempotent(clause: object, update: UpdateNode) -> bool:
    match clause:
        case SetClause(target=target, value=value):
            return not isinstance(value, Arithmetic) and not (isinstance(value, Call) and value.function == "list_append") and _is_plain(target)
        case RemoveClause(target=target) | DeleteClause(target=target):
            return _is_plain(target)
        case AddClause(value=value):
            return "N" not in update.values[value.placeholder]
        case _:
            return False


def _is_plain(path: DocumentPath) -> bool:
    return not any(isinstance(part, int) for part in path.parts)
