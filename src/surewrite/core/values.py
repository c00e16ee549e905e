"""Belongs here: the DynamoDB value model: types, exact numbers, sizes, ordering. Must not be here: Python entity classes, JSON."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any, Final, Literal

from surewrite.core import limits

AttributeValue = dict[str, Any]
"""One typed value in the service's own shape: exactly one of S, N (text), B (base64 text), BOOL, NULL, SS, NS, BS, L, M."""

Item = dict[str, AttributeValue]
"""Attribute name to typed value."""

SortToken = str | int | Decimal | bytes
"""What Python sorts and hashes in place of a key attribute's value."""

NumberFault = Literal["precision", "overflow", "underflow", "not finite"]

_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]+))?", re.ASCII)
_PLAIN_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,37}", re.ASCII)
_LARGEST_EXPONENT_WRITTEN: Final = 2**63 - 1
_LARGEST_INTEGER_BITS: Final = 419  # 10**126, the first integer out of range, needs 419 bits.

_EXACT: Final = Context(prec=limits.NUMBER_DIGITS, Emin=-999, Emax=999, traps=[Inexact, InvalidOperation, Overflow])


class NotANumber(ValueError):
    """The text is not a decimal number as the service reads it."""


class NumberOutOfRange(ValueError):
    """The number is none that the service stores; ``fault`` tells in which way."""

    def __init__(self, fault: NumberFault) -> None:
        super().__init__(f"the service stores no such number: {fault}")
        self.fault: NumberFault = fault


def type_of(value: AttributeValue) -> str:
    """The type letters of a well-formed value, such as ``"S"``."""
    return next(iter(value))


def canonical_number(text: str) -> str:
    """The plain decimal text that the service returns for a number written as ``text``.

    Raises ``NotANumber`` or ``NumberOutOfRange``. The bounds are those of the Developer Guide, page "Supported data types
    and naming rules", Number. A zero is held to the bounds by the exponent that it is written with, as the service does.
    """
    if _PLAIN_INTEGER.fullmatch(text):
        return text
    matched = _NUMBER.fullmatch(text)
    if matched is None or not (matched[2] or matched[3]):
        raise NotANumber(f"not a decimal number: {text[:100]!r}")
    fraction = matched[3] or ""
    exponent = _written_exponent(matched[4], matched[5]) - len(fraction)
    significant = (matched[2] + fraction).lstrip("0")
    if not significant:
        _require_magnitude(exponent)
        return "0"
    digits = significant.rstrip("0")
    exponent += len(significant) - len(digits)
    if len(digits) > limits.NUMBER_DIGITS:
        raise NumberOutOfRange("precision")
    _require_magnitude(exponent + len(digits) - 1)
    return ("-" if matched[1] == "-" else "") + _plain(digits, exponent)


def _written_exponent(sign: str | None, digits: str | None) -> int:
    if not digits:
        return 0
    # Stripped first, because int() refuses texts of thousands of digits.
    stripped = digits.lstrip("0")
    if len(stripped) > 19 or int(stripped or "0") > _LARGEST_EXPONENT_WRITTEN:
        raise NotANumber("the exponent does not fit 64 bits")
    return -int(stripped or "0") if sign == "-" else int(stripped or "0")


def _require_magnitude(adjusted: int) -> None:
    if adjusted > limits.NUMBER_LARGEST_EXPONENT:
        raise NumberOutOfRange("overflow")
    if adjusted < limits.NUMBER_SMALLEST_EXPONENT:
        raise NumberOutOfRange("underflow")


def _plain(digits: str, exponent: int) -> str:
    if exponent >= 0:
        return digits + "0" * exponent
    if -exponent < len(digits):
        return f"{digits[:exponent]}.{digits[exponent:]}"
    return "0." + "0" * (-exponent - len(digits)) + digits


def number_text(value: Decimal | int) -> str:
    """The canonical plain decimal text of an exact number; raises ``NumberOutOfRange`` where the service would not store it."""
    if isinstance(value, bool):
        raise TypeError("a bool is no number for the service; write it as BOOL")
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_INTEGER_BITS:
            raise NumberOutOfRange("overflow")
        return canonical_number(str(value))
    if not value.is_finite():
        raise NumberOutOfRange("not finite")
    return canonical_number(str(value)) if value else "0"


def parse_number(text: str) -> Decimal:
    """The exact value of a number's text; raises ``NotANumber`` or ``NumberOutOfRange``."""
    return Decimal(canonical_number(text))


def add_numbers(first: str, second: str) -> str:
    """The exact sum of two canonical numbers as canonical text.

    Raises ``NumberOutOfRange`` where the sum needs more than 38 digits or leaves the range: the service refuses to round.
    """
    return _combine(first, second, subtract=False)


def subtract_numbers(first: str, second: str) -> str:
    """The exact difference of two canonical numbers as canonical text; raises ``NumberOutOfRange`` as ``add_numbers`` does."""
    return _combine(first, second, subtract=True)


def _combine(first: str, second: str, *, subtract: bool) -> str:
    if "." not in first and "." not in second:
        whole = int(first) - int(second) if subtract else int(first) + int(second)
        return canonical_number(str(whole))
    left, right = Decimal(first), Decimal(second)
    try:
        exact = _EXACT.subtract(left, right) if subtract else _EXACT.add(left, right)
    except Inexact:
        raise NumberOutOfRange("precision") from None
    return number_text(exact)


def decode_binary(text: str) -> bytes:
    """The bytes of a B value's base64 text; raises ``ValueError`` for a foreign letter or wrong padding."""
    return binascii.a2b_base64(text, strict_mode=True)


