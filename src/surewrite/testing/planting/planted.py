"""Belongs here: all planted bugs, and how soon the scenarios find each. Must not be here: any bug, printing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surewrite.testing.planting import claiming, collecting, counting, deciding, delivering, sending
from surewrite.testing.planting.bug import PlantedBug
from surewrite.testing.runs import run_by_seed
from surewrite.testing.scenarios.catalogue import scenarios_named
from surewrite.testing.search import seeds

BUGS: tuple[PlantedBug, ...] = (*deciding.BUGS, *sending.BUGS, *counting.BUGS, *collecting.BUGS, *delivering.BUGS, *claiming.BUGS)


@dataclass(frozen=True, slots=True)
class Finding:
    """How a planted bug was looked for: the schedule that found it, counted from one, and which rule it broke; ``None`` if none did."""

    bug: PlantedBug
    seed: str
    schedule: int | None
    rule: str | None

    @property
    def found(self) -> bool:
        return self.schedule is not None


def look_for(bug: PlantedBug, seed: str) -> Finding:
    """Run the scenarios of a bug with it in place until one fails, at most ``bug.within`` schedules."""
    scenarios = scenarios_named(bug.scenarios)
    with bug.plant():
        for number, (scenario, text) in enumerate(seeds(scenarios, seed, bug.within), 1):
            run = run_by_seed(scenario, text)
            if run.violation is not None:
                return Finding(bug, seed, number, run.violation.rule)
    return Finding(bug, seed, None, None)


def look_for_all(seeds_of_search: Sequence[str], *, bugs: Sequence[PlantedBug] = BUGS, progress: Callable[[int, str], None] | None = None) -> list[Finding]:
    """Look for each bug with each seed."""
    findings: list[Finding] = []
    for bug in bugs:
        for seed in seeds_of_search:
            findings.append(look_for(bug, seed))
            if progress is not None:
                progress(len(findings), bug.name)
    return findings
