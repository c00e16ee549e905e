"""The document on optimistic concurrency: its request, and the verification that it asks for."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.typing.accepted.entities import UserAccount

import surewrite as sw

KEY = UserAccount.key_of("user_123")


@pytest.fixture
def users_table(make_table, running):
    return running.run(make_table(UserAccount, key=("UserId",), discriminator=None))


@pytest.fixture
def users(users_table, db, running):
    """The table of the document with its account at version 5, written by another program."""
    item = {"UserId": {"S": "user_123"}, "balance": {"N": "100"}, "version": {"N": "5"}}
    running.run(db.execute("PutItem", {"TableName": users_table.name, "Item": item}))
    return users_table.of(UserAccount)


async def test_the_request_of_the_document(users) -> None:
    changed = await users.update(KEY.if_version(5), UserAccount.balance.set(Decimal("150.00")))
    assert (changed.balance, changed.version) == (Decimal(150), 6)


async def test_only_one_update_succeeds_per_expected_version(users, together) -> None:
    results = await together(*(lambda amount=amount: users.try_update(KEY.if_version(5), UserAccount.balance.set(Decimal(amount))) for amount in (1, 2)))
    assert sorted(result.applied for result in results) == [False, True]
    won, lost = sorted(results, key=lambda result: not result.applied)
    stored = await users.get(KEY)
    assert won.item == lost.existing == stored
    assert stored.version == 6


async def test_a_wrong_expected_version_is_told_and_leaves_the_item_unchanged(users, users_table, db) -> None:
    async def stored() -> dict:
        return (await db.execute("GetItem", {"TableName": users_table.name, "Key": {"UserId": {"S": "user_123"}}, "ConsistentRead": True}))["Item"]

    before = await stored()
    for wrong in (4, 6, 0, None):
        with pytest.raises(sw.VersionConflict):
            await users.update(KEY.if_version(wrong), UserAccount.balance.set(Decimal(1)))
    assert await stored() == before


async def test_each_successful_write_raises_the_version_by_one(users) -> None:
    for version in range(5, 10):
        await users.update(KEY.if_version(version), UserAccount.balance.add(1))
        assert (await users.get(KEY)).version == version + 1


@pytest.mark.real_time
async def test_the_loop_of_the_document_ends_right(users, db, together) -> None:
    @db.retry_on_conflict(attempts=50)
    async def deposit() -> UserAccount:
        account = await users.get(KEY)
        return await users.put(account.replace(balance=account.balance + 10))

    results = await together(*(deposit for _ in range(4)))
    assert [type(result) for result in results] == [UserAccount] * 4
    account = await users.get(KEY)
    assert (account.balance, account.version) == (140, 9)
