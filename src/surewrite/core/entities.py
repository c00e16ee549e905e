"""Belongs here: the bases of entities and what every entity can do. Must not be here: any call, any hook that does input or output, how items look."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, cast, dataclass_transform

from surewrite.core.definitions import Definition, definition_of, definitions_of_bases, read_fields, unknown_class_keyword
from surewrite.core.fields import Attribute, FieldInfo, attribute, time_to_live, unique, version
from surewrite.core.indexes import Index
from surewrite.core.keys import Partition, Target, VersionedKey
from surewrite.core.schemas import BoundSchema, Schema, TableLayout
from surewrite.core.stored import STATE, Stored, new_entity, stored_state
from surewrite.core.templates import KeyValue
from surewrite.errors import DefinitionError, InvalidRequest

__all__ = [
    "Attribute",
    "BoundSchema",
    "Entity",
    "FieldInfo",
    "Fields",
    "Schema",
    "Stored",
    "TableLayout",
    "VersionedEntity",
    "attribute",
    "schema_of",
    "stored_state",
    "time_to_live",
    "unique",
    "version",
    "with_stored",
]

_RESERVED: Final = frozenset({"index_partition_of", "key_of", "partition_of", "replace"})
_ABSENT: Final = object()


def _define(
    entity: type,
    *,
    versioned: bool | None,
    discriminator: str | None,
    partition_key: str | None,
    sort_key: str | None,
    indexes: tuple[Index, ...] | None,
) -> Definition:
    if indexes is not None and not isinstance(indexes, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DefinitionError(f"{entity.__name__}: indexes= takes a tuple: write indexes=(sw.global_index(...),)")
    if {True, False} <= {base.__dict__.get("_versioned") for base in entity.__mro__}:
        raise DefinitionError(f"{entity.__name__} cannot be an Entity and a VersionedEntity: share fields by a class derived from sw.Fields")
    inherited = next((base for base in definitions_of_bases(entity) if base.partition_key is not None), None)
    if inherited is not None:
        if inherited.discriminator is not None and discriminator is None:
            raise DefinitionError(f"{entity.__name__} would be stored under the discriminator of {inherited.entity.__name__}: give it one of its own")
        if partition_key is None:
            partition_key, sort_key = inherited.partition_key, inherited.sort_key if sort_key is None else sort_key
    if indexes is None:
        indexes = next((base.declared_indexes for base in definitions_of_bases(entity) if base.declared_indexes), ())
    return Definition(
        entity,
        read_fields(entity, _RESERVED),
        _names_around(),
        versioned=versioned,
        discriminator=discriminator,
        partition_key=partition_key,
        sort_key=sort_key,
        indexes=indexes,
    )


def _names_around() -> Mapping[str, object]:
    """The local names where the class statement stands: those of a function are not in its module."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_name == "__init_subclass__":
        frame = frame.f_back
    if frame is None or frame.f_locals is frame.f_globals:
        return {}
    return frame.f_locals


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(attribute, version, time_to_live, unique))
class EntityBase:
    """What entities with and without a version share; not for use by itself."""

    _definition: ClassVar[Definition]
    # Whether a class must have a version, must not, or leaves it open.
    _versioned: ClassVar[bool | None] = None

    if TYPE_CHECKING:

        def __init_subclass__(
            cls,
            *,
            discriminator: str | None = None,
            partition_key: str | None = None,
            sort_key: str | None = None,
            indexes: tuple[Index, ...] | None = None,
        ) -> None: ...

    else:

        def __init_subclass__(cls, *, discriminator=None, partition_key=None, sort_key=None, indexes=None, **unknown):  # noqa: ANN001, ANN003, ANN204
            """Read the declaration; see ``Entity``."""
            for keyword in unknown:
                unknown_class_keyword(cls.__name__, keyword)
            super().__init_subclass__()
            cls._definition = _define(
                cls, versioned=cls._versioned, discriminator=discriminator, partition_key=partition_key, sort_key=sort_key, indexes=indexes
            )

        def __init__(self, *positional, **values) -> None:  # noqa: ANN002, ANN003
            if positional:
                raise InvalidRequest(f"{type(self).__name__} takes its fields by name: write {type(self).__name__}(field=value)")
            self.__dict__.update(_accept_all(self._definition, values))

    @classmethod
    def partition_of(cls, *parts: object, **named: object) -> Partition[Self]:
        """The partition with these values: in the order in which the partition template names fields, or by name; or that of an entity of this type.

        Raises ``InvalidRequest`` for missing, unknown, empty or ill-typed values.
        """
        template = cls._definition.partition
        values = _key_values(cls._definition, "partition_of", template.field_names, parts, named)
        return Partition(cls, template.render(values), tuple(values.items()))

    @classmethod
    def index_partition_of(cls, index: str, /, *parts: object, **named: object) -> Partition[Self]:
        """The partition of an index with these values: ``Order.index_partition_of("by_status", "open")``.

        Values come in the order in which the index's partition template names fields, or by name, or from an entity of this
        type; those of a local index are the table's. Raises ``InvalidRequest`` as ``partition_of`` does, and for an index that the class does not declare.
        """
        key = cls._definition.index(index).partition
        template = cls._definition.partition if key is None else key.template
        values = _key_values(cls._definition, "index_partition_of", template.field_names, parts, named)
        absent = next((name for name, value in values.items() if value is None), None)
        if absent is not None:
            raise InvalidRequest(f"{cls.__name__}: an item without {absent} is not in the index {index!r}")
        return Partition(cls, template.render(values), tuple(values.items()), index)

    def replace(self, **changes: Any) -> Self:
        """An entity like this one with other values, checked as they are at construction.

        Version, stamp, birth and attributes that the type does not declare are kept, so that a put of the result changes
        the item that this one was read from. Where a field of the key changes the result is a new entity, never stored.
        Raises ``InvalidRequest`` for unknown names and ill-typed values, and for the version, which the library sets.
        """
        definition = self._definition
        accepted: dict[str, Any] = {}
        for name, value in changes.items():
            field = definition.field(name)
            if field.role == "version":
                raise InvalidRequest(f"{field.entity}.{name} is the version, which every write raises by itself: leave it out")
            accepted[name] = field.accept(value)
        values = {**self.__dict__, **accepted}
        moved = accepted.keys() & definition.key_fields
        if moved and any(accepted[name] != self.__dict__.get(name, _ABSENT) for name in moved):
            return new_entity(type(self), _unstored(definition, values))
        return new_entity(type(self), values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: write entity.replace({name}=...), which makes another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: write entity.replace({name}=...), which makes another one")

    def __eq__(self, other: object) -> bool:
        """Equal by type, declared fields and version."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(mine.get(field.name, _ABSENT) == theirs.get(field.name, _ABSENT) for field in self._definition.fields)

    def __hash__(self) -> int:
        values = self.__dict__
        return hash((type(self), *(values.get(field.name, _ABSENT) for field in self._definition.fields)))

    def __repr__(self) -> str:
        values = self.__dict__
        shown = (f"{field.name}={values[field.name]!r}" for field in self._definition.fields if field.name in values)
        return f"{type(self).__name__}({', '.join(shown)})"


class Fields(EntityBase):
    """A base for fields that entities with and without a version share: ``class Order(Timestamps, VersionedEntity, ...)``."""


class Entity(EntityBase):
    """An immutable value that is stored as one item, without a version.

    Fields are annotated ``name: Attribute[T]`` and given by name. Class keywords: ``partition_key`` and ``sort_key`` are
    templates such as ``"USER#{id}"`` or ``"{seq:020d}"``; ``discriminator`` names the type among the items of a table;
    ``indexes`` is a tuple of ``sw.global_index(...)`` and ``sw.local_index(...)``, inherited where it is left out. A
    class without templates is a base to inherit fields from. Lists and dicts among the values are copied on the way in;
    give ``replace`` a new one instead of changing one in place, since an entity made by ``replace`` shares the others.
    Raises ``DefinitionError`` where the class is made and something in it cannot work, ``InvalidRequest`` where an
    instance is made of values that cannot be stored.
    """

    _versioned = False

    @classmethod
    def key_of(cls, *parts: object, **named: object) -> Target[Self]:
        """The key with these values: in the order in which the templates name fields, partition before sort, or by name; or that of an entity of this type.

        Raises ``InvalidRequest`` for missing, unknown, empty or ill-typed values, and for keys over the service's limits.
        """
        return Target(cls, *_key_parts(cls._definition, parts, named))


class VersionedEntity(EntityBase):
    """An immutable value that is stored as one item with a version, which every write raises and may check.

    As ``Entity``, and with one field ``revision: Attribute[int | None] = sw.version()`` of any name.
    """

    _versioned = True

    @classmethod
    def key_of(cls, *parts: object, **named: object) -> VersionedKey[Self]:
        """The key with these values: in the order in which the templates name fields, partition before sort, or by name; or that of an entity of this type.

        To change the item, say what its version must be: ``key.if_version(n)`` or ``key.ignore_version()``.
        Raises ``InvalidRequest`` for missing, unknown, empty or ill-typed values, and for keys over the service's limits.
        """
        return VersionedKey(cls, *_key_parts(cls._definition, parts, named))


E = TypeVar("E", bound=EntityBase)


def _accept_all(definition: Definition, given: Mapping[str, object]) -> dict[str, Any]:
    assert definition.partition is not None
    values: dict[str, Any] = {}
    taken = 0
    for field in definition.fields:
        name = field.name
        if field.role == "version":
            values[name] = None
        elif name in given:
            values[name] = field.accept(given[name])
            taken += 1
        elif field.has_default:
            values[name] = field.make_default()
        else:
            raise InvalidRequest(f"{field.entity} needs {name}: write {field.entity}({name}=...), or give the field a default")
    if taken != len(given):
        _refuse_names(definition, given)
    return values


def _refuse_names(definition: Definition, given: Iterable[str]) -> None:
    for name in given:
        field = definition.field(name)
        if field.role == "version":
            raise InvalidRequest(f"{field.entity}.{name} is the version, which the library sets: leave it out; create stores 1")


def _unstored(definition: Definition, values: dict[str, Any]) -> dict[str, Any]:
    missing = [field.name for field in definition.fields if field.name not in values]
    if missing:
        raise InvalidRequest(f"{definition.entity.__name__}: a new entity needs {', '.join(missing)}, and this one was read in part: get it whole first")
    values.pop(STATE, None)
    if definition.version is not None:
        values[definition.version.name] = None
    return values


def _key_parts(definition: Definition, parts: tuple[object, ...], named: Mapping[str, object]) -> tuple[KeyValue, KeyValue | None, tuple[tuple[str, Any], ...]]:
    partition, sort = definition.partition, definition.sort
    values = _key_values(definition, "key_of", definition.key_fields, parts, named)
    return partition.render(values), None if sort is None else sort.render(values), tuple(values.items())


def _key_values(definition: Definition, method: str, names: tuple[str, ...], parts: tuple[object, ...], named: Mapping[str, object]) -> dict[str, Any]:
    if len(parts) == 1 and not named and isinstance(parts[0], definition.entity):
        return {name: getattr(parts[0], name) for name in names}
    call = f"{definition.entity.__name__}.{method}({', '.join(names)})"
    if len(parts) > len(names):
        raise InvalidRequest(f"{call} takes {len(names)} values, not {len(parts)}")
    values: dict[str, object] = dict(zip(names, parts, strict=False))
    for name, value in named.items():
        if name not in names:
            raise InvalidRequest(f"{call} takes no {name!r}")
        if name in values:
            raise InvalidRequest(f"{call} got {name!r} twice")
        values[name] = value
    for name in names:
        if name not in values:
            raise InvalidRequest(f"{call} needs {name!r}")
    return {name: definition.field(name).accept(values[name]) for name in names}


def with_stored(entity: E, stored: Stored) -> E:
    """The same entity in that state; its version field shows ``stored.version``."""
    values: dict[str, Any] = {**entity.__dict__, STATE: stored}
    field = definition_of(type(entity)).version
    if field is not None:
        values[field.name] = stored.version
    return new_entity(type(entity), values)


def schema_of(entity: type[E]) -> Schema[E]:
    """How entities of the type become items and come back. Made once; raises ``InvalidRequest`` for a class without a key."""
    if not (isinstance(entity, type) and issubclass(entity, EntityBase)):  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidRequest(f"expected the class of the entities, such as table.of(Order), not {entity!r:.80}")
    definition = definition_of(entity)
    if definition.schema is None:
        definition.schema = Schema(entity, definition)
    return cast("Schema[E]", definition.schema)
