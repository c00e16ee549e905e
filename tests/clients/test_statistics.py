"""What became of the writes of a type: attempts, conflicts, recovered and unknown ones, read from its table."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw

KEY = Page.key_of("a")


async def test_writes_and_conflicts_are_counted_by_type(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a"))
    await pages.put(page.replace(text="x"))
    with pytest.raises(sw.VersionConflict):
        await pages.put(page.replace(text="y"))
    with pytest.raises(sw.VersionConflict):
        await pages.update(KEY.if_version(1), Page.text.set("z"))
    found = pages.statistics()
    assert (found.writes, found.attempts, found.conflicts, found.recovered, found.unknown, found.advice) == (4, 4, 2, 0, 0, None)
    assert shop.of(Note).statistics() == sw.Statistics()


async def test_a_condition_or_an_item_that_is_there_is_an_answer_and_no_conflict(shop) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", rank=1))
    assert not await notes.try_create(Note(id="a"))
    assert not await notes.try_update(Note.key_of("a"), Note.rank.set(2), condition=Note.rank > 5)
    assert notes.statistics().conflicts == 0


@pytest.mark.real_time
async def test_recovered_and_unknown_writes_are_counted(lossy, shop_name) -> None:
    db, faults = lossy()
    pages = db.table(shop_name).of(Page)
    faults.next_writes("answer lost")
    await pages.create(Page(id="a"))
    faults.next_writes("answer lost")
    with pytest.raises(sw.OutcomeUnknown):
        await pages.update(KEY.ignore_version(), Page.text.set("x"))
    found = pages.statistics()
    assert (found.writes, found.attempts, found.recovered, found.unknown) == (2, 3, 1, 1)


@pytest.mark.needs("transactions honour tokens")
async def test_each_action_of_a_transaction_counts_for_its_type(shop) -> None:
    page = await shop.of(Page).create(Page(id="a"))
    transaction = shop.transaction()
    transaction.put(page.replace(text="x"))
    transaction.create(Note(id="a"))
    await transaction.commit()
    late = shop.transaction()
    late.put(page.replace(text="y"))
    late.create(Note(id="b"))
    assert not await late.try_commit()
    pages, notes = shop.of(Page).statistics(), shop.of(Note).statistics()
    assert (pages.writes, pages.attempts, pages.conflicts) == (3, 3, 1)
    assert (notes.writes, notes.attempts, notes.conflicts) == (2, 2, 0)


async def test_a_hot_item_is_told_once_with_the_recipe_to_use_instead(shop) -> None:
    pages = shop.of(Page)
    stale = await pages.create(Page(id="a"))
    await pages.put(stale.replace(text="x"))

    async def lose(times: int) -> None:
        for _ in range(times):
            assert not await pages.try_put(stale.replace(text="y"))

    with pytest.warns(sw.SurewriteWarning, match="ShardedCounter") as told:
        await lose(130)
    assert len(told) == 1
    assert pages.statistics().advice in str(told[0].message)
