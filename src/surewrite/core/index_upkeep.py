"""Belongs here: what a change of an item changes of the index keys that the library keeps. Must not be here: declarations, whole items, conditions.

An update does not read, so an index key can be kept only where all fields that it is made of are known: they are part of
the item's key, set as constants by the same change, or read with the entity whose state the write demands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from surewrite.core.codecs import Undecodable
from surewrite.core.expressions import ChangeTree, Name, Remove, SetTo, Value
from surewrite.core.fields import FieldInfo
from surewrite.core.indexes import IndexKey
from surewrite.core.keys import Key
from surewrite.core.schemas import BoundSchema
from surewrite.core.stored import stored_state
from surewrite.core.values import AttributeValue
from surewrite.errors import InvalidRequest

_UNKNOWN: Final = object()


def values_at_rest(schema: BoundSchema[Any], target: Any, *, loaded: bool) -> dict[str, Any]:
    """The fields whose stored values an update can rest on: those of the key, and where it demands the loaded state those that join in index keys.

    The latter as they were stored: the entity may have other values by ``replace``, which this write does not store.
    """
    if isinstance(target, Key):
        return dict(target.values)
    values = {name: target.__dict__[name] for name in schema.definition.key_fields if name in target.__dict__}
    stored = stored_state(target)
    if not loaded or stored is None:
        return values
    for field in (_field(schema, name) for key in schema.index_keys for name in key.joined if name not in values):
        value = stored.held.get(field.stored_name)
        if value is not None or not stored.partial:
            values[field.name] = _read_as(field, value)
    return values


def index_changes_of_update(schema: BoundSchema[Any], changes: Sequence[ChangeTree], known: Mapping[str, Any]) -> tuple[ChangeTree, ...]:
    """The changes of index keys that go with an update. ``known`` are the fields whose stored values the write rests on.

    Raises ``InvalidRequest`` where an index key changes with a field and another field of it is not known.
    """
    found: list[ChangeTree] = []
    for key in schema.index_keys:
        touched = _touched(schema, key, changes)
        if not touched:
            continue
        values = _values(schema, key, changes, known)
        unknown = _missing(values)
        if not unknown:
            found.extend(_kept(key, values))
        elif key.derived:
            raise _not_known(schema, key, touched, unknown, "or update a loaded entity, whose state is checked")
    return tuple(found)


def index_changes_of_upsert(schema: BoundSchema[Any], changes: Sequence[ChangeTree], key_values: Mapping[str, Any]) -> tuple[ChangeTree, ...]:
    """The changes of index keys that go with an upsert, which changes a stored item or makes a whole one.

    Raises ``InvalidRequest`` where the item may be stored with other values than the one that would be made.
    """
    found: list[ChangeTree] = []
    for key in schema.index_keys:
        values = _values(schema, key, changes, key_values)
        unknown = _missing(values)
        if not unknown:
            found.extend(_kept(key, values))
        elif key.derived:
            touched = _touched(schema, key, changes)
            # Without a value for one of its fields a new item is not in the index, and a stored one keeps the key that it has.
            new_is_outside = not touched and any(_starts_absent(_field(schema, name)) for name in unknown)
            if not new_is_outside:
                raise _not_known(schema, key, touched or unknown, unknown, "since an item that is stored already may have another value")
    return tuple(found)


def _field(schema: BoundSchema[Any], name: str) -> FieldInfo:
    return next(field for field in schema.fields if field.name == name)


def _starts_absent(field: FieldInfo) -> bool:
    return not field.has_default or field.make_default() is None


def _touched(schema: BoundSchema[Any], key: IndexKey, changes: Sequence[ChangeTree]) -> list[str]:
    changed = {change.target.parts[0] for change in changes}
    return [name for name in key.template.field_names if _field(schema, name).stored_name in changed]


def _values(schema: BoundSchema[Any], key: IndexKey, changes: Sequence[ChangeTree], known: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in key.template.field_names:
        field = _field(schema, name)
        change = next((change for change in changes if change.target.parts[0] == field.stored_name), None)
        values[name] = known.get(name, _UNKNOWN) if change is None else _value_after(field, change)
    return values


def _value_after(field: FieldInfo, change: ChangeTree) -> Any:
    match change:
        case SetTo(target=Name(parts=(_,)), operand=Value(value=value)):
            try:
                return _read_as(field, value)
            except Undecodable:
                return _UNKNOWN
        case Remove(target=Name(parts=(_,))):
            return _read_as(field, None)
        case _:
            return _UNKNOWN


def _read_as(field: FieldInfo, value: AttributeValue | None) -> Any:
    """What the field of an entity is where this is stored, or nothing: an index key is made of what is read, as a put makes it."""
    if value is not None and "NULL" not in value:
        return field.codec.decode(value)
    return None if field.required else field.when_absent()


def _missing(values: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if value is _UNKNOWN]


def _kept(key: IndexKey, values: Mapping[str, Any]) -> tuple[ChangeTree, ...]:
    """The change that keeps the attribute. One that is stored anyway is only held to the rules of keys."""
    content = key.value(values)
    if not key.derived:
        return ()
    name = Name((key.attribute,))
    return (Remove(name),) if content is None else (SetTo(name, Value(content)),)


def _not_known(schema: BoundSchema[Any], key: IndexKey, touched: Sequence[str], unknown: Sequence[str], way_out: str) -> InvalidRequest:
    entity = schema.entity.__name__
    made_of = " and ".join(key.template.field_names)
    wanted = ", ".join(f"{entity}.{name}.set(...)" for name in unknown)
    return InvalidRequest(
        f"{entity}: the index {key.index!r} is made of {made_of}; this write concerns {' and '.join(touched)}, and what is then stored as"
        f" {' and '.join(unknown)} is not known before it is made: add {wanted} with a constant, {way_out}"
    )
