"""Belongs here: secondary indexes as they are declared, and what their key attributes hold of an entity. Must not be here: changes of items, tables, queries.

An index key that is exactly one field is the attribute of that field. Every other one gets an attribute of its own, which
the library keeps; where a field of it has no value the attribute is left out, and the item is then not in the index.
Source: Developer Guide, pages "Using global secondary indexes" and "Local secondary indexes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from surewrite.core.fields import FieldInfo
from surewrite.core.templates import KeyTemplate
from surewrite.core.values import AttributeValue
from surewrite.errors import DefinitionError, InvalidRequest

Projection = Literal["all", "keys"] | tuple[str, ...]
"""What an index holds of an item: all of it, its keys, or its keys and the fields named."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index as declared. Make it with ``sw.global_index`` or ``sw.local_index``; a local one has no ``partition_key``."""

    name: str
    partition_key: str | None
    sort_key: str | None
    partition_attribute: str | None
    sort_attribute: str | None
    projection: Projection

    @property
    def is_global(self) -> bool:
        return self.partition_key is not None


def global_index(
    name: str,
    *,
    partition_key: str,
    sort_key: str | None = None,
    partition_attribute: str | None = None,
    sort_attribute: str | None = None,
    projection: Projection = "all",
) -> Index:
    """An index with a key of its own, for the class keyword ``indexes=(...)``.

    ``partition_key`` and ``sort_key`` are templates as those of the table. ``partition_attribute`` and ``sort_attribute``
    name the attributes that hold them: of a template that is exactly one field the field's own, otherwise ``_NAME_pk`` and
    ``_NAME_sk``. ``projection`` is what the index holds: ``"all"``, ``"keys"``, or the names of fields beside the keys;
    entities read from it are then in part and refuse put. Reads of it are never consistent. Each write that changes what
    it holds of an item costs one more write unit per started KB, two where the index key changes.
    """
    return _checked(Index(name, partition_key, sort_key, partition_attribute, sort_attribute, projection))


def local_index(name: str, *, sort_key: str, sort_attribute: str | None = None, projection: Projection = "all") -> Index:
    """An index with the partition key of the table and another sort key, for the class keyword ``indexes=(...)``.

    It can be made with the table only, may be read consistently, and holds all items of a partition to 10 GB. The
    parameters are those of ``global_index``.
    """
    return _checked(Index(name, None, sort_key, None, sort_attribute, projection))


def _checked(index: Index) -> Index:
    name: Any = index.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError(f"an index has a name of 3 to 255 letters, digits, and _ . -, not {name!r}")
    projection: Any = index.projection
    if isinstance(projection, str) and projection not in ("all", "keys"):
        raise DefinitionError(f'the index {name!r}: projection is "all", "keys" or a tuple of names of fields, such as ({projection!r},)')
    if not isinstance(projection, (str, tuple)):
        raise DefinitionError(f'the index {name!r}: projection is "all", "keys" or a tuple of names of fields, not {type(projection).__name__}')
    return index


