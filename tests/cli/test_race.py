from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from surewrite.cli.main import main
from surewrite.cli.racing.catalogue import SCENARIOS
from surewrite.cli.racing.events import chosen, deliveries, lines
from surewrite.cli.racing.runner import Verdict
from surewrite.cli.racing.scenario import Measured, RacePlan, difference_in_words
from surewrite.testing.faults import FaultRates

pytestmark = pytest.mark.real_time

NAMES = [scenario.name for scenario in SCENARIOS]


def race(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["race", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_surewrite_result_is_right_and_most_naive_ones_are_wrong_in_memory(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = race(capsys, "--backend", "memory:", "--rounds", "12", "--loss", "0.1", "--seed", str(seed))
    assert code == 0
    assert [row["name"] for row in result["scenarios"]] == NAMES
    assert all(row["right"] and row["surewrite"] == row["expected"] for row in result["scenarios"])
    assert sum(row["naive_right"] for row in result["scenarios"]) < len(NAMES) / 2


def test_every_surewrite_result_is_right_with_processes_on_a_file(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    raced = ["deposits", "transfers", "counter", "leases", "shards", "windows", "buffers", "deletions"]
    words = ["--backend", f"file:{tmp_path / 'race.db'}", "--writers", "3", "--rounds", "6", "--seed", "3"]
    for name in raced:
        words += ["--scenario", name]
    code, result = race(capsys, *words)
    assert code == 0
    assert [row["name"] for row in result["scenarios"]] == raced
    assert all(row["right"] for row in result["scenarios"])


def test_the_table_names_what_the_naive_writers_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "--backend", "memory:", "--scenario", "counter", "--rounds", "30", "--loss", "0.3", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "an exact counter" in shown
    assert "count(s) doubled" in shown
    assert "Surewrite 1 of 1" in shown


@pytest.mark.parametrize("words", [["--writers", "0"], ["--rounds", "0"], ["--loss", "0.9"], ["--loss", "0.5"], ["--loss", "-0.1"], ["--loss", "nan"]])
def test_a_race_that_makes_no_sense_is_refused_before_it_starts(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "--backend", "memory:", *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_an_empty_target_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "--backend", "", "--scenario", "counter", "--rounds", "1"]) == 2
    assert "cannot connect to ''" in capsys.readouterr().err


def test_a_naive_writer_that_is_never_answered_ends_the_race_with_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("surewrite.cli.racing.writers._rates", lambda loss: FaultRates(lose_request=1.0))
    assert main(["race", "--backend", "memory:", "--scenario", "counter", "--rounds", "1", "--writers", "1"]) == 1
    assert "sent GetItem 200 times and was never answered" in capsys.readouterr().err


def test_a_result_is_right_only_if_the_figure_and_all_beside_it_are() -> None:
    scenario = SCENARIOS[0]
    assert Verdict(scenario, 5, Measured(5), Measured(5)).right
    assert not Verdict(scenario, 5, Measured(5), Measured(4)).right
    assert not Verdict(scenario, 5, Measured(5), Measured(5, "torn", consistent=False)).right


def test_a_difference_is_told_as_lost_or_doubled() -> None:
    assert difference_in_words(5, 5, "deposit(s)") == ""
    assert difference_in_words(5, 3, "deposit(s)") == "2 deposit(s) lost"
    assert difference_in_words(5, 7, "deposit(s)") == "2 deposit(s) doubled"


def test_the_events_are_the_real_ones_and_each_is_delivered_one_to_three_times() -> None:
    assert len(lines()) == 1659
    assert len({line["id"] for line in lines()}) == 1517
    plan = RacePlan(writers=4, rounds=200, seed=7)
    assert len(chosen(plan)) == 1659
    delivered = deliveries(plan)
    counts = [delivered.count(line) for line in chosen(plan)[:200]]
    assert min(counts) == 1
    assert max(counts) == 3
    assert delivered != sorted(delivered, key=lambda line: line["updated"])


@pytest.fixture
def long_race(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A race on a file, in the middle of its writing, in a session of its own."""
    words = ["race", "--backend", f"file:{tmp_path / 'race.db'}", "--rounds", "5000", "--writers", "2", "--scenario", "counter"]
    with subprocess.Popen(
        [sys.executable, "-m", "surewrite.cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as race:
        while len(writers_of(race)) < 2:
            assert race.poll() is None
            time.sleep(0.05)
        yield race
        race.kill()


def writers_of(race: subprocess.Popen[str]) -> list[int]:
    """The processes of the race's session that write: the children of its forkserver."""
    listed = subprocess.run(["ps", "-s", str(race.pid), "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=False).stdout
    rows = [line.split() for line in listed.splitlines()]
    alive = {int(pid): int(parent) for pid, parent, state in rows if not state.startswith("Z")}
    servers = alive.keys() - {race.pid}
    return [pid for pid, parent in alive.items() if parent in servers]


@pytest.mark.real_time
@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are listed as on Linux")
class TestEnding:
    def test_an_interrupt_from_the_keyboard_ends_all_writers_without_a_traceback(self, long_race: subprocess.Popen[str]) -> None:
        os.killpg(long_race.pid, signal.SIGINT)
        printed, complaint = long_race.communicate(timeout=30)
        assert (long_race.returncode, printed, complaint) == (130, "", "")
        assert writers_of(long_race) == []

    def test_writers_do_not_outlive_the_race(self, long_race: subprocess.Popen[str]) -> None:
        long_race.kill()
        long_race.wait(30)
        until = time.monotonic() + 30.0
        while writers_of(long_race):
            assert time.monotonic() < until
            time.sleep(0.05)
