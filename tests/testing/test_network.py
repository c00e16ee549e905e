"""What becomes of an attempt by plan: a commit held open, reads that are old or made in parts, a conflict of one action among others."""

from __future__ import annotations

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.testing.choices import Choices
from surewrite.testing.faults import Conflict, Fault, FaultPlan, HoldOpen, ReadInParts, ReadStale, Step, Where
from surewrite.testing.simulator import World


class Line(Entity, discriminator="LINE", partition_key="BOOK#{book}", sort_key="{number:03d}"):
    book: Attribute[str]
    number: Attribute[int]
    left: Attribute[int] = sw.attribute(default=1)


def item(number: int) -> dict[str, dict[str, str]]:
    key = {"pk": {"S": "BOOK#b"}, "sk": {"S": f"{number:03d}"}}
    return {**key, "_type": {"S": "LINE"}, "book": {"S": "b"}, "number": {"N": str(number)}, "left": {"N": "1"}}


def world_of(fault: Fault, operation: str, *stored: int, between: tuple[int, ...] = (), choices: Choices | None = None) -> World:
    """A quiet world with one fault; ``between`` are lines that others store when the request was executed, or read its first part."""
    plan = FaultPlan((Step(fault, Where(operations=(operation,)), after=("others write",)),))
    world = World(Choices(0, {}) if choices is None else choices, plan=plan)
    world.table(Line)
    for number in stored:
        world.put_item(item(number))

    def others_write() -> None:
        for number in between:
            world.service.execute("PutItem", {"TableName": "shop", "Item": item(number)})

    world.action("others write", others_write)
    return world


@pytest.mark.parametrize(
    ("missed", "descending", "found"),
    [
        (1, False, [1, 2, 5, 7]),
        (2, False, [1, 2, 5]),
        (9, False, [1, 2, 5]),
        (1, True, [5, 4, 2, 1]),
        (2, True, [5, 2, 1]),
    ],
)
def test_a_query_in_parts_misses_rows_that_came_before_others_which_it_shows(missed: int, descending: bool, found: list[int]) -> None:
    world = world_of(ReadInParts(missed), "Query", 1, 2, 5, between=(4, 7))
    seen: list[int] = []

    async def code(client):
        seen.extend([line.number async for line in client.of(Line).query(Line.partition_of("b"), consistent=True, descending=descending)])

    world.client("alice", code)
    world.run_to_end()
    assert seen == found


def test_a_query_in_parts_of_what_stays_as_it_is_shows_it_all() -> None:
    world = world_of(ReadInParts(), "Query", 1, 2, 5)
    seen: list[int] = []

    async def code(client):
        seen.extend([line.number async for line in client.of(Line).query(Line.partition_of("b"))])

    world.client("alice", code)
    world.run_to_end()
    assert seen == [1, 2, 5]


def test_a_read_that_is_stale_by_plan_sees_what_was_so_long_before() -> None:
    world = world_of(ReadStale(3.0), "GetItem")
    seen: list[Line | None] = []

    async def code(client):
        await client.of(Line).put(Line(book="b", number=1))
        await client.pause(2.0)
        seen.extend([await client.of(Line).get_or_none(Line.key_of("b", 1)) for _ in range(2)])

    world.client("alice", code)
    world.run_to_end()
    assert seen == [None, Line(book="b", number=1)]


def test_a_commit_that_is_held_open_by_plan_meets_others_as_a_conflict_until_then() -> None:
    world = world_of(HoldOpen(3.0), "TransactWriteItems", 1)
    told: dict[str, float] = {}

    async def committing(client):
        tx = client.table().transaction()
        tx.update(Line.key_of("b", 1), Line.left.add(10))
        await tx.commit()
        told[client.name] = client.now

    async def other(client):
        await client.pause(1.0)
        await client.of(Line).update(Line.key_of("b", 1), Line.left.add(100))
        told[client.name] = client.now

    world.client("alice", committing)
    world.client("bob", other)
    world.run_to_end()
    answers = [execution.answer for call in world.ledger.calls if call.client == "bob" for attempt in call.attempts for execution in attempt.executions]
    assert getattr(answers[0], "code", None) == "TransactionConflictException"
    assert told["bob"] > 3.0
    stored = world.stored(Line.key_of("b", 1))
    assert stored is not None
    assert stored.left == 111


def test_a_transaction_that_conflicts_in_one_action_is_judged_in_the_others() -> None:
    """Another transaction is half done: one of its items is held still, and the other shows what it did."""
    world = world_of(Conflict(), "TransactWriteItems", 1, choices=Choices(0, {("alice", 1, "conflicting"): 1}))
    reasons: list[str] = []

    async def code(client):
        tx = client.table().transaction()
        tx.update(Line.key_of("b", 1), Line.left.add(-1), condition=Line.left > 5)
        tx.create(Line(book="b", number=2))
        await tx.try_commit()

    world.client("alice", code)
    world.run_to_end()
    answer = world.ledger.calls[0].attempts[0].answer
    reasons.extend(reason.code for reason in getattr(answer, "reasons", ()))
    assert reasons == ["ConditionalCheckFailed", "TransactionConflict"]
