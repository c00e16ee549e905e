"""Belongs here: codecs of lists, tuples, sets, dicts, dataclasses and optional values. Must not be here: reading annotations, entities.

``None`` inside a list or a map is stored as NULL. An empty set is none that the service can store: inside a list or a
map it is NULL as well, as a member of a dataclass it is left out, and it reads back empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields
from typing import Any, Final, cast

from surewrite.core.codecs import STR, Codec, StoredType, Undecodable, Unstorable, refuse_stored, refuse_type
from surewrite.core.values import AttributeValue
from surewrite.errors import DefinitionError

_SET_TYPES: Final[Mapping[str, StoredType]] = {"S": "SS", "N": "NS", "B": "BS"}

NULL: Final[AttributeValue] = {"NULL": True}


def is_set(codec: Codec[Any]) -> bool:
    """Whether the type is a set, whose empty value is stored as nothing."""
    return codec.shape == "set"


def optional_codec(inner: Codec[Any]) -> Codec[Any]:
    """``None`` or a value: ``None`` is NULL where a place must be filled."""
    if is_set(inner):
        raise DefinitionError(f"{inner.type_name} | None cannot be told apart when stored, since an empty set is stored as nothing: write {inner.type_name}")

    def accept(value: object) -> Any:
        return None if value is None else inner.accept(value)

    def encode(value: Any) -> AttributeValue:
        return {"NULL": True} if value is None else inner.encode(value)

    def decode(value: AttributeValue) -> Any:
        return None if "NULL" in value else inner.decode(value)

    return Codec(
        f"{inner.type_name} | None", inner.stored, inner.shape, accept, encode, decode,
        element=inner.element, items=inner.items, members=inner.members, optional=True, wrapped=inner,
    )  # fmt: skip


def _at(place: object, error: Unstorable) -> Unstorable:
    return Unstorable(f"{place} {error}")


def _accept_elements(element: Codec[Any], values: Iterable[object]) -> list[Any]:
    accepted: list[Any] = []
    for index, value in enumerate(values):
        try:
            accepted.append(element.accept(value))
        except Unstorable as error:
            raise _at(f"element {index}", error) from None
    return accepted


def list_codec(element: Codec[Any]) -> Codec[list[Any]]:
    """``list[T]``: kept as a new list, so that what the caller does with the one given changes no entity."""
    name = f"list[{element.type_name}]"

    def accept(value: object) -> list[Any]:
        if not isinstance(value, list):
            refuse_type(name, value)
        return _accept_elements(element, cast("list[object]", value))

    def encode(value: list[Any]) -> AttributeValue:
        return {"L": [element.encode(part) for part in _accept_elements(element, value)]}

    def decode(value: AttributeValue) -> list[Any]:
        try:
            parts: list[AttributeValue] = value["L"]
        except KeyError:
            refuse_stored(name, value)
        return [element.decode(part) for part in parts]

    return Codec(name, "L", "list", accept, encode, decode, element=element)


def tuple_codec(element: Codec[Any]) -> Codec[tuple[Any, ...]]:
    """``tuple[T, ...]``."""
    name = f"tuple[{element.type_name}, ...]"

    def accept(value: object) -> tuple[Any, ...]:
        if not isinstance(value, tuple):
            refuse_type(name, value, "write tuple(value)" if isinstance(value, list) else "")
        return tuple(_accept_elements(element, cast("tuple[object, ...]", value)))

    def encode(value: tuple[Any, ...]) -> AttributeValue:
        return {"L": [element.encode(part) for part in _accept_elements(element, value)]}

    def decode(value: AttributeValue) -> tuple[Any, ...]:
        try:
            parts: list[AttributeValue] = value["L"]
        except KeyError:
            refuse_stored(name, value)
        return tuple(element.decode(part) for part in parts)

    return Codec(name, "L", "list", accept, encode, decode, element=element)


def fixed_tuple_codec(items: tuple[Codec[Any], ...]) -> Codec[tuple[Any, ...]]:
    """``tuple[A, B]``: a list of exactly that length."""
    name = f"tuple[{', '.join(item.type_name for item in items)}]"
    length = len(items)

    def accept(value: object) -> tuple[Any, ...]:
        if not isinstance(value, tuple):
            refuse_type(name, value, "write tuple(value)" if isinstance(value, list) else "")
        given = cast("tuple[object, ...]", value)
        if len(given) != length:
            raise Unstorable(f"takes {name}, {length} elements, not {len(given)}")
        accepted: list[Any] = []
        for index, (item, part) in enumerate(zip(items, given, strict=True)):
            try:
                accepted.append(item.accept(part))
            except Unstorable as error:
                raise _at(f"element {index}", error) from None
        return tuple(accepted)

    def encode(value: tuple[Any, ...]) -> AttributeValue:
        return {"L": [item.encode(part) for item, part in zip(items, accept(value), strict=True)]}

    def decode(value: AttributeValue) -> tuple[Any, ...]:
        parts: list[AttributeValue] | None = value.get("L")
        if parts is None or len(parts) != length:
            refuse_stored(name, value, "" if parts is None else " of another length")
        return tuple(item.decode(part) for item, part in zip(items, parts, strict=True))

    return Codec(name, "L", "list", accept, encode, decode, items=items)


def set_codec(element: Codec[Any], constructor: type[set[Any] | frozenset[Any]]) -> Codec[AbstractSet[Any]]:
    """``frozenset[T]`` and ``set[T]`` of texts, numbers or bytes, or of what is stored as one of them."""
    name = f"{constructor.__name__}[{element.type_name}]"
    stored = _SET_TYPES.get(element.stored)
    if stored is None or element.optional:
        raise DefinitionError(f"{name} cannot be stored as a set: elements are texts, numbers or bytes; write list[{element.type_name}]")
    letter = element.stored

    def accept(value: object) -> AbstractSet[Any]:
        if not isinstance(value, constructor):
            refuse_type(name, value, f"write {constructor.__name__}(value)" if isinstance(value, (set, frozenset, list, tuple)) else "")
        return constructor(_accept_elements(element, cast("AbstractSet[object]", value)))

    def encode(value: AbstractSet[Any]) -> AttributeValue:
        # Sorted, so that one value is one request; two elements may have one stored text, as 0.0 and -0.0 have not in a set.
        return {stored: sorted({element.encode(part)[letter] for part in _accept_elements(element, value)})} if value else {"NULL": True}

    def decode(value: AttributeValue) -> AbstractSet[Any]:
        parts = value.get(stored)
        if parts is None:
            if "NULL" in value:
                return constructor()
            refuse_stored(name, value)
        return constructor(element.decode({letter: part}) for part in parts)

    return Codec(name, stored, "set", accept, encode, decode, element=element)


def map_codec(element: Codec[Any]) -> Codec[dict[str, Any]]:
    """``dict[str, T]``."""
    name = f"dict[str, {element.type_name}]"

    def accept(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            refuse_type(name, value)
        accepted: dict[str, Any] = {}
        for key, part in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise Unstorable(f"takes {name}, and one of its keys is of type {type(key).__name__}")
            if not key:
                raise Unstorable(f"takes {name}, and one of its keys is empty: the service stores no member without a name")
            try:
                accepted[STR.accept(key)] = element.accept(part)
            except Unstorable as error:
                raise _at("a value of it", error) from None
        return accepted

    def encode(value: dict[str, Any]) -> AttributeValue:
        return {"M": {key: element.encode(part) for key, part in accept(value).items()}}

    def decode(value: AttributeValue) -> dict[str, Any]:
        try:
            parts: dict[str, AttributeValue] = value["M"]
        except KeyError:
            refuse_stored(name, value)
        return {key: element.decode(part) for key, part in parts.items()}

    return Codec(name, "M", "map", accept, encode, decode, element=element)


def record_codec(record: type, members: Callable[[], Mapping[str, Codec[Any]]]) -> Codec[Any]:
    """A dataclass: a map with a name for each field. ``members`` is asked at first use, so that a dataclass may contain itself.

    A field that is ``None`` or an empty set is left out. One that is not stored reads as ``None``, empty, or its default,
    in this order; names stored beside the fields are not read, and a later write of the whole value leaves them out.
    A ``ValueError`` of its ``__post_init__`` means that the stored value is none of it.
    """
    name = record.__name__
    declared: tuple[Field[Any], ...] = fields(record)
    for field in declared:
        if not field.init:
            raise DefinitionError(f"{name}.{field.name} is not a parameter of {name}, so it cannot be read back: store it by a codec of your own with codec=")

    def accept(value: object) -> Any:
        if type(value) is not record:
            refuse_type(name, value)
        for member, codec in members().items():
            try:
                codec.accept(getattr(value, member))
            except Unstorable as error:
                raise _at(f"{name}.{member}", error) from None
        return value

    def encode(value: Any) -> AttributeValue:
        content: dict[str, AttributeValue] = {}
        for member, codec in members().items():
            part = getattr(value, member)
            if part is None or (codec.shape == "set" and not part):
                continue
            content[member] = codec.store(part)
        return {"M": content}

    def decode(value: AttributeValue) -> Any:
        content: dict[str, AttributeValue] | None = value.get("M")
        if content is None:
            refuse_stored(name, value)
        codecs = members()
        arguments: dict[str, Any] = {}
        for field in declared:
            member = field.name
            codec = codecs[member]
            part = content.get(member)
            if part is not None and "NULL" not in part:
                arguments[member] = codec.decode(part)
            elif codec.optional:
                arguments[member] = None
            elif codec.shape == "set":
                arguments[member] = codec.decode(NULL)
            elif field.default is MISSING and field.default_factory is MISSING:
                raise Undecodable(f"{name}.{member} is required and not stored", None if part is None else "NULL")
        try:
            return record(**arguments)
        except ValueError as error:
            raise Undecodable(f"{name} refuses what is stored", "M") from error

    return Codec(name, "M", "record", accept, encode, decode, members=members)
