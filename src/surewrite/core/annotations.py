"""Belongs here: from a type annotation to its codec, and codecs of the developer's own. Must not be here: how a single type is stored, entities."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import InitVar, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, cast, get_args, get_origin

from surewrite.core.codecs import Codec, Shape, Undecodable, Unstorable, enum_codec, literal_codec, refuse_type, scalar_codec
from surewrite.core.containers import fixed_tuple_codec, list_codec, map_codec, optional_codec, record_codec, set_codec, tuple_codec
from surewrite.core.values import AttributeValue
from surewrite.errors import DefinitionError

S = TypeVar("S")
T = TypeVar("T")

SUPPORTED: Final = (
    "str, int, float, Decimal, bool, bytes, datetime, date, timedelta, UUID, enums, Literal, list, tuple, set, frozenset, dict[str, T], "
    "dataclasses, and T | None; for a type of your own give codec="
)
_BARE: Final[Mapping[type, str]] = {list: "str", tuple: "str, ...", set: "str", frozenset: "str", dict: "str, str"}
_records: dict[type, Codec[Any]] = {}


def codec_for(annotation: object) -> Codec[Any]:
    """The codec of a type that is written in an annotation and resolved.

    Raises ``DefinitionError`` for a type that has none, and ``NameError`` where a dataclass names a type that does not exist yet.
    """
    scalar = scalar_codec(annotation) if isinstance(annotation, type) else None
    if scalar is not None:
        return scalar
    if isinstance(annotation, NewType):
        return codec_for(annotation.__supertype__)
    if sys.version_info >= (3, 12) and isinstance(annotation, typing.TypeAliasType):
        return codec_for(annotation.__value__)
    origin = get_origin(annotation)
    if origin is None:
        return _class_codec(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return codec_for(arguments[0])
    if origin is Literal:
        return literal_codec(arguments)
    if origin is Union or origin is types.UnionType:
        return _union_codec(arguments)
    return _generic_codec(annotation, origin, arguments)


def _class_codec(annotation: object) -> Codec[Any]:
    if isinstance(annotation, type):
        named = cast("type[object]", annotation)
        if named in _BARE:
            raise DefinitionError(f"{named.__name__} does not say what it holds: write {named.__name__}[{_BARE[named]}] or another type")
        if issubclass(named, Enum):
            return enum_codec(named)
        if is_dataclass(named):
            return _dataclass_codec(named)
    raise DefinitionError(f"{described(annotation)} is no type that can be stored: use {SUPPORTED}")


def _union_codec(arguments: tuple[Any, ...]) -> Codec[Any]:
    rest = [argument for argument in arguments if argument is not types.NoneType]
    if len(rest) != 1 or len(rest) == len(arguments):
        raise DefinitionError(f"{' | '.join(map(described, arguments))} mixes types, so that what is stored does not say which one it is: use {SUPPORTED}")
    return optional_codec(codec_for(rest[0]))


def _generic_codec(annotation: object, origin: object, arguments: tuple[Any, ...]) -> Codec[Any]:
    if origin is list:
        return list_codec(codec_for(arguments[0]))
    if origin is set or origin is frozenset:
        return set_codec(codec_for(arguments[0]), set if origin is set else frozenset)
    if origin is dict:
        if arguments[0] is not str:
            raise DefinitionError(f"{described(annotation)} cannot be stored: the names of a stored map are texts, write dict[str, ...]")
        return map_codec(codec_for(arguments[1]))
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple_codec(codec_for(arguments[0]))
        return fixed_tuple_codec(tuple(codec_for(argument) for argument in arguments))
    raise DefinitionError(f"{described(annotation)} is no type that can be stored: use {SUPPORTED}")


def _dataclass_codec(record: type) -> Codec[Any]:
    known = _records.get(record)
    if known is not None:
        return known
    found: dict[str, Codec[Any]] = {}

    def members() -> Mapping[str, Codec[Any]]:
        if not found:
            hints = typing.get_type_hints(record)
            for name, hint in hints.items():
                if isinstance(hint, InitVar):
                    raise DefinitionError(f"{record.__name__}.{name} is given to {record.__name__} and not kept, so it cannot be stored: give codec=")
            found.update({member.name: codec_for(hints[member.name]) for member in fields(record)})
        return found

    codec = _records[record] = record_codec(record, members)
    try:
        members()
    except (DefinitionError, NameError):
        # Two threads may have made it at once.
        _records.pop(record, None)
        raise
    return codec


def described(annotation: object) -> str:
    """An annotation as a developer writes it."""
    if get_origin(annotation) is None and isinstance(annotation, type):
        return "None" if annotation is types.NoneType else annotation.__name__
    return str(annotation).replace("typing.", "")


def codec(own: type[T], *, via: type[S], encode: Callable[[T], S], decode: Callable[[S], T]) -> Codec[T]:
    """A codec for a type of your own, stored as ``via``, one of the types that can be stored.

    ``encode`` makes a ``via`` value of yours and ``decode`` makes yours of it; they should undo each other. A
    ``ValueError`` from ``decode`` means that the stored value is none of yours. For example::

        codec=sw.codec(Color, via=str, encode=Color.to_hex, decode=Color.from_hex)

    Raises ``DefinitionError`` if ``via`` cannot be stored.
    """
    inner: Codec[S] = codec_for(via)
    if inner.shape == "set":
        raise DefinitionError(f"{inner.type_name} cannot stand for another type, since an empty set is stored as nothing: use list[...]")
    name = own.__name__

    def accept(value: object) -> T:
        if not isinstance(value, own):
            refuse_type(name, value)
        try:
            inner.accept(encode(value))
        except Unstorable as error:
            raise Unstorable(f"is encoded as {inner.type_name}, which {error}") from None
        return value

    def to_stored(value: T) -> AttributeValue:
        return inner.encode(inner.accept(encode(value)))

    def from_stored(value: AttributeValue) -> T:
        plain = inner.decode(value)
        try:
            return decode(plain)
        except ValueError as error:
            raise Undecodable(f"{name} cannot be read from a stored {inner.stored} of another form", inner.stored) from error

    shape: Shape = "ordered" if inner.stored in {"S", "N", "B"} else "plain"
    return Codec(name, inner.stored, shape, accept, to_stored, from_stored)
