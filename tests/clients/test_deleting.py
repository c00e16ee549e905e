"""delete and try_delete."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw


async def test_a_delete_returns_what_it_removed(shop) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="a", text="x"))
    assert await notes.delete(Note.key_of("a")) == note
    assert await notes.get_or_none(Note.key_of("a")) is None


async def test_a_delete_of_nothing_is_not_found(shop) -> None:
    with pytest.raises(sw.ItemNotFound):
        await shop.of(Note).delete(Note.key_of("a"))
    outcome = await shop.of(Note).try_delete(Note.key_of("a"))
    assert (outcome.reason, outcome.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)


async def test_a_delete_of_a_loaded_entity_checks_it(shop) -> None:
    pages = shop.of(Page)
    old = await pages.create(Page(id="a"))
    new = await pages.put(old.replace(text="x"))
    with pytest.raises(sw.VersionConflict) as conflict:
        await pages.delete(old)
    assert conflict.value.item == new
    assert await pages.delete(new) == new


async def test_a_delete_of_a_loaded_entity_never_takes_another_life(shop) -> None:
    pages = shop.of(Page)
    old = await pages.create(Page(id="a"))
    await pages.delete(old)
    new = await pages.create(Page(id="a"))
    with pytest.raises(sw.VersionConflict):
        await pages.delete(old)
    assert await pages.get(Page.key_of("a")) == new


async def test_a_delete_by_version_checks_the_number(shop) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="a"))
    with pytest.raises(sw.VersionConflict):
        await pages.delete(Page.key_of("a").if_version(2))
    await pages.delete(Page.key_of("a").if_version(1))
    assert await pages.get_or_none(Page.key_of("a")) is None


async def test_a_delete_may_ignore_the_version_if_it_says_so(shop) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="a"))
    with pytest.raises(sw.InvalidRequest, match="has a version"):
        await pages.delete(Page.key_of("a"))
    await pages.delete(Page.key_of("a").ignore_version())
    assert await pages.get_or_none(Page.key_of("a")) is None


async def test_a_condition_guards_the_delete(shop) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="a", rank=1))
    with pytest.raises(sw.ConditionFailed) as refused:
        await notes.delete(Note.key_of("a"), condition=Note.rank == 2)
    assert refused.value.item == note
    assert await notes.delete(Note.key_of("a"), condition=Note.rank == 1) == note


async def test_if_unchanged_adds_the_stamp(shop) -> None:
    notes = shop.of(Note)
    old = await notes.create(Note(id="a"))
    new = await notes.put(old.replace(text="x"))
    with pytest.raises(sw.VersionConflict):
        await notes.delete(old, if_unchanged=True)
    assert await notes.delete(new, if_unchanged=True) == new


async def test_without_a_version_an_entity_means_its_key(shop) -> None:
    notes = shop.of(Note)
    old = await notes.create(Note(id="a"))
    new = await notes.put(old.replace(text="x"))
    assert await notes.delete(old) == new


async def test_a_delete_of_an_item_of_another_type_is_refused(shop, store, stored) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.WrongEntityType):
        await shop.of(Note).delete(Note.key_of("a"))
    assert await stored("NOTE#a", "TEXT") is not None
