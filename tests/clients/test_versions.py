"""What a write says of the version, and items that carry none, zero or a negative one."""

from __future__ import annotations

import pytest
from tests.clients.entities import Page

import surewrite as sw

KEY = Page.key_of("a")


def item(**attributes) -> dict:
    return {"pk": {"S": "PAGE#a"}, "sk": {"S": "PAGE"}, "id": {"S": "a"}, "text": {"S": "x"}, "reads": {"N": "0"}} | attributes


@pytest.mark.parametrize("version", [0, -7, 1, 10**20])
async def test_any_whole_number_is_a_version(shop, store, version: int) -> None:
    pages = shop.of(Page)
    await store(item(version={"N": str(version)}))
    loaded = await pages.get(KEY)
    assert loaded.version == version
    kept = await pages.put(loaded.replace(text="y"))
    assert kept.version == version + 1
    changed = await pages.update(KEY.if_version(version + 1), Page.reads.add(1))
    assert changed.version == version + 2
    assert await pages.delete(KEY.if_version(version + 2)) == changed


async def test_zero_is_not_the_same_as_none(shop, store) -> None:
    pages = shop.of(Page)
    await store(item(version={"N": "0"}))
    with pytest.raises(sw.VersionConflict):
        await pages.update(KEY.if_version(None), Page.reads.add(1))
    await store(item())
    with pytest.raises(sw.VersionConflict):
        await pages.update(KEY.if_version(0), Page.reads.add(1))


@pytest.mark.parametrize("version", [{}, {"version": {"NULL": True}}])
async def test_an_item_without_a_version_is_adopted_by_if_version_none(shop, store, version) -> None:
    await store(item(**version))
    adopted = await shop.of(Page).update(KEY.if_version(None), Page.reads.add(1))
    assert (adopted.version, adopted.reads, adopted.text) == (1, 1, "x")


@pytest.mark.parametrize("version", [{}, {"version": {"NULL": True}}])
async def test_an_item_without_a_version_is_adopted_by_the_loaded_entity(shop, store, stored, version) -> None:
    pages = shop.of(Page)
    await store(item(**version))
    loaded = await pages.get(KEY)
    assert loaded.version is None
    kept = await pages.put(loaded.replace(text="y"))
    assert kept.version == 1
    assert (await stored("PAGE#a", "PAGE"))["version"] == {"N": "1"}
    with pytest.raises(sw.VersionConflict):
        await pages.put(loaded.replace(text="z"))


@pytest.mark.parametrize("version", [{"S": "3"}, {"BOOL": True}, {"N": "1.5"}])
@pytest.mark.parametrize("demanded", [None, 3])
async def test_a_version_that_is_no_whole_number_is_a_conflict_that_says_so(shop, store, version, demanded) -> None:
    pages = shop.of(Page)
    await store(item(version=version))
    target = KEY.if_version(demanded)
    for write in (lambda: pages.update(target, Page.reads.add(1)), lambda: pages.upsert(target, Page.reads.add(1)), lambda: pages.delete(target)):
        with pytest.raises(sw.VersionConflict, match=r"cannot be read: Page\.version: int cannot be read") as conflict:
            await write()
        assert conflict.value.item is None
    refused = await pages.try_update(target, Page.reads.add(1))
    assert refused.undecodable.field == "version"
    with pytest.raises(sw.UndecodableItem, match=r"Page\.version"):
        _ = refused.existing


async def test_a_new_entity_does_not_overwrite_an_item_without_a_version(shop, store) -> None:
    await store(item())
    with pytest.raises(sw.AlreadyExists):
        await shop.of(Page).put(Page(id="a"))


async def test_a_foreign_write_that_raises_the_version_and_stamps_nothing_is_a_conflict(shop, store, stored) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a"))
    await store(await stored("PAGE#a", "PAGE") | {"version": {"N": "2"}})
    with pytest.raises(sw.VersionConflict):
        await pages.put(mine.replace(text="y"))


async def test_a_foreign_write_that_resets_the_version_is_a_conflict_by_the_stamp(shop, store) -> None:
    pages = shop.of(Page)
    mine = await pages.create(Page(id="a"))
    await store(item(version={"N": "1"}))
    with pytest.raises(sw.VersionConflict):
        await pages.put(mine.replace(text="y"))


async def test_ignore_version_still_raises_it_on_the_server(shop, store) -> None:
    pages = shop.of(Page)
    await store(item(version={"N": "7"}))
    assert (await pages.update(KEY.ignore_version(), Page.reads.add(1))).version == 8
    await store(item())
    assert (await pages.update(KEY.ignore_version(), Page.reads.add(1))).version == 1


async def test_of_writes_side_by_side_one_wins_per_version(shop, together) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="a"))
    won = 0
    for version in (1, 2, 3):
        results = await together(*(lambda: pages.try_update(KEY.if_version(version), Page.reads.add(1)) for _ in range(4)))  # noqa: B023 - run at once
        assert sorted(type(result).__name__ for result in results) == ["Applied", "Refused", "Refused", "Refused"]
        won += 1
    assert await pages.get(KEY) == (await pages.get(KEY)).replace(reads=won)


@pytest.mark.parametrize("version", [True, "1", 1.0])
async def test_a_version_is_a_whole_number(shop, version) -> None:
    with pytest.raises(sw.InvalidRequest, match="if_version takes an int or None"):
        KEY.if_version(version)
