"""Belongs here: checks of attribute values and items, with the service's error texts. Must not be here: keys of tables, expressions, storage access.

Where the service is known to answer in two wordings, depending on the Region, the texts here are the older ones and
have no envelope: ``Input collection [a, a] contains duplicates.`` with bare members, and
``ExpressionAttributeValues contains invalid value: ... for key :v`` around the fault of a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, cast

from surewrite.core import limits
from surewrite.core.values import AttributeValue, Item, NotANumber, NumberOutOfRange, canonical_number, decode_binary, encode_binary, item_size
from surewrite.engine.faults import ServiceError, serialization, validation

INVALID: Final = "One or more parameter values were invalid: "
LONG_TYPES: Final = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "NULL": "NULL", "BOOL": "BOOLEAN", "L": "LIST", "M": "MAP"}
"""Types as some messages name them, but for those of sets."""

NUMBER_OVERFLOW: Final = "Number overflow. Attempting to store a number with magnitude larger than supported range"
EMPTY_VALUE: Final = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES: Final = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"

_TOO_DEEP: Final = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
_NUMBER_FAULTS: Final = {
    "precision": "Attempting to store more than 38 significant digits in a Number",
    "overflow": NUMBER_OVERFLOW,
    "underflow": "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    "not finite": "The parameter cannot be converted to a numeric value",
}


def check_item(item: Mapping[str, Any]) -> Item:
    """The item as it is stored: every value canonical, nothing shared with ``item``. Cost grows with the item.

    Raises ValidationException for a value or a name that the service does not store, SerializationException for one of
    a wrong JSON type. Its size is a matter of ``check_item_size``, because the service looks at that later.
    """
    checked: Item = {}
    for name, value in item.items():
        check_name(name)
        checked[name] = _checked(value, 1)
    return checked


def check_value(value: object, spare_levels: int = 0) -> AttributeValue:
    """One attribute value as it is stored, or that many levels deeper; raises as ``check_item`` does."""
    return _checked(value, 1 - spare_levels)


def check_item_size(item: Item) -> int:
    """The size in bytes of a canonical item that is to be put; raises ValidationException above 400 KB."""
    size = item_size(item)
    if size > limits.ITEM_BYTES:
        raise validation("Item size has exceeded the maximum allowed size")
    return size


def check_updated_size(item: Item) -> int:
    """The size in bytes of the canonical item that an update leaves; raises ValidationException above 400 KB."""
    size = item_size(item)
    if size > limits.ITEM_BYTES:
        raise validation("Item size to update has exceeded the maximum allowed size")
    return size


def check_name(name: str) -> None:
    """Refuse an attribute name that is empty or longer than 65,535 bytes."""
    if not name:
        raise validation(f"{INVALID}Empty attribute name")
    # One character is at most four bytes, so most names are decided by their length.
    if len(name) * 4 > limits.ATTRIBUTE_NAME_BYTES and len(name.encode()) > limits.ATTRIBUTE_NAME_BYTES:
        raise validation(f"{INVALID}Attribute name is too large, must be less than 65536 bytes")
    if not name.isascii():
        _text(name)


def check_depth(value: AttributeValue, level: int) -> None:
    """Refuse a canonical value that would lie deeper than 32 levels with its own level being ``level``, an item's attribute being level 1."""
    if level > limits.NESTING_LEVELS:
        raise validation(_TOO_DEEP)
    if "M" in value:
        for member in value["M"].values():
            check_depth(member, level + 1)
    elif "L" in value:
        for element in value["L"]:
            check_depth(element, level + 1)


def _checked(value: object, level: int) -> AttributeValue:
    if level > limits.NESTING_LEVELS:
        raise validation(_TOO_DEEP)
    if not isinstance(value, dict):
        raise serialization("Unexpected value type in payload")
    typed = cast("AttributeValue", value)
    if len(typed) != 1:
        typed = _one_type(typed)
    for kind, content in typed.items():
        if kind == "S":
            return {"S": _text(content)}
        if kind == "N":
            return {"N": _number(content)}
        if kind == "M":
            return {"M": _map(content, level)}
        if kind == "L":
            return {"L": [_checked(element, level + 1) for element in _array(content)]}
        reader = _READERS.get(kind)
        if reader is not None:
            return {kind: reader(content)}
    raise validation(EMPTY_VALUE)


