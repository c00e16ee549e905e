"""Belongs here: key templates: their text form, making key values of fields, and reading fields back from a key. Must not be here: keys of entities, tables.

Two different accepted values of a field never make one key: what a template makes of a value must read back as the same
value, and the literal after a field must not begin before the value ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.codecs import STR, Codec, Undecodable
from surewrite.core.values import decode_binary
from surewrite.errors import DefinitionError, InvalidRequest

KeyValue = tuple[str, str]
"""The letters of a key attribute's type and its value in the service's form."""

_LARGEST: Final[Mapping[str, int]] = {"partition_key": limits.PARTITION_KEY_BYTES, "sort_key": limits.SORT_KEY_BYTES}


@dataclass(frozen=True, slots=True)
class TemplateField:
    name: str
    format_spec: str


def parse_template(text: str, described: str) -> tuple[str | TemplateField, ...]:
    """The literals and fields of a template; raises ``DefinitionError`` for one from which no key could be read back."""
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise DefinitionError(f"{described}: {error}; a brace that is meant as such is written twice") from None
    parts: list[str | TemplateField] = []
    pending = ""
    previous: str | None = None
    for literal, name, format_spec, conversion in pieces:
        # A doubled brace ends a piece, so that literals may follow one another.
        pending += literal
        if name is None:
            continue
        if not name.isidentifier():
            raise DefinitionError(f"{described}: {{{name}}} is no field: write the name of a field, such as {{id}}")
        if conversion or (format_spec and "{" in format_spec):
            raise DefinitionError(f"{described}: {{{name}}} takes a format such as {{{name}:020d}}, and no conversion and no field inside it")
        if pending:
            parts.append(pending)
        elif previous is not None:
            raise DefinitionError(
                f"{described}: {{{previous}}} and {{{name}}} stand side by side, so that two items could share a key: write a literal such as # between them"
            )
        parts.append(TemplateField(name, format_spec or ""))
        pending, previous = "", name
    if pending:
        parts.append(pending)
    if not parts:
        raise DefinitionError(f"{described}: a key cannot be empty")
    return tuple(parts)


class KeyTemplate:
    """A template with the codecs of its fields.

    A template that is exactly one field is that field, with the type in which it is stored; every other one is text.
    ``stored`` has the letters of the type of the key attribute; ``is_field`` names the field that the key is, if it is one.
    ``index`` names the index whose key it is, for messages.
    """

    __slots__ = ("_codecs", "_constant", "_described", "_entity", "_largest", "_parts", "_steps", "field_names", "is_field", "stored", "text")

    def __init__(self, entity: str, keyword: str, text: str, codecs: Mapping[str, Codec[Any]], *, index: str | None = None) -> None:
        self._entity = entity
        self.text = text
        self._described = f'{entity}: {keyword}="{text}"' if index is None else f'{entity}: {keyword}="{text}" of the index {index!r}'
        self._parts = parse_template(text, self._described)
        # Fields never stand side by side, so what follows one is a literal, or nothing.
        following = [part if isinstance(part, str) else "" for part in (*self._parts[1:], "")]
        self._steps = tuple(zip(self._parts, following, strict=True))
        self._largest = _LARGEST[keyword]
        names = [part.name for part in self._parts if isinstance(part, TemplateField)]
        self.field_names: tuple[str, ...] = tuple(dict.fromkeys(names))
        first = self._parts[0]
        only = len(self._parts) == 1 and isinstance(first, TemplateField) and not first.format_spec
        self.is_field: str | None = names[0] if only else None
        self._codecs = {name: self._codec_of(name, codecs, only=only) for name in self.field_names}
        self.stored: str = self._codecs[names[0]].stored if only else "S"
        self._constant: KeyValue | None = None
        if not names:
            # Many sort keys are one word: it is made once.
            self._constant = self.render({})

    def _codec_of(self, name: str, codecs: Mapping[str, Codec[Any]], *, only: bool) -> Codec[Any]:
        codec = codecs.get(name)
        if codec is None:
            known = ", ".join(codecs)
            raise DefinitionError(f"{self._described}: {self._entity} has no field {name!r}; it has {known or 'none'}")
        allowed = ("S", "N", "B") if only else ("S", "N")
        if codec.stored not in allowed:
            raise DefinitionError(f"{self._described}: {name} is a {codec.type_name}, stored as {codec.stored}, and a key is made of {', '.join(allowed)}")
        return codec

    @property
    def codec(self) -> Codec[Any]:
        """How a value of the whole key is stored: by the codec of the field that the key is, otherwise as text."""
        return STR if self.is_field is None else self._codecs[self.is_field]

    def render(self, values: Mapping[str, Any]) -> KeyValue:
        """The key value of accepted field values. Raises ``InvalidRequest`` for an empty, ambiguous or too long one."""
        if self._constant is not None:
            return self._constant
        if self.is_field is not None:
            codec = self._codecs[self.is_field]
            value: str = codec.encode(values[self.is_field])[codec.stored]
            if not value:
                raise InvalidRequest(f"{self._entity}.{self.is_field} is part of the key and must not be empty")
        else:
            value = ""
            for part, following in self._steps:
                value += part if isinstance(part, str) else self._text_before(following, part, values[part.name])
        self._require_size(value)
        return self.stored, value

    def _text_before(self, following: str, field: TemplateField, value: Any) -> str:
        text = self._text_of(field, value)
        if following and (text + following).find(following) != len(text):
            raise InvalidRequest(
                f"{self._entity}.{field.name} is part of the key, and its value holds {following!r}, where the value ends in the template: "
                "two items could share a key; choose another separator, or a format without it"
            )
        return text

    def _text_of(self, field: TemplateField, value: Any) -> str:
        codec = self._codecs[field.name]
        text: str = self._formatted(field, codec, value) if field.format_spec else codec.encode(value)[codec.stored]
        if not text:
            raise InvalidRequest(f"{self._entity}.{field.name} is part of the key and must not be empty")
        return text

    def _formatted(self, field: TemplateField, codec: Codec[Any], value: Any) -> str:
        try:
            text = format(value, field.format_spec)
            same = codec.decode({codec.stored: text}) == value
        except (Undecodable, ValueError, TypeError):
            same, text = False, ""
        if not same:
            raise InvalidRequest(
                f"{self._entity}.{field.name}: {{{field.name}:{field.format_spec}}} makes a text that does not read back as the same value, "
                "so that two items could share a key: choose a format that keeps the whole value"
            )
        return text

    def _require_size(self, value: str) -> None:
        if len(value) * 4 <= self._largest:
            return
        size = len(decode_binary(value)) if self.stored == "B" else len(value.encode())
        if size > self._largest:
            raise InvalidRequest(f"{self._described}: the key has {size} bytes, and the service takes {self._largest}", code="ValidationException")

    def parse(self, value: str) -> dict[str, Any]:
        """The field values that a key value was made of; raises ``Undecodable`` for one that this template does not make."""
        if self.is_field is not None:
            return {self.is_field: self._codecs[self.is_field].decode({self.stored: value})}
        found: dict[str, Any] = {}
        position = 0
        for index, part in enumerate(self._parts):
            if isinstance(part, str):
                if not value.startswith(part, position):
                    raise self._foreign()
                position += len(part)
                continue
            following = self._parts[index + 1] if index + 1 < len(self._parts) else None
            end = value.find(following, position) if isinstance(following, str) else len(value)
            if end <= position:
                raise self._foreign()
            codec = self._codecs[part.name]
            decoded = codec.decode({codec.stored: value[position:end]})
            if found.setdefault(part.name, decoded) != decoded:
                raise self._foreign()
            position = end
        if position != len(value):
            raise self._foreign()
        return found

    def _foreign(self) -> Undecodable:
        return Undecodable(f"{self._described} makes no such key", self.stored)
