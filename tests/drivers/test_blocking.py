"""The blocking driver is shared by threads."""

from __future__ import annotations

import threading

from surewrite.core.effects import Lock, Steps, acquire, call_user, release
from surewrite.core.traits import EndpointTraits
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
