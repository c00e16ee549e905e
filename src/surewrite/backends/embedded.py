"""Belongs here: the engine in this process as a backend. Must not be here: retries, shortcuts past the engine's checks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Lock
from typing import Final

from surewrite.core.answers import Answer, NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service, ServiceSettings
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.store import StoreError, StoreUnusable, waiting_at_most
from surewrite.errors import ConnectionFailed, InvalidRequest

_MEMORY: Final = "memory:"
_FILE: Final = "file:"

_shared: Final[dict[str, Service]] = {}
_sharing: Final = Lock()


class _Embedded:
    def __init__(self, service: Service, name: str = "embedded", *, owns: bool = False) -> None:
        self._service = service
        self._traits = _traits(service, name)
        self._owns = owns
        self._closed = False

    @property
    def traits(self) -> EndpointTraits:
        return self._traits

    @property
    def service(self) -> Service:
        return self._service


class EmbeddedBackend(_Embedded):
    """Sends requests to a service in this process, in the caller's thread. A service that the backend ``owns`` is closed with it."""

    def send(self, request: Request, timeout: float) -> Answer:
        """Execute one request; a store on disk waits at most ``timeout`` seconds for its lock.

        A store that failed is ``NotSent`` where nothing was kept, else ``NoAnswer``. Raises ``InvalidRequest`` once closed.
        """
        _require_open(closed=self._closed)
        return _execute(self._service, request, timeout)

    def close(self) -> None:
        """Take no more requests. A service of somebody else stays open."""
        if self._owns and not self._closed:
            self._service.close()
        self._closed = True


class AsyncEmbeddedBackend(_Embedded):
    """The same, awaited.

    A service in memory is called on the loop itself. One on disk is called in a thread of the loop's default executor; a
    cancelled or late call is then left to finish, so its write may still take effect.
    """

    async def send(self, request: Request, timeout: float) -> Answer:
        """Execute one request; ``NoAnswer`` after ``timeout`` seconds, if the store waits for a disk. Raises ``InvalidRequest`` once closed."""
        _require_open(closed=self._closed)
        if not self._service.store.waits:
            return _execute(self._service, request, timeout)
        work = asyncio.get_running_loop().run_in_executor(None, _execute, self._service, request, timeout)
        done, _ = await asyncio.wait((work,), timeout=timeout)
        if work not in done:
            return NoAnswer(f"no answer within {timeout:g} seconds; the request is still being executed")
        return work.result()

    async def close(self) -> None:
        """Take no more requests. A service of somebody else stays open."""
        closes = self._owns and not self._closed
        self._closed = True
        if closes:
            await asyncio.get_running_loop().run_in_executor(None, self._service.close)


def open_embedded(target: str, *, clock: Callable[[], float] = time.time, settings: ServiceSettings | None = None) -> Service:
    """The service that ``target`` names: ``"memory:"`` a fresh one, ``"memory:NAME"`` one shared by that name in this process, ``"file:PATH"`` one on disk.

    A shared service keeps the clock and settings that it was first opened with; asking for others raises
    ``InvalidRequest``, as an unknown target does, and a file that is damaged, not one of the engine's or not to be written;
    one that other processes keep locked, or that there is no room for, raises ``ConnectionFailed``.
    """
    wanted = settings if settings is not None else ServiceSettings()
    if target.startswith(_MEMORY):
        return _memory_service(target.removeprefix(_MEMORY), clock, wanted)
    if target.startswith(_FILE) and len(target) > len(_FILE):
        # Loaded only here, so that a program without a file never loads sqlite3.
        from surewrite.engine.stores.sqlite import SqliteStore  # noqa: PLC0415

        try:
            store = SqliteStore(target.removeprefix(_FILE))
        except StoreUnusable as failed:
            raise InvalidRequest(str(failed)) from failed
        except StoreError as failed:
            raise ConnectionFailed(str(failed)) from failed
        return Service(store, clock=clock, settings=wanted)
    raise InvalidRequest(f"{target!r} is no embedded database: write 'memory:', 'memory:NAME' or 'file:PATH'")


def _memory_service(name: str, clock: Callable[[], float], settings: ServiceSettings) -> Service:
    if not name:
        return Service(MemoryStore(), clock=clock, settings=settings)
    with _sharing:
        found = _shared.get(name)
        if found is None:
            found = _shared[name] = Service(MemoryStore(), clock=clock, settings=settings)
    if found.clock is not clock or found.settings != settings:
        raise InvalidRequest(f"'memory:{name}' is already open with another clock or other settings; open it with the same ones, or under another name")
    return found


def _require_open(*, closed: bool) -> None:
    if closed:
        raise InvalidRequest("this connection to the service was closed")


def _traits(service: Service, name: str) -> EndpointTraits:
    return EndpointTraits(name, tokens=not service.settings.tokens_ignored, transactions=True, old_item=True, cancelled_items=True)


def _execute(service: Service, request: Request, timeout: float) -> Answer:
    try:
        if service.store.waits:
            with waiting_at_most(timeout):
                body = service.execute(request.operation, request.body)
        else:
            body = service.execute(request.operation, request.body)
    except ServiceError as refused:
        return rejection_of(refused, service.clock())
    except StoreError as failed:
        return NotSent(str(failed)) if failed.applied is False else NoAnswer(str(failed))
    return Success(body, server_time=service.clock())


def rejection_of(refused: ServiceError, server_time: float) -> Rejection:
    """An error of the engine as a client reads it."""
    reasons = tuple(Reason(reason.code, reason.message, reason.item) for reason in refused.reasons)
    return Rejection(refused.code, refused.message, item=refused.item, reasons=reasons, server_time=server_time)
