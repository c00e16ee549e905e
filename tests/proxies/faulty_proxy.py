"""A proxy of this machine that loses requests and answers, answers 500 to writes that were applied, and throttles: by a seed and rates.

Belongs here: HTTP as it is passed on, and what becomes of each request. Must not be here: what a client should make of it.

Whatever is lost ends the connection at once, so that a client learns of it without waiting for its time limit.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Literal
from urllib.parse import urlsplit

Fate = Literal["answered", "answer lost", "request lost", "failed after", "throttled"]

HEAD_BYTES_MAX = 65_536
REQUESTS_MAX = 100_000
# A request or answer that takes longer belongs to a test that hangs.
STUCK_SECONDS = 20.0
JOIN_SECONDS = 10.0
# The work on tables is no write of items: a client is not asked to repeat it.
SPARED = frozenset({"CreateTable", "DeleteTable", "DescribeTable", "ListTables", "UpdateTimeToLive", "DescribeTimeToLive", "Scan"})
PASSED_BACK = ("Date", "Content-Type", "Content-Encoding", "x-amz-crc32", "x-amzn-RequestId")
_FAILED = (500, b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"the proxy failed"}')
_THROTTLED = (400, b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"the proxy throttles"}')


@dataclass(frozen=True, slots=True)
class Rates:
    """The share of requests, in [0, 1), that meet each fate; the rest is answered."""

    answer_lost: float = 0.0
    request_lost: float = 0.0
    failed_after: float = 0.0
    throttled: float = 0.0


NO_FAULTS = Rates()
BAD_DAY = Rates(answer_lost=0.05, request_lost=0.03, failed_after=0.02, throttled=0.05)


@dataclass(slots=True)
class FaultyProxy:
    """A running proxy: ``url`` stands for the service behind it, ``fates`` counts what became of the requests.

    While ``faults`` is false every request is answered.
    """

    url: str
    faults: bool = True
    fates: Counter[Fate] = field(default_factory=Counter)


@contextlib.contextmanager
def faulty_proxy(service: str, rates: Rates = NO_FAULTS, *, seed: int = 0, first: Sequence[Fate] = ()) -> Iterator[FaultyProxy]:
    """A proxy before the service at that URL, until the block ends. The same seed gives the same fates in the order of arrival.

    ``first`` are the fates of the first requests, before chance decides.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = _Server(service, rates, seed, first, listener)
        server.start()
        try:
            yield server.proxy
        finally:
            server.stop()


class _Server:
    def __init__(self, service: str, rates: Rates, seed: int, first: Sequence[Fate], listener: socket.socket) -> None:
        self.proxy = FaultyProxy(f"http://127.0.0.1:{listener.getsockname()[1]}")
        self._service = urlsplit(service)
        self._rates = rates
        self._chance = random.Random(seed)
        self._first = deque(first)
        self._listener = listener
        self._guard = threading.Lock()
        self._stopped = False
        self._streams: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, name="faulty-proxy")]

    def start(self) -> None:
        self._threads[0].start()

    def stop(self) -> None:
        with self._guard:
            self._stopped = True
            streams = list(self._streams)
        for stream in (self._listener, *streams):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

    def _accept(self) -> None:
        for _ in range(REQUESTS_MAX):
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            with self._guard:
                if self._stopped:
                    stream.close()
                    return
                self._streams.add(stream)
                self._threads.append(threading.Thread(target=self._serve, args=(stream,), name="faulty-proxy-connection"))
                self._threads[-1].start()

    def _serve(self, stream: socket.socket) -> None:
        upstream = http.client.HTTPConnection(str(self._service.hostname), self._service.port, timeout=STUCK_SECONDS)
        try:
            stream.settimeout(STUCK_SECONDS)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Closed before the stream, which stays open as long as it is read from.
            with stream.makefile("rb") as reader:
                for _ in range(REQUESTS_MAX):
                    request = _read_request(reader)
                    if request is None or not self._pass_on(stream, upstream, *request):
                        return
        except OSError:
            # The client or the service went away, or the proxy is told to stop.
            return
        finally:
            upstream.close()
            with self._guard:
                self._streams.discard(stream)
            stream.close()

    def _pass_on(self, stream: socket.socket, upstream: http.client.HTTPConnection, target: str, headers: Mapping[str, str], body: bytes) -> bool:
        """One request and its fate. False where the connection ends with it."""
        fate = self._fate(headers.get("x-amz-target", "").rpartition(".")[2])
        if fate == "request lost":
            _reset(stream)
            return False
        if fate == "throttled":
            stream.sendall(_reply(*_THROTTLED, {}))
            return True
        upstream.request("POST", target, body, dict(headers))
        answer = upstream.getresponse()
        content = answer.read()
        if fate == "answer lost":
            _reset(stream)
            return False
        if fate == "failed after":
            stream.sendall(_reply(*_FAILED, {}))
            return True
        stream.sendall(_reply(answer.status, content, {name: value for name in PASSED_BACK if (value := answer.headers.get(name)) is not None}))
        return True

    def _fate(self, operation: str) -> Fate:
        with self._guard:
            if not self.proxy.faults or not operation or operation in SPARED:
                fate: Fate = "answered"
            else:
                fate = self._first.popleft() if self._first else _fate_at(self._rates, self._chance.random())
            self.proxy.fates[fate] += 1
            return fate


def _fate_at(rates: Rates, number: float) -> Fate:
    shares: tuple[tuple[Fate, float], ...] = (
        ("answer lost", rates.answer_lost),
        ("request lost", rates.request_lost),
        ("failed after", rates.failed_after),
        ("throttled", rates.throttled),
    )
    for fate, share in shares:
        if number < share:
            return fate
        number -= share
    return "answered"


def _read_request(reader: BufferedReader) -> tuple[str, dict[str, str], bytes] | None:
    """The target, headers by lower-case name, and body of the next request; ``None`` at the end of the stream."""
    first = reader.readline(HEAD_BYTES_MAX)
    if not first.endswith(b"\r\n"):
        return None
    headers: dict[str, str] = {}
    for _ in range(100):
        line = reader.readline(HEAD_BYTES_MAX)
        if line in (b"\r\n", b""):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = reader.read(length)
    return None if len(body) < length else (first.split(b" ")[1].decode("latin-1"), headers, body)


def _reply(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    fields = {"Content-Type": "application/x-amz-json-1.0", **headers, "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {http.client.responses[status]}\r\n{lines}\r\n".encode("latin-1") + body


def _reset(stream: socket.socket) -> None:
    """End the connection so that the client sees at once that nothing more will come."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
