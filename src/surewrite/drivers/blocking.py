"""Belongs here: the loop that performs effects with real time, randomness and a blocking backend. Must not be here: retry rules, logging of item contents."""

from __future__ import annotations

import inspect
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn, TypeVar, assert_never
from weakref import WeakKeyDictionary

from surewrite.core.effects import (
    Acquire,
    CallUser,
    DrawRandom,
    Effect,
    Lock,
    NewId,
    Operation,
    Pause,
    ReadClock,
    Release,
    Send,
    StartSide,
    Steps,
    StopSide,
)
from surewrite.drivers.backend import Backend
from surewrite.drivers.clocks import Chance, Clock, Instruments
from surewrite.errors import InvalidRequest

R = TypeVar("R")

JOIN_POLL_SECONDS = 0.1
"""How long a wait for a side operation goes on before it looks whether the waiting one is to stop itself."""

ACQUIRE_POLL_SECONDS = 0.05


class StoppedSide(BaseException):
    """Thrown into a side operation that its owner stops. No ``Exception``, so that an operation lets it pass like a cancellation."""


class BlockingDriver(Instruments):
    """Runs operations in the calling thread. One driver may be used by any number of threads."""

    def __init__(self, backend: Backend, *, clock: Clock, chance: Chance) -> None:
        self.backend = backend
        super().__init__(clock, chance)
        # They know their thread, so that one which an interrupted thread may hold, or may not yet, can be released all the same.
        self._locks: WeakKeyDictionary[Lock, threading.RLock] = WeakKeyDictionary()

    def run(self, steps: Steps[R]) -> R:
        """Perform the effects that ``steps`` yields until it returns or raises."""
        return _Run(self, stop=None).to_end(steps)

    def lock_for(self, lock: Lock) -> threading.RLock:
        # One step of a dict, and no lock of its own, which another thread could hold during a fork.
        return self._locks.setdefault(lock, threading.RLock())

    def send(self, effect: Send) -> object:
        effect.require_database(self.database)
        sent = self._clock.wall()
        answer = self.backend.send(effect.request, effect.timeout_seconds)
        self.learn(answer, sent)
        return answer

    @property
    def has_own_time(self) -> bool:
        """Whether letting time pass is somebody else's business, as in tests; then a pause is not cut short when it is to stop."""
        return self._clock.sleep is not time.sleep

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


class _Run:
    """One operation being run: what it holds is released however it ends."""

    __slots__ = ("_driver", "_held", "_sides", "_stop")

    def __init__(self, driver: BlockingDriver, stop: _StopSign | None) -> None:
        self._driver = driver
        self._stop = stop
        self._held: list[Lock] = []
        self._sides: list[_Side] = []

    def to_end(self, steps: Steps[R]) -> R:
        try:
            effect = next(steps)
            while True:
                try:
                    value = self._perform(effect)
                except Exception as error:  # noqa: BLE001 - what to do about it is for the operation to say
                    effect = steps.throw(error)
                else:
                    effect = steps.send(value)
        except StopIteration as finished:
            result: R = finished.value
            return result
        except BaseException as interruption:
            if not isinstance(interruption, Exception):
                _interrupt(steps, interruption)
            raise
        finally:
            try:
                if self._held or self._sides:
                    self._release_all()
            except BaseException:
                # An interrupt came in the middle; what is left is released all the same.
                self._release_all()
                raise

    def _release_all(self) -> None:
        # Locks first: a side may be waiting for one of them.
        while self._held:
            self._release(self._held[-1])
        for side in self._sides:
            side.stop()
        self._sides.clear()

    def _release(self, lock: Lock) -> None:
        # Not this thread's where an interrupt came before it got it, or after it let it go.
        with suppress(RuntimeError):
            self._driver.lock_for(lock).release()
        self._held.remove(lock)

    def _perform(self, effect: Effect) -> object:
        driver = self._driver
        if self._stop is not None and self._stop.is_given:
            raise StoppedSide
        match effect:
            case Send():
                return driver.send(effect)
            case ReadClock():
                return driver.moment()
            case NewId():
                return driver.new_id()
            case Pause(seconds=seconds):
                self._pause(seconds)
                return None
            case DrawRandom():
                return driver.draw()
            case CallUser(function=function, arguments=arguments):
                return certainly_done(function(*arguments))
            case Acquire(lock=lock):
                self._acquire(lock)
                return None
            case Release(lock=lock):
                self._release(lock)
                return None
            case StartSide(operation=operation):
                side = _Side(driver, operation)
                # Before it runs, as a lock before it is had: an interrupt in between finds it here.
                self._sides.append(side)
                side.start()
                return side
            case StopSide(handle=handle, interrupt=interrupt):
                assert isinstance(handle, _Side)
                if interrupt:
                    handle.stop()
                else:
                    self._wait_for(handle)
                self._sides.remove(handle)
                return handle.result()
            case _:
                assert_never(effect)

    def _wait_for(self, side: _Side) -> None:
        while not side.ended(JOIN_POLL_SECONDS):
            if self._stop is not None and self._stop.is_given:
                raise StoppedSide

    def _acquire(self, lock: Lock) -> None:
        """Wait for the lock. A side operation looks now and then whether it is to stop: its owner may hold the lock and wait for its end."""
        found = self._driver.lock_for(lock)
        # Before it is had, so that an interrupt in between leaves nobody locked out.
        self._held.append(lock)
        while not found.acquire(timeout=-1.0 if self._stop is None else ACQUIRE_POLL_SECONDS):
            if self._stop is not None and self._stop.is_given:
                raise StoppedSide

    def _pause(self, seconds: float) -> None:
        if self._stop is None or self._driver.has_own_time:
            self._driver.sleep(seconds)
        elif self._stop.wait(seconds):
            raise StoppedSide


