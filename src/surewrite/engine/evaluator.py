"""Belongs here: conditions and projections applied to one item, as pure functions. Must not be here: how an update is applied, storage, transactions.

Items are canonical, as ``validation.check_item`` returns them; constants are so as ``Substitutions`` holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from surewrite.core.values import AttributeValue, Item, compare, decode_binary, equal
from surewrite.engine.paths import project, value_at
from surewrite.engine.syntax import (
    Between,
    Call,
    Comparison,
    Condition,
    ConditionNode,
    Conjunction,
    Disjunction,
    DocumentPath,
    Membership,
    Negation,
    Operand,
    ValueReference,
)
from surewrite.engine.update_evaluator import UpdateResult, apply_update

__all__ = ["UpdateResult", "apply_update", "holds", "project"]

_NO_ITEM: Final[Item] = {}
_ELEMENT_TYPES: Final = {"SS": "S", "NS": "N", "BS": "B"}

Values = Mapping[str, AttributeValue]


def holds(node: ConditionNode, item: Item | None) -> bool:
    """Whether a condition or filter is fulfilled; a missing item is one without any attribute, not even its key."""
    return _holds(node.condition, _NO_ITEM if item is None else item, node.values)


def _holds(condition: Condition, item: Item, values: Values) -> bool:
    match condition:
        case Comparison(operator, left, right):
            return _compares(operator, _operand(left, item, values), _operand(right, item, values))
        case Call(function, arguments):
            return _call_holds(function, arguments, item, values)
        case Conjunction(conditions):
            # all() and any() would take a second frame of the stack for each of up to 300 levels.
            for part in conditions:  # noqa: SIM110
                if not _holds(part, item, values):
                    return False
            return True
        case Disjunction(conditions):
            for part in conditions:  # noqa: SIM110
                if _holds(part, item, values):
                    return True
            return False
        case Negation(part):
            return not _holds(part, item, values)
        case Between(operand, low, high):
            value = _operand(operand, item, values)
            return _compares(">=", value, _operand(low, item, values)) and _compares("<=", value, _operand(high, item, values))
        case Membership(operand, choices):
            value = _operand(operand, item, values)
            return value is not None and any(_compares("=", value, _operand(choice, item, values)) for choice in choices)
        case _:
            assert_never(condition)


def _compares(operator: str, left: AttributeValue | None, right: AttributeValue | None) -> bool:
    if operator == "<>":
        return left is None or right is None or not equal(left, right)
    if left is None or right is None:
        return False
    if operator == "=":
        return equal(left, right)
    order = compare(left, right)
    if order is None:
        return False
    match operator:
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case _:
            return order >= 0


def _operand(operand: Operand, item: Item, values: Values) -> AttributeValue | None:
    if isinstance(operand, ValueReference):
        return values[operand.placeholder]
    if isinstance(operand, DocumentPath):
        return value_at(operand, item)
    # The only function that stands as an operand of a condition is size.
    return _size(_operand(operand.arguments[0], item, values))


def _size(value: AttributeValue | None) -> AttributeValue | None:
    if value is None:
        return None
    kind, content = next(iter(value.items()))
    match kind:
        case "S":
            # The service counts UTF-16 units: measured, while the Developer Guide only says "length".
            return {"N": str(len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2)}
        case "SS" | "NS" | "BS" | "L" | "M":
            return {"N": str(len(content))}
        case "B":
            return {"N": str(len(decode_binary(content)))}
        case _:
            return None


def _call_holds(function: str, arguments: tuple[Operand, ...], item: Item, values: Values) -> bool:
    first = _operand(arguments[0], item, values)
    match function:
        case "attribute_exists":
            return first is not None
        case "attribute_not_exists":
            return first is None
        case _:
            second = _operand(arguments[1], item, values)
            if first is None or second is None:
                return False
    match function:
        case "attribute_type":
            return second.get("S") in first
        case "begins_with":
            return _begins_with(first, second)
        case "contains":
            return _contains(first, second)
        case _:
            # The grammar lets no other function stand as a condition.
            raise AssertionError(function)


def _begins_with(whole: AttributeValue, prefix: AttributeValue) -> bool:
    if "S" in whole and "S" in prefix:
        return str(whole["S"]).startswith(prefix["S"])
    if "B" in whole and "B" in prefix:
        return decode_binary(whole["B"]).startswith(decode_binary(prefix["B"]))
    return False


def _contains(whole: AttributeValue, part: AttributeValue) -> bool:
    kind, content = next(iter(whole.items()))
    part_kind, sought = next(iter(part.items()))
    match kind:
        case "S":
            return part_kind == "S" and sought in content
        case "B":
            return part_kind == "B" and decode_binary(sought) in decode_binary(content)
        case "SS" | "BS" | "NS":
            return part_kind == _ELEMENT_TYPES[kind] and sought in content
        case "L":
            return any(equal(element, part) for element in content)
        case _:
            return False
