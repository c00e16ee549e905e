"""Belongs here: functions that run an operation for each of their calls, for decorators of recipes. Must not be here: what the operation is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from surewrite.core.effects import Operation

R = TypeVar("R")


class Runner(Protocol):
    """A database of either client: ``run`` gives the result, or an awaitable of it."""

    @property
    def run(self) -> Callable[..., Any]: ...


def running(db: Runner, function: Callable[..., Any], start: Callable[..., Operation[Any]]) -> Callable[..., Any]:
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
