"""A server that answers every request with the same empty answer of the service: it costs its clients nothing but their own work.

Belongs here: the bytes. Must not be here: a service, or what is measured. Runs as a process of its own, so that its time is not the client's.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from email.utils import formatdate
from subprocess import PIPE, Popen

BODY = b"{}"
RUNS_SECONDS_MAX = 3600.0


@contextlib.contextmanager
def answering_server() -> Iterator[str]:
    """The URL of a server in a process of its own, until the block ends."""
    with Popen([sys.executable, "-m", "benchmarks.answering_server"], stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def reply() -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nServer: Server\r\n"
        f"Date: {formatdate(time.time(), usegmt=True)}\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(BODY)}\r\n"
        f"x-amzn-RequestId: {'A' * 52}\r\nx-amz-crc32: {zlib.crc32(BODY)}\r\n\r\n"
    )
    return head.encode() + BODY


def serve(stream: socket.socket) -> None:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer, answer = b"", reply()
    with stream, contextlib.suppress(OSError):
        while data := stream.recv(65_536):
            buffer += data
            head, found, rest = buffer.partition(b"\r\n\r\n")
            if not found:
                continue
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(rest) >= length:
                buffer = rest[length:]
                stream.sendall(answer)


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        end = time.monotonic() + RUNS_SECONDS_MAX
        while time.monotonic() < end:
            stream, _ = listener.accept()
            threading.Thread(target=serve, args=(stream,), daemon=True).start()


if __name__ == "__main__":
    main()
