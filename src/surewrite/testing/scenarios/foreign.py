"""Belongs here: scenarios with writers that do not use this library, as the table of foreign writers names them. Must not be here: writers that use it."""

from __future__ import annotations

from typing import Any

from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.accounts import KEY, Account
from surewrite.testing.simulator import World

RAW_KEY = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}


def foreign_writers(world: World) -> None:
    """Others bump the version without a stamp, or stamp without a version: no save takes effect twice, and each word stays true."""

    async def saver(client: AsyncClient) -> None:
        accounts = client.of(Account)
        for _ in range(1 + client.choose(2)):
            found = await client.tried(accounts.get_or_none(KEY))
            if isinstance(found, Account):
                changed = found.replace(balance=found.balance + 1)
                await client.tried(accounts.put(changed) if client.choose(2) else accounts.update(found, Account.balance.add(1)))
            await client.think()

    async def foreigner(client: AsyncClient) -> None:
        for number in range(1 + client.choose(3)):
            await client.think(0.3)
            await client.tried(client.db.execute("UpdateItem", client.one_of((_bumps(number), _stamps(number)))))

    world.table(Account)
    item: dict[str, Any] = {**RAW_KEY, "_type": {"S": "ACCOUNT"}, "id": {"S": "a"}, "balance": {"N": "0"}, "revision": {"N": "1"}}
    world.put_item({**item, "_s": {"S": "1:setup"}, "_b": {"S": "1:setup"}, "foreign": {"S": "kept"}})
    world.client("alice", saver)
    world.client("bob", foreigner)


def _bumps(number: int) -> dict[str, Any]:
    """Raises the version, and knows nothing of stamps."""
    return {
        "TableName": "shop",
        "Key": RAW_KEY,
        "UpdateExpression": "SET revision = revision + :one, foreign = :value",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":value": {"S": f"bumped {number}"}},
    }


def _stamps(number: int) -> dict[str, Any]:
    """An older release of the type, without a version: it stamps what it writes."""
    return {
        "TableName": "shop",
        "Key": RAW_KEY,
        "UpdateExpression": "SET #s = :stamp, foreign = :value",
        "ExpressionAttributeNames": {"#s": "_s"},
        "ExpressionAttributeValues": {":stamp": {"S": f"-:older{number}"}, ":value": {"S": f"stamped {number}"}},
    }


SCENARIOS = (Scenario("foreign writers", foreign_writers),)