def encode_binary(content: bytes) -> str:
    """The base64 text of a B value."""
    return binascii.b2a_base64(content, newline=False).decode("ascii")


def equal(first: AttributeValue, second: AttributeValue) -> bool:
    """Whether the service holds two well-formed values for equal.

    Numbers compare by value, sets without order, lists in order, maps by key, at every level; values of two types never
    are equal. Developer Guide, page "Comparison operator and function reference".
    """
    if first == second:
        return True
    kind = type_of(first)
    if kind != type_of(second):
        return False
    left, right = first[kind], second[kind]
    match kind:
        case "N":
            return canonical_number(left) == canonical_number(right)
        case "B":
            return decode_binary(left) == decode_binary(right)
        case "SS" | "NS" | "BS":
            return len(left) == len(right) and _members(kind, left) == _members(kind, right)
        case "L":
            return len(left) == len(right) and all(map(equal, left, right))
        case "M":
            return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
        case _:
            return False


def _members(kind: str, members: Iterable[str]) -> frozenset[str | bytes]:
    if kind == "NS":
        return frozenset(map(canonical_number, members))
    if kind == "BS":
        return frozenset(map(decode_binary, members))
    return frozenset(members)


def compare(first: AttributeValue, second: AttributeValue) -> int | None:
    """-1, 0 or 1 as the service orders two S, N or B values of one type; None where it does not order them."""
    kind = type_of(first)
    if kind != type_of(second) or kind not in limits.ORDERED_TYPES:
        return None
    # Any of the three token types orders with itself; the check above keeps them apart.
    left: Any = sort_token(first)
    right: Any = sort_token(second)
    return 0 if left == right else -1 if left < right else 1


def sort_token(value: AttributeValue) -> SortToken:
    """What stands for an S, N or B value in Python's sorting and as a dict key; for one type only, equal exactly when the service's keys are.

    A str is ordered by code points, which is the order of its UTF-8 bytes. Raises ``ValueError`` for other types.
    """
    kind, content = next(iter(value.items()))
    if kind == "S":
        return str(content)
    if kind == "N":
        text = canonical_number(content)
        return Decimal(text) if "." in text else int(text)
    if kind == "B":
        return decode_binary(content)
    raise ValueError(f"the service does not order values of type {kind}")


def key_bytes(value: AttributeValue) -> bytes:
    """Bytes of an S, N or B value whose bytewise order, a prefix before what it begins, is the service's order within one type.

    A number becomes: a byte for its sign; a byte for its decimal exponent; its digits, two a byte. A negative number has
    all of that inverted and a closing byte, so that the longer of two with equal beginning comes first.
    Raises ``ValueError`` for other types.
    """
    kind, content = next(iter(value.items()))
    if kind == "S":
        return str(content).encode()
    if kind == "B":
        return decode_binary(content)
    if kind == "N":
        return _number_bytes(canonical_number(content))
    raise ValueError(f"the service does not order values of type {kind}")


def _number_bytes(text: str) -> bytes:
    if text == "0":
        return b"\x01"
    negative = text[0] == "-"
    whole, _, fraction = text.lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    adjusted = len(significant) - 1 - len(fraction)
    digits = significant.rstrip("0")
    paired = digits + "0" if len(digits) % 2 else digits
    body = bytes([adjusted - limits.NUMBER_SMALLEST_EXPONENT, *(int(paired[at : at + 2]) + 1 for at in range(0, len(paired), 2))])
    if negative:
        return b"\x00" + bytes(255 - byte for byte in body) + b"\xff"
    return b"\x02" + body


def number_size(text: str) -> int:
    """Bytes that the service counts for a canonical number: one, and one for each two digits on either side of the point, and one for a sign."""
    if text == "0":
        return 1
    whole, _, fraction = text.lstrip("-").partition(".")
    if whole == "0":
        return 1 + (len(fraction.lstrip("0")) + 1) // 2 + (text[0] == "-")
    if not fraction:
        whole = whole.rstrip("0")
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + (text[0] == "-")


def value_size(value: AttributeValue) -> int:
    """Bytes that the service counts for a canonical value, without its name; cost grows with the value.

    Developer Guide, page "DynamoDB item sizes and formats", corrected by measured sizes of numbers.
    """
    kind, content = next(iter(value.items()))
    match kind:
        case "S":
            return _text_size(content)
        case "N":
            return number_size(content)
        case "B":
            return _binary_size(content)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(map(_text_size, content))
        case "NS":
            return sum(map(number_size, content))
        case "BS":
            return sum(map(_binary_size, content))
        case "L":
            return limits.CONTAINER_BYTES + sum(limits.ELEMENT_BYTES + value_size(element) for element in content)
        case "M":
            return limits.CONTAINER_BYTES + sum(limits.ELEMENT_BYTES + _text_size(name) + value_size(member) for name, member in content.items())
        case _:
            raise ValueError(f"no type of the service: {kind}")


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _binary_size(text: str) -> int:
    return len(text) // 4 * 3 - text.count("=", -2)


def item_size(item: Mapping[str, AttributeValue]) -> int:
    """Bytes that the service counts for a canonical item against its limit: names and values, nothing fixed."""
    size = 0
    for name, value in item.items():
        text = value.get("S")
        # Most attributes are text, and every write asks: without a call for each it takes half the time.
        if text is not None and text.isascii() and name.isascii():
            size += len(name) + len(text)
        else:
            size += _text_size(name) + value_size(value)
    return size
