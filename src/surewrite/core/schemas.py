"""Belongs here: how an entity becomes an item of a table and comes back. Must not be here: declarations, requests, conditions, changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

from surewrite.core.codecs import INT, Undecodable, has_one_spelling
from surewrite.core.definitions import DEFINITION, Definition
from surewrite.core.fields import FieldInfo
from surewrite.core.indexes import EntityIndex, IndexKey, no_such_index
from surewrite.core.keys import Key, Target, VersionedKey
from surewrite.core.stored import NOTHING_HELD, STATE, Stored, new_entity
from surewrite.core.templates import KeyTemplate
from surewrite.core.values import AttributeValue, Item, equal
from surewrite.errors import InvalidRequest, UndecodableItem, WrongEntityType

E = TypeVar("E")

_NULL: Final = "NULL"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The names that a table gives to its key attributes and to what is stored beside an entity; ``None`` switches one off."""

    key: tuple[str] | tuple[str, str]
    discriminator: str | None = "_type"
    stamp: str | None = "_s"
    birth: str | None = "_b"

    def __post_init__(self) -> None:
        # A text is a sequence too, and would be taken for one key attribute a letter.
        names: tuple[Any, ...] = self.key
        if type(names) is not tuple or len(names) not in (1, 2) or not all(isinstance(name, str) and name for name in names):
            raise InvalidRequest(f'a table has one or two key attributes, given as key=("id",) or key=("pk", "sk"), not {names!r}')


@dataclass(frozen=True, slots=True)
class BoundIndex:
    """An index of one entity type in a table: ``keys`` are its key attributes, partition first, the table's partition key among them.

    ``read`` are the stored names whose absence in an item of the index means that they have no value; the rest was not
    read. It is ``None`` where the index holds whole items.
    """

    name: str
    is_global: bool
    keys: tuple[IndexKey, ...]
    read: frozenset[str] | None


class Schema(Generic[E]):
    """An entity type, to be bound to the layout of a table."""

    def __init__(self, entity: type[E], definition: Definition) -> None:
        self.entity = entity
        self.definition = definition
        self._bound: dict[TableLayout, BoundSchema[E]] = {}
        assert definition.partition is not None

    def bind(self, layout: TableLayout) -> BoundSchema[E]:
        """The schema for tables of that layout, made once. Raises ``InvalidRequest`` where the two do not fit."""
        bound = self._bound.get(layout)
        if bound is None:
            bound = self._bound[layout] = BoundSchema(self.entity, self.definition, layout)
        return bound


