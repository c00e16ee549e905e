"""What a user's own code needs of a world: time and ids from it, tables as they are described to the database, a failure that says what was read."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import surewrite as sw
import surewrite.testing
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.testing import FaultPlan, LoseAnswer, PromiseBroken, Step, Where, World, WorldSettings, prove
from surewrite.testing.choices import Choices
from surewrite.testing.runs import run_by_seed
from surewrite.testing.scenario import Scenario

wall_clock: ContextVar[Callable[[], datetime]] = ContextVar("wall_clock", default=lambda: datetime.now(UTC))


class Job(Entity, discriminator="JOB", partition_key="JOB#{id}", sort_key="STATE"):
    id: Attribute[str]
    made_at: Attribute[datetime] = sw.attribute(default_factory=lambda: wall_clock.get()())  # noqa: PLW0108 - the variable is asked for each job
    mark: Attribute[str] = sw.attribute(default="")


class Order(VersionedEntity, partition_key="{customer_id}", sort_key="{order_id}"):
    customer_id: Attribute[str] = sw.attribute(stored_as="CustomerId")
    order_id: Attribute[str] = sw.attribute(stored_as="OrderId")
    paid: Attribute[int] = sw.attribute(default=0)
    version: Attribute[int | None] = sw.version(stored_as="Version")


KEY = Job.key_of("1")
BEGINNING = datetime(2027, 1, 15, 8, tzinfo=UTC)


def test_code_that_lets_an_error_of_the_library_through_is_told_how_to_go_on() -> None:
    def jobs(world: World) -> None:
        world.table(Job)

        async def worker(client) -> None:
            await client.of(Job).get(KEY)

        world.client("worker", worker)

    with pytest.raises(PromiseBroken, match=r"ItemNotFound(.|\n)*client\.tried\(\.\.\.\)"):
        prove(jobs, schedules=1, faults=frozenset())


def test_a_proof_of_no_schedule_is_refused() -> None:
    with pytest.raises(sw.InvalidRequest, match="whole number from 1, not 0"):
        prove(lambda world: None, schedules=0)


def test_a_fault_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(sw.InvalidRequest, match=r"no fault 'answer los'.*'answer lost'"):
        prove(one_addition_each, schedules=1, faults=frozenset({"answer los", "late"}))


def test_a_fault_that_only_a_plan_brings_is_refused_by_chance() -> None:
    with pytest.raises(sw.InvalidRequest, match="no fault 'item hidden'"):
        prove(one_addition_each, schedules=1, faults=frozenset({"item hidden"}))


def one_addition_each(world: World) -> None:
    """Two clients add 1 to one order, each once: not again in doubt, nor after a crash."""
    world.table(Order, discriminator=None, key=("CustomerId", "OrderId"))

    async def adder(client) -> None:
        if not client.restarts:
            await client.tried(client.of(Order).upsert(Order.key_of("c", "o").ignore_version(), Order.paid.add(1)))

    def at_most_two(world: World) -> str | None:
        order = world.stored(Order.key_of("c", "o"))
        return None if order is None or order.paid <= 2 else f"paid {order.paid} times"

    world.client("alice", adder)
    world.client("bob", adder)
    world.check(at_most_two)


def test_no_transport_sends_again_by_itself_unless_it_is_asked_for() -> None:
    assert prove(one_addition_each, schedules=400) == 400


@pytest.mark.parametrize(
    "asked",
    [{"settings": WorldSettings(transport_resends=True)}, {"faults": frozenset({"resent by the transport"})}],
    ids=["by a setting", "by its name"],
)
def test_a_transport_that_sends_again_by_itself_may_be_asked_for(asked: dict[str, Any]) -> None:
    with pytest.raises(PromiseBroken, match="resent by the transport"):
        prove(one_addition_each, schedules=400, **asked)


def no_job(world: World) -> str | None:
    return "a job was made" if world.stored(KEY) is not None else None


def failing(make: Callable[[], Job]) -> PromiseBroken:
    """The failure of a scenario in which one client stores the job that ``make`` makes, and which demands that there is none."""

    def jobs(world: World) -> None:
        world.table(Job)

        async def worker(client) -> None:
            await client.of(Job).put(make())

        world.client("worker", worker)
        world.check(no_job)

    with pytest.raises(PromiseBroken) as broken:
        prove(jobs, schedules=3, faults=frozenset())
    return broken.value


def test_code_with_a_real_clock_gets_its_invariant_and_story_and_is_told_what_it_read() -> None:
    told = str(failing(lambda: Job(id="1")))
    assert "invariant: a job was made" in told
    assert "worker   [0] is told: applied" in told
    assert "datetime.now (test_worlds_of_users.py:" in told
    assert "The world's clock began at 2027-01-15T08:00:00+00:00" in told
    assert "client.wall_time()" in told
    assert "Not repeatable: the seed made two different runs" in told


def test_code_with_real_ids_is_told_so() -> None:
    told = str(failing(lambda: Job(id="1", made_at=BEGINNING, mark=str(uuid.uuid4()))))
    assert "invariant: a job was made" in told
    assert "uuid.uuid4 (test_worlds_of_users.py:" in told
    assert "datetime.now" not in told


def test_a_clock_that_is_read_and_changes_nothing_is_told_too() -> None:
    told = str(failing(lambda: Job(id="1", made_at=datetime.now(UTC).replace(year=2000, month=1, day=1, hour=0, minute=0, second=0, microsecond=0))))
    assert "datetime.now (test_worlds_of_users.py:" in told
    assert "Not repeatable" not in told


def test_what_an_earlier_run_left_behind_is_not_repeatable_and_the_lines_that_differ_are_shown() -> None:
    numbers = iter(range(1_000))
    told = str(failing(lambda: Job(id="1", made_at=BEGINNING, mark=f"number {next(numbers)}")))
    assert "invariant: a job was made" in told
    assert "what an earlier run left in a variable" in told
    assert "mark=number 0" in told
    assert "mark=number 1" in told


def test_a_failure_that_reads_nothing_real_has_no_remark() -> None:
    told = str(failing(lambda: Job(id="1", made_at=BEGINNING)))
    assert "outside of the world" not in told


def test_times_and_ids_of_a_client_are_those_of_the_world_in_each_run() -> None:
    seen = []

    def scenario(world: World) -> None:
        world.table(Job)

        async def worker(client) -> None:
            wall_clock.set(client.wall_time)
            await client.pause(60.0)
            job = await client.of(Job).put(Job(id="1"))
            seen.append((job.made_at, client.time(), client.new_id(), client.new_uuid(), client.name))

        world.client("worker one", worker)
        world.client("worker two", worker)

    quiet = Scenario("jobs", scenario, WorldSettings(skew_seconds_most=0.0001), faults=frozenset())
    run_by_seed(quiet, "1")
    run_by_seed(quiet, "1")
    assert seen[:2] == seen[2:]
    made_at, seconds, first_id, first_uuid, _ = seen[0]
    assert timedelta(0) <= made_at - BEGINNING - timedelta(seconds=60) < timedelta(seconds=1)
    assert 0.0 <= seconds - made_at.timestamp() < 5.0
    assert (first_uuid.version, len(first_id)) == (4, 12)
    ids = {value for row in seen[:2] for value in row[2:4]}
    assert len(ids) == 4


def test_clients_whose_names_begin_alike_never_make_the_same_id() -> None:
    world = World(Choices(0, {}))
    ids = []

    async def code(client) -> None:
        ids.extend(client.new_id() for _ in range(3))

    for number in range(120):
        world.client(f"worker {number}", code)
    world.run_to_end()
    assert len(set(ids)) == 360
    assert {len(text) for text in ids} == {12}


def test_the_clock_of_a_world_begins_when_its_settings_say() -> None:
    settings = WorldSettings(begins_at_seconds=datetime(2001, 2, 3, tzinfo=UTC).timestamp())
    world = World(Choices(0, {}), settings)
    assert world.wall_time() == datetime(2001, 2, 3, tzinfo=UTC)
    assert WorldSettings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize("blocking", [False, True], ids=["awaited", "blocking"])
def test_a_table_is_described_to_a_world_as_to_a_database(blocking: bool) -> None:
    world = World(Choices(0, {}))
    world.table(Order, name="Orders", key=("CustomerId", "OrderId"), discriminator=None, stamp="stamp", birth="birth")
    world.put_item({"CustomerId": {"S": "c"}, "OrderId": {"S": "o"}, "paid": {"N": "5"}})
    key = Order.key_of("c", "o")

    async def awaited(client) -> None:
        orders = client.of(Order)
        await orders.put((await orders.get(key)).replace(paid=7))

    def plain(client) -> None:
        orders = client.table("Orders").of(Order)
        orders.put(orders.get(key).replace(paid=7))

    if blocking:
        world.blocking_client("alice", plain)
    else:
        world.client("alice", awaited)
    world.run_to_end()
    stored = world.stored(key)
    assert stored is not None
    assert (stored.paid, stored.version) == (7, 1)
    assert {"stamp", "birth", "Version"} <= set(world.item(key, table="Orders"))
    assert world.items() == [world.item(key)]


def test_an_adopted_table_holds_its_promises_under_all_faults() -> None:
    key = Order.key_of("c", "o")

    def adopted(world: World) -> None:
        world.table(Order, name="Orders", key=("CustomerId", "OrderId"), discriminator=None, stamp="stamp", birth="birth")
        world.put_item({"CustomerId": {"S": "c"}, "OrderId": {"S": "o"}, "paid": {"N": "0"}})

        async def worker(client) -> None:
            orders = client.of(Order)
            for _ in range(3):
                match client.choose(3):
                    case 0:
                        await client.tried(orders.modify(key, lambda order: order.replace(paid=order.paid + 1)))
                    case 1:
                        order = await client.tried(orders.get_or_none(key))
                        if isinstance(order, Order):
                            await client.tried(orders.delete(order))
                    case _:
                        await client.tried(orders.create(Order(customer_id="c", order_id="o")))

        for name in ("alice", "bob"):
            world.client(name, worker)

    assert prove(adopted, schedules=150) == 150


def test_the_names_that_users_import_are_found_in_one_place() -> None:
    assert {name: getattr(surewrite.testing, name).__name__ for name in ("World", "prove", "FaultPlan", "SimulatedWorld")} == {
        "World": "World",
        "prove": "prove",
        "FaultPlan": "FaultPlan",
        "SimulatedWorld": "SimulatedWorld",
    }
    assert sorted(surewrite.testing._HOMES) == sorted(surewrite.testing.__all__)
    assert all(getattr(surewrite.testing, name) is not None for name in surewrite.testing.__all__)
    assert set(surewrite.testing.__all__) <= set(dir(surewrite.testing))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        surewrite.testing.nothing  # noqa: B018 - asking is what is tested


def test_a_write_in_doubt_that_a_recipe_made_is_the_client_s_own() -> None:
    def orders(world: World) -> None:
        world.table(Order, key=("CustomerId", "OrderId"), discriminator=None)

        async def worker(client) -> None:
            order = await client.of(Order).create(Order(customer_id="c", order_id="o"))
            told = await client.tried(client.db.run(sw.recipes.Guards(client.table(), Order).transition(Order.key_of("c", "o"), Order.paid, 0, 1)))
            assert isinstance(told, sw.OutcomeUnknown)
            refused = await client.of(Order).try_delete(order)
            assert refused.own_earlier_write

        world.client("worker", worker)

    plan = FaultPlan((Step(LoseAnswer(), Where(operations=("UpdateItem", "GetItem")), nth=2, times=None),))
    assert prove(orders, schedules=1, faults=frozenset(), plan=plan) == 1
