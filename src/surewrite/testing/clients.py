"""Belongs here: a client of a simulated world as the user's code sees it: its database, choices, pauses, disk. Must not be here: stepping the code, faults."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Protocol, TypeVar
from uuid import UUID

from surewrite.async_client import AsyncDatabase, AsyncEntityTable, AsyncTable
from surewrite.client import Database, EntityTable, Table
from surewrite.core.effects import Pause
from surewrite.core.entities import EntityBase, TableLayout
from surewrite.core.environment import Environment
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.simulated import SimulatedAsyncDriver, SimulatedBlockingDriver, Wish
from surewrite.errors import SurewriteError
from surewrite.testing.processes import Counters, Process, WorldOfProcess
from surewrite.testing.strands import SimulatedInterrupt

E = TypeVar("E", bound=EntityBase)
V = TypeVar("V")

RESTART_SECONDS = (0.1, 5.0, 120.0)

Tried = SurewriteError | asyncio.CancelledError | SimulatedInterrupt
"""What a call that was tried may have raised: an error of this library, or a cancellation."""


class WorldOfClient(WorldOfProcess, Protocol):
    """What a client needs of its world."""

    @property
    def clients(self) -> Mapping[str, Any]: ...

    @property
    def usual_table(self) -> str: ...

    def layout(self, name: str) -> TableLayout: ...


class _Client:
    """What both forms of client share. ``disk`` survives crashes, which ``restarts`` counts."""

    blocking = False
    db: Any

    def __init__(self, world: WorldOfClient, name: str, body: Callable[[Any], Any], skew_seconds: float) -> None:
        self.world = world
        self.name = name
        self.disk: dict[str, Any] = {}
        self.restarts = 0
        self._tables: dict[str, Any] = {}
        self._body = body
        self._skew = skew_seconds
        self._counters = Counters(_id_prefix(name, len(world.clients)))
        self.process = self._new_process()

    @property
    def now(self) -> float:
        """The world's time, in seconds since it began."""
        return self.world.now

    def time(self) -> float:
        """What this client's wall clock shows, in seconds since 1970: the world's time, and how far this clock is apart."""
        return self.process.moment().wall

    def wall_time(self) -> datetime:
        """What this client's wall clock shows, in UTC: instead of ``datetime.now(UTC)``, which is outside of the world."""
        return datetime.fromtimestamp(self.time(), UTC)

    def new_id(self) -> str:
        """An id of 12 characters that comes once in a world, and the same in each run of a seed: instead of ``secrets``."""
        return self.process.new_id()

    def new_uuid(self) -> UUID:
        """An id in the form of ``uuid4()`` that comes once in a world, and the same in each run of a seed."""
        return UUID(bytes=blake2b(f"{self.name}/{self.new_id()}".encode(), digest_size=16).digest(), version=4)

    def choose(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``, drawn from the world's seed; 0 is the usual one, which a shrunk run tends to."""
        self._counters.choices += 1
        return self.world.choices.index((self.name, self._counters.choices, "choice"), count)

    def one_of(self, options: Sequence[V]) -> V:
        """One of the options, drawn from the world's seed; the first is the usual one."""
        return options[self.choose(len(options))]

    def fails(self) -> BaseException | None:
        """What ended the client's code, if that is no cancellation of it."""
        failure = self.process.failure
        return None if isinstance(failure, (asyncio.CancelledError, SimulatedInterrupt)) else failure

    @property
    def waits(self) -> bool:
        """Whether the client's code has not come to its end."""
        return not self._strand.done

    def start(self) -> None:
        """Begin the user's code in a new process."""
        self._open()
        self._strand = self.process.start(self._begin)

    def abandon(self) -> None:
        """End the process for good."""
        self.process.end_all()

    def crash(self) -> None:
        """End the process at once, and start it again after a while with what is on its disk."""
        world = self.world
        world.note(self.name, "crashes")
        self.process.end_all()
        self.restarts += 1
        seconds = world.choices.scaled_seconds((self.name, self.restarts, "restart"), RESTART_SECONDS, 1.0)
        world.after(seconds, self._restart)

    def _restart(self) -> None:
        self.world.note(self.name, "starts again")
        self.process = self._new_process()
        self.start()

    def _new_process(self) -> Process:
        return Process(
            self.world, self.name, blocking=self.blocking, skew_seconds=self._skew, number=self.restarts, counters=self._counters, crashed=self.crash
        )

    def _environment(self) -> Environment:
        settings = self.world.settings
        known = settings.tokens_known
        traits = EndpointTraits(
            "the simulated endpoint",
            tokens=not settings.tokens_ignored if known else None,
            transactions=True if known else None,
            old_item=True if settings.refusals_show_items else None,
            cancelled_items=True if settings.refusals_show_items else None,
        )
        return Environment(traits, timeout_seconds=settings.timeout_seconds, deadline_seconds=settings.deadline_seconds)

    def _begin(self) -> Any:
        return self._body(self)

    def _open(self) -> None:
        raise AssertionError("a client is of one form or the other")

    def _table(self, name: str | None) -> Any:
        name = name or self.world.usual_table
        found = self._tables.get(name)
        if found is None:
            layout = self.world.layout(name)
            found = self._tables[name] = self.db.table(name, key=layout.key, discriminator=layout.discriminator, stamp=layout.stamp, birth=layout.birth)
        return found

    def _pause_seconds(self, most: float) -> float:
        self._counters.choices += 1
        return self.world.choices.seconds((self.name, self._counters.choices, "pause"), most, 0.0)


class AsyncClient(_Client):
    """A client whose code is awaited. ``db`` is an unchanged ``AsyncDatabase``."""

    db: AsyncDatabase

    def table(self, name: str | None = None) -> AsyncTable:
        """A table of this client's database, as ``world.table`` describes it; the first one without a name."""
        found: AsyncTable = self._table(name)
        return found

    def of(self, entity: type[E], table: str | None = None) -> AsyncEntityTable[E]:
        """The items of one entity type."""
        return self.table(table).of(entity)

    async def pause(self, seconds: float) -> None:
        """Let virtual time pass."""
        await _OneWish(Wish(None, Pause(seconds)))

    async def think(self, most: float = 0.1) -> None:
        """Pause for a time up to ``most`` seconds, drawn from the seed."""
        await self.pause(self._pause_seconds(most))

    async def tried(self, call: Coroutine[Any, Any, V]) -> V | Tried:
        """The result of a call, or what it raised: an error of this library, or its cancellation. The client's code goes on."""
        try:
            return await call
        except (SurewriteError, asyncio.CancelledError) as error:
            return error

    def _open(self) -> None:
        environment = self.process.database = self._environment()
        self._tables.clear()
        self.db = AsyncDatabase(SimulatedAsyncDriver(self.process, environment.traits), environment)

    def _begin(self) -> Any:
        coroutine = self._body(self)
        if not inspect.iscoroutine(coroutine):
            raise TypeError(f"the code of {self.name} is no async function; give a plain one to world.blocking_client")
        return coroutine


class BlockingClient(_Client):
    """A client whose code is plain. ``db`` is an unchanged ``Database``."""

    blocking = True
    db: Database

    def table(self, name: str | None = None) -> Table:
        """A table of this client's database, as ``world.table`` describes it; the first one without a name."""
        found: Table = self._table(name)
        return found

    def of(self, entity: type[E], table: str | None = None) -> EntityTable[E]:
        """The items of one entity type."""
        return self.table(table).of(entity)

    def pause(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.process.switch(Wish(None, Pause(seconds)))

    def think(self, most: float = 0.1) -> None:
        """Pause for a time up to ``most`` seconds, drawn from the seed."""
        self.pause(self._pause_seconds(most))

    def tried(self, call: Callable[[], V]) -> V | Tried:
        """The result of a call, or what it raised: an error of this library, or its cancellation."""
        try:
            return call()
        except (SurewriteError, SimulatedInterrupt) as error:
            return error

    def _open(self) -> None:
        environment = self.process.database = self._environment()
        self._tables.clear()
        self.db = Database(SimulatedBlockingDriver(self.process, environment.traits), environment)


ID_PREFIX_CHARACTERS = 6


def _id_prefix(name: str, number: int) -> str:
    """The beginning of the name, for readers of a story, and the number of the client, which tells it from all others."""
    digits = f"{number:02}"
    letters = "".join(character for character in name if character.isascii() and character.isalpha())
    return f"{letters[: ID_PREFIX_CHARACTERS - len(digits)]:_<{ID_PREFIX_CHARACTERS - len(digits)}}{digits}"


class _OneWish:
    """Lets a coroutine wait for one wish."""

    __slots__ = ("_wish",)

    def __init__(self, wish: Wish) -> None:
        self._wish = wish

    def __await__(self) -> Generator[Wish, Any, Any]:
        return (yield self._wish)
