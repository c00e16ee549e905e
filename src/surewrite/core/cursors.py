"""Belongs here: the text form of a place in the result of a query or scan. Must not be here: queries, requests.

A cursor holds the key of the item after which to go on, readable by whoever has it, and a digest of the query that it
belongs to. It opens nothing: the query that it is given to says which partition is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from surewrite.core.values import Item
from surewrite.errors import InvalidRequest

_DIGEST_BYTES: Final = 9
_OTHER_QUERY: Final = "this cursor belongs to another query: a cursor goes on with the same query only, with the same values in its conditions"
_NO_CURSOR: Final = "this text is no cursor: give query_page the cursor of the page before as it is, or None for the first page"


def digest_of(query: Any) -> str:
    """A short text for a query that is made of lists, dicts, texts and numbers: equal ones have equal digests."""
    from hashlib import blake2s  # noqa: PLC0415 - only who pages needs it
    from json import dumps  # noqa: PLC0415

    return blake2s(dumps(query, sort_keys=True).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def cursor_text(digest: str, position: Item) -> str:
    """The cursor: letters, digits, ``-`` and ``_``."""
    from base64 import urlsafe_b64encode  # noqa: PLC0415
    from json import dumps  # noqa: PLC0415

    content = dumps([digest, position], separators=(",", ":"), ensure_ascii=False)
    return urlsafe_b64encode(content.encode()).decode("ascii").rstrip("=")


def position_of(cursor: Any, digest: str, expected: Mapping[str, str]) -> Item:
    """The key that a cursor holds; ``expected`` gives the letters of each attribute's type. Raises ``InvalidRequest`` for a cursor of another query."""
    found = _parts(cursor)
    if found is None:
        raise InvalidRequest(_NO_CURSOR)
    told, position = found
    if told != digest or position.keys() != expected.keys():
        raise InvalidRequest(_OTHER_QUERY)
    for name, letters in expected.items():
        value: Any = position[name]
        if not isinstance(value, dict) or list(value) != [letters] or not isinstance(value[letters], str):  # pyright: ignore[reportUnknownArgumentType]
            raise InvalidRequest(_NO_CURSOR)
    return position


def _parts(cursor: Any) -> tuple[str, Item] | None:
    from base64 import urlsafe_b64decode  # noqa: PLC0415
    from json import loads  # noqa: PLC0415

    if not isinstance(cursor, str):
        return None
    try:
        digest, position = loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        return None
    return (digest, cast("Item", position)) if isinstance(digest, str) and isinstance(position, dict) else None
