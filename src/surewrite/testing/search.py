"""Belongs here: many runs, one after another, until the budget is used up: what failed, and whether it fails again.

Must not be here: making one run, printing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from surewrite.testing.runs import Run, run_by_seed
from surewrite.testing.scenario import Scenario
from surewrite.testing.violations import Violation

FAILURES_KEPT = 20


@dataclass(slots=True)
class SearchResult:
    """What a search found: how many schedules were run, the failing ones (the first of them), and how many failed in all."""

    schedules: int = 0
    violations: int = 0
    failures: list[Run] = field(default_factory=list[Run])
    by_scenario: dict[str, int] = field(default_factory=dict[str, int])


def search(
    scenarios: Sequence[Scenario],
    seed: str,
    schedules: int,
    *,
    stop_at_first: bool = False,
    progress: Callable[[int], None] | None = None,
) -> SearchResult:
    """Run ``schedules`` schedules, the scenarios in turn. Each one that fails is run once more and must repeat exactly."""
    result = SearchResult()
    for scenario, text in seeds(scenarios, seed, schedules):
        run = run_by_seed(scenario, text)
        result.schedules += 1
        result.by_scenario[scenario.name] = result.by_scenario.get(scenario.name, 0) + 1
        if run.violation is not None:
            result.violations += 1
            if len(result.failures) < FAILURES_KEPT:
                result.failures.append(repeated(run))
            if stop_at_first:
                break
        if progress is not None:
            progress(result.schedules)
    return result


def seeds(scenarios: Sequence[Scenario], seed: str, schedules: int) -> Iterator[tuple[Scenario, str]]:
    """The runs of a search, in order: each scenario with the seed of its run."""
    for number in range(schedules):
        scenario = scenarios[number % len(scenarios)]
        yield scenario, f"{seed}:{number // len(scenarios)}:{scenario.name}"


def repeated(run: Run) -> Run:
    """The same run once more. Where it is not the same to the letter, that is the violation: something real was read."""
    again = run_by_seed(run.scenario, run.seed)
    if again.story == run.story:
        return run
    different = Violation("not repeatable", f"the seed {run.seed!r} made two different runs; something outside of the world was read")
    return Run(run.scenario, run.seed, run.settings, run.decisions, different, again.world)
