"""Belongs here: the checks on a request's members: known, of the right shape, within their constraints. Must not be here: values, expressions, tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from surewrite.core import limits
from surewrite.engine.faults import ServiceError, serialization, validation
from surewrite.engine.validation import parser_text

Shape = Literal["string", "boolean", "integer", "map", "list"]
Reported = Literal["all", "table first", "first"]

_TYPES: Final[dict[Shape, type]] = {"string": str, "boolean": bool, "integer": int, "map": dict, "list": list}
_SHAPE_NAMES: Final[dict[Shape, str]] = {"string": "String", "boolean": "Boolean", "integer": "Integer", "map": "Map", "list": "List"}
_SHOWN_CHARACTERS: Final = 1024
_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]+", re.ASCII)
_REFERENCE: Final = re.compile(r"(?:arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/)?[a-zA-Z0-9_.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a request.

    ``least`` and ``most`` bound the length of text, lists and maps, and the value of integers. ``element`` is the name of
    the structures that a list holds, where a message shows them.
    """

    name: str
    shape: Shape
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    pattern: re.Pattern[str] | None = None
    element: str = ""

    @property
    def label(self) -> str:
        return self.name[0].lower() + self.name[1:]

    @property
    def is_constrained(self) -> bool:
        return bool(self.required or self.choices or self.pattern or self.least is not None or self.most is not None)

    @property
    def type(self) -> type:
        return _TYPES[self.shape]


class Shapes:
    """The members that one structure may have, in the order in which the service reports their faults.

    ``reported`` is how many faults are told: all, those of the table's name alone if it has any, or the first one.
    """

    __slots__ = ("_by_name", "_constrained", "_name", "_reported")

    def __init__(self, name: str, members: Sequence[Member], *, reported: Reported = "all") -> None:
        self._name = name
        self._reported: Reported = reported
        self._by_name = {member.name: member for member in members}
        self._constrained = tuple(member for member in members if member.is_constrained)

    def check_shapes(self, body: Mapping[str, Any]) -> None:
        """Refuse members that are unknown, or whose JSON type is not the one of the service's model."""
        for name, value in body.items():
            member = self._by_name.get(name)
            if member is None:
                raise self._unknown(name)
            if value is not None and (type(value) is not member.type and not _fits(value, member)):
                raise _wrong_shape(value, member)
            if type(value) is str and not value.isascii():
                _require_unicode(value)

    def faults(self, body: Mapping[str, Any], prefix: str = "") -> list[str]:
        """What the constraints say of the members, in the service's older words; empty where all hold."""
        found: list[str] = []
        for member in self._constrained:
            value = body.get(member.name)
            if value is None:
                if member.required:
                    found.append(f"Value null at '{prefix}{member.label}' failed to satisfy constraint: Member must not be null")
            else:
                found.extend(_broken(value, member, prefix))
            if found and (self._reported == "first" or (self._reported == "table first" and member.name == "TableName")):
                return found
        return found

    def check(self, body: Mapping[str, Any]) -> None:
        """Both checks; raises SerializationException or ValidationException with all faults joined."""
        self.check_shapes(body)
        require_none(self.faults(body))

    def _unknown(self, name: str) -> ServiceError:
        return validation(f"The parameter {name} of {self._name} is not supported by this engine")


def require_none(faults: Sequence[str]) -> None:
    """Raise the ValidationException that joins the faults of a request's members; return where there are none."""
    if faults:
        noun = "error" if len(faults) == 1 else "errors"
        raise validation(f"{len(faults)} validation {noun} detected: {'; '.join(faults)}")


def require_map(value: object, what: str) -> Mapping[str, Any]:
    """``value`` as a JSON object; raises SerializationException where it is none."""
    if not isinstance(value, Mapping):
        raise serialization(f"Unexpected value type in payload: {what} must be a map")
    return value  # pyright: ignore[reportUnknownVariableType]


