"""The blocking driver is shared by threads."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.drivers.locks import SECONDS_MAX, is_free_for_others
from tests.interruptions import STEPS_MAX, Interrupted, interrupted_at

from surewrite.core.effects import Lock, Operation, Steps, acquire, call_user, join_side, new_id, pause, release, start_side, stop_side
from surewrite.core.traits import EndpointTraits
from surewrite.drivers import blocking
from surewrite.drivers.blocking import BlockingDriver
from surewrite.drivers.clocks import Chance, Clock


class Silent:
    traits = EndpointTraits("test")

    def close(self) -> None: ...

    def send(self, request: object, timeout: float) -> object:
        raise AssertionError("nothing is sent here")


def test_a_lock_excludes_the_threads_of_one_driver() -> None:
    driver = BlockingDriver(Silent(), clock=Clock(), chance=Chance())  # type: ignore[arg-type]
    lock = Lock()
    inside: list[int] = []
    most: list[int] = []

    def enter() -> None:
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    def steps() -> Steps[None]:
        for _ in range(200):
            yield from acquire(lock)
            yield from call_user(enter)
            yield from release(lock)

    threads = [threading.Thread(target=lambda: driver.run(steps())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(most) == 800
    assert max(most) == 1


def test_a_lock_is_one_for_all_threads_and_another_for_another_name() -> None:
    driver = BlockingDriver(Silent(), clock=Clock(), chance=Chance())  # type: ignore[arg-type]
    one, other = Lock(), Lock()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(driver.lock_for(one)))
    thread.start()
    thread.join(30)
    assert found == [driver.lock_for(one)]
    assert driver.lock_for(other) is not driver.lock_for(one)


def test_finding_a_lock_waits_for_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held while a lock is found, so that a fork at that moment leaves the child nothing locked."""
    driver = BlockingDriver(Silent(), clock=Clock(), chance=Chance())  # type: ignore[arg-type]
    finding, go_on = threading.Event(), threading.Event()

    def make_slowly() -> threading.RLock:
        monkeypatch.setattr(blocking, "threading", threading)
        finding.set()
        go_on.wait(10)
        return threading.RLock()

    monkeypatch.setattr(blocking, "threading", SimpleNamespace(RLock=make_slowly))
    other = threading.Thread(target=driver.lock_for, args=(Lock(),))
    other.start()
    finding.wait(10)
    found = threading.Event()
    mine = threading.Thread(target=lambda: (driver.lock_for(Lock()), found.set()), daemon=True)
    mine.start()
    waited_for_nobody = found.wait(5)
    go_on.set()
    other.join()
    mine.join()
    assert waited_for_nobody


@pytest.mark.parametrize("ends", ["waits for the side", "stops the side", "leaves all to the driver"])
def test_an_interrupt_at_each_step_of_a_run_leaves_no_lock_and_no_side_and_reaches_the_operation(ends: str) -> None:
    seen: list[object] = []

    def side() -> Steps[None]:
        while True:
            yield from pause(0.001)

    def brief() -> Steps[None]:
        yield from new_id()

    def steps(lock: Lock) -> Steps[None]:
        seen.append("begun")
        try:
            yield from acquire(lock)
            handle = yield from start_side(Operation(brief if ends == "waits for the side" else side))
            yield from new_id()
            yield from release(lock)
            if ends == "waits for the side":
                yield from join_side(handle)
            elif ends == "stops the side":
                yield from stop_side(handle)
        except Interrupted:
            seen.append("interrupted")
            raise
        seen.append("ended")

    driver = BlockingDriver(Silent(), clock=Clock(), chance=Chance())  # type: ignore[arg-type]
    for step in range(1, STEPS_MAX):
        lock = Lock()
        seen.clear()
        interrupted = interrupted_at(step, lambda: driver.run(steps(lock)), (Path(blocking.__file__),))  # noqa: B023 - run at once
        assert is_free_for_others(driver.lock_for(lock)), f"an interrupt at step {step} leaves the lock held"
        assert no_side_runs(), f"an interrupt at step {step} leaves a side running"
        assert seen != ["begun"], f"the operation does not see an interrupt at step {step}"
        if not interrupted:
            assert step > 20
            return
    raise AssertionError("a run ends within so many steps")


def test_an_interrupt_at_each_step_of_stopping_a_side_leaves_it_to_be_stopped_again() -> None:
    """The lock within an ``Event`` stayed held, so that neither the side nor who stopped it the second time went on."""
    driver = BlockingDriver(Silent(), clock=Clock(), chance=Chance())  # type: ignore[arg-type]
    for step in range(1, STEPS_MAX):
        side = blocking._Side(driver, Operation(lambda: pause(3_600.0)))
        side.start()
        thread = side._thread
        side._thread = SimpleNamespace(join=lambda: None)  # type: ignore[assignment]
        interrupted = interrupted_at(step, side.stop, (Path(blocking.__file__), Path(threading.__file__)))
        again = threading.Thread(target=side.stop, daemon=True)
        again.start()
        again.join(SECONDS_MAX)
        thread.join(SECONDS_MAX)
        assert not again.is_alive(), f"an interrupt at step {step} keeps the side from being stopped again"
        assert not thread.is_alive(), f"an interrupt at step {step} keeps the side from ending"
        if not interrupted:
            assert step > 3
            return
    raise AssertionError("a side is stopped within so many steps")


def no_side_runs() -> bool:
    """Whether every side has ended, or ends soon: one whose start was interrupted cannot be waited for."""
    for thread in threading.enumerate():
        if thread.name == "surewrite-side":
            thread.join(SECONDS_MAX)
    return all(thread.name != "surewrite-side" for thread in threading.enumerate())
