"""One item a result: none is lost, none is stored twice, and a batch may be delivered again."""

from __future__ import annotations

from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.append import Append, AppendOutcome
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

APPENDED, ALREADY_STORED, OTHER_CONTENT = AppendOutcome
PUTS = Where(operations=("PutItem",))


class Outcome(Entity, discriminator="RESULT", partition_key="RESULTS#{test}", sort_key="MESSAGE#{message}"):
    test: Attribute[str]
    message: Attribute[str]
    result: Attribute[str]


class Note(Entity, discriminator="KEYED", partition_key="{id}"):
    id: Attribute[str]


LIST = Outcome.partition_of("ID123")


def result(message: str, text: str = "pass") -> Outcome:
    return Outcome(test="ID123", message=message, result=text)


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


async def test_results_are_kept_once_and_read_back_as_a_list(db, shop) -> None:
    results = Append(shop, Outcome)
    outcomes = [(await db.run(results.add(result(message)))).outcome for message in ("m2", "m1", "m2")]
    assert outcomes == [APPENDED, APPENDED, ALREADY_STORED]
    assert await db.run(results.read(LIST)) == (result("m1"), result("m2"))
    assert await db.run(results.read(LIST, sort_key=sw.begins_with("MESSAGE#m1"))) == (result("m1"),)
    assert await db.run(results.read(Outcome.partition_of("nobody"))) == ()


async def test_another_content_under_a_message_id_is_told_and_does_not_replace_the_first(db, shop) -> None:
    results = Append(shop, Outcome)
    await db.run(results.add(result("m1", "pass")))
    found = await db.run(results.add(result("m1", "fail")))
    assert (found.outcome, found.item.result, found.stored) == (OTHER_CONTENT, "pass", False)


async def test_a_batch_with_repeats_in_it_and_delivered_again_is_stored_once(db, shop) -> None:
    results = Append(shop, Outcome)
    batch = [result("m1"), result("m2"), result("m1"), result("m2", "fail")]
    found = await db.run(results.add_all(batch))
    assert [each.outcome for each in found] == [APPENDED, APPENDED, ALREADY_STORED, OTHER_CONTENT]
    again = await db.run(results.add_all(batch))
    assert [each.outcome for each in again] == [ALREADY_STORED, ALREADY_STORED, ALREADY_STORED, OTHER_CONTENT]
    assert len(await db.run(results.read(LIST))) == 2


@pytest.mark.real_time
async def test_consumers_side_by_side_lose_nothing_and_store_nothing_twice(db, shop, together) -> None:
    results = Append(shop, Outcome)

    async def consume() -> list[Any]:
        return [(await db.run(results.add(result(f"m{number}")))).outcome for number in range(5)]

    outcomes = await together(*([consume] * 3))
    assert sum(each.count(APPENDED) for each in outcomes) == 5
    assert len(await db.run(results.read(LIST))) == 5


def test_c7_a_result_whose_answer_was_lost_is_stored_once(world) -> None:
    results = Append(world.table, Outcome)
    world.follow(Step(LoseAnswer(), PUTS))
    assert run(world, results.add(result("m1"))).outcome is APPENDED
    assert world.effects == 1


def test_c7_a_delivery_in_doubt_that_finds_another_delivery_of_the_message_is_stored(world) -> None:
    results, others = Append(world.table, Outcome), Append(world.other, Outcome)
    world.follow(Step(LoseRequest(), PUTS), Step(Deliver(), PUTS, nth=2, before=("other",)), other=lambda: world.other_db.run(others.add(result("m1"))))
    assert run(world, results.add(result("m1"))).outcome is ALREADY_STORED


def test_c7_a_late_copy_of_a_result_changes_nothing(world) -> None:
    results = Append(world.table, Outcome)
    world.follow(Step(ApplyLate(), PUTS))
    assert run(world, results.add(result("m1"))).outcome is APPENDED
    world.release()
    assert run(world, results.read(LIST)) == (result("m1"),)


def test_a_result_that_nothing_shows_is_unknown_and_settled_by_the_next_delivery(world) -> None:
    results = Append(world.table, Outcome)
    world.follow(Step(ApplyLate(), PUTS, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, results.add(result("m1")))
    world.no_more_faults()
    world.release()
    assert run(world, results.add(result("m1"))).outcome is ALREADY_STORED


def test_a_result_without_any_answer_is_settled_by_what_a_read_shows(world) -> None:
    results = Append(world.table, Outcome)
    world.follow(Step(LoseAnswer(), PUTS, times=None))
    assert run(world, results.add(result("m1"))).outcome is ALREADY_STORED


def test_doubt_is_told_as_doubt_where_nothing_can_be_read(world) -> None:
    world.follow(Step(LoseAnswer(), times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, Append(world.table, Outcome).add(result("m1")))


def test_an_item_of_another_type_under_the_message_id_raises(world) -> None:
    item = {"pk": {"S": "RESULTS#ID123"}, "sk": {"S": "MESSAGE#m1"}, "_type": {"S": "OTHER"}}
    world.service.execute("PutItem", {"TableName": world.table.name, "Item": item})
    with pytest.raises(sw.AlreadyExists):
        run(world, Append(world.table, Outcome).add(result("m1")))


def test_a_table_without_a_sort_key_is_refused(world) -> None:
    with pytest.raises(sw.InvalidRequest, match="needs a sort key"):
        Append(world.other_db.table("keyed", key=("pk",)), Note)
