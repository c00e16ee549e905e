"""Belongs here: one run of a scenario, from its seed or from what was kept of an earlier one, and its verdict.

Must not be here: many runs, making a run smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surewrite.testing.choices import Choices, Decided, Label
from surewrite.testing.guarantees import violations_of
from surewrite.testing.item_rules import item_violations
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.story import story_of
from surewrite.testing.violations import Violation
from surewrite.testing.world_settings import NOTHING_BY_CHANCE, WorldSettings, draw_rates, draw_settings


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one run. ``decisions`` and ``settings`` make it again."""

    scenario: Scenario
    seed: str
    settings: WorldSettings
    decisions: Mapping[Label, Decided]
    violation: Violation | None
    world: World
    remark: str = ""
    """What a reader of the story must know of the run itself, such as that it cannot be made again."""

    @property
    def story(self) -> str:
        """What happened, a line for each thing, in the order of virtual time."""
        return story_of(self.world, self.violation, self.remark)


def run_by_seed(scenario: Scenario, seed: str) -> Run:
    """Run a scenario with every decision drawn from the seed: the same seed makes the same run."""
    choices = Choices(seed)
    settings = draw_settings(choices.chance, scenario.settings)
    rates = draw_rates(choices.chance, allowed=scenario.faults)
    return _run(scenario, seed, choices, World(choices, settings, rates, scenario.plan))


def run_again(scenario: Scenario, seed: str, settings: WorldSettings, decisions: Mapping[Label, Decided]) -> Run:
    """Run a scenario with the decisions that were kept; where none was, nothing special happens."""
    choices = Choices(seed, decisions)
    return _run(scenario, seed, choices, World(choices, settings, NOTHING_BY_CHANCE, scenario.plan))


def _run(scenario: Scenario, seed: str, choices: Choices, world: World) -> Run:
    violation: Violation | None = None
    try:
        scenario.build(world)
        world.run_to_end()
    except Violation as found:
        violation = found
    finally:
        world.close()
    return Run(scenario, seed, world.settings, choices.taken, violation or first_violation(world), world)


def first_violation(world: World) -> Violation | None:
    """What the world did that it must not: the truth of words first, then items, then the scenario's own invariants."""
    for violation in violations_of(world.ledger):
        return violation
    for violation in item_violations(world):
        return violation
    for check in world.checks:
        try:
            text = check(world)
        except AssertionError as failed:
            text = str(failed) or "an assertion of the scenario failed"
        if text is not None:
            return Violation("invariant", text)
    return None
