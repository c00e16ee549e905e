"""Belongs here: scenarios of guarded writes: taking from a stock, transitions that come back, soft deletion. Must not be here: guards written by hand."""

from __future__ import annotations

from datetime import datetime

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.guards import Guards, Kept, Stopped
from surewrite.recipes.soft_deletes import SoftDeletes
from surewrite.testing.clients import AsyncClient
from surewrite.testing.ledger import Call, Commit
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World


class Article(VersionedEntity, discriminator="ARTICLE", partition_key="ARTICLE#{id}", sort_key="STOCK"):
    """What is taken from, and goes from state to state and back."""

    id: Attribute[str]
    stock: Attribute[int] = sw.attribute(default=0)
    status: Attribute[str] = sw.attribute(default="paid")
    shipped: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Member(VersionedEntity, discriminator="MEMBER", partition_key="MEMBER#{id}", sort_key="PROFILE"):
    """What is deleted softly."""

    id: Attribute[str]
    name: Attribute[str] = sw.attribute(default="")
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)
    revision: Attribute[int | None] = sw.version()


ARTICLE = Article.key_of("a")
MEMBER = Member.key_of("m")
ARTICLE_PLACE = {"pk": {"S": "ARTICLE#a"}, "sk": {"S": "STOCK"}}
MEMBER_PLACE = {"pk": {"S": "MEMBER#m"}, "sk": {"S": "PROFILE"}}
STOCK = 6
LATENESS_SECONDS = 1_000_000.0
"""Longer than any world: no tombstone ends in it."""


def guarded_takes(world: World) -> None:
    """Clients take from a stock that others fill up: it never falls below zero, and what was taken is what was told."""
    told, doubtful, added = [0], [0], [0]

    async def taker(client: AsyncClient) -> None:
        articles = Guards(client.table(), Article)
        for _ in range(2 + client.choose(3)):
            amount = 1 + client.choose(3)
            doubtful[0] += amount
            result = await client.tried(client.db.run(articles.try_take(ARTICLE, Article.stock, amount, exactly_once=client.choose(3) == 2)))
            if isinstance(result, (Kept, Stopped)):
                doubtful[0] -= amount
                told[0] += amount if isinstance(result, Kept) else 0
            await client.think()

    async def filler(client: AsyncClient) -> None:
        for _ in range(client.choose(4)):
            added[0] += 2
            await client.tried(client.of(Article).update(ARTICLE.ignore_version(), Article.stock.add(2)))
            await client.think(0.3)

    def adds_up(world: World) -> str | None:
        commits = world.ledger.by_place.get(world.network.place_of("shop", ARTICLE_PLACE), ())
        moves = [_number(commit, "stock") for commit in commits]
        taken = sum(-move for move in moves if move < 0)
        if any(commit.after is not None and int(commit.after["stock"]["N"]) < 0 for commit in commits):
            return "the stock fell below zero"
        return None if told[0] <= taken <= told[0] + doubtful[0] else f"{told[0]} were told taken, {doubtful[0]} are in doubt, and {taken} were taken"

    _with_article(world)
    world.client("alice", taker)
    world.client("bob", taker)
    world.client("carol", filler)
    world.check(adds_up)


def transitions_that_come_back(world: World) -> None:
    """An article is shipped when it is paid, and comes back to be paid: it is shipped once for each time that was told."""
    told, doubtful = [0], [0]

    async def shipper(client: AsyncClient) -> None:
        articles = Guards(client.table(), Article)
        for _ in range(2 + client.choose(3)):
            ship = articles.try_transition(ARTICLE, Article.status, "paid", "shipped", Article.shipped.add(1), exactly_once=client.choose(3) == 2)
            doubtful[0] += 1
            result = await client.tried(client.db.run(ship))
            if isinstance(result, (Kept, Stopped)):
                doubtful[0] -= 1
                told[0] += isinstance(result, Kept)
            await client.think()

    async def returner(client: AsyncClient) -> None:
        articles = Guards(client.table(), Article)
        for _ in range(2 + client.choose(4)):
            await client.tried(client.db.run(articles.try_transition(ARTICLE, Article.status, "shipped", "paid")))
            await client.think()

    def shipped_as_told(world: World) -> str | None:
        article = world.stored(ARTICLE)
        shipped = -1 if article is None else article.shipped
        return None if told[0] <= shipped <= told[0] + doubtful[0] else f"{told[0]} were told shipped, {doubtful[0]} are in doubt, and {shipped} were"

    _with_article(world)
    world.client("alice", shipper)
    world.client("bob", shipper)
    world.client("carol", returner)
    world.check(shipped_as_told)


def soft_deletions(world: World) -> None:
    """Members are made, deleted softly and made again: a creation makes one life at most, and versions go on from life to life."""

    async def member(client: AsyncClient) -> None:
        members = SoftDeletes(client.table(), Member, deleted_at=Member.deleted_at, expires=Member.ends_at, lateness_seconds_most=LATENESS_SECONDS)
        for number in range(2 + client.choose(4)):
            match client.choose(3):
                case 0:
                    await client.tried(client.db.run(members.delete(MEMBER)))
                case _:
                    await client.tried(client.db.run(members.create(Member(id="m", name=f"{client.name} {client.restarts} {number}"))))
            await client.think(3.0)

    world.table(Member)
    world.client("alice", member)
    world.client("bob", member)
    world.client("carol", member)
    world.check(lives_are_apart)


def lives_are_apart(world: World) -> str | None:
    """A new life over a tombstone has a new birth and the next version, and no creation makes two."""
    made: dict[int, list[Call]] = {}
    for commit in world.ledger.by_place.get(world.network.place_of("shop", MEMBER_PLACE), ()):
        if commit.after is None:
            return "a member was deleted for good"
        if commit.before is not None and _number(commit, "revision") != 1:
            return f"the version went from {commit.before['revision']} to {commit.after['revision']}"
        began = commit.before is None or ("deleted_at" in commit.before and "deleted_at" not in commit.after)
        if began != (commit.before is None or commit.before["_b"] != commit.after["_b"]):
            return f"the birth does not say which life it is: {commit.before} to {commit.after}"
        if began and commit.attempt is not None:
            calls = made.setdefault(id(commit.attempt.call), [])
            calls.append(commit.attempt.call)
            if len(calls) > 1:
                return f"one creation made {len(calls)} lives"
    return None


def _number(commit: Commit, name: str) -> int:
    """By how much a change of an item raised a number."""
    before, after = (0 if item is None else int(item[name]["N"]) for item in (commit.before, commit.after))
    return after - before


def _with_article(world: World) -> None:
    world.table(Article)
    world.put_item({
        "pk": {"S": "ARTICLE#a"}, "sk": {"S": "STOCK"}, "_type": {"S": "ARTICLE"}, "id": {"S": "a"}, "stock": {"N": str(STOCK)},
        "status": {"S": "paid"}, "shipped": {"N": "0"}, "revision": {"N": "1"}, "_s": {"S": "1:setup"}, "_b": {"S": "1:setup"},
    })  # fmt: skip


SCENARIOS = (
    Scenario("guarded takes", guarded_takes),
    Scenario("transitions that come back", transitions_that_come_back),
    Scenario("soft deletions", soft_deletions),
)
