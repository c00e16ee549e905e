"""Belongs here: values of users as text and back, each type as it was: answers, events. Must not be here: fingerprints, the service's own value types.

The text is JSON. What JSON has no type for is a map of one name that begins with ``$``: ``{"$decimal": "1.50"}``; a map of the
user's own that looks so gets one ``$`` more.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

from surewrite.errors import InvalidRequest

_WRITERS: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    Decimal: ("$decimal", str),
    datetime: ("$datetime", lambda value: value.isoformat()),
    date: ("$date", lambda value: value.isoformat()),
    UUID: ("$uuid", str),
    bytes: ("$bytes", lambda value: base64.b64encode(value).decode()),
}

_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "$decimal": Decimal,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$uuid": UUID,
    "$bytes": base64.b64decode,
}


def document_text(value: object, what: str) -> str:
    """The value as text. Takes None, bool, int, float, str, Decimal, datetime, date, UUID, bytes, and lists and maps of them.

    A tuple comes back as a list. Raises ``InvalidRequest``, which names ``what`` the value is, for any other type, for a text
    without a UTF-8 form, and for what holds itself.
    """
    try:
        text = json.dumps(_plain(value, what), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # Half of a surrogate pair has no form on the wire: told here, it counts as any value that cannot be kept.
        text.encode()
        return text
    except RecursionError:
        raise InvalidRequest(f"{what} cannot be kept: it holds itself, or is nested too deep") from None
    except ValueError as error:
        if isinstance(error, InvalidRequest):
            raise
        raise InvalidRequest(f"{what} cannot be kept: {error}") from None


def document_of(text: str) -> Any:
    """The value that a text was made of."""
    return json.loads(text, object_hook=_read_map)


def _plain(value: object, what: str) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in _WRITERS:
        tag, write = _WRITERS[kind]
        return {tag: write(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(element, what) for element in cast("list[object]", value)]
    if isinstance(value, dict):
        return _plain_map(cast("dict[object, object]", value), what)
    raise InvalidRequest(
        f"{what} cannot be kept: {kind.__name__} is none of None, bool, int, float, str, Decimal, datetime, date, UUID, bytes, list and dict: make it of those"
    )


def _plain_map(value: dict[object, object], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, element in value.items():
        if not isinstance(name, str):
            raise InvalidRequest(f"{what} cannot be kept: the names of a map are texts, not {type(name).__name__}")
        found[name] = _plain(element, what)
    if len(found) == 1:
        (name,) = found
        if name.startswith("$"):
            return {f"${name}": found[name]}
    return found


def _read_map(found: dict[str, Any]) -> Any:
    if len(found) != 1:
        return found
    ((name, value),) = found.items()
    if name.startswith("$$"):
        return {name[1:]: value}
    reader = _READERS.get(name)
    return found if reader is None else reader(value)
