"""A small list in an item: nothing lost, nothing twice, also across spill and redelivery."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.small_lists import ListOutcome, ListPart, SmallList
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

APPENDED, ALREADY_STORED = ListOutcome
UPDATES = Where(operations=("UpdateItem",))
TRANSACTIONS = Where(operations=("TransactWriteItems",))


class Results(ListPart, Entity, discriminator="RESULTS", partition_key="RESULTS#{id}", sort_key="PART#{part:06d}"):
    id: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)


class Notes(ListPart, Entity, discriminator="NOTES", partition_key="RESULTS#{id}", sort_key="NOTES#{part:06d}"):
    id: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)


class Expiring(ListPart, Entity, discriminator="EXPIRING", partition_key="EXPIRING#{id}", sort_key="PART#{part:06d}"):
    id: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)


class Both(ListPart, Entity, discriminator="BOTH", partition_key="BOTH#{id}", sort_key="PART#{part:06d}"):
    id: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)
    notes: Attribute[list[str]] = sw.attribute(default_factory=list)


LIST = Results.partition_of("ID123")
SMALL_BYTES = 160


def listed(table: Any, **settings: Any) -> SmallList[Results, str]:
    return SmallList(table, Results, Results.entries, **settings)


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


WAYS = pytest.mark.parametrize("duplicates", ["part", pytest.param("rows", marks=pytest.mark.needs("transactions honour tokens"))])


@WAYS
async def test_entries_stand_once_in_the_order_in_which_they_came(db, shop, duplicates) -> None:
    results = listed(shop, duplicates=duplicates)
    outcomes = [await db.run(results.add(LIST, message, f"result of {message}")) for message in ("m2", "m1", "m2")]
    assert outcomes == [APPENDED, APPENDED, ALREADY_STORED]
    assert await db.run(results.read(LIST)) == ("result of m2", "result of m1")


@WAYS
async def test_a_full_part_is_sealed_and_the_list_goes_on_in_the_next(db, shop, duplicates) -> None:
    results = listed(shop, duplicates=duplicates, part_bytes_most=SMALL_BYTES)
    messages = [f"m{number}" for number in range(8)]
    for message in messages:
        assert await db.run(results.add(LIST, message, message * 10)) is APPENDED
    parts = [part async for part in shop.of(Results).query(LIST)]
    assert [part.sealed for part in parts] == [True] * (len(parts) - 1) + [None]
    assert len(parts) > 1
    assert await db.run(results.read(LIST)) == tuple(message * 10 for message in messages)
    for message in messages:
        assert await db.run(results.add(LIST, message, message * 10)) is ALREADY_STORED


@pytest.mark.needs("transactions honour tokens")
async def test_lists_that_forget_messages_share_a_table_with_keys_of_calls(db, make_table) -> None:
    shop = await make_table(Results, *SmallList.entities, *sw.recipes.Idempotency.entities)
    results = listed(shop, duplicates="rows", remember_seconds=3600)
    assert await db.run(results.add(LIST, "m1", "result")) is APPENDED


@WAYS
async def test_a_message_may_be_for_lists_of_two_types_in_one_partition(db, shop, duplicates) -> None:
    results, notes = listed(shop, duplicates=duplicates), SmallList(shop, Notes, Notes.entries, duplicates=duplicates)
    assert await db.run(results.add(LIST, "m1", "result")) is APPENDED
    assert await db.run(notes.add(Notes.partition_of("ID123"), "m1", "note")) is APPENDED
    assert await db.run(results.read(LIST)) == ("result",)
    assert await db.run(notes.read(Notes.partition_of("ID123"))) == ("note",)


@WAYS
async def test_a_message_may_be_for_two_lists_of_one_type(db, shop, duplicates) -> None:
    entries, notes = (SmallList(shop, Both, path, duplicates=duplicates) for path in (Both.entries, Both.notes))
    for outcome in (APPENDED, ALREADY_STORED):
        assert await db.run(entries.add(Both.partition_of("b"), "m1", "result")) is outcome
        assert await db.run(notes.add(Both.partition_of("b"), "m1", "note")) is outcome
    assert await db.run(entries.read(Both.partition_of("b"))) == ("result",)
    assert await db.run(notes.read(Both.partition_of("b"))) == ("note",)


@WAYS
@pytest.mark.real_time
async def test_consumers_side_by_side_lose_nothing_and_store_nothing_twice(db, shop, together, duplicates) -> None:
    results = listed(shop, duplicates=duplicates, part_bytes_most=SMALL_BYTES)

    async def consume() -> list[ListOutcome]:
        return [await db.run(results.add(LIST, f"m{number}", f"m{number}")) for number in range(8)]

    outcomes = await together(*([consume] * 3))
    for error in outcomes:
        if isinstance(error, Exception):
            raise error
    assert sum(each.count(APPENDED) for each in outcomes) == 8
    assert sorted(await db.run(results.read(LIST))) == [f"m{number}" for number in range(8)]


@pytest.mark.parametrize(("duplicates", "where"), [("part", UPDATES), ("rows", TRANSACTIONS)])
@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()])
def test_c7_an_append_whose_answer_was_lost_is_made_once(world, duplicates, where, fault) -> None:
    results = listed(world.table, duplicates=duplicates)
    run(world, results.add(LIST, "m0", "zero"))
    world.follow(Step(fault, where))
    assert run(world, results.add(LIST, "m1", "one")) is APPENDED
    assert run(world, results.read(LIST)) == ("zero", "one")


@pytest.mark.parametrize(("duplicates", "where"), [("part", UPDATES), ("rows", TRANSACTIONS)])
def test_c7_a_message_appended_to_a_part_that_was_sealed_since_is_not_appended_to_the_next(world, duplicates, where) -> None:
    results, others = (listed(table, duplicates=duplicates, part_bytes_most=SMALL_BYTES) for table in (world.table, world.other))
    world.follow(Step(LoseAnswer(), where, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, results.add(LIST, "m", "the message"))
    for number in range(6):
        world.other_db.run(others.add(LIST, f"other {number}", "x" * 20))
    assert len([*world.other.of(Results).query(LIST)]) > 1
    world.no_more_faults()
    assert run(world, results.add(LIST, "m", "the message")) is ALREADY_STORED
    assert run(world, results.read(LIST)).count("the message") == 1


@pytest.mark.parametrize(("duplicates", "where"), [("part", UPDATES), ("rows", TRANSACTIONS)])
def test_c7_a_late_append_to_a_part_that_was_sealed_since_is_refused(world, duplicates, where) -> None:
    results, others = (listed(table, duplicates=duplicates, part_bytes_most=SMALL_BYTES) for table in (world.table, world.other))
    world.follow(Step(ApplyLate(), where, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, results.add(LIST, "m", "the message"))
    for number in range(6):
        world.other_db.run(others.add(LIST, f"other {number}", "x" * 20))
    world.no_more_faults()
    assert run(world, results.add(LIST, "m", "the message")) is APPENDED
    world.release()
    assert run(world, results.read(LIST)).count("the message") == 1


def test_c7_an_append_in_doubt_that_meets_the_seal_goes_to_the_next_part(world) -> None:
    results, others = (listed(table, part_bytes_most=SMALL_BYTES) for table in (world.table, world.other))
    run(world, results.add(LIST, "m0", "zero"))

    def seal() -> None:
        world.other.of(Results).update(Results.key_of(id="ID123", part=1), Results.sealed.set(True))

    world.follow(Step(LoseRequest(), UPDATES), Step(Deliver(), UPDATES, nth=2, before=("seal",)), seal=seal)
    assert run(world, results.add(LIST, "m", "the message")) is APPENDED
    assert [part.entries for part in world.other.of(Results).query(LIST)] == [["zero"], ["the message"]]
    assert world.other_db.run(others.add(LIST, "m", "the message")) is ALREADY_STORED


def test_c7_a_message_that_came_into_the_part_just_before_the_seal_is_found_by_the_seal(world) -> None:
    results, others = (listed(table, part_bytes_most=size) for table, size in ((world.table, 1), (world.other, 10_000)))
    run(world, results.add(LIST, "m0", "zero"))
    others_add = others.add(LIST, "m", "the message")
    world.follow(Step(Deliver(), UPDATES, before=("other",)), other=lambda: world.other_db.run(others_add))
    assert run(world, results.add(LIST, "m", "the message")) is ALREADY_STORED
    assert run(world, results.read(LIST)) == ("zero", "the message")


@WAYS
def test_a_part_that_others_filled_to_the_limit_of_an_item_is_sealed(world, duplicates) -> None:
    results, others = (listed(table, duplicates=duplicates, part_bytes_most=10_000_000) for table in (world.table, world.other))
    run(world, results.add(LIST, "m0", "x" * 300_000))
    assert run(world, results.add(LIST, "m1", "y" * 200_000)) is APPENDED
    assert [len(part.entries) for part in world.other.of(Results).query(LIST)] == [1, 1]
    with pytest.raises(sw.InvalidRequest):
        run(world, results.add(LIST, "m2", "z" * 500_000))
    assert world.other_db.run(others.add(LIST, "m3", "small")) is APPENDED


LARGE = "x" * 370_000


@pytest.mark.parametrize("reads", ["add", "read"])
def test_c7_a_list_that_went_on_between_two_pages_is_read_again(world, reads) -> None:
    """A query shows the third part without the message, and the fourth, which was begun after the message had come into the third."""
    results, others = (listed(table, part_bytes_most=390_000) for table in (world.table, world.other))
    for number in range(3):
        world.other_db.run(others.add(LIST, f"m{number}", LARGE))

    def goes_on() -> None:
        world.other_db.run(others.add(LIST, "m", "the message"))
        world.other_db.run(others.add(LIST, "m3", LARGE))

    world.follow(Step(Deliver(), Where(operations=("Query",)), nth=2, before=("other",)), other=goes_on)
    if reads == "add":
        assert run(world, results.add(LIST, "m", "the message")) is ALREADY_STORED
    found = run(world, results.read(LIST))
    assert len(found) == 5
    assert found.count("the message") == 1


@pytest.mark.parametrize("reads", ["add", "read"])
def test_c7_a_list_that_goes_on_in_each_reading_of_it_is_read_until_it_fits(world, reads) -> None:
    """Three readings in a row show an open part and one behind it; the message came into the one that the third reading shows as open."""
    results, others = (listed(table, part_bytes_most=390_000) for table in (world.table, world.other))

    numbers = itertools.count()

    def more(parts: int) -> None:
        for _ in range(parts):
            world.other_db.run(others.add(LIST, f"m{next(numbers)}", LARGE))

    def message() -> None:
        world.other_db.run(others.add(LIST, "m", "the message"))
        more(1)

    more(3)
    # A page shows three parts. Before the last page of each reading the part that was shown last is left behind.
    queries = Where(operations=("Query",))
    grown = ((2, "one"), (4, "two"), (5, "one"), (8, "two"), (9, "message"))
    steps = [Step(Deliver(), queries, nth=nth, before=(name,)) for nth, name in grown]
    world.follow(*steps, one=lambda: more(1), two=lambda: more(2), message=message)
    if reads == "add":
        assert run(world, results.add(LIST, "m", "the message")) is ALREADY_STORED
    found = run(world, results.read(LIST))
    assert len(found) == 11
    assert found.count("the message") == 1


def test_a_list_whose_first_part_was_removed_goes_on(world) -> None:
    results = listed(world.table, part_bytes_most=1)
    for message in ("m1", "m2"):
        run(world, results.add(LIST, message, message))
    world.other.of(Results).delete(Results.key_of("ID123", 1))
    assert run(world, results.add(LIST, "m3", "m3")) is APPENDED
    assert run(world, results.read(LIST)) == ("m2", "m3")


@pytest.mark.parametrize("ahead_seconds", [0.0, 7200.0, -7200.0])
def test_rows_are_forgotten_after_the_time_given(make_world, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    results = listed(world.table, duplicates="rows", remember_seconds=3600)
    run(world, results.add(LIST, "m", "one"))
    assert run(world, results.add(LIST, "m", "one")) is ALREADY_STORED
    world.time.advance(3602)
    assert run(world, results.add(LIST, "m", "one")) is APPENDED


@pytest.mark.parametrize(
    "settings",
    [
        {"part_bytes_most": 0},
        {"part_bytes_most": 2.5},
        {"part_bytes_most": True},
        {"remember_seconds": 60},
        {"duplicates": "rows", "remember_seconds": 0},
        {"duplicates": "row"},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(world, settings) -> None:
    with pytest.raises(sw.InvalidRequest, match=list(settings)[-1]):
        listed(world.table, **settings)


@WAYS
@pytest.mark.parametrize("stored", [0, 1])
def test_an_entry_of_another_type_is_refused_whether_the_list_is_new_or_not(world, duplicates, stored) -> None:
    results = listed(world.table, duplicates=duplicates)
    for number in range(stored):
        run(world, results.add(LIST, f"m{number}", "entry"))
    with pytest.raises(sw.InvalidRequest, match="not int"):
        run(world, results.add(LIST, "m", 5))


def test_what_cannot_work_is_refused(world) -> None:
    for message in ("", None, 5):
        with pytest.raises(sw.InvalidRequest, match="without an id"):
            run(world, listed(world.table).add(LIST, message, "one"))
    with pytest.raises(sw.InvalidRequest, match="does not expire"):
        SmallList(world.table, Expiring, Expiring.entries)


@pytest.mark.parametrize("sort_key", ["PART#{part}", "PART#{part:03d}", "PART#{part:<6d}", "PARTS"])
def test_parts_whose_keys_are_not_in_the_order_of_their_numbers_are_refused(world, sort_key) -> None:
    """The tenth part stood before the second one, and the list was read in that order."""

    class Unordered(ListPart, Entity, discriminator="UNORDERED", partition_key="UNORDERED#{id}", sort_key=sort_key):
        id: Attribute[str]
        entries: Attribute[list[str]] = sw.attribute(default_factory=list)

    with pytest.raises(sw.InvalidRequest, match="part:06d"):
        SmallList(world.table, Unordered, Unordered.entries)


@pytest.mark.parametrize("sort_key", ["PART#{part:04d}", "{part:04d}#PART", "{id}#{part:04d}"])
def test_parts_whose_keys_are_in_the_order_of_their_numbers_are_taken(world, sort_key) -> None:
    class Ordered(ListPart, Entity, discriminator="ORDERED", partition_key="ORDERED#{id}", sort_key=sort_key):
        id: Attribute[str]
        entries: Attribute[list[str]] = sw.attribute(default_factory=list)

    results = SmallList(world.table, Ordered, Ordered.entries, part_bytes_most=1)
    for number in range(12):
        run(world, results.add(Ordered.partition_of(id="a"), f"m{number}", f"{number:02d}"))
    found = run(world, results.read(Ordered.partition_of(id="a")))
    assert list(found) == sorted(found)
    assert len(found) == 12