def _interrupt(steps: Steps[Any], interruption: BaseException) -> NoReturn:
    """Throw an interrupt in, wherever it came: in an effect, or between two. An operation that has ended lets it pass."""
    effect = steps.throw(interruption)
    steps.close()
    raise RuntimeError(f"an operation asked for {effect!r} after it was interrupted") from interruption


def certainly_done(result: R) -> R:
    """What code of the user gave. Raises ``InvalidRequest`` for a coroutine: nobody would run it, and it would count as done."""
    if not inspect.iscoroutine(result):
        return result
    result.close()
    raise InvalidRequest("the function is async, and the blocking client waits for nothing, so it was not run: write a plain function, or use connect_async")


class _StopSign:
    """Tells a side operation once that it is to stop. Not an ``Event``, whose lock an interrupt can leave held: each step here is one of the interpreter's."""

    __slots__ = ("_gate", "is_given")

    def __init__(self) -> None:
        self.is_given = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def give(self) -> None:
        self.is_given = True
        self._open()

    def wait(self, seconds: float) -> bool:
        """Whether it is given within so many seconds."""
        if self._gate.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            self._open()
        return self.is_given

    def _open(self) -> None:
        # Open already where it is given again, after an interrupt of the first time.
        with suppress(RuntimeError):
            self._gate.release()


class _Side:
    """An operation that runs in a thread of its own until it ends or is stopped."""

    __slots__ = ("_error", "_result", "_stop", "_thread")

    def __init__(self, driver: BlockingDriver, operation: Operation[Any]) -> None:
        self._stop = _StopSign()
        self._result: Any = None
        self._error: BaseException | None = None
        # The thread belongs to the call that starts it, so it sees the context of that call.
        work = partial(copy_context().run, self._work, driver, operation)
        self._thread = threading.Thread(target=work, name="surewrite-side", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self, driver: BlockingDriver, operation: Operation[Any]) -> None:
        try:
            self._result = _Run(driver, self._stop).to_end(operation.steps())
        except StoppedSide:
            pass
        except BaseException as error:  # noqa: BLE001 - kept, and raised in the thread that stops the side
            self._error = error

    def stop(self) -> None:
        """End it and wait for it."""
        self._stop.give()
        # A thread whose start was interrupted cannot be waited for; it finds at its first step that it is to stop.
        with suppress(RuntimeError):
            self._thread.join()

    def ended(self, seconds: float) -> bool:
        """Whether it comes to its end within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> Any:
        """What an ended one returned. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result
