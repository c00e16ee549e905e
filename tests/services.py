"""Real peers for tests: other programs that speak the service's protocol, each as a process of its own on a free port of this machine.

Belongs here: starting and ending them. Must not be here: what they are asked, or which test uses them.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 10.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Service:
    """A running peer. ``name`` is the program, ``url`` its endpoint."""

    name: str
    url: str


@contextmanager
def start_moto() -> Iterator[Service]:
    """moto's server; it keeps tables per account in memory until it ends."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running("moto", command, port, {}) as service:
        yield service


@contextmanager
def start_ministack() -> Iterator[Service]:
    """ministack; it keeps tables in memory until it ends."""
    port = free_port()
    command = [sys.executable, "-m", "ministack"]
    with _running("ministack", command, port, {"GATEWAY_PORT": str(port), "SERVICES": "dynamodb", "PERSIST_STATE": "0"}) as service:
        yield service


def free_port() -> int:
    """A port of the loopback address that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def _running(name: str, command: list[str], port: int, settings: Mapping[str, str]) -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "output").open("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **settings}, cwd=folder)
        try:
            if not _answers(process, port):
                output.seek(0)
                raise RuntimeError(f"{name} did not start: {output.read()[-2000:]}")
            yield Service(name, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECONDS)


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    pause = threading.Event()
    for _ in range(int(START_SECONDS / _PAUSE_SECONDS)):
        if process.poll() is not None:
            return False
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except OSError:
            pause.wait(_PAUSE_SECONDS)
        else:
            return True
        finally:
            connection.close()
    return False
