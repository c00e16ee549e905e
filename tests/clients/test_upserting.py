"""upsert and try_upsert."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page
from tests.typing.accepted.entities import MailClaim, PageViews, Registrant

import surewrite as sw


async def test_an_upsert_of_nothing_makes_a_whole_item(shop, stored) -> None:
    note = await shop.of(Note).upsert(Note.key_of("a"), Note.text.set("x"))
    assert note == Note(id="a", text="x")
    item = await stored("NOTE#a", "TEXT")
    assert (item["_type"], item["id"], item["lines"]) == ({"S": "NOTE"}, {"S": "a"}, {"L": []})
    assert item["_s"] == item["_b"]


async def test_an_upsert_of_an_item_changes_it_and_leaves_the_rest(shop, stored) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", text="x", rank=4))
    born = (await stored("NOTE#a", "TEXT"))["_b"]
    assert await notes.upsert(Note.key_of("a"), Note.text.set("y")) == Note(id="a", text="y", rank=4)
    assert (await stored("NOTE#a", "TEXT"))["_b"] == born


async def test_an_add_starts_from_the_default(shop) -> None:
    views = shop.of(PageViews)
    for count in (1, 2, 3):
        assert (await views.upsert(PageViews.key_of("/home"), PageViews.count.add(1))).count == count


async def test_an_append_starts_from_the_default(shop) -> None:
    notes = shop.of(Note)
    assert (await notes.upsert(Note.key_of("a"), Note.lines.append("x"))).lines == ["x"]
    assert (await notes.upsert(Note.key_of("a"), Note.lines.append("y", "z"))).lines == ["x", "y", "z"]


async def test_a_required_field_that_the_changes_leave_out_is_an_error_before_anything_is_sent(lossy, shop_name) -> None:
    db, faults = lossy()
    with pytest.raises(sw.InvalidRequest, match="handle"):
        await db.table(shop_name).of(Registrant).upsert(Registrant.key_of("a"), Registrant.email.set("a@example.ch"))
    assert faults.sent == 0


async def test_a_refused_upsert_tells_the_item(shop) -> None:
    claims = shop.of(MailClaim)
    first = await claims.create(MailClaim(address="a", owner="bob"))
    outcome = await claims.try_upsert(MailClaim.key_of("a"), MailClaim.owner.set("eve"), condition=MailClaim.owner == "eve")
    assert (outcome.reason, outcome.existing) == (sw.RefusalReason.CONDITION_FAILED, first)
    with pytest.raises(sw.ConditionFailed):
        await claims.upsert(MailClaim.key_of("a"), MailClaim.owner.set("eve"), condition=MailClaim.owner == "eve")


async def test_an_upsert_whose_condition_needs_an_item_finds_none(shop) -> None:
    outcome = await shop.of(MailClaim).try_upsert(MailClaim.key_of("a"), MailClaim.owner.set("eve"), condition=MailClaim.owner == "bob")
    assert outcome.reason is sw.RefusalReason.ITEM_NOT_FOUND


async def test_an_upsert_of_a_versioned_type_counts_versions_from_one(shop) -> None:
    pages = shop.of(Page)
    for version in (1, 2, 3):
        page = await pages.upsert(Page.key_of("a").ignore_version(), Page.reads.add(1))
        assert (page.version, page.reads) == (version, version)


async def test_an_upsert_with_a_version_changes_that_version_only(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a"))
    assert (await pages.upsert(Page.key_of("a").if_version(1), Page.reads.add(1))).version == 2
    with pytest.raises(sw.VersionConflict):
        await pages.upsert(Page.key_of("a").if_version(page.version), Page.reads.add(1))


async def test_an_upsert_with_a_version_of_no_item_is_not_found(shop) -> None:
    with pytest.raises(sw.ItemNotFound):
        await shop.of(Page).upsert(Page.key_of("a").if_version(3), Page.reads.add(1))


async def test_an_upsert_over_another_type_is_refused(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.WrongEntityType):
        await shop.of(Note).upsert(Note.key_of("a"), Note.text.set("x"))


async def test_an_upsert_takes_a_key(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="upsert takes a key"):
        await shop.of(Note).upsert(Note(id="a"), Note.text.set("x"))
