"""Belongs here: the scenario of events that come late, repeated and out of order, deletions among them. Must not be here: other ways to use a queue."""

from __future__ import annotations

from datetime import datetime

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.ordered import Judged, Ordered
from surewrite.recipes.ordered_events import OrderedEvent, OrderedGroup, Tombstones
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World


class Match(Entity, discriminator="MATCH", partition_key="MATCH#{id}", sort_key="LIVE"):
    """Two groups of fields, each with an order of its own, and what makes it a tombstone."""

    id: Attribute[str]
    goals: Attribute[int] = sw.attribute(default=0)
    goals_at: Attribute[int | None] = sw.attribute(default=None)
    status: Attribute[int] = sw.attribute(default=0)
    status_at: Attribute[int | None] = sw.attribute(default=None)
    deleted: Attribute[bool] = sw.attribute(default=False)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)


KEY = Match.key_of("m")
PLACE = {"pk": {"S": "MATCH#m"}, "sk": {"S": "LIVE"}}
GOALS = OrderedGroup(Match.goals_at, Match.goals)
STATUS = OrderedGroup(Match.status_at, Match.status)
LATENESS_SECONDS = 1_000_000.0
"""Longer than any world: no tombstone ends in it."""

ORDERS = {"goals": "goals_at", "status": "status_at"}
Event = tuple[str, int, int]
"""What it is about, its order, its value. Deletions have odd orders and the others even ones, so that none meet."""


def larger(stored: Match, proposed: Match) -> Match:
    """The rule for ties: the larger goals, then the larger status."""
    return max(stored, proposed, key=lambda match: (match.goals, match.status))


def ordered_events(world: World) -> None:
    """Events of two groups and deletions, in any order and again: no group moves back, and the end is the newest of all."""
    queue = world.queue("events")
    sent: list[Event] = []
    for number in range(1, 2 + world.choices.index(("events", 0, "count"), 4)):
        sent.append(("goals", 2 * number, number))
        if world.choices.index(("events", number, "status"), 2) == 1:
            sent.append(("status", 2 * number, 10 + number))
        if world.choices.index(("events", number, "tie"), 3) == 1:
            sent.append(("goals", 2 * number, 100 + number))
        if world.choices.index(("events", number, "deletion"), 3) == 1:
            sent.append(("delete", 2 * number + 1, 0))
    for event in sent:
        queue.send(event)

    async def consumer(client: AsyncClient) -> None:
        for _ in range(2 + client.choose(5)):
            delivery = queue.receive()
            if delivery is None:
                return
            if isinstance(await client.tried(_apply(client, delivery.body)), Judged):
                queue.acknowledge(delivery)
            await client.think()

    async def last_consumer(client: AsyncClient) -> None:
        while (delivery := queue.receive()) is not None:
            await _apply(client, delivery.body)
            queue.acknowledge(delivery)

    world.table(Match)
    world.client("alice", consumer)
    world.client("bob", consumer)
    world.finally_client("carol", last_consumer)
    world.check(no_group_moves_back)
    world.check(lambda world: _is_newest(world, sent))


async def _apply(client: AsyncClient, event: Event) -> Judged[Match]:
    about, order, value = event
    matches = Ordered(client.table(), Match, GOALS, STATUS, tie=larger, tombstones=Tombstones(Match.deleted, Match.ends_at, LATENESS_SECONDS))
    if about == "delete":
        return await client.db.run(matches.delete(KEY, order))
    said: OrderedEvent[Match] = GOALS.event(order, Match.goals.set(value)) if about == "goals" else STATUS.event(order, Match.status.set(value))
    return await client.db.run(matches.apply(KEY, said))


def no_group_moves_back(world: World) -> str | None:
    """The order of each group only rises while the item is stored, and the item stays."""
    for commit in world.ledger.by_place.get(world.network.place_of("shop", PLACE), ()):
        for name in ORDERS.values():
            before, after = (-1 if item is None or name not in item else int(item[name]["N"]) for item in (commit.before, commit.after))
            if after < before:
                return f"{name} went from {before} back to {after}"
    return None


def _is_newest(world: World, sent: list[Event]) -> str | None:
    deleted = max((order for about, order, _ in sent if about == "delete"), default=0)
    newest = {about: max([(order, value) for kind, order, value in sent if kind == about] + [(deleted, 0)]) for about in ORDERS}
    wanted = {about: (order or None, value) for about, (order, value) in newest.items()}
    item = world.stored(KEY)
    found = None if item is None else {"goals": (item.goals_at, item.goals), "status": (item.status_at, item.status)}
    if found != wanted:
        return f"the newest of the events is {wanted}, and {found} is stored"
    lives = any(order > deleted for order, _ in newest.values())
    if item is None or item.deleted == lives or (item.ends_at is None) != lives:
        return f"the item should {'live' if lives else 'be deleted'}: {item}"
    return None


SCENARIOS = (Scenario("ordered events", ordered_events),)
