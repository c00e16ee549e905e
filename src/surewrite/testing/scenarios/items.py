"""Belongs here: scenarios of one item without a version: blind writes, counts, orders, operation ids, sets, conditions.

Must not be here: versions, transactions, expiry.
"""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.testing.clients import AsyncClient
from surewrite.testing.linear_histories import item_is_linearizable
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.sums import sum_is_told


class Setting(Entity, discriminator="SETTING", partition_key="SETTING#{name}", sort_key="VALUE"):
    """A value that is replaced whole, or in parts."""

    name: Attribute[str]
    value: Attribute[str] = sw.attribute(default="")
    roles: Attribute[set[str]] = sw.attribute(default_factory=set)


class Counter(Entity, discriminator="COUNTER", partition_key="COUNTER#{name}", sort_key="COUNT"):
    """A number, and what was counted."""

    name: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)
    operations: Attribute[set[str]] = sw.attribute(default_factory=set)


class Score(Entity, discriminator="SCORE", partition_key="SCORE#{match}", sort_key="LIVE"):
    """The newest state wins, in whatever order the states come."""

    match: Attribute[str]
    goals: Attribute[int] = sw.attribute(default=0)
    at: Attribute[int] = sw.attribute(default=0)


SETTING, COUNTER, SCORE = Setting.key_of("s"), Counter.key_of("c"), Score.key_of("m")


def registers(world: World) -> None:
    """Two clients put, change, delete and read one setting, blindly and if unchanged."""

    async def writer(client: AsyncClient) -> None:
        settings = client.of(Setting)
        for number in range(2 + client.choose(2)):
            value = f"{client.name}{client.restarts}.{number}"
            match client.choose(7):
                case 0:
                    await client.tried(settings.put(Setting(name="s", value=value)))
                case 1:
                    await client.tried(settings.update(SETTING, Setting.value.set(value)))
                case 2:
                    await client.tried(settings.upsert(SETTING, Setting.value.set(value)))
                case 3:
                    await client.tried(settings.delete(SETTING))
                case 4:
                    await client.tried(settings.create(Setting(name="s", value=value)))
                case 5:
                    found = await client.tried(settings.get_or_none(SETTING, consistent=bool(client.choose(2))))
                    if isinstance(found, Setting):
                        await client.tried(settings.put(found.replace(value=value), if_unchanged=True))
                case _:
                    await client.tried(settings.get_or_none(SETTING, consistent=True))
            await client.think()

    world.table(Setting)
    world.client("alice", writer)
    world.client("bob", writer)
    world.check(item_is_linearizable(SETTING, "value"))


def deletes_on_condition(world: World) -> None:
    """A setting is deleted only while it has a value; another changes that value in between, and makes the setting again."""

    async def deleter(client: AsyncClient) -> None:
        settings = client.of(Setting)
        for _ in range(1 + client.choose(2)):
            await client.tried(settings.try_delete(SETTING, condition=Setting.value == "old"))
            await client.think()

    async def changer(client: AsyncClient) -> None:
        settings = client.of(Setting)
        for _ in range(1 + client.choose(3)):
            await client.tried(settings.put(Setting(name="s", value=client.one_of(("new", "old")))))
            await client.think()

    _with_setting(world)
    world.client("alice", deleter)
    world.client("bob", changer)


def counts(world: World) -> None:
    """Two clients add to a number and append to a list: never twice, and never told wrongly."""

    async def counter(client: AsyncClient) -> None:
        counters = client.of(Counter)
        for _ in range(1 + client.choose(3)):
            if client.choose(4) == 3:
                await client.tried(counters.update(COUNTER, Counter.count.add(1), Counter.entries.append(client.name)))
            else:
                await client.tried(counters.update(COUNTER, Counter.count.add(1)))
            await client.think()

    _with_counter(world)
    world.client("alice", counter)
    world.client("bob", counter)
    world.check(sum_is_told(COUNTER, "count"))


