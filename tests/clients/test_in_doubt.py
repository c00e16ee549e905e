"""Lost answers and lost requests, as far as one writer sees them: which writes are sent again, and which word each ends with."""

from __future__ import annotations

from datetime import date

import pytest
from tests.clients.entities import Note, Page
from tests.typing.accepted.entities import DailyTally, PageViews

import surewrite as sw

pytestmark = pytest.mark.real_time  # a write that is sent again pauses first

DAY = date(2026, 11, 29)


@pytest.fixture
def faulty(lossy, shop_name):
    """The shop over a connection that loses what a test says, and the faults."""
    db, faults = lossy()
    return db.table(shop_name), faults


async def test_a_create_whose_answer_was_lost_finds_itself(faulty, shop) -> None:
    table, faults = faulty
    faults.next_writes("answer lost")
    outcome = await table.of(Page).try_create(Page(id="a"))
    assert (outcome.applied, outcome.recovered, outcome.attempts) == (True, True, 2)
    assert await shop.of(Page).get(Page.key_of("a")) == outcome.item


async def test_a_create_whose_request_was_lost_is_made_by_the_resend(faulty) -> None:
    table, faults = faulty
    faults.next_writes("request lost")
    outcome = await table.of(Page).try_create(Page(id="a"))
    assert (outcome.applied, outcome.recovered, outcome.attempts, faults.sent) == (True, False, 2, 1)


async def test_a_create_over_the_item_of_another_is_unknown_after_a_lost_answer(faulty, shop) -> None:
    table, faults = faulty
    theirs = await shop.of(Page).create(Page(id="a", text="theirs"))
    faults.next_writes("answer lost")
    with pytest.raises(sw.OutcomeUnknown) as unknown:
        await table.of(Page).create(Page(id="a", text="mine"))
    assert unknown.value.item == theirs
    assert unknown.value.attempts == 2
    assert unknown.value.plan.verb == "create"
    with pytest.raises(sw.InvalidRequest, match="only a transaction can be settled"):
        unknown.value.settle()


@pytest.mark.parametrize("fate", ["answer lost", "request lost"])
async def test_a_save_is_applied_once(faulty, fate) -> None:
    table, faults = faulty
    pages = table.of(Page)
    page = await pages.create(Page(id="a"))
    faults.next_writes(fate)
    outcome = await pages.try_put(page.replace(text="x"))
    assert (outcome.applied, outcome.once, outcome.recovered) == (True, True, fate == "answer lost")
    assert outcome.item.version == 2
    assert await pages.put(outcome.item.replace(text="y"))


@pytest.mark.parametrize("fate", ["answer lost", "request lost"])
async def test_an_update_of_a_loaded_entity_counts_once(faulty, fate) -> None:
    table, faults = faulty
    pages = table.of(Page)
    page = await pages.create(Page(id="a"))
    faults.next_writes(fate)
    outcome = await pages.try_update(page, Page.reads.add(1))
    assert (outcome.item.reads, outcome.item.version, outcome.once) == (1, 2, True)


@pytest.mark.parametrize("fate", ["answer lost", "request lost"])
async def test_an_add_without_a_guard_is_never_sent_again(faulty, shop, fate) -> None:
    table, faults = faulty
    await shop.of(PageViews).create(PageViews(path="/"))
    faults.next_writes(fate)
    with pytest.raises(sw.OutcomeUnknown) as unknown:
        await table.of(PageViews).update(PageViews.key_of("/"), PageViews.count.add(1))
    assert unknown.value.attempts == 1
    assert (await shop.of(PageViews).get(PageViews.key_of("/"))).count == (1 if fate == "answer lost" else 0)


async def test_an_add_is_sent_again_if_the_caller_says_so_and_then_counts_twice(faulty) -> None:
    table, faults = faulty
    faults.next_writes("answer lost")
    outcome = await table.of(PageViews).try_upsert(PageViews.key_of("/"), PageViews.count.add(1), in_doubt="resend")
    assert (outcome.item.count, outcome.once) == (2, False)


async def test_an_append_without_a_guard_is_never_sent_again(faulty, shop) -> None:
    table, faults = faulty
    faults.next_writes("answer lost")
    with pytest.raises(sw.OutcomeUnknown):
        await table.of(Note).upsert(Note.key_of("a"), Note.lines.append("x"))
    assert (await shop.of(Note).get(Note.key_of("a"))).lines == ["x"]


async def test_an_update_that_ignores_the_version_is_never_sent_again(faulty) -> None:
    table, faults = faulty
    await table.of(Page).create(Page(id="a"))
    faults.next_writes("answer lost")
    with pytest.raises(sw.OutcomeUnknown):
        await table.of(Page).update(Page.key_of("a").ignore_version(), Page.text.set("x"))


async def test_a_write_of_constants_is_sent_again_and_does_not_claim_to_have_happened_once(faulty) -> None:
    table, faults = faulty
    notes = table.of(Note)
    await notes.create(Note(id="a"))
    for write in (
        lambda: notes.try_put(Note(id="a", text="x")),
        lambda: notes.try_update(Note.key_of("a"), Note.text.set("y")),
        lambda: notes.try_update(Note.key_of("a"), Note.tags.add("t")),
        lambda: notes.try_upsert(Note.key_of("a"), Note.text.set("z")),
    ):
        faults.next_writes("answer lost")
        outcome = await write()
        assert (outcome.applied, outcome.once, outcome.attempts, faults.sent) == (True, False, 2, 2)
    assert await notes.get(Note.key_of("a")) == Note(id="a", text="z", tags=frozenset({"t"}))


