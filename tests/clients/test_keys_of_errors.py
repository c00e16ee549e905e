"""What an error says of the item it is about: its key, as ``key_of`` gives it, and never in the text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.typing.accepted.entities import Account, MailClaim

import surewrite as sw

ALICE = Account.key_of("alice")
CLAIM = MailClaim.key_of("bob@example.ch")


async def fill(shop: Any) -> tuple[Any, Any]:
    """Two entities as they were before another writer changed the first."""
    alice = await shop.of(Account).create(Account(id="alice"))
    claim = await shop.of(MailClaim).create(MailClaim(address="bob@example.ch", owner="bob"))
    await shop.of(Account).update(alice, Account.balance.add(1))
    return alice, claim


WRITES: list[tuple[Callable[[Any, Any, Any], Awaitable[Any]], type[sw.SurewriteError], Any]] = [
    (lambda shop, alice, _: shop.of(Account).put(alice.replace(balance=7)), sw.VersionConflict, ALICE),
    (lambda shop, alice, _: shop.of(Account).delete(alice), sw.VersionConflict, ALICE),
    (lambda shop, _a, _c: shop.of(Account).create(Account(id="alice")), sw.AlreadyExists, ALICE),
    (lambda shop, _a, _c: shop.of(Account).update(ALICE.if_version(9), Account.balance.add(1)), sw.VersionConflict, ALICE),
    (lambda shop, _a, _c: shop.of(Account).update(ALICE.ignore_version(), Account.balance.add(1), condition=Account.balance > 9), sw.ConditionFailed, ALICE),
    (lambda shop, _a, _c: shop.of(MailClaim).create(MailClaim(address="bob@example.ch", owner="eve")), sw.AlreadyExists, CLAIM),
    (lambda shop, _a, _c: shop.of(MailClaim).delete(CLAIM, condition=MailClaim.owner == "eve"), sw.ConditionFailed, CLAIM),
    (lambda shop, _a, _c: shop.of(Account).put(Account(id="alice"), if_unchanged=True), sw.AlreadyExists, ALICE),
    (lambda shop, _a, _c: shop.of(MailClaim).put(MailClaim(address="bob@example.ch", owner="x"), if_unchanged=True), sw.InvalidRequest, CLAIM),
    (lambda shop, alice, _: shop.of(Account).update(alice), sw.InvalidRequest, ALICE),
]


@pytest.mark.parametrize(("write", "kind", "key"), WRITES)
async def test_the_key_of_an_error_of_a_write_reads_the_item(make_table, write, kind, key) -> None:
    shop = await make_table(Account, MailClaim)
    alice, claim = await fill(shop)
    with pytest.raises(kind) as refused:
        await write(shop, alice, claim)
    assert refused.value.key == key
    assert await shop.of(key.entity).get(refused.value.key) == await shop.of(key.entity).get(key)
    assert key.partition[1] not in str(refused.value)


async def test_a_missing_item_is_named_by_writes_as_by_reads(make_table) -> None:
    shop = await make_table(Account, MailClaim)
    absent = MailClaim.key_of("nobody@example.ch")
    for call in (lambda: shop.of(MailClaim).get(absent), lambda: shop.of(MailClaim).update(absent, MailClaim.owner.set("x"))):
        with pytest.raises(sw.ItemNotFound) as missing:
            await call()
        assert missing.value.key == absent


async def test_a_refusal_has_the_key_and_does_not_show_it(make_table) -> None:
    shop = await make_table(Account, MailClaim)
    await fill(shop)
    outcome = await shop.of(Account).try_update(ALICE.if_version(9), Account.balance.add(1))
    assert outcome.key == ALICE
    absent = await shop.of(MailClaim).try_update(MailClaim.key_of("nobody@example.ch"), MailClaim.owner.set("x"))
    assert absent.key == MailClaim.key_of("nobody@example.ch")
    assert "nobody" not in repr(absent)


@pytest.mark.needs("transactions honour tokens")
async def test_a_refusal_of_a_transaction_has_the_key(make_table) -> None:
    shop = await make_table(Account, MailClaim)
    await fill(shop)
    tx = shop.transaction()
    marker = tx.create(MailClaim(address="bob@example.ch", owner="eve"))
    tx.update(ALICE.ignore_version(), Account.balance.add(1))
    result = await tx.try_commit()
    assert result.refusal_of(marker).key == CLAIM
    twice = shop.transaction()
    twice.create(MailClaim(address="bob@example.ch", owner="eve"))
    twice.put(MailClaim(address="bob@example.ch", owner="eve"))
    with pytest.raises(sw.InvalidRequest, match="write one item") as wrong:
        await twice.commit()
    assert wrong.value.key == CLAIM


async def test_an_item_that_cannot_be_read_is_named_by_each_way_of_reading(make_table, db) -> None:
    shop = await make_table(Account)
    item = {"pk": {"S": "ACCOUNT#alice"}, "sk": {"S": "BALANCE"}, "_type": {"S": "ACCOUNT"}, "id": {"S": "alice"}, "balance": {"S": "none"}}
    await db.execute("PutItem", {"TableName": shop.name, "Item": item})
    accounts = shop.of(Account)
    for read in (lambda: accounts.get(ALICE), lambda: accounts.get_many([ALICE]), lambda: accounts.modify(ALICE, lambda a: a)):
        with pytest.raises(sw.UndecodableItem, match="codec=") as unread:
            await read()
        assert (unread.value.key, unread.value.field) == (ALICE, "balance")
