"""update and try_update."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw
from surewrite import Attribute, Entity


async def test_an_update_of_a_loaded_entity_checks_it_and_returns_what_it_left(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a", text="x"))
    changed = await pages.update(page, Page.reads.add(1), Page.text.set("y"))
    assert changed == await pages.get(Page.key_of("a"))
    assert (changed.version, changed.reads, changed.text) == (2, 1, "y")
    with pytest.raises(sw.VersionConflict) as conflict:
        await pages.update(page, Page.reads.add(1))
    assert conflict.value.item == changed


async def test_what_an_update_returned_can_be_updated_again(shop) -> None:
    pages = shop.of(Page)
    page = await pages.create(Page(id="a"))
    for reads in (1, 2, 3):
        page = await pages.update(page, Page.reads.add(1))
        assert (page.reads, page.version) == (reads, reads + 1)


async def test_an_update_never_makes_an_item(shop) -> None:
    notes = shop.of(Note)
    with pytest.raises(sw.ItemNotFound):
        await notes.update(Note.key_of("a"), Note.text.set("x"))
    assert await notes.get_or_none(Note.key_of("a")) is None


async def test_an_update_by_key_of_a_versioned_type_says_what_the_version_must_be(shop) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="a"))
    with pytest.raises(sw.InvalidRequest, match=r"if_version\(n\).*ignore_version\(\)"):
        await pages.update(Page.key_of("a"), Page.reads.add(1))


async def test_an_entity_without_a_version_means_its_key_only(shop) -> None:
    notes = shop.of(Note)
    old = await notes.create(Note(id="a", text="x"))
    await notes.update(old, Note.text.set("y"))
    assert (await notes.update(old, Note.rank.set(3))).text == "y"


async def test_if_unchanged_adds_the_stamp_to_it(shop) -> None:
    notes = shop.of(Note)
    old = await notes.create(Note(id="a", text="x"))
    new = await notes.update(old, Note.text.set("y"), if_unchanged=True)
    with pytest.raises(sw.VersionConflict) as conflict:
        await notes.update(old, Note.rank.set(3), if_unchanged=True)
    assert conflict.value.item == new


async def test_every_kind_of_change_takes_effect(shop) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", text="x", lines=["b"], tags=frozenset({"p", "q"}), rank=5))
    note = await notes.update(
        Note.key_of("a"),
        Note.text.set("y"),
        Note.lines.append("c", "d"),
        Note.tags.add("r"),
        Note.rank.set(Note.rank - 2),
    )
    assert (note.text, note.lines, note.tags, note.rank) == ("y", ["b", "c", "d"], {"p", "q", "r"}, 3)
    note = await notes.update(note, Note.lines.prepend("a"), Note.tags.discard("p", "q"), Note.rank.remove())
    assert (note.lines, note.tags, note.rank) == (["a", "b", "c", "d"], {"r"}, None)
    note = await notes.update(note, Note.lines[0].set("z"), Note.rank.set(Note.rank.if_not_exists(10) + 1), Note.tags.discard("r"))
    assert (note.lines, note.tags, note.rank) == (["z", "b", "c", "d"], frozenset(), 11)


async def test_a_failed_condition_is_told_with_the_item(shop) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="a", rank=1))
    with pytest.raises(sw.ConditionFailed) as refused:
        await notes.update(Note.key_of("a"), Note.rank.add(1), condition=Note.rank > 5)
    assert refused.value.item == note
    outcome = await notes.try_update(Note.key_of("a"), Note.rank.add(1), condition=Note.rank > 5)
    assert (outcome.reason, outcome.existing) == (sw.RefusalReason.CONDITION_FAILED, note)


async def test_a_missing_item_comes_before_a_failed_condition(shop) -> None:
    outcome = await shop.of(Note).try_update(Note.key_of("a"), Note.rank.add(1), condition=Note.rank > 5)
    assert outcome.reason is sw.RefusalReason.ITEM_NOT_FOUND
    with pytest.raises(sw.ItemNotFound):
        _ = outcome.existing


CONDITIONS = {
    "equal": Note.rank == 5,
    "not equal": Note.rank != 4,
    "and": (Note.rank > 4) & (Note.rank < 6),
    "or": (Note.rank < 4) | (Note.rank >= 5),
    "not": ~(Note.rank > 5),
    "between": Note.rank.between(5, 7),
    "in": Note.rank.is_in(1, 5),
    "text begins with": Note.text.begins_with("he"),
    "text contains": Note.text.contains("ll"),
    "size of text": Note.text.size() == 5,
    "set contains": Note.tags.contains("p"),
    "set does not contain": ~Note.tags.contains("q"),
    "list contains": Note.lines.contains("b"),
    "element of a list": Note.lines[0] == "b",
    "element past the end": Note.lines[4].not_exists(),
    "size of a list": Note.lines.size() < 2,
    "exists": Note.rank.exists(),
    "has type": Note.rank.has_type("N"),
    "absent or less": Note.rank.not_exists_or_lt(6),
}


@pytest.mark.parametrize("name", CONDITIONS)
async def test_a_condition_of_every_form_holds_where_it_should(shop, name) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", text="hello", lines=["b"], tags=frozenset({"p"}), rank=5))
    assert await notes.try_update(Note.key_of("a"), Note.text.set("hello"), condition=CONDITIONS[name])


@pytest.mark.real_time
@pytest.mark.parametrize("name", CONDITIONS)
async def test_a_negated_condition_of_every_form_refuses_where_it_should(connect, hasty, shop_name, shop, place, name) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", text="hello", lines=["b"], tags=frozenset({"p"}), rank=5))
    if name in ("not", "set does not contain") and place.difference("a condition may be negated twice"):
        with pytest.raises(sw.OutcomeUnknown) as unknown:
            await connect(**hasty).table(shop_name).of(Note).try_update(Note.key_of("a"), Note.text.set("bye"), condition=~CONDITIONS[name])
        assert unknown.value.attempts > 1
        return
    assert not await notes.try_update(Note.key_of("a"), Note.text.set("bye"), condition=~CONDITIONS[name])


async def test_returning_old_gives_the_item_as_it_was(shop) -> None:
    notes = shop.of(Note)
    note = await notes.create(Note(id="a", lines=["x", "y"]))
    drained = await notes.update(Note.key_of("a"), Note.lines.set([]), returning="old")
    assert drained == note
    assert (await notes.get(Note.key_of("a"))).lines == []


async def test_an_update_of_an_item_of_another_type_is_refused(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.WrongEntityType) as wrong:
        await shop.of(Note).update(Note.key_of("a"), Note.text.set("x"))
    assert wrong.value.stored_type == "OTHER"


async def test_an_update_that_the_service_finds_impossible_is_an_invalid_request(shop, store) -> None:
    await store({"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}, "text": {"S": "x"}})
    with pytest.raises(sw.InvalidRequest) as invalid:
        await shop.of(Note).update(Note.key_of("a"), Note.rank.set(Note.rank + 1))
    assert invalid.value.code == "ValidationException"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ((), "no change was given"),
        ((Note.id.set("b"),), "part of the key"),
        ((Page.text.set("b"),), "speaks of a field of Page"),
        ((Note.rank > 3,), "a change is made by a field"),
    ],
)
async def test_a_change_that_makes_no_sense_is_refused_before_anything_is_sent(shop, changes, says) -> None:
    with pytest.raises(sw.InvalidRequest, match=says):
        await shop.of(Note).update(Note.key_of("a"), *changes)


async def test_the_version_cannot_be_set(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="raised by every write"):
        await shop.of(Page).update(Page.key_of("a").ignore_version(), Page.version.set(7))


async def test_an_update_of_an_entity_that_was_never_stored_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="never stored"):
        await shop.of(Page).update(Page(id="a"), Page.reads.add(1))


class Board(Entity, discriminator="BOARD", partition_key="BOARD#{id}", sort_key="BOARD"):
    id: Attribute[str]
    score: Attribute[int] = sw.attribute(default=0, stored_as="s")
    names: Attribute[list[str]] = sw.attribute(default_factory=list)
    counts: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ((Board.score.set(1), Board.score.add(2)), r"Board\.score is changed twice"),
        ((Board.names.append("a"), Board.names[0].set("b")), r"Board\.names\[0\]"),
        ((Board.counts["a"].add(1), Board.counts.set({})), r"Board\.counts is"),
        ((Board.counts["a"].add(1), Board.counts["b"].add(1), Board.counts["a"].remove()), r"Board\.counts\.a"),
    ],
)
async def test_two_changes_of_one_attribute_are_refused_before_anything_is_sent(db, changes, named) -> None:
    boards = db.table("surewrite-test-no-such-table").of(Board)
    for write in (boards.update, boards.upsert):
        with pytest.raises(sw.InvalidRequest, match=named) as twice:
            await write(Board.key_of("a"), *changes)
        assert (twice.value.key, twice.value.code) == (Board.key_of("a"), None)


async def test_changes_of_different_parts_of_one_attribute_are_made(make_table) -> None:
    boards = (await make_table(Board)).of(Board)
    await boards.put(Board(id="a", names=["x", "y"], counts={"a": 1, "b": 2}))
    changed = await boards.update(Board.key_of("a"), Board.names[0].set("z"), Board.names[1].remove(), Board.counts["a"].add(1), Board.counts["b"].remove())
    assert (changed.names, changed.counts) == (["z"], {"a": 2})
