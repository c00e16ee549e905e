"""Belongs here: waiting on the running event loop for what an attempt asks. Must not be here: deciding what a lost answer means, what is sent or read."""

from __future__ import annotations

import asyncio
from typing import assert_never

from surewrite.backends.awaiting import future_done, socket_ready
from surewrite.backends.http_attempts import FutureWait, HttpAttempts, SocketWait
from surewrite.backends.loop_watches import watch_for
from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits


class AsynchronousWire:
    """A backend over HTTP/1.1 for asyncio. One wire serves any number of loops, one after another or at once.

    A connection belongs to the loop that it was made on until that is closed; then any other may use it.
    """

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
        loop = asyncio.get_running_loop()
        steps = self._attempts.attempt(request, timeout, loop)
        # A cancellation leaves through here too: closing the steps closes the connection. Each step has a limit, so they end.
        try:
            asked: SocketWait | FutureWait | Answer = next(steps)
            while isinstance(asked, (SocketWait, FutureWait)):
                watch = watch_for(asked, loop)
                asked = steps.send(await _waited(asked)) if watch is None else await watch.make(steps, asked.seconds)
            return asked
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        finally:
            steps.close()

    async def close(self) -> None:
        """Close the idle connections at once, the others after their answer. A closed wire sends nothing more.

        Those of a loop that runs in another thread are closed at its next turn.
        """
        self._attempts.idle.close()


async def _waited(asked: SocketWait | FutureWait) -> bool:
    match asked:
        case SocketWait():
            return await socket_ready(asked.connection, asked.ready, asked.seconds)
        case FutureWait():
            return await future_done(asked.future, asked.seconds)
        case _:
            assert_never(asked)
