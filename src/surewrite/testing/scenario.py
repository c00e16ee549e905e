"""Belongs here: what a scenario is: a name, what it puts into a world, and in which worlds it makes sense. Must not be here: any scenario, running one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from surewrite.testing.faults import NO_FAULTS, FaultPlan
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import WorldSettings

Build = Callable[[World], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Puts tables, clients and invariants into a world.

    ``faults`` names those that chance may bring; ``None`` means all. ``plan`` brings faults by plan. What ``settings`` sets
    apart from a plain world is the same in every run; the rest is drawn.
    """

    name: str
    build: Build
    settings: WorldSettings = field(default_factory=WorldSettings)
    faults: frozenset[str] | None = None
    plan: FaultPlan = NO_FAULTS
    blocking: bool = False
    """Has blocking clients, which need greenlet, of the extra ``testing``."""

    @property
    def summary(self) -> str:
        """The first line of what the scenario's function says of itself."""
        return (self.build.__doc__ or "").strip().split("\n")[0]