def counts_by_operation(world: World) -> None:
    """Each addition carries an operation id that it adds and looks for, so it is sent again freely and counts once."""

    async def counter(client: AsyncClient) -> None:
        counters = client.of(Counter)
        for number in range(1 + client.choose(2)):
            operation = client.disk.setdefault(f"operation {number}", f"{client.name}.{number}")
            changes = (Counter.count.add(1), Counter.operations.add(operation))
            await client.tried(counters.update(COUNTER, *changes, condition=~Counter.operations.contains(operation)))
            await client.think()

    def each_once(world: World) -> str | None:
        counter = world.stored(COUNTER)
        assert counter is not None
        return None if counter.count == len(counter.operations) else f"{len(counter.operations)} operations counted {counter.count}"

    _with_counter(world)
    world.client("alice", counter)
    world.client("bob", counter)
    world.check(each_once)


def stock(world: World) -> None:
    """Two clients take from a stock on condition that there is enough: it never falls below nothing, and no take counts twice."""

    async def taker(client: AsyncClient) -> None:
        counters = client.of(Counter)
        for _ in range(1 + client.choose(2)):
            await client.tried(counters.update(COUNTER, Counter.count.add(-1), condition=Counter.count >= 1))
            await client.think()

    def nothing_is_lost(world: World) -> str | None:
        told = sum_is_told(COUNTER, "count", each=-1, start=3)
        counter = world.stored(COUNTER)
        return "the stock is below nothing" if counter is not None and counter.count < 0 else told(world)

    _with_counter(world, count=3)
    world.client("alice", taker)
    world.client("bob", taker)
    world.check(nothing_is_lost)


def newest_wins(world: World) -> None:
    """States with their own times come in any order, more than once: the item never moves back."""

    async def feed(client: AsyncClient) -> None:
        scores = client.of(Score)
        for _ in range(2 + client.choose(2)):
            at = 1 + client.choose(6)
            await client.tried(scores.try_upsert(SCORE, Score.goals.set(at * 10), Score.at.set(at), condition=Score.at.not_exists_or_lt(at)))
            await client.think()

    def never_back(world: World) -> str | None:
        place = world.network.place_of("shop", {"pk": {"S": "SCORE#m"}, "sk": {"S": "LIVE"}})
        times = [int(commit.after["at"]["N"]) for commit in world.ledger.by_place.get(place, ()) if commit.after is not None]
        return None if times == sorted(times) else f"the stored times moved back: {times}"

    world.table(Score)
    world.client("alice", feed)
    world.client("bob", feed)
    world.check(never_back)


def roles(world: World) -> None:
    """Roles are granted and revoked as members of a set, with old values asked for."""

    async def administrator(client: AsyncClient) -> None:
        settings = client.of(Setting)
        for _ in range(1 + client.choose(3)):
            change = client.one_of((Setting.roles.add("admin"), Setting.roles.discard("admin"), Setting.value.set(client.name)))
            await client.tried(settings.update(SETTING, change, returning="old") if client.choose(2) else settings.update(SETTING, change))
            await client.think()

    _with_setting(world)
    world.client("alice", administrator)
    world.client("bob", administrator)


def _with_setting(world: World) -> None:
    world.table(Setting)
    item = {"pk": {"S": "SETTING#s"}, "sk": {"S": "VALUE"}, "_type": {"S": "SETTING"}, "name": {"S": "s"}, "value": {"S": "old"}}
    world.put_item({**item, "_s": {"S": "-:setup"}, "_b": {"S": "-:setup"}})


def _with_counter(world: World, count: int = 0) -> None:
    world.table(Counter)
    item = {"pk": {"S": "COUNTER#c"}, "sk": {"S": "COUNT"}, "_type": {"S": "COUNTER"}, "name": {"S": "c"}, "count": {"N": str(count)}}
    world.put_item({**item, "_s": {"S": "-:setup"}, "_b": {"S": "-:setup"}})


SCENARIOS = (
    Scenario("registers", registers),
    Scenario("deletes on condition", deletes_on_condition),
    Scenario("counts", counts),
    Scenario("counts by operation", counts_by_operation),
    Scenario("stock", stock),
    Scenario("newest wins", newest_wins),
    Scenario("roles", roles),
)
