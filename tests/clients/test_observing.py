"""What the observer of a connection is told."""

from __future__ import annotations

import dataclasses

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw

pytestmark = pytest.mark.real_time  # a write that is sent again pauses first


@pytest.fixture
def observed(lossy, shop_name):
    """The shop over a connection that loses what a test says, the faults, and the records of its observer."""
    records: list[sw.Observation] = []
    db, faults = lossy(observer=records.append)
    return db.table(shop_name), faults, records


async def test_a_write_is_one_attempt(observed, shop_name) -> None:
    table, _, records = observed
    await table.of(Page).create(Page(id="a"))
    (record,) = records
    assert (record.kind, record.verb, record.table, record.entity, record.attempt) == ("attempt", "create", shop_name, "Page", 1)
    assert record.seconds >= 0


async def test_a_resend_is_another_attempt_and_its_recovery_is_told(observed) -> None:
    table, faults, records = observed
    faults.next_writes("answer lost")
    await table.of(Page).create(Page(id="a"))
    assert [(record.kind, record.attempt) for record in records] == [("attempt", 1), ("attempt", 2), ("recovered", 2)]


async def test_a_refusal_is_a_conflict(observed) -> None:
    table, _, records = observed
    await table.of(Note).create(Note(id="a"))
    records.clear()
    assert not await table.of(Note).try_create(Note(id="a"))
    assert [record.kind for record in records] == ["attempt", "conflict"]


async def test_an_unknown_outcome_is_told(observed) -> None:
    table, faults, records = observed
    faults.next_writes("answer lost")
    with pytest.raises(sw.OutcomeUnknown):
        await table.of(Note).upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1))
    assert [record.kind for record in records] == ["attempt", "unknown"]


async def test_records_tell_keys_apart_without_showing_them(observed) -> None:
    table, _, records = observed
    for key in ("secret-1", "secret-2"):
        await table.of(Note).put(Note(id=key, text="private"))
    await table.of(Note).put(Note(id="secret-1"))
    first, second, third = (record.key_digest for record in records)
    assert first == third != second
    assert not any(word in repr(records) for word in ("secret", "private"))


async def test_a_record_cannot_be_changed(observed) -> None:
    table, _, records = observed
    await table.of(Note).put(Note(id="a"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        records[0].kind = "conflict"


@pytest.mark.needs("transactions honour tokens")
async def test_a_transaction_is_observed_whole(observed, shop_name) -> None:
    table, _, records = observed
    async with table.transaction() as tx:
        tx.create(Note(id="a"))
        tx.create(Note(id="b"))
    assert [(record.kind, record.verb, record.table, record.attempt) for record in records] == [("attempt", "transaction", shop_name, 1)]


async def test_an_observer_that_raises_does_not_change_the_word_of_a_write(lossy, shop_name, shop) -> None:
    def spoil(observation: sw.Observation) -> None:
        raise LookupError(observation.kind)

    db, faults = lossy(observer=spoil)
    faults.next_writes("answer lost")
    with pytest.warns(sw.SurewriteWarning, match="the observer raised LookupError on '(attempt|recovered)'"):
        made = await db.table(shop_name).of(Page).create(Page(id="a"))
    assert await shop.of(Page).get(Page.key_of("a")) == made


@pytest.mark.filterwarnings("error::surewrite.SurewriteWarning")
async def test_an_observer_that_raises_does_so_neither_where_warnings_are_errors(lossy, shop_name) -> None:
    def spoil(observation: sw.Observation) -> None:
        raise LookupError(observation.kind)

    db, _ = lossy(observer=spoil)
    assert await db.table(shop_name).of(Page).try_create(Page(id="a"))
