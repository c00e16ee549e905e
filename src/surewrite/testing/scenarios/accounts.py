"""Belongs here: scenarios of one versioned item: read-modify-write by hand, by modify, by retry, and deletes in between.

Must not be here: transactions, items without a version.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import surewrite as sw
from surewrite import Attribute, Target, VersionedEntity
from surewrite.testing.clients import AsyncClient, BlockingClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.sums import sum_is_told
from surewrite.testing.world_settings import RESENT_BELOW, WorldSettings, all_faults_but


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    """An item whose every change must count once."""

    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


KEY = Account.key_of("a")

_STORED: dict[str, Any] = {
    "pk": {"S": "ACCOUNT#a"},
    "sk": {"S": "BALANCE"},
    "_type": {"S": "ACCOUNT"},
    "id": {"S": "a"},
    "balance": {"N": "0"},
    "revision": {"N": "1"},
    "_s": {"S": "1:setup"},
    "_b": {"S": "1:setup"},
    "legacy": {"S": "kept"},
}


def saves(world: World) -> None:
    """Two clients read an account, add one, and save it by its version; what they are told adds up."""

    async def saver(client: AsyncClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(3)):
            found = await client.tried(accounts.get_or_none(KEY))
            if isinstance(found, Account):
                await client.tried(accounts.put(found.replace(balance=found.balance + 1)))
            elif found is None:
                await client.tried(accounts.create(Account(id="a", balance=1)))
            await client.think()

    _two(world, saver)


def saves_again(world: World) -> None:
    """A client whose save ended in doubt saves again from what it had read: if its own earlier save refuses it, it is told so."""

    async def saver(client: AsyncClient) -> None:
        accounts = client.of(Account)
        found = await client.tried(accounts.get_or_none(KEY))
        if not isinstance(found, Account):
            return
        for number in range(2 + client.choose(2)):
            saved = await client.tried(accounts.put(found.replace(balance=found.balance + 1 + number)))
            if isinstance(saved, Account):
                return
            await client.think()

    _with_account(world)
    world.client("alice", saver)
    world.client("bob", saver)


def updates_by_version(world: World) -> None:
    """Clients add to an account by update: of the loaded entity, by its version number, and ignoring the version."""

    async def updater(client: AsyncClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(3)):
            found = await client.tried(accounts.get_or_none(KEY))
            if isinstance(found, Account):
                targets: tuple[Account | Target[Account], ...] = (found, KEY.if_version(found.revision), KEY.ignore_version())
                await client.tried(accounts.update(client.one_of(targets), Account.balance.add(1)))
            await client.think()

    _with_account(world)
    _two(world, updater)


def modifies(world: World) -> None:
    """Clients add by modify, which runs again on conflict, and by a body under retry_on_conflict."""

    async def modifier(client: AsyncClient) -> None:
        accounts = client.of(Account)

        @client.db.retry_on_conflict(attempts=3)
        async def deposit() -> Account:
            found = await accounts.get(KEY)
            return await accounts.put(found.replace(balance=found.balance + 1))

        for _ in range(1 + client.choose(2)):
            if client.choose(2):
                await client.tried(deposit())
            else:
                await client.tried(accounts.modify(KEY, lambda found: found.replace(balance=found.balance + 1)))
            await client.think()

    _with_account(world)
    _two(world, modifier)


def deleted_and_made_again(world: World) -> None:
    """A writer holds an account while another deletes it and makes it anew: the new life is not touched by the old."""

    async def stale_writer(client: AsyncClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(2)):
            found = await client.tried(accounts.get_or_none(KEY))
            await client.think(0.3)
            if isinstance(found, Account):
                match client.choose(3):
                    case 0:
                        await client.tried(accounts.put(found.replace(balance=found.balance + 1)))
                    case 1:
                        await client.tried(accounts.update(found, Account.balance.add(1)))
                    case _:
                        await client.tried(accounts.delete(found))

    async def recreator(client: AsyncClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(2)):
            found = await client.tried(accounts.get_or_none(KEY))
            if isinstance(found, Account):
                await client.tried(accounts.delete(found))
            made = await client.tried(accounts.create(Account(id="a", balance=100)))
            if isinstance(made, Account) and client.choose(2):
                await client.tried(accounts.put(made.replace(balance=101)))
            await client.think(0.3)

    _with_account(world)
    world.client("alice", stale_writer)
    world.client("bob", recreator)


def overtaken_by_a_new_life(world: World) -> None:
    """While a save is in doubt, the account is deleted, made anew, and saved to the very version that the save would have left."""

    async def saver(client: AsyncClient) -> None:
        accounts = client.of(Account)
        found = await client.tried(accounts.get_or_none(KEY))
        if isinstance(found, Account):
            await client.tried(accounts.put(found.replace(balance=1)))

    async def recreator(client: AsyncClient) -> None:
        accounts = client.of(Account)
        await client.think()
        await client.tried(accounts.delete(KEY.ignore_version()))
        made = await client.tried(accounts.create(Account(id="a", balance=100)))
        if isinstance(made, Account):
            await client.tried(accounts.put(made.replace(balance=101)))

    _with_account(world)
    world.client("alice", saver)
    world.client("bob", recreator)


def bodies_of_two_writes(world: World) -> None:
    """A body under retry_on_conflict adds to one account and saves another: a conflict of the second does not repeat the first."""
    other = Account.key_of("b")

    async def mover(client: AsyncClient) -> None:
        accounts = client.of(Account)

        @client.db.retry_on_conflict(attempts=3)
        async def move() -> None:
            found = await accounts.get(other)
            await accounts.update(KEY.ignore_version(), Account.balance.add(1))
            await client.think(0.05)
            await accounts.put(found.replace(balance=found.balance + 1))

        for _ in range(1 + client.choose(2)):
            await client.tried(move())

    def each_body_adds_once(world: World) -> str | None:
        account = world.stored(KEY)
        assert account is not None
        bodies = sum(call.verb == "rerun" for call in world.ledger.calls)
        return None if account.balance <= bodies else f"{bodies} bodies of one addition each added {account.balance}"

    _with_account(world)
    world.put_item({**_STORED, "pk": {"S": "ACCOUNT#b"}, "id": {"S": "b"}})
    world.client("alice", mover)
    world.client("bob", mover)
    world.check(each_body_adds_once)


def saves_in_plain_code(world: World) -> None:
    """The same read-modify-write by two blocking clients."""

    def saver(client: BlockingClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(2)):
            found = client.tried(lambda: accounts.get_or_none(KEY))
            if isinstance(found, Account):
                changed = found.replace(balance=found.balance + 1)
                client.tried(partial(accounts.put, changed))
            client.think()

    _with_account(world)
    world.blocking_client("alice", saver)
    world.blocking_client("bob", saver)
    world.check(sum_is_told(KEY, "balance"))


def _with_account(world: World) -> None:
    world.table(Account)
    world.put_item(_STORED)


def _two(world: World, code: Callable[[AsyncClient], Coroutine[Any, Any, None]]) -> None:
    world.table(Account)
    world.client("alice", code)
    world.client("bob", code)
    world.check(sum_is_told(KEY, "balance"))


SCENARIOS = (
    Scenario("saves", saves),
    Scenario("saves again", saves_again),
    Scenario("saves in little time", saves, WorldSettings(timeout_seconds=0.5, deadline_seconds=1.5)),
    Scenario("updates by version", updates_by_version),
    Scenario("modifies", modifies),
    Scenario("deleted and made again", deleted_and_made_again),
    Scenario("overtaken by a new life", overtaken_by_a_new_life, faults=frozenset({"answer lost", "late", "error after", "request lost"})),
    Scenario("bodies of two writes", bodies_of_two_writes, faults=all_faults_but(RESENT_BELOW)),
    Scenario("saves in plain code", saves_in_plain_code, blocking=True),
)
