"""Belongs here: one connection as steps that never wait, and the bounded pool of idle ones. Must not be here: waiting, time limits, what a failure means.

Each step is a generator that yields what its socket must be ready for. The blocking wire polls, the other one asks its event
loop; what is done with the socket stands here once.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Protocol

from surewrite.backends.http_exchange import Exchange

RECEIVED_BYTES_MAX = 65_536
"""How much is read at once: the answer of a single write fits many times."""

IDLE_SECONDS_MAX = 20.0
"""An idle connection that is older is closed rather than used: the longer it rests, the likelier its other end closes it just as we send."""

KEPT_SHARE = 0.8
"""Of the time that the other side says it keeps an idle connection, so much is used: at its end a request would meet the close."""

_IN_PROGRESS = frozenset((errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR))


class Ready(enum.Enum):
    """What a step waits for."""

    TO_READ = "read"
    TO_WRITE = "write"


Steps = Generator[Ready, None, None]


@dataclass(frozen=True, slots=True)
class Address:
    """One address that a name resolved to, as ``socket.getaddrinfo`` tells it."""

    family: int
    kind: int
    protocol: int
    target: tuple[object, ...]


class Watch(Protocol):
    """Something that is told when the socket of one connection has bytes to read, from one wait to the next: an event loop."""

    def serves(self, loop: object) -> bool:
        """Whether a call on that loop may use the connection."""
        ...

    def end(self, close: Callable[[], None]) -> None:
        """Stop watching, then call ``close``: a socket that is closed while it is watched would leave its number behind for the next one."""
        ...


@dataclass(slots=True)
class Connection:
    """One socket that never blocks. ``owner`` is the process that made it; ``watch`` is of that process only.

    ``idle_since`` is monotonic, and ``idle_seconds_max`` how long from then it may still be used.
    """

    socket: socket.socket
    owner: int
    idle_since: float = 0.0
    idle_seconds_max: float = IDLE_SECONDS_MAX
    watch: Watch | None = None
    _readable: select.poll | None = field(default=None, init=False, repr=False)

    def close(self) -> None:
        if self.watch is not None and self.owner == os.getpid():
            self.watch.end(self._close)
        else:
            self._close()

    def _close(self) -> None:
        # Without a farewell of TLS: what the socket has not taken must not follow, and a child process shares the stream.
        with contextlib.suppress(OSError):
            self.socket.close()

    def is_ready(self, ready: Ready, seconds: float) -> bool:
        """Wait at most ``seconds`` until the socket is ready, or broken, which reading or writing then tells."""
        if not hasattr(select, "poll"):
            read, write = ([self.socket], []) if ready is Ready.TO_READ else ([], [self.socket])
            return any(select.select(read, write, write, seconds))
        poll = self._readable if ready is Ready.TO_READ else None
        if poll is None:
            poll = select.poll()
            poll.register(self.socket, select.POLLIN if ready is Ready.TO_READ else select.POLLOUT)
            if ready is Ready.TO_READ:
                self._readable = poll
        # Rounded up: a limit is never cut short by the granularity of the call.
        return bool(poll.poll(int(seconds * 1000) + 1 if seconds > 0 else 0))


def resolve(host: str, port: int) -> tuple[Address, ...]:
    """The addresses of a host, in the order to try them. Asks the resolver unless ``host`` is a number; may take as long as that likes."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(Address(family, kind, protocol, target) for family, kind, protocol, _, target in found)


def new_connection(address: Address) -> Connection:
    """A connection that is not connected yet."""
    made = socket.socket(address.family, address.kind, address.protocol)
    made.setblocking(False)
    # A request is written whole, so nothing is won by holding its last packet back.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(made, os.getpid())


def connect(connection: Connection, address: Address, tls: ssl.SSLContext | None, host: str) -> Steps:
    """Connect, and agree on TLS where ``tls`` is given. Raises OSError. No byte of a request has left by then."""
    code = connection.socket.connect_ex(address.target)
    if code in _IN_PROGRESS:
        yield Ready.TO_WRITE
        code = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))
    if tls is None:
        return
    wrapped = tls.wrap_socket(connection.socket, server_hostname=host, do_handshake_on_connect=False)
    connection.socket = wrapped
    done = False
    # Whoever waits for these steps counts the time, so they end.
    while not done:
        try:
            wrapped.do_handshake()
            done = True
        except ssl.SSLWantReadError:
            yield Ready.TO_READ
        except ssl.SSLWantWriteError:
            yield Ready.TO_WRITE


def perform(connection: Connection, exchange: Exchange) -> Steps:
    """Send the request and read its reply until ``exchange`` is finished. Raises OSError; ``exchange`` knows what had left by then.

    Between any two reads a step is yielded, so that whoever waits can hold a limit against a reply that comes in drops.
    """
    stream = connection.socket
    while exchange.unsent:
        try:
            exchange.handed_over(stream.send(exchange.unsent))
        except (BlockingIOError, ssl.SSLWantWriteError):
            yield Ready.TO_WRITE
        except ssl.SSLWantReadError:
            yield Ready.TO_READ
    encrypted = stream if isinstance(stream, ssl.SSLSocket) else None
    while not exchange.finished:
        # What TLS has unpacked already does not make the socket ready again.
        if encrypted is None or not encrypted.pending():
            yield Ready.TO_READ
        try:
            exchange.received(stream.recv(RECEIVED_BYTES_MAX))
        except (BlockingIOError, ssl.SSLWantReadError):
            continue
        except ssl.SSLWantWriteError:
            yield Ready.TO_WRITE


class IdleConnections:
    """Idle connections, newest first, at most ``limit``. Used by several threads and event loops without a lock: a deque's ends are atomic.

    A connection is in it or in use, never both. A child process leaves its parent's connections alone.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._idle: deque[Connection] = deque()
        self.closed = False

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, now: float, loop: object = None) -> Connection | None:
        """An idle connection that looks alive, or ``None``. ``now`` is monotonic, in seconds; ``loop`` is the event loop of the call, if it has one.

        A socket that is ready to read although nothing was asked is closed by the other side, or out of step: it is not used.
        """
        of_others: list[Connection] = []
        try:
            # Each turn takes one connection away, so at most `limit` are looked at.
            while self._idle:
                try:
                    connection = self._idle.pop()
                except IndexError:
                    return None
                own = connection.owner == os.getpid()
                if own and connection.watch is not None and not connection.watch.serves(loop):
                    of_others.append(connection)
                elif own and now - connection.idle_since < connection.idle_seconds_max and not connection.is_ready(Ready.TO_READ, 0):
                    return connection
                else:
                    connection.close()
            return None
        finally:
            if of_others:
                self._idle.extend(reversed(of_others))

    def give(self, connection: Connection, now: float, kept_seconds: float | None = None) -> None:
        """Keep a connection whose last answer was read whole. ``kept_seconds`` is how long the other side keeps it, where it says so."""
        if connection.owner != os.getpid():
            connection.close()
            return
        connection.idle_since = now
        connection.idle_seconds_max = IDLE_SECONDS_MAX if kept_seconds is None else min(IDLE_SECONDS_MAX, KEPT_SHARE * kept_seconds)
        self._idle.append(connection)
        limit = 0 if self.closed else self._limit
        if len(self._idle) > limit:
            self._close_down_to(limit)

    def close(self) -> None:
        """Close the idle connections, and later those that are in use now."""
        self.closed = True
        self._close_down_to(0)

    def _close_down_to(self, count: int) -> None:
        while len(self._idle) > count:
            try:
                self._idle.popleft().close()
            except IndexError:
                return
