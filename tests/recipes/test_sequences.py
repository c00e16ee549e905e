"""Numbers that are given out once: in blocks, safe between threads, tasks, loops and over fork; and without gaps, never unknown."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.effects import Operation
from surewrite.core.forks import FORKS
from surewrite.recipes.sequences import Gapless, GaplessCounter, GaplessIssue, HiLo, HiLoRow, Issued, RowRefused
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

ON_WRITES = Where(operations=WRITES)
ON_READS = Where(operations=("GetItem",))


class Invoice(Entity, discriminator="INVOICE", partition_key="INVOICE#{number}", sort_key="INVOICE"):
    number: Attribute[int]
    order: Attribute[str]


def invoice(order: str, number: int) -> Invoice:
    return Invoice(number=number, order=order)


def run(world: World, operation: Operation[Any]) -> Any:
    found = world.db.run(operation)
    return found if world.kind == "blocking" else world.run(found)


# ------------------------------------------------------------------------------------------------------------------- hi/lo


async def test_the_seed_of_the_design(db, shop) -> None:
    assert await db.run(sw.recipes.HiLo(shop, "orders").next()) == 1


async def test_numbers_come_one_by_one_and_a_write_claims_a_block(db, shop) -> None:
    numbers = HiLo(shop, "orders", block_size=3)
    assert [await db.run(numbers.next()) for _ in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    assert (await shop.of(HiLoRow).get(HiLoRow.key_of("orders"))).hi == 9


async def test_objects_and_sequences_are_apart(db, shop) -> None:
    assert await db.run(HiLo(shop, "orders", block_size=10).next()) == 1
    assert await db.run(HiLo(shop, "orders", block_size=5).next()) == 11
    assert await db.run(HiLo(shop, "invoices").next()) == 1


async def test_callers_side_by_side_share_blocks_and_no_number_comes_twice(db, shop, together) -> None:
    numbers = HiLo(shop, "orders", block_size=4)

    async def draw() -> list[int]:
        return [await db.run(numbers.next()) for _ in range(15)]

    drawn = sorted(number for found in await together(*(draw for _ in range(6))) for number in found)
    assert drawn == list(range(1, 91))


async def test_a_block_is_claimed_before_the_one_in_use_ends(db, shop) -> None:
    numbers = HiLo(shop, "orders", block_size=4)
    assert await db.run(numbers.prefetch()) == 4
    assert await db.run(numbers.prefetch()) == 4
    assert [await db.run(numbers.next()) for _ in range(2)] == [1, 2]
    assert await db.run(numbers.prefetch()) == 6
    assert [await db.run(numbers.next()) for _ in range(6)] == [3, 4, 5, 6, 7, 8]


@pytest.mark.real_time
def test_blocks_are_claimed_beside_a_function() -> None:
    db = sw.connect("memory:")
    shop = db.table("shop")
    shop.create_table(HiLoRow)
    numbers = HiLo(shop, "orders", block_size=10)

    def draws() -> list[int]:
        return [db.run(numbers.next()) for _ in range(40)]

    assert db.run(numbers.prefetching(draws, poll_seconds=0.001)) == list(range(1, 41))


@pytest.mark.real_time  # a write that is sent again pauses first
async def test_c5_a_lost_answer_wastes_a_block(lossy, shop_name) -> None:
    db, faults = lossy()
    numbers = HiLo(db.table(shop_name), "orders", block_size=10)
    faults.next_writes("answer lost")
    assert await db.run(numbers.next()) == 11
    assert await db.run(numbers.next()) == 12


def test_c5_a_late_claim_only_wastes_numbers(world) -> None:
    numbers = HiLo(world.db.table(TABLE), "orders", block_size=2)
    world.follow(Step(ApplyLate(), ON_WRITES), Step(Deliver(), ON_WRITES, nth=2))
    drawn = [run(world, numbers.next()) for _ in range(2)]
    world.release()
    drawn += [run(world, numbers.next()) for _ in range(2)]
    assert drawn == [1, 2, 5, 6]


def test_a_claim_that_is_never_answered_is_told_and_the_next_call_claims_again(world) -> None:
    numbers = HiLo(world.db.table(TABLE), "orders", block_size=2)
    world.follow(Step(LoseAnswer(), ON_WRITES, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, numbers.next())
    world.no_more_faults()
    assert run(world, numbers.next()) > 2


def test_tasks_of_two_event_loops_share_an_object() -> None:
    db = sw.connect_async("memory:")
    shop = db.table("shop")
    numbers = HiLo(shop, "orders", block_size=3)
    drawn: list[int] = []

    async def draw() -> None:
        async def some() -> list[int]:
            return [await db.run(numbers.next()) for _ in range(20)]

        for found in await asyncio.gather(some(), some()):
            drawn.extend(found)

    async def begin() -> None:
        await shop.create_table(HiLoRow)

    asyncio.run(begin())
    threads = [threading.Thread(target=asyncio.run, args=(draw(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == len(set(drawn)) == 80


FORKING = """
import json, os, sys
import surewrite as sw
from surewrite.recipes.sequences import HiLo, HiLoRow

