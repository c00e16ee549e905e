"""Belongs here: waiting on the running event loop for what an attempt asks. Must not be here: deciding what a lost answer means, what is sent or read."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import assert_never

from surewrite.backends.background import in_background
from surewrite.backends.connections import Ready, is_ready
from surewrite.backends.credentials import CredentialSource
from surewrite.backends.endpoints import Endpoint
from surewrite.backends.http_attempts import CONNECT_SECONDS, IDLE_CONNECTIONS_MAX, FutureWait, HttpAttempts, SocketWait
from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits


class AsynchronousWire:
    """A backend over HTTP/1.1 for asyncio. Nothing of a loop outlives a call, so one wire serves any number of loops, one after another or at once."""

    def __init__(self, attempts: HttpAttempts) -> None:
        self._attempts = attempts

    @property
    def traits(self) -> EndpointTraits:
        return self._attempts.endpoint.traits

    @property
    def clock_offset(self) -> float:
        """How many seconds the server's clock is ahead of ours, by its last answer. Requests are signed for the server's time."""
        return self._attempts.requests.clock_offset

    async def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt; wait at most ``timeout`` seconds for its answer. A cancelled call closes its connection.

        Raises:
            InvalidRequest: The wire is closed, there are no credentials, or the request cannot be written as JSON.
        """
        steps = self._attempts.attempt(request, timeout)
        # A cancellation leaves through here too: closing the steps closes the connection. Each step has a limit, so they end.
        try:
            asked = next(steps)
            while True:
                asked = steps.send(await _waited(asked))
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        finally:
            steps.close()

    async def close(self) -> None:
        """Close the idle connections at once, the others after their answer. A closed wire sends nothing more."""
        self._attempts.idle.close()


def async_wire_backend(
    endpoint: Endpoint,
    credentials: CredentialSource,
    *,
    connect_timeout: float = CONNECT_SECONDS,
    read_timeout: float | None = None,
    idle_connections_max: int = IDLE_CONNECTIONS_MAX,
    wall_clock: Callable[[], float] = time.time,
    tls: ssl.SSLContext | None = None,
) -> AsynchronousWire:
    """The same as ``wire_backend`` for asyncio. Needs no running loop."""
    return AsynchronousWire(
        HttpAttempts(
            endpoint,
            credentials,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            idle_connections_max=idle_connections_max,
            wall_clock=wall_clock,
            tls=tls,
        )
    )


async def _waited(asked: SocketWait | FutureWait) -> bool:
    match asked:
        case SocketWait():
            return await _socket_ready(asked)
        case FutureWait():
            # Neither a limit nor a cancellation reaches into the thread: it ends by itself.
            done, _ = await asyncio.wait([asyncio.wrap_future(asked.future)], timeout=max(0.0, asked.seconds))
            return bool(done)
        case _:
            assert_never(asked)


async def _socket_ready(asked: SocketWait) -> bool:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()
    # The number, not the socket: it must be taken out of the loop before the socket is closed.
    number = asked.stream.fileno()
    add, remove = (loop.add_reader, loop.remove_reader) if asked.ready is Ready.TO_READ else (loop.add_writer, loop.remove_writer)
    try:
        add(number, _settle, ready, True)
    except NotImplementedError:
        # The default loop of Windows watches no sockets, so a thread does; if this call is cancelled it ends at its limit.
        watching = in_background(partial(is_ready, asked.stream, asked.ready, asked.seconds), "surewrite-socket")
        return await asyncio.wrap_future(watching)
    timer = loop.call_later(asked.seconds, _settle, ready, False)
    try:
        return await ready
    finally:
        timer.cancel()
        remove(number)


def _settle(ready: asyncio.Future[bool], value: bool) -> None:  # noqa: FBT001 - called by the loop, by position
    if not ready.done():
        ready.set_result(value)
