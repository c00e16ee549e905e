"""Belongs here: what a plan is made of besides the intent: the place, the occasion, the options. Must not be here: planning, effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import Any, Protocol

from surewrite.core.conditions import Condition
from surewrite.core.effects import Moment
from surewrite.core.environment import Environment
from surewrite.core.frozen import quickly_made
from surewrite.core.plans import InDoubt, Names, Returning, VersionDemand
from surewrite.core.schemas import BoundSchema


@dataclass(frozen=True, slots=True)
class Scope:
    """One entity type in one table of one database: what every plan of it needs."""

    environment: Environment
    table: str
    schema: BoundSchema[Any]
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        schema, layout = self.schema, self.schema.layout
        names = Names(
            stamp=layout.stamp,
            birth=layout.birth,
            version=schema.version.stored_name if schema.version else None,
            discriminator=layout.discriminator if schema.discriminator_value is not None else None,
            time_to_live=schema.time_to_live.stored_name if schema.time_to_live else None,
        )
        object.__setattr__(self, "names", names)

    @property
    def entity(self) -> str:
        return self.schema.entity.__name__


@quickly_made
@dataclass(frozen=True, slots=True)
class Occasion:
    """What a plan is made of besides the intent: one reading of the clock and one new id."""

    moment: Moment
    unique: str

    @property
    def seconds(self) -> int:
        """Whole seconds since 1970, cut down: a time to live counts as expired only when it certainly is."""
        return floor(self.moment.server)


@quickly_made
@dataclass(frozen=True, slots=True)
class Options:
    """What the caller said beside the intent.

    ``version_demand`` is that of a check which the write serves too: its condition holds it, and here it tells what a refusal means.
    """

    condition: Condition[Any] | None = None
    if_unchanged: bool = False
    in_doubt: InDoubt | None = None
    returning: Returning = "new"
    version_demand: VersionDemand | None = None


class ScopedTable(Protocol):
    """What a recipe needs of its table. The tables of both clients fulfil it, so a recipe is written once for both."""

    @property
    def name(self) -> str: ...

    @property
    def environment(self) -> Environment: ...

    def scope_of(self, entity: type[Any], /) -> Scope: ...
