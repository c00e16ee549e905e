"""Connections that lose a request or an answer when a test says so.

Belongs here: losing the next one. Must not be here: what the client makes of it, schedules with other writers.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

from surewrite.backends.targets import async_backend_for, backend_for
from surewrite.core.answers import Answer, NoAnswer, NotSent
from surewrite.core.requests import Request

Fate = Literal["answered", "answer lost", "request lost", "not sent"]
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})


class Faults:
    """What becomes of the next writes, in order; those after the last one are answered. ``sent`` counts the writes that reached the service."""

    def __init__(self) -> None:
        self._fates: deque[Fate] = deque()
        self.sent = 0

    def next_writes(self, *fates: Fate) -> None:
        self._fates = deque(fates)
        self.sent = 0

    def fate_of(self, request: Request) -> Fate:
        if request.operation not in WRITES:
            return "answered"
        try:
            fate = self._fates.popleft()
        except IndexError:
            # Not asked for beforehand: several writes may be under way, and another one may take the last.
            fate = "answered"
        self.sent += fate in ("answered", "answer lost")
        return fate

    @staticmethod
    def unsent(fate: Fate) -> Answer | None:
        """The answer to a request that never reaches the service."""
        if fate == "not sent":
            return NotSent("the test did not connect")
        return NoAnswer("the test lost the request") if fate == "request lost" else None

    @staticmethod
    def told(fate: Fate, answer: Answer) -> Answer:
        return NoAnswer("the test lost the answer") if fate == "answer lost" else answer


class LossyBackend:
    def __init__(self, target: Any, faults: Faults) -> None:
        self._inner = backend_for(target)
        self._faults = faults
        self.traits = self._inner.traits

    def send(self, request: Request, timeout: float) -> Answer:
        fate = self._faults.fate_of(request)
        return self._faults.unsent(fate) or self._faults.told(fate, self._inner.send(request, timeout))

    def close(self) -> None:
        self._inner.close()


class AsyncLossyBackend:
    def __init__(self, target: Any, faults: Faults) -> None:
        self._inner = async_backend_for(target)
        self._faults = faults
        self.traits = self._inner.traits

    async def send(self, request: Request, timeout: float) -> Answer:
        fate = self._faults.fate_of(request)
        return self._faults.unsent(fate) or self._faults.told(fate, await self._inner.send(request, timeout))

    async def close(self) -> None:
        await self._inner.close()
