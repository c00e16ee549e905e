"""Belongs here: awaiting a socket once, or a call that runs in a thread, on the running event loop. Must not be here: what they are waited for."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future
from functools import partial
from typing import Any

from surewrite.backends.background import in_background
from surewrite.backends.connections import Connection, Ready


async def socket_ready(connection: Connection, ready: Ready, seconds: float) -> bool:
    """Wait at most ``seconds`` until the socket is ready, or broken. The loop forgets the socket before this returns or is cancelled.

    For what is rare: a request that its socket does not take at once, and loops that watch no sockets. A ``LoopWatch`` waits for bytes to read.
    """
    loop = asyncio.get_running_loop()
    if ready is Ready.TO_READ:
        return await _ready_in_thread(connection, ready, seconds)
    settled: asyncio.Future[bool] = loop.create_future()
    # The number, not the socket: it must be taken out of the loop before the socket is closed.
    number = connection.socket.fileno()
    try:
        loop.add_writer(number, _settle, settled, True)
    except NotImplementedError:
        return await _ready_in_thread(connection, ready, seconds)
    timer = loop.call_later(seconds, _settle, settled, False)
    try:
        return await settled
    finally:
        timer.cancel()
        loop.remove_writer(number)


async def _ready_in_thread(connection: Connection, ready: Ready, seconds: float) -> bool:
    """The default loop of Windows watches no sockets, so a thread does; if this call is cancelled, it ends at its limit."""
    watching = in_background(partial(connection.is_ready, ready, seconds), "surewrite-socket")
    return await future_done(watching, seconds) and watching.result()


async def future_done(future: Future[Any], seconds: float) -> bool:
    """Wait at most ``seconds`` until the future is done, however it ended. Neither the limit nor a cancellation reaches into its thread."""
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[bool] = loop.create_future()

    def tell(_: Future[Any]) -> None:
        # The call may outlive the loop that waited for it.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, settled, True)

    future.add_done_callback(tell)
    timer = loop.call_later(max(0.0, seconds), _settle, settled, False)
    try:
        return await settled
    finally:
        timer.cancel()


def _settle(settled: asyncio.Future[bool], value: bool) -> None:  # noqa: FBT001 - called by the loop, by position
    if not settled.done():
        settled.set_result(value)
