"""The blocking driver is shared by threads."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from surewrite.core.effects import Lock, Steps, acquire, call_user, release
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

    def make_slowly() -> threading.Lock:
        monkeypatch.setattr(blocking, "threading", threading)
        finding.set()
        go_on.wait(10)
        return threading.Lock()

    monkeypatch.setattr(blocking, "threading", SimpleNamespace(Lock=make_slowly))
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
