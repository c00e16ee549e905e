"""Transactions. A service that ignores their tokens cannot keep the promise, so there each of these is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest
from tests.clients.entities import Note, Page, Session
from tests.typing.accepted.entities import Account, MailClaim, Registrant

import surewrite as sw

pytestmark = pytest.mark.needs("transactions honour tokens")

ALICE, BOB = Account.key_of("alice"), Account.key_of("bob")


async def test_all_actions_take_effect_together(shop) -> None:
    pages, notes = shop.of(Page), shop.of(Note)
    page = await pages.create(Page(id="put"))
    await pages.create(Page(id="deleted"))
    await notes.create(Note(id="updated", rank=1))
    tx = shop.transaction()
    tx.create(Note(id="created"))
    tx.put(page.replace(text="x"))
    tx.put(Note(id="put"))
    tx.update(Note.key_of("updated"), Note.rank.add(1))
    tx.upsert(Note.key_of("upserted"), Note.lines.append("x"))
    tx.delete(Page.key_of("deleted").ignore_version())
    committed = await tx.commit()
    assert committed
    assert (committed.applied, committed.attempts, committed.recovered) == (True, 1, False)
    assert await notes.get(Note.key_of("created")) == Note(id="created")
    assert (await pages.get(Page.key_of("put"))).version == 2
    assert await notes.get(Note.key_of("put")) == Note(id="put")
    assert (await notes.get(Note.key_of("updated"))).rank == 2
    assert await notes.get(Note.key_of("upserted")) == Note(id="upserted", lines=["x"])
    assert await pages.get_or_none(Page.key_of("deleted")) is None


async def test_one_refusal_cancels_all_and_the_markers_tell_which(shop) -> None:
    theirs = await shop.of(MailClaim).create(MailClaim(address="a", owner="bob"))
    tx = shop.transaction()
    free = tx.create(MailClaim(address="b", owner="eve"))
    taken = tx.create(MailClaim(address="a", owner="eve"))
    result = await tx.try_commit()
    assert not result
    assert result.applied is False
    assert result.refusal_of(free) is None
    assert result.refusal_of(taken).reason is sw.RefusalReason.ALREADY_EXISTS
    assert result.refusal_of(taken).existing == theirs
    assert (result.reason_for(free).code, result.reason_for(taken).code) == ("None", "ConditionalCheckFailed")
    assert await shop.of(MailClaim).get_or_none(MailClaim.key_of("b")) is None


async def test_commit_raises_what_try_commit_tells(shop) -> None:
    theirs = await shop.of(MailClaim).create(MailClaim(address="a", owner="bob"))
    tx = shop.transaction()
    taken = tx.create(MailClaim(address="a", owner="eve"))
    with pytest.raises(sw.TransactionCanceled, match="already exists") as canceled:
        await tx.commit()
    assert canceled.value.refusal_of(taken).existing == theirs
    assert [refusal.reason for refusal in canceled.value.refusals()] == [sw.RefusalReason.ALREADY_EXISTS]
    assert canceled.value.reason_for(taken).code == "ConditionalCheckFailed"


async def test_every_refusal_is_told(shop) -> None:
    old = await shop.of(Page).create(Page(id="a"))
    await shop.of(Page).put(old.replace(text="x"))
    await shop.of(Note).create(Note(id="a", rank=1))
    tx = shop.transaction()
    version = tx.put(old.replace(text="y"))
    condition = tx.update(Note.key_of("a"), Note.rank.add(1), condition=Note.rank > 5)
    missing = tx.delete(Note.key_of("b"))
    check = tx.check(Page.key_of("b"), Page.text.exists())
    result = await tx.try_commit()
    assert [result.refusal_of(marker).reason for marker in (version, condition, missing, check)] == [
        sw.RefusalReason.VERSION_CONFLICT,
        sw.RefusalReason.CONDITION_FAILED,
        sw.RefusalReason.ITEM_NOT_FOUND,
        sw.RefusalReason.ITEM_NOT_FOUND,
    ]


async def test_a_missing_item_is_told_as_not_found_if_no_other_action_was_refused(shop) -> None:
    for _ in range(2):
        tx = shop.transaction()
        missing = tx.update(Note.key_of("b"), Note.rank.add(1))
        result = await tx.try_commit()
        assert result.refusal_of(missing).reason is sw.RefusalReason.ITEM_NOT_FOUND


async def test_the_with_form_commits_at_the_end_of_the_block(shop) -> None:
    async with shop.transaction() as tx:
        tx.create(Note(id="a"))
        assert await shop.of(Note).get_or_none(Note.key_of("a")) is None
    assert await shop.of(Note).get(Note.key_of("a")) == Note(id="a")
    with pytest.raises(sw.TransactionCanceled):
        async with shop.transaction() as tx:
            tx.create(Note(id="a"))


async def test_a_block_that_commits_by_itself_is_not_committed_again(shop) -> None:
    async with shop.transaction() as tx:
        marker = tx.create(Page(id="a"))
        result = await tx.try_commit()
        assert result.item_for(marker).version == 1


async def test_item_for_gives_what_a_put_or_create_stored_ready_for_the_next_write(shop) -> None:
    page = await shop.of(Page).create(Page(id="put"))
    tx = shop.transaction()
    created, put = tx.create(Page(id="created")), tx.put(page.replace(text="x"))
    others = (
        tx.upsert(Note.key_of("a"), Note.rank.add(1)),
        tx.check(Page.key_of("b"), Page.text.not_exists()),
    )
    result = await tx.commit()
    assert (result.item_for(created).version, result.item_for(put).version) == (1, 2)
    assert (await shop.of(Page).put(result.item_for(put).replace(text="y"))).version == 3
    for marker in others:
        with pytest.raises(sw.InvalidRequest, match="get it by its key"):
            result.item_for(marker)


async def test_a_check_guards_an_item_that_is_not_written(shop) -> None:
    await shop.of(Note).create(Note(id="gate", rank=1))
    tx = shop.transaction()
    tx.check(Note.key_of("gate"), Note.rank == 1)
    tx.create(Note(id="a"))
    assert await tx.try_commit()
    tx = shop.transaction()
    gate = tx.check(Note.key_of("gate"), Note.rank == 2)
    tx.create(Note(id="b"))
    result = await tx.try_commit()
    assert result.refusal_of(gate).existing == Note(id="gate", rank=1)
    assert await shop.of(Note).get_or_none(Note.key_of("b")) is None


async def test_a_check_of_an_item_that_is_also_written_becomes_part_of_the_write(shop) -> None:
    await shop.of(Note).create(Note(id="a", rank=1, text="x"))
    tx = shop.transaction()
    first = tx.check(Note.key_of("a"), Note.rank == 1)
    tx.update(Note.key_of("a"), Note.rank.add(1))
    second = tx.check(Note.key_of("a"), Note.text == "x")
    assert await tx.try_commit()
    tx = shop.transaction()
    first = tx.check(Note.key_of("a"), Note.rank == 1)
    write = tx.update(Note.key_of("a"), Note.rank.add(1))
    result = await tx.try_commit()
    assert result.refusal_of(first).existing == result.refusal_of(write).existing == Note(id="a", rank=2, text="x")
    assert second != first


async def test_actions_may_be_on_another_table(shop, make_table) -> None:
    other = await make_table(Note)
    tx = shop.transaction()
    tx.create(Note(id="here"))
    tx.on(other).create(Note(id="there"))
    tx.on(other).upsert(Note.key_of("counter"), Note.rank.set(1))
    await tx.commit()
    assert await shop.of(Note).get(Note.key_of("here"))
    assert await other.of(Note).get(Note.key_of("there"))
    assert await shop.of(Note).get_or_none(Note.key_of("there")) is None


async def test_two_tables_may_have_items_of_one_key(shop, make_table) -> None:
    other = await make_table(Note)
    tx = shop.transaction()
    tx.create(Note(id="a", text="here"))
    tx.on(other).create(Note(id="a", text="there"))
    await tx.commit()
    assert ((await shop.of(Note).get(Note.key_of("a"))).text, (await other.of(Note).get(Note.key_of("a"))).text) == ("here", "there")


async def test_a_transfer_moves_and_never_makes_or_loses(shop, db, together) -> None:
    accounts = shop.of(Account)
    for key in ("alice", "bob"):
        await accounts.create(Account(id=key).replace(balance=100))

    async def transfer(amount: int) -> bool:
        tx = shop.transaction()
        tx.update(ALICE.ignore_version(), Account.balance.add(-amount), condition=Account.balance >= amount)
        tx.update(BOB.ignore_version(), Account.balance.add(amount))
        return bool(await tx.try_commit())

    assert [await transfer(amount) for amount in (30, 60, 30)] == [True, True, False]
    assert ((await accounts.get(ALICE)).balance, (await accounts.get(BOB)).balance) == (10, 190)


async def test_an_action_that_the_service_finds_impossible_is_an_invalid_request(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}})
    async with shop.transaction() as tx:
        tx.create(Note(id="c"))
    tx = shop.transaction()
    tx.create(Note(id="b"))
    tx.update(Note.key_of("a"), Note.rank.set(Note.rank + 1))
    with pytest.raises(sw.InvalidRequest) as invalid:
        await tx.commit()
    assert invalid.value.code == "ValidationError"
    assert await shop.of(Note).get_or_none(Note.key_of("b")) is None


async def test_expired_is_absent_in_a_transaction(shop, store) -> None:
    await store({"pk": {"S": "SESSION#a"}, "sk": {"S": "SESSION"}, "id": {"S": "a"}, "hits": {"N": "3"}, "ttl": {"N": "1000"}})
    tx = shop.transaction()
    missing = tx.update(Session.key_of("a"), Session.hits.add(1))
    result = await tx.try_commit()
    assert (result.refusal_of(missing).reason, result.refusal_of(missing).item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)
    tx = shop.transaction()
    tx.create(Session(id="a"))
    assert await tx.try_commit()


@pytest.mark.real_time
async def test_a_transaction_whose_answer_was_lost_is_applied_once(lossy, shop_name, shop) -> None:
    db, faults = lossy()
    table = db.table(shop_name)
    async with table.transaction() as tx:
        tx.create(Note(id="warm"))
    for fate, resent in (("answer lost", True), ("request lost", False)):
        faults.next_writes(fate)
        tx = table.transaction()
        tx.upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1))
        result = await tx.try_commit()
        assert (result.applied, result.attempts, faults.sent) == (True, 2, 2 if resent else 1)
    assert (await shop.of(Note).get(Note.key_of("a"))).rank == 2


@pytest.mark.real_time
async def test_a_transaction_that_nothing_answers_is_unknown_and_can_be_settled_later(lossy, hasty, shop_name, shop) -> None:
    db, faults = lossy(**hasty)
    table = db.table(shop_name)
    async with table.transaction() as tx:
        tx.create(Note(id="warm"))
    for first, applied in (("answer lost", True), ("request lost", False)):
        faults.next_writes(first, *["request lost"] * 200)
        tx = table.transaction()
        tx.upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1))
        with pytest.raises(sw.OutcomeUnknown, match="settle") as unknown:
            await tx.commit()
        faults.next_writes()
        result = await db.run(unknown.value.settle())
        assert bool(result) is applied
    assert (await shop.of(Note).get(Note.key_of("a"))).rank == 1


async def test_a_named_transaction_sent_again_under_its_name_changes_nothing_more(connect, shop_name, shop) -> None:
    name = f"add 1 to a, {uuid4()}"
    # Each connection stands for a process that knows nothing but the name.
    for _ in range(3):
        tx = connect().table(shop_name).transaction(token=name)
        tx.upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1))
        assert await tx.try_commit()
    assert (await shop.of(Note).get(Note.key_of("a"))).rank == 1


@pytest.mark.real_time
async def test_a_name_with_other_content_is_refused(connect, shop_name, shop) -> None:
    name = f"other content, {uuid4()}"
    for amount, fits in ((1, True), (2, False)):
        tx = connect().table(shop_name).transaction(token=name)
        tx.upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + amount))
        if fits:
            await tx.commit()
            continue
        with pytest.raises(sw.InvalidRequest, match="used with other content"):
            await tx.commit()
    assert (await shop.of(Note).get(Note.key_of("a"))).rank == 1


async def test_a_hundred_actions_are_one_transaction(shop) -> None:
    tx = shop.transaction()
    markers = [tx.create(Page(id=str(number))) for number in range(100)]
    result = await tx.commit()
    assert all(result.item_for(marker).version == 1 for marker in markers)


async def test_actions_look_alike_and_are_found_by_their_markers(shop) -> None:
    await shop.of(Registrant).create(Registrant(id="1", email="e", handle="h"))
    tx = shop.transaction()
    markers = [tx.create(Registrant(id=str(number), email="e", handle="h")) for number in range(3)]
    result = await tx.try_commit()
    assert [bool(result.refusal_of(marker) is None) for marker in markers] == [True, False, True]
