"""transact_get."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page, Session

import surewrite as sw


async def test_items_are_read_in_the_order_of_the_keys_and_missing_ones_are_none(shop) -> None:
    note = await shop.of(Note).create(Note(id="a", text="x"))
    page = await shop.of(Page).create(Page(id="a"))
    assert await shop.transact_get(Page.key_of("a"), Note.key_of("b"), Note.key_of("a")) == (page, None, note)


async def test_what_was_read_can_be_put(shop) -> None:
    await shop.of(Page).create(Page(id="a"))
    (page,) = await shop.transact_get(Page.key_of("a"))
    assert (await shop.of(Page).put(page.replace(text="x"))).version == 2


async def test_an_expired_item_is_none(shop, store) -> None:
    await store({"pk": {"S": "SESSION#a"}, "sk": {"S": "SESSION"}, "id": {"S": "a"}, "ttl": {"N": "1000"}})
    assert await shop.transact_get(Session.key_of("a")) == (None,)


async def test_no_keys_are_no_read(shop) -> None:
    assert await shop.transact_get() == ()


async def test_more_than_a_hundred_keys_are_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="reads at most 100"):
        await shop.transact_get(*(Note.key_of(str(number)) for number in range(101)))


@pytest.mark.needs("a transactional get reads a hundred items")
async def test_a_hundred_items_are_read_at_one_moment(shop) -> None:
    keys = [Note.key_of(str(number)) for number in range(100)]
    await shop.of(Note).create(Note(id="99"))
    assert await shop.transact_get(*keys) == (*[None] * 99, Note(id="99"))


async def test_an_item_of_another_type_raises(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.WrongEntityType):
        await shop.transact_get(Note.key_of("a"))


async def test_a_missing_table_is_told_with_the_code_of_the_service(db) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"no table 'surewrite-test-no-such-table' at .*create_table.*region.*endpoint") as missing:
        await db.table("surewrite-test-no-such-table").transact_get(Note.key_of("a"))
    assert missing.value.code == "ResourceNotFoundException"
