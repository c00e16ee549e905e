"""get_many, put_many, delete_many and the raw batches: a result for each item, whatever befalls the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.clients.entities import Note, Page, Session

import surewrite as sw

NO_ITEM = Note.key_of("none")


async def test_get_many_gives_a_result_for_each_key_in_order(shop) -> None:
    notes = shop.of(Note)
    stored = [await notes.create(Note(id=f"{number:03d}", rank=number)) for number in range(3)]
    keys = [Note.key_of("002"), NO_ITEM, Note.key_of("000"), Note.key_of("002"), Note.key_of("001")]
    assert await notes.get_many(keys, consistent=True) == [stored[2], None, stored[0], stored[2], stored[1]]
    assert await notes.get_many([]) == []


async def test_get_many_asks_for_more_keys_than_one_request_takes(shop) -> None:
    notes = shop.of(Note)
    await notes.put_many([Note(id=f"{number:03d}", rank=number) for number in range(120)])
    seen: list[tuple[int, int]] = []
    keys = [Note.key_of(f"{number:03d}") for number in range(130)]
    found = await notes.get_many(keys, consistent=True, progress=lambda done, total: seen.append((done, total)))
    assert [note.rank if note is not None else None for note in found] == [*range(120), *[None] * 10]
    assert seen == [(100, 130), (130, 130)]


async def test_get_many_of_several_types(shop, store) -> None:
    note, page = await shop.of(Note).create(Note(id="a")), await shop.of(Page).create(Page(id="a"))
    await shop.of(Session).put(Session(id="a", ends_at=datetime.now(UTC) - timedelta(hours=1)))
    assert await shop.get_many([Page.key_of("a"), Session.key_of("a"), Note.key_of("a")]) == [page, None, note]
    with pytest.raises(sw.InvalidRequest, match=r"write Note\.key_of"):
        await shop.of(Note).get_many([Page.key_of("a")])
    with pytest.raises(sw.InvalidRequest, match="expected a key"):
        await shop.of(Note).get_many([note])


async def test_put_many_gives_a_result_for_each_entity_in_order(shop) -> None:
    pages = shop.of(Page)
    taken = await pages.create(Page(id="1", text="taken"))
    results = await pages.put_many([Page(id=str(number)) for number in range(4)])
    assert [bool(result) for result in results] == [True, False, True, True]
    assert [result.given.id for result in results] == ["0", "1", "2", "3"]
    assert results[0].item == await pages.get(Page.key_of("0"))
    assert results[0].item.version == 1
    assert results[1].outcome.existing == taken
    with pytest.raises(sw.AlreadyExists):
        _ = results[1].item


async def test_put_many_checks_versions(shop) -> None:
    pages = shop.of(Page)
    loaded = [await pages.create(Page(id=str(number))) for number in range(3)]
    await pages.update(loaded[1], Page.reads.add(1))
    results = await pages.put_many([page.replace(text="new") for page in loaded], parallel=2)
    assert [bool(result) for result in results] == [True, False, True]
    assert results[1].outcome.reason is sw.RefusalReason.VERSION_CONFLICT
    assert [(await pages.get(Page.key_of(str(number)))).text for number in range(3)] == ["new", "", "new"]


async def test_what_is_wrong_with_one_item_stops_no_other(shop) -> None:
    notes = shop.of(Note)
    results = await notes.put_many([Note(id="a"), Page(id="b"), Note(id="c", text="x" * 500_000), Note(id="d")])
    assert [bool(result) for result in results] == [True, False, False, True]
    assert "Page is no Note" in str(results[1].error)
    assert "409600" in str(results[2].error)
    with pytest.raises(sw.InvalidRequest):
        _ = results[2].item


async def test_of_several_items_with_one_key_the_last_is_written_and_the_others_say_so(shop) -> None:
    notes = shop.of(Note)
    for write in (notes.put_many, notes.unsafe_batch_put):
        results = await write([Note(id="a", text="1"), Note(id="b"), Note(id="a", text="2"), Note(id="a", text="3")])
        assert [(bool(result), result.superseded_by) for result in results] == [(False, 3), (True, None), (False, 3), (True, None)]
        assert (await notes.get(Note.key_of("a"))).text == "3"
        with pytest.raises(sw.InvalidRequest, match="item 3 of the same call"):
            _ = results[0].item


async def test_delete_many_deletes_and_tells_what_was_not_there(shop) -> None:
    pages = shop.of(Page)
    loaded = [await pages.create(Page(id=str(number))) for number in range(3)]
    await pages.update(loaded[0], Page.reads.add(1))
    results = await pages.delete_many([*loaded[:2], Page.key_of("2").if_version(1), Page.key_of("9").ignore_version()])
    assert [bool(result) for result in results] == [False, True, True, False]
    assert results[0].outcome.reason is sw.RefusalReason.VERSION_CONFLICT
    assert results[1].item == loaded[1]
    assert results[3].outcome.reason is sw.RefusalReason.ITEM_NOT_FOUND
    assert [page.id async for page in pages.scan()] == ["0"]


async def test_a_key_that_demands_nothing_of_the_version_is_the_error_of_its_item(shop) -> None:
    [result] = await shop.of(Page).delete_many([Page.key_of("a")])
    assert "say key.if_version(n)" in str(result.error)


async def test_progress_is_told_of_each_item_and_what_it_raises_ends_the_call(shop) -> None:
    notes = shop.of(Note)
    seen: list[tuple[int, int]] = []
    await notes.put_many([Note(id=str(number)) for number in range(9)], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 9) for number in range(1, 10)]

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyError(total)

    with pytest.raises(KeyError):
        await notes.put_many([Note(id=f"x{number}") for number in range(50)], parallel=2, progress=stop)
    left = [note.id async for note in notes.scan() if note.id.startswith("x")]
    assert 3 <= len(left) <= 5


@pytest.mark.parametrize("parallel", [0, -1, True, 1.5, 10_000])
async def test_a_number_of_writes_at_a_time_that_makes_no_sense_is_refused(shop, parallel: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="parallel is how many"):
        await shop.of(Note).put_many([Note(id="a")], parallel=parallel)


@pytest.mark.real_time  # a write that is sent again pauses first
async def test_a_bulk_write_recognises_its_own_write_after_a_lost_answer(lossy, shop_name) -> None:
    db, faults = lossy()
    pages = db.table(shop_name).of(Page)
    # One answer: a second could meet the resend of the same item, and which it meets is up to the threads.
    faults.next_writes("answer lost")
    results = await pages.put_many([Page(id=str(number)) for number in range(4)])
    assert [result.error for result in results] == [None] * 4
    assert all(results)
    assert sum(result.outcome.recovered for result in results) == 1
    loaded = [result.item for result in results]
    faults.next_writes("answer lost")
    assert all(await pages.put_many([page.replace(text="x") for page in loaded]))


async def test_raw_batches_store_and_remove_whatever_is_there(shop, store) -> None:
    notes = shop.of(Note)
    await store({"pk": {"S": "NOTE#07"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    results = await notes.unsafe_batch_put([Note(id=f"{number:02d}") for number in range(30)])
    assert all(results)
    assert {result.outcome.once for result in results} == {True}
    assert len([note async for note in notes.scan()]) == 30
    # What a raw batch stored is as good as what a put stored.
    assert await notes.put(results[7].item.replace(text="x"), if_unchanged=True)
    gone = await notes.unsafe_batch_delete([Note.key_of("00"), results[1].item, NO_ITEM])
    assert [bool(result) for result in gone] == [True, True, True]
    assert len([note async for note in notes.scan()]) == 28


async def test_raw_batches_are_refused_for_types_with_a_version(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="use put_many"):
        await shop.of(Page).unsafe_batch_put([Page(id="a")])
    with pytest.raises(sw.InvalidRequest, match="use delete_many"):
        await shop.of(Page).unsafe_batch_delete([Page.key_of("a")])


async def test_a_raw_batch_into_a_missing_table_is_the_error_of_each_item(db) -> None:
    results = await db.table("surewrite-test-no-such-table").of(Note).unsafe_batch_put([Note(id="a"), Note(id="b")])
    assert [result.error.code for result in results] == ["ResourceNotFoundException"] * 2


async def test_a_bulk_write_inside_a_body_that_is_retried_counts_as_a_write_of_it(shop, db) -> None:
    notes, pages = shop.of(Note), shop.of(Page)
    page = await pages.create(Page(id="p"))
    await pages.update(page, Page.reads.add(1))
    runs = 0

    @db.retry_on_conflict()
    async def body() -> None:
        nonlocal runs
        runs += 1
        assert all(await notes.put_many([Note(id=f"{runs}{number}") for number in range(3)]))
        await pages.put(page.replace(text="x"))

    with pytest.raises(sw.VersionConflict):
        await body()
    assert runs == 1
