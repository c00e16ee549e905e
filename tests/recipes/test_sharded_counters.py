"""Sharded counters: sums cheap or exact, and a number of shards that readers never sum too little of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.effects import Operation
from surewrite.recipes.idempotency import Idempotency
from surewrite.recipes.sharded_counters import SHARDS_MAX, CounterShard, CounterShards, ShardedCounter
from surewrite.testing.faults import WRITES, ApplyLate, Conflict, Deliver, LoseAnswer, Step, Where

ON_SHARDS = Where(operations=WRITES, mentions="SHARDED_COUNTER#0")
ON_SUMS = Where(operations=("TransactGetItems",))


class Page(Entity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]


def run(world: World, operation: Operation[Any]) -> Any:
    return await_in(world, world.db.run(operation))


def await_in(world: World, found: Any) -> Any:
    return found if world.kind == "blocking" else world.run(found)


def counter_of(world: World, **settings: Any) -> ShardedCounter:
    return ShardedCounter(world.db.table(TABLE), "likes", **settings)


async def test_additions_are_spread_and_the_cheap_sum_has_them_all(db, shop) -> None:
    counter = ShardedCounter(shop, "likes", shards=4)
    for _ in range(12):
        await db.run(counter.add(2))
    assert await db.run(counter.sum()) == 24
    shards = [await shop.of(CounterShard).get_or_none(CounterShard.key_of(shard, "likes")) for shard in range(4)]
    assert sum(shard is not None for shard in shards) > 1


def test_each_shard_is_in_a_partition_of_its_own_since_the_writes_of_one_are_limited_together() -> None:
    partitions = {CounterShard.partition_of(shard, "likes") for shard in range(SHARDS_MAX)}
    assert len(partitions) == SHARDS_MAX


async def test_counters_whose_names_hold_what_keys_are_parted_by_do_not_meet(db, shop) -> None:
    for number, name in enumerate(("1", "01#1", "#", "01#", "SHARDS"), start=1):
        await db.run(ShardedCounter(shop, name, shards=2).add(number))
        await db.run(ShardedCounter(shop, name).add(number))
    for number, name in enumerate(("1", "01#1", "#", "01#", "SHARDS"), start=1):
        assert await db.run(ShardedCounter(shop, name).sum()) == 2 * number


@pytest.mark.needs("transactions honour tokens")
async def test_exact_additions_and_the_exact_sum(db, shop) -> None:
    counter = ShardedCounter(shop, "likes", shards=3, exact=True)
    for _ in range(6):
        await db.run(counter.add(2))
    assert await db.run(counter.exact_sum()) == 12


async def test_a_counter_without_additions_sums_to_0(db, shop) -> None:
    assert await db.run(ShardedCounter(shop, "likes").sum()) == 0


@pytest.mark.parametrize("shards", [1, 99])
def test_an_exact_sum_takes_up_to_99_shards_and_their_number(world, shards: int) -> None:
    counter = counter_of(world, shards=shards)
    for _ in range(5):
        run(world, counter.add())
    assert run(world, counter.exact_sum()) == 5


@pytest.mark.parametrize("shards", [0, 100, True])
def test_more_shards_than_one_transactional_get_reads_are_refused(world, shards: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="99"):
        counter_of(world, shards=shards)
    with pytest.raises(sw.InvalidRequest, match="99"):
        counter_of(world).reshard(shards)


async def test_a_table_without_a_sort_key_is_refused_before_anything_is_sent(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="key attribute"):
        ShardedCounter(db.table("narrow", key=("id",)), "likes")


def test_an_addition_in_doubt_is_unknown_and_counts_at_most_once(world) -> None:
    counter = counter_of(world)
    run(world, counter.add())
    world.follow(Step(ApplyLate(), ON_SHARDS))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, counter.add())
    world.release()
    assert run(world, counter.sum()) == 2


def test_an_exact_addition_whose_answer_is_lost_counts_once(world) -> None:
    counter = counter_of(world, exact=True)
    run(world, counter.add())
    world.follow(Step(LoseAnswer(), ON_SHARDS), Step(ApplyLate(), ON_SHARDS, nth=2))
    run(world, counter.add())
    world.release()
    assert run(world, counter.sum()) == 2


@pytest.mark.needs("transactions honour tokens")
async def test_an_addition_in_a_transaction_counts_once_if_the_rest_of_it_takes_effect_and_else_not(db, shop) -> None:
    counter = ShardedCounter(shop, "likes", shards=3)
    for user in ("ann", "bob", "ann"):
        tx = shop.transaction()
        like = tx.create(Page(id=user))
        added = await db.run(counter.add_to(tx))
        result = await tx.try_commit()
        assert result.refusal_of(added) is None
        assert (result.refusal_of(like) is None) is bool(result)
    assert await db.run(counter.exact_sum()) == 2


def test_an_addition_in_an_idempotent_effect_counts_once_for_its_key(world) -> None:
    counter = counter_of(world, shards=3)
    keys = Idempotency(world.db.table(TABLE), "like")

    def like(tx: Any) -> Any:
        added = world.db.run(counter.add_to(tx, 5))

        async def answered() -> str:
            await added
            return "liked"

        return "liked" if world.kind == "blocking" else answered()

    for _ in range(3):
        assert run(world, keys.once("request 1", like)).answer == "liked"
    assert run(world, counter.exact_sum()) == 5


def test_a_named_transaction_that_adds_is_the_same_bytes_in_another_process(world) -> None:
    for _ in range(2):
        tx = world.db.table(TABLE).transaction(token="like 1")
        run(world, counter_of(world, shards=50).add_to(tx))
        assert await_in(world, tx.try_commit())
    assert run(world, counter_of(world).exact_sum()) == 1


def test_additions_to_one_counter_in_one_transaction_take_a_shard_each_while_there_are_some(world) -> None:
    counter, tx = counter_of(world, shards=3), world.db.table(TABLE).transaction()
    for amount in (1, 10, 100):
        run(world, counter.add_to(tx, amount))
    with pytest.raises(sw.InvalidRequest, match="add the amounts up"):
        run(world, counter.add_to(tx))
    assert await_in(world, tx.try_commit())
    assert run(world, counter.exact_sum()) == 111


# ----------------------------------------------------------------------------------------------------------- schedules of C4


def test_c4_resharding_never_lowers_what_readers_sum_over(world) -> None:
    old_writer = counter_of(world, shards=8)
    for _ in range(20):
        run(world, old_writer.add())
    run(world, counter_of(world).reshard(2))
    # The old writer still knows eight shards, and makes them again.
    for _ in range(20):
        run(world, old_writer.add())
    row = world.of(CounterShards).get(CounterShards.key_of("likes"))
    assert (row.written, row.read) == (2, 8)
    assert run(world, counter_of(world).exact_sum()) == run(world, counter_of(world).sum()) == 40


def test_a_program_that_starts_after_resharding_uses_the_new_number(world) -> None:
    run(world, counter_of(world, shards=2).add())
    run(world, counter_of(world).reshard(1))
    writer = counter_of(world, shards=50)
    for _ in range(5):
        run(world, writer.add())
    assert world.of(CounterShard).get(CounterShard.key_of(0, "likes")).count >= 5


@pytest.mark.parametrize("read", ["GetItem", "BatchGetItem"])
def test_c4_a_cheap_sum_lies_between_the_counts_at_its_start_and_its_end_also_while_shards_are_added(world, read: str) -> None:
    for _ in range(3):
        run(world, counter_of(world, shards=2).add())

    def widen() -> None:
        others = ShardedCounter(world.other, "likes")
        world.other_db.run(others.reshard(30))
        for _ in range(10):
            world.other_db.run(others.add())

    reads = Where(operations=(read,))
    world.follow(Step(Deliver(), reads, before=("widen",)), widen=widen)
    assert 3 <= run(world, counter_of(world).sum()) <= 13


@pytest.mark.parametrize("shards", [1, 99])
def test_a_cheap_sum_reads_all_shards_that_there_may_be(world, shards: int) -> None:
    run(world, counter_of(world, shards=shards).reshard(shards))
    for shard in range(shards):
        world.of(CounterShard).put(CounterShard(name="likes", shard=shard, count=2))
    assert run(world, counter_of(world).sum()) == 2 * shards


def test_c4_shards_that_are_added_while_they_are_summed_are_summed_too(world) -> None:
    run(world, counter_of(world, shards=1).add())

    def widen() -> None:
        others = ShardedCounter(world.other, "likes")
        world.other_db.run(others.reshard(30))
        for _ in range(10):
            world.other_db.run(others.add())

    world.follow(Step(Deliver(), ON_SUMS, before=("widen",)), widen=widen)
    assert run(world, counter_of(world).exact_sum()) == 11


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_c4_an_exact_sum_is_a_count_that_was_whenever_others_write(world, first: int, second: int) -> None:
    """C4 exhaustively: the counter goes 10, 13, 10 by writes to two shards, each before or after each request of the sum."""
    if second < first:
        first, second = second, first
    shards = world.other.of(CounterShard)
    run(world, counter_of(world, shards=2).reshard(2))
    for number in range(2):
        shards.put(CounterShard(name="likes", shard=number, count=5))

    def write(number: int, amount: int) -> Callable[[], object]:
        return lambda: shards.upsert(CounterShard.key_of(number, "likes"), CounterShard.count.add(amount))

    actions = {"raise": write(0, 3), "lower": write(1, -3)}
    moments: list[list[str]] = [[], [], [], []]
    moments[first].append("raise")
    moments[second].append("lower")
    before_get, after_get, before_sum, after_sum = (tuple(names) for names in moments)
    world.follow(
        Step(Deliver(), Where(operations=("GetItem",)), before=before_get, after=after_get),
        Step(Deliver(), ON_SUMS, before=before_sum, after=after_sum),
        **actions,
    )
    assert run(world, counter_of(world).exact_sum()) == (13 if first < 3 <= second else 10)


def test_c4_an_exact_sum_under_load_gives_up_after_its_tries(world) -> None:
    run(world, counter_of(world).add())
    world.follow(Step(Conflict(), ON_SUMS, times=None))
    began = world.time.monotonic
    with pytest.raises(sw.TransactionConflict):
        run(world, counter_of(world).exact_sum(tries=2))
    assert world.time.monotonic - began < 21.0


def test_resharding_whose_answers_are_lost_still_reaches_its_number(world) -> None:
    run(world, counter_of(world, shards=2).add())
    world.follow(Step(LoseAnswer(), Where(operations=("UpdateItem",)), nth=2), Step(LoseAnswer(), Where(operations=("UpdateItem",)), nth=4))
    run(world, counter_of(world).reshard(5))
    row = world.of(CounterShards).get(CounterShards.key_of("likes"))
    assert (row.written, row.read) == (5, 5)
