"""Belongs here: the protocol that a backend fulfils. Must not be here: an implementation."""

from __future__ import annotations

from typing import Protocol

from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits as EndpointTraits


class Backend(Protocol):
    """Where requests go. It waits, reports honestly, and decides nothing: it never sends a request twice."""

    @property
    def traits(self) -> EndpointTraits: ...

    def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt; wait at most ``timeout`` seconds for its answer. Raises only for our own bugs or an interrupt."""
        ...

    def close(self) -> None: ...


class AsyncBackend(Protocol):
    """The same, awaited. A cancelled ``send`` leaves no connection behind on which its answer could still arrive."""

    @property
    def traits(self) -> EndpointTraits: ...

    async def send(self, request: Request, timeout: float) -> Answer: ...

    async def close(self) -> None: ...
