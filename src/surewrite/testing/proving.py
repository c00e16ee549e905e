"""Belongs here: trying one scenario of the user in many schedules, with the smallest failure as an error. Must not be here: pytest, printing."""

from __future__ import annotations

from dataclasses import replace

from surewrite.errors import InvalidRequest
from surewrite.testing.faults import NO_FAULTS, FaultPlan
from surewrite.testing.runs import Run
from surewrite.testing.scenario import Build, Scenario
from surewrite.testing.search import search
from surewrite.testing.shrinking import shrink
from surewrite.testing.world_settings import FAULT_NAMES, RESENT_BELOW, WorldSettings, all_faults_but

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
    faults by plan. A transport that sends again by itself exists only where ``faults`` names it or the settings have one. Raises
    ``PromiseBroken`` with the first schedule that fails, made as small as possible, ``InvalidRequest`` for a fault that chance
    cannot bring. About a millisecond a schedule for two clients with a call or two each.
    """
    if schedules < 1:
        raise InvalidRequest(f"schedules is how many worlds are run, a whole number from 1, not {schedules}: none proves nothing")
    wished = settings if settings is not None else WorldSettings()
    allowed = all_faults_but() if faults is None else _checked(faults)
    if faults is not None and RESENT_BELOW in faults:
        wished = replace(wished, transport_resends=True)
    elif not wished.transport_resends:
        # The library takes no transport that does so, so that it would blame the user's code for what cannot happen to it.
        allowed -= {RESENT_BELOW}
    scenario = Scenario(build.__name__.replace("_", " "), build, wished, allowed, plan)
    result = search([scenario], seed, schedules, stop_at_first=True)
    if result.failures:
        raise PromiseBroken(shrink(result.failures[0]), seed, result.schedules)
    return result.schedules


def _checked(faults: frozenset[str]) -> frozenset[str]:
    """A name that is misspelled would leave its fault out unseen."""
    strange = sorted(faults.difference(FAULT_NAMES))
    if strange:
        raise InvalidRequest(f"chance brings no fault {', '.join(map(repr, strange))}: it brings {', '.join(map(repr, FAULT_NAMES))}")
    return faults
