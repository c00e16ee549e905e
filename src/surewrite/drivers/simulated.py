"""Belongs here: the one-effect-at-a-time runner: start, show the wish, accept an answer. Must not be here: the scheduler, fault choice, any real clock.

Both clients can be made over a driver of this module and are used as ever. Whatever takes time comes out as a ``Wish``:
of an awaited operation through the coroutine that is stepped by hand, of a blocking one through ``Host.switch``. What
takes none (clock, chance, ids) is asked of the host on the spot.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from surewrite.core.answers import Answer, NotSent
from surewrite.core.effects import (
    Acquire,
    CallUser,
    DrawRandom,
    Lock,
    Moment,
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
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.asynchronous import AsyncDriver
from surewrite.drivers.blocking import BlockingDriver, certainly_done
from surewrite.drivers.clocks import Chance, Clock

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Wish:
    """An effect that takes time, and the call that asks for it: whatever ``Host.begin`` gave, or ``None`` outside of operations."""

    call: Any
    effect: Send | Pause | Acquire | StopSide


@dataclass(slots=True, eq=False)
class Alarm:
    """A time limit of awaited user code. ``rang`` is whether the code was cancelled for it; one that is ``off`` does not ring any more."""

    rang: bool = False
    off: bool = False


class Host(Protocol):
    """What runs a client: it answers wishes, owns time and chance, and sees each operation begin and end.

    ``database`` is the environment of the client, whose requests it sends.
    """

    database: object

    def moment(self) -> Moment: ...

    def draw(self) -> float: ...

    def new_id(self) -> str: ...

    def begin(self, steps: Steps[Any]) -> Any:
        """An operation is about to take its first step; the answer stands for it in every wish."""
        ...

    def end(self, call: Any, result: Any, error: BaseException | None) -> None:
        """The operation ended. What it still holds is released here."""
        ...

    def release(self, call: Any, lock: Lock) -> None: ...

    def start_side(self, call: Any, operation: Operation[Any]) -> object: ...

    def set_alarm(self, seconds: float) -> Alarm:
        """Cancel, after so many seconds of the client's own clock, whatever the code that is running waits for then."""
        ...

    def switch(self, wish: Wish) -> Any:
        """Let everything else go on until the wish is answered. For blocking operations only."""
        ...


def perform(host: Host, steps: Steps[R], *, awaits: bool) -> Generator[Wish, Any, R]:
    """Run an operation and yield only what takes time. ``awaits`` is whether results of the user's code are awaited.

    Thrown-in interrupts are handed to the operation, which must not ask for anything more: then this raises ``RuntimeError``.
    """
    call = host.begin(steps)
    try:
        effect = next(steps)
        while True:
            value: Any = None
            try:
                if isinstance(effect, Send):
                    effect.require_database(host.database)
                match effect:
                    case Send() | Pause() | Acquire() | StopSide():
                        value = yield Wish(call, effect)
                    case ReadClock():
                        value = host.moment()
                    case NewId():
                        value = host.new_id()
                    case DrawRandom():
                        value = host.draw()
                    case CallUser(function=function, arguments=arguments, timeout_seconds=seconds):
                        value = function(*arguments)
                        if not awaits:
                            certainly_done(value)
                        elif inspect.isawaitable(value):
                            value = yield from (value.__await__() if seconds is None else _within(host, seconds, value))
                    case Release(lock=lock):
                        host.release(call, lock)
                    case StartSide(operation=operation):
                        value = host.start_side(call, operation)
            except BaseException as interruption:
                effect = steps.throw(interruption)
                if not isinstance(interruption, Exception):
                    steps.close()
                    raise RuntimeError(f"an operation asked for {effect!r} after it was interrupted") from interruption
            else:
                effect = steps.send(value)
    except StopIteration as finished:
        result: R = finished.value
        host.end(call, result, None)
        return result
    except BaseException as error:
        host.end(call, None, error)
        raise


def _within(host: Host, seconds: float, value: Awaitable[Any]) -> Generator[Wish, Any, Any]:
    alarm = host.set_alarm(seconds)
    try:
        return (yield from value.__await__())
    except asyncio.CancelledError:
        if not alarm.rang:
            raise
        raise TimeoutError from None
    finally:
        alarm.off = True


class Awaited:
    """Lets a coroutine wait for a generator that yields wishes."""

    __slots__ = ("_wishes",)

    def __init__(self, wishes: Generator[Wish, Any, Any]) -> None:
        self._wishes = wishes

    def __await__(self) -> Generator[Wish, Any, Any]:
        return self._wishes


class SimulatedAsyncDriver(AsyncDriver):
    """Runs operations inside a coroutine that a host steps by hand. There is no event loop."""

    def __init__(self, host: Host, traits: EndpointTraits) -> None:
        super().__init__(_NoAsyncBackend(traits), clock=_STOPPED, chance=Chance())
        self._host = host

    async def run(self, steps: Steps[R]) -> R:
        """Perform the effects that ``steps`` yields until it returns or raises."""
        result: R = await Awaited(perform(self._host, steps, awaits=True))
        return result


class SimulatedBlockingDriver(BlockingDriver):
    """Runs operations in a stack of their own, which the host's ``switch`` leaves and comes back to."""

    def __init__(self, host: Host, traits: EndpointTraits) -> None:
        super().__init__(_NoBackend(traits), clock=_STOPPED, chance=Chance())
        self._host = host

    def run(self, steps: Steps[R]) -> R:
        """Perform the effects that ``steps`` yields until it returns or raises."""
        return run_wishes(self._host, perform(self._host, steps, awaits=False))


def run_wishes(host: Host, wishes: Generator[Wish, Any, R]) -> R:
    """Switch away with each wish and come back with its answer, until the generator of wishes returns or raises."""
    try:
        wish = next(wishes)
        while True:
            try:
                value = host.switch(wish)
            except BaseException as interruption:  # noqa: BLE001 - handed to the operation, which decides
                wish = wishes.throw(interruption)
            else:
                wish = wishes.send(value)
    except StopIteration as finished:
        result: R = finished.value
        return result


_STOPPED = Clock(wall=lambda: 0.0, monotonic=lambda: 0.0)


class _NoBackend:
    """Stands where a driver keeps its backend: a simulated one sends through its host."""

    def __init__(self, traits: EndpointTraits) -> None:
        self.traits = traits

    def send(self, request: Request, timeout: float) -> Answer:  # noqa: ARG002
        return NotSent(f"{request.operation} was handed to a simulated driver's backend; the host sends")

    def close(self) -> None:
        """Nothing is open."""


class _NoAsyncBackend:
    def __init__(self, traits: EndpointTraits) -> None:
        self.traits = traits

    async def send(self, request: Request, timeout: float) -> Answer:  # noqa: ARG002
        return NotSent(f"{request.operation} was handed to a simulated driver's backend; the host sends")

    async def close(self) -> None:
        """Nothing is open."""
