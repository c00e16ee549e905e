"""Belongs here: what the declaration of an entity class means: its fields, paths and key templates, and every error in it. Must not be here: instances, tables.

A declaration is read when the class is made. Where an annotation names something that does not exist yet, the types are
read at first use instead.
"""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar, Final, NoReturn, get_args, get_origin

from surewrite.core.annotations import codec_for, described
from surewrite.core.codecs import EXPIRY, INT, STR, Codec, Unstorable
from surewrite.core.expressions import Name
from surewrite.core.fields import MISSING, Attribute, Declaration, FieldInfo
from surewrite.core.indexes import EntityIndex, Index, entity_indexes, no_such_index
from surewrite.core.paths import Path, path_to
from surewrite.core.templates import KeyTemplate
from surewrite.core.unique_fields import UniqueField, unique_fields
from surewrite.errors import DefinitionError, InvalidRequest

DEFINITION: Final = "_definition"
"""Where an entity class keeps its definition."""

_CLASS_VARIABLE: Final = re.compile(r"(\w+\.)*ClassVar\b")
_CLASS_KEYWORDS: Final = ("discriminator", "partition_key", "sort_key", "indexes")


def read_fields(entity: type, reserved: frozenset[str]) -> dict[str, object]:
    """The annotations of the fields that a class declares itself; makes an ``Attribute`` of each that is annotated only.

    Raises ``DefinitionError`` for a name that cannot be a field, and for a default that is no ``Attribute``.
    """
    found: dict[str, object] = {}
    for name, annotation in _own_annotations(entity).items():
        if get_origin(annotation) is ClassVar or (isinstance(annotation, str) and _CLASS_VARIABLE.match(annotation)):
            continue
        place = f"{entity.__name__}.{name}"
        if name.startswith("_"):
            raise DefinitionError(f"{place}: names that begin with _ belong to the library: choose another name, and stored_as= for the stored one")
        if name in reserved:
            raise DefinitionError(f"{place} would hide {name}() of every entity: choose another name, and write stored_as={name!r}")
        given = entity.__dict__.get(name, MISSING)
        if given is MISSING:
            attribute = Attribute[Any]()
            setattr(entity, name, attribute)
            attribute.__set_name__(entity, name)
        elif not isinstance(given, Attribute):
            raise DefinitionError(f"{place} = ...: a default is given by sw.attribute(default=...), or default_factory= for a list or dict")
        found[name] = annotation
    for name, value in entity.__dict__.items():
        if isinstance(value, Attribute) and name not in found:
            raise DefinitionError(f"{entity.__name__}.{name} has no type: write {name}: Attribute[...] = ...")
    return found


def _own_annotations(entity: type) -> Mapping[str, object]:
    if sys.version_info >= (3, 14):
        # There annotations are evaluated when they are asked for; a name that does not exist yet must not be an error here.
        from annotationlib import Format, get_annotations  # noqa: PLC0415

        return get_annotations(entity, format=Format.FORWARDREF)
    return entity.__annotations__


def _closest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - loaded by a program that has a mistake

    return next(iter(get_close_matches(name, known, 1)), None)


def unknown_class_keyword(entity: str, keyword: str) -> NoReturn:
    """Raise ``DefinitionError`` for a class keyword that there is none of."""
    close = _closest(keyword, _CLASS_KEYWORDS)
    raise DefinitionError(f"{entity}: there is no class keyword {keyword!r}; {f'write {close}' if close else 'there are ' + ', '.join(_CLASS_KEYWORDS)}")


def _check_text(place: str, text: object) -> None:
    try:
        STR.accept("" if text is None else text)
    except Unstorable as error:
        raise DefinitionError(f"{place} {error}") from None


def definition_of(entity: type) -> Definition:
    """The definition of an entity class."""
    found: Definition = getattr(entity, DEFINITION)
    return found


def definitions_of_bases(entity: type) -> Iterator[Definition]:
    """The definitions of the classes that an entity class inherits from, nearest first."""
    for base in entity.__mro__[1:]:
        if DEFINITION in base.__dict__:
            yield base.__dict__[DEFINITION]


