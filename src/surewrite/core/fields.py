"""Belongs here: how a field is declared: one declaration, a path on the class, a value on the instance. Must not be here: what a class makes of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Never, TypeVar, overload

from surewrite.core.codecs import TOO_DEEP, Codec, Unstorable
from surewrite.errors import DefinitionError, InvalidRequest

if TYPE_CHECKING:
    from uuid import UUID

    from surewrite.core.paths import BytesPath, ListPath, MapPath, Number, NumberPath, OrderedPath, Path, SetPath, TextPath, ValuePath

O = TypeVar("O")
T = TypeVar("T")
U = TypeVar("U")

Role = Literal["plain", "version", "time to live"]


class Missing(Enum):
    """Stands for a default that was not given, since ``None`` may be one."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """Says that one item only may have a value of the field; see ``unique()``."""

    scope: str | None = None
    normalise: Callable[[Any], str] | None = None
    released_by: str | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is said of a field beside its type."""

    default: object = MISSING
    default_factory: Callable[[], object] | None = None
    stored_as: str | None = None
    codec: Codec[Any] | None = None
    role: Role = "plain"
    unique: UniqueRule | None = None


class Attribute(Generic[T]):
    """A field of an entity: ``name: Attribute[str]``, or with more said of it ``= sw.attribute(...)``.

    On the class it is the path to the stored attribute, of the kind that fits ``T``; on an instance it is the value. An
    instance cannot be changed: ``entity.replace(name=...)`` makes another one.
    """

    __slots__ = ("declaration", "name")

    def __init__(self, declaration: Declaration | None = None) -> None:
        self.declaration = declaration or Declaration()
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        if self.name not in {"", name}:
            raise DefinitionError(f"{owner.__name__}.{name} is the same attribute as {self.name}: declare each of them by a call of its own")
        self.name = name

    @overload
    def __get__(self: Attribute[int], instance: None, owner: type[O]) -> NumberPath[O, int]: ...
    @overload
    def __get__(self: Attribute[int | None], instance: None, owner: type[O]) -> NumberPath[O, int]: ...
    @overload
    def __get__(self: Attribute[Decimal], instance: None, owner: type[O]) -> NumberPath[O, Number]: ...
    @overload
    def __get__(self: Attribute[Decimal | None], instance: None, owner: type[O]) -> NumberPath[O, Number]: ...
    @overload
    def __get__(self: Attribute[float], instance: None, owner: type[O]) -> NumberPath[O, float]: ...
    @overload
    def __get__(self: Attribute[float | None], instance: None, owner: type[O]) -> NumberPath[O, float]: ...
    @overload
    def __get__(self: Attribute[timedelta], instance: None, owner: type[O]) -> NumberPath[O, timedelta]: ...
    @overload
    def __get__(self: Attribute[timedelta | None], instance: None, owner: type[O]) -> NumberPath[O, timedelta]: ...
    @overload
    def __get__(self: Attribute[str], instance: None, owner: type[O]) -> TextPath[O, str]: ...
    @overload
    def __get__(self: Attribute[str | None], instance: None, owner: type[O]) -> TextPath[O, str]: ...
    @overload
    def __get__(self: Attribute[bytes], instance: None, owner: type[O]) -> BytesPath[O, bytes]: ...
    @overload
    def __get__(self: Attribute[bytes | None], instance: None, owner: type[O]) -> BytesPath[O, bytes]: ...
    @overload
    def __get__(self: Attribute[bool], instance: None, owner: type[O]) -> Path[O, bool]: ...
    @overload
    def __get__(self: Attribute[bool | None], instance: None, owner: type[O]) -> Path[O, bool]: ...
    @overload
    def __get__(self: Attribute[frozenset[U]], instance: None, owner: type[O]) -> SetPath[O, U]: ...
    @overload
    def __get__(self: Attribute[set[U]], instance: None, owner: type[O]) -> SetPath[O, U]: ...
    @overload
    def __get__(self: Attribute[list[U]], instance: None, owner: type[O]) -> ListPath[O, U]: ...
    @overload
    def __get__(self: Attribute[list[U] | None], instance: None, owner: type[O]) -> ListPath[O, U]: ...
    @overload
    def __get__(self: Attribute[tuple[U, ...]], instance: None, owner: type[O]) -> ListPath[O, U]: ...
    @overload
    def __get__(self: Attribute[tuple[U, ...] | None], instance: None, owner: type[O]) -> ListPath[O, U]: ...
    @overload
    def __get__(self: Attribute[dict[str, U]], instance: None, owner: type[O]) -> MapPath[O, U]: ...
    @overload
    def __get__(self: Attribute[dict[str, U] | None], instance: None, owner: type[O]) -> MapPath[O, U]: ...
    @overload
    def __get__(self: Attribute[datetime], instance: None, owner: type[O]) -> OrderedPath[O, datetime]: ...
    @overload
    def __get__(self: Attribute[datetime | None], instance: None, owner: type[O]) -> OrderedPath[O, datetime]: ...
    @overload
    def __get__(self: Attribute[date], instance: None, owner: type[O]) -> OrderedPath[O, date]: ...
    @overload
    def __get__(self: Attribute[date | None], instance: None, owner: type[O]) -> OrderedPath[O, date]: ...
    @overload
    def __get__(self: Attribute[UUID], instance: None, owner: type[O]) -> OrderedPath[O, UUID]: ...
    @overload
    def __get__(self: Attribute[UUID | None], instance: None, owner: type[O]) -> OrderedPath[O, UUID]: ...
    @overload
    def __get__(self: Attribute[U | None], instance: None, owner: type[O]) -> ValuePath[O, U]: ...
    @overload
    def __get__(self, instance: None, owner: type[O]) -> ValuePath[O, T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...
    def __get__(self, instance: object, owner: type[Any]) -> Any:
        """The path on the class. An instance has its values itself, so what is asked here was not read."""
        if instance is None:
            return owner._definition.path(self.name)  # noqa: SLF001 - a field and its class are one mechanism
        raise AttributeError(f"{owner.__name__}.{self.name} was not read: this entity was read in part; get it whole")

    if TYPE_CHECKING:
        # Gives the constructor the plain type, and refuses every assignment: there is no instance for it. A frozen dataclass
        # would refuse them too, but mypy then takes inherited fields for plain values. At run time there is none of it.
        def __set__(self, instance: Never, value: T) -> None: ...


@overload
def attribute(*, default: T, stored_as: str = ..., codec: Codec[Any] = ...) -> Attribute[T]: ...
@overload
def attribute(*, default_factory: Callable[[], T], stored_as: str = ..., codec: Codec[Any] = ...) -> Attribute[T]: ...
@overload
def attribute(*, stored_as: str = ..., codec: Codec[Any] = ...) -> Attribute[Any]: ...
def attribute(
    *, default: object = MISSING, default_factory: Callable[[], object] | None = None, stored_as: str | None = None, codec: Codec[Any] | None = None
) -> Any:
    """Say more of a field than its type.

    ``default`` is the value where none is given, ``default_factory`` makes one (for lists and dicts), ``stored_as`` is the
    stored name where it differs from the field's, ``codec`` stores a type of your own (see ``codec()``). An attribute that
    is not stored reads as ``None`` where the type allows it, a set reads empty, another field reads as its default.
    Raises ``DefinitionError`` for contradictions.
    """
    if default is not MISSING and default_factory is not None:
        raise DefinitionError("attribute() takes default or default_factory, not both")
    return Attribute[Any](Declaration(default, default_factory, stored_as, codec))


@overload
def unique(
    *,
    default: T,
    scope: str = ...,
    normalise: Callable[[Any], str] = ...,
    released_by: str = ...,
    stored_as: str = ...,
    codec: Codec[Any] = ...,
) -> Attribute[T]: ...
@overload
def unique(
    *,
    default_factory: Callable[[], T],
    scope: str = ...,
    normalise: Callable[[Any], str] = ...,
    released_by: str = ...,
    stored_as: str = ...,
    codec: Codec[Any] = ...,
) -> Attribute[T]: ...
@overload
def unique(
    *, scope: str = ..., normalise: Callable[[Any], str] = ..., released_by: str = ..., stored_as: str = ..., codec: Codec[Any] = ...
) -> Attribute[Any]: ...
def unique(
    *,
    default: object = MISSING,
    default_factory: Callable[[], object] | None = None,
    scope: str | None = None,
    normalise: Callable[[Any], str] | None = None,
    released_by: str | None = None,
    stored_as: str | None = None,
    codec: Codec[Any] | None = None,
) -> Any:
    """A field of which one item only may have each value: ``email: Attribute[str] = sw.unique(normalise=str.casefold)``.

    Each value is claimed by an item of its own in the same table, which create, put, update, upsert and delete make, move and
    remove in one transaction with the item itself. A value that another item has raises ``ValueTaken``, with its owner. A field
    without a value claims nothing. ``default``, ``default_factory``, ``stored_as`` and ``codec`` are those of ``attribute()``.

    ``scope`` narrows where a value must be the only one: ``"{tenant}"`` names fields whose values are part of the claim, other
    text is part of it as it stands; without a value for one of these fields nothing is claimed. ``normalise`` makes of a value the
    text that is claimed; it must give the same text for ever, since claims that were made by another one are not found again.
    ``released_by`` names an optional field; while it has a value the item claims nothing, as after a soft delete. A type
    with a time to live must name that field here: the service deletes an expired item and would leave its claims.

    Cost: a write that claims or releases is a transaction, two write units per started KB of the item and of each claim, and, but
    for create and for a put of a loaded entity, one consistent read. Other writes cost what they cost without it.
    Raises ``DefinitionError`` for contradictions.
    """
    if default is not MISSING and default_factory is not None:
        raise DefinitionError("unique() takes default or default_factory, not both")
    return Attribute[Any](Declaration(default, default_factory, stored_as, codec, unique=UniqueRule(scope, normalise, released_by)))


def version(*, stored_as: str | None = None, init: Literal[False] = False) -> Attribute[int | None]:
    """The version of an entity, a number that every write raises: ``revision: Attribute[int | None] = sw.version()``.

    It is ``None`` on an entity that was never stored and on an item that has none; create stores 1. It is set by the
    library only, so it is no parameter of the entity, which ``init`` tells type checkers.
    """
    if init:
        raise DefinitionError("version(): the version is set by the library: leave out init")
    return Attribute[int | None](Declaration(stored_as=stored_as, role="version"))


@overload
def time_to_live(*, default: T, stored_as: str = ...) -> Attribute[T]: ...
@overload
def time_to_live(*, stored_as: str = ...) -> Attribute[Any]: ...
def time_to_live(*, default: object = MISSING, stored_as: str | None = None) -> Any:
    """The moment at which an item ends, an aware datetime, stored in whole seconds since 1970.

    A moment between two seconds is rounded up when the entity is made, so that no item ends early. After it the item is
    absent for reads and conditions; the service deletes it later. Without a value the item does not end.
    Source: Developer Guide, page "Using time to live (TTL) in DynamoDB".
    """
    return Attribute[Any](Declaration(default, None, stored_as, None, "time to live"))


@dataclass(frozen=True, slots=True, eq=False)
class FieldInfo:
    """A field of one entity, resolved. ``codec`` is that of its values other than ``None``; ``optional`` says whether ``None`` is one."""

    entity: str
    name: str
    stored_name: str
    codec: Codec[Any]
    optional: bool
    default: object
    default_factory: Callable[[], object] | None
    role: Role
    unique: UniqueRule | None = None

    @property
    def is_set(self) -> bool:
        """Whether the value is a set, whose empty value is stored as nothing."""
        return self.codec.shape == "set"

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING or self.default_factory is not None

    @property
    def required(self) -> bool:
        """Whether an item without the attribute could not be read."""
        return not (self.optional or self.is_set or self.has_default)

    def make_default(self) -> Any:
        """A default value; only for a field that has one."""
        return self.default if self.default_factory is None else self.accept(self.default_factory())

    def accept(self, value: object) -> Any:
        """The value as it is kept; raises ``InvalidRequest`` that names the field for one that cannot be stored."""
        if value is None:
            if self.optional:
                return None
            kind = self.codec.type_name
            raise InvalidRequest(f"{self.entity}.{self.name} takes {kind}, not None: to allow it declare Attribute[{kind} | None]")
        try:
            return self.codec.accept(value)
        except Unstorable as error:
            raise InvalidRequest(f"{self.entity}.{self.name} {error}") from None
        except RecursionError:
            raise InvalidRequest(f"{self.entity}.{self.name} takes {self.codec.type_name}, and this one {TOO_DEEP}") from None

    def when_absent(self) -> Any:
        """What a missing attribute reads as; only for a field that is not required."""
        if self.optional:
            return None
        if self.is_set:
            return self.codec.decode({"NULL": True})
        return self.make_default()