@dataclass(frozen=True, slots=True)
class IndexKey:
    """One key attribute of an index. ``derived`` tells one that the library keeps from one that is stored anyway."""

    index: str
    attribute: str
    template: KeyTemplate
    derived: bool

    @property
    def joined(self) -> tuple[str, ...]:
        """The fields whose values must all be known where one of them changes; none for a key that is made of one field, or is stored anyway."""
        names = self.template.field_names
        return names if self.derived and len(names) > 1 else ()

    def value(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """What the attribute holds for these values of the fields; ``None`` where one of them has none. Raises ``InvalidRequest`` as a table's key does."""
        if any(values[name] is None for name in self.template.field_names):
            return None
        letters, content = self.template.render(values)
        return {letters: content}


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """An index of one entity type. ``partition`` is ``None`` for a local one; ``held`` are the stored names of the fields of its projection."""

    name: str
    partition: IndexKey | None
    sort: IndexKey | None
    whole: bool
    held: tuple[str, ...]

    @property
    def is_global(self) -> bool:
        return self.partition is not None

    def own_keys(self) -> tuple[IndexKey, ...]:
        return tuple(key for key in (self.partition, self.sort) if key is not None)


def entity_indexes(entity: str, declared: Iterable[Index], fields: Mapping[str, FieldInfo]) -> tuple[EntityIndex, ...]:
    """The indexes of an entity type; raises ``DefinitionError`` for what cannot work."""
    found: dict[str, EntityIndex] = {}
    for index in declared:
        if not isinstance(index, Index):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(f"{entity}: indexes= takes a tuple of sw.global_index(...) and sw.local_index(...), not {type(index).__name__}")
        if index.name in found:
            raise DefinitionError(f"{entity} declares the index {index.name!r} twice")
        found[index.name] = _entity_index(entity, index, fields)
    _check_attributes(entity, found.values(), fields)
    return tuple(found.values())


def _entity_index(entity: str, index: Index, fields: Mapping[str, FieldInfo]) -> EntityIndex:
    partition = sort = None
    if index.partition_key is not None:
        partition = _index_key(entity, index.name, "partition_key", index.partition_key, index.partition_attribute or f"_{index.name}_pk", fields,
                               named=index.partition_attribute is not None)  # fmt: skip
    if index.sort_key is not None:
        sort = _index_key(
            entity, index.name, "sort_key", index.sort_key, index.sort_attribute or f"_{index.name}_sk", fields, named=index.sort_attribute is not None
        )
    held: list[str] = []
    for name in () if isinstance(index.projection, str) else index.projection:
        if name not in fields:
            raise DefinitionError(
                f"{entity}: the projection of the index {index.name!r} names {name!r}, and there is no such field; there are {', '.join(fields)}"
            )
        held.append(fields[name].stored_name)
    return EntityIndex(index.name, partition, sort, index.projection == "all", tuple(held))


def _index_key(entity: str, index: str, keyword: str, text: str, attribute: str, fields: Mapping[str, FieldInfo], *, named: bool) -> IndexKey:
    template = KeyTemplate(entity, keyword, text, {name: field.codec for name, field in fields.items()}, index=index)
    field = fields[template.is_field] if template.is_field is not None else None
    if field is not None and (not named or attribute == field.stored_name):
        return IndexKey(index, field.stored_name, template, derived=False)
    changing = next((name for name in template.field_names if fields[name].role == "version"), None)
    if changing is not None:
        raise DefinitionError(
            f"{entity}: the index {index!r} is made of the version {changing}, which the service raises by itself: use it alone, as {{{changing}}}"
        )
    return IndexKey(index, attribute, template, derived=True)


def _check_attributes(entity: str, indexes: Iterable[EntityIndex], fields: Mapping[str, FieldInfo]) -> None:
    """Two indexes may share an attribute only where both put the same into it."""
    stored = {field.stored_name: field.name for field in fields.values()}
    made: dict[str, IndexKey] = {}
    for index in indexes:
        for key in index.own_keys():
            if key.derived and key.attribute in stored:
                raise DefinitionError(
                    f"{entity}: the index {index.name!r} keeps its key in {key.attribute!r}, where the field {stored[key.attribute]} is stored:"
                    " name another attribute"
                )
            other = made.setdefault(key.attribute, key)
            if other.template.text != key.template.text:
                raise DefinitionError(
                    f"{entity}: the indexes {other.index!r} and {index.name!r} put different keys into {key.attribute!r}: name another attribute"
                )


def no_such_index(entity: str, name: object, indexes: Iterable[EntityIndex]) -> InvalidRequest:
    """The error for an index that the type does not declare."""
    known = ", ".join(repr(index.name) for index in indexes)
    return InvalidRequest(f"{entity} declares no index {name!r}; " + (f"it has {known}" if known else "declare it by the class keyword indexes=(...)"))
