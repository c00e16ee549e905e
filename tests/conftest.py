"""Guards that hold for every test: no real sleep, no touched global chance, no thread or event loop left behind.

Belongs here: what every test obeys, and peers that several folders share. Must not be here: fixtures of one topic, which stand beside their tests.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.services import Service

# By its name and after the guard below is in place, not by the entry point, which would load the package first.
pytest_plugins = ("surewrite.testing.pytest_plugin",)

REPOSITORY = Path(__file__).resolve().parent.parent
# A thread that was told to stop may need a moment to end; one that was not is found after this time.
THREAD_END_SECONDS = 2.0

# Times depend on the machine, so no example has a deadline; `deep` is for a night, `fast` for every run.
settings.register_profile("fast", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("SUREWRITE_TEST_PROFILE", "fast"))

_sleep_for_real: Callable[[float], None] = time.sleep
_sleeping = SimpleNamespace(allowed=False)


def _guarded_sleep(seconds: float) -> None:
    """Refuse to sleep for our code and tests; other packages (subprocess, for instance) wait as they always do."""
    caller = sys._getframe(1).f_code.co_filename
    package = sys.modules.get("surewrite")
    ours = (str(REPOSITORY / "tests"), str(Path(package.__file__).parent) if package is not None and package.__file__ else "\0")
    if not _sleeping.allowed and caller.startswith(ours):
        raise AssertionError("real time.sleep in a test: inject a clock, or mark the test `real_time`")
    _sleep_for_real(seconds)


# Here and not in a hook: the conftest of a folder may import the package before any hook is called, and a default
# argument that captures time.sleep has to capture the guard.
time.sleep = _guarded_sleep


def pytest_unconfigure(config: pytest.Config) -> None:
    time.sleep = _sleep_for_real


@pytest.fixture(autouse=True)
def _sleeps_only_if_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    _sleeping.allowed = request.node.get_closest_marker("real_time") is not None
    yield
    _sleeping.allowed = False


@pytest.fixture(autouse=True)
def _leaves_no_thread_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + THREAD_END_SECONDS
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = sorted(thread.name for thread in set(threading.enumerate()) - before)
    if left:
        pytest.fail(f"threads left behind: {', '.join(left)}")


@pytest.fixture(autouse=True)
def _leaves_no_event_loop_running() -> Iterator[None]:
    yield
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    # The guilty test fails; the ones after it get a thread without a loop.
    asyncio._set_running_loop(None)
    if not loop.is_running():
        loop.close()
    pytest.fail(f"an event loop is left running: {loop!r}")


# Inside this hook only the body of the test runs; pytest-randomly seeds the global generator around it.
@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    before = random.getstate()
    result = yield
    if random.getstate() != before:
        pytest.fail("the test touched the state of the global random generator: use a random.Random of its own")
    return result


@pytest.fixture(scope="session")
def services() -> Iterator[Callable[[str], Service]]:
    """``services("moto")`` starts a peer when it is first asked for, once per test process; it ends with the session."""
    # Loaded here, so that the guards work in a folder that has this file alone.
    from tests.services import start_ministack, start_moto

    starters = {"moto": start_moto, "ministack": start_ministack}
    started: dict[str, Service] = {}
    with ExitStack() as stack:

        def start(name: str) -> Service:
            if name not in started:
                started[name] = stack.enter_context(starters[name]())
            return started[name]

        yield start
