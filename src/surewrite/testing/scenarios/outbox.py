"""Belongs here: scenarios of an outbox: changes with events, relays that come and go, a broker that refuses now and then, consumers.

Must not be here: other recipes.
"""

from __future__ import annotations

from functools import partial

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.async_client import AsyncTransaction
from surewrite.recipes.consumers import Consumed, Consumer, LastConsumed
from surewrite.recipes.leases import LeaseRecord
from surewrite.recipes.outbox import Outbox, OutboxRow
from surewrite.recipes.relays import Delivery, Relay
from surewrite.testing.clients import AsyncClient
from surewrite.testing.faults import Conflict, FaultPlan, ReadInParts, Step, Where
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import WorldSettings

ORDERS = ("o1", "o2")
BUCKETS = 2
LEASE_SECONDS = 10.0
PASSES_MOST = 20
CHANGES = 6
NUMBERS = 3


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
        await _relay_all(client, delivered)

    world.table(Order, OutboxRow, LeaseRecord)
    world.client("alice", writer)
    world.client("bob", writer)
    world.client("rita", relayer)
    world.client("remo", relayer)
    world.finally_client("dora", last)
    world.check(lambda world: _announced_in_order(world, delivered))


def outbox_under_load(world: World) -> None:
    """Changes follow one another while relays read them, a query row by row: first deliveries are in order all the same."""
    delivered: list[Delivery] = []

    async def writer(client: AsyncClient) -> None:
        for number in range(CHANGES):
            await client.tried(_change(client, ORDERS[0], f"{client.name} {client.restarts} {number}"))

    async def relayer(client: AsyncClient) -> None:
        relay = _relay(client, delivered, refuses=False)
        for _ in range(CHANGES):
            await client.tried(client.db.run(relay.run_once()))
            await client.think(0.2)

    async def last(client: AsyncClient) -> None:
        await _relay_all(client, delivered)

    world.table(Order, OutboxRow, LeaseRecord)
    world.client("alice", writer)
    world.client("rita", relayer)
    world.finally_client("dora", last)
    world.check(lambda world: _announced_in_order(world, delivered))


async def _relay_all(client: AsyncClient, delivered: list[Delivery]) -> None:
    relay = _relay(client, delivered, refuses=False)
    for _ in range(PASSES_MOST):
        await client.db.run(relay.run_once())
        if not (await client.db.run(relay.outbox.backlog())).events:
            return
        await client.pause(LEASE_SECONDS / 4)
    raise AssertionError("events wait, and no relay can publish them")


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


class Seat(Entity, discriminator="SEAT", partition_key="SEAT#{number}", sort_key="SEAT"):
    """What the event of a number takes: there is one for each."""

    number: Attribute[int]
    free: Attribute[int] = sw.attribute(default=1)


def consumed_events(world: World) -> None:
    """Two consumers take the events of one key, repeated and in any order: what is told applied was, once, and no event is told refused."""
    applied: list[int] = []

    async def consuming(client: AsyncClient) -> None:
        consumer = Consumer(client.table(), "seats")
        # The first event comes to both at once.
        for number in (1, *(1 + client.choose(NUMBERS) for _ in range(1 + client.choose(3)))):
            outcome = await client.tried(client.db.run(consumer.apply("k", number, partial(_take_seat, number))))
            if isinstance(outcome, sw.TransactionCanceled):
                raise AssertionError(f"{client.name} is told that event {number} is refused, and nothing but the event takes its seat")
            if outcome is Consumed.APPLIED:
                applied.append(number)
            await client.think()

    def once_and_never_back(world: World) -> str | None:
        seats = {number: world.stored(Seat.key_of(number)) for number in range(1, NUMBERS + 1)}
        taken = [number for number, seat in seats.items() if seat is not None and not seat.free]
        last = world.stored(LastConsumed.key_of("seats", "k"))
        if set(applied) - set(taken):
            return f"{sorted(applied)} were told applied, and the seats taken are {taken}"
        return None if max(taken, default=0) == (0 if last is None else last.number) else f"the seats taken are {taken}, and the last number is {last}"

    world.table(Seat, LastConsumed)
    for number in range(1, NUMBERS + 1):
        key = {"pk": {"S": f"SEAT#{number}"}, "sk": {"S": "SEAT"}}
        world.put_item({**key, "_type": {"S": "SEAT"}, "number": {"N": str(number)}, "free": {"N": "1"}})
    world.client("alice", consuming)
    world.client("bob", consuming)
    world.check(once_and_never_back)


def _take_seat(number: int, tx: AsyncTransaction) -> None:
    tx.update(Seat.key_of(number), Seat.free.add(-1), condition=Seat.free > 0)


APART = WorldSettings(skew_seconds_most=30.0, freeze_seconds_most=60.0)

ROW_BY_ROW = FaultPlan((Step(ReadInParts(), Where(operations=("Query",)), times=None),))

MET_IN_PART = FaultPlan((Step(Conflict(), Where(operations=("TransactWriteItems",)), nth=2, times=2),))
"""The second commit meets the first one's: one of its items is held still, and the other shows what the first has done."""

SCENARIOS = (
    Scenario("outbox", outbox, APART),
    Scenario("outbox under load", outbox_under_load, faults=frozenset({"answer lost", "held open"}), plan=ROW_BY_ROW),
    Scenario("consumed events", consumed_events),
    Scenario("consumed events side by side", consumed_events, faults=frozenset({"held open"}), plan=MET_IN_PART),
)
