"""`surewrite simulate`: its output, its JSON and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surewrite.cli import simulate
from surewrite.cli.main import main
from surewrite.errors import InvalidRequest
from surewrite.testing import simulator
from surewrite.testing.choices import Choices
from surewrite.testing.explorer import Report
from surewrite.testing.planting.deciding import last_answer_wins
from surewrite.testing.planting.planted import BUGS, Finding
from surewrite.testing.scenarios import catalogue


def test_no_violation_is_exit_code_zero_and_the_seed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--schedules", "44", "--seed", "s"]) == 0
    printed = capsys.readouterr().out
    assert "44 schedule(s)" in printed
    assert "seed s: no violation" in printed


def test_the_json_has_the_stated_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--schedules", "10", "--scenario", "counts", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schedules"] == 10
    assert told["violations"] == 0
    assert told["planted"] == {"found": 0, "of": 0}
    assert told["seconds"] >= 0
    assert told["scenarios"] == {"counts": 10}


def test_a_violation_is_told_as_a_story_saved_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with last_answer_wins():
        assert main(["simulate", "--schedules", "200", "--seed", "one", "--scenario", "saves", "--save", str(tmp_path)]) == 1
        printed = capsys.readouterr().out
        path = tmp_path / "saves-told-refused-took-effect.json"
        assert f"written: {path}" in printed
        assert "told refused, took effect: the put" in printed
        assert main(["simulate", "--replay", str(path)]) == 1
    assert "the promise is broken still" in capsys.readouterr().out
    assert main(["simulate", "--replay", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["violations"] == 0


def test_planted_bugs_make_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few = BUGS[:2]
    monkeypatch.setattr(simulate, "BUGS", few)
    monkeypatch.setattr(simulate, "look_for_all", lambda seeds, bugs, progress: [simulate_look(bug, seed) for bug in bugs for seed in seeds])
    assert main(["simulate", "--planted", "--seed", "s"]) == 0
    printed = capsys.readouterr().out
    assert few[0].name in printed
    assert "2 of 2 planted bugs found with each of 5 seeds" in printed


def simulate_look(bug, seed):
    from surewrite.testing.planting.planted import look_for

    return look_for(bug, seed)


@pytest.mark.parametrize(
    "words",
    [
        ["--scenario", "no such"],
        ["--replay", "no-such-file.json"],
        ["--schedules", "-1"],
        ["--schedules", "0"],
        ["--planted", "--scenario", "no such"],
        ["--planted", "--scenario", "saves in plain code"],
        ["--planted", "--schedules", "5"],
        ["--planted", "--save", "folder"],
        ["--planted", "--full"],
        ["--explore", "--schedules", "5"],
        ["--explore", "--seed", "s"],
        ["--explore", "--scenario", "saves"],
        ["--replay", "file", "--seed", "s"],
        ["--full"],
        ["--schedules", "1", "--save", ""],
        ["--schedules", "1", "--save", "/dev/null"],
        ["--schedules", "1", "--save", "/dev/null/folder"],
    ],
)
def test_what_cannot_be_done_is_said_and_is_a_usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *words]) == 2
    assert "surewrite: " in capsys.readouterr().err


def test_the_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--scenario", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(catalogue.SCENARIOS)
    # One column: each summary begins where the others do.
    assert len({line.index(scenario.summary) for line, scenario in zip(lines, catalogue.SCENARIOS, strict=True)}) == 1


def test_the_scenarios_are_listed_as_json_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--scenario", "list", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["scenarios"]] == [scenario.name for scenario in catalogue.SCENARIOS]


def test_only_scenarios_that_were_run_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--schedules", "3"]) == 0
    assert "3 schedule(s) of 3 scenario(s)" in capsys.readouterr().out


def test_planted_bugs_can_be_those_of_one_scenario(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    looked_for = []

    def look(seeds, bugs, progress):
        looked_for.extend(bugs)
        return [Finding(bug, seed, 1, "rule") for bug in bugs for seed in seeds]

    monkeypatch.setattr(simulate, "look_for_all", look)
    assert main(["simulate", "--planted", "--scenario", "saves again"]) == 0
    assert looked_for == [bug for bug in BUGS if "saves again" in bug.scenarios]
    assert 0 < len(looked_for) < len(BUGS)
    assert f"{len(looked_for)} of {len(looked_for)} planted bugs found" in capsys.readouterr().out


@pytest.mark.parametrize("full", [False, True])
def test_the_search_of_small_worlds_can_be_the_full_one(full: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def explore(*, full, progress):
        asked.append(full)
        return Report(())

    monkeypatch.setattr(simulate, "explore", explore)
    assert main(["simulate", "--explore", *(["--full"] if full else [])]) == 0
    assert asked == [full]
    assert "0 cases" in capsys.readouterr().out


@pytest.fixture
def without_greenlet(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (catalogue, simulator):
        monkeypatch.setattr(module, "find_spec", lambda name: None)


@pytest.mark.usefixtures("without_greenlet")
def test_scenarios_that_need_greenlet_are_left_out_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--schedules", "3", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["left_out"] == ["saves in plain code"]
    assert printed.err.count("\n") == 1
    assert "surewrite[testing]" in printed.err
    assert "saves in plain code" in printed.err


@pytest.mark.usefixtures("without_greenlet")
def test_a_scenario_that_needs_greenlet_is_refused_with_the_name_of_the_extra(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--schedules", "3", "--scenario", "saves in plain code"]) == 2
    assert "surewrite[testing]" in capsys.readouterr().err


@pytest.mark.usefixtures("without_greenlet")
def test_a_blocking_client_is_refused_with_the_name_of_the_extra() -> None:
    world = simulator.World(Choices(0, {}))
    with pytest.raises(InvalidRequest, match=r"surewrite\[testing\]"):
        world.blocking_client("alice", print)
