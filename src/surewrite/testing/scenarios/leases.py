"""Belongs here: scenarios of leases: who believes to own one, and what is written under it. Must not be here: other recipes."""

from __future__ import annotations

from surewrite import Attribute, Entity
from surewrite.core.effects import Moment, Operation, now
from surewrite.recipes.leases import Hold, Lease, LeaseRecord, LeaseState
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import WorldSettings

DURATION_SECONDS = 4.0
RECORD = LeaseRecord.key_of("relay")


class Journal(Entity, discriminator="JOURNAL", partition_key="JOURNAL#{name}", sort_key="LATEST"):
    """What owners of the lease write, with their fencing number."""

    name: Attribute[str]
    fence: Attribute[int]


JOURNAL = Journal.key_of("j")


def leases(world: World) -> None:
    """Two clients own a lease in turn: whoever believes to own it does, and nothing is written under a lost one."""

    async def worker(client: AsyncClient) -> None:
        lease = Lease(client.table(), "relay", duration_seconds=DURATION_SECONDS)
        for _ in range(1 + client.choose(2)):
            hold = await client.tried(client.db.run(lease.acquire(wait_seconds=30.0)))
            if isinstance(hold, Hold):
                await _work(world, client, lease, hold)
            await client.think(2.0)

    async def last(client: AsyncClient) -> None:
        lease = Lease(client.table(), "relay", duration_seconds=DURATION_SECONDS)
        if not await client.db.run(lease.acquire(wait_seconds=3 * DURATION_SECONDS)):
            raise AssertionError("the lease is free and nobody can have it")

    world.table(LeaseRecord, Journal)
    world.client("alice", worker)
    world.client("bob", worker)
    world.finally_client("carol", last)
    world.check(_fences_rise)


async def _work(world: World, client: AsyncClient, lease: Lease, hold: Hold) -> None:
    for _ in range(1 + client.choose(3)):
        _judge_belief(world, client, hold, await client.db.run(Operation(now)))
        await client.think(0.8 * DURATION_SECONDS)
        _judge_belief(world, client, hold, await client.db.run(Operation(now)))
        transaction = client.table().transaction()
        transaction.check(hold.key, hold.condition)
        transaction.upsert(JOURNAL, Journal.fence.set(hold.fence))
        await client.tried(transaction.try_commit())
        renewed = await client.tried(client.db.run(lease.renew(hold)))
        if isinstance(renewed, LeaseState):
            return
        hold = renewed if isinstance(renewed, Hold) else hold
    if client.choose(2):
        await client.tried(client.db.run(lease.release(hold)))


def _judge_belief(world: World, client: AsyncClient, hold: Hold, moment: Moment) -> None:
    """At this moment the client reads its clock, and the world looks at what is stored: no time passes between."""
    stored = world.stored(RECORD)
    if hold.remaining_seconds(moment) > 0.0 and (stored is None or stored.fence != hold.fence):
        raise AssertionError(f"{client.name} believes to own the lease by number {hold.fence}, and the record is {stored!r}")


def _fences_rise(world: World) -> str | None:
    owners: dict[int, set[str]] = {}
    for commit in world.ledger.by_place.get(world.network.place_of("shop", {"pk": {"S": "LEASE#relay"}, "sk": {"S": "LEASE"}}), ()):
        if commit.after is not None and "owner" in commit.after:
            owners.setdefault(int(commit.after["fence"]["N"]), set()).add(commit.after["owner"]["S"])
    shared = {fence: names for fence, names in owners.items() if len(names) > 1}
    if shared:
        return f"several owners had one number: {shared}"
    journal = world.network.place_of("shop", {"pk": {"S": "JOURNAL#j"}, "sk": {"S": "LATEST"}})
    written = [int(commit.after["fence"]["N"]) for commit in world.ledger.by_place.get(journal, ()) if commit.after is not None]
    return None if written == sorted(written) else f"an owner wrote after a later one: {written}"


APART = WorldSettings(skew_seconds_most=30.0, freeze_seconds_most=40.0)

SCENARIOS = (
    Scenario("leases", leases, APART),
    Scenario("leases in frozen processes", leases, APART, faults=frozenset({"answer lost", "error after", "frozen"})),
)
