"""Belongs here: a network's delay in front of a backend in this process or on this disk. Must not be here: faults."""

from __future__ import annotations

import random
import time

from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.backend import Backend

DELAY_SECONDS_MAX = 0.002
"""About what a request within one region takes. Without it the writers of one process would hardly ever meet."""


class DelayedBackend:
    """Waits a little before each request and before its answer, so that those of several writers interleave as they would over a network."""

    def __init__(self, inner: Backend, seed: int) -> None:
        self._inner = inner
        self._chance = random.Random(seed)

    @property
    def traits(self) -> EndpointTraits:
        return self._inner.traits

    def send(self, request: Request, timeout: float) -> Answer:
        self._wait()
        answer = self._inner.send(request, timeout)
        self._wait()
        return answer

    def close(self) -> None:
        self._inner.close()

    def _wait(self) -> None:
        time.sleep(self._chance.uniform(0.0, DELAY_SECONDS_MAX / 2))
