"""A bounded number of schedules with a seed of the day: the header prints it, and `--surewrite-seed` makes the same schedules again."""

from __future__ import annotations

import pytest

from surewrite.testing.planting.planted import BUGS, look_for
from surewrite.testing.proving import PromiseBroken, prove
from surewrite.testing.scenarios.catalogue import SCENARIOS
from surewrite.testing.scenarios.transfers import additions_over_long_times
from surewrite.testing.search import search
from surewrite.testing.shrinking import shrink
from surewrite.testing.world_settings import WorldSettings

SCHEDULES_OF_A_SCENARIO = 60
SEEDS_OF_PLANTED = ("one", "two", "three", "four", "five")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_schedule_breaks_a_promise(scenario, surewrite_seed: str) -> None:
    result = search([scenario], surewrite_seed, SCHEDULES_OF_A_SCENARIO, stop_at_first=True)
    assert not result.failures, f"surewrite simulate --scenario '{scenario.name}' --seed {surewrite_seed}\n{shrink(result.failures[0]).story}"
    assert result.schedules == SCHEDULES_OF_A_SCENARIO


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_with_each_seed(bug) -> None:
    findings = [look_for(bug, seed) for seed in SEEDS_OF_PLANTED]
    assert [finding.seed for finding in findings if not finding.found] == []


def test_r14_in_a_world_whose_late_attempts_outlive_tokens_a_transaction_takes_effect_twice() -> None:
    """The promise rests on the horizon being shorter than a token's life, and the checker sees where it is not."""
    settings = WorldSettings(horizon_seconds=900.0, token_life_seconds=100.0, signature_life_seconds=1_000.0)
    with pytest.raises(PromiseBroken, match="took effect twice"):
        prove(additions_over_long_times, schedules=500, settings=settings, faults=frozenset({"late", "answer lost"}))


def test_there_are_at_least_twenty_planted_bugs() -> None:
    assert len({bug.name for bug in BUGS}) >= 20
