"""Belongs here: scenarios of an outbox: changes with events, relays that come and go, a broker that refuses now and then. Must not be here: other recipes."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.leases import LeaseRecord
from surewrite.recipes.outbox import Outbox, OutboxRow
from surewrite.recipes.relays import Delivery, Relay
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import WorldSettings

ORDERS = ("o1", "o2")
BUCKETS = 2
LEASE_SECONDS = 10.0
PASSES_MOST = 20


class Order(VersionedEntity, discriminator="ORDER", partition_key="ORDER#{id}", sort_key="STATE"):
    """Something that changes; each change is announced."""

    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


def outbox(world: World) -> None:
    """Changes are announced by relays that die, freeze and lose answers: every change once or more, first deliveries in order, nothing else."""
    delivered: list[Delivery] = []

    async def writer(client: AsyncClient) -> None:
        for number in range(1 + client.choose(3)):
            await client.tried(_change(client, client.one_of(ORDERS), f"{client.name} {client.restarts} {number}"))
            await client.think()

    async def relayer(client: AsyncClient) -> None:
        relay = _relay(client, delivered)
        for _ in range(2 + client.choose(3)):
            await client.tried(client.db.run(relay.run_once()))
            await client.think(LEASE_SECONDS)

    async def last(client: AsyncClient) -> None:
        relay = _relay(client, delivered, refuses=False)
        for _ in range(PASSES_MOST):
            await client.db.run(relay.run_once())
            if not (await client.db.run(relay.outbox.backlog())).events:
                return
            await client.pause(LEASE_SECONDS / 4)
        raise AssertionError("events wait, and no relay can publish them")

    world.table(Order, OutboxRow, LeaseRecord)
    world.client("alice", writer)
    world.client("bob", writer)
    world.client("rita", relayer)
    world.client("remo", relayer)
    world.finally_client("dora", last)
    world.check(lambda world: _announced_in_order(world, delivered))


async def _change(client: AsyncClient, id_: str, state: str) -> object:
    order = await client.of(Order).get_or_none(Order.key_of(id_))
    tx = client.table().transaction()
    change = tx.put(Order(id=id_, state=state) if order is None else order.replace(state=state))
    Outbox(client.table(), "orders", buckets=BUCKETS).emit(tx, state, change=change, key=id_)
    return await tx.try_commit()


def _relay(client: AsyncClient, delivered: list[Delivery], *, refuses: bool = True) -> Relay:
    async def publish(delivery: Delivery) -> None:
        if refuses:
            # Now and then longer than it may take, and then it is cancelled.
            await client.think(LEASE_SECONDS / 2)
            if client.choose(4) == 3:
                raise ConnectionError("the broker refuses")
        delivered.append(delivery)

    orders = Outbox(client.table(), "orders", buckets=BUCKETS)
    return Relay(orders, publish, poison="block", attempts=1, lease_seconds=LEASE_SECONDS, publish_timeout_seconds=LEASE_SECONDS / 3)


def _announced_in_order(world: World, delivered: list[Delivery]) -> str | None:
    for id_ in ORDERS:
        place = world.network.place_of("shop", {"pk": {"S": f"ORDER#{id_}"}, "sk": {"S": "STATE"}})
        states = [commit.after["state"]["S"] for commit in world.ledger.by_place.get(place, ()) if commit.after is not None]
        first = list(dict.fromkeys((each.number, each.event) for each in delivered if each.key == id_))
        if first != list(enumerate(states, 1)):
            return f"{id_} went through {states}, and what was delivered first to last is {first}"
    return None


APART = WorldSettings(skew_seconds_most=30.0, freeze_seconds_most=60.0)

SCENARIOS = (Scenario("outbox", outbox, APART),)
