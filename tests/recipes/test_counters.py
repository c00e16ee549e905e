"""Counters of one item: each counts under or exactly, as its name or its first line says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS, TABLE, World

import surewrite as sw
from surewrite.core.effects import Operation
from surewrite.recipes.counters import (
    AtMostOnceCounter,
    Counted,
    CounterRow,
    CounterWindow,
    Counting,
    ExactCounter,
    ExactCounterRow,
    TransactionalCounter,
    WindowedCounter,
)
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, LoseAnswer, LoseRequest, Reject, Step, Where

ON_WRITES = Where(operations=WRITES)
ON_UPDATES = Where(operations=("UpdateItem",))
ON_READS = Where(operations=("GetItem",))
LATE_EVENING = datetime(2026, 11, 29, 23, 59, 59, tzinfo=UTC)


def run(world: World, operation: Operation[Any]) -> Any:
    found = world.db.run(operation)
    return found if world.kind == "blocking" else world.run(found)


@pytest.mark.parametrize("recipe", [AtMostOnceCounter, TransactionalCounter, ExactCounter, WindowedCounter])
async def test_a_table_without_a_sort_key_is_refused_before_anything_is_sent(db, recipe) -> None:
    with pytest.raises(sw.InvalidRequest, match="key attribute"):
        recipe(db.table("narrow", key=("id",)), "c")


# ------------------------------------------------------------------------------------------------------------ at most once


async def test_each_addition_gives_the_count_right_after_it(db, shop, together) -> None:
    counter = AtMostOnceCounter(shop, "views")
    values = await together(*(lambda: db.run(counter.add(2)) for _ in range(5)))
    assert sorted(values) == [2, 4, 6, 8, 10]
    assert await db.run(counter.value()) == 10


async def test_what_was_never_counted_is_0(db, shop) -> None:
    assert await db.run(AtMostOnceCounter(shop, "views").value()) == 0


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ApplyLate()])
def test_an_addition_in_doubt_is_always_unknown_and_never_counts_twice(world, fault: Any) -> None:
    counter = AtMostOnceCounter(world.db.table(TABLE), "views")
    world.follow(Step(fault, ON_WRITES))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.add())
    world.release()
    assert run(world, counter.value()) == world.effects <= 1


# ----------------------------------------------------------------------------------------------------------- transactional


@pytest.mark.needs("transactions honour tokens")
async def test_an_addition_as_a_transaction_counts_and_gives_nothing(db, shop) -> None:
    counter = TransactionalCounter(shop, "orders")
    assert await db.run(counter.add(3)) is None
    assert await db.run(counter.add(4)) is None
    assert await db.run(counter.value()) == 7


def test_r7_an_addition_as_a_transaction_counts_once_however_often_it_is_sent(world) -> None:
    counter = TransactionalCounter(world.db.table(TABLE), "orders")
    world.follow(Step(LoseAnswer(), ON_WRITES), Step(ApplyLate(), ON_WRITES, nth=2))
    run(world, counter.add())
    world.release()
    assert (run(world, counter.value()), world.effects) == (1, 1)


# ------------------------------------------------------------------------------------------------------------------- exact


async def test_each_exact_addition_has_a_value_of_its_own(db, shop, together) -> None:
    counter = ExactCounter(shop, "tickets")
    found = await together(*(lambda: db.run(counter.add(1)) for _ in range(6)))
    assert sorted(each.value for each in found) == [1, 2, 3, 4, 5, 6]
    assert await db.run(counter.value()) == 6


async def test_a_named_addition_is_found_done_with_its_value_whatever_was_added_since(db, shop) -> None:
    counter = ExactCounter(shop, "tickets")
    assert await db.run(counter.add(5, operation="a")) == Counted(5)
    assert await db.run(counter.add(1)) == Counted(6)
    # Another process, after a crash.
    assert await db.run(ExactCounter(shop, "tickets").add(5, operation="a")) == Counted(5, before=True)
    assert await db.run(counter.value()) == 6


def exact(world: World) -> ExactCounter:
    return ExactCounter(world.db.table(TABLE), "tickets")


def others_add(world: World) -> Any:
    return lambda: world.other_db.run(ExactCounter(world.other, "tickets").add(100))


@pytest.mark.parametrize("ahead_seconds", [7200.0, -7200.0])
def test_the_first_addition_of_a_client_whose_clock_is_wrong_is_begun_by_the_service_clock(make_world, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    run(world, exact(world).add(operation="a"))
    row = world.other.of(ExactCounterRow).get(ExactCounterRow.key_of("tickets"))
    assert row.times == {"a": int(START_SECONDS)}


def test_r8_the_value_of_a_lost_answer_is_the_additions_own(world) -> None:
    run(world, exact(world).add())
    world.follow(Step(LoseAnswer(), ON_UPDATES), Step(Deliver(), ON_UPDATES, nth=2, before=("others add",)), **{"others add": others_add(world)})
    assert run(world, exact(world).add()) == Counted(2)
    assert run(world, exact(world).value()) == 102


def test_r1a_a_late_copy_of_an_exact_addition_is_refused_by_its_id(world) -> None:
    run(world, exact(world).add())
    world.follow(Step(ApplyLate(), ON_UPDATES))
    assert run(world, exact(world).add()) == Counted(2)
    others_add(world)()
    world.release()
    assert run(world, exact(world).value()) == 102


def test_an_exact_addition_in_doubt_is_settled_by_its_id(world) -> None:
    run(world, exact(world).add())
    world.follow(Step(LoseAnswer(), ON_UPDATES), Step(Reject("AccessDeniedException"), ON_UPDATES, nth=2))
    assert run(world, exact(world).add()) == Counted(2)


def test_an_exact_addition_that_never_arrived_is_sent_again(world) -> None:
    run(world, exact(world).add())
    world.follow(Step(LoseRequest(), ON_UPDATES), Step(Reject("AccessDeniedException"), ON_UPDATES, nth=2))
    assert run(world, exact(world).add()) == Counted(2)


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ApplyLate()])
def test_the_first_addition_counts_once_too(world, fault: Any) -> None:
    world.follow(Step(fault, ON_WRITES), Step(fault, Where(operations=("PutItem",))))
    assert run(world, exact(world).add()) == Counted(1)
    world.release()
    assert run(world, exact(world).value()) == 1


def test_an_exact_addition_that_is_never_settled_is_unknown_and_its_name_finds_it(world) -> None:
    run(world, exact(world).add())
    world.follow(Step(LoseAnswer(), ON_UPDATES, times=None), Step(LoseRequest(), ON_READS, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, exact(world).add(operation="mine"))
    world.no_more_faults()
    assert run(world, exact(world).add(operation="mine")) == Counted(2, before=True)


def operations_kept(world: World) -> set[str]:
    return set(world.of(ExactCounterRow).get(ExactCounterRow.key_of("tickets")).counts)


def test_ids_are_trimmed_once_their_horizon_has_passed(world) -> None:
    counter = exact(world)
    for name in ("a", "b"):
        run(world, counter.add(operation=name))
    world.time.advance(800.0)
    run(world, counter.add(operation="c"))
    assert operations_kept(world) == {"a", "b", "c"}
    world.time.advance(200.0)
    run(world, counter.add(operation="d"))
    assert operations_kept(world) == {"c", "d"}
    assert run(world, counter.value()) == 4


def test_many_ids_are_trimmed_a_few_at_once(world) -> None:
    counter = exact(world)
    for number in range(45):
        run(world, counter.add(operation=f"o{number}"))
    world.time.advance(1_000.0)
    left = []
    for number in range(4):
        run(world, counter.add(operation=f"n{number}"))
        left.append(len(operations_kept(world)))
    assert left == [26, 7, 3, 4]


def test_an_addition_of_a_process_that_stood_still_beyond_the_horizon_is_not_counted_twice(world) -> None:
    run(world, exact(world).add())

    def frozen() -> None:
        world.time.on_wait = lambda: None
        others = ExactCounter(world.other, "tickets")
        for name in ("x", "y"):
            world.time.wall += 2_000.0
            world.other_db.run(others.add(operation=name))

    world.time.on_wait = frozen
    world.follow(Step(LoseAnswer(), ON_UPDATES))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, exact(world).add(operation="mine"))
    assert "mine" not in operations_kept(world)
    assert run(world, exact(world).value()) == 4


@pytest.mark.parametrize("horizon_seconds", [0.0, 599.0, float("nan")])
def test_a_horizon_that_a_late_request_outlives_is_refused(world, horizon_seconds: float) -> None:
    with pytest.raises(sw.InvalidRequest, match="horizon"):
        ExactCounter(world.db.table(TABLE), "tickets", horizon_seconds=horizon_seconds)


def test_an_operation_without_a_name_is_refused_before_it_is_sent(world) -> None:
    with pytest.raises(sw.InvalidRequest, match="name"):
        exact(world).add(operation="")


# ---------------------------------------------------------------------------------------------------------------- windowed


async def test_an_event_counts_once_in_its_window(db, shop) -> None:
    counter = WindowedCounter(shop, "signups")
    found = [await db.run(counter.add(event_id=event, at=LATE_EVENING)) for event in ("e1", "e2", "e1")]
    assert found == [Counting.COUNTED, Counting.COUNTED, Counting.COUNTED_BEFORE]
    assert await db.run(counter.value(LATE_EVENING)) == 2


async def test_c4_the_window_is_that_of_the_events_own_time(db, shop) -> None:
    counter = WindowedCounter(shop, "signups")
    assert await db.run(counter.add(event_id="e1", at=LATE_EVENING)) is Counting.COUNTED
    # Delivered again after midnight: the event's time is the same.
    assert await db.run(counter.add(event_id="e1", at=LATE_EVENING)) is Counting.COUNTED_BEFORE
    elsewhere = LATE_EVENING.astimezone(timezone(timedelta(hours=9)))
    assert await db.run(counter.add(event_id="e1", at=elsewhere)) is Counting.COUNTED_BEFORE
    assert await db.run(counter.value(LATE_EVENING + timedelta(seconds=1))) == 0


def test_windows_begin_at_whole_multiples_since_1970(world) -> None:
    counter = WindowedCounter(world.db.table(TABLE), "signups", window_seconds=3_600)
    assert counter.window_of(LATE_EVENING) == datetime(2026, 11, 29, 23, tzinfo=UTC)
    assert counter.window_of(datetime(1969, 12, 31, 23, 59, tzinfo=UTC)) == datetime(1969, 12, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ApplyLate()])
def test_an_event_counts_once_however_its_message_fares(world, fault: Any) -> None:
    counter = WindowedCounter(world.db.table(TABLE), "signups")
    world.follow(Step(fault, ON_WRITES))
    assert run(world, counter.add(event_id="e1", at=LATE_EVENING)) is Counting.COUNTED
    world.release()
    assert run(world, counter.value(LATE_EVENING)) == 1


def test_an_event_in_doubt_is_settled_by_its_id(world) -> None:
    counter = WindowedCounter(world.db.table(TABLE), "signups")
    world.follow(Step(LoseAnswer(), ON_WRITES), Step(Reject("AccessDeniedException"), ON_WRITES, nth=2))
    assert run(world, counter.add(event_id="e1", at=LATE_EVENING)) is Counting.COUNTED
    world.follow(Step(LoseRequest(), ON_WRITES), Step(Reject("AccessDeniedException"), ON_WRITES, nth=2))
    assert run(world, counter.add(event_id="e2", at=LATE_EVENING)) is Counting.COUNTED
    assert run(world, counter.value(LATE_EVENING)) == 2


def test_a_time_without_a_zone_and_an_event_without_an_id_are_refused(world) -> None:
    counter = WindowedCounter(world.db.table(TABLE), "signups")
    with pytest.raises(sw.InvalidRequest, match="time zone"):
        counter.add(event_id="e1", at=LATE_EVENING.replace(tzinfo=None))
    with pytest.raises(sw.InvalidRequest, match="time zone"):
        counter.add(event_id="e1", at=LATE_EVENING.isoformat())
    with pytest.raises(sw.InvalidRequest, match="id"):
        counter.add(event_id="", at=LATE_EVENING)


async def test_windows_of_different_lengths_that_begin_together_are_different_windows(db, shop) -> None:
    days, hours = WindowedCounter(shop, "c"), WindowedCounter(shop, "c", window_seconds=3600)
    at = datetime(2026, 11, 29, 0, 30, tzinfo=UTC)
    for counter in (days, hours):
        assert await db.run(counter.add(event_id="e", at=at)) is Counting.COUNTED
    await db.run(days.add(event_id="later", at=at.replace(hour=23)))
    assert (await db.run(days.value(at)), await db.run(hours.value(at))) == (2, 1)


async def test_counters_of_one_name_and_different_kinds_do_not_meet(db, shop) -> None:
    await db.run(AtMostOnceCounter(shop, "c").add(1))
    await db.run(ExactCounter(shop, "c").add(2))
    await db.run(WindowedCounter(shop, "c").add(3, event_id="e", at=LATE_EVENING))
    rows = shop.of(CounterRow), shop.of(ExactCounterRow), shop.of(CounterWindow)
    keys = CounterRow.key_of("c"), ExactCounterRow.key_of("c"), CounterWindow.key_of("c", 86_400, datetime(2026, 11, 29, tzinfo=UTC))
    assert [(await of.get(key)).count for of, key in zip(rows, keys, strict=True)] == [1, 2, 3]
