"""What a transaction refuses before anything is sent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.clients.entities import Note, Page, Session

import surewrite as sw


async def test_a_transaction_without_an_action_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="has no action"):
        await shop.transaction().commit()


async def test_more_than_a_hundred_actions_are_refused(shop) -> None:
    tx = shop.transaction()
    for number in range(101):
        tx.create(Note(id=str(number)))
    with pytest.raises(sw.InvalidRequest, match=r"has 101 actions, .* and the service takes 100"):
        await tx.commit()


async def test_more_than_four_megabytes_are_refused(shop) -> None:
    tx = shop.transaction()
    for number in range(11):
        tx.create(Note(id=str(number), text="x" * 400_000))
    with pytest.raises(sw.InvalidRequest, match="bytes and the service takes"):
        await tx.commit()


@pytest.mark.parametrize("place_name", ["memory", "file"])
async def test_letters_outside_ascii_count_as_what_is_sent(shop) -> None:
    """Three megabytes of text, which would be six and more with every letter escaped."""
    tx = shop.transaction()
    for number in range(15):
        tx.create(Note(id=str(number), text="é" * 100_000))
    await tx.commit()
    assert len((await shop.of(Note).get(Note.key_of("14"))).text) == 100_000


@pytest.mark.parametrize(("token", "reason"), [("", "must not be empty"), (7, "takes str, not int"), ("\ud800", "UTF-8")])
async def test_a_token_names_an_operation(shop, token, reason) -> None:
    with pytest.raises(sw.InvalidRequest, match=f"the token of a transaction .*{reason}"):
        shop.transaction(token=token)


async def test_two_writes_of_one_item_are_refused_and_both_markers_named(shop) -> None:
    tx = shop.transaction()
    tx.create(Note(id="a"))
    tx.update(Note.key_of("a"), Note.rank.add(1))
    with pytest.raises(sw.InvalidRequest, match=r"create Note \(action 1\) and update Note \(action 2\) write one item"):
        await tx.commit()


async def test_a_versioned_key_has_to_say_what_the_version_must_be(shop) -> None:
    for add in (lambda tx: tx.update(Page.key_of("a"), Page.reads.add(1)), lambda tx: tx.delete(Page.key_of("a"))):
        tx = shop.transaction()
        add(tx)
        with pytest.raises(sw.InvalidRequest, match="has a version"):
            await tx.commit()


async def test_a_named_transaction_cannot_hold_the_time(shop) -> None:
    tx = shop.transaction(token="name")
    tx.create(Session(id="a", ends_at=datetime(2099, 1, 1, tzinfo=UTC)))
    with pytest.raises(sw.InvalidRequest, match="leave token= out"):
        await tx.commit()


async def test_a_transaction_that_was_refused_before_it_was_sent_can_be_mended(shop) -> None:
    tx = shop.transaction()
    with pytest.raises(sw.InvalidRequest):
        await tx.commit()
    tx.create(Note(id="a"))


async def test_an_error_in_the_block_sends_nothing(shop) -> None:

    async def fail() -> None:
        async with shop.transaction() as tx:
            tx.create(Note(id="a"))
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert await shop.of(Note).get_or_none(Note.key_of("a")) is None


@pytest.mark.needs("transactions honour tokens")
async def test_a_committed_transaction_takes_nothing_more(shop) -> None:
    tx = shop.transaction()
    tx.create(Note(id="a"))
    await tx.commit()
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        tx.create(Note(id="b"))
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        await tx.commit()
