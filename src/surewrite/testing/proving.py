"""Belongs here: trying one scenario of the user in many schedules, with the smallest failure as an error. Must not be here: pytest, printing."""

from __future__ import annotations

from surewrite.errors import InvalidRequest
from surewrite.testing.faults import NO_FAULTS, FaultPlan
from surewrite.testing.runs import Run
from surewrite.testing.scenario import Build, Scenario
from surewrite.testing.search import search
from surewrite.testing.shrinking import shrink
from surewrite.testing.world_settings import WorldSettings

SCHEDULES = 1_000


class PromiseBroken(AssertionError):
    """A schedule in which a word was not true, or an invariant of the scenario did not hold. The text is its story.

    ``seed`` makes the schedule again by chance, the ``schedule``-th of its run; ``run`` holds the smallest one that was found.
    """

    def __init__(self, run: Run, seed: str, schedule: int) -> None:
        super().__init__(f"schedule {schedule} of seed {seed!r}\n\n{run.story}")
        self.run = run
        self.seed = seed
        self.schedule = schedule


def prove(
    build: Build,
    *,
    schedules: int = SCHEDULES,
    seed: str = "0",
    settings: WorldSettings | None = None,
    faults: frozenset[str] | None = None,
    plan: FaultPlan = NO_FAULTS,
) -> int:
    """Run a scenario in ``schedules`` worlds and return how many were run.

    ``build`` puts tables, clients and invariants into the world that it is given. ``settings`` are parameters of the worlds,
    ``faults`` the names of those that chance may bring (all, where it is left out; none for an empty set), ``plan`` brings
    faults by plan. Raises ``PromiseBroken`` with the first schedule that fails, made as small as possible. About a
    millisecond a schedule for two clients with a call or two each.
    """
    if schedules < 1:
        raise InvalidRequest(f"schedules is how many worlds are run, a whole number from 1, not {schedules}: none proves nothing")
    scenario = Scenario(build.__name__.replace("_", " "), build, settings if settings is not None else WorldSettings(), faults, plan)
    result = search([scenario], seed, schedules, stop_at_first=True)
    if result.failures:
        raise PromiseBroken(shrink(result.failures[0]), seed, result.schedules)
    return result.schedules
