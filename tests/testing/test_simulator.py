"""The simulated world: repeatable, with nothing real in it, and with each fault and interrupt at its place."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextvars import ContextVar

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.effects import Lock, Operation, acquire, call_user_within, join_side, pause, release, start_side, stop_side
from surewrite.testing.choices import Choices
from surewrite.testing.faults import NO_FAULTS, ApplyLate, FaultPlan, LoseAnswer, LoseRequest, NotSentAtAll, Reject, ServerError, Step, Throttle, Where
from surewrite.testing.runs import run_by_seed
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.accounts import saves, saves_in_plain_code
from surewrite.testing.simulator import World
from surewrite.testing.violations import Violation
from surewrite.testing.world_settings import WorldSettings


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="TALLY"):
    name: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)


KEY = Tally.key_of("t")
STORED = {"pk": {"S": "TALLY#t"}, "sk": {"S": "TALLY"}, "_type": {"S": "TALLY"}, "name": {"S": "t"}, "count": {"N": "0"}}


def quiet_world(plan: FaultPlan = NO_FAULTS, settings: WorldSettings | None = None) -> World:
    """A world in which nothing special happens but what the plan says."""
    world = World(Choices(0, {}), settings, plan=plan)
    world.table(Tally)
    world.put_item(STORED)
    return world


def told(code, plan: FaultPlan = NO_FAULTS, settings: WorldSettings | None = None):
    """What one awaited client is told, and the world after it."""
    world = quiet_world(plan, settings)
    answers = []

    async def client_code(client):
        answers.append(await client.tried(code(client)))

    world.client("alice", client_code)
    world.run_to_end()
    return answers[0], world


def add(client):
    return client.of(Tally).update(KEY, Tally.count.add(1))


def put(client):
    return client.of(Tally).put(Tally(name="t", count=7))


def test_a_seed_makes_the_same_run_in_another_process_with_another_hash_seed() -> None:
    program = (
        "from surewrite.testing.runs import run_by_seed\n"
        "from surewrite.testing.scenarios.catalogue import SCENARIOS\n"
        "print('\\n'.join(run_by_seed(s, f'{n}:{s.name}').story for s in SCENARIOS for n in range(3)))\n"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1_000


def test_two_seeds_make_two_runs() -> None:
    scenario = Scenario("saves", saves)
    assert run_by_seed(scenario, "1").story != run_by_seed(scenario, "2").story


def test_blocking_clients_use_the_database_unchanged() -> None:
    run = run_by_seed(Scenario("saves in plain code", saves_in_plain_code), "1")
    assert run.violation is None
    assert any(call.verb == "put" for call in run.world.ledger.calls)


async def interrupted(client):
    raise KeyboardInterrupt


def interrupted_in_plain_code(client):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "scenario", [lambda world: world.client("client", interrupted), lambda world: world.blocking_client("client", interrupted_in_plain_code)]
)
def test_an_interrupt_from_the_keyboard_is_no_cancellation_of_a_client_and_ends_the_run(scenario) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_by_seed(Scenario("interrupted", scenario), "1")


@pytest.mark.parametrize(
    ("fault", "count", "word"),
    [
        (LoseAnswer(), 1, "unknown"),
        (LoseRequest(), 0, "unknown"),
        (ServerError(applied=True), 1, "unknown"),
        (ServerError(applied=False), 0, "unknown"),
        (ApplyLate(after_seconds=200.0), 1, "unknown"),
        (Throttle(), 1, "applied"),
        (NotSentAtAll(), 1, "applied"),
        (Reject("AccessDeniedException"), 0, "refused"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, (int, str)) else str(value),
)
def test_a_fault_by_plan_happens_to_the_attempt_that_it_names(fault, count: int, word: str) -> None:
    plan = FaultPlan((Step(fault, Where(operations=("UpdateItem",), key=(("pk", "TALLY#t"),))),))
    _, world = told(add, plan)
    assert world.ledger.calls[0].word == word
    assert world.stored(KEY).count == count


def test_the_second_update_on_a_key_loses_its_answer_and_the_first_does_not() -> None:
    plan = FaultPlan((Step(LoseAnswer(), Where(operations=("UpdateItem",)), nth=2),))

    async def twice(client):
        await add(client)
        return await client.tried(add(client))

    answer, world = told(twice, plan)
    assert isinstance(answer, sw.OutcomeUnknown)
    assert [call.word for call in world.ledger.calls] == ["applied", "unknown"]


def test_an_action_of_others_runs_where_the_plan_names_it() -> None:
    world = quiet_world(FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",)), after=("delete",)),)))
    world.action("delete", lambda: world.service.execute("DeleteItem", {"TableName": "shop", "Key": {"pk": STORED["pk"], "sk": STORED["sk"]}}))

    async def code(client):
        await put(client)

    world.client("alice", code)
    world.run_to_end()
    assert world.stored(KEY) == Tally(name="t", count=7)
    assert len(world.ledger.calls[0].attempts) == 2


def test_a_late_attempt_is_executed_after_the_client_moved_on() -> None:
    plan = FaultPlan((Step(ApplyLate(after_seconds=100.0), Where(operations=("PutItem",))),))
    _, world = told(put, plan)
    call = world.ledger.calls[0]
    assert call.ended is not None
    assert call.ended < 10
    assert [round(effect.at) for effect in call.effects()] == [0, 100]


def test_a_request_older_than_its_signature_is_turned_away() -> None:
    plan = FaultPlan((Step(ApplyLate(after_seconds=400.0), Where(operations=("UpdateItem",))),))
    _, world = told(add, plan, WorldSettings(horizon_seconds=500.0))
    assert world.stored(KEY).count == 0


def test_a_crashed_client_begins_anew_with_what_is_on_its_disk() -> None:
    world = quiet_world()
    seen = []

    async def code(client):
        seen.append((client.restarts, client.disk.get("begun")))
        client.disk["begun"] = True
        await client.pause(1.0)

    client = world.client("alice", code)
    world.after(0.5, client.crash)
    world.run_to_end()
    assert seen == [(0, None), (1, True)]
    assert not client.waits


def test_a_frozen_process_has_a_monotonic_clock_that_stood_still() -> None:
    world = quiet_world()
    moments = []

    async def code(client):
        moments.append(client.process.moment())
        await client.pause(1.0)
        moments.append(client.process.moment())

    client = world.client("alice", code)
    world.after(0.5, client.process.freeze, 100.0)
    world.run_to_end()
    before, after = moments
    assert after.wall - before.wall == pytest.approx(100.5)
    assert after.monotonic - before.monotonic == pytest.approx(0.5)


def test_a_cancelled_call_may_have_taken_effect_and_says_so() -> None:
    world = World(Choices(0, {("alice", 1, "interrupt"): "cancelled", ("alice", 1, "interrupted after"): 0.007}))
    world.table(Tally)
    world.put_item(STORED)
    errors = []

    async def code(client):
        errors.append(await client.tried(add(client)))

    world.client("alice", code)
    world.run_to_end()
    assert isinstance(errors[0], asyncio.CancelledError)
    assert any("may have taken effect" in note for note in errors[0].__notes__)
    assert world.ledger.calls[0].word == "interrupted"
    assert world.stored(KEY).count == 1


def test_each_client_has_a_context_of_its_own() -> None:
    variable = ContextVar("variable", default="none")
    world = quiet_world()
    seen = {}

    async def code(client):
        variable.set(client.name)
        await client.pause(0.1)
        seen[client.name] = variable.get()

    def plain(client):
        variable.set(client.name)
        client.pause(0.1)
        seen[client.name] = variable.get()

    world.client("alice", code)
    world.client("bob", code)
    world.blocking_client("carol", plain)
    world.run_to_end()
    assert seen == {"alice": "alice", "bob": "bob", "carol": "carol"}
    assert variable.get() == "none"


@pytest.mark.parametrize("blocking", [False, True], ids=["awaited", "blocking"])
def test_a_lock_excludes_and_a_side_operation_is_joined_or_stopped(blocking: bool) -> None:
    world = quiet_world()
    order = []
    lock = Lock()

    def side(name: str, seconds: float):
        def steps():
            yield from acquire(lock)
            order.append(f"{name} in")
            yield from pause(seconds)
            order.append(f"{name} out")
            yield from release(lock)
            return name

        return Operation(steps)

    def owner():
        first = yield from start_side(side("first", 1.0))
        second = yield from start_side(side("second", 50.0))
        order.append((yield from join_side(first)))
        yield from pause(1.0)
        order.append((yield from stop_side(second)))

    async def awaited(client):
        await client.db.run(Operation(owner))

    def plain(client):
        client.db.run(Operation(owner))

    if blocking:
        world.blocking_client("alice", plain)
    else:
        world.client("alice", awaited)
    world.run_to_end()
    assert order == ["first in", "first out", "second in", "first", None]
    assert world.ledger.calls[0].ended < 10


def test_awaited_user_code_ends_at_its_time_limit_by_the_clients_own_clock() -> None:
    seen: list[str] = []
    world = quiet_world()

    async def stay(client, seconds: float) -> str:
        try:
            await client.pause(seconds)
        except asyncio.CancelledError:
            seen.append(f"cancelled at {world.now:g}")
            raise
        return "in time"

    async def code(client):
        for seconds in (1.0, 20.0):
            try:
                seen.append(await client.db.run(Operation(lambda seconds=seconds: call_user_within(5.0, stay, client, seconds))))
            except TimeoutError:
                seen.append(f"told at {world.now:g}")

    world.client("alice", code)
    world.run_to_end()
    assert seen == ["in time", "cancelled at 6", "told at 6"]


def test_a_process_that_stands_still_is_not_at_the_time_limit_of_its_user_code() -> None:
    told_at: list[float] = []

    async def stay(client) -> None:
        client.process.freeze(100.0)
        await client.pause(20.0)

    async def code(client):
        try:
            await client.db.run(Operation(lambda: call_user_within(5.0, stay, client)))
        except TimeoutError:
            told_at.append(client.now)

    world = quiet_world()
    world.client("alice", code)
    world.run_to_end()
    # The pause of 20 seconds is over when the process goes on; its clock has not moved.
    assert told_at == []


def test_a_client_that_waits_for_ever_is_found() -> None:
    world = quiet_world()
    lock = Lock()

    def holds_twice():
        yield from acquire(lock)
        yield from acquire(lock)

    async def code(client):
        await client.db.run(Operation(holds_twice))

    world.client("alice", code)
    with pytest.raises(Violation, match="waits for something that never comes"):
        world.run_to_end()
    world.close()


def test_code_that_waits_for_a_real_event_loop_is_told_that_there_is_none() -> None:
    world = quiet_world()

    async def code(client):
        await asyncio.sleep(0)

    world.client("alice", code)
    with pytest.raises(Violation, match="there is no event loop here"):
        world.run_to_end()


def test_what_is_left_of_the_faults_does_not_reach_the_progress_phase() -> None:
    plan = FaultPlan((Step(LoseRequest(), Where(operations=("UpdateItem",)), times=None),))
    world = quiet_world(plan)

    async def first(client):
        assert isinstance(await client.tried(add(client)), sw.OutcomeUnknown)

    async def last(client):
        await client.of(Tally).get(KEY)

    world.client("alice", first)
    world.finally_client("judge", last)
    world.run_to_end()
    assert world.ledger.calls[-1].word == "read"


def test_queue_messages_and_stream_records_come_at_least_once() -> None:
    world = World(Choices("seed"))
    world.table(Tally, stream=True)
    world.put_item(STORED)
    queue, feed = world.queue(), world.stream()
    for number in range(20):
        queue.send(number)
    got = []
    while (delivery := queue.receive()) is not None:
        got.append(delivery.body)
        queue.acknowledge(delivery)
    assert set(got) == set(range(20))
    assert len(got) > 20
    assert got != sorted(got)
    world.faulty = False
    assert [record.event_name for record in feed.receive()] == ["INSERT"]


class Entry(Entity, discriminator="ENTRY", partition_key="BOOK#{book}", sort_key="ENTRY#{number}"):
    book: Attribute[str]
    number: Attribute[int]
    text: Attribute[str] = sw.attribute(default="")


@pytest.mark.parametrize("what", ["get", "batch", "query", "scan", "consistent query"])
def test_an_eventually_consistent_read_of_any_kind_may_be_stale_and_a_consistent_one_never_is(what: str) -> None:
    world = World(Choices(0, {("alice", 2, "fate"): "stale", ("alice", 2, "age"): 1.5}))
    world.table(Entry)
    seen = []

    async def code(client):
        entries = client.of(Entry)
        await client.pause(2.0)
        await entries.put(Entry(book="b", number=1, text="new"))
        match what:
            case "get":
                found = [await entries.get_or_none(Entry.key_of("b", 1))]
            case "batch":
                found = await entries.get_many([Entry.key_of("b", 1)])
            case "scan":
                found = [entry async for entry in entries.scan()]
            case _:
                found = [entry async for entry in entries.query(Entry.partition_of("b"), consistent=what == "consistent query")]
        seen.extend(entry.text for entry in found if entry is not None)

    world.client("alice", code)
    world.run_to_end()
    assert seen == (["new"] if what == "consistent query" else [])
    assert world.stored(Entry.key_of("b", 1)).text == "new"
