"""Belongs here: what an operation may ask its driver, and the typed generators that yield it. Must not be here: performing any of it.

An operation is a generator: it yields effects, gets each effect's answer back, and returns its result. The send type of
a generator is untyped, so only the functions of this module contain a bare ``yield``; everything else says
``yield from send(...)``. A driver that is interrupted while it performs an effect throws the interrupt in; after that an
operation must not yield again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from surewrite.core.answers import Answer
from surewrite.core.frozen import quickly_made
from surewrite.core.requests import Request
from surewrite.errors import InvalidRequest

R = TypeVar("R")


@quickly_made
@dataclass(frozen=True, slots=True)
class Send:
    """Make one attempt, waiting at most ``timeout_seconds`` for its answer. Answered with an ``Answer``.

    ``database`` is the environment of the tables that the request is for, so that no other database sends it.
    """

    request: Request
    timeout_seconds: float
    database: object

    def require_database(self, database: object) -> None:
        """Raise ``InvalidRequest`` where the request is for tables of another one."""
        if self.database is not database:
            raise InvalidRequest(
                "this operation is for a table of another connection, and would be made on one of its name over this one: run it by the database of its table"
            )


@dataclass(frozen=True, slots=True)
class Pause:
    """Let ``seconds`` pass."""

    seconds: float


@quickly_made
@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of the clocks, in seconds.

    ``wall`` is this machine's time since 1970, ``server`` the same corrected by what the service's answers said of its
    own clock, ``monotonic`` never goes back and stands still for nothing but a frozen process. ``server_known`` is false as
    long as no answer told the service's clock, so that ``server`` is a guess.
    """

    wall: float
    server: float
    monotonic: float
    server_known: bool = True


@dataclass(frozen=True, slots=True)
class ReadClock:
    """Answered with a ``Moment``."""


@dataclass(frozen=True, slots=True)
class DrawRandom:
    """Answered with a number in [0, 1)."""


@dataclass(frozen=True, slots=True)
class NewId:
    """Answered with 12 characters of ``[A-Za-z0-9_-]`` that nobody else has: 72 random bits from the operating system."""


@dataclass(frozen=True, slots=True)
class CallUser:
    """Call code of the user. Answered with its result; one that is awaitable is awaited, or refused by a driver that cannot.

    What is awaited for longer than ``timeout_seconds`` is cancelled, and answered with ``TimeoutError``. Plain code cannot be stopped.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout_seconds: float | None = None


class Lock:
    """Names a lock. Each driver keeps its own means of locking for it; nothing is locked by this object itself."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True)
class Acquire:
    """Wait for the lock. Released by ``Release``, and by the driver when the operation ends in any way."""

    lock: Lock


@dataclass(frozen=True, slots=True)
class Release:
    lock: Lock


@dataclass(frozen=True, slots=True)
class StartSide:
    """Run another operation beside this one. Answered with a handle for ``StopSide``; stopped by the driver when this operation ends."""

    operation: Operation[Any]


@dataclass(frozen=True, slots=True)
class StopSide:
    """Wait until a side operation has ended, with ``interrupt`` after asking it to. Answered with its result; ``None`` if it was stopped before."""

    handle: object
    interrupt: bool = True


Effect = Send | Pause | ReadClock | DrawRandom | NewId | CallUser | Acquire | Release | StartSide | StopSide

Steps = Generator[Effect, Any, R]
"""The type of everything that yields effects."""


class Operation(Generic[R]):
    """Something to be done, not yet begun: run it with ``db.run(operation)``, or ``await db.run(operation)``. It may be run more than once."""

    __slots__ = ("_start",)

    def __init__(self, start: Callable[[], Steps[R]]) -> None:
        self._start = start

    def steps(self) -> Steps[R]:
        """Begin: the generator that a driver runs."""
        return self._start()


def steps_of(given: Operation[R] | Steps[R]) -> Steps[R]:
    """The generator of what a user gives to be run. Raises ``InvalidRequest`` for what is no operation."""
    if isinstance(given, Operation):
        return given.steps()
    if isinstance(given, Generator):  # pyright: ignore[reportUnnecessaryIsInstance]
        return given
    called = ": call it" if callable(given) else ""
    raise InvalidRequest(f"run takes an operation, such as lease.acquire() gives one, not {type(given).__name__}{called}")


def send(database: object, request: Request, timeout_seconds: float) -> Steps[Answer]:
    """Make one attempt and give its answer. ``database`` is the environment of the operation."""
    answer: Answer = yield Send(request, timeout_seconds, database)
    return answer


def pause(seconds: float) -> Steps[None]:
    """Let seconds pass."""
    yield Pause(seconds)


_READ_CLOCK = ReadClock()
_DRAW_RANDOM = DrawRandom()
_NEW_ID = NewId()


def now() -> Steps[Moment]:
    """Read the clocks."""
    moment: Moment = yield _READ_CLOCK
    return moment


def random_number() -> Steps[float]:
    """Draw a number from [0, 1)."""
    number: float = yield _DRAW_RANDOM
    return number


def new_id() -> Steps[str]:
    """Twelve characters that nobody else has."""
    text: str = yield _NEW_ID
    return text


def call_user(function: Callable[..., Any], *arguments: Any) -> Steps[Any]:
    """Call code of the user and give its result."""
    result: Any = yield CallUser(function, arguments)
    return result


def call_user_within(timeout_seconds: float, function: Callable[..., Any], *arguments: Any) -> Steps[Any]:
    """The same, with a time limit that is kept where the result is awaited. Raises ``TimeoutError``."""
    result: Any = yield CallUser(function, arguments, timeout_seconds)
    return result


def acquire(lock: Lock) -> Steps[None]:
    """Wait for the lock."""
    yield Acquire(lock)


def release(lock: Lock) -> Steps[None]:
    """Let the lock go."""
    yield Release(lock)


def start_side(operation: Operation[Any]) -> Steps[object]:
    """Run another operation beside this one; gives its handle."""
    handle: object = yield StartSide(operation)
    return handle


def stop_side(handle: object) -> Steps[Any]:
    """End a side operation; gives its result, or nothing if it had none."""
    result: Any = yield StopSide(handle)
    return result


def join_side(handle: object) -> Steps[Any]:
    """Wait for a side operation to come to its end, and give its result; raises what it raised."""
    result: Any = yield StopSide(handle, interrupt=False)
    return result
