"""put and try_put."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page
from tests.typing.accepted.entities import Standing

import surewrite as sw


async def test_a_put_of_a_loaded_entity_raises_the_version(shop) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="a"))
    loaded = await pages.get(Page.key_of("a"))
    kept = await pages.put(loaded.replace(text="x"))
    assert kept == await pages.get(Page.key_of("a"))
    assert (kept.version, kept.text) == (2, "x")


async def test_a_put_after_another_write_is_a_conflict_and_changes_nothing(shop) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a"))
    theirs = await pages.put(mine.replace(text="theirs"))
    with pytest.raises(sw.VersionConflict) as conflict:
        await pages.put(mine.replace(text="mine"))
    assert conflict.value.item == theirs
    assert mine.text == ""
    assert await pages.get(Page.key_of("a")) == theirs


async def test_a_put_of_an_item_made_again_is_a_conflict_although_the_version_is_the_same(shop) -> None:
    pages = shop.of(Page)
    old = await pages.create(Page(id="a", text="old life"))
    await pages.delete(old)
    new = await pages.create(Page(id="a", text="new life"))
    assert old.version == new.version
    with pytest.raises(sw.VersionConflict):
        await pages.put(old.replace(text="x"))


async def test_a_put_of_a_deleted_item_is_not_found(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a"))
    await pages.delete(page)
    with pytest.raises(sw.ItemNotFound):
        await pages.put(page.replace(text="x"))


async def test_a_put_of_a_new_versioned_entity_is_a_create(shop) -> None:
    pages = shop.of(Page)
    assert (await pages.put(Page(id="a"))).version == 1
    with pytest.raises(sw.AlreadyExists):
        await pages.put(Page(id="a"))


async def test_a_put_keeps_attributes_that_the_type_does_not_declare(shop, store, stored) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}, "extra": {"M": {"n": {"N": "1"}}}})
    notes = shop.of(Note)
    note = await notes.get(Note.key_of("a"))
    await notes.put(note.replace(text="x"))
    item = await stored("NOTE#a", "TEXT")
    assert item is not None
    assert item["extra"] == {"M": {"n": {"N": "1"}}}


async def test_a_put_of_a_loaded_entity_keeps_the_birth_and_a_new_one_begins_a_life(shop, stored) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a"))
    born = (await stored("NOTE#a", "TEXT"))["_b"]
    await notes.put((await notes.get(Note.key_of("a"))).replace(text="x"))
    assert (await stored("NOTE#a", "TEXT"))["_b"] == born
    await notes.put(Note(id="a"))
    assert (await stored("NOTE#a", "TEXT"))["_b"] != born


async def test_a_put_without_a_version_replaces_whatever_is_stored(shop) -> None:
    notes = shop.of(Note)
    await notes.put(Note(id="a", text="first", tags=frozenset({"x"})))
    second = await notes.put(Note(id="a", text="second"))
    assert await notes.get(Note.key_of("a")) == second


async def test_if_unchanged_refuses_after_another_write(shop) -> None:
    notes = shop.of(Note)
    mine = await notes.put(Note(id="a"))
    theirs = await notes.put(mine.replace(text="theirs"), if_unchanged=True)
    with pytest.raises(sw.VersionConflict) as conflict:
        await notes.put(mine.replace(text="mine"), if_unchanged=True)
    assert conflict.value.item == theirs


async def test_if_unchanged_of_an_entity_that_was_never_stored_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="get it first"):
        await shop.of(Note).put(Note(id="a"), if_unchanged=True)


async def test_a_condition_that_does_not_hold_refuses_with_the_item(shop) -> None:
    notes = shop.of(Note)
    first = await notes.put(Note(id="a", rank=1))
    with pytest.raises(sw.ConditionFailed) as refused:
        await notes.put(Note(id="a", rank=2), condition=Note.rank > 5)
    assert refused.value.item == first


async def test_a_condition_that_nothing_satisfies_where_nothing_is_stored_is_not_found(shop) -> None:
    with pytest.raises(sw.ItemNotFound):
        await shop.of(Note).put(Note(id="a"), condition=Note.rank > 5)


async def test_a_conflict_of_the_version_comes_before_a_failed_condition(shop) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a"))
    await pages.put(mine.replace(text="theirs"))
    refused = await pages.try_put(mine, condition=Page.text == "never")
    assert refused.reason is sw.RefusalReason.VERSION_CONFLICT


async def test_a_condition_beside_the_version_of_a_loaded_entity_is_checked(shop) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a", text="x"))
    assert (await pages.try_put(mine, condition=Page.text == "y")).reason is sw.RefusalReason.CONDITION_FAILED
    assert await pages.try_put(mine, condition=Page.text == "x")


async def test_returning_old_gives_what_was_replaced(shop) -> None:
    notes = shop.of(Note)
    first = Note(id="a", text="first")
    assert await notes.put(first, returning="old") is None
    replaced = await notes.put(Note(id="a", text="second"), returning="old")
    assert replaced == first


async def test_an_order_lets_only_newer_states_pass(shop) -> None:
    standings = shop.of(Standing)
    for seq, stored_seq in ((5, 5), (3, 5), (5, 5), (9, 9)):
        standing = Standing(team="x", points=seq, seq=seq)
        await standings.try_put(standing, condition=Standing.seq.not_exists_or_lt(seq))
        assert (await standings.get(Standing.key_of("x"))).seq == stored_seq


async def test_a_changed_key_makes_a_new_entity(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a", text="x"))
    other = await pages.put(page.replace(id="b"))
    assert (other.version, other.text) == (1, "x")
    assert await pages.get(Page.key_of("a")) == page


async def test_an_entity_of_another_type_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="Page is no Note"):
        await shop.of(Note).put(Page(id="a"))


async def test_a_refused_put_leaves_the_entity_as_it_was(shop) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a"))
    await pages.put(mine.replace(text="theirs"))
    before = repr(mine)
    assert not await pages.try_put(mine)
    assert repr(mine) == before
