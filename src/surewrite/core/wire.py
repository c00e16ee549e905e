"""Belongs here: a request as the service's JSON, and the service's reply as an answer. Must not be here: sockets, signing, retries.

Importing this module loads the JSON codec, so only a backend that speaks HTTP imports it.
The shapes are those of the service's low-level interface (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
and Programming.Errors.html beside it).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, cast

import orjson

from surewrite.core.answer_shapes import flaw_of, is_item
from surewrite.core.answers import Answer, NoAnswer, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""The largest body that is read, packed or unpacked. The service's largest answer, a batch of reads, holds 16 MB of items, and JSON less than doubles it."""

_STATUS_DONE = 200
_STATUS_ERROR_MIN = 400
# zlib's number for "a gzip header and the largest window", https://docs.python.org/3/library/zlib.html#zlib.decompressobj
_GZIP_WINDOW = 31
_MONTHS = {name: number for number, name in enumerate(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1)}


class _DamagedError(Exception):
    """The reply is not the service's: why not, for people."""


def request_body(request: Request) -> bytes:
    """The request's body as JSON; the same request gives the same bytes.

    Raises:
        InvalidRequest: The body holds what JSON cannot say, for instance half a surrogate pair or an object of Python.
    """
    try:
        return orjson.dumps(request.body, default=_plain)
    except TypeError as error:
        # The codec's own text may quote a value, and item contents never enter a message.
        raise InvalidRequest(f"the body of {request.operation} cannot be written as JSON: {type(error).__name__}") from None


def read_answer(
    request: Request,
    status: int,
    body: bytes,
    *,
    checksum: str | None = None,
    encoding: str | None = None,
    date: str | None = None,
    resent: bool = False,
) -> Answer:
    """What one complete HTTP reply says to a request.

    ``checksum``, ``encoding`` and ``date`` are the texts of the headers x-amz-crc32, Content-Encoding and Date. The checksum
    is over the bytes as sent, that is before they are unpacked.

    Returns ``Success`` or ``Rejection`` only for a reply in the service's own shape. All else is ``NoAnswer``: a page of a
    proxy, a wrong checksum, half a document, an error without its type, an object that answers something else. The cost is
    one pass over the body.
    """
    try:
        content = _content(body, checksum, encoding)
        if status == _STATUS_DONE:
            if "__type" in content:
                raise _DamagedError("status 200 with the type of an error")
            flaw = flaw_of(request, content)
            if flaw is not None:
                raise _DamagedError(flaw)
            return Success(content, resent, server_time(date))
        if status >= _STATUS_ERROR_MIN:
            return _rejection(status, content, resent=resent, time=server_time(date))
    except _DamagedError as damage:
        return NoAnswer(f"HTTP status {status}, {damage}")
    return NoAnswer(f"HTTP status {status}, which the service does not use")


@lru_cache(maxsize=8)
def server_time(date: str | None) -> float | None:
    """Seconds since 1970 of a Date header, or ``None`` if there is none or it is not in the form that RFC 9110, 5.6.7 prefers."""
    if date is None:
        return None
    words = date.split(" ")
    try:
        _, day, month, year, clock, zone = words
        hour, minute, second = clock.split(":")
        if zone != "GMT":
            return None
        # A leap second has no number of its own in seconds since 1970.
        return datetime(int(year), _MONTHS[month], int(day), int(hour), int(minute), min(int(second), 59), tzinfo=UTC).timestamp()
    except (ValueError, KeyError, OverflowError):
        return None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError


def _content(body: bytes, checksum: str | None, encoding: str | None) -> dict[str, Any]:
    if checksum is not None and checksum != str(zlib.crc32(body)):
        raise _DamagedError("checksum of the body does not match")
    try:
        content = orjson.loads(_unpacked(body, encoding))
    except ValueError:
        raise _DamagedError("body is not JSON" if body else "no body") from None
    if not isinstance(content, dict):
        raise _DamagedError("body is no JSON object")
    return cast("dict[str, Any]", content)


def _unpacked(body: bytes, encoding: str | None) -> bytes:
    # Names of encodings are compared without case: RFC 9110, 8.4.1.
    name = (encoding or "identity").lower()
    if name == "identity":
        return body
    if name not in {"gzip", "x-gzip"}:
        raise _DamagedError("content encoding that was not asked for")
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = unpacker.decompress(body, ANSWER_BYTES_MAX)
    except zlib.error:
        raise _DamagedError("gzip data is damaged") from None
    if not unpacker.eof or unpacker.unused_data:
        raise _DamagedError("gzip data is cut short, too long, or followed by other data")
    return content


def _rejection(status: int, content: dict[str, Any], *, resent: bool, time: float | None) -> Rejection:
    # Clients take what stands before the first ":" and after the "#": https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
    kind = content.get("__type")
    code = kind.partition(":")[0].rpartition("#")[2] if isinstance(kind, str) else ""
    if not code:
        raise _DamagedError("error without a type")
    message = content.get("message")
    if message is None:
        message = content.get("Message")
    if message is not None and not isinstance(message, str):
        raise _DamagedError("error whose message is no text")
    return Rejection(
        code,
        message or "",
        status,
        item=_item(content.get("Item")) if code == "ConditionalCheckFailedException" else None,
        reasons=_reasons(content.get("CancellationReasons")) if code == "TransactionCanceledException" else (),
        resent=resent,
        server_time=time,
    )


def _item(value: object) -> Item | None:
    # The checksum guards the bytes where the endpoint sends one; here it is only asked whether this is an item at all.
    if value is not None and not is_item(value):
        raise _DamagedError("item is not made of typed values")
    return cast("Item | None", value)


def _reasons(value: object) -> tuple[Reason, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _DamagedError("cancellation whose reasons are no list")
    return tuple(_reason(entry) for entry in cast("list[object]", value))


def _reason(value: object) -> Reason:
    if not isinstance(value, dict):
        raise _DamagedError("cancellation with a reason that is no object")
    entry = cast("dict[str, Any]", value)
    # An action that did not fail has the code "None", and some endpoints leave it out.
    code, message = entry.get("Code") or "None", entry.get("Message")
    if not isinstance(code, str) or not (message is None or isinstance(message, str)):
        raise _DamagedError("cancellation with a reason without a code")
    return Reason(code, message, _item(entry.get("Item")))