def _require_unicode(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise serialization("The text is not well-formed Unicode") from None


def _fits(value: object, member: Member) -> bool:
    if member.shape == "map":
        return isinstance(value, Mapping)
    if member.shape == "list":
        return isinstance(value, (list, tuple))
    return isinstance(value, member.type) and not isinstance(value, bool)


def _wrong_shape(value: object, member: Member) -> ServiceError:
    target = _SHAPE_NAMES[member.shape]
    elsewhere = "Start of list found where not expected" if target in {"List", "Map"} else f"Unrecognized collection type class java.lang.{target}"
    return serialization(parser_text(value, target) or elsewhere)


def _broken(value: Any, member: Member, prefix: str) -> list[str]:
    is_number = member.shape == "integer"
    size = value if is_number else 0 if member.shape == "boolean" else len(value)
    noun = "value" if is_number else "length"
    rules: list[str] = []
    if member.choices and value not in member.choices:
        rules.append(f"Member must satisfy enum value set: [{', '.join(member.choices)}]")
    # Measured: of an empty text only the length is told.
    if member.pattern is not None and value and not member.pattern.fullmatch(value):
        rules.append(f"Member must satisfy regular expression pattern: {_NAME.pattern}")
    if member.least is not None and size < member.least:
        rules.append(f"Member must have {noun} greater than or equal to {member.least}")
    if member.most is not None and size > member.most:
        rules.append(f"Member must have {noun} less than or equal to {member.most}")
    return broken(value, f"{prefix}{member.label}", rules, member.element)


def broken(value: object, place: str, rules: Sequence[str], element: str = "") -> list[str]:
    """What is told of a value at a place that breaks these rules. ``element`` is the name of the structures in it, where it is a list of some."""
    if not rules:
        return []
    shown = _shown(value, element)
    if len(shown) > _SHOWN_CHARACTERS:
        # The ends are kept, so that the brackets close.
        shown = f"{shown[:_SHOWN_CHARACTERS]}...{shown[-2:]}" if isinstance(value, (Mapping, list, tuple)) else shown[:_SHOWN_CHARACTERS]
    return [f"Value '{shown}' at '{place}' failed to satisfy constraint: {rule}" for rule in rules]


def _shown(value: Any, element: str = "") -> str:
    """A member's value in a message, as Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if element:
            return f"{element}({', '.join(f'{name[:1].lower()}{name[1:]}={_shown(part)}' for name, part in members.items())})"
        return f"{{{', '.join(f'{name}={_shown(part)}' for name, part in members.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(part, element) for part in cast('Sequence[Any]', value))}]"
    return str(value)


TABLE: Final = Member("TableName", "string", required=True, least=1, most=limits.TABLE_REFERENCE_CHARACTERS, pattern=_REFERENCE)
NEW_TABLE: Final = Member("TableName", "string", least=limits.TABLE_NAME_CHARACTERS_LEAST, most=limits.TABLE_NAME_CHARACTERS, pattern=_NAME)
INDEX: Final = Member("IndexName", "string", least=limits.TABLE_NAME_CHARACTERS_LEAST, most=limits.TABLE_NAME_CHARACTERS, pattern=_NAME)
KEY: Final = Member("Key", "map", required=True)
CAPACITY: Final = Member("ReturnConsumedCapacity", "string", choices=("INDEXES", "TOTAL", "NONE"))
COLLECTION_METRICS: Final = Member("ReturnItemCollectionMetrics", "string", choices=("SIZE", "NONE"))
RETURN_VALUES: Final = Member("ReturnValues", "string", choices=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"))
RETURN_ON_FAILURE: Final = Member("ReturnValuesOnConditionCheckFailure", "string", choices=("ALL_OLD", "NONE"))
NAMES: Final = Member("ExpressionAttributeNames", "map")
VALUES: Final = Member("ExpressionAttributeValues", "map")
CONSISTENT: Final = Member("ConsistentRead", "boolean")


def expression(name: str) -> Member:
    """A member that holds an expression's text."""
    return Member(name, "string")


def table_name(reference: str) -> str:
    """The table's name in a TableName member, which may be the table's ARN."""
    return reference.rpartition("/")[2] if reference.startswith("arn:") else reference