class Definition:
    """One entity class as declared.

    ``declared`` are the annotations of its own fields, ``names`` what is known where the class stands beside its module,
    ``versioned`` whether it must have a version (true), must not (false) or leaves it open (``None``).
    """

    __slots__ = (
        "_by_name", "_fields", "_indexes", "_locals", "_partition", "_paths", "_sort", "_version", "declared", "declared_indexes", "discriminator", "entity",
        "key_fields", "partition_key", "schema", "sort_key", "uniques", "versioned",
    )  # fmt: skip

    def __init__(
        self,
        entity: type,
        declared: Mapping[str, object],
        names: Mapping[str, object],
        *,
        versioned: bool | None,
        discriminator: str | None,
        partition_key: str | None,
        sort_key: str | None,
        indexes: tuple[Index, ...] = (),
    ) -> None:
        self.entity = entity
        self.declared = declared
        self.versioned = versioned
        self.discriminator = discriminator
        self.partition_key = partition_key
        self.sort_key = sort_key
        self.declared_indexes = indexes
        self.schema: Any = None
        self.key_fields: tuple[str, ...] = ()
        self.uniques: tuple[UniqueField, ...] = ()
        self._locals: Mapping[str, object] | None = names
        self._fields: tuple[FieldInfo, ...] | None = None
        self._by_name: dict[str, FieldInfo] = {}
        self._paths: dict[str, Path[Any, Any]] = {}
        self._version: FieldInfo | None = None
        self._partition: KeyTemplate | None = None
        self._sort: KeyTemplate | None = None
        self._indexes: tuple[EntityIndex, ...] = ()
        if sort_key is not None and partition_key is None:
            raise DefinitionError(f"{entity.__name__}: sort_key needs a partition_key beside it")
        for keyword, text in (("discriminator", discriminator), ("partition_key", partition_key), ("sort_key", sort_key)):
            _check_text(f"{entity.__name__}: {keyword}=", text)
        if discriminator == "":
            raise DefinitionError(f"{entity.__name__}: a discriminator cannot be empty: leave it out, or name the type")
        try:
            self._resolve()
        except NameError:
            # A name of a function is looked up once more at first use; the rest of its names must not live that long.
            self._locals = dict(names)

    # ------------------------------------------------------------------------------------------------------ what is read

    @property
    def fields(self) -> tuple[FieldInfo, ...]:
        """All fields, those of bases first, the version among them. Raises ``DefinitionError`` where a type is not known."""
        if self._fields is None:
            self._resolve_late()
            assert self._fields is not None
        return self._fields

    @property
    def partition(self) -> KeyTemplate:
        """The template of the partition key; raises ``InvalidRequest`` for a class without one."""
        if self._fields is None:
            self._resolve_late()
        if self._partition is None:
            raise InvalidRequest(f"{self.entity.__name__} has no key: it is a base to inherit from; give the class partition_key= to store items of it")
        return self._partition

    @property
    def sort(self) -> KeyTemplate | None:
        """The template of the sort key, if there is one."""
        if self._fields is None:
            self._resolve_late()
        return self._sort

    @property
    def indexes(self) -> tuple[EntityIndex, ...]:
        """The secondary indexes that the class declares."""
        if self._fields is None:
            self._resolve_late()
        return self._indexes

    def index(self, name: object) -> EntityIndex:
        """A declared index by its name; raises ``InvalidRequest`` for one that there is not."""
        found = next((index for index in self.indexes if index.name == name), None)
        if found is None:
            raise no_such_index(self.entity.__name__, name, self._indexes)
        return found

    @property
    def version(self) -> FieldInfo | None:
        """The field with the version, if there is one."""
        if self._fields is None:
            self._resolve_late()
        return self._version

    def field(self, name: str) -> FieldInfo:
        """A field by its name in Python; raises ``InvalidRequest`` that proposes a name for one that there is not."""
        if self._fields is None:
            self._resolve_late()
        known = self._by_name
        found = known.get(name)
        if found is None:
            close = _closest(name, known)
            proposal = f"did you mean {close}" if close else f"it has {', '.join(known) or 'none'}"
            raise InvalidRequest(f"{self.entity.__name__} has no field {name!r}: {proposal}")
        return found

    def path(self, name: str) -> Path[Any, Any]:
        """The path of a field, always the same object."""
        path = self._paths.get(name)
        if path is None:
            field = self.field(name)
            label = f"{self.entity.__name__}.{name}"
            path = self._paths[name] = path_to(self.entity, label, field.codec, Name((field.stored_name,)), required=field.required)
        return path

    # ------------------------------------------------------------------------------------------------- how it is resolved

    def _resolve_late(self) -> None:
        try:
            self._resolve()
        except NameError as error:
            if self._fields is not None:
                # Another thread was first, and the names of the function were let go.
                return
            raise DefinitionError(
                f"{self.entity.__name__}: the annotations name {error.name!r}, which cannot be found: define it at the level of the module; "
                "for an entity inside a function it may stand in that function, before the entity"
            ) from None

    def _resolve(self) -> None:
        fields = tuple(self._field(name, annotation, attribute.declaration) for name, (annotation, attribute) in self._annotations().items())
        self._by_name = {field.name: field for field in fields}
        self._check_roles(fields)
        self._check_names(fields)
        if self.partition_key is not None:
            self._partition, self._sort = self._templates(self.partition_key)
            sort_fields = self._sort.field_names if self._sort is not None else ()
            self.key_fields = tuple(dict.fromkeys((*self._partition.field_names, *sort_fields)))
            self._check_key(fields)
        self._indexes = entity_indexes(self.entity.__name__, self.declared_indexes, self._by_name)
        self._version = next((field for field in fields if field.role == "version"), None)
        if self.partition_key is not None:
            self.uniques = unique_fields(self.entity.__name__, self.discriminator, self._by_name, self.key_fields)
        self._fields = fields
        self._locals = None

    def _annotations(self) -> dict[str, tuple[object, Attribute[Any]]]:
        found: dict[str, tuple[object, Attribute[Any]]] = {}
        for base in reversed(self.entity.__mro__):
            definition: Definition | None = self if base is self.entity else base.__dict__.get(DEFINITION)
            if definition is None:
                self._check_foreign_base(base)
                continue
            for name, annotation in self._hints(base, definition.declared).items():
                attribute = getattr_static(self.entity, name)
                if get_origin(annotation) is not Attribute:
                    raise DefinitionError(f"{base.__name__}.{name}: {described(annotation)} is no field: write {name}: Attribute[{described(annotation)}]")
                if not isinstance(attribute, Attribute):
                    raise DefinitionError(f"{self.entity.__name__}.{name} hides a field of a base: give it an annotation, {name}: Attribute[...] = ...")
                found[name] = (get_args(annotation)[0], attribute)
        return found

    def _hints(self, base: type, own: Mapping[str, object]) -> Mapping[str, object]:
        # A field may have the name of its type (`date: Attribute[date]`), so only classes are looked up in the class itself.
        inner = {name: value for name, value in base.__dict__.items() if isinstance(value, type)}
        holder = type(base.__name__, (), {"__annotations__": dict(own), "__module__": base.__module__})
        return typing.get_type_hints(holder, localns={**(self._locals or {}), **inner})

    def _check_foreign_base(self, base: type) -> None:
        for name, value in base.__dict__.items():
            if isinstance(value, Attribute):
                raise DefinitionError(f"{base.__name__}.{name}: {base.__name__} is no entity, so its fields are not seen: derive it from sw.Fields")

    def _field(self, name: str, annotation: object, declaration: Declaration) -> FieldInfo:
        entity = self.entity.__name__
        try:
            codec, optional = _codec_of(annotation, declaration)
        except DefinitionError as error:
            raise DefinitionError(f"{entity}.{name}: {error}") from None
        stored_name = name if declaration.stored_as is None else declaration.stored_as
        _check_text(f"{entity}.{name}: stored_as=", stored_name)
        if not stored_name:
            raise DefinitionError(f"{entity}.{name}: stored_as cannot be empty")
        default = self._default(name, codec, declaration.default, optional=optional)
        optional = optional or declaration.role == "version"
        return FieldInfo(entity, name, stored_name, codec, optional, default, declaration.default_factory, declaration.role, declaration.unique)

    def _default(self, name: str, codec: Codec[Any], default: object, *, optional: bool) -> object:
        if default is MISSING or (default is None and optional):
            return default
        place = f"{self.entity.__name__}.{name}"
        try:
            hash(default)
        except TypeError:
            name = type(default).__name__
            raise DefinitionError(f"{place}: a default that can change would be shared by all entities: write default_factory={name}") from None
        try:
            return codec.accept(default)
        except Unstorable as error:
            raise DefinitionError(f"{place}: its default does not fit: the field {error}") from None

    def _check_roles(self, fields: Sequence[FieldInfo]) -> None:
        entity = self.entity.__name__
        versions = [field.name for field in fields if field.role == "version"]
        endings = [field.name for field in fields if field.role == "time to live"]
        if len(versions) > 1:
            raise DefinitionError(f"{entity} has two versions, {' and '.join(versions)}: an item has one")
        if len(endings) > 1:
            raise DefinitionError(f"{entity} has two times to live, {' and '.join(endings)}: a table has one")
        if versions and self.versioned is False:
            raise DefinitionError(f"{entity}.{versions[0]} is a version, and an Entity has none: derive {entity} from VersionedEntity")
        if not versions and self.versioned and self.partition_key is not None:
            raise DefinitionError(f"{entity} has no version: write revision: Attribute[int | None] = sw.version(), or derive it from Entity")

    def _check_names(self, fields: Sequence[FieldInfo]) -> None:
        seen: dict[str, str] = {}
        for field in fields:
            other = seen.setdefault(field.stored_name, field.name)
            if other != field.name:
                entity = self.entity.__name__
                raise DefinitionError(f"{entity}: {other} and {field.name} are both stored as {field.stored_name!r}: give one of them another stored_as=")

    def _templates(self, partition_key: str) -> tuple[KeyTemplate, KeyTemplate | None]:
        entity = self.entity.__name__
        codecs = {name: field.codec for name, field in self._by_name.items()}
        sort = None if self.sort_key is None else KeyTemplate(entity, "sort_key", self.sort_key, codecs)
        return KeyTemplate(entity, "partition_key", partition_key, codecs), sort

    def _check_key(self, fields: Sequence[FieldInfo]) -> None:
        entity = self.entity.__name__
        for field in fields:
            if field.name not in self.key_fields:
                continue
            if field.role != "plain":
                raise DefinitionError(f"{entity}.{field.name} is the {field.role}, which changes, and a key cannot: take it out of the key")
            if field.optional:
                raise DefinitionError(f"{entity}.{field.name} is part of the key, which cannot be absent: leave out `| None`")


def getattr_static(entity: type, name: str) -> object:
    """The attribute of a class as it is declared, without asking descriptors."""
    for base in entity.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _codec_of(annotation: object, declaration: Declaration) -> tuple[Codec[Any], bool]:
    if declaration.codec is not None:
        return declaration.codec, NoneType in get_args(annotation)
    codec = codec_for(annotation)
    optional = codec.optional
    if codec.wrapped is not None:
        codec = codec.wrapped
    if declaration.role == "version" and not (codec is INT and optional):
        raise DefinitionError("a version is a number that a new entity has not yet: write Attribute[int | None] = sw.version()")
    if declaration.role == "time to live" and codec is not INT:
        if codec.type_name != "datetime":
            raise DefinitionError("a time to live is a datetime, or an int of seconds since 1970: write Attribute[datetime] = sw.time_to_live()")
        codec = EXPIRY
    return codec, optional
