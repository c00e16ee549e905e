"""Belongs here: keys that users give to recipes, as one text, and how texts are spread. Must not be here: key templates of entities."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from surewrite.errors import InvalidRequest

KeyPart = str | int
RecipeKey = KeyPart | Sequence[KeyPart]
"""A key as a user gives it: a text, a number, or several of them."""


def key_text(key: Any, what: str) -> str:
    """A key of one or more parts as one text; different keys make different texts.

    Raises ``InvalidRequest`` for ``None``, an empty or blank part, no parts, and parts that are neither text nor whole
    numbers, or have no UTF-8 form: a key that is missing would be one key for all. A number and its text are the same part.
    """
    parts: Sequence[object] = cast("Sequence[object]", key) if isinstance(key, (list, tuple)) else (key,)
    if not parts:
        raise InvalidRequest(f"{what}: the key has no part: give at least one")
    return "/".join(_escaped(part, what) for part in parts)


def _escaped(part: object, what: str) -> str:
    if isinstance(part, bool) or not isinstance(part, (str, int)):
        raise InvalidRequest(f"{what}: a key is made of texts and whole numbers, not {type(part).__name__}: a missing key would be one key for all calls")
    text = str(part)
    if not text.strip():
        raise InvalidRequest(f"{what}: a part of the key is empty: it would be one key for all calls")
    if not _has_utf8(text):
        raise InvalidRequest(f"{what}: a part of the key holds half of a surrogate pair, which has no UTF-8 form")
    # "#" ends a value in the key templates of the recipes, "/" joins parts.
    return text.replace("%", "%25").replace("#", "%23").replace("/", "%2F")


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def bucket_of(text: str, count: int) -> int:
    """The bucket of a text among ``count``: the first eight bytes of its SHA-256, modulo the count. The same in every process and release."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % count


def parts_of(text: str) -> tuple[str, ...]:
    """The parts that a key's text was made of."""
    return tuple(part.replace("%2F", "/").replace("%23", "#").replace("%25", "%") for part in text.split("/"))
