"""Belongs here: awaiting a socket, or a call that runs in a thread, on the running event loop. Must not be here: what they are waited for."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future
from functools import partial
from socket import socket
from typing import Any

from surewrite.backends.background import in_background
from surewrite.backends.connections import Ready, is_ready


async def socket_ready(stream: socket, ready: Ready, seconds: float) -> bool:
    """Wait at most ``seconds`` until the socket is ready, or broken. The loop forgets the socket before this returns or is cancelled."""
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[bool] = loop.create_future()
    # The number, not the socket: it must be taken out of the loop before the socket is closed.
    number = stream.fileno()
    add, remove = (loop.add_reader, loop.remove_reader) if ready is Ready.TO_READ else (loop.add_writer, loop.remove_writer)
    try:
        add(number, _settle, settled, True)
    except NotImplementedError:
        # The default loop of Windows watches no sockets, so a thread does; if this call is cancelled, it ends at its limit.
        watching = in_background(partial(is_ready, stream, ready, seconds), "surewrite-socket")
        return await future_done(watching, seconds) and watching.result()
    timer = loop.call_later(seconds, _settle, settled, False)
    try:
        return await settled
    finally:
        timer.cancel()
        remove(number)


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
