"""Runs that failed once: each file holds what makes the run again, and the story of the failure as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from surewrite.testing.scenarios.catalogue import SCENARIOS
from surewrite.testing.shrinking import load_run

PLANS = sorted((Path(__file__).parent / "plans").glob("*.json"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_run_that_failed_once_does_not_fail_again(path: Path) -> None:
    run = load_run(path, SCENARIOS)
    assert run.violation is None, run.story


def test_there_are_stored_plans() -> None:
    assert PLANS
