"""Belongs here: the same loop, awaited; passes cancellation into the generator. Must not be here: a hidden event loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, TypeVar, assert_never, cast
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
from surewrite.drivers.backend import AsyncBackend
from surewrite.drivers.clocks import Chance, Clock, Instruments

R = TypeVar("R")


class AsyncDriver(Instruments):
    """Runs operations on the running event loop. One driver may be used from several loops, one after another or in several threads."""

    def __init__(self, backend: AsyncBackend, *, clock: Clock, chance: Chance) -> None:
        self.backend = backend
        super().__init__(clock, chance)
        self._sleep = asyncio.sleep if clock.async_sleep is None else clock.async_sleep
        self._locks: WeakKeyDictionary[Lock, WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()

    async def run(self, steps: Steps[R]) -> R:
        """Perform the effects that ``steps`` yields until it returns or raises."""
        return await _Run(self).to_end(steps)

    def lock_for(self, lock: Lock) -> asyncio.Lock:
        """An asyncio lock belongs to one loop, so each loop has its own; a lock does not exclude tasks of two loops."""
        by_loop = self._locks.setdefault(lock, WeakKeyDictionary())
        return by_loop.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def send(self, effect: Send) -> object:
        effect.require_database(self.database)
        sent = self._clock.wall()
        answer = await self.backend.send(effect.request, effect.timeout_seconds)
        self.learn(answer, sent)
        return answer

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)


class _Run:
    """One operation being run: what it holds is released however it ends."""

    __slots__ = ("_driver", "_held", "_sides")

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver
        self._held: list[Lock] = []
        self._sides: list[asyncio.Task[Any]] = []

    async def to_end(self, steps: Steps[R]) -> R:
        try:
            effect = next(steps)
            while True:
                try:
                    value = await self._perform(effect)
                except BaseException as interruption:
                    effect = steps.throw(interruption)
                    if not isinstance(interruption, Exception):
                        steps.close()
                        raise RuntimeError(f"an operation asked for {effect!r} after it was interrupted") from interruption
                else:
                    effect = steps.send(value)
        except StopIteration as finished:
            result: R = finished.value
            return result
        finally:
            if self._held or self._sides:
                await self._release_all()

    async def _release_all(self) -> None:
        for lock in self._held:
            self._driver.lock_for(lock).release()
        self._held.clear()
        for side in self._sides:
            side.cancel()
        await asyncio.gather(*self._sides, return_exceptions=True)
        self._sides.clear()

    async def _perform(self, effect: Effect) -> object:
        driver = self._driver
        match effect:
            case Send():
                return await driver.send(effect)
            case ReadClock():
                return driver.moment()
            case NewId():
                return driver.new_id()
            case Pause(seconds=seconds):
                await driver.sleep(seconds)
                return None
            case DrawRandom():
                return driver.draw()
            case CallUser(function=function, arguments=arguments, timeout_seconds=seconds):
                result = function(*arguments)
                if not inspect.isawaitable(result):
                    return result
                async with asyncio.timeout(seconds):
                    return await result
            case Acquire(lock=lock):
                await driver.lock_for(lock).acquire()
                self._held.append(lock)
                return None
            case Release(lock=lock):
                self._held.remove(lock)
                driver.lock_for(lock).release()
                return None
            case StartSide(operation=operation):
                return self._start_side(operation)
            case StopSide(handle=handle, interrupt=interrupt):
                task = cast("asyncio.Task[Any]", handle)
                return await (self._stop_side(task) if interrupt else self._join_side(task))
            case _:
                assert_never(effect)

    def _start_side(self, operation: Operation[Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(_Run(self._driver).to_end(operation.steps()), name="surewrite-side")
        self._sides.append(task)
        return task

    async def _stop_side(self, task: asyncio.Task[Any]) -> Any:
        task.cancel()
        await self._end_of(task)
        return None if task.cancelled() else task.result()

    async def _join_side(self, task: asyncio.Task[Any]) -> Any:
        await self._end_of(task)
        return task.result()

    async def _end_of(self, task: asyncio.Task[Any]) -> None:
        # Not awaited itself: a cancellation here is the caller's own, and reaches the task by the release of all that this operation holds.
        await asyncio.wait({task})
        self._sides.remove(task)
