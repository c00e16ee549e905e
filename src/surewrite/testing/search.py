"""Belongs here: many runs, one after another, until the budget is used up: what failed, and whether it fails again.

Must not be here: making one run, printing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest

from surewrite.testing.real_reads import watch_real_reads
from surewrite.testing.runs import Run, run_by_seed
from surewrite.testing.scenario import Scenario

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
    """Run ``schedules`` schedules, the scenarios in turn. Each one that fails is run once more, and its remark says so where it did not repeat exactly."""
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
    """A failing run, with a remark where it read something real, or where it is not the same to the letter when it is made again."""
    again, reads = watch_real_reads(lambda: run_by_seed(run.scenario, run.seed))
    first, second = run.story.split("\n"), again.story.split("\n")
    lines: list[str] = []
    if reads:
        lines.append(f"The code reads what is outside of the world: {', '.join(reads)}.")
        lines.append(
            f"The world's clock began at {_clock_text(run.settings.begins_at_seconds)}, whatever the date is, and what is written is judged by that clock."
        )
        lines.append("Take times and ids from the client instead: client.wall_time(), client.time(), client.new_id(), client.new_uuid().")
        lines.append("A default_factory gets them through a ContextVar that the client's code sets. See \"Time and ids\" on the simulator's page.")
    if first != second:
        differing = next(((one, other) for one, other in zip_longest(first, second, fillvalue="(the end)") if one != other), ("", ""))
        lines.append(
            "Not repeatable: the seed made two different runs, so something outside of the world was read" + (" (above)." if reads else _HIDDEN_SOURCES)
        )
        lines += ["The first lines that differ:", f"  {differing[0]}", f"  {differing[1]}"]
    return replace(run, remark="\n".join(lines)) if lines else run


_HIDDEN_SOURCES = ": a clock, chance, the order of a set, or what an earlier run left in a variable."


def _clock_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
