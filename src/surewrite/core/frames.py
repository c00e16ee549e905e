"""Belongs here: what a kind of write demands and keeps whatever its caller says, compiled to text with places for the values of each call.

Must not be here: which kinds of writes there are, what they demand.

A frame is made by the same functions that would make the condition and the changes of one call: they are given stand-ins for
what differs between calls, and where the rendering met a stand-in is a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from surewrite.core.expressions import ChangeTree, ConditionTree, Rendering, holds_on_absent
from surewrite.core.frozen import quickly_made
from surewrite.core.values import AttributeValue

FRAMES_MAX: Final = 1024
"""More kinds of writes than a program has; one that makes entity types without end begins anew."""

VERSION_READ: Final = -1
VERSION_WRITTEN: Final = -2
SECONDS: Final = -3
"""Stand-ins for numbers. The constants of a frame are 0 and 1."""

STAMP_READ: Final = "\0 the stamp that was read"
STAMP_WRITTEN: Final = "\0 the stamp that is written"
"""Stand-ins for texts. The constants of a frame are names of types."""

Facts = tuple[int | None, int | None, int | None, str | None, str | None]
"""What differs between calls: version read, version written, seconds since 1970, stamp read, stamp written; ``None`` for what the frame has no place for."""

_STAND_INS: Final[Mapping[tuple[str, str], int]] = {
    value: index
    for index, value in enumerate(
        (("N", str(VERSION_READ)), ("N", str(VERSION_WRITTEN)), ("N", str(SECONDS)), ("S", STAMP_READ), ("S", STAMP_WRITTEN)),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """One placeholder: the letters of its type, and the constant that it stands for, or which fact."""

    placeholder: str
    letters: str
    constant: str | None
    fact: int


@quickly_made
@dataclass(frozen=True, slots=True)
class Demanded:
    """A condition as it is sent, ``None`` where nothing is demanded. ``names`` are all those of the request."""

    condition: str | None
    names: dict[str, str]
    fails_on_absent: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """``sets`` are the clauses behind SET, empty where nothing is kept."""

    demanded: Demanded
    sets: str
    places: tuple[Place, ...]

    def values(self, facts: Facts) -> dict[str, AttributeValue]:
        """The values of one call by their placeholders. Those of the caller's own conditions and changes follow them."""
        return {place.placeholder: {place.letters: str(facts[place.fact]) if place.constant is None else place.constant} for place in self.places}


def compiled(condition: ConditionTree | None, kept: Iterable[ChangeTree]) -> Frame:
    """The frame of a condition and of changes, all of them SET, that were made of stand-ins."""
    rendering = Rendering()
    always = rendered(rendering, condition)
    sets = rendering.update(kept).removeprefix("SET ")
    places: list[Place] = []
    for placeholder, value in rendering.values.items():
        ((letters, content),) = value.items()
        fact = _STAND_INS.get((letters, content))
        places.append(Place(placeholder, letters, content if fact is None else None, -1 if fact is None else fact))
    return Frame(always, sets, tuple(places))


def rendered(rendering: Rendering, condition: ConditionTree | None) -> Demanded:
    """The condition as the next text of a rendering."""
    text = rendering.condition(condition) if condition is not None else None
    return Demanded(text, rendering.names, condition is None or not holds_on_absent(condition))
