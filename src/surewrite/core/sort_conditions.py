"""Belongs here: conditions on the sort key of a query, as users write them and as the service takes them. Must not be here: filters, queries, templates.

A sort key that is exactly one field is compared by values of that field; every other one is text and is compared by text.
Source: Developer Guide, page "Key condition expressions for the Query operation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from surewrite.core.codecs import Unstorable
from surewrite.core.expressions import Between, Compare, ConditionTree, Function, Value, attribute
from surewrite.core.templates import KeyTemplate
from surewrite.core.values import AttributeValue, compare, type_of
from surewrite.errors import InvalidRequest

SortOperator = Literal["=", "<", "<=", ">", ">=", "between", "begins_with"]


@dataclass(frozen=True, slots=True, repr=False)
class SortCondition:
    """Which sort keys a query reads. Make it with ``sw.begins_with``, ``sw.between``, ``sw.equal``, ``sw.lt``, ``sw.le``, ``sw.gt`` or ``sw.ge``."""

    operator: SortOperator
    values: tuple[object, ...]

    def __repr__(self) -> str:
        """The operator; the values may be personal data."""
        return f"<SortCondition {self.operator}>"


def begins_with(prefix: str | bytes) -> SortCondition:
    """Sort keys that begin with a text, or with bytes where the sort key is a field of bytes."""
    return SortCondition("begins_with", (prefix,))


def between(low: Any, high: Any) -> SortCondition:
    """Sort keys from ``low`` to ``high``, both included."""
    return SortCondition("between", (low, high))


def equal(value: Any) -> SortCondition:
    """The sort key with this value."""
    return SortCondition("=", (value,))


def lt(value: Any) -> SortCondition:
    """Sort keys below ``value``."""
    return SortCondition("<", (value,))


def le(value: Any) -> SortCondition:
    """Sort keys up to ``value``, which is included."""
    return SortCondition("<=", (value,))


def gt(value: Any) -> SortCondition:
    """Sort keys above ``value``."""
    return SortCondition(">", (value,))


def ge(value: Any) -> SortCondition:
    """Sort keys from ``value`` on, which is included."""
    return SortCondition(">=", (value,))


def sort_tree(entity: str, condition: Any, name: str, template: KeyTemplate) -> ConditionTree:
    """The condition on the sort key ``name``. Raises ``InvalidRequest`` for values that no sort key of the template can be compared with."""
    if not isinstance(condition, SortCondition):
        raise InvalidRequest(f"{entity}: sort_key takes a condition such as sw.begins_with(...) or sw.between(...), not {type(condition).__name__}")
    key = attribute(name)
    if condition.operator == "begins_with":
        return Function("begins_with", (key, Value(_prefix(entity, condition.values[0], template))))
    values = [_encoded(entity, value, template) for value in condition.values]
    if condition.operator == "between":
        low, high = values
        if (compare(low, high) or 0) > 0:
            raise InvalidRequest(f"{entity}: sw.between takes the lower bound first")
        return Between(key, Value(low), Value(high))
    return Compare(condition.operator, key, Value(values[0]))


def _prefix(entity: str, prefix: object, template: KeyTemplate) -> AttributeValue:
    """A text stays as it is, whatever type the field has in Python: a date is found by the text of its year."""
    if template.stored == "N":
        raise InvalidRequest(f"{entity}: the sort key is a number, which begins with nothing: use sw.between, sw.ge or sw.lt")
    if template.stored == "S" and isinstance(prefix, str):
        value: AttributeValue = {"S": prefix}
    else:
        value = _encoded(entity, prefix, template)
    return _not_empty(entity, value)


def _encoded(entity: str, value: object, template: KeyTemplate) -> AttributeValue:
    what = f"is text, made by {template.text!r}" if template.is_field is None else f"is the field {template.is_field}"
    try:
        return _not_empty(entity, template.codec.store(value))
    except Unstorable as error:
        raise InvalidRequest(f"{entity}: the sort key {what}, and its condition {error}") from None


def _not_empty(entity: str, value: AttributeValue) -> AttributeValue:
    if not value[type_of(value)]:
        raise InvalidRequest(f"{entity}: a key is never empty, so no condition compares one with nothing: leave out sort_key")
    return value
