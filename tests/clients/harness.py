"""One face for both clients, so that each test is written once.

Belongs here: the blocking client behind awaited methods, and running a test in either form. Must not be here: places, tables, faults.

A test is an ``async def`` over the asynchronous surface. In the blocking form every object that it touches is wrapped:
what is awaited in the asynchronous client is called at once, so the coroutine of the test never waits, and no event loop runs.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import GeneratorType
from typing import Any, Literal, Protocol

import surewrite as sw

Form = Literal["sync", "async"]

_AWAITED_TYPES: dict[type, type] = {
    sw.Database: sw.AsyncDatabase,
    sw.Table: sw.AsyncTable,
    sw.EntityTable: sw.AsyncEntityTable,
    sw.Transaction: sw.AsyncTransaction,
    sw.Actions: sw.AsyncActions,
    sw.Retry: sw.AsyncRetry,
}


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    coroutine.close()
    raise AssertionError("in the blocking form a test may await nothing but the client")


def face_of(value: Any) -> Any:
    """An object of the blocking client with awaited methods; anything else as it is."""
    if isinstance(value, GeneratorType):
        return _awaited_iterator(value)
    awaited = _AWAITED_TYPES.get(type(value))
    return value if awaited is None else AwaitedFace(value, awaited)


async def _awaited_iterator(values: Any) -> Any:
    for value in values:
        yield value


class AwaitedFace:
    """An object of the blocking client that looks like its asynchronous twin."""

    def __init__(self, blocking: Any, awaited: type) -> None:
        self._blocking = blocking
        self._awaited = awaited

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._blocking, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            return face_of(value(*(_bare(each) for each in arguments), **named))

        async def awaited_call(*arguments: Any, **named: Any) -> Any:
            return call(*arguments, **named)

        return awaited_call if inspect.iscoroutinefunction(getattr(self._awaited, name)) else call

    def __call__(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        """``@db.retry_on_conflict()`` over an ``async def``."""
        rerunning = self._blocking(_bare(function))

        @wraps(rerunning)
        async def awaited_call(*arguments: Any, **named: Any) -> Any:
            return rerunning(*arguments, **named)

        return awaited_call

    async def __aiter__(self) -> Any:
        for each in self._blocking:
            yield each

    async def __aenter__(self) -> Any:
        self._blocking.__enter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return self._blocking.__exit__(*error)


def _bare(value: Any) -> Any:
    """What the blocking client is given: its own object, or a function of the caller that it calls without awaiting it."""
    if isinstance(value, AwaitedFace):
        return value._blocking
    if not inspect.iscoroutinefunction(value):
        return value

    @wraps(value)
    def called(*arguments: Any, **named: Any) -> Any:
        return at_once(value(*arguments, **named))

    return called


class Running(Protocol):
    """Runs what tests and fixtures await."""

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any: ...

    async def together(self, *bodies: Callable[[], Awaitable[Any]]) -> list[Any]: ...


class AsyncRunning:
    """One event loop for a test and its fixtures."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(coroutine)

    async def together(self, *bodies: Callable[[], Awaitable[Any]]) -> list[Any]:
        """Run the bodies side by side; a body that raises gives its error as its result."""
        return list(await asyncio.gather(*(body() for body in bodies), return_exceptions=True))


class SyncRunning:
    """No event loop; side by side means threads."""

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return at_once(coroutine)

    async def together(self, *bodies: Callable[[], Awaitable[Any]]) -> list[Any]:
        """Run the bodies side by side; a body that raises gives its error as its result."""
        results: list[Any] = [None] * len(bodies)

        def work(index: int, body: Any) -> None:
            try:
                results[index] = at_once(body())
            except Exception as error:  # noqa: BLE001 - the result of a body that raises
                results[index] = error

        threads = [threading.Thread(target=work, args=(index, body)) for index, body in enumerate(bodies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


async def one_after_another(*bodies: Callable[[], Awaitable[Any]]) -> list[Any]:
    """What ``together`` does where a service cannot be asked side by side."""
    results: list[Any] = []
    for body in bodies:
        try:
            results.append(await body())
        except Exception as error:  # noqa: BLE001 - the result of a body that raises
            results.append(error)
    return results
