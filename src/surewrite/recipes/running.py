"""Belongs here: functions that run an operation for each of their calls, for decorators of recipes. Must not be here: what the operation is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from surewrite.core.effects import Operation

P = ParamSpec("P")
W_co = TypeVar("W_co", covariant=True)


class Runs(Protocol[W_co]):
    """A database of either client: it runs operations, and gives the result or an awaitable of it."""

    def run(self, operation: Operation[Any], /) -> W_co: ...


class Told:
    """Stands for the result of an operation, to tell a database that gives it from one that gives an awaitable."""


class RunsAtOnce(Protocol):
    """A blocking database."""

    def run(self, operation: Operation[Told], /) -> Told: ...


class Decorator(Protocol[W_co]):
    """Keeps the parameters of the function, which may be async where the client is; a call gives what the database's ``run`` does."""

    def __call__(self, function: Callable[P, Any], /) -> Callable[P, W_co]: ...


def running(db: Runs[Any], function: Callable[..., Any], start: Callable[..., Operation[Any]]) -> Callable[..., Any]:
    """A function named as ``function`` is, whose call runs what ``start`` makes of its arguments; to be awaited where the database is."""
    if inspect.iscoroutinefunction(db.run):

        @wraps(function)
        async def awaited(*arguments: Any, **named: Any) -> Any:
            return await db.run(start(*arguments, **named))

        return awaited

    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        return db.run(start(*arguments, **named))

    return called
