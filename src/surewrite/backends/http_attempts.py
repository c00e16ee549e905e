"""Belongs here: one attempt from request to answer as steps, with its time limits. Must not be here: how a step is waited for, what is damaged.

The generator asks to wait for a socket or for a future; the blocking wire and the asynchronous one differ in nothing else.
Importing it loads the HTTP parser and the JSON codec, so the client imports a wire only when one is made.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from surewrite.backends.background import in_background
from surewrite.backends.connections import Address, Connection, IdleConnections, Ready, Steps, connect, new_connection, perform, resolve
from surewrite.backends.credentials import CredentialSource
from surewrite.backends.endpoints import Endpoint, tls_context, unused_proxy
from surewrite.backends.http_exchange import Exchange
from surewrite.backends.signed_requests import SignedRequests
from surewrite.backends.signing import Credentials
from surewrite.core.answers import Answer, NotSent
from surewrite.core.requests import Request
from surewrite.errors import InvalidRequest

CONNECT_SECONDS = 2.0
"""How long name, connection and TLS may take together: three round trips around the world and a lost packet fit."""

IDLE_CONNECTIONS_MAX = 32
"""How many connections rest in the pool. More may be in use; what comes back beyond the bound is closed."""

ATTEMPT_SECONDS_MAX = 86_400.0
"""A longer limit, or none, counts as a day: the system calls that wait take no infinity."""


@dataclass(slots=True)
class SocketWait:
    """Wait at most ``seconds`` until the socket of ``connection`` is ready. The step is sent whether it was."""

    connection: Connection
    ready: Ready
    seconds: float


@dataclass(slots=True)
class FutureWait:
    """Wait at most ``seconds`` until ``future`` is done, without asking for its result. The step is sent whether it was."""

    future: Future[Any]
    seconds: float


Waiting = Generator[SocketWait | FutureWait, bool, "Connection"]
Attempt = Generator[SocketWait | FutureWait, bool, Answer]


class LimitReachedError(Exception):
    """A time limit of one attempt was reached."""


class NoKeysError(Exception):
    """The source of keys failed in a way that may pass."""


class HttpAttempts:
    """Makes attempts against one endpoint. Any number may run at once, in threads or tasks. All times are in seconds.

    ``connect_timeout`` bounds name, connection and TLS together; ``read_timeout`` bounds the silence between two pieces of an
    answer, ``None`` for no bound of its own. Both lie within the limit of the attempt.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialSource,
        *,
        connect_timeout: float = CONNECT_SECONDS,
        read_timeout: float | None = None,
        idle_connections_max: int = IDLE_CONNECTIONS_MAX,
        wall_clock: Callable[[], float] = time.time,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.requests = SignedRequests(endpoint, wall_clock)
        self.idle = IdleConnections(idle_connections_max)
        self._credentials = credentials
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._tls = (tls or tls_context(endpoint.authorities)) if endpoint.secure else None
        proxy = unused_proxy(endpoint)
        self._hint = f"; the proxy that {proxy} names is not used: give a boto3 client, which goes through it" if proxy is not None else ""

    def attempt(self, request: Request, timeout: float, loop: object = None) -> Attempt:
        """One attempt that ends within ``timeout``, of a call on ``loop`` if it has one. Closing the generator at any step closes the connection in use.

        Raises:
            InvalidRequest: The wire is closed, there are no credentials, or the request cannot be written as JSON.
        """
        if self.idle.closed:
            raise InvalidRequest("this connection to the service was closed")
        body = self.requests.body(request)
        deadline = time.monotonic() + min(timeout, ATTEMPT_SECONDS_MAX)
        try:
            credentials = self._credentials.current() or (yield from self._fetched(deadline))
        except (LimitReachedError, NoKeysError) as reason:
            return NotSent(str(reason))
        try:
            connection = self.idle.take(time.monotonic(), loop) or (yield from self._connected(deadline))
        except (LimitReachedError, OSError) as error:
            return NotSent(f"no connection to {self.endpoint.url}: {error}{self._hint}")
        # Signed at the last moment, so that the date is that of this attempt.
        exchange = Exchange(self.requests.signed(request.operation, body, credentials), request)
        return (yield from self._exchanged(connection, exchange, deadline))

    def _exchanged(self, connection: Connection, exchange: Exchange, deadline: float) -> Attempt:
        # Only an exchange that ended well sets `reusable`, so every other way out of here closes the connection.
        try:
            yield from _bounded(perform(connection, exchange), connection, deadline, self._read_timeout)
            answer = exchange.answer()
        except LimitReachedError as limit:
            return exchange.failed(str(limit))
        except OSError as error:
            return exchange.failed(f"connection failed: {error}")
        finally:
            if exchange.reusable:
                self.idle.give(connection, time.monotonic(), exchange.kept_seconds)
            else:
                connection.close()
        self.requests.learn(answer)
        return answer

    def _fetched(self, deadline: float) -> Generator[FutureWait, bool, Credentials]:
        future = in_background(self._credentials.fetch, "surewrite-credentials")
        if not (yield FutureWait(future, deadline - time.monotonic())):
            raise LimitReachedError("no credentials within the time limit")
        try:
            return future.result()
        except InvalidRequest:
            raise
        except Exception as error:
            # A source raises what it likes, and nothing was sent.
            raise NoKeysError(f"no credentials: {type(error).__name__}: {error}") from error

    def _connected(self, deadline: float) -> Waiting:
        deadline = min(deadline, time.monotonic() + self._connect_timeout)
        host, port = self.endpoint.host, self.endpoint.port
        resolving = in_background(lambda: resolve(host, port), "surewrite-resolver")
        if not (yield FutureWait(resolving, deadline - time.monotonic())):
            raise LimitReachedError("the host's name was not resolved within the time limit")
        addresses = resolving.result()
        failure: Exception = OSError("the host's name has no address")
        for position, address in enumerate(addresses):
            # An address that stays silent leaves an equal share of the time to each of those behind it.
            now = time.monotonic()
            try:
                return (yield from self._connected_to(address, now + (deadline - now) / (len(addresses) - position)))
            except (OSError, LimitReachedError) as error:
                failure = error
        raise failure

    def _connected_to(self, address: Address, deadline: float) -> Waiting:
        connection = new_connection(address)
        try:
            yield from _bounded(connect(connection, address, self._tls, self.endpoint.host), connection, deadline, None)
        except BaseException:
            connection.close()
            raise
        return connection


def _bounded(steps: Steps, connection: Connection, deadline: float, silence: float | None) -> Generator[SocketWait, bool, None]:
    # Each turn waits and looks at the time, so the loop ends with the deadline.
    for ready in steps:
        left = deadline - time.monotonic()
        if left <= 0:
            raise LimitReachedError("the time limit was reached")
        if not (yield SocketWait(connection, ready, left if silence is None else min(left, silence))):
            raise LimitReachedError("the other side was silent up to the time limit")
