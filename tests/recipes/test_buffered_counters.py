"""Buffered counters: each flush counts exactly once, and a crash loses at most what was not flushed."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite.core.effects import Operation
from surewrite.core.forks import FORKS
from surewrite.recipes.buffered_counters import BufferedCounter, BufferedCounterRow
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Reject, Step, Where

ON_UPDATES = Where(operations=("UpdateItem",))


def run(world: World, operation: Operation[Any]) -> Any:
    found = world.db.run(operation)
    return found if world.kind == "blocking" else world.run(found)


def counter_of(world: World, *, flushed: int = 1) -> BufferedCounter:
    """A counter whose row is there."""
    counter = BufferedCounter(world.db.table(TABLE), "hits")
    if flushed:
        counter.add(flushed)
        run(world, counter.flush())
    return counter


async def test_what_is_counted_in_memory_is_written_by_a_flush(db, shop) -> None:
    counter = BufferedCounter(shop, "hits")
    counter.add(3)
    counter.add(-1)
    assert (counter.unflushed, await db.run(counter.value())) == (2, 0)
    assert await db.run(counter.flush()) == 2
    assert (counter.unflushed, await db.run(counter.value())) == (0, 2)
    assert await db.run(counter.flush()) == 0


async def test_writers_side_by_side_lose_nothing(db, shop, together) -> None:
    counters = [BufferedCounter(shop, "hits") for _ in range(3)]

    async def count(counter: BufferedCounter) -> None:
        for _ in range(4):
            counter.add()
            await db.run(counter.flush())

    # Two callers for each object.
    for found in await together(*(lambda counter=counter: count(counter) for counter in counters * 2)):
        assert found is None
    for counter in counters:
        await db.run(counter.stop())
    assert await db.run(counters[0].value()) == 24


async def test_a_function_is_counted_to_its_end(db, shop) -> None:
    counter = BufferedCounter(shop, "hits")
    assert await db.run(counter.running(lambda: [counter.add() for _ in range(5)])) == [None] * 5
    assert await db.run(counter.value()) == 5


@pytest.mark.real_time
def test_what_a_function_counts_is_flushed_beside_it() -> None:
    db = sw.connect("memory:")
    shop = db.table("shop")
    shop.create_table(BufferedCounterRow)
    counter = BufferedCounter(shop, "hits")

    def counts() -> int:
        counter.add(5)
        deadline = time.monotonic() + 30.0
        while counter.unflushed and time.monotonic() < deadline:
            time.sleep(0.005)
        return counter.unflushed

    assert db.run(counter.running(counts, every_seconds=0.01)) == 0
    assert db.run(counter.value()) == 5


async def test_a_function_that_raises_is_counted_too(db, shop) -> None:
    counter = BufferedCounter(shop, "hits")

    def fails() -> None:
        counter.add(3)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - the function's own error, as it is
        await db.run(counter.running(fails))
    assert await db.run(counter.value()) == 3


async def test_a_table_without_a_sort_key_is_refused_before_anything_is_sent(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="key attribute"):
        BufferedCounter(db.table("narrow", key=("id",)), "hits")


@pytest.mark.parametrize("amount", [1.5, True, "1"])
def test_only_whole_numbers_are_counted(world, amount: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="whole"):
        BufferedCounter(world.db.table(TABLE), "hits").add(amount)


# ---------------------------------------------------------------------------------------------------------- schedules of R10


def test_r10_an_unknown_flush_is_neither_merged_nor_dropped(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(LoseAnswer(), ON_UPDATES, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.flush())
    world.no_more_faults()
    counter.add(2)
    assert counter.unflushed == 42
    assert run(world, counter.flush()) == 42
    assert run(world, counter.value()) == 43


def test_r10_a_flush_that_never_arrived_is_sent_again_with_its_own_number(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(LoseRequest(), ON_UPDATES, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.flush())
    world.no_more_faults()
    counter.add(2)
    assert run(world, counter.flush()) == 42
    assert run(world, counter.value()) == 43


@pytest.mark.parametrize("fault", [LoseAnswer(), ApplyLate()])
def test_r10_a_flush_counts_once_beside_other_writers(world, fault: Any) -> None:
    counter = counter_of(world)
    others = BufferedCounter(world.other, "hits")

    def flush() -> None:
        others.add(100)
        world.other_db.run(others.flush())

    counter.add(40)
    world.follow(Step(fault, ON_UPDATES), Step(Deliver(), ON_UPDATES, nth=2, before=("flush",)), flush=flush)
    assert run(world, counter.flush()) == 40
    counter.add(2)
    run(world, counter.flush())
    world.release()
    assert run(world, counter.value()) == 143


def test_r10_a_late_copy_is_refused_however_late_it_comes(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(ApplyLate(), ON_UPDATES))
    run(world, counter.flush())
    world.time.monotonic += 250.0
    world.release()
    assert run(world, counter.value()) == 41


def test_r10_a_clean_stop_that_ends_unknown_raises_and_can_be_made_again(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(LoseRequest(), ON_UPDATES), Step(Reject("AccessDeniedException"), ON_UPDATES, nth=2))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.stop())
    assert counter.unflushed == 40
    assert run(world, counter.stop()) == 40
    assert run(world, counter.value()) == 41


def test_r10_a_crash_loses_at_most_what_was_not_flushed(world) -> None:
    counter = counter_of(world, flushed=5)
    counter.add(3)
    restarted = BufferedCounter(world.db.table(TABLE), "hits")
    restarted.add(1)
    run(world, restarted.stop())
    assert run(world, restarted.value()) == 6


def test_an_interrupted_flush_stays_outstanding(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(LoseAnswer(), ON_UPDATES))
    world.time.on_wait = world.interrupt
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(world, counter.flush())
    world.time.on_wait = lambda: None
    assert counter.unflushed == 40
    assert run(world, counter.flush()) == 40
    assert run(world, counter.value()) == 41


def test_a_fork_begins_as_another_writer_with_nothing_buffered(world, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = counter_of(world)
    counter.add(40)
    monkeypatch.setattr(FORKS, "count", FORKS.count + 1)
    assert counter.unflushed == 0
    counter.add(2)
    run(world, counter.flush())
    row = world.of(BufferedCounterRow).get(BufferedCounterRow.key_of("hits"))
    assert (row.count, len(row.writers)) == (3, 2)


# ------------------------------------------------------------------------------------------------------------- forgetting


def test_idle_writers_are_forgotten_and_go_on_when_they_come_back(world) -> None:
    counter = counter_of(world)
    world.time.advance(4_000.0)
    assert run(world, counter.forget_writers(idle_seconds=3_600.0)) == 1
    assert world.of(BufferedCounterRow).get(BufferedCounterRow.key_of("hits")).writers == {}
    counter.add(2)
    run(world, counter.flush())
    assert run(world, counter.value()) == 3


def test_a_flush_in_doubt_from_before_its_writer_was_forgotten_ends_unknown_and_is_not_counted_twice(world) -> None:
    counter = counter_of(world)
    counter.add(40)
    world.follow(Step(LoseAnswer(), ON_UPDATES), Step(Reject("AccessDeniedException"), ON_UPDATES, nth=2))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.flush())
    world.no_more_faults()
    world.time.advance(4_000.0)
    assert world.other_db.run(BufferedCounter(world.other, "hits").forget_writers(idle_seconds=3_600.0)) == 1
    with pytest.raises(sw.OutcomeUnknown, match="forgotten"):
        run(world, counter.flush())
    counter.add(2)
    run(world, counter.stop())
    assert run(world, counter.value()) == 43


def test_a_writer_whose_clock_is_far_behind_what_was_forgotten_flushes_in_the_next_call(world) -> None:
    others = BufferedCounter(world.other, "hits")
    others.add()
    world.other_db.run(others.flush())
    world.time.advance(4_000.0)
    assert world.other_db.run(others.forget_writers(idle_seconds=3_600.0)) == 1
    world.time.wall -= 20_000.0
    counter = BufferedCounter(world.db.table(TABLE), "hits")
    counter.add(2)
    with pytest.raises(sw.Throttled, match="clock"):
        run(world, counter.flush())
    assert run(world, counter.flush()) == 2
    assert run(world, counter.value()) == 3


@pytest.mark.parametrize("idle_seconds", [0.0, 3_599.0, float("nan")])
def test_writers_are_not_forgotten_before_an_hour(world, idle_seconds: float) -> None:
    with pytest.raises(sw.InvalidRequest, match="forgotten"):
        BufferedCounter(world.db.table(TABLE), "hits").forget_writers(idle_seconds=idle_seconds)


def test_two_event_loops_flush_one_after_another_or_are_told() -> None:
    db = sw.connect_async("memory:")
    shop = db.table("shop")
    counter = BufferedCounter(shop, "hits")
    told: list[BaseException] = []

    async def begin() -> None:
        await shop.create_table(BufferedCounterRow)
        counter.add()
        await db.run(counter.flush())

    async def count() -> None:
        for _ in range(50):
            counter.add()
            try:
                await db.run(counter.flush())
            except sw.InvalidRequest as error:
                told.append(error)

    asyncio.run(begin())
    threads = [threading.Thread(target=asyncio.run, args=(count(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def end() -> int:
        await db.run(counter.stop())
        return await db.run(counter.value())

    assert asyncio.run(end()) == 101
    assert all("event loops" in str(error) for error in told)


def test_an_amount_that_no_row_can_hold_is_refused_before_it_holds_up_the_others(world) -> None:
    counter = BufferedCounter(world.db.table(TABLE), "hits")
    with pytest.raises(sw.InvalidRequest, match="at most"):
        counter.add(10**38)
    counter.add(10**18)
    counter.add(-(10**18))
    counter.add(3)
    assert run(world, counter.flush()) == run(world, counter.value()) == 3
