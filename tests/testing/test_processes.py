"""What befalls a client by plan, and that it may be cancelled wherever it waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.effects import Lock, Operation, acquire, join_side, pause, start_side
from surewrite.testing.choices import Choices
from surewrite.testing.faults import Cancel, Crash, Deliver, FaultPlan, Freeze, LoseAnswer, Mishap, Step, Where
from surewrite.testing.simulator import World


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="TALLY"):
    name: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)


KEY = Tally.key_of("t")
PUTS = Where(operations=("PutItem",))


def world_with(mishap: Mishap | None, fault: Any = None, *, nth: int = 1) -> World:
    plan = FaultPlan(() if mishap is None else (Step(Deliver() if fault is None else fault, PUTS, nth=nth, befalls=mishap),))
    world = World(Choices(0, {}), plan=plan)
    world.table(Tally)
    return world


def put(client: Any, count: int) -> Any:
    return client.of(Tally).put(Tally(name="t", count=count))


@pytest.mark.parametrize("blocking", [False, True], ids=["awaited", "blocking"])
def test_a_crash_by_plan_ends_the_process_at_the_request_that_it_names(blocking: bool) -> None:
    world = world_with(Crash(), nth=2)
    begun: list[int] = []

    async def code(client):
        begun.append(client.restarts)
        await put(client, 10 * client.restarts + 1)
        await put(client, 10 * client.restarts + 2)

    def plain(client):
        begun.append(client.restarts)
        put(client, 10 * client.restarts + 1)
        put(client, 10 * client.restarts + 2)

    if blocking:
        world.blocking_client("alice", plain)
    else:
        world.client("alice", code)
    world.run_to_end()
    assert begun == [0, 1]
    assert [round(call.attempts[0].sent_at, 3) > 0.05 for call in world.ledger.calls] == [False, False, True, True]
    assert [commit.after["count"]["N"] for commit in world.ledger.commits if commit.after is not None] == ["1", "2", "11", "12"]


def test_a_cancellation_by_plan_reaches_the_call_wherever_it_is_by_then() -> None:
    world = world_with(Cancel(after_seconds=1.0), LoseAnswer())
    raised: list[object] = []

    async def code(client):
        raised.append(await client.tried(put(client, 1)))
        raised.append(await client.tried(client.pause(5.0)))

    world.client("alice", code)
    world.run_to_end()
    assert isinstance(raised[0], Tally)
    assert isinstance(raised[1], asyncio.CancelledError)


def test_a_freeze_by_plan_stops_the_clock_of_the_process_and_not_the_world() -> None:
    world = world_with(Freeze(100.0))
    moments: list[Any] = []

    async def code(client):
        moments.append(client.process.moment())
        await put(client, 1)
        moments.append(client.process.moment())

    world.client("alice", code)
    world.run_to_end()
    before, after = moments
    assert after.wall - before.wall == pytest.approx(100.0)
    assert after.monotonic == pytest.approx(before.monotonic)
    assert round(world.ledger.calls[0].effects()[0].at) == 0


@pytest.mark.parametrize(("waits_for", "point"), [("a lock", 3), ("a side operation", 1)])
def test_a_client_may_be_cancelled_by_chance_while_it_waits_for(waits_for: str, point: int) -> None:
    lock = Lock()
    world = World(Choices(0, {("bob", point, "interrupt"): "cancelled"}))
    raised: list[object] = []

    def hold():
        yield from acquire(lock)
        yield from pause(10.0)

    def wait():
        holding = yield from start_side(Operation(hold))
        if waits_for == "a lock":
            yield from pause(1.0)
            yield from acquire(lock)
        else:
            yield from join_side(holding)

    async def waiter(client):
        raised.append(await client.tried(client.db.run(Operation(wait))))

    world.client("bob", waiter)
    world.run_to_end()
    assert isinstance(raised[0], asyncio.CancelledError)
