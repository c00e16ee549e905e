"""Belongs here: scenarios of unique values that the library claims by itself: changed, released, repaired. Must not be here: claims made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.values import Item
from surewrite.recipes.claim_repair import repair_claims
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.watched_store import Place


class Member(VersionedEntity, discriminator="MEMBER", partition_key="MEMBER#{id}", sort_key="PROFILE"):
    """Somebody with an address that nobody else may have."""

    id: Attribute[str]
    mail: Attribute[str | None] = sw.unique(default=None)
    seen: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Page(Entity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    """Something without a version that has a path of its own."""

    id: Attribute[str]
    path: Attribute[str | None] = sw.unique(default=None)


NAMES = ("a", "b")
VALUES = ("x", "y")


def unique_values(world: World) -> None:
    """Clients give, change and take away unique values of the same items by every verb: no value has two owners, and none stays taken by nobody."""

    async def member(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(3)):
            await client.tried(_change_member(client, client.one_of(NAMES), client.one_of((*VALUES, None))))
            await client.think()

    world.table(Member)
    world.client("alice", member)
    world.client("bob", member)
    world.check(claims_agree)


def unique_values_without_versions(world: World) -> None:
    """The same for a type without a version: blind puts, updates by key, upserts, deletes."""

    async def editor(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(3)):
            await client.tried(_change_page(client, client.one_of(NAMES), client.one_of((*VALUES, None))))
            await client.think()

    world.table(Page)
    world.client("alice", editor)
    world.client("bob", editor)
    world.check(claims_agree)


def unique_values_there_and_back(world: World) -> None:
    """One item's value goes there and back while late attempts fly: none of them moves it again."""

    async def mover(client: AsyncClient) -> None:
        members = client.of(Member)
        for number in range(2 + client.choose(3)):
            await client.tried(members.update(Member.key_of("a").ignore_version(), Member.mail.set(VALUES[number % 2])))
            await client.think(0.02)

    world.table(Member)
    world.client("setup", _first_member)
    world.client("alice", mover)
    world.client("bob", mover)
    world.check(claims_agree)


def unique_values_repaired(world: World) -> None:
    """A repair runs beside a value that goes from item to item, with a claim of nobody beside it: it never takes the value from its item."""

    async def giver(client: AsyncClient) -> None:
        for number in range(4 + client.choose(8)):
            await client.tried(_hand_over(client, NAMES[number % 2], NAMES[1 - number % 2]))
            await client.think(0.02)

    async def repairer(client: AsyncClient) -> None:
        for _ in range(2 + client.choose(3)):
            await client.tried(client.db.run(repair_claims(client.table(), Member)))
            await client.think(0.02)

    world.table(Member)
    world.put_item(_stray_claim("y", "nobody"))
    world.client("alice", giver)
    world.client("bob", repairer)
    world.check(no_value_unclaimed)


async def _hand_over(client: AsyncClient, giver: str, taker: str) -> object:
    """One item gives the value up and the other takes it, in one transaction: the claim is there all the time."""
    transaction = client.table().transaction()
    transaction.upsert(Member.key_of(giver).ignore_version(), Member.mail.remove())
    transaction.upsert(Member.key_of(taker).ignore_version(), Member.mail.set("x"))
    return await transaction.try_commit()


async def _first_member(client: AsyncClient) -> None:
    await client.tried(client.of(Member).create(Member(id="a", mail="x")))


async def _change_member(client: AsyncClient, name: str, value: str | None) -> object:
    members, key = client.of(Member), Member.key_of(name)
    change = Member.mail.remove() if value is None else Member.mail.set(value)
    match client.choose(7):
        case 0:
            return await members.try_create(Member(id=name, mail=value))
        case 1:
            return await members.try_update(key.ignore_version(), change, Member.seen.add(1))
        case 2:
            return await members.try_upsert(key.ignore_version(), change)
        case 3:
            return await members.try_delete(key.ignore_version())
        case 4:
            return await _commit_both(client, value)
        case _:
            loaded = await members.get_or_none(key)
            if loaded is None:
                return None
            return await members.put(loaded.replace(mail=value, seen=loaded.seen + 1))


