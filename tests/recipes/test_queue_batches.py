"""A batch of queue messages: what failed is reported, the rest is done, and a batch that comes again changes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.append import Append
from surewrite.recipes.queue_batches import handle_queue_batch, queue_batch
from surewrite.testing.faults import ApplyLate, LoseAnswer, Step, Where

PUTS = Where(operations=("PutItem",))


class Result(Entity, discriminator="RESULT", partition_key="RESULTS#{test}", sort_key="MESSAGE#{message}"):
    test: Attribute[str]
    message: Attribute[str]
    text: Attribute[str]


def event(*ids: str, group: str | None = None) -> dict[str, Any]:
    attributes = {} if group is None else {"MessageGroupId": group}
    return {"Records": [{"messageId": each, "body": f"body of {each}", "attributes": attributes} for each in ids]}


def failures(*ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": each} for each in ids]}


class Errors(list[Any]):
    def __call__(self, record: Any, error: Exception) -> None:
        self.append((record["messageId"], type(error)))


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


async def test_results_of_a_batch_are_stored_once_however_often_it_is_delivered(db, shop) -> None:
    results, errors = Append(shop, Result), Errors()

    def handle(record: Any) -> Any:
        return results.add(Result(test="t", message=record["messageId"], text=record["body"]))

    for _ in range(3):
        assert await db.run(handle_queue_batch(event("m1", "m2", "m1"), handle, on_error=errors)) == failures()
    assert [each.message for each in await db.run(results.read(Result.partition_of("t")))] == ["m1", "m2"]
    assert errors == []


def test_operations_that_a_function_gave_and_that_nobody_ran_are_not_acknowledged(world) -> None:
    results, errors = Append(world.table, Result), Errors()

    def add(record: Any) -> Any:
        return results.add(Result(test="t", message=record["messageId"], text=record["body"]))

    def several(record: Any) -> Any:
        return [add(record)]

    def yielding(record: Any) -> Any:
        yield add(record)

    for handle in (several, yielding):
        assert run(world, handle_queue_batch(event("m1"), handle, on_error=errors)) == failures("m1")
    assert errors == [("m1", sw.InvalidRequest)] * 2


def test_only_the_messages_that_failed_are_reported_and_their_errors_are_handed_out(world) -> None:
    handled: list[str] = []
    errors = Errors()

    def handle(record: Any) -> None:
        if record["messageId"] == "m2":
            raise ValueError("unreadable")
        handled.append(record["messageId"])

    assert run(world, handle_queue_batch(event("m1", "m2", "m3"), handle, on_error=errors)) == failures("m2")
    assert handled == ["m1", "m3"]
    assert errors == [("m2", ValueError)]


def test_a_message_that_stands_twice_in_a_batch_is_handled_once_and_reported_once(world) -> None:
    handled: list[str] = []

    def handle(record: Any) -> None:
        handled.append(record["messageId"])
        raise ValueError

    assert run(world, handle_queue_batch(event("m1", "m1"), handle, on_error=Errors())) == failures("m1")
    assert handled == ["m1"]


def test_after_a_failure_the_rest_of_its_message_group_is_reported_unhandled(world) -> None:
    handled: list[str] = []

    def handle(record: Any) -> None:
        handled.append(record["messageId"])
        if record["messageId"] == "a1":
            raise ValueError

    batch = {"Records": [*event("a1", "a2", group="a")["Records"], *event("b1", group="b")["Records"], *event("a3", group="a")["Records"]]}
    assert run(world, handle_queue_batch(batch, handle, on_error=Errors())) == failures("a1", "a2", "a3")
    assert handled == ["a1", "b1"]


def test_c7_a_message_whose_outcome_is_unknown_is_reported_and_settled_by_its_next_delivery(world) -> None:
    results, errors = Append(world.table, Result), Errors()

    def handle(record: Any) -> Any:
        return results.add(Result(test="t", message=record["messageId"], text=record["body"]))

    world.follow(Step(ApplyLate(), PUTS, times=None))
    assert run(world, handle_queue_batch(event("m1"), handle, on_error=errors)) == failures("m1")
    assert errors == [("m1", sw.OutcomeUnknown)]
    world.no_more_faults()
    world.release()
    assert run(world, handle_queue_batch(event("m1"), handle, on_error=errors)) == failures()
    assert len(run(world, results.read(Result.partition_of("t")))) == 1


def test_the_decorator_makes_a_lambda_handler(world) -> None:
    results = Append(world.table, Result)

    @queue_batch(world.db, on_error=Errors())
    def handler(record: Any) -> Any:
        """Store one."""
        return results.add(Result(test="t", message=record["messageId"], text=record["body"]))

    world.follow(Step(LoseAnswer(), PUTS))
    found = handler(event("m1", "m2"), None)
    assert (world.run(found) if world.kind == "asyncio" else found) == failures()
    assert (handler.__name__, handler.__doc__) == ("handler", "Store one.")


@pytest.mark.parametrize("form", ["async"])  # the blocking client calls plain functions
async def test_a_function_that_waits_handles_messages(db, shop) -> None:
    async def handle(record: Any) -> None:
        await shop.of(Result).create(Result(test="t", message=record["messageId"], text=record["body"]))

    assert await db.run(handle_queue_batch(event("m1"), handle, on_error=Errors())) == failures()
    assert await shop.of(Result).get_or_none(Result.key_of("t", "m1")) is not None


def test_a_function_that_nobody_awaited_is_a_failed_message() -> None:
    async def handle(record: Any) -> None:
        raise AssertionError("the blocking client runs no coroutine")

    errors = Errors()
    with sw.connect("memory:") as db:
        assert db.run(handle_queue_batch(event("m1"), handle, on_error=errors)) == failures("m1")
    assert errors == [("m1", sw.InvalidRequest)]


@pytest.mark.parametrize(("source", "rest"), [("arn:aws:sqs:eu-central-1:1:jobs.fifo", ["m2"]), ("arn:aws:sqs:eu-central-1:1:jobs", [])])
def test_only_a_fifo_queue_keeps_the_order_of_a_message_group(world, source, rest) -> None:
    given = event("m1", "m2", group="g")
    for record in given["Records"]:
        record["eventSourceARN"] = source

    def handle(record: Any) -> None:
        if record["messageId"] == "m1":
            raise ValueError("unreadable")

    assert run(world, handle_queue_batch(given, handle, on_error=Errors())) == failures("m1", *rest)


def test_an_interrupt_is_no_failed_message(world) -> None:
    def handle(record: Any) -> None:
        world.interrupt()

    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(world, handle_queue_batch(event("m1"), handle, on_error=Errors()))


@pytest.mark.parametrize("wrong", [{}, {"Records": None}, {"Records": [{}]}, {"Records": [{"messageId": ""}]}, {"Records": ["m1"]}, None, []])
def test_what_is_no_batch_of_sqs_is_refused_whole(wrong) -> None:
    with pytest.raises(sw.InvalidRequest, match="nothing of this one was handled"):
        handle_queue_batch(wrong, print, on_error=Errors()).steps()
