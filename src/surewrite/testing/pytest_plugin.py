"""Belongs here: fixtures, the marker and the options of pytest. Must not be here: logic that is not usable without pytest.

Loaded by pytest itself where this package is installed, so it imports nothing of the library before a fixture is used::

    def test_transfer(surewrite_world):
        @surewrite_world
        def transfers(world):
            world.table(Account)
            world.client("alice", move)
            world.client("bob", move)
            world.check(nothing_is_lost)
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from surewrite.async_client import AsyncDatabase
    from surewrite.client import Database
    from surewrite.testing.simulator import World
    from surewrite.testing.world_settings import WorldSettings

SCHEDULES = 200
_SEED_OPTION = "--surewrite-seed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--surewrite-seed`` makes the schedules of an earlier run again."""
    group = parser.getgroup("surewrite")
    group.addoption(_SEED_OPTION, metavar="SEED", help="the seed of simulated schedules, as a failing test printed it; default: drawn for each run")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and draw the seed of this run."""
    config.addinivalue_line("markers", f"surewrite_schedules(number): how many schedules `surewrite_world` runs (default {SCHEDULES})")
    seed = config.getoption(_SEED_OPTION) or secrets.token_hex(4)
    config.stash[_seed] = str(seed)


_seed = pytest.StashKey[str]()


class SimulatedWorld:
    """Runs a scenario in many simulated worlds: call it with the function that puts clients and invariants into a world.

    The test fails with the first schedule that breaks a promise, made as small as possible and told as a story.
    """

    def __init__(self, seed: str, schedules: int) -> None:
        self.seed = seed
        self.schedules = schedules
        self.schedules_run = 0

    def __call__(self, build: Callable[[World], None]) -> Callable[[World], None]:
        """Run the scenario; usable as a decorator."""
        self.run(build)
        return build

    def run(self, build: Callable[[World], None], *, settings: WorldSettings | None = None, schedules: int | None = None) -> None:
        """Run the scenario, with parameters of its own for the world where ``settings`` are given. Fails the test where a promise is broken."""
        from surewrite.testing.prove import PromiseBroken, prove  # noqa: PLC0415 - only a test that simulates loads the simulator

        number = self.schedules if schedules is None else schedules
        try:
            self.schedules_run += prove(build, schedules=number, seed=self.seed, settings=settings)
        except PromiseBroken as broken:
            pytest.fail(f"a promise is broken; again with {_SEED_OPTION}={self.seed}\n{broken}", pytrace=False)


@pytest.fixture
def surewrite_world(request: pytest.FixtureRequest) -> SimulatedWorld:
    """Simulated worlds for a scenario; ``@pytest.mark.surewrite_schedules(500)`` says how many."""
    marker = request.node.get_closest_marker("surewrite_schedules")
    schedules = int(marker.args[0]) if marker is not None else SCHEDULES
    return SimulatedWorld(request.config.stash[_seed], schedules)


@pytest.fixture
def surewrite_db() -> Iterator[Database]:
    """A fresh database in memory, for blocking code."""
    from surewrite.client import connect  # noqa: PLC0415 - only a test that asks for it loads the client

    with connect("memory:") as db:
        yield db


@pytest.fixture
def surewrite_async_db() -> AsyncDatabase:
    """A fresh database in memory, for awaited code. It holds nothing open, so there is nothing to close."""
    from surewrite.async_client import connect_async  # noqa: PLC0415 - only a test that asks for it loads the client

    return connect_async("memory:")
