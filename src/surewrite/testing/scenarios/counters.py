"""Belongs here: scenarios of the counters, each with what its name says: under, or exact. Must not be here: additions without a recipe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from surewrite.errors import OutcomeUnknown
from surewrite.recipes.buffered_counters import BufferedCounter, BufferedCounterRow
from surewrite.recipes.counters import (
    AtMostOnceCounter,
    Counted,
    CounterRow,
    CounterWindow,
    Counting,
    ExactCounter,
    ExactCounterRow,
    TransactionalCounter,
    WindowedCounter,
)
from surewrite.recipes.sharded_counters import CounterShard, CounterShards, ShardedCounter
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import RESENT_BELOW, WorldSettings, all_faults_but

SHARDS_MOST = 4
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def additions_at_most_once(world: World) -> None:
    """Each addition to a counter or a shard counts once at most, each that was told counts, and no two are told one value."""
    begun = [0, 0]
    values: list[int] = []
    told = [0]

    async def adder(client: AsyncClient) -> None:
        one = AtMostOnceCounter(client.table(), "c")
        many = ShardedCounter(client.table(), "s", shards=3)
        for _ in range(1 + client.choose(3)):
            begun[0] += 1
            value = await client.tried(client.db.run(one.add()))
            if isinstance(value, int):
                values.append(value)
            begun[1] += 1
            told[0] += await client.tried(client.db.run(many.add())) is None
            await client.think()

    def never_over(world: World) -> str | None:
        row = world.stored(CounterRow.key_of("c"))
        count = 0 if row is None else row.count
        if not len(values) <= count <= begun[0] or len(set(values)) < len(values):
            return f"{begun[0]} additions were begun and the values {sorted(values)} told, and the count is {count}"
        shards = [world.stored(CounterShard.key_of(shard, "s")) for shard in range(3)]
        total = sum(shard.count for shard in shards if shard is not None)
        return None if told[0] <= total <= begun[1] else f"{begun[1]} additions were begun and {told[0]} told, and the shards hold {total}"

    world.table(CounterRow, CounterShard, CounterShards)
    world.client("alice", adder)
    world.client("bob", adder)
    world.check(never_over)


def exact_additions_with_values(world: World) -> None:
    """Named additions, made again after crashes while their time lasts: each counts once, and its value is its own."""
    begun: set[str] = set()
    told: dict[str, int] = {}

    async def adder(client: AsyncClient) -> None:
        counter = ExactCounter(client.table(), "c")
        for number in range(1 + client.choose(3)):
            name = f"{client.name} {number}"
            if client.now - client.disk.setdefault(name, client.now) > 300.0:
                continue
            begun.add(name)
            counted = await client.tried(client.db.run(counter.add(operation=name)))
            if isinstance(counted, Counted) and told.setdefault(name, counted.value) != counted.value:
                raise AssertionError(f"{name} was told {told[name]}, and then {counted.value}")
            await client.think(client.one_of((0.1, 700.0)))

    def each_once(world: World) -> str | None:
        row = world.stored(ExactCounterRow.key_of("c"))
        count = 0 if row is None else row.count
        if len(told) <= count <= len(begun) and len(set(told.values())) == len(told) and all(1 <= value <= count for value in told.values()):
            return None
        return f"{len(begun)} operations were begun and {told} told, and the count is {count}"

    world.table(ExactCounterRow)
    world.client("alice", adder)
    world.client("bob", adder)
    world.check(each_once)


def exact_additions_without_values(world: World) -> None:
    """Additions as transactions: each that was told counts once."""
    begun, told = [0], [0]

    async def adder(client: AsyncClient) -> None:
        counter = TransactionalCounter(client.table(), "c")
        for _ in range(1 + client.choose(3)):
            begun[0] += 1
            told[0] += await client.tried(client.db.run(counter.add())) is None
            await client.think()

    def exactly(world: World) -> str | None:
        row = world.stored(CounterRow.key_of("c"))
        count = 0 if row is None else row.count
        return None if told[0] <= count <= begun[0] else f"{begun[0]} additions were begun and {told[0]} told, and the count is {count}"

    world.table(CounterRow)
    world.client("alice", adder)
    world.client("bob", adder)
    world.check(exactly)


def sums(world: World) -> None:
    """While shards are added to and taken from, and their number changes, an exact sum is one that was; a cheap one is, where nothing is taken."""
    takes = world.choices.index(("sums", 0, "takes"), 2) == 1

    async def adder(client: AsyncClient) -> None:
        counter = ShardedCounter(client.table(), "s", shards=1 + client.choose(SHARDS_MOST), exact=bool(client.choose(2)))
        for _ in range(2 + client.choose(3)):
            await client.tried(client.db.run(counter.add(3)))
            if takes:
                await client.tried(client.db.run(counter.add(-3)))
            if client.choose(4) == 3:
                await client.tried(client.db.run(counter.reshard(1 + client.choose(SHARDS_MOST))))

    async def reader(client: AsyncClient) -> None:
        counter = ShardedCounter(client.table(), "s", shards=1)
        for _ in range(3):
            began = world.tick()
            exact = takes or client.choose(2)
            total = await client.tried(client.db.run(counter.exact_sum() if exact else counter.sum()))
            counts = _counts_since(world, began)
            true = not isinstance(total, int) or (total in counts if exact else min(counts) <= total <= max(counts))
            if not true:
                raise AssertionError(f"the sum was told {total}, and the count meanwhile was {counts}")
            await client.think()

    world.table(CounterShard, CounterShards)
    world.client("alice", adder)
    world.client("bob", adder)
    world.client("carol", reader)


def _counts_since(world: World, began: int) -> list[int]:
    """Every count that the shards together had since a tick of the world, in order."""
    places = [world.network.place_of("shop", {"pk": {"S": f"SHARDED_COUNTER#{shard:02d}#s"}, "sk": {"S": "SHARD"}}) for shard in range(SHARDS_MOST)]
    commits = sorted((commit for place in places for commit in world.ledger.by_place.get(place, ())), key=lambda commit: commit.position)
    counts = [0]
    for commit in commits:
        before, after = (0 if item is None else int(item["count"]["N"]) for item in (commit.before, commit.after))
        counts = [*(counts if commit.tick > began else ()), counts[-1] + after - before]
    return counts


def windows(world: World) -> None:
    """Events of two days are delivered again and again: each counts once, in the window of its own time."""

    async def consumer(client: AsyncClient) -> None:
        counter = WindowedCounter(client.table(), "w")
        for _ in range(2 + client.choose(4)):
            number = client.choose(4)
            event, at = f"e{number}", NOON + timedelta(days=number % 2)
            outcome = await client.tried(client.db.run(counter.add(event_id=event, at=at)))
            if isinstance(outcome, Counting):
                delivered.add((event, number % 2))
            await client.think(client.one_of((0.1, 90_000.0)))

    def each_once(world: World) -> str | None:
        for day in range(2):
            window = world.stored(CounterWindow.key_of("w", 86_400, (NOON + timedelta(days=day)).replace(hour=0)))
            count, seen = (0, frozenset[str]()) if window is None else (window.count, window.seen)
            missing = {event for event, of_day in delivered if of_day == day} - seen
            if count != len(seen) or missing:
                return f"day {day} counted {count} of {sorted(seen)}, and {sorted(missing)} were told counted"
        return None

    delivered: set[tuple[str, int]] = set()
    world.table(CounterWindow)
    world.client("alice", consumer)
    world.client("bob", consumer)
    world.check(each_once)


def buffers(world: World) -> None:
    """Two clients count in memory and flush: what is stored is what was counted, less what a crash took and what was told unknown."""
    counted: dict[str, int] = {}
    given_up: list[int] = []
    lives: dict[tuple[str, int], BufferedCounter] = {}

    async def counting(client: AsyncClient) -> None:
        counter = lives[client.name, client.restarts] = BufferedCounter(client.table(), "b")
        for _ in range(2 + client.choose(3)):
            for _ in range(1 + client.choose(3)):
                counted[client.name] = counted.get(client.name, 0) + 1
                counter.add()
            await flush(client, counter)
            if client.choose(2):
                await client.tried(client.db.run(counter.forget_writers(idle_seconds=3_600.0)))
            await client.think(client.one_of((0.1, 4_000.0)))
        await flush(client, counter)

    async def flush(client: AsyncClient, counter: BufferedCounter) -> None:
        before = counter.unflushed
        outcome = await client.tried(client.db.run(counter.stop()))
        row = world.stored(BufferedCounterRow.key_of("b"))
        if isinstance(outcome, OutcomeUnknown) and row is not None and row.forgotten:
            given_up.append(before - counter.unflushed)

    def exact_but_for_crashes(world: World) -> str | None:
        row = world.stored(BufferedCounterRow.key_of("b"))
        count = 0 if row is None else row.count
        unknown = sum(life.unflushed for life in lives.values()) + sum(given_up)
        total = sum(counted.values())
        return None if total - unknown <= count <= total else f"{total} were counted, {unknown} of them not known to be stored, and the row says {count}"

    world.table(BufferedCounterRow)
    world.client("alice", counting)
    world.client("bob", counting)
    world.check(exact_but_for_crashes)


SCENARIOS = (
    Scenario("additions at most once", additions_at_most_once, faults=all_faults_but(RESENT_BELOW)),
    Scenario("exact additions with values", exact_additions_with_values),
    Scenario("exact additions without values", exact_additions_without_values),
    Scenario("sums", sums),
    Scenario("windows", windows),
    Scenario("buffers", buffers, WorldSettings(freeze_seconds_most=8_000.0)),
)
