"""Failing runs are made small, written to files, and run again from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surewrite.testing.planting.deciding import last_answer_wins
from surewrite.testing.proving import PromiseBroken, prove
from surewrite.testing.runs import run_by_seed
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.accounts import saves
from surewrite.testing.scenarios.catalogue import SCENARIOS
from surewrite.testing.search import search
from surewrite.testing.shrinking import load_run, save_run, shrink

SAVES = Scenario("saves", saves)


def test_a_failing_run_keeps_its_rule_and_loses_what_it_does_not_need() -> None:
    with last_answer_wins():
        failing = search([SAVES], "one", 500, stop_at_first=True).failures[0]
        small = shrink(failing)
    assert small.violation.rule == failing.violation.rule
    assert 0 < len(small.decisions) < len(failing.decisions)
    assert "told refused, took effect" in small.story.splitlines()[0]


def test_a_run_from_a_file_is_the_run_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with last_answer_wins():
        small = shrink(search([SAVES], "one", 500, stop_at_first=True).failures[0])
        save_run(small, path)
        again = load_run(path, SCENARIOS)
    assert again.story == small.story
    assert load_run(path, SCENARIOS).violation is None
    assert json.loads(path.read_text())["rule"] == "told refused, took effect"


def test_a_file_about_an_unknown_scenario_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"scenario": "no such", "seed": "1", "world": {}, "decisions": {}}))
    with pytest.raises(KeyError, match="no such"):
        load_run(path, SCENARIOS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "5",
        "null",
        '"x"',
        "[]",
        "{}",
        '{"scenario": "saves"}',
        '{"scenario": "saves", "seed": "1", "world": 5, "decisions": {}}',
        '{"scenario": "saves", "seed": "1", "world": {"strange": 1}, "decisions": {}}',
        '{"scenario": "saves", "seed": "1", "world": {}, "decisions": []}',
        pytest.param("[" * 100_000, id="nested without end"),
    ],
)
def test_what_is_no_file_of_a_run_is_a_value_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"run\.json is no file of a run"):
        load_run(path, [SAVES])


def test_a_run_without_a_failure_cannot_be_made_smaller() -> None:
    with pytest.raises(ValueError, match="only a failing run"):
        shrink(run_by_seed(SAVES, "1"))


def test_prove_returns_how_many_schedules_held_and_raises_the_story_of_one_that_did_not() -> None:
    assert prove(saves, schedules=20) == 20
    with last_answer_wins(), pytest.raises(PromiseBroken, match="told refused") as broken:
        prove(saves, schedules=500)
    assert broken.value.run.violation is not None
