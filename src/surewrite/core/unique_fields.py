"""Belongs here: fields whose values one item only may have: what a value claims, and errors in the declaration. Must not be here: writing claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surewrite.core.fields import FieldInfo, UniqueRule
from surewrite.core.templates import TemplateField, parse_template
from surewrite.core.values import canonical_number
from surewrite.errors import DefinitionError, InvalidRequest

_STORED: Final = ("S", "N", "B")

PART_BYTES_MAX: Final = 256
"""A longer part of a claim is claimed by its hash, so that the key of a claim stays within the service's limit."""


@dataclass(frozen=True, slots=True, eq=False)
class UniqueField:
    """One such field of an entity type. ``scope`` are texts and fields that are part of each claim."""

    entity: str
    discriminator: str
    field: FieldInfo
    rule: UniqueRule
    scope: tuple[str | FieldInfo, ...]
    released_by: FieldInfo | None

    @property
    def fields(self) -> tuple[FieldInfo, ...]:
        """The fields that decide what is claimed."""
        scope = tuple(part for part in self.scope if isinstance(part, FieldInfo))
        return (self.field, *scope) if self.released_by is None else (self.field, *scope, self.released_by)

    def claimed(self, values: Mapping[str, Any]) -> str | None:
        """What an item with these values of the fields claims; ``None`` if nothing. Equal for two items exactly where they may not both have the value.

        Raises ``InvalidRequest`` where ``normalise`` gives no text.
        """
        if self.released_by is not None and values[self.released_by.name] is not None:
            return None
        value = values[self.field.name]
        if value is None or any(values[part.name] is None for part in self.scope if isinstance(part, FieldInfo)):
            return None
        scope = (part if isinstance(part, str) else _text(part, values[part.name]) for part in self.scope)
        return "#".join(_part(text) for text in (self.discriminator, self.field.stored_name, *scope, self._normalised(value)))

    def _normalised(self, value: Any) -> str:
        if self.rule.normalise is None:
            return _text(self.field, value)
        text = self.rule.normalise(value)
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(f"{self.entity}.{self.field.name}: normalise must give the text to be claimed, and it gave {type(text).__name__}")
        return text


def _text(field: FieldInfo, value: Any) -> str:
    letters = field.codec.stored
    text: str = field.codec.encode(value)[letters]
    return canonical_number(text) if letters == "N" else text


def _part(text: str) -> str:
    """The text without the separator. What stands for a long one holds a ``%`` that nothing else makes."""
    escaped = text.replace("%", "%25").replace("#", "%23")
    if len(escaped.encode()) <= PART_BYTES_MAX:
        return escaped
    from hashlib import sha256  # noqa: PLC0415 - loaded by the first long value, since it loads the system's cryptography

    return f"%sha256:{sha256(text.encode()).hexdigest()}"


def unique_fields(entity: str, discriminator: str | None, fields: Mapping[str, FieldInfo], key_fields: Collection[str]) -> tuple[UniqueField, ...]:
    """The unique fields of an entity type; raises ``DefinitionError`` for what cannot work."""
    found: list[UniqueField] = []
    for field in fields.values():
        if field.unique is None:
            continue
        place = f"{entity}.{field.name}"
        if discriminator is None:
            raise DefinitionError(f"{place} is unique, and its claims are told from those of other types by the discriminator: give {entity} a discriminator=")
        if field.codec.stored not in _STORED:
            raise DefinitionError(f"{place} is unique, and a {field.codec.type_name} cannot be claimed: text, numbers, bytes and moments can")
        scope = _scope(place, field.unique.scope, fields)
        released_by = _released_by(place, field, fields, key_fields)
        found.append(UniqueField(entity, discriminator, field, field.unique, scope, released_by))
    return tuple(found)


def _scope(place: str, text: str | None, fields: Mapping[str, FieldInfo]) -> tuple[str | FieldInfo, ...]:
    if text is None:
        return ()
    described = f'{place}: scope="{text}"'
    parts: list[str | FieldInfo] = []
    for part in parse_template(text, described):
        if not isinstance(part, TemplateField):
            # Each field is a part of its own, so a separator that is written between them says nothing more.
            if part.strip("#"):
                parts.append(part.strip("#"))
            continue
        field = fields.get(part.name)
        if field is None:
            raise DefinitionError(f"{described}: there is no field {part.name!r}; there are {', '.join(fields)}")
        if part.format_spec or field.role == "version" or field.codec.stored not in _STORED:
            raise DefinitionError(f"{described}: a scope is made of fields that are text, numbers, bytes or moments, without a format")
        parts.append(field)
    return tuple(parts)


def _released_by(place: str, field: FieldInfo, fields: Mapping[str, FieldInfo], key_fields: Collection[str]) -> FieldInfo | None:
    assert field.unique is not None
    name = field.unique.released_by
    ending = next((other for other in fields.values() if other.role == "time to live"), None)
    if ending is not None and name != ending.name:
        raise DefinitionError(
            f"{place} is unique, and {ending.name} is a time to live: the service deletes an expired item and leaves what it claimed taken for ever;"
            f' take one of them out, or let items that end claim nothing: released_by="{ending.name}"'
        )
    if name is None:
        return None
    releasing = fields.get(name)
    if releasing is None or not releasing.optional or releasing.role == "version" or name in key_fields or releasing is field:
        raise DefinitionError(f"{place}: released_by={name!r} must name another field of the type that may be absent, such as the moment of a deletion")
    return releasing
