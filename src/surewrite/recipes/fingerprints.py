"""Belongs here: one text for equal payloads, and its fingerprint. Must not be here: what a difference means, reading the text back.

The text is canonical JSON: no spaces, names of maps in the order of their UTF-8 bytes, numbers by value in plain decimals
(``1``, ``1.0`` and ``Decimal("1.00")`` are one number). Lists keep their order. What JSON has no type for begins with a letter
before the text, so that no two types share a form: bytes ``b"..."`` in base64, aware datetimes ``d"..."`` in UTC, dates
``D"..."``, UUIDs ``u"..."``; sets are ``<...>`` in the order of their elements' texts. Texts are not normalised: two
spellings of one Unicode text are two payloads. The fingerprint is the SHA-256 of the text in UTF-8, in hexadecimal digits.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from surewrite.core.values import NumberOutOfRange, number_text
from surewrite.errors import InvalidRequest


def fingerprint(payload: object) -> str:
    """64 hexadecimal digits that equal payloads share. Raises ``InvalidRequest`` for what has no canonical form."""
    try:
        return hashlib.sha256(canonical_text(payload).encode()).hexdigest()
    except UnicodeEncodeError:
        raise InvalidRequest("the payload holds half of a surrogate pair, which has no UTF-8 form") from None
    except RecursionError:
        raise InvalidRequest("the payload holds itself, or is nested too deep") from None


def canonical_text(value: object) -> str:
    """The canonical text of a payload."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case int() | float() | Decimal():
            return _number(value)
        case bytes():
            return f"b{_quoted(base64.b64encode(value).decode())}"
        case datetime():
            return f"d{_quoted(_moment(value))}"
        case date():
            return f"D{_quoted(value.isoformat())}"
        case UUID():
            return f"u{_quoted(str(value))}"
        case list() | tuple():
            return f"[{','.join(canonical_text(element) for element in cast('list[object]', value))}]"
        case set() | frozenset():
            return f"<{','.join(sorted(canonical_text(element) for element in cast('AbstractSet[object]', value)))}>"
        case dict():
            return _map(cast("dict[object, object]", value))
        case _:
            raise InvalidRequest(f"the payload holds a {type(value).__name__}, which has no canonical form: give the values that tell two calls apart")


def _map(value: dict[object, object]) -> str:
    names: list[str] = []
    for name in value:
        if not isinstance(name, str):
            raise InvalidRequest(f"the payload has a map with a {type(name).__name__} for a name: the names of a map are texts")
        names.append(name)
    names.sort(key=lambda name: name.encode())
    return "{" + ",".join(f"{_quoted(name)}:{canonical_text(value[name])}" for name in names) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: Any) -> str:
    try:
        return number_text(Decimal(repr(value)) if isinstance(value, float) else value)
    except (NumberOutOfRange, ArithmeticError):
        raise InvalidRequest("the payload holds a number of more than 38 digits, or none at all, such as NaN") from None


def _moment(value: datetime) -> str:
    if value.utcoffset() is None:
        raise InvalidRequest("the payload holds a datetime without a time zone, which is no moment: give it one")
    try:
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise InvalidRequest("the payload holds a datetime that in UTC is outside of the years 1 to 9999") from None
