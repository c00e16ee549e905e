"""Belongs here: the simulated world: virtual time, the order of events, its clients, its two phases.

Must not be here: what becomes of a request, judging the history, real time.

A world runs clients, written with the normal clients of this library, against the memory engine, one event at a time.
Time, chance, ids and order come from its choices only; nothing real is read. First a safety phase with faults, then a
progress phase without, in which everything that was begun must come to an end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from surewrite.core.entities import EntityBase, TableLayout, schema_of
from surewrite.core.keys import Key
from surewrite.core.values import Item
from surewrite.engine.context import ServiceSettings
from surewrite.engine.service import Service
from surewrite.errors import InvalidRequest, SurewriteError
from surewrite.testing.choices import Choices
from surewrite.testing.clients import AsyncClient, BlockingClient
from surewrite.testing.definitions import define_table
from surewrite.testing.faults import NO_FAULTS, FaultPlan
from surewrite.testing.feeds import MessageQueue, StreamFeed
from surewrite.testing.ledger import Ledger, Note
from surewrite.testing.network import Network
from surewrite.testing.violations import Violation
from surewrite.testing.watched_store import WatchedStore
from surewrite.testing.world_settings import INTERRUPTS, NOTHING_BY_CHANCE, SwarmRates, WorldSettings

E = TypeVar("E", bound=EntityBase)

EVENTS_MAX = 200_000
"""A world with more events than this does not come to its end by itself."""

START_SECONDS_MOST = 0.05
SWEEPS_MAX = 40
PAGES_MAX = 1_000
USUAL_TABLE: Final = "shop"
USUAL_LAYOUT: Final = TableLayout(("pk", "sk"), "_type", "_s", "_b")
SWEEP_SECONDS = {"early": 1.0, "late": 600.0}

AnyClient = AsyncClient | BlockingClient
Check = Callable[["World"], str | None]


class World:
    """One simulated world. A scenario puts tables, clients and invariants into it; ``run_to_end`` does the rest."""

    def __init__(self, choices: Choices, settings: WorldSettings | None = None, rates: SwarmRates = NOTHING_BY_CHANCE, plan: FaultPlan = NO_FAULTS) -> None:
        self.choices = choices
        self.settings = settings if settings is not None else WorldSettings()
        self.now = 0.0
        self.faulty = True
        self.ledger = Ledger()
        self.store = WatchedStore()
        self.service = Service(
            self.store,
            clock=self.server_time,
            settings=ServiceSettings(
                token_life_seconds=self.settings.token_life_seconds,
                cancelled_originals_remembered=self.settings.cancelled_originals_remembered,
                tokens_ignored=self.settings.tokens_ignored,
                signed_request_life_seconds=self.settings.signature_life_seconds,
            ),
        )
        self.actions: dict[str, Callable[[], None]] = {}
        self.network = Network(self, self.service, self.store, self.ledger, choices, self.settings, rates, plan, self.actions)
        self.interrupts = rates.of(INTERRUPTS)
        self.clients: dict[str, AnyClient] = {}
        self.layouts: dict[str, TableLayout] = {}
        self.checks: list[Check] = []
        self.judged: bool = True
        self._finishing: list[AnyClient] = []
        self._ticks = 0
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sweeps = 0
        self._expires = False

    # ------------------------------------------------------------------------------------------------- for a scenario

    def table(
        self,
        *entities: type[EntityBase],
        name: str = USUAL_TABLE,
        key: tuple[str] | tuple[str, str] = ("pk", "sk"),
        discriminator: str | None = "_type",
        stamp: str | None = "_s",
        birth: str | None = "_b",
        stream: bool = False,
    ) -> None:
        """Make a table for these entities, at once and without faults. The keywords are those of ``db.table``.

        ``client.table(name)`` and ``client.of(entity, name)`` know the table as it is described here; the first one that is
        made is meant where no name is given. ``stream`` lets ``world.stream`` read its changes.
        """
        layout = TableLayout(key, discriminator, stamp, birth)
        self.layouts[name] = layout
        self._expires = self._expires or any(schema_of(entity).bind(layout).time_to_live is not None for entity in entities)
        define_table(self.service, name, entities, layout, stream=stream)

    def client(self, name: str, code: Callable[[AsyncClient], Coroutine[Any, Any, None]]) -> AsyncClient:
        """A client whose code is an async function; it begins soon after the world does."""
        client = AsyncClient(self, name, code, self._skew(name))
        self._add(client)
        return client

    def blocking_client(self, name: str, code: Callable[[BlockingClient], None]) -> BlockingClient:
        """A client whose code is a plain function. Needs greenlet, of the extra ``testing``; raises ``InvalidRequest`` without it."""
        require_greenlet(f"the client {name!r} is a blocking one")
        client = BlockingClient(self, name, code, self._skew(name))
        self._add(client)
        return client

    def finally_client(self, name: str, code: Callable[[AsyncClient], Coroutine[Any, Any, None]]) -> AsyncClient:
        """A client of the progress phase: it begins when the faults are over, and must come to its end."""
        client = AsyncClient(self, name, code, 0.0)
        self.clients[name] = client
        self._finishing.append(client)
        return client

    def check(self, check: Check) -> None:
        """An invariant of the scenario, asked when all has ended: a text says what is wrong, ``None`` that nothing is."""
        self.checks.append(check)

    def action(self, name: str, act: Callable[[], None]) -> None:
        """What others do where a fault plan names it, just before or after a request is executed."""
        self.actions[name] = act

    def put_item(self, item: Item, *, table: str | None = None) -> None:
        """Store an item as it is, at once and without faults: what was there before the first client."""
        self.service.execute("PutItem", {"TableName": table or self.usual_table, "Item": item})
        self.ledger.add_commits(self.store.take(), self.now, self.tick(), "setup", None)

    def item(self, key: Key[Any], *, table: str | None = None) -> Item | None:
        """What is stored under a key, as the service keeps it."""
        name = table or self.usual_table
        body = {"TableName": name, "Key": schema_of(key.entity).bind(self.layout(name)).key_item(key), "ConsistentRead": True}
        found: Item | None = self.service.execute("GetItem", body).get("Item")
        return found

    def stored(self, key: Key[E], *, table: str | None = None) -> E | None:
        """What is stored under a key, as an entity."""
        name = table or self.usual_table
        item = self.item(key, table=name)
        entity: E | None = None if item is None else schema_of(key.entity).bind(self.layout(name)).from_item(item)
        return entity

    def items(self, *, table: str | None = None) -> list[Item]:
        """All that is stored in a table, as the service keeps it, in the order of a scan."""
        found: list[Item] = []
        body: dict[str, Any] = {"TableName": table or self.usual_table, "ConsistentRead": True}
        for _ in range(PAGES_MAX):
            page = self.service.execute("Scan", body)
            found.extend(page["Items"])
            if "LastEvaluatedKey" not in page:
                return found
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        raise InvalidRequest(f"the table has more than {PAGES_MAX} pages of a scan, which is no small world")

    def queue(self, name: str = "queue") -> MessageQueue:
        """A queue that delivers each message at least once, in any order."""
        return MessageQueue(self, name)

    def stream(self, name: str | None = None) -> StreamFeed:
        """The changes of a table that was made with ``stream=True``, each at least once, in order for each item but for repeats."""
        return StreamFeed(self, self.service, name or self.usual_table)

    def wall_time(self) -> datetime:
        """What the service's clock shows, in UTC. Clients have clocks of their own, which may be apart: ``client.wall_time``."""
        return datetime.fromtimestamp(self.server_time(), UTC)

    # --------------------------------------------------------------------------------------- for clients and the network

    @property
    def usual_table(self) -> str:
        """The table that is meant where none is named: the first one that was made."""
        return next(iter(self.layouts), USUAL_TABLE)

    def layout(self, name: str) -> TableLayout:
        """How a table keeps its items: as ``table`` was told, or as is usual."""
        return self.layouts.get(name, USUAL_LAYOUT)

    def tick(self) -> int:
        """A number that orders what happens at one time."""
        self._ticks += 1
        return self._ticks

    def after(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None:
        """Let something happen later."""
        self._ticks += 1
        heapq.heappush(self._events, (self.now + seconds, self._ticks, act, arguments))

    def server_time(self) -> float:
        """The service's clock, in seconds since 1970."""
        return self.settings.begins_at_seconds + self.now

    def note(self, who: str, text: str) -> None:
        """Keep what befell the world or a client."""
        self.ledger.notes.append(Note(self.now, self.tick(), who, text))

    # --------------------------------------------------------------------------------------------------------- running

    def run_to_end(self) -> None:
        """Both phases. Raises ``Violation`` where a client does not come to its end, or its code fails."""
        for client in list(self.clients.values()):
            if client not in self._finishing:
                self.after(self.choices.seconds((client.name, 0, "start"), START_SECONDS_MOST, 0.0), client.start)
        if self._expires and self.settings.sweep != "never":
            self.after(SWEEP_SECONDS[self.settings.sweep], self._sweep)
        self._drain()
        self._require_ends(client for client in self.clients.values() if client not in self._finishing)
        self.faulty = False
        self.note("world", "the faults are over")
        for client in self._finishing:
            client.start()
        self._drain()
        self._require_ends(self._finishing)

    def close(self) -> None:
        """End whatever still runs."""
        for client in self.clients.values():
            client.abandon()

    def _drain(self) -> None:
        events = self._events
        for _ in range(EVENTS_MAX):
            if not events:
                return
            self.now, _, act, arguments = heapq.heappop(events)
            act(*arguments)
        raise Violation("no end", f"the world had {EVENTS_MAX} events and goes on: something in it runs in circles")

    def _require_ends(self, clients: Iterable[AnyClient]) -> None:
        for client in clients:
            failure = client.fails()
            if failure is not None:
                told = f"the code of {client.name} raised {type(failure).__name__}: {failure}"
                if isinstance(failure, SurewriteError):
                    told += "\nUnder faults a call may raise any error of the library: catch it in that code, or go on past it with client.tried(...)."
                raise Violation("client failed", told, client=client.name) from failure
            if client.waits:
                raise Violation("no end", f"{client.name} waits for something that never comes", client=client.name)

    def _sweep(self) -> None:
        swept = self.service.sweep_expired()
        changes = self.store.take()
        if swept:
            self.note("service", f"deletes {swept} expired item(s)")
        self.ledger.add_commits(changes, self.now, self.tick(), "sweep", None)
        self._sweeps += 1
        if self._sweeps < SWEEPS_MAX and any(client.waits for client in self.clients.values() if client not in self._finishing):
            self.after(SWEEP_SECONDS[self.settings.sweep], self._sweep)

    def _skew(self, name: str) -> float:
        most = self.settings.skew_seconds_most
        return self.choices.seconds((name, 0, "skew"), 2 * most, most) - most if most else 0.0

    def _add(self, client: AnyClient) -> None:
        if client.name in self.clients:
            raise ValueError(f"there is a client {client.name!r} already")
        self.clients[client.name] = client


def require_greenlet(what: str) -> None:
    """Raises ``InvalidRequest`` where blocking code cannot be stepped, for want of the extra."""
    if find_spec("greenlet") is None:
        raise InvalidRequest(f"{what}, and blocking code is stepped with greenlet, which is not installed: pip install 'surewrite[testing]'")
