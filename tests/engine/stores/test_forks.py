"""Stores are taken through forks, also where two threads fork at the same time."""

from __future__ import annotations

import threading
from weakref import WeakSet

import pytest

from surewrite.engine.stores import forks

SECONDS_MAX = 10.0


class Resting:
    """A store that tells when a second thread waits for it, and when it got it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.waited_for = threading.Event()
        self.taken_again = threading.Event()
        self.first = threading.get_ident()

    def before_fork(self) -> None:
        if threading.get_ident() != self.first:
            self.waited_for.set()
        self.lock.acquire()

    def after_fork(self) -> None:
        self.lock.release()


def test_a_thread_that_forks_gives_back_the_stores_that_it_had_and_no_other_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Resting()
    monkeypatch.setattr(forks, "_open", WeakSet([store]))
    go_on = threading.Event()
    failed: list[BaseException] = []

    def fork_too() -> None:
        try:
            forks._before_fork()
            store.taken_again.set()
            go_on.wait(SECONDS_MAX)
            forks._after_fork()
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    forks._before_fork()
    other = threading.Thread(target=fork_too)
    other.start()
    assert store.waited_for.wait(SECONDS_MAX)
    forks._after_fork()
    assert store.taken_again.wait(SECONDS_MAX)
    # The hooks of the first fork run on: what the second has taken by now is not theirs.
    forks._after_fork()
    go_on.set()
    other.join(SECONDS_MAX)
    assert failed == []
    assert store.lock.acquire(timeout=SECONDS_MAX)
    store.lock.release()
