"""create and try_create."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw


async def test_create_stores_version_one_and_returns_the_entity_with_it(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a", text="x"))
    assert page.version == 1
    assert await pages.get(Page.key_of("a")) == page


async def test_what_create_returned_can_be_put_at_once(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a"))
    assert (await pages.put(page.replace(text="x"))).version == 2


async def test_create_over_an_item_is_refused_with_that_item(shop) -> None:
    notes = shop.of(Note)
    first = await notes.create(Note(id="a", text="first"))
    with pytest.raises(sw.AlreadyExists, match="use the entity that create or get returned") as refused:
        await notes.create(Note(id="a", text="second"))
    assert refused.value.item == first
    assert refused.value.attempts == 1
    assert not refused.value.own_earlier_write
    assert await notes.get(Note.key_of("a")) == first


async def test_an_error_does_not_show_the_key_or_the_item(shop) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="private-id", text="private text"))
    with pytest.raises(sw.AlreadyExists) as refused:
        await notes.create(Note(id="private-id"))
    assert "private" not in str(refused.value)


async def test_try_create_gives_a_refusal_as_an_answer(shop) -> None:
    notes = shop.of(Note)
    applied = await notes.try_create(Note(id="a", text="first"))
    assert applied
    assert (applied.applied, applied.once, applied.recovered, applied.gone, applied.attempts) == (True, True, False, False, 1)
    refused = await notes.try_create(Note(id="a"))
    assert not refused
    assert refused.applied is False
    assert refused.reason is sw.RefusalReason.ALREADY_EXISTS
    assert refused.existing == refused.item == applied.item
    assert isinstance(refused.error(), sw.AlreadyExists)


async def test_create_over_an_item_of_another_type_is_refused(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.AlreadyExists) as refused:
        await shop.of(Note).create(Note(id="a"))
    assert refused.value.item is None


async def test_the_item_holds_key_fields_discriminator_stamp_and_birth(shop, stored) -> None:
    await shop.of(Page).create(Page(id="a", text="x"))
    item = await stored("PAGE#a", "PAGE")
    assert item is not None
    assert {name: item[name] for name in ("pk", "sk", "_type", "id", "text", "reads", "version")} == {
        "pk": {"S": "PAGE#a"},
        "sk": {"S": "PAGE"},
        "_type": {"S": "PAGE"},
        "id": {"S": "a"},
        "text": {"S": "x"},
        "reads": {"N": "0"},
        "version": {"N": "1"},
    }
    assert item["_s"] == item["_b"]
    assert item["_s"]["S"].startswith("1:")


async def test_an_item_over_the_limit_is_refused_before_anything_is_sent_and_its_largest_attributes_are_named(lossy, shop_name) -> None:
    db, faults = lossy()
    with pytest.raises(sw.InvalidRequest, match=r"stores at most 409600.*text 409000 bytes.*lines"):
        await db.table(shop_name).of(Note).create(Note(id="a", text="x" * 408_996, lines=["y" * 1_000]))
    assert faults.sent == 0


@pytest.mark.needs("an item may have 409,600 bytes")
async def test_an_item_just_under_the_limit_is_stored(shop) -> None:
    notes = shop.of(Note)
    kept = await notes.create(Note(id="a", text="x" * 409_000))
    assert await notes.get(Note.key_of("a")) == kept
