"""A server on this machine that does to each connection what a test tells it to.

Belongs here: plain sockets and what a script may need. Must not be here: what a client should make of it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
# A script that nobody ends gives up after this time, so that a failing test does not hang.
STUCK_SECONDS = 20.0


def reply(body: bytes = b"{}", status: str = "200 OK", **headers: str) -> bytes:
    """A whole reply. Headers by name with underscores; an empty value leaves the header out."""
    fields = {"Date": DATE, "Content-Type": "application/x-amz-json-1.0", "x-amz-crc32": str(zlib.crc32(body)), "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def echo(request: Received) -> bytes:
    """The reply that names the table which the request named, so that a mixed-up answer shows."""
    return reply(json.dumps({"Attributes": {"Echo": {"S": request.table}}}, separators=(",", ":")).encode())


@dataclass(frozen=True, slots=True)
class Received:
    """One whole request. ``connection`` counts from 0."""

    connection: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, by its name in lower case."""
        lines = (line.partition(b": ") for line in self.head.split(b"\r\n")[1:])
        return next((value.decode() for key, _, value in lines if key.decode().lower() == name), None)

    @property
    def table(self) -> str:
        return str(json.loads(self.body)["TableName"])


@dataclass(slots=True)
class Peer:
    """The server's end of one connection."""

    server: HostileServer
    number: int
    stream: socket.socket
    buffer: bytes = b""

    def read(self, count: int) -> bytes:
        """Up to ``count`` bytes, fewer only at the end of the stream."""
        pieces, missing = [self.buffer[:count]], count - len(self.buffer)
        self.buffer = self.buffer[count:]
        while missing > 0:
            data = self.stream.recv(min(65_536, missing))
            if not data:
                break
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)

    def request(self) -> Received | None:
        """The next whole request, which is noted down; ``None`` at the end of the stream."""
        while b"\r\n\r\n" not in self.buffer:
            data = self.stream.recv(65_536)
            if not data:
                return None
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        length = int(Received(self.number, head, b"").header("content-length") or "0")
        body = self.read(length)
        if len(body) < length:
            return None
        received = Received(self.number, head, body)
        self.server.received.append(received)
        return received

    def send(self, data: bytes) -> None:
        self.stream.sendall(data)

    def reset(self) -> None:
        """End the connection with a reset, and tell the server that it is done."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.close()
        self.server.ended.release()

    def end(self) -> None:
        """End the connection in order, and tell the server that it is done."""
        with contextlib.suppress(OSError):
            self.stream.shutdown(socket.SHUT_RDWR)
        self.stream.close()
        self.server.ended.release()

    def wait_for_end(self) -> None:
        """Wait until the client closes its end; then release ``ended``."""
        with contextlib.suppress(OSError):
            while self.stream.recv(65_536):
                pass
        self.server.ended.release()


Script = Callable[[Peer], None]


def well_behaved(peer: Peer) -> None:
    """Answer every request with its echo until the client leaves."""
    while (request := peer.request()) is not None:
        peer.send(echo(request))


@dataclass(slots=True)
class HostileServer:
    """``scripts`` are for the first connections, in order; all later ones meet a well-behaved peer.

    ``received`` are the whole requests; ``ended`` is released by scripts that tell of an end; ``stop`` is set at the end of the test.
    """

    scripts: list[Script]
    tls: ssl.SSLContext | None
    listener: socket.socket
    received: list[Received] = field(default_factory=list)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    stop: threading.Event = field(default_factory=threading.Event)
    connections: int = 0
    _streams: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def accept(self) -> None:
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            stream.settimeout(STUCK_SECONDS)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number, self.connections = self.connections, self.connections + 1
            self._streams.append(stream)
            self.start(self._serve, stream, number)

    def start(self, call: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=call, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        self.stop.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(STUCK_SECONDS)

    def _serve(self, stream: socket.socket, number: int) -> None:
        script = self.scripts[number] if number < len(self.scripts) else well_behaved
        # A client that hangs up in the middle is what these tests are about.
        with contextlib.suppress(OSError):
            if self.tls is not None:
                stream = self.tls.wrap_socket(stream, server_side=True)
                self._streams.append(stream)
            script(Peer(self, number, stream))
        stream.close()


@contextlib.contextmanager
def hostile_server(*scripts: Script, tls: ssl.SSLContext | None = None, listener: socket.socket | None = None) -> Iterator[HostileServer]:
    """A running server, closed at the end with all its connections."""
    server = HostileServer(list(scripts), tls, listener or socket.create_server(("127.0.0.1", 0)))
    server.start(server.accept)
    try:
        yield server
    finally:
        server.close()
