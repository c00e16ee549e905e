"""One table in memory, a client whose requests meet a fault plan, and another client that writes in between.

Belongs here: the world that every schedule plays in, for both clients alike. Must not be here: schedules, and what their outcome must be.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.backends.embedded import AsyncEmbeddedBackend, EmbeddedBackend
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.requests import Request
from surewrite.engine.service import Service, ServiceSettings
from surewrite.engine.stores.memory import MemoryStore
from surewrite.testing.fault_backend import AsyncFaultBackend, FaultBackend
from surewrite.testing.faults import NO_FAULTS, FaultPlan, FaultRates, Step

TABLE = "shop"
BOTH_CLIENTS = ("blocking", "asyncio")
START_SECONDS = 1_900_000_000.0


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    owner: Attribute[str] = sw.attribute(default="nobody")
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    revision: Attribute[int | None] = sw.version()


class Note(Entity, discriminator="NOTE", partition_key="NOTE#{id}", sort_key="NOTE"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    order: Attribute[int] = sw.attribute(default=0)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    lines: Attribute[list[str]] = sw.attribute(default_factory=list)


class Ticket(Entity, discriminator="TICKET", partition_key="TICKET#{id}", sort_key="TICKET"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    order: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)


class Time:
    """Seconds that pass only when somebody waits."""

    def __init__(self) -> None:
        self.monotonic = 100.0
        self.wall = START_SECONDS
        self.service_ahead = 0.0
        """How far the service's clock is ahead of the true time."""
        self.on_wait: Callable[[], object] = lambda: None
        """What happens to a client while it waits: an interrupt, a freeze of its process."""

    def advance(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += seconds
        self.on_wait()

    async def wait(self, seconds: float) -> None:
        self.advance(seconds)

    def clock(self, *, ahead_seconds: float = 0.0) -> sw.Clock:
        """The clock of a client; ``ahead_seconds`` is how far its wall clock is wrong."""
        return sw.Clock(lambda: self.wall + ahead_seconds, lambda: self.monotonic, self.advance, self.wait)


def chance(prefix: str) -> sw.Chance:
    """Ids that tell who made them, and retries that always wait half of what they may."""
    numbers = itertools.count(1)
    return sw.Chance(lambda: 0.5, lambda: f"{prefix}{next(numbers):0{12 - len(prefix)}d}")


@dataclass(frozen=True, slots=True)
class Effect:
    """An executed write of the client under test that changed what is stored: the lives of the items that it changed."""

    operation: str
    births: frozenset[str]


class Watched:
    """A blocking backend that notes which requests changed the table."""

    def __init__(self, inner: EmbeddedBackend) -> None:
        self._inner = inner
        self.traits = inner.traits
        self.effects: list[Effect] = []
        self.sent: list[Request] = []
        self.tells_time = True

    def send(self, request: Request, timeout: float) -> Answer:
        self.sent.append(request)
        before = stored_items(self._inner.service)
        answer = self._inner.send(request, timeout)
        after = stored_items(self._inner.service)
        if after != before:
            changed = [item for item in before if item not in after] + [item for item in after if item not in before]
            self.effects.append(Effect(request.operation, frozenset(item["_b"]["S"] if "_b" in item else "none" for item in changed)))
        return answer if self.tells_time or not isinstance(answer, (Success, Rejection)) else replace(answer, server_time=None)

    def close(self) -> None:
        self._inner.close()


class WatchedAsync:
    """The same, awaited; it does not wait, so a cancelled caller is cancelled before or after."""

    def __init__(self, inner: AsyncEmbeddedBackend, watched: Watched) -> None:
        self._watched = watched
        self.traits = inner.traits

    async def send(self, request: Request, timeout: float) -> Answer:
        return self._watched.send(request, timeout)

    async def close(self) -> None:
        self._watched.close()


def stored_items(service: Service) -> list[dict[str, Any]]:
    """Everything in the table, in a fixed order."""
    try:
        items = service.execute("Scan", {"TableName": TABLE})["Items"]
    except Exception:  # noqa: BLE001 - before the table is made and after it is dropped nothing is stored
        return []
    return sorted(items, key=repr)


class Calls:
    """An object of either client whose methods run to their end when they are called."""

    def __init__(self, target: Any, run: Callable[[Any], Any]) -> None:
        self._target = target
        self._run = run

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            result = found(*arguments, **named)
            if inspect.isawaitable(result):
                return self._run(result)
            # Markers name actions, and are the same for both clients.
            return Calls(result, self._run) if type(result).__module__ in ("surewrite.client", "surewrite.async_client") else result

        return call


class World:
    """``client`` is the one under test, ``other`` writes past all faults, ``time`` stands still unless somebody waits."""

    def __init__(
        self,
        kind: str,
        *,
        settings: ServiceSettings | None = None,
        ahead_seconds: float = 0.0,
        old_item: bool | None = True,
        layout: dict[str, Any] | None = None,
        deadline: float = 10.0,
    ) -> None:
        self.time = Time()
        self.kind = kind
        self.observed: list[sw.Observation] = []
        self.service = Service(MemoryStore(), clock=lambda: self.time.wall + self.time.service_ahead, settings=settings or ServiceSettings())
        self.watched = Watched(EmbeddedBackend(self.service))
        self._runner = asyncio.Runner() if kind == "asyncio" else None
        self._make_client(ahead_seconds, old_item, deadline)
        self.other_db = sw.connect(EmbeddedBackend(self.service), clock=self.time.clock(), chance=chance("other"))
        table = self.other_db.table(TABLE, **(layout or {}))
        table.create_table(Account, Note, Ticket)
        self.other = table
        self.table = Calls(self.db.table(TABLE, **(layout or {})), self.run)

    def _make_client(self, ahead_seconds: float, old_item: bool | None, deadline: float) -> None:
        traits = replace(self.watched.traits, old_item=old_item, cancelled_items=old_item)
        clock = self.time.clock(ahead_seconds=ahead_seconds)
        if self._runner is None:
            self.faults: Any = FaultBackend(self.watched, monotonic=clock.monotonic, traits=traits)
            self.db: Any = sw.connect(self.faults, clock=clock, chance=chance("client"), deadline=deadline, observer=self.observed.append)
        else:
            inner = WatchedAsync(AsyncEmbeddedBackend(self.service), self.watched)
            self.faults = AsyncFaultBackend(inner, monotonic=clock.monotonic, traits=traits)
            self.db = sw.connect_async(self.faults, clock=clock, chance=chance("client"), deadline=deadline, observer=self.observed.append)

    def run(self, awaitable: Any) -> Any:
        """Wait for what the asyncio client returned."""
        assert self._runner is not None

        async def waiting() -> Any:
            return await awaitable

        return self._runner.run(waiting())

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def of(self, entity: type) -> Any:
        """The items of a type, seen by the client under test."""
        return self.table.of(entity)

    def follow(self, *steps: Step, **actions: Callable[[], object]) -> None:
        """The faults from the next request on, and what the names in them do. What was seen so far is forgotten."""
        self.faults.follow(FaultPlan(steps), actions=actions)
        self.watched.effects.clear()
        self.watched.sent.clear()

    def no_more_faults(self) -> None:
        self.faults.follow(NO_FAULTS)

    def release(self) -> None:
        """Execute what is under way now."""
        result = self.faults.release()
        if inspect.isawaitable(result):
            self.run(result)

    def interrupt(self) -> None:
        """What a user does who stops waiting: Control-C, or the cancellation of the task."""
        raise asyncio.CancelledError if self.kind == "asyncio" else KeyboardInterrupt

    @property
    def effects(self) -> int:
        """How many requests of the client changed the table since the plan began."""
        return len(self.watched.effects)

    @property
    def most_effects_on_one_life(self) -> int:
        """The same, counted for the life of an item that was changed most often."""
        births = [birth for effect in self.watched.effects for birth in effect.births]
        return max((births.count(birth) for birth in births), default=0)

    def item(self, key: sw.Key[Any]) -> dict[str, Any] | None:
        """The stored item as the service has it."""
        assert key.sort is not None
        name = {"pk": dict([key.partition]), "sk": dict([key.sort])}
        return self.service.execute("GetItem", {"TableName": TABLE, "Key": name, "ConsistentRead": True}).get("Item")


__all__ = ["BOTH_CLIENTS", "START_SECONDS", "TABLE", "Account", "Calls", "FaultRates", "Note", "Ticket", "Time", "World", "chance", "stored_items"]
