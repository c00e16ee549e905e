"""Belongs here: waiting in the calling thread for what an attempt asks. Must not be here: deciding what a lost answer means, what is sent or read."""

from __future__ import annotations

from concurrent.futures import wait
from typing import assert_never

from surewrite.backends.http_attempts import FutureWait, HttpAttempts, SocketWait
from surewrite.core.answers import Answer
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits


class BlockingWire:
    """A backend over HTTP/1.1. One wire serves any number of threads, and survives a fork: a child makes connections of its own."""

    def __init__(self, attempts: HttpAttempts) -> None:
        self._attempts = attempts

    @property
    def traits(self) -> EndpointTraits:
        return self._attempts.endpoint.traits

    @property
    def clock_offset(self) -> float:
        """How many seconds the server's clock is ahead of ours, by its last answer. Requests are signed for the server's time."""
        return self._attempts.requests.clock_offset

    def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt; wait at most ``timeout`` seconds for its answer.

        Raises:
            InvalidRequest: The wire is closed, there are no credentials, or the request cannot be written as JSON.
        """
        steps = self._attempts.attempt(request, timeout)
        # An interrupt leaves through here too: closing the steps closes the connection. Each step has a limit, so they end.
        try:
            asked = next(steps)
            while True:
                asked = steps.send(_waited(asked))
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        finally:
            steps.close()

    def close(self) -> None:
        """Close the idle connections at once, the others after their answer. A closed wire sends nothing more."""
        self._attempts.idle.close()


def _waited(asked: SocketWait | FutureWait) -> bool:
    match asked:
        case SocketWait():
            return asked.connection.is_ready(asked.ready, asked.seconds)
        case FutureWait():
            return bool(wait([asked.future], max(0.0, asked.seconds)).done)
        case _:
            assert_never(asked)
