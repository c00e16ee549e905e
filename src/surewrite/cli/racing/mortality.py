"""Belongs here: a backend whose writer is killed in the middle of an operation. Must not be here: who restarts it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.backend import Backend


class Abandoned(BaseException):
    """A writer in a thread is left where it stands. No ``Exception``, so that nothing in the writer can go on after it."""


def kill_this_process() -> None:
    """End at once, as by ``kill -9``: nothing is flushed, nothing is told."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)


def abandon_this_thread() -> None:
    """Leave the writer of this thread where it stands."""
    raise Abandoned


class MortalBackend:
    """Passes requests on until one has been executed whose answer the writer does not live to read."""

    def __init__(self, inner: Backend, requests_to_live: int, die: Callable[[], None]) -> None:
        self._inner = inner
        self._left = requests_to_live
        self._die = die

    @property
    def traits(self) -> EndpointTraits:
        return self._inner.traits

    def send(self, request: Request, timeout: float) -> Answer:
        answer = self._inner.send(request, timeout)
        self._left -= 1
        if self._left == 0:
            self._die()
        return answer

    def close(self) -> None:
        self._inner.close()