def _one_type(value: AttributeValue) -> AttributeValue:
    """The member of the service's model that is set; as anywhere in its JSON, unknown members and null count as absent."""
    known = {kind: content for kind, content in value.items() if content is not None and kind in limits.VALUE_TYPES}
    if len(known) != 1:
        # A number that is none is told before there being several types.
        if "N" in known:
            _number(known["N"])
        raise validation(SEVERAL_TYPES if known else EMPTY_VALUE)
    return known


def _map(content: Any, level: int) -> Item:
    if not isinstance(content, dict):
        raise _wrong_type(content, "Map")
    members: Item = {}
    for name, member in cast("dict[str, Any]", content).items():
        check_name(name)
        members[name] = _checked(member, level + 1)
    return members


def _array(content: Any) -> list[Any]:
    if not isinstance(content, (list, tuple)):
        raise _wrong_type(content, "List")
    return cast("list[Any]", content)


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise _wrong_type(content, "String")
    if not content.isascii():
        try:
            content.encode()
        except UnicodeEncodeError:
            raise serialization("The text is not well-formed Unicode") from None
    return content


def _number(content: Any) -> str:
    if not isinstance(content, str):
        raise _wrong_type(content, "String")
    try:
        return canonical_number(content)
    except NumberOutOfRange as refused:
        raise validation(_NUMBER_FAULTS[refused.fault]) from None
    except NotANumber:
        echo = f": {content}" if content else ""
        raise validation(f"The parameter cannot be converted to a numeric value{echo}") from None


def _binary(content: Any) -> bytes:
    if not isinstance(content, str):
        raise _wrong_type(content, "Blob")
    try:
        return decode_binary(content)
    except ValueError:
        raise serialization("Invalid base64 text in a binary value") from None


def _truth(content: Any) -> bool:
    if not isinstance(content, bool):
        raise _wrong_type(content, "Boolean")
    return content


def _null(content: Any) -> bool:
    if not _truth(content):
        raise validation(f"{INVALID}Null attribute value types must have the value of true")
    return True


def _text_set(content: Any) -> list[str]:
    members = [_text(member) for member in _array(content)]
    if not members:
        raise validation(f"{INVALID}An string set  may not be empty")
    if len(set(members)) < len(members):
        raise validation(f"{INVALID}Input collection [{', '.join(members)}] contains duplicates.")
    return sorted(members)


def _number_set(content: Any) -> list[str]:
    members = [_number(member) for member in _array(content)]
    if not members:
        raise validation(f"{INVALID}An number set  may not be empty")
    if len(set(members)) < len(members):
        raise validation("Input collection contains duplicates")
    return sorted(members, key=Decimal)


def _binary_set(content: Any) -> list[str]:
    members = [_binary(member) for member in _array(content)]
    if not members:
        raise validation(f"{INVALID}Binary sets should not be empty")
    if len(set(members)) < len(members):
        raise validation(f"{INVALID}Input collection [{', '.join(map(encode_binary, members))}]of type BS contains duplicates.")
    return list(map(encode_binary, sorted(members)))


def _canonical_binary(content: Any) -> str:
    return encode_binary(_binary(content))


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "B": _canonical_binary,
    "BOOL": _truth,
    "NULL": _null,
    "SS": _text_set,
    "NS": _number_set,
    "BS": _binary_set,
}


def parser_text(content: object, target: str) -> str | None:
    """What the service's parser says where content of a request is no ``target``; ``None`` where that depends on the place."""
    match content:
        case bool():
            return f"{'TRUE' if content else 'FALSE'}_VALUE cannot be converted to {target}"
        case int():
            return f"NUMBER_VALUE cannot be converted to {target}"
        case float():
            return f"DECIMAL_VALUE cannot be converted to {target}"
        case str() if target in {"List", "Map"}:
            return "Unexpected field type"
        case str():
            return f"STRING_VALUE cannot be converted to {target}"
        case Mapping():
            return "Start of structure or map found where not expected"
        case _:
            return None


def _wrong_type(content: object, target: str) -> ServiceError:
    match content:
        case list() | tuple():
            text = "Start of list found where not expected"
        case None:
            return validation(EMPTY_VALUE)
        case _:
            text = parser_text(content, target) or "Unexpected value type in payload"
    return serialization(text)
