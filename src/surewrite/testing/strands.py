"""Belongs here: user code that is run step by step, as a coroutine or in a stack of its own. Must not be here: which step comes next, time, faults.

A strand runs until it wishes for something that takes time, and goes on when it is given the answer. Greenlets are loaded
only for blocking code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Protocol

from surewrite.drivers.simulated import Awaited as Awaited
from surewrite.drivers.simulated import Wish


class ProcessEnded(BaseException):
    """Thrown into what a crashed process was doing. No code of a client survives it."""


class SimulatedInterrupt(KeyboardInterrupt):
    """The interrupt that a blocking client is cancelled by. One from the keyboard is none of the world, and ends it."""


class Strand(Protocol):
    """One line of user code. ``ticket`` counts its waits, so that an answer to an earlier wait is recognised and dropped."""

    ticket: int
    calls: list[Any]
    done: bool
    result: Any

    def step(self, value: Any, error: BaseException | None) -> Wish | None:
        """Go on with an answer or an error until the next wish; ``None`` when the code has returned. Raises what the code raises."""
        ...

    def end(self) -> None:
        """The process is gone: nothing of this code runs any more."""
        ...

    def cancellation(self) -> BaseException:
        """What a cancelled call raises in this kind of code."""
        ...


class CoroutineStrand:
    """A coroutine that is stepped by hand, in a context of its own."""

    __slots__ = ("_context", "_coroutine", "calls", "done", "result", "ticket")

    def __init__(self, coroutine: Coroutine[Wish, Any, Any]) -> None:
        self._coroutine = coroutine
        self._context: Context = copy_context()
        self.ticket = 0
        self.calls: list[Any] = []
        self.done = False
        self.result: Any = None

    def step(self, value: Any, error: BaseException | None) -> Wish | None:
        self.ticket += 1
        try:
            if error is not None:
                wish = self._context.run(self._coroutine.throw, error)
            else:
                wish = self._context.run(self._coroutine.send, value)
        except StopIteration as finished:
            self.done = True
            self.result = finished.value
            return None
        except BaseException:
            self.done = True
            raise
        return require_wish(wish)

    def end(self) -> None:
        self.ticket += 1
        self.done = True
        try:
            self._context.run(self._coroutine.close)
        except (RuntimeError, ProcessEnded):
            # Clean-up code of the user that awaits: in a process that has ended it does not run to its end.
            return

    def cancellation(self) -> BaseException:
        return asyncio.CancelledError()


def require_wish(wish: object) -> Wish:
    """Refuse what only a real event loop could wait for."""
    if not isinstance(wish, Wish):
        raise TypeError(f"a simulated client can await its database, its pauses and its queues, and it awaited {wish!r}: there is no event loop here")
    return wish


def blocking_strand(function: Callable[[], Any]) -> Strand:
    """A strand for blocking code. Needs greenlet, of the extra ``testing``."""
    from surewrite.testing.greenlet_strands import GreenletStrand  # noqa: PLC0415 - only blocking clients need the extra

    return GreenletStrand(function)


def leave_blocking(wish: Wish) -> Any:
    """Leave the blocking code that is running, with a wish, until it is answered."""
    from surewrite.testing.greenlet_strands import leave  # noqa: PLC0415 - only blocking clients need the extra

    return leave(wish)
