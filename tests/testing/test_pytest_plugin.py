"""The plugin in a pytest of its own: fixtures, the marker, the seed, the story in the report, and nothing loaded that is not used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SUITE = """
import sys
import pytest
import surewrite as sw
from surewrite import Attribute, Entity


class Clicks(Entity, discriminator="CLICKS", partition_key="CLICKS#{button}", sort_key="COUNT"):
    button: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)


KEY = Clicks.key_of("buy")


def scenario(world):
    world.table(Clicks)

    async def click(client):
        for _ in range(3):
            try:
                return await client.of(Clicks).upsert(KEY, Clicks.count.add(1))
            except sw.OutcomeUnknown:
                continue
            except sw.SurewriteError:
                return

    world.client("alice", click)
    world.check(lambda world: None if (c := world.stored(KEY)) is None or c.count <= 1 else f"one click counted {c.count}")


def test_nothing_is_loaded():
    assert "surewrite.testing.simulator" not in sys.modules

def test_fails(surewrite_world):
    surewrite_world.run(scenario)

@pytest.mark.surewrite_schedules(7)
def test_marked(surewrite_world):
    @surewrite_world
    def quiet(world):
        world.table(Clicks)
    assert surewrite_world.schedules_run == 7

def test_faults_and_plan(surewrite_world):
    from surewrite.testing import FaultPlan, LoseAnswer, PromiseBroken, Step
    surewrite_world.run(scenario, faults=frozenset())
    lost = FaultPlan((Step(LoseAnswer()),))
    with pytest.raises(PromiseBroken, match="one click counted 2") as broken:
        surewrite_world.run(scenario, faults=frozenset(), plan=lost, schedules=1)
    assert broken.value.schedule == 1

def test_database(surewrite_db):
    surewrite_db.table("shop").create_table(Clicks)
    assert surewrite_db.table("shop").of(Clicks).upsert(KEY, Clicks.count.add(1)).count == 1

def test_fresh_again(surewrite_db):
    surewrite_db.table("shop").create_table(Clicks)

def test_async_database(surewrite_async_db):
    assert type(surewrite_async_db).__name__ == "AsyncDatabase"
"""


def run_suite(folder: Path, *options: str) -> str:
    (folder / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *options, "test_suite.py"]
    if not _is_entry_point_loaded():
        command[3:3] = ["-p", "surewrite.testing.pytest_plugin"]
    # Where these are set, pytest repeats the whole message of a failure in its summary.
    ours = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    return subprocess.run(command, cwd=folder, env=ours | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=False).stdout


def _is_entry_point_loaded() -> bool:
    from importlib.metadata import entry_points

    return any(entry.value == "surewrite.testing.pytest_plugin" for entry in entry_points(group="pytest11"))


def test_a_failing_schedule_is_told_as_a_story_with_the_seed_that_makes_it_again(tmp_path: Path) -> None:
    report = run_suite(tmp_path, "--surewrite-seed=one")
    assert "1 failed, 6 passed" in report
    assert re.search(r"invariant: one click counted \d", report)
    # Which fault breaks the promise follows from the seed; whichever it is, its story is told once.
    assert report.count(story_of(report)[0]) == 1
    assert "another exception" not in report
    # Told by its text, without the code of the library that raised it.
    assert "proving.py" not in report
    assert "Traceback" not in report
    seed = re.search(r"--surewrite-seed=(\S+)", report)
    assert seed is not None
    again = run_suite(tmp_path, f"--surewrite-seed={seed[1]}")
    assert story_of(again) == story_of(report)


def test_the_header_tells_the_seed_and_workers_of_xdist_share_it(tmp_path: Path) -> None:
    report = run_suite(tmp_path, "-n", "2", "-p", "xdist", "-v")
    seeds = set(re.findall(r"--surewrite-seed=(\S+)", report))
    assert len(seeds) == 1
    assert f"surewrite: --surewrite-seed={seeds.pop()}" in report


def story_of(report: str) -> list[str]:
    return [line for line in report.splitlines() if re.match(r"\s+\d+\.\d{3}  ", line)]
