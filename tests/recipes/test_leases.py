"""Leases: one owner at a time by the waiter's own clock, numbers that rise, writes that hold only under the lease."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.schedules.world import TABLE, Note, World

import surewrite as sw
from surewrite.core.effects import Operation, now
from surewrite.recipes.leases import Hold, Lease, LeaseRecord, LeaseState, NotAcquired, Ran
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, LoseAnswer, LoseRequest, Reject, Step, Where

ON_WRITES = Where(operations=WRITES)


def run(world: World, operation: Operation[Any]) -> Any:
    found = world.db.run(operation)
    return found if world.kind == "blocking" else world.run(found)


def lease_of(world: World, **settings: Any) -> Lease:
    return Lease(world.db.table(TABLE), "relay", **settings)


def others_lease(world: World, **settings: Any) -> Lease:
    return Lease(world.other, "relay", **settings)


async def test_a_lease_has_one_owner_and_a_higher_number_for_each(db, shop) -> None:
    first = await db.run(Lease(shop, "relay").acquire())
    assert isinstance(first, Hold)
    refused = await db.run(Lease(shop, "relay").acquire())
    assert isinstance(refused, NotAcquired)
    assert not refused
    assert await db.run(Lease(shop, "relay").release(first)) is LeaseState.NOT_HELD
    second = await db.run(Lease(shop, "relay").acquire())
    assert (first.fence, second.fence) == (1, 2)
    assert first.owner != second.owner


async def test_only_one_of_many_that_ask_at_once_becomes_the_owner(db, shop, together) -> None:
    found = await together(*(lambda: db.run(Lease(shop, "relay").acquire()) for _ in range(6)))
    assert sum(isinstance(hold, Hold) for hold in found) == 1


async def test_lost_and_not_held_are_told_apart(db, shop) -> None:
    lease = Lease(shop, "relay")
    first = await db.run(lease.acquire())
    assert await db.run(lease.held(first)) is LeaseState.HELD
    await db.run(lease.release(first))
    assert await db.run(lease.held(first)) is LeaseState.NOT_HELD
    assert await db.run(lease.renew(first)) is LeaseState.NOT_HELD
    await db.run(lease.acquire())
    assert await db.run(lease.held(first)) is LeaseState.LOST
    assert await db.run(lease.renew(first)) is LeaseState.LOST
    assert await db.run(lease.release(first)) is LeaseState.LOST


@pytest.mark.needs("transactions honour tokens")
async def test_a_write_is_made_conditional_on_the_lease_in_the_same_commit(db, shop) -> None:
    lease = Lease(shop, "relay")

    async def write(hold: Hold) -> LeaseState:
        tx = shop.transaction()
        tx.put(Note(id="a", count=hold.fence))
        held = tx.check(hold.key, hold.condition)
        result = await tx.try_commit()
        return hold.state_told_by(result.refusal_of(held)) if not result else LeaseState.HELD

    first = await db.run(lease.acquire())
    assert await write(first) is LeaseState.HELD
    await db.run(lease.release(first))
    assert await write(first) is LeaseState.NOT_HELD
    second = await db.run(lease.acquire())
    assert await write(first) is LeaseState.LOST
    assert await write(second) is LeaseState.HELD
    assert (await shop.of(Note).get(Note.key_of("a"))).count == 2


async def test_a_function_runs_under_the_lease_and_gives_it_back(db, shop) -> None:
    lease = Lease(shop, "relay")
    ran = await db.run(lease.run(lambda kept: kept.fence * 10))
    assert ran == Ran(10, LeaseState.HELD)
    hold = await db.run(lease.acquire())
    assert hold.fence == 2
    assert isinstance(await db.run(lease.run(lambda kept: kept.fence)), NotAcquired)


async def test_a_function_that_raises_gives_the_lease_back(db, shop) -> None:
    lease = Lease(shop, "relay")

    def fails(kept: Any) -> None:
        raise ValueError(kept.fence)

    with pytest.raises(ValueError, match="1"):
        await db.run(lease.run(fails))
    assert (await db.run(lease.acquire())).fence == 2


async def test_a_table_without_a_sort_key_is_refused_before_anything_is_sent(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="key attribute"):
        Lease(db.table("narrow", key=("id",)), "relay")


def test_a_record_that_was_made_anew_is_not_the_one_that_a_waiter_saw(world: World) -> None:
    """Somebody deleted the record, and the new one has the revision of the old one: its owner is still one for the whole duration."""
    lease, others = lease_of(world, duration_seconds=10.0), others_lease(world, duration_seconds=10.0)
    world.other_db.run(others.acquire())
    assert not run(world, lease.acquire())
    world.time.advance(9.0)
    world.other.of(LeaseRecord).delete(LeaseRecord.key_of("relay").ignore_version())
    hold = world.other_db.run(others_lease(world, duration_seconds=10.0).acquire())
    world.time.advance(2.0)
    assert not run(world, lease.acquire())
    assert world.other_db.run(others.held(hold)) is LeaseState.HELD


@pytest.mark.real_time
def test_the_lease_is_renewed_beside_the_function() -> None:
    db = sw.connect("memory:")
    table = db.table("shop")
    table.create_table(LeaseRecord)

    def works(kept: Any) -> int:
        deadline = time.monotonic() + 30.0
        while kept.hold.record.renewals < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        return kept.hold.record.renewals

    ran = db.run(Lease(table, "relay", duration_seconds=3.0).run(works))
    assert ran.result >= 2
    assert ran.state is LeaseState.HELD


# --------------------------------------------------------------------------------------------- schedules of C6: slow owners


@pytest.mark.parametrize("ahead_seconds", [-7200.0, 7200.0])
def test_c6_a_waiter_counts_a_full_lease_on_its_own_clock_however_wrong_its_wall_clock_is(make_world, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    world.other_db.run(others_lease(world, duration_seconds=20.0).acquire())
    began = world.time.monotonic
    hold = run(world, lease_of(world).acquire(wait_seconds=60.0))
    assert hold.fence == 2
    assert 20.0 <= world.time.monotonic - began <= 30.0


def test_c6_a_waiter_never_takes_a_lease_that_is_renewed(world) -> None:
    lease = others_lease(world, duration_seconds=20.0)
    kept = [world.other_db.run(lease.acquire())]

    def renew() -> None:
        world.time.on_wait = lambda: None
        kept[0] = world.other_db.run(lease.renew(kept[0]))
        world.time.on_wait = renew

    world.time.on_wait = renew
    refused = run(world, lease_of(world).acquire(wait_seconds=200.0))
    assert isinstance(refused, NotAcquired)
    assert world.time.monotonic >= 300.0
    assert isinstance(kept[0], Hold)


def test_a_program_that_asks_now_and_then_takes_over_in_the_end(world) -> None:
    world.other_db.run(others_lease(world, duration_seconds=20.0).acquire())
    lease = lease_of(world)
    found = []
    for _ in range(4):
        found.append(bool(run(world, lease.acquire())))
        world.time.advance(8.0)
    assert found == [False, False, False, True]


def test_c6_an_owner_that_stood_still_knows_it_by_either_clock(world) -> None:
    lease = lease_of(world, duration_seconds=20.0)
    hold = run(world, lease.acquire())
    assert hold.remaining_seconds(run(world, Operation(now))) == pytest.approx(18.0)
    # A frozen machine: its monotonic clock stood still meanwhile.
    world.time.wall += 19.0
    assert hold.remaining_seconds(run(world, Operation(now))) < 0.0
    assert run(world, lease.held(hold)) is LeaseState.NOT_HELD
    assert isinstance(run(world, lease.renew(hold)), Hold)


def test_c6_a_slow_owner_cannot_write_under_a_lost_lease(world) -> None:
    hold = run(world, lease_of(world, duration_seconds=20.0).acquire())
    lease = others_lease(world)
    world.other_db.run(lease.acquire())
    world.time.advance(21.0)
    assert world.other_db.run(lease.acquire()).fence == 2
    tx = world.table.transaction()
    held = tx.check(hold.key, hold.condition)
    tx.create(Note(id="a"))
    result = tx.try_commit()
    assert hold.state_told_by(result.refusal_of(held)) is LeaseState.LOST


def test_a_lost_answer_to_a_take_is_recognised(world) -> None:
    world.follow(Step(LoseAnswer(), ON_WRITES))
    hold = run(world, lease_of(world).acquire())
    assert (hold.fence, world.effects) == (1, 1)


def test_a_take_in_doubt_is_settled_by_its_owner_id(world) -> None:
    world.follow(Step(LoseAnswer(), ON_WRITES), Step(Reject("AccessDeniedException"), ON_WRITES, nth=2))
    hold = run(world, lease_of(world).acquire())
    assert isinstance(hold, Hold)
    # When the take was made is not known, so the hold counts from a renewal.
    assert (hold.fence, hold.record.renewals) == (1, 1)


def test_a_renewal_counts_from_its_own_write_and_not_from_what_an_earlier_one_left(world) -> None:
    lease = lease_of(world)
    hold = run(world, lease.acquire())
    run(world, lease.renew(hold))
    renewed = run(world, lease.renew(hold))
    assert renewed.record.renewals == 2


def test_a_late_copy_of_a_take_does_not_take_from_a_later_owner(world) -> None:
    lease = lease_of(world)
    run(world, lease.release(run(world, lease.acquire())))
    world.follow(Step(ApplyLate(), ON_WRITES), Step(Deliver(), ON_WRITES, nth=2))
    mine = run(world, lease.acquire())
    run(world, lease.release(mine))
    theirs = world.other_db.run(others_lease(world).acquire())
    world.release()
    assert world.other_db.run(others_lease(world).held(theirs)) is LeaseState.HELD


def test_a_renewal_that_is_never_settled_raises_and_does_not_claim_to_hold(world) -> None:
    lease = lease_of(world)
    hold = run(world, lease.acquire())
    world.follow(Step(LoseAnswer(), times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, lease.renew(hold))


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_function_gave_is_told_although_its_lease_cannot_be_given_back(world, fails) -> None:
    def works(_kept: Any) -> str:
        world.follow(Step(LoseRequest(), times=None))
        if fails:
            raise ValueError("of the function")
        return "done"

    if fails:
        with pytest.raises(ValueError, match="of the function") as raised:
            run(world, lease_of(world).run(works))
        assert "the lease was not given back" in raised.value.__notes__[0]
    else:
        ran = run(world, lease_of(world, duration_seconds=120.0).run(works))
        assert (ran.result, ran.state) == ("done", LeaseState.HELD)
    world.no_more_faults()
    assert not world.other_db.run(others_lease(world).acquire())


def test_the_record_is_kept_when_a_lease_is_given_back_so_that_its_number_goes_on(world) -> None:
    lease = lease_of(world)
    run(world, lease.release(run(world, lease.acquire())))
    assert world.of(LeaseRecord).get(LeaseRecord.key_of("relay")).fence == 1


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_lease_lasts_for_some_time(world, seconds: float) -> None:
    with pytest.raises(sw.InvalidRequest):
        lease_of(world, duration_seconds=seconds)
