"""Belongs here: the fault matrix: each verb met by each fault, with nobody or somebody else writing. Must not be here: longer stories of one verb."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.accounts import Account
from surewrite.testing.scenarios.claims import MailClaim
from surewrite.testing.scenarios.items import Counter, Setting
from surewrite.testing.simulator import World

ACCOUNT, COUNTER, SETTING = Account.key_of("a"), Counter.key_of("c"), Setting.key_of("s")

LOST = frozenset({"request lost", "answer lost", "error before", "error after", "answer damaged", "throttled", "conflict", "not sent"})
"""Faults that pass: with nobody else writing, every verb that may be sent again ends applied."""

VERBS = ("create", "save", "blind put", "add", "append", "update", "delete", "delete by key", "claim", "transaction", "operation id", "upsert")


def one_verb(client: AsyncClient, verb: str) -> Coroutine[Any, Any, Any]:
    """One call of the matrix."""
    accounts, counters, settings = client.of(Account), client.of(Counter), client.of(Setting)
    match verb:
        case "create":
            return accounts.create(Account(id=f"new {client.name}"))
        case "save":
            return _save(client)
        case "blind put":
            return settings.put(Setting(name="s", value=client.name))
        case "add":
            return counters.update(COUNTER, Counter.count.add(1))
        case "append":
            return counters.update(COUNTER, Counter.entries.append(client.name))
        case "update":
            return settings.update(SETTING, Setting.value.set(client.name))
        case "delete":
            return _delete(client)
        case "delete by key":
            return settings.delete(SETTING)
        case "claim":
            return client.of(MailClaim).create(MailClaim(address="x", owner=client.name))
        case "transaction":
            transaction = client.table().transaction()
            transaction.update(ACCOUNT.ignore_version(), Account.balance.add(1))
            return transaction.commit()
        case "operation id":
            return counters.update(COUNTER, Counter.count.add(1), Counter.operations.add(client.name), condition=~Counter.operations.contains(client.name))
        case _:
            return settings.upsert(SETTING, Setting.value.set(client.name))


async def _save(client: AsyncClient) -> object:
    accounts = client.of(Account)
    return await accounts.put((await accounts.get(ACCOUNT)).replace(balance=7))


async def _delete(client: AsyncClient) -> object:
    accounts = client.of(Account)
    return await accounts.delete(await accounts.get(ACCOUNT))


def alone(world: World) -> None:
    """One client makes each call while messages are lost: what may be sent again is applied, unless its time runs out."""

    async def caller(client: AsyncClient) -> None:
        await client.tried(one_verb(client, client.one_of(VERBS)))

    def applied(world: World) -> str | None:
        for call in world.ledger.calls:
            last = call.attempts[-1] if call.attempts else None
            ran_out = call.ended is not None and call.ended - call.began > world.settings.deadline_seconds - 3
            if call.word in ("unknown", "refused") and last is not None and not ran_out and not _may_not_be_resent(call):
                return f"nobody else wrote, and the {call.verb} {call.number} was told {call.word} at {call.ended:.3f}"
        return None

    _with_items(world)
    world.client("alice", caller)
    world.check(applied)


def beside_another(world: World) -> None:
    """Two clients make calls of the matrix side by side, whatever befalls them."""

    async def caller(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(2)):
            await client.tried(one_verb(client, client.one_of(VERBS)))
            await client.think()

    async def recreates(client: AsyncClient) -> None:
        await client.think(0.3)
        await client.tried(one_verb(client, client.one_of(VERBS)))
        await client.tried(client.of(Account).create(Account(id="a", balance=50)))
        await client.tried(client.of(Setting).put(Setting(name="s", value="again")))

    _with_items(world)
    world.client("alice", caller)
    world.client("bob", recreates)


def _may_not_be_resent(call: Any) -> bool:
    """Additions and appends without an operation id end unknown at the first lost answer."""
    return call.verb == "update" and call.entity == "Counter" and call.arguments["options"].condition is None


def _with_items(world: World) -> None:
    world.table(Account, Counter, Setting, MailClaim)
    for partition, sort, kind, fields in (
        ("ACCOUNT#a", "BALANCE", "ACCOUNT", {"id": {"S": "a"}, "balance": {"N": "0"}, "revision": {"N": "1"}}),
        ("COUNTER#c", "COUNT", "COUNTER", {"name": {"S": "c"}, "count": {"N": "0"}}),
        ("SETTING#s", "VALUE", "SETTING", {"name": {"S": "s"}, "value": {"S": "old"}}),
    ):
        prefix = "1" if kind == "ACCOUNT" else "-"
        state = {"_type": {"S": kind}, "_s": {"S": f"{prefix}:setup"}, "_b": {"S": f"{prefix}:setup"}}
        world.put_item({"pk": {"S": partition}, "sk": {"S": sort}, **state, **fields})


SCENARIOS = (
    Scenario("matrix alone", alone, faults=LOST),
    Scenario("matrix beside another", beside_another),
)