@pytest.mark.parametrize("verb", ["put", "update", "upsert", "delete"])
async def test_in_doubt_raise_ends_at_the_first_lost_answer(faulty, shop, verb) -> None:
    table, faults = faulty
    notes, key = table.of(Note), Note.key_of("a")
    await notes.create(Note(id="a"))
    faults.next_writes("answer lost")
    calls = {
        "put": lambda: notes.put(Note(id="a", text="x"), in_doubt="raise"),
        "update": lambda: notes.update(key, Note.text.set("x"), in_doubt="raise"),
        "upsert": lambda: notes.upsert(key, Note.text.set("x"), in_doubt="raise"),
        "delete": lambda: notes.delete(key, in_doubt="raise"),
    }
    with pytest.raises(sw.OutcomeUnknown) as unknown:
        await calls[verb]()
    assert (unknown.value.attempts, faults.sent) == (1, 1)


async def test_an_operation_id_in_a_set_guards_the_add(faulty) -> None:
    table, faults = faulty
    tallies, key = table.of(DailyTally), DailyTally.key_of("signups", DAY)
    for request in ("r1", "r2", "r1"):
        faults.next_writes("answer lost")
        outcome = await tallies.try_upsert(key, DailyTally.count.add(1), DailyTally.seen.add(request), condition=~DailyTally.seen.contains(request))
        # That the id was there before the first attempt, or came by it, look the same: counted is counted.
        assert outcome.applied
    assert (await tallies.get(key)).count == 2


async def test_an_order_guards_the_write_that_raises_it(faulty) -> None:
    table, faults = faulty
    notes, key = table.of(Note), Note.key_of("a")
    await notes.create(Note(id="a", rank=1))
    faults.next_writes("answer lost")
    outcome = await notes.try_update(key, Note.rank.set(2), Note.lines.append("two"), condition=Note.rank < 2)
    assert (outcome.applied, outcome.once, outcome.recovered) == (True, True, True)
    assert outcome.item.lines == ["two"]


async def test_a_delete_whose_resend_finds_nothing_is_gone(faulty) -> None:
    table, faults = faulty
    notes = table.of(Note)
    await notes.create(Note(id="a"))
    faults.next_writes("answer lost")
    outcome = await notes.try_delete(Note.key_of("a"))
    assert (outcome.applied, outcome.gone, outcome.item, outcome.attempts) == (True, True, None, 2)
    await notes.create(Note(id="a"))
    faults.next_writes("answer lost")
    assert await notes.delete(Note.key_of("a")) is None


async def test_a_delete_of_a_loaded_entity_never_takes_the_next_life_when_it_is_sent_again(faulty, shop) -> None:
    table, faults = faulty
    page = await table.of(Page).create(Page(id="a"))
    await shop.of(Page).delete(page)
    again = await shop.of(Page).create(Page(id="a"))
    faults.next_writes("answer lost")
    outcome = await table.of(Page).try_delete(page)
    assert (outcome.applied, outcome.gone) == (True, True)
    assert await shop.of(Page).get(Page.key_of("a")) == again


async def test_the_old_item_that_was_in_a_lost_answer_is_told_as_lost(faulty, shop) -> None:
    table, faults = faulty
    await table.of(Note).create(Note(id="a", text="old"))
    faults.next_writes("answer lost")
    with pytest.raises(sw.OldItemLost):
        await table.of(Note).put(Note(id="a", text="new"), returning="old")
    assert (await shop.of(Note).get(Note.key_of("a"))).text == "new"


async def test_a_write_of_which_nothing_was_sent_is_sent_again_and_happened_once(faulty) -> None:
    table, faults = faulty
    faults.next_writes("not sent", "not sent")
    outcome = await table.of(PageViews).try_upsert(PageViews.key_of("/"), PageViews.count.add(1))
    assert (outcome.item.count, outcome.once, outcome.attempts) == (1, True, 3)


async def test_a_write_that_is_never_sent_failed_to_connect(lossy, hasty, shop_name) -> None:
    db, faults = lossy(**hasty)
    faults.next_writes(*["not sent"] * 64)
    with pytest.raises(sw.ConnectionFailed, match="trying again is safe"):
        await db.table(shop_name).of(PageViews).upsert(PageViews.key_of("/"), PageViews.count.add(1))


async def test_a_write_whose_answers_are_all_lost_is_unknown_at_the_deadline(lossy, hasty, shop_name) -> None:
    db, faults = lossy(**hasty)
    faults.next_writes(*["answer lost"] * 64)
    with pytest.raises(sw.OutcomeUnknown) as unknown:
        await db.table(shop_name).of(Page).create(Page(id="a"))
    assert unknown.value.attempts > 1
    # A later write that meets this one is told whose it was.
    faults.next_writes()
    refused = await db.table(shop_name).of(Page).try_create(Page(id="a", text="again"))
    assert refused.own_earlier_write
    assert refused.error().own_earlier_write