if sys.argv[2] == "kept":
    HiLo._own_stock = lambda numbers: numbers._stock
db = sw.connect(sys.argv[1])
shop = db.table("shop")
shop.create_table(HiLoRow)
numbers = HiLo(shop, "orders", block_size=10)
drawn = [db.run(numbers.next()) for _ in range(3)]
ends = []
for child in range(2):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps([db.run(numbers.next()) for _ in range(12)]).encode())
        os._exit(0)
    os.close(write)
    ends.append(read)
drawn += [db.run(numbers.next()) for _ in range(12)]
for read in ends:
    with os.fdopen(read) as pipe:
        drawn += json.loads(pipe.read())
    os.wait()
print(json.dumps(drawn))
"""


def drawn_over_forks(directory: Path, block: str) -> list[int]:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, f"file:{directory / 'shop.db'}", block]
    found: list[int] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_c5_parent_and_children_of_a_fork_never_draw_one_number(tmp_path: Path) -> None:
    drawn = drawn_over_forks(tmp_path, "dropped")
    assert len(drawn) == len(set(drawn)) == 39


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_block_kept_over_fork_is_found(tmp_path: Path) -> None:
    drawn = drawn_over_forks(tmp_path, "kept")
    assert len(set(drawn)) < len(drawn)


def test_a_child_of_a_fork_drops_the_lock_too(world, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = HiLo(world.db.table(TABLE), "orders", block_size=5)
    assert run(world, numbers.next()) == 1
    kept = numbers._stock.claiming
    monkeypatch.setattr(FORKS, "count", FORKS.count + 1)
    assert run(world, numbers.next()) == 6
    assert numbers._stock.claiming is not kept


@pytest.mark.parametrize("block_size", [0, -1, True, 1_000_001])
def test_a_block_size_that_makes_no_sense_is_refused(world, block_size: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="block"):
        HiLo(world.db.table(TABLE), "orders", block_size=block_size)


async def test_a_table_without_a_sort_key_is_refused_before_anything_is_sent(db) -> None:
    for recipe in (HiLo, Gapless):
        with pytest.raises(sw.InvalidRequest, match="key attribute"):
            recipe(db.table("narrow", key=("id",)), "orders")


# ----------------------------------------------------------------------------------------------------------------- gapless


@pytest.mark.needs("transactions honour tokens")
async def test_each_number_comes_with_its_row_and_none_is_left_out(db, shop) -> None:
    sequence = Gapless[Invoice](shop, "invoices")
    issued = [await db.run(sequence.issue(order, partial(invoice, order))) for order in ("a", "b", "c")]
    assert [each.number for each in issued] == [1, 2, 3]
    assert (await shop.of(Invoice).get(Invoice.key_of(2))).order == "b"
    assert issued[1].row.order == "b"


@pytest.mark.needs("transactions honour tokens")
async def test_a_retry_with_the_same_business_id_gives_the_same_number(db, shop) -> None:
    first = Gapless[Invoice](shop, "invoices")
    assert (await db.run(first.issue("a", partial(invoice, "a")))).number == 1
    # Another process, after a crash.
    again = await db.run(Gapless[Invoice](shop, "invoices").issue("a", partial(invoice, "a")))
    assert (again, bool(again)) == (Issued(1, None), True)
    assert (await db.run(first.issue("b", partial(invoice, "b")))).number == 2


@pytest.mark.real_time
@pytest.mark.needs("transactions honour tokens")
async def test_issuers_side_by_side_leave_no_gap(db, shop, together) -> None:
    sequence = Gapless[Invoice](shop, "invoices", tries=60)
    bodies = [partial(db.run, sequence.issue(f"o{order}", partial(invoice, f"o{order}"))) for order in range(6)]
    found = await together(*bodies)
    for refused in (each for each in found if isinstance(each, sw.InvalidRequest)):
        raise refused
    assert sorted(each.number for each in found) == [1, 2, 3, 4, 5, 6]


@pytest.mark.needs("transactions honour tokens")
async def test_a_row_that_the_sequence_did_not_make_is_told_and_uses_no_number(db, shop) -> None:
    await shop.of(Invoice).create(Invoice(number=1, order="foreign"))
    refused = await db.run(Gapless[Invoice](shop, "invoices").issue("a", partial(invoice, "a")))
    assert isinstance(refused, RowRefused)
    assert (bool(refused), refused.number, refused.refusal.existing.order) == (False, 1, "foreign")
    assert isinstance(refused.error(), sw.AlreadyExists)
    assert await shop.of(GaplessCounter).get_or_none(GaplessCounter.key_of("invoices")) is None


@pytest.mark.needs("transactions honour tokens")
async def test_a_number_is_voided_and_stays_used(db, shop) -> None:
    sequence = Gapless[Invoice](shop, "invoices")
    await db.run(sequence.issue("a", partial(invoice, "a")))
    assert (await db.run(sequence.void("a", "wrong address"))).voided == "wrong address"
    assert (await db.run(sequence.void("a", "again"))).voided == "wrong address"
    assert await db.run(sequence.number_of("a")) == Issued(1, None, "wrong address")
    assert await db.run(sequence.void("b", "never issued")) is None
    assert (await db.run(sequence.issue("b", partial(invoice, "b")))).number == 2


def test_what_makes_rows_has_to_make_entities(world) -> None:
    with pytest.raises(sw.InvalidRequest, match="int"):
        run(world, Gapless(world.db.table(TABLE), "invoices").issue("a", lambda number: number))  # type: ignore[arg-type,return-value]


# ----------------------------------------------------------------------------------------------------------- schedules of C5


def sequence_of(world: World) -> Gapless[Invoice]:
    return Gapless[Invoice](world.db.table(TABLE), "invoices")


def issue(world: World, order: str) -> Any:
    return run(world, sequence_of(world).issue(order, partial(invoice, order)))


def rows(world: World) -> list[tuple[int, str]]:
    items = world.service.execute("Scan", {"TableName": TABLE})["Items"]
    return sorted((int(item["number"]["N"]), item["order"]["S"]) for item in items if item["_type"]["S"] == "INVOICE")


def test_c5_an_issue_whose_answers_are_all_lost_is_found_by_a_read(world) -> None:
    world.follow(Step(LoseAnswer(), ON_WRITES, times=None))
    assert issue(world, "a").number == 1
    world.no_more_faults()
    assert issue(world, "b").number == 2
    assert rows(world) == [(1, "a"), (2, "b")]


def test_c5_an_issue_that_never_arrived_is_sent_again(world) -> None:
    # The third read is the one that settles the doubt; after it the network is well.
    world.follow(Step(LoseRequest(), ON_WRITES, times=None), Step(Deliver(), ON_READS, nth=3, after=("heal",)), heal=world.no_more_faults)
    assert issue(world, "a").number == 1
    assert rows(world) == [(1, "a")]


def test_c5_a_late_copy_of_an_issue_is_dead_once_the_counter_moved_on(world) -> None:
    others = Gapless[Invoice](world.other, "invoices")

    def overtake() -> None:
        world.no_more_faults()
        world.other_db.run(others.issue("b", partial(invoice, "b")))

    world.follow(
        Step(ApplyLate(), ON_WRITES),
        Step(LoseRequest(), ON_WRITES, nth=2, times=None),
        Step(Deliver(), ON_READS, nth=3, after=("overtake",)),
        overtake=overtake,
    )
    assert issue(world, "a").number == 2
    world.release()
    assert rows(world) == [(1, "b"), (2, "a")]


def test_c5_the_same_order_issued_by_another_in_between_has_one_number(world) -> None:
    others = Gapless[Invoice](world.other, "invoices")
    world.follow(Step(Deliver(), ON_WRITES, before=("same",)), same=lambda: world.other_db.run(others.issue("a", partial(invoice, "a"))))
    assert issue(world, "a") == Issued(1, None)
    assert rows(world) == [(1, "a")]


def test_an_issue_is_unknown_only_where_the_reads_are_not_answered_either(world) -> None:
    world.follow(Step(LoseAnswer(), ON_WRITES, times=None), Step(LoseRequest(), ON_READS, nth=3, times=None))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        issue(world, "a")
    assert "same business id" in "".join(raised.value.__notes__)
    world.no_more_faults()
    assert issue(world, "a") == Issued(1, None)


def test_an_issue_that_always_loses_the_race_says_so(world) -> None:
    others = Gapless[Invoice](world.other, "invoices")
    numbers = iter(range(100))

    def other() -> None:
        name = f"o{next(numbers)}"
        world.other_db.run(others.issue(name, partial(invoice, name)))

    world.follow(Step(Deliver(), ON_WRITES, times=None, before=("other",)), other=other)
    with pytest.raises(sw.TransactionConflict, match="3 tries"):
        run(world, Gapless[Invoice](world.db.table(TABLE), "invoices", tries=3).issue("a", partial(invoice, "a")))
    assert world.of(GaplessIssue).get_or_none(GaplessIssue.key_of("invoices", "a")) is None
