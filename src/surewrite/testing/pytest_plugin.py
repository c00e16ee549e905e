"""Belongs here: fixtures, the marker, the option and the line of the header for pytest. Must not be here: logic that is not usable without pytest.

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
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from surewrite.async_client import AsyncDatabase
    from surewrite.client import Database
    from surewrite.testing.faults import FaultPlan
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
    given = getattr(config, "workerinput", {}).get(_SEED_OF_WORKERS) or config.getoption(_SEED_OPTION)
    config.stash[_seed] = str(given or secrets.token_hex(4))


_seed = pytest.StashKey[str]()
_SEED_OF_WORKERS = "surewrite_seed"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of pytest-xdist the seed that stands in the header."""
    node.workerinput[_SEED_OF_WORKERS] = node.config.stash[_seed]


def pytest_report_header(config: pytest.Config) -> str:
    """Tell the seed of this run, so that also a run without a failure can be made again."""
    return f"surewrite: {_SEED_OPTION}={config.stash[_seed]}"


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

    def run(
        self,
        build: Callable[[World], None],
        *,
        settings: WorldSettings | None = None,
        schedules: int | None = None,
        faults: frozenset[str] | None = None,
        plan: FaultPlan | None = None,
    ) -> None:
        """Run the scenario. Raises ``PromiseBroken``, which fails the test, where a promise is broken.

        As with ``prove``: ``settings`` are parameters of the worlds, ``faults`` the names of those that chance may bring (all,
        where it is left out), ``plan`` brings faults by plan.
        """
        from surewrite.testing.failed_tests import TestFailed  # noqa: PLC0415 - only a test that simulates loads the simulator
        from surewrite.testing.faults import NO_FAULTS  # noqa: PLC0415 - the same
        from surewrite.testing.proving import PromiseBroken, prove  # noqa: PLC0415 - the same

        number = self.schedules if schedules is None else schedules
        try:
            self.schedules_run += prove(build, schedules=number, seed=self.seed, settings=settings, faults=faults, plan=NO_FAULTS if plan is None else plan)
        except PromiseBroken as broken:
            raise TestFailed(broken, f"{_SEED_OPTION}={self.seed}") from None


@pytest.fixture(scope="session")
def surewrite_seed(pytestconfig: pytest.Config) -> str:
    """The seed of this run, which the header shows: drawn, or as ``--surewrite-seed`` gives it."""
    return pytestconfig.stash[_seed]


@pytest.fixture
def surewrite_world(request: pytest.FixtureRequest, surewrite_seed: str) -> SimulatedWorld:
    """Simulated worlds for a scenario; ``@pytest.mark.surewrite_schedules(500)`` says how many."""
    marker = request.node.get_closest_marker("surewrite_schedules")
    schedules = int(marker.args[0]) if marker is not None else SCHEDULES
    return SimulatedWorld(surewrite_seed, schedules)


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
