"""get and get_or_none, and what stored items read as."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw


async def test_get_raises_where_no_item_is_stored(shop) -> None:
    key = Note.key_of("a")
    with pytest.raises(sw.ItemNotFound) as missing:
        await shop.of(Note).get(key)
    assert missing.value.key == key
    assert isinstance(missing.value, LookupError)


async def test_get_or_none_gives_none_where_no_item_is_stored(shop) -> None:
    assert await shop.of(Note).get_or_none(Note.key_of("a")) is None


@pytest.mark.parametrize("consistent", [None, True, False])
async def test_a_read_finds_the_item_however_consistent(shop, consistent: bool | None) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="a", text="x"))
    # An eventually consistent read may miss the item on the real service; it never finds another one.
    found = await notes.get_or_none(Note.key_of("a"), consistent=consistent)
    assert found == note or (found is None and consistent is not True)


async def test_every_kind_of_value_comes_back_as_it_was(shop) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="ä", text="", lines=["b", "", "a"], tags=frozenset({"x", "y"}), rank=-3))
    assert await notes.get(Note.key_of("ä")) == note


async def test_a_missing_optional_attribute_and_a_stored_null_read_as_none(shop, store) -> None:
    notes = shop.of(Note)
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}})
    await store({"pk": {"S": "NOTE#b"}, "sk": {"S": "TEXT"}, "id": {"S": "b"}, "rank": {"NULL": True}})
    assert await notes.get(Note.key_of("a")) == Note(id="a")
    assert (await notes.get(Note.key_of("b"))).rank is None


async def test_an_item_without_discriminator_is_read(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}, "text": {"S": "by another program"}})
    assert (await shop.of(Note).get(Note.key_of("a"))).text == "by another program"


async def test_an_item_of_another_type_raises(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}, "_type": {"S": "OTHER"}})
    for read in (shop.of(Note).get, shop.of(Note).get_or_none):
        with pytest.raises(sw.WrongEntityType) as wrong:
            await read(Note.key_of("a"))
        assert wrong.value.stored_type == "OTHER"


async def test_an_item_that_does_not_fit_raises_and_names_the_field(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}, "text": {"N": "3"}})
    with pytest.raises(sw.UndecodableItem) as unfit:
        await shop.of(Note).get(Note.key_of("a"))
    assert (unfit.value.entity, unfit.value.field, unfit.value.stored_type) == (Note, "text", "N")


async def test_a_key_of_another_type_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"write Note\.key_of"):
        await shop.of(Note).get(Page.key_of("a"))


async def test_a_table_that_is_missing_is_told_with_the_code_of_the_service(db) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"no table 'surewrite-test-no-such-table' at .*create_table.*region.*endpoint") as missing:
        await db.table("surewrite-test-no-such-table").of(Note).get(Note.key_of("a"))
    assert missing.value.code == "ResourceNotFoundException"


async def test_a_write_into_a_missing_table_is_told_with_the_code_of_the_service(db) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"no table 'surewrite-test-no-such-table' at .*create_table.*region.*endpoint") as missing:
        await db.table("surewrite-test-no-such-table").of(Note).create(Note(id="a"))
    assert missing.value.code == "ResourceNotFoundException"


@pytest.mark.parametrize("place_name", ["memory", "file"])
async def test_a_transaction_on_missing_tables_is_told_with_their_names(db) -> None:
    tx = db.table("surewrite-test-no-such-table").transaction()
    tx.create(Note(id="a"))
    tx.on(db.table("surewrite-test-no-other-table")).create(Note(id="b"))
    with pytest.raises(sw.InvalidRequest, match=r"surewrite-test-no-such-table.*create_table"):
        await tx.commit()


async def test_what_is_no_key_is_refused_and_of_an_entity_its_key_is_spelled_out(shop) -> None:
    note = await shop.of(Note).create(Note(id="a"))
    for call in (lambda: shop.of(Note).get(note), lambda: shop.of(Note).modify(note, lambda n: n), lambda: shop.of(Note).get_many([note])):
        with pytest.raises(sw.InvalidRequest, match=r"not Note: write Note\.key_of\(entity\)"):
            await call()
    with pytest.raises(sw.InvalidRequest, match=r"not str: write Note\.key_of\(\.\.\.\)"):
        await shop.of(Note).get("a")
