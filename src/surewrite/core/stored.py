"""Belongs here: what an entity remembers of the item that it was read from or stored as. Must not be here: fields, keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from surewrite.core.frozen import quickly_made
from surewrite.core.values import AttributeValue

E = TypeVar("E")

STATE: Final = "_stored"
"""Where an entity keeps it; no field can have such a name."""

NOTHING_HELD: Final[Mapping[str, AttributeValue]] = {}
"""Of an entity type without unique fields, and without index keys of several fields."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Stored:
    """The state of an item as an entity was read or stored: version, stamp and birth (``None`` where it has none).

    ``unknown`` are its attributes that the entity does not declare: a later put keeps them. ``partial`` is true for an
    entity that was read in part. ``held`` are the attributes, as they were stored, that decide what the item claims, and the
    keys that it has in indexes: the entity's own fields may have got other values by ``replace`` since.
    """

    version: int | None
    stamp: str | None
    birth: str | None
    unknown: Mapping[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    partial: bool = False
    held: Mapping[str, AttributeValue] = field(default_factory=lambda: NOTHING_HELD)


def stored_state(entity: object) -> Stored | None:
    """The state that the entity was read or stored in; ``None`` for a new one, whatever number its version has."""
    state: Stored | None = entity.__dict__.get(STATE)
    return state


def new_entity(entity: type[E], values: dict[str, Any]) -> E:
    """An instance with exactly these values, which are kept, not copied; nothing is checked."""
    made = object.__new__(entity)
    made.__dict__.update(values)
    return made
