"""A process knows how many forks it descends from."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from surewrite.core.environment import Environment
from surewrite.core.forks import FORKS, Forks
from surewrite.core.traits import EndpointTraits

FORKING = """
import os
import surewrite.drivers.clocks
from surewrite.core.forks import FORKS

before = FORKS.count
if os.fork() == 0:
    if os.fork() == 0:
        os._exit(FORKS.count - before)
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]) * 10 + FORKS.count - before)
print(os.waitstatus_to_exitcode(os.wait()[1]), FORKS.count - before)
"""


def test_each_fork_counts_once() -> None:
    forks = Forks()
    forks.count_one()
    forks.count_one()
    assert forks.count == 2


def test_every_database_of_a_process_asks_the_same_count() -> None:
    assert Environment(EndpointTraits("somewhere")).forks is FORKS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_has_one_more_than_its_parent_and_the_parent_as_many_as_before() -> None:
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], check=True, capture_output=True, text=True, timeout=60)
    assert found.stdout.split() == ["21", "0"]