class BoundSchema(Generic[E]):
    """Entities of one type as items of tables of one layout.

    Declared fields are stored under their stored names, key fields too: a path to a field is then the same in every
    table. A template that is exactly one field, in a table whose key attribute has the field's stored name, stores it once.
    """

    def __init__(self, entity: type[E], definition: Definition, layout: TableLayout) -> None:
        self.entity = entity
        self.definition = definition
        self.layout = layout
        self.fields: tuple[FieldInfo, ...] = definition.fields
        self.version: FieldInfo | None = definition.version
        self.time_to_live: FieldInfo | None = next((field for field in self.fields if field.role == "time to live"), None)
        self.key_names: tuple[str, ...] = layout.key
        self.discriminator_value: str | None = definition.discriminator if layout.discriminator is not None else None
        self._name = entity.__name__
        self._key_fields = definition.key_fields
        self._templates = self._bind_templates(definition)
        self._by_stored_name = {field.stored_name: field for field in self.fields}
        self._check_names()
        self.indexes = tuple(self._bind_index(index) for index in definition.indexes)
        self.index_keys = tuple({key.attribute: key for index in self.indexes for key in index.keys}.values())
        """The key attributes of all indexes, each once."""
        self._check_index_names()
        self.uniques = definition.uniques
        self._claim_fields = {field.name: field for unique in self.uniques for field in unique.fields}
        self.claim_fields = tuple(self._claim_fields.values())
        self.claim_names = frozenset(field.stored_name for field in self.claim_fields)
        """The stored names of all fields that decide what an item claims."""
        self._held_names = self.claim_names.union(field.stored_name for field in self.fields for key in self.index_keys if field.name in key.joined)
        if self.uniques:
            self._check_uniques()
        self._key_attributes = frozenset((*layout.key, *(field.stored_name for field in self.fields if field.name in self._key_fields)))
        added = (*layout.key, layout.discriminator, layout.stamp, layout.birth, *(key.attribute for key in self.index_keys))
        self._known = frozenset(name for name in (*self._by_stored_name, *added) if name is not None)
        self.plain_fields = tuple(field for field in self.fields if field.role != "version")
        self._writers = tuple(
            (field.name, field.stored_name, field.codec.encode, field.is_set) for field in self.plain_fields if field.stored_name not in layout.key
        )
        self._readers = tuple((field.name, field.stored_name, field.codec.decode) for field in self.plain_fields)
        # A key attribute that is a field under its own name, whose value is stored in one way only, needs no comparison with that field.
        self._compared = tuple(
            (name, template) for name, template in self._templates if not (self._is_stored_field(name, template) and has_one_spelling(template.codec))
        )

    def _bind_templates(self, definition: Definition) -> tuple[tuple[str, KeyTemplate], ...]:
        templates = (definition.partition,) if definition.sort is None else (definition.partition, definition.sort)
        if len(templates) != len(self.layout.key):
            has, needs = (f"{count} key attribute{'s' if count > 1 else ''}" for count in (len(self.layout.key), len(templates)))
            missing = "give the class a sort_key=" if len(self.layout.key) > len(templates) else 'name both, as in key=("pk", "sk")'
            raise InvalidRequest(f"{self._name} makes {needs}, and the table has {has}: {missing}")
        return tuple(zip(self.layout.key, templates, strict=True))

    def _is_stored_field(self, key_name: str, template: KeyTemplate) -> bool:
        field = self._by_stored_name.get(key_name)
        return field is not None and template.is_field == field.name

    def _check_names(self) -> None:
        layout = self.layout
        if layout.discriminator is not None and self.discriminator_value is None:
            raise InvalidRequest(
                f"{self._name} has no discriminator, and the table keeps one: "
                f'write discriminator="{self._name.upper()}" in the class, or discriminator=None for the table'
            )
        taken = dict.fromkeys(layout.key, "a key attribute")
        for name, meaning in ((layout.discriminator, "the discriminator"), (layout.stamp, "the stamp"), (layout.birth, "the birth")):
            if name is not None and taken.setdefault(name, meaning) != meaning:
                raise InvalidRequest(f"the table stores {meaning} and {taken[name]} both as {name!r}: give one of them another name")
        for key_name, template in self._templates:
            if self._is_stored_field(key_name, template):
                del taken[key_name]
        for field in self.fields:
            meaning = taken.get(field.stored_name, "")
            if meaning:
                place = f"{self._name}.{field.name}"
                raise InvalidRequest(f"{place} is stored as {field.stored_name!r}, where the table stores {meaning}: give the field stored_as=")

    def _bind_index(self, index: EntityIndex) -> BoundIndex:
        keys = tuple(self._bind_index_key(key) for key in index.own_keys())
        if not index.is_global:
            if len(self.layout.key) < 2:
                raise InvalidRequest(f"{self._name}: the local index {index.name!r} needs a table with a sort key: make it a global one")
            name, template = self._templates[0]
            keys = (IndexKey(index.name, name, template, derived=False), *keys)
        if index.whole:
            return BoundIndex(index.name, index.is_global, keys, None)
        layout, time_to_live = self.layout, self.time_to_live
        beside = (layout.discriminator, time_to_live.stored_name if time_to_live is not None else None)
        read = (*layout.key, *(key.attribute for key in keys), *index.held, *(name for name in beside if name is not None))
        return BoundIndex(index.name, index.is_global, keys, frozenset(read))

    def _bind_index_key(self, key: IndexKey) -> IndexKey:
        """The key of an index may be that of the table, the other way round for instance; then nothing is kept for it."""
        for name, template in self._templates:
            if key.attribute == name and key.derived:
                if template.text != key.template.text:
                    raise InvalidRequest(f"{self._name}: the index {key.index!r} puts another key into {name!r}, the key of the table: name another attribute")
                return replace(key, derived=False)
        return key

    def _check_index_names(self) -> None:
        layout = self.layout
        for key in self.index_keys:
            if key.attribute in (layout.discriminator, layout.stamp, layout.birth):
                raise InvalidRequest(f"{self._name}: the index {key.index!r} keeps its key in {key.attribute!r}, which the table uses: name another attribute")

    def _check_uniques(self) -> None:
        layout, place = self.layout, f"{self._name}.{self.uniques[0].field.name} is unique"
        if len(layout.key) < 2 or self._templates[0][1].stored != "S":
            raise InvalidRequest(f"{place}, and its claims are items beside it: the table needs a sort key, and a partition key that is text")
        if layout.discriminator is None:
            raise InvalidRequest(f"{place}, and its claims are told from its items by the discriminator, which this table has switched off")
        if layout.stamp is None:
            raise InvalidRequest(f"{place}, and what it claims rests on the stamp that was read, which this table has switched off")

    # -------------------------------------------------------------------------------------------------------------- claims

    def held(self, item: Mapping[str, AttributeValue]) -> Mapping[str, AttributeValue]:
        """The attributes of an item that decide what it claims, and the keys that it has in indexes where one change is not all that decides."""
        if not self._held_names:
            return NOTHING_HELD
        return {name: item[name] for name in self._held_names if name in item}

    def claims_of(self, item: Mapping[str, AttributeValue]) -> dict[str, str]:
        """What an item claims, each with the name of its field. Raises ``UndecodableItem`` where a value does not fit its field."""
        return self.claims_of_values({name: self._claim_value(field, item) for name, field in self._claim_fields.items()})

    def claims_of_values(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The same for the values of an entity. Raises ``InvalidRequest`` for one that was read in part, without a field that decides."""
        missing = next((name for name in self._claim_fields if name not in values), None)
        if missing is not None:
            raise InvalidRequest(f"{self._name}.{missing} was not read, and it decides what the item claims: get it whole")
        found: dict[str, str] = {}
        for unique in self.uniques:
            claimed = unique.claimed(values)
            if claimed is not None:
                found[claimed] = unique.field.name
        return found

    def _claim_value(self, field: FieldInfo, item: Mapping[str, AttributeValue]) -> Any:
        value = item.get(field.stored_name)
        if value is None or _NULL in value:
            return self._read_from_key(field, item) if field.name in self._key_fields else None
        try:
            return field.codec.decode(value)
        except Exception as error:  # noqa: BLE001 - see _undecodable
            undecodable = self._undecodable(field.name, value, error)
        undecodable.key = self.key_from(item)
        raise undecodable

    # ---------------------------------------------------------------------------------------------------------------- keys

    def key_fields_of(self, texts: Sequence[str]) -> dict[str, Any]:
        """The fields of the key whose attributes hold these values, in the service's form. Raises ``Undecodable`` for values that no key of this type has."""
        values: dict[str, Any] = {}
        for (_, template), text in zip(self._templates, texts, strict=True):
            values.update(template.parse(text))
        return values

    def index(self, name: object) -> BoundIndex:
        """A declared index by its name; raises ``InvalidRequest`` for one that there is not."""
        found = next((index for index in self.indexes if index.name == name), None)
        if found is None:
            raise no_such_index(self._name, name, self.definition.indexes)
        return found

    def fits_key(self, item: Mapping[str, AttributeValue]) -> bool:
        """Whether the key of an item is one that the templates of this type make."""
        try:
            for name, template in self._templates:
                template.parse(item[name][template.stored])
        except (KeyError, Undecodable):
            return False
        return True

    def is_key_attribute(self, stored_name: str) -> bool:
        """Whether a top-level attribute is part of the key, as an attribute of it or as a field that it is made of; such a one never changes."""
        return stored_name in self._key_attributes

    def key_attribute_types(self) -> tuple[tuple[str, str], ...]:
        """The key attributes with the letters of their types, partition first."""
        return tuple((name, template.stored) for name, template in self._templates)

    def key_from(self, item: Mapping[str, AttributeValue]) -> Key[E] | None:
        """The key of a stored item, or of a request: a ``get`` with it reads that item. ``None`` for what has no key of this table.

        It is what ``key_of`` gives. An item whose key no ``key_of`` makes has one too, marked ``as_stored``.
        """
        found: list[tuple[str, str]] = []
        values: dict[str, Any] = {}
        as_stored = False
        for name, template in self._templates:
            value = item.get(name)
            if value is None or template.stored not in value:
                return None
            found.append((template.stored, value[template.stored]))
            try:
                values.update(template.parse(found[-1][1]))
                as_stored = as_stored or not equal({template.stored: template.render(values)[1]}, value)
            except Exception:  # noqa: BLE001 - a codec of the developer's own may raise anything, and the key is for an error's sake
                as_stored = True
        partition, sort = found[0], found[1] if len(found) > 1 else None
        told = () if as_stored else tuple(values.items())
        if self.version is None:
            return Target(self.entity, partition, sort, told, as_stored=as_stored)
        return VersionedKey(self.entity, partition, sort, told, as_stored=as_stored)

    def key_item(self, key: Key[E]) -> Item:
        """The key attributes for a key of this type. Raises ``InvalidRequest`` for a key of another type."""
        if key.entity is not self.entity:
            raise InvalidRequest(f"{key.entity.__name__}.key_of(...) is no key of {self._name}: write {self._name}.key_of(...)", key=key)
        letters, value = key.partition
        item: Item = {self.key_names[0]: {letters: value}}
        if key.sort is not None:
            letters, value = key.sort
            item[self.key_names[1]] = {letters: value}
        return item

    def key_of_entity(self, entity: E) -> Item:
        """The key attributes that the fields of an entity make. Raises ``InvalidRequest`` for an entity of another type."""
        if type(entity) is not self.entity:
            raise InvalidRequest(self._no_entity(entity))
        values = entity.__dict__
        item: Item = {}
        for name, template in self._templates:
            letters, value = template.render(values)
            item[name] = {letters: value}
        return item

    def _no_entity(self, given: object) -> str:
        if hasattr(type(given), DEFINITION):
            return f"{type(given).__name__} is no {self._name}: use the table of its own type"
        return f"{self._name}: expected an entity, not {'a key' if isinstance(given, Key) else type(given).__name__}: write {self._name}(...)"

    # --------------------------------------------------------------------------------------------------------------- items

    def to_item(self, entity: E, key_attributes: Item | None = None) -> Item:
        """The whole item but version, stamp and birth: fields that have a value, key, discriminator, undeclared attributes that were read.

        ``key_attributes`` is what ``key_of_entity`` gave, where it was asked. Raises ``InvalidRequest`` where a list or dict
        was changed since and now holds what cannot be stored.
        """
        item = self.key_of_entity(entity) if key_attributes is None else key_attributes.copy()
        values = entity.__dict__
        state: Stored | None = values.get(STATE)
        if state is not None and state.unknown:
            item.update(state.unknown)
        name = ""
        try:
            for name, stored_name, encode, is_set in self._writers:
                value = values[name]
                if value is None or (is_set and not value):
                    continue
                item[stored_name] = encode(value)
        except KeyError:
            raise InvalidRequest(f"{self._name}.{name} was not read: this entity was read in part, and a put would drop the rest; get it whole") from None
        except ValueError as error:
            raise InvalidRequest(f"{self._name}.{name} {error}") from None
        if self.discriminator_value is not None and self.layout.discriminator is not None:
            item[self.layout.discriminator] = {"S": self.discriminator_value}
        for key in self.index_keys:
            # A key that the service would refuse is refused here, also where the field is stored anyway.
            content = key.value(values)
            if key.derived and content is not None:
                item[key.attribute] = content
        return item

    def from_item(self, item: Mapping[str, AttributeValue], *, partial: bool = False, read: Collection[str] = ()) -> E:
        """The entity that an item holds, with version, stamp, birth and undeclared attributes as its state.

        An item without a discriminator is taken for one of this type. ``partial`` says that attributes may have been left
        out: fields that are missing then have no value, but for those whose stored names ``read`` has, which are known to be
        absent. Raises ``WrongEntityType`` for an item of another type and ``UndecodableItem`` for one that does not fit;
        neither has contents of the item in its text, and both have its key.
        """
        try:
            return self._read(item, None if not partial else read)
        except (UndecodableItem, WrongEntityType) as error:
            error.key = self.key_from(item)
            raise

    def _read(self, item: Mapping[str, AttributeValue], read: Collection[str] | None) -> E:
        """The entity; ``read`` is ``None`` for an item that was read whole."""
        self._check_type(item)
        values: dict[str, Any] = {}
        name = ""
        value: AttributeValue | None = None
        absent: list[str] = []
        try:
            for name, stored_name, decode in self._readers:
                value = item.get(stored_name)
                if value is None or _NULL in value:
                    absent.append(name)
                else:
                    values[name] = decode(value)
        except Exception as error:  # noqa: BLE001 - see _undecodable
            raise self._undecodable(name, value, error) from _cause_of(error)
        if absent:
            self._fill(absent, values, item, read)
        self._check_key(values, item)
        known = self._known
        unknown = {other: content for other, content in item.items() if other not in known}
        stored_version = self._stored_version(item)
        if self.version is not None:
            values[self.version.name] = stored_version
        layout = self.layout
        values[STATE] = Stored(stored_version, _text(item, layout.stamp), _text(item, layout.birth), unknown, read is not None, self.held(item))
        return new_entity(self.entity, values)

    def _check_type(self, item: Mapping[str, AttributeValue]) -> None:
        expected = self.discriminator_value
        if expected is None or self.layout.discriminator is None:
            return
        found = item.get(self.layout.discriminator)
        if found is None or found.get("S") == expected:
            return
        stored_type = found.get("S")
        raise WrongEntityType(
            f"an item of another type is stored under this key: {self.layout.discriminator} is not {expected!r}, the discriminator of {self._name}",
            stored_type=stored_type if isinstance(stored_type, str) else None,
        )

    def _fill(self, absent: list[str], values: dict[str, Any], item: Mapping[str, AttributeValue], read: Collection[str] | None) -> None:
        """What fields read as that have no attribute: key fields are read from the key. Of an item read in part ``read`` are the names that were asked for."""
        for name in absent:
            field = next(field for field in self.plain_fields if field.name == name)
            if name in self._key_fields:
                if read is None or self._has_key_of(field, item):
                    values[name] = self._read_from_key(field, item)
            elif read is not None and field.stored_name not in read:
                continue
            elif not field.required:
                values[name] = field.when_absent()
            else:
                stored_type = _NULL if field.stored_name in item else None
                raise UndecodableItem(
                    f"{self._name}.{name} is required, and {'NULL' if stored_type else 'nothing'} is stored as {field.stored_name!r}: "
                    "give the field a default, or declare it as ... | None",
                    entity=self.entity, field=name, stored_type=stored_type,
                )  # fmt: skip

    def _has_key_of(self, field: FieldInfo, item: Mapping[str, AttributeValue]) -> bool:
        return any(field.name in template.field_names and name in item for name, template in self._templates)

    def _read_from_key(self, field: FieldInfo, item: Mapping[str, AttributeValue]) -> Any:
        for key_name, template in self._templates:
            value = item.get(key_name)
            if field.name not in template.field_names or value is None:
                continue
            try:
                return template.parse(value[template.stored])[field.name]
            except Exception as error:  # noqa: BLE001 - see _undecodable
                raise self._foreign_key(field.name, _type_of(value)) from _cause_of(error)
        raise UndecodableItem(f"{self._name}.{field.name} is part of the key, and the item has no key", entity=self.entity, field=field.name)

    def _check_key(self, values: Mapping[str, Any], item: Mapping[str, AttributeValue]) -> None:
        """An item whose fields make another key than it has would be written back to another place."""
        for key_name, template in self._compared:
            stored = item.get(key_name)
            # Of an item that was read in part a field of the key may be missing.
            if stored is None or any(name not in values for name in template.field_names):
                continue
            try:
                letters, value = template.render(values)
            except ValueError:
                raise self._foreign_key(None, _type_of(stored)) from None
            if stored.get(letters) != value and not equal(stored, {letters: value}):
                field = template.is_field if self._is_stored_field(key_name, template) else None
                raise self._foreign_key(None, _type_of(stored)) if field is None else self._respelled_key(field, _type_of(stored))

    def _respelled_key(self, field: str, stored_type: str | None) -> UndecodableItem:
        message = (
            f"{self._name}.{field} is the key, and is stored in another form than {self._name} writes it, so that a write would go to another item: "
            "give the field a codec= for the stored form, or the type str"
        )
        return UndecodableItem(message, entity=self.entity, field=field, stored_type=stored_type)

    def _undecodable(self, field: str, value: object, error: Exception) -> UndecodableItem:
        """The error of a codec. One of the developer's own may raise anything, and so does any over a value that no service stores."""
        if isinstance(error, Undecodable):
            told, stored_type = str(error), error.stored_type
        else:
            told, stored_type = f"what is stored cannot be read, its codec raised {type(error).__name__}", _type_of(value)
        message = f"{self._name}.{field}: {told}: mend the item, or give the field another type, or a codec= that reads what is stored"
        return UndecodableItem(message, entity=self.entity, field=field, stored_type=stored_type)

    def _foreign_key(self, field: str | None, stored_type: str | None) -> UndecodableItem:
        message = f"{self._name}: the key of the item is none that its fields make by the templates of {self._name}"
        return UndecodableItem(message, entity=self.entity, field=field, stored_type=stored_type)

    def _stored_version(self, item: Mapping[str, AttributeValue]) -> int | None:
        if self.version is None:
            return None
        value = item.get(self.version.stored_name)
        if value is None or _NULL in value:
            return None
        try:
            found: int = INT.decode(value)
        except Exception as error:  # noqa: BLE001 - see _undecodable
            raise self._undecodable(self.version.name, value, error) from _cause_of(error)
        return found

    # -------------------------------------------------------------------------------------------------------------- fields

    def field_stored_as(self, stored_name: str) -> FieldInfo | None:
        """The field of that stored name, ``None`` for an attribute that the type does not declare."""
        return self._by_stored_name.get(stored_name)


def _text(item: Mapping[str, AttributeValue], name: str | None) -> str | None:
    value = None if name is None else item.get(name)
    return None if value is None else value.get("S")


def _type_of(value: object) -> str | None:
    """The letters of a stored value's type, as far as it is a typed value at all."""
    return next((str(letters) for letters in cast("dict[object, object]", value)), None) if isinstance(value, dict) else None


def _cause_of(error: Exception) -> Exception | None:
    """An error of this library's codecs says all; of one that was not foreseen its place is needed."""
    return None if isinstance(error, Undecodable) else error
