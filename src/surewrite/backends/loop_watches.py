"""Belongs here: the socket of one connection, watched by an event loop from one call to the next. Must not be here: what is done with its bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from surewrite.backends.connections import Connection, Ready
from surewrite.backends.http_attempts import Attempt, FutureWait, SocketWait
from surewrite.core.answers import Answer


class LoopWatch:
    """The loop watches a connection for bytes to read until it is closed: to begin and end that for each answer costs more than to read one.

    The steps of an attempt are made as soon as there are bytes for them, not when its task runs: until they are read the loop
    would tell of them again. The loop keeps the connection alive, and lets go of it when the other side closes it.
    """

    __slots__ = ("_connection", "_deadline", "_loop", "_number", "_settled", "_steps", "_timer")

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Raises ``NotImplementedError`` where the loop watches no sockets."""
        self._connection = connection
        self._loop = loop
        self._number = connection.socket.fileno()
        self._steps: Attempt | None = None
        self._settled: asyncio.Future[SocketWait | FutureWait | Answer] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        loop.add_reader(self._number, self._readable)
        connection.watch = self

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop is self._loop

    def serves(self, loop: object) -> bool:
        """Whether a call on ``loop`` may use the connection: once its own loop is closed, any may."""
        return loop is self._loop or self._loop.is_closed()

    def make(self, steps: Attempt, seconds: float) -> asyncio.Future[SocketWait | FutureWait | Answer]:
        """Make the steps, which wait at most ``seconds`` for bytes to read, until they end or ask for something else: that, or their answer."""
        self._steps = steps
        self._settled = self._loop.create_future()
        self._bound(seconds)
        return self._settled

    def _bound(self, seconds: float) -> None:
        """End the wait after so many seconds. A timer that is set already goes on to the new time when it rings, which costs less than a new one each time."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._deadline, self._rung)

    def _rung(self) -> None:
        self._timer = None
        if self._steps is None:
            return
        if self._loop.time() < self._deadline:
            self._set_timer()
        else:
            self._step(False)

    def _readable(self) -> None:
        if self._steps is None:
            # Nothing was asked: the other side closed, or is out of step. Whoever takes the connection next looks for that.
            self._forget()
        else:
            self._step(True)

    def _step(self, ready: bool) -> None:  # noqa: FBT001 - called by the loop, by position
        steps, settled = self._steps, self._settled
        if steps is None or settled is None or settled.cancelled():
            # The task of a cancelled call is about to close the connection.
            return
        try:
            asked = steps.send(ready)
        except StopIteration as end:
            self._steps = None
            settled.set_result(end.value)
        except BaseException as error:  # noqa: BLE001 - an interrupt too belongs to the task that waits
            self._steps = None
            settled.set_exception(error)
        else:
            if isinstance(asked, SocketWait) and asked.connection is self._connection and asked.ready is Ready.TO_READ:
                self._bound(asked.seconds)
            else:
                self._steps = None
                settled.set_result(asked)

    def end(self, close: Callable[[], None]) -> None:
        """Stop watching, then call ``close``; on the loop itself, if it runs in another thread."""
        if self._loop.is_running() and self._loop is not _running_loop():
            try:
                self._loop.call_soon_threadsafe(self._end, close)
            except RuntimeError:
                # It was closed in between, and watches nothing any more.
                close()
        else:
            self._end(close)

    def _end(self, close: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._forget()
        close()

    def _forget(self) -> None:
        self._steps = None
        self._connection.watch = None
        self._loop.remove_reader(self._number)


def watch_for(asked: SocketWait | FutureWait, loop: asyncio.AbstractEventLoop) -> LoopWatch | None:
    """What makes the steps that ask for bytes to read; ``None`` where they ask for something else, or the loop watches no sockets."""
    if not isinstance(asked, SocketWait) or asked.ready is not Ready.TO_READ:
        return None
    watch = asked.connection.watch
    if isinstance(watch, LoopWatch) and watch.is_of(loop):
        return watch
    try:
        return LoopWatch(asked.connection, loop)
    except NotImplementedError:
        return None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
