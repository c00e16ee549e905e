"""Belongs here: scenarios of items that expire, swept early, late or never. Must not be here: items that stay."""

from __future__ import annotations

from datetime import UTC, datetime

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import BEGINS_AT_SECONDS, WorldSettings


class Session(Entity, discriminator="SESSION", partition_key="SESSION#{id}", sort_key="LOGIN"):
    """Somebody is logged in for a while."""

    id: Attribute[str]
    hits: Attribute[int] = sw.attribute(default=0)
    note: Attribute[str | None] = sw.attribute(default=None)
    expires: Attribute[datetime | None] = sw.time_to_live(default=None)


KEY = Session.key_of("s")
LIFE_SECONDS = 4.0


def sessions(world: World) -> None:
    """Clients create, count on, upsert and delete a session that expires under their hands: expired is absent, whole and at once."""

    async def visitor(client: AsyncClient) -> None:
        sessions = client.of(Session)
        for _ in range(2 + client.choose(3)):
            expires = datetime.fromtimestamp(BEGINS_AT_SECONDS + client.now + LIFE_SECONDS, UTC) if client.choose(4) else None
            match client.choose(5):
                case 0:
                    await client.tried(sessions.create(Session(id="s", hits=1, note=client.name, expires=expires)))
                case 1:
                    await client.tried(
                        sessions.upsert(KEY, Session.hits.add(1), Session.expires.set(expires)) if expires else sessions.upsert(KEY, Session.hits.add(1))
                    )
                case 2:
                    await client.tried(sessions.update(KEY, Session.hits.add(1)))
                case 3:
                    await client.tried(sessions.get_or_none(KEY, consistent=True))
                case _:
                    await client.tried(sessions.delete(KEY))
            await client.think(3.0)

    world.table(Session)
    world.client("alice", visitor)
    world.client("bob", visitor)
    world.check(new_lives_are_whole)


def new_lives_are_whole(world: World) -> str | None:
    """What replaces an expired item has nothing of it: an upsert counts from nothing, and no old note is left."""
    for commit in world.ledger.commits:
        if commit.before is None or commit.after is None or commit.attempt is None or commit.attempt.call.verb != "upsert":
            continue
        if commit.before.get("_b") != commit.after.get("_b") and ("note" in commit.after or commit.after["hits"]["N"] != "1"):
            return f"an upsert over an expired session left {commit.after}"
        expiry = commit.before.get("expires", {}).get("N")
        if expiry is not None and float(expiry) < BEGINS_AT_SECONDS + commit.attempt.call.began - 3 and commit.before.get("_b") == commit.after.get("_b"):
            return f"an upsert counted on in a session that had expired: {commit.after}"
    return None


SCENARIOS = (Scenario("sessions", sessions, WorldSettings(skew_seconds_most=0.5)),)
