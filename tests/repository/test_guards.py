"""The guards of tests/conftest.py: each fails the test that does what it forbids, and lets its neighbours pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = """
import asyncio, random, subprocess, sys, threading, time, warnings
import pytest
from hypothesis import given, strategies


def test_plain(): pass
def test_sleeps(): time.sleep(0)
@pytest.mark.real_time
def test_sleeps_marked(): time.sleep(0)
def test_a_library_sleeps():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.05)"]) as process:
        process.wait(timeout=30)


def test_draws_global_chance(): random.random()
def test_draws_own_chance(): random.Random(1).random()
@given(strategies.randoms())
def test_hypothesis_draws(chance): chance.random()


def test_leaves_a_thread():
    threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()
def test_ends_its_thread():
    thread = threading.Thread(target=int)
    thread.start()


def test_leaves_a_loop_running():
    asyncio._set_running_loop(asyncio.new_event_loop())
def test_runs_a_loop_to_its_end():
    async def main(): await asyncio.sleep(0)
    asyncio.run(main())


def test_warns(): warnings.warn("old", DeprecationWarning)
"""
REFUSED = {
    "test_sleeps": "real time.sleep in a test",
    "test_draws_global_chance": "global random generator",
    "test_leaves_a_thread": "threads left behind: forgotten",
    "test_leaves_a_loop_running": "event loop is left running",
    "test_warns": "DeprecationWarning: old",
}
PASSES = (
    "test_plain",
    "test_sleeps_marked",
    "test_a_library_sleeps",
    "test_draws_own_chance",
    "test_hypothesis_draws",
    "test_ends_its_thread",
    "test_runs_a_loop_to_its_end",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of tests that break the rules, under the settings of this repository."""
    place = tmp_path_factory.mktemp("repository")
    (place / "tests").mkdir()
    (place / "tools").mkdir()
    shutil.copy(REPOSITORY / "pyproject.toml", place)
    shutil.copy(REPOSITORY / "tests" / "conftest.py", place / "tests")
    (place / "tests" / "test_rules.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-rA", "-p", "no:randomly"]
    result = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


def lines_about(report: str, test: str) -> list[str]:
    return [line for line in report.splitlines() if line.split(" - ")[0].endswith(f"test_rules.py::{test}")]


@pytest.mark.parametrize("test", PASSES)
def test_what_keeps_the_rules_passes(report: str, test: str) -> None:
    assert lines_about(report, test) == [f"PASSED tests/test_rules.py::{test}"]


@pytest.mark.parametrize(("test", "reason"), REFUSED.items())
def test_what_breaks_a_rule_fails(report: str, test: str, reason: str) -> None:
    refusals = [line for line in lines_about(report, test) if line.startswith(("FAILED", "ERROR"))]
    assert len(refusals) == 1
    assert reason in report
