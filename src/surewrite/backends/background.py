"""Belongs here: one call that may hang, in a thread of its own, so that its caller can stop waiting. Must not be here: what is called, or how long to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

R = TypeVar("R")


def in_background(call: Callable[[], R], name: str) -> Future[R]:
    """Start ``call`` in a thread named ``name`` and return its future at once.

    Name resolution, botocore's refresh of keys and a client of boto3 take no time limit. A caller that stops waiting leaves
    the thread to end by itself; it does not keep the process alive. Costs about 50 µs.
    """
    future: Future[R] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who waits
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
