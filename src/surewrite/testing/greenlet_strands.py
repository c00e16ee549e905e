"""Belongs here: blocking user code in a greenlet, left and entered again at each wish. Must not be here: threads, which nothing could order."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import greenlet

from surewrite.drivers.simulated import Wish
from surewrite.testing.strands import ProcessEnded, SimulatedInterrupt


class GreenletStrand:
    """A function that runs in a stack of its own, in a context of its own."""

    __slots__ = ("_greenlet", "calls", "done", "result", "ticket")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._greenlet = greenlet.greenlet(function)
        self._greenlet.gr_context = copy_context()
        self.ticket = 0
        self.calls: list[Any] = []
        self.done = False
        self.result: Any = None

    def step(self, value: Any, error: BaseException | None) -> Wish | None:
        self.ticket += 1
        # Whoever steps is where a wish comes back to, whatever stack first made the strand.
        self._greenlet.parent = greenlet.getcurrent()
        try:
            if error is not None:
                wish = self._greenlet.throw(error)
            elif self._greenlet:
                wish = self._greenlet.switch(value)
            else:
                wish = self._greenlet.switch()
        except BaseException:
            self.done = True
            raise
        if self._greenlet.dead:
            self.done = True
            self.result = wish
            return None
        assert isinstance(wish, Wish)
        return wish

    def end(self) -> None:
        self.ticket += 1
        self.done = True
        if self._greenlet and not self._greenlet.dead:
            self._greenlet.parent = greenlet.getcurrent()
            try:
                self._greenlet.throw(ProcessEnded())
            except ProcessEnded:
                return

    def cancellation(self) -> BaseException:
        return SimulatedInterrupt()


def leave(wish: Wish) -> Any:
    """Go back to whoever stepped this greenlet, with a wish; returns its answer."""
    parent = greenlet.getcurrent().parent
    if parent is None:
        raise RuntimeError("a simulated database is used outside of its client's code")
    return parent.switch(wish)
