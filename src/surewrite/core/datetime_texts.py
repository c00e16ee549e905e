"""Belongs here: the codec of moments whose stored text has a form that other programs chose. Must not be here: the library's own form of a moment, annotations.

Conditions, sort conditions and keys compare texts. So a form is taken only where the order of its texts is the order of
time, and a stored text that is not written in exactly that form is not read, since it would be compared wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timezone
from typing import Final

from surewrite.core.codecs import Codec, Undecodable, Unstorable, accept_datetime
from surewrite.core.values import AttributeValue, type_of
from surewrite.errors import DefinitionError

_PIECE: Final = re.compile(r"%(?P<directive>3f|[YmdHMSf%])|\[(?P<optional>[^\[\]]*)\]|(?P<literal>[^%\[\]])", re.ASCII)
_DIGITS: Final = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "f": 6, "3f": 3}
_LARGEST_FIRST: Final = ("Y", "m", "d", "H", "M", "S", "f")
_MICROSECONDS_OF_A_MILLISECOND: Final = 1000
_WAY_OUT: Final = "To store it all the same write sw.codec(datetime, via=str, encode=..., decode=...); conditions then compare the texts"


@dataclass(frozen=True, slots=True)
class _Piece:
    """One part of a form: a directive, or else text. ``optional`` is true for what is left out where the fraction of the second is zero."""

    directive: str | None
    text: str
    optional: bool = False


def datetime_text(form: str, *, zone: timezone = UTC) -> Codec[datetime]:
    """A codec for datetimes that other programs store as text: ``sw.attribute(codec=sw.datetime_text("%Y-%m-%dT%H:%M:%S.%3fZ"))``.

    ``form`` is made of ``%Y %m %d %H %M %S``, ``%f`` (six digits), ``%3f`` (three), and text as it stands, the offset too. A
    part in brackets is left out where the fraction of the second is zero::

        "%Y-%m-%dT%H:%M:%S.%3fZ"          toISOString of JavaScript
        "%Y-%m-%dT%H:%M:%S[.%f]+00:00"    isoformat of Python, in UTC
        "%Y-%m-%dT%H:%M:%S.%f+0000"       UTCDateTimeAttribute of PynamoDB

    ``zone`` is the offset in which the text is written. The moment is read in UTC. A stored text of another form raises
    ``UndecodableItem``; a moment with parts that the form does not keep raises ``InvalidRequest``. So conditions, sort
    conditions and keys mean what they say. Raises ``DefinitionError`` for a form whose texts are not in the order of time:
    largest part first, each of fixed width.
    """
    if not isinstance(zone, timezone):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError("datetime_text(): zone is a fixed offset, such as timezone(timedelta(hours=1)): in a zone with summer time an hour comes twice")
    pieces = tuple(_pieces(form))
    _require_order(form, pieces)
    write = _writer(pieces, zone)
    read = _reader(pieces, zone)

    def accept(value: object) -> datetime:
        moment = accept_datetime(value)
        try:
            kept = read(write(moment)) == moment
        except (OverflowError, ValueError):
            kept = False
        if not kept:
            raise Unstorable(
                f"takes a datetime that the form {form!r} keeps whole, and this one has a smaller part: cut it, as in value.replace(microsecond=0)"
            )
        return moment

    def decode(value: AttributeValue) -> datetime:
        text = value.get("S")
        moment = read(text) if isinstance(text, str) else None
        if moment is None or write(moment) != text:
            raise Undecodable(
                f"datetime of the form {form!r} cannot be read from a stored {type_of(value)}{'' if text is None else ' of another form'}", type_of(value)
            )
        return moment

    return Codec("datetime", "S", "ordered", accept, lambda moment: {"S": write(moment)}, decode)


def _pieces(form: str) -> Iterator[_Piece]:
    position = 0
    for found in _PIECE.finditer(form):
        if found.start() != position:
            break
        position = found.end()
        if found["optional"] is None:
            yield _piece(found["directive"], found["literal"] or "")
            continue
        inner = list(_pieces(found["optional"]))
        if [piece.directive in {"f", "3f"} for piece in inner if piece.directive] != [True] or any(piece.optional for piece in inner):
            raise DefinitionError(f"datetime_text({form!r}): brackets hold the fraction of the second, as in [.%f]")
        for piece in inner:
            yield _Piece(piece.directive, piece.text, optional=True)
    if position != len(form):
        raise DefinitionError(f"datetime_text({form!r}): it takes %Y %m %d %H %M %S %f %3f, [.%f] and text; a percent sign is written twice")


def _piece(directive: str | None, literal: str) -> _Piece:
    return _Piece(None, "%") if directive == "%" else _Piece(directive, literal)


def _require_order(form: str, pieces: tuple[_Piece, ...]) -> None:
    """The order of texts is the order of time: the largest part first and none left out between, and a missing fraction below any other."""
    parts = tuple(piece.directive.removeprefix("3") for piece in pieces if piece.directive is not None)
    if len(parts) < 3 or parts != _LARGEST_FIRST[: len(parts)]:
        raise DefinitionError(
            f"datetime_text({form!r}): the order of such texts is not the order of time: a form begins with %Y, %m and %d, and each part follows "
            f"the next larger one. {_WAY_OUT}"
        )
    optional = [index for index, piece in enumerate(pieces) if piece.optional]
    if not optional or optional[-1] + 1 == len(pieces):
        return
    first, following = pieces[optional[0]], pieces[optional[-1] + 1]
    if following.text >= (first.text or "0"):
        raise DefinitionError(
            f"datetime_text({form!r}): {following.text!r} comes after {first.text!r} in the order of texts, so that a moment without a fraction "
            f"would be later than one with it. {_WAY_OUT}"
        )


def _writer(pieces: tuple[_Piece, ...], zone: timezone) -> Callable[[datetime], str]:
    def write(moment: datetime) -> str:
        local = moment.astimezone(zone)
        numbers = {
            "Y": local.year, "m": local.month, "d": local.day, "H": local.hour, "M": local.minute, "S": local.second,
            "f": local.microsecond, "3f": local.microsecond // _MICROSECONDS_OF_A_MILLISECOND,
        }  # fmt: skip
        shown = (piece for piece in pieces if local.microsecond or not piece.optional)
        return "".join(piece.text if piece.directive is None else f"{numbers[piece.directive]:0{_DIGITS[piece.directive]}d}" for piece in shown)

    return write


def _reader(pieces: tuple[_Piece, ...], zone: timezone) -> Callable[[str], datetime | None]:
    def pattern(piece: _Piece) -> str:
        found = re.escape(piece.text) if piece.directive is None else f"(?P<{piece.directive[-1]}>[0-9]{{{_DIGITS[piece.directive]}}})"
        return f"(?:{found})?" if piece.optional else found

    form = re.compile("".join(map(pattern, pieces)), re.ASCII)

    def read(text: str) -> datetime | None:
        found = form.fullmatch(text)
        if found is None:
            return None
        part = {name: int(digits) for name, digits in found.groupdict(default="0").items()}
        fraction = (found.groupdict().get("f") or "").ljust(_DIGITS["f"], "0")
        try:
            local = datetime(part["Y"], part["m"], part["d"], part.get("H", 0), part.get("M", 0), part.get("S", 0), int(fraction), tzinfo=zone)
            return local.astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    return read