async def _commit_both(client: AsyncClient, value: str | None) -> object:
    """One item gives its value up and the other takes one."""
    transaction = client.table().transaction()
    first, second = NAMES
    transaction.update(Member.key_of(first).ignore_version(), Member.mail.remove())
    if value is not None:
        transaction.upsert(Member.key_of(second).ignore_version(), Member.mail.set(value))
    return await transaction.try_commit()


async def _change_page(client: AsyncClient, name: str, value: str | None) -> object:
    pages, key = client.of(Page), Page.key_of(name)
    change = Page.path.remove() if value is None else Page.path.set(value)
    match client.choose(4):
        case 0:
            return await pages.put(Page(id=name, path=value))
        case 1:
            return await pages.try_update(key, change)
        case 2:
            return await pages.try_upsert(key, change)
        case _:
            return await pages.try_delete(key)


def _stray_claim(value: str, owner: str) -> Item:
    claimed = f"MEMBER#mail#{value}"
    return {
        "pk": {"S": f"UNIQUE#{claimed}"},
        "sk": {"S": "CLAIM"},
        "_type": {"S": "SUREWRITE_CLAIM"},
        "_claimed": {"S": claimed},
        "_entity": {"S": "MEMBER"},
        "_field": {"S": "mail"},
        "_owner": {"S": json.dumps([f"MEMBER#{owner}", "PROFILE"], separators=(",", ":"))},
        "_s": {"S": "-:setup0000000"},
    }


def claims_agree(world: World) -> str | None:
    """Each value that an item has is claimed for it, and each claim is for an item that has the value."""
    held, claimed = _stored(world)
    owners = {value: owners for value, owners in held.items() if len(owners) > 1}
    if owners:
        return f"one value on several items: {owners}"
    if {value: owners[0] for value, owners in held.items()} == claimed:
        return None
    return f"items have {held}, and the claims say {claimed}"


def no_value_unclaimed(world: World) -> str | None:
    """At no moment is a value had by two items, or by one that it is not claimed for; a claim of nobody may wait for a repair.

    Asked of each moment, since a repair mends at its end what it broke at its beginning.
    """
    stored: dict[Place, Item] = {}
    for _, commits in groupby(world.ledger.commits, key=lambda commit: commit.tick):
        for commit in commits:
            if commit.after is None:
                stored.pop(commit.place, None)
            else:
                stored[commit.place] = commit.after
        held, claimed = _values_of(stored.values())
        wrong = {value: owners for value, owners in held.items() if owners != [claimed.get(value)]}
        stray = {value: owner for value, owner in claimed.items() if value not in held and owner != "MEMBER#nobody"}
        if wrong or stray:
            return f"items had {held} for a moment, and the claims said {claimed}"
    return None


def _stored(world: World) -> tuple[dict[str, list[str]], dict[str, str]]:
    items: list[Item] = world.service.execute("Scan", {"TableName": "shop", "ConsistentRead": True})["Items"]
    return _values_of(items)


def _values_of(items: Iterable[Item]) -> tuple[dict[str, list[str]], dict[str, str]]:
    held: dict[str, list[str]] = {}
    claimed: dict[str, str] = {}
    for item in items:
        value = item.get("mail") or item.get("path")
        if "_claimed" in item:
            claimed[item["_claimed"]["S"].rpartition("#")[2]] = json.loads(item["_owner"]["S"])[0]
        elif value is not None:
            held.setdefault(value["S"], []).append(item["pk"]["S"])
    return held, claimed


SCENARIOS = (
    Scenario("unique values", unique_values),
    Scenario("unique values without versions", unique_values_without_versions),
    Scenario("unique values there and back", unique_values_there_and_back),
    Scenario("unique values repaired", unique_values_repaired),
)
