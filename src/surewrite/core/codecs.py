"""Belongs here: how a value of one Python type becomes a typed value of the service and comes back. Must not be here: annotations, containers, entities.

A codec has three functions. ``accept`` judges a value that a developer gives and returns what is kept; ``encode`` and
``decode`` may then trust what they get. Their errors say nothing of the value itself, since it may be personal data;
the caller adds entity and field.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NoReturn, TypeVar, cast

from surewrite.core import limits
from surewrite.core.values import AttributeValue, NotANumber, NumberOutOfRange, decode_binary, encode_binary, number_text, parse_number, type_of
from surewrite.errors import DefinitionError

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")

StoredType = Literal["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"]
Shape = Literal["number", "text", "bytes", "ordered", "plain", "set", "list", "map", "record"]
"""Which operations a path to such a value has."""


TOO_DEEP: Final = f"contains itself, or lies deeper than the {limits.NESTING_LEVELS} levels that the service stores"
"""What is wrong with a value that Python cannot walk through to its end."""


class Unstorable(ValueError):
    """The value cannot be stored in this place; the text says why and what to write, without the value."""


class Undecodable(ValueError):
    """The stored value is none of this type; ``stored_type`` has the letters of what is stored, or ``None`` if nothing is."""

    def __init__(self, message: str, stored_type: str | None) -> None:
        super().__init__(message)
        self.stored_type = stored_type


@dataclass(frozen=True, slots=True, eq=False)
class Codec(Generic[T]):
    """One Python type and how it is stored.

    ``type_name`` is the type as a developer writes it, ``stored`` the letters of the stored type. ``element`` is the codec
    of the elements of a set, list or map; ``items`` those of a tuple of fixed length; ``members`` gives those of a dataclass.
    ``optional`` is true where ``None`` is a value of the type, and ``wrapped`` is then the codec of its other values.
    """

    type_name: str
    stored: StoredType
    shape: Shape
    accept: Callable[[object], T]
    encode: Callable[[T], AttributeValue]
    decode: Callable[[AttributeValue], T]
    element: Codec[Any] | None = None
    items: tuple[Codec[Any], ...] = ()
    members: Callable[[], Mapping[str, Codec[Any]]] | None = None
    optional: bool = False
    wrapped: Codec[Any] | None = None

    def store(self, value: object) -> AttributeValue:
        """The typed value for what a developer gives; raises ``Unstorable``."""
        return self.encode(self.accept(value))


def refuse_type(type_name: str, value: object, hint: str = "") -> NoReturn:
    """Raise ``Unstorable`` for a value of another type."""
    given = "None" if value is None else type(value).__name__
    raise Unstorable(f"takes {type_name}, not {given}{': ' + hint if hint else ''}")


def refuse_stored(type_name: str, value: AttributeValue, detail: str = "") -> NoReturn:
    """Raise ``Undecodable`` for a stored value of another type or form."""
    stored = type_of(value)
    raise Undecodable(f"{type_name} cannot be read from a stored {stored}{detail}", stored)


def exact_number_text(number: Decimal | int, type_name: str) -> str:
    """The text of a number as the service keeps it; raises ``Unstorable`` with the way out where it keeps no such number."""
    try:
        return number_text(number)
    except NumberOutOfRange as error:
        reason = {
            "not finite": "NaN and infinity are no numbers of the service: leave the attribute absent, or store a text",
            "precision": f"a stored number has at most {limits.NUMBER_DIGITS} significant digits: round it, or store it as text by a codec of your own",
            "overflow": "its magnitude is over 9.99E+125: store it as text by a codec of your own",
            "underflow": "its magnitude is under 1E-130: round it to zero, or store it as text by a codec of your own",
        }[error.fault]
        raise Unstorable(f"cannot store this {type_name}: {reason}") from None


# ---------------------------------------------------------------------------------------------------------------- text


def _accept_str(value: object) -> str:
    if type(value) is not str:
        if not isinstance(value, str):
            refuse_type("str", value)
        value = str.__str__(value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unstorable("takes a text that has a UTF-8 form, and this one holds half of a surrogate pair") from None
    return value


def _encode_str(value: str) -> AttributeValue:
    return {"S": value}


def _decode_str(value: AttributeValue) -> str:
    try:
        return cast("str", value["S"])
    except KeyError:
        refuse_stored("str", value)


STR: Final = Codec("str", "S", "text", _accept_str, _encode_str, _decode_str)


def _uuid_codec(kind: type[UUID]) -> Codec[UUID]:
    def accept(value: object) -> UUID:
        if isinstance(value, kind):
            return value
        refuse_type("UUID", value, "write UUID(text)" if isinstance(value, str) else "")

    def decode(value: AttributeValue) -> UUID:
        try:
            return kind(value["S"])
        except (KeyError, ValueError):
            refuse_stored("UUID", value)

    return Codec("UUID", "S", "ordered", accept, lambda value: {"S": str(value)}, decode)


# ------------------------------------------------------------------------------------------------------- points in time


def accept_datetime(value: object) -> datetime:
    """An aware datetime; raises ``Unstorable`` for anything else."""
    if not isinstance(value, datetime):
        refuse_type("datetime", value)
    if value.utcoffset() is None:
        raise Unstorable("takes an aware datetime, not a naive one: give it a time zone, as in datetime(..., tzinfo=UTC)")
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise Unstorable("takes a datetime of the years 1 to 9999 in UTC") from None
    return value


def _utc_text(value: datetime) -> str:
    """A moment as text of one width in UTC, microseconds always written, so that the order of texts is the order of time."""
    return (value if value.tzinfo is UTC else value.astimezone(UTC)).isoformat(timespec="microseconds")[:-6] + "Z"


def _encode_datetime(value: datetime) -> AttributeValue:
    return {"S": _utc_text(value)}


def _decode_datetime(value: AttributeValue) -> datetime:
    try:
        moment = datetime.fromisoformat(value["S"])
    except (KeyError, ValueError):
        refuse_stored("datetime", value)
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        refuse_stored("datetime", value, " without a time zone")
    return moment.astimezone(UTC)


_DATETIME: Final = Codec("datetime", "S", "ordered", accept_datetime, _encode_datetime, _decode_datetime)


def _accept_date(value: object) -> date:
    if isinstance(value, datetime):
        refuse_type("date", value, "write value.date()")
    if isinstance(value, date):
        return value
    refuse_type("date", value)


def _decode_date(value: AttributeValue) -> date:
    try:
        return date.fromisoformat(value["S"])
    except (KeyError, ValueError):
        refuse_stored("date", value)


_DATE: Final = Codec("date", "S", "ordered", _accept_date, lambda value: {"S": value.isoformat()}, _decode_date)

_MICROSECOND: Final = timedelta(microseconds=1)
_WHOLE: Final = Context(prec=limits.NUMBER_DIGITS)


def _accept_timedelta(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    refuse_type("timedelta", value, "write timedelta(seconds=...)" if isinstance(value, (int, float, Decimal)) else "")


def _encode_timedelta(value: timedelta) -> AttributeValue:
    # Moved in a context of its own: that of the program may have fewer digits.
    return {"N": number_text(Decimal(value // _MICROSECOND).scaleb(-6, _WHOLE))}


def _decode_timedelta(value: AttributeValue) -> timedelta:
    try:
        microseconds = parse_number(value["N"]).scaleb(6, _WHOLE)
        if microseconds != microseconds.to_integral_value():
            refuse_stored("timedelta", value, " of parts of a microsecond")
        return timedelta(microseconds=int(microseconds))
    except (KeyError, NotANumber, NumberOutOfRange, OverflowError):
        refuse_stored("timedelta", value)


_TIMEDELTA: Final = Codec("timedelta", "N", "number", _accept_timedelta, _encode_timedelta, _decode_timedelta)


# ------------------------------------------------------------------------------------------------------------- numbers

_SAFE_INTEGER: Final = 10**limits.NUMBER_DIGITS


def _accept_int(value: object) -> int:
    if type(value) is not int:
        if isinstance(value, bool) or not isinstance(value, int):
            refuse_type("int", value, "a bool is no number" if isinstance(value, bool) else "")
        value = int(value)
    if not -_SAFE_INTEGER < value < _SAFE_INTEGER:
        exact_number_text(value, "int")
    return value


def _encode_int(value: int) -> AttributeValue:
    return {"N": str(value) if -_SAFE_INTEGER < value < _SAFE_INTEGER else number_text(value)}


def _decode_int(value: AttributeValue) -> int:
    try:
        text: str = value["N"]
    except KeyError:
        refuse_stored("int", value)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = parse_number(text)
    except (NotANumber, NumberOutOfRange):
        refuse_stored("int", value)
    if number != number.to_integral_value():
        refuse_stored("int", value, " with a fraction")
    return int(number)


INT: Final = Codec("int", "N", "number", _accept_int, _encode_int, _decode_int)


def _accept_decimal(value: object) -> Decimal:
    if type(value) is not Decimal:
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            refuse_type("Decimal", value, "write Decimal(str(value)), or declare the field as float" if isinstance(value, float) else "")
        if isinstance(value, int):
            _accept_int(value)
        value = Decimal(value)
    exact_number_text(value, "Decimal")
    return value


def _encode_decimal(value: Decimal) -> AttributeValue:
    text = str(value)
    # What accept let through and is written plainly needs no parsing to be made canonical.
    if "E" in text:
        return {"N": number_text(value)}
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return {"N": "0" if text == "-0" else text}


def _decode_decimal(value: AttributeValue) -> Decimal:
    try:
        number = Decimal(value["N"])
    except (KeyError, InvalidOperation):
        refuse_stored("Decimal", value)
    if not number.is_finite():
        refuse_stored("Decimal", value)
    return number


_DECIMAL: Final = Codec("Decimal", "N", "number", _accept_decimal, _encode_decimal, _decode_decimal)


def _accept_float(value: object) -> float:
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            refuse_type("float", value)
        try:
            converted = float(value)
        except OverflowError:
            converted = math.inf
        if converted != value:
            raise Unstorable("takes float, and this int is not exact as a float: declare the field as int or Decimal")
        value = converted
    exact_number_text(Decimal(repr(value)), "float")
    return value


def _encode_float(value: float) -> AttributeValue:
    # repr is the shortest text that reads back as the same float.
    return {"N": number_text(Decimal(repr(value)))}


def _decode_float(value: AttributeValue) -> float:
    try:
        return float(parse_number(value["N"]))
    except (KeyError, NotANumber, NumberOutOfRange):
        refuse_stored("float", value)


_FLOAT: Final = Codec("float", "N", "number", _accept_float, _encode_float, _decode_float)


# ------------------------------------------------------------------------------------------------------- bool and bytes


def _accept_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    refuse_type("bool", value)


def _decode_bool(value: AttributeValue) -> bool:
    try:
        return cast("bool", value["BOOL"])
    except KeyError:
        refuse_stored("bool", value)


_BOOL: Final = Codec("bool", "BOOL", "plain", _accept_bool, lambda value: {"BOOL": value}, _decode_bool)


def _accept_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    refuse_type("bytes", value, "write bytes(value)" if isinstance(value, (bytearray, memoryview)) else "")


def _decode_bytes(value: AttributeValue) -> bytes:
    try:
        return decode_binary(value["B"])
    except (KeyError, ValueError):
        refuse_stored("bytes", value)


_BYTES: Final = Codec("bytes", "B", "bytes", _accept_bytes, lambda value: {"B": encode_binary(value)}, _decode_bytes)

_SCALARS: Final[Mapping[object, Codec[Any]]] = {
    str: STR,
    int: INT,
    Decimal: _DECIMAL,
    float: _FLOAT,
    bool: _BOOL,
    bytes: _BYTES,
    datetime: _DATETIME,
    date: _DATE,
    timedelta: _TIMEDELTA,
}


_ONE_SPELLING: Final = (STR, INT, _DECIMAL, _BYTES)


def has_one_spelling(codec: Codec[Any]) -> bool:
    """Whether every stored value that the codec reads is the one that it writes, numbers compared by value.

    Not so for a date, a UUID or an enum, whose text may be written in several ways, nor for what rounds.
    """
    return codec in _ONE_SPELLING


def scalar_codec(kind: object) -> Codec[Any] | None:
    """The codec of a type that stands for itself, ``None`` for any other."""
    # Loading uuid takes long, and whoever names its type has done so.
    uuid = sys.modules.get("uuid")
    named: type[UUID] | None = None if uuid is None else uuid.UUID
    if named is not None and kind is named:
        return _uuid_codec(named)
    return _SCALARS.get(kind)


# ---------------------------------------------------------------------------------------------------- enums and literals


def _common_scalar(values: list[object], described: str) -> Codec[Any]:
    types = {type(value) for value in values}
    codec = scalar_codec(types.pop()) if len(types) == 1 else None
    if codec is None:
        raise DefinitionError(f"{described} must have values of one type, such as str or int; otherwise give a codec of your own with codec=")
    return codec


def enum_codec(enumeration: type[Enum]) -> Codec[Enum]:
    """Members are stored by their values, in the type of the values."""
    name = enumeration.__name__
    values = [member.value for member in enumeration]
    inner = _common_scalar(values, f"enum {name}")
    for value in values:
        inner.accept(value)

    def accept(value: object) -> Enum:
        if isinstance(value, enumeration):
            return value
        refuse_type(name, value, f"write {name}(value)" if type(value) is type(values[0]) else "")

    def decode(value: AttributeValue) -> Enum:
        try:
            return enumeration(inner.decode(value))
        except Undecodable:
            refuse_stored(name, value)
        except ValueError:
            refuse_stored(name, value, " that is no value of the enum")

    shape: Shape = "plain" if inner.stored == "BOOL" else "ordered"
    return Codec(name, inner.stored, shape, accept, lambda member: inner.encode(member.value), decode)


def literal_codec(choices: tuple[object, ...]) -> Codec[Any]:
    """Values are stored as what they are; others are refused on the way in and on the way out."""
    name = f"Literal[{', '.join(map(repr, choices))}]"
    inner = _common_scalar(list(choices), name)
    allowed = frozenset(choices)

    def accept(value: object) -> Any:
        accepted = inner.accept(value)
        if accepted not in allowed:
            raise Unstorable(f"takes one of {name}")
        return accepted

    def decode(value: AttributeValue) -> Any:
        found = inner.decode(value)
        if found not in allowed:
            refuse_stored(name, value, " of another value")
        return found

    return Codec(name, inner.stored, inner.shape, accept, inner.encode, decode)


# -------------------------------------------------------------------------------------------------------- time to live


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


def _accept_expiry(value: object) -> datetime:
    moment = accept_datetime(value)
    if not moment.microsecond:
        return moment
    try:
        # Counted in UTC: where clocks are set back, a second later on the clock may be an hour away.
        return (moment.astimezone(UTC).replace(microsecond=0) + _SECOND).astimezone(moment.tzinfo)
    except OverflowError:
        raise Unstorable("takes a datetime of the years 1 to 9999 in UTC") from None


def _encode_expiry(value: datetime) -> AttributeValue:
    return {"N": str((value - _EPOCH) // _SECOND)}


def _decode_expiry(value: AttributeValue) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=int(parse_number(value["N"]).to_integral_value(ROUND_CEILING)))
    except (KeyError, NotANumber, NumberOutOfRange, OverflowError):
        refuse_stored("datetime (time to live)", value)


EXPIRY: Final = Codec("datetime", "N", "ordered", _accept_expiry, _encode_expiry, _decode_expiry)
"""A moment at which an item ends, as whole seconds since 1970, rounded up: the service's time to live.

Source: Developer Guide, page "Using time to live (TTL) in DynamoDB".
"""
