"""Belongs here: the names and constants that a request gives for its expressions, and which of them were used. Must not be here: parsing, evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.values import AttributeValue, value_size
from surewrite.engine.faults import ServiceError, serialization, validation
from surewrite.engine.validation import check_name, check_value

_NAME: Final = re.compile(r"#[A-Za-z0-9_]+", re.ASCII)
_VALUE: Final = re.compile(r":[A-Za-z0-9_]+", re.ASCII)
_NAMES_MEMBER: Final = "ExpressionAttributeNames"
_VALUES_MEMBER: Final = "ExpressionAttributeValues"
_NONE: Final[dict[str, Any]] = {}


class Substitutions:
    """Names and constants of one request, checked, the constants canonical and copied.

    An absent member is None; an empty one is refused. Raises ValidationException, or SerializationException for a wrong
    JSON type. ``names`` and ``values`` are not to be changed. ``spare_levels`` is how many levels deeper than an item's
    attributes constants may be here.
    """

    __slots__ = ("_used_names", "_used_values", "names", "names_key", "values")

    def __init__(self, names: Mapping[str, str] | None, values: Mapping[str, Any] | None, *, spare_levels: int = 0) -> None:
        self.names: Mapping[str, str] = _NONE if names is None else _checked_names(names)
        self.values: Mapping[str, AttributeValue] = _NONE if values is None else _checked_values(values, spare_levels)
        self.names_key: tuple[tuple[str, str], ...] = tuple(self.names.items())
        self._used_names: set[str] = set()
        self._used_values: set[str] = set()
        self._check_size()

    def use(self, names: Iterable[str], values: Iterable[str]) -> None:
        """Note the placeholders that an expression of the request uses."""
        self._used_names.update(names)
        self._used_values.update(values)

    def require_all_used(self) -> None:
        """Raise ValidationException for names or constants that no expression of the request used; to be called when all are parsed."""
        if len(self._used_names) < len(self.names):
            raise _unused(_NAMES_MEMBER, self.names, self._used_names)
        if len(self._used_values) < len(self.values):
            raise _unused(_VALUES_MEMBER, self.values, self._used_values)

    def _check_size(self) -> None:
        size = sum(len(key) + value_size(value) for key, value in self.values.items())
        if self.names_key:
            size += sum(len(key) + len(name.encode()) for key, name in self.names_key)
        if size > limits.SUBSTITUTIONS_BYTES:
            raise validation("The total size of ExpressionAttributeNames and ExpressionAttributeValues has exceeded the maximum allowed size")


def require_expressions(names: object, values: object, expressions: Mapping[str, str | None]) -> None:
    """Refuse names without any expression, and constants without one that could use them.

    ``expressions`` maps the members that the request might have to their text or None.
    """
    if names is not None and all(text is None for text in expressions.values()):
        raise validation(f"{_NAMES_MEMBER} can only be specified when using expressions")
    users = [member for member in expressions if member != "ProjectionExpression"]
    if values is not None and all(expressions[member] is None for member in users):
        told = f"{' and '.join(users)} {'is' if len(users) == 1 else 'are'} null"
        raise validation(f"{_VALUES_MEMBER} can only be specified when using expressions: {told}")


def _checked_names(names: Mapping[str, Any]) -> Mapping[str, str]:
    if not names:
        raise validation(f"{_NAMES_MEMBER} must not be empty")
    for placeholder, name in names.items():
        _check_placeholder(placeholder, _NAME, _NAMES_MEMBER)
        if not isinstance(name, str):
            raise serialization("Unexpected value type in payload")
        check_name(name)
    return dict(names)


def _checked_values(values: Mapping[str, Any], spare_levels: int) -> Mapping[str, AttributeValue]:
    if not values:
        raise validation(f"{_VALUES_MEMBER} must not be empty")
    checked: dict[str, AttributeValue] = {}
    for placeholder in values:
        _check_placeholder(placeholder, _VALUE, _VALUES_MEMBER)
    for placeholder, value in values.items():
        try:
            checked[placeholder] = check_value(value, spare_levels)
        except ServiceError as refused:
            if refused.code != "ValidationException":
                raise
            raise validation(f"{_VALUES_MEMBER} contains invalid value: {refused.message} for key {placeholder}") from None
    return checked


def _check_placeholder(placeholder: str, pattern: re.Pattern[str], member: str) -> None:
    if not pattern.fullmatch(placeholder):
        raise validation(f'{member} contains invalid key: Syntax error; key: "{placeholder}"')
    if len(placeholder) > limits.PLACEHOLDER_BYTES:
        raise validation(f'{member} contains invalid key: The expression attribute map contains a key that is too long; key: "{placeholder}"')


def _unused(member: str, given: Iterable[str], used: set[str]) -> ServiceError:
    return validation(f"Value provided in {member} unused in expressions: keys: {{{', '.join(key for key in given if key not in used)}}}")
