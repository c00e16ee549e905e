"""Claims by hand: taken, moved and released in the user's own transaction."""

from __future__ import annotations

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.recipes.uniqueness import Claims, ValueClaim
from surewrite.testing.faults import ApplyLate, LoseAnswer, Step, Where

TRANSACTIONS = pytest.mark.needs("transactions honour tokens")
COMMITS = Where(operations=("TransactWriteItems",))


class Booking(VersionedEntity, discriminator="BOOKING", partition_key="BOOKING#{id}", sort_key="BOOKING"):
    id: Attribute[str]
    seat: Attribute[str | None] = sw.attribute(default=None)
    version: Attribute[int | None] = sw.version()


@TRANSACTIONS
async def test_a_claim_takes_a_free_value_and_the_refusal_holds_the_owner(db, shop) -> None:
    seats = Claims(shop, "LX 318")
    tx = shop.transaction()
    seats.claim(tx, "12A", owner="b1")
    tx.create(Booking(id="b1", seat="12A"))
    await tx.commit()
    tx = shop.transaction()
    seat = seats.claim(tx, "12A", owner="b2")
    tx.create(Booking(id="b2", seat="12A"))
    result = await tx.try_commit()
    assert result.refusal_of(seat).existing.owner == "b1"
    assert await db.run(seats.owner_of("12A")) == "b1"
    assert await shop.of(Booking).get_or_none(Booking.key_of("b2")) is None


@TRANSACTIONS
async def test_an_own_claim_is_no_collision_and_other_sets_of_values_are_apart(db, shop) -> None:
    seats = Claims(shop, "LX 318")
    for _ in range(2):
        tx = shop.transaction()
        seats.claim(tx, "12A", owner="b1")
        await tx.commit()
    tx = shop.transaction()
    Claims(shop, ("LX", 319)).claim(tx, "12A", owner="b2")
    await tx.commit()
    assert await db.run(seats.owner_of("12A")) == "b1"


@TRANSACTIONS
async def test_a_move_releases_and_claims_in_one(db, shop) -> None:
    seats = Claims(shop, "LX 318", normalise=str.upper)
    tx = shop.transaction()
    assert len(seats.move(tx, None, "12a", owner="b1")) == 1
    await tx.commit()
    tx = shop.transaction()
    assert seats.move(tx, "12A", "12a", owner="b1") == ()
    assert len(seats.move(tx, "12A", "13B", owner="b1")) == 2
    await tx.commit()
    assert await db.run(seats.owner_of("12a")) is None
    assert await db.run(seats.owner_of("13b")) == "b1"


@TRANSACTIONS
async def test_a_release_of_what_another_owner_has_is_refused(db, shop) -> None:
    seats = Claims(shop, "LX 318")
    tx = shop.transaction()
    seats.claim(tx, "12A", owner="b1")
    await tx.commit()
    tx = shop.transaction()
    marker = seats.release(tx, "12A", owner="b2")
    result = await tx.try_commit()
    assert result.refusal_of(marker).reason is sw.RefusalReason.CONDITION_FAILED
    tx = shop.transaction()
    seats.release(tx, "12A", owner="b1")
    await tx.commit()
    assert await db.run(seats.owner_of("12A")) is None


def test_what_names_nobody_is_refused_before_anything_is_sent(world) -> None:
    seats = Claims(world.db.table("shop"), "LX 318")
    tx = world.db.table("shop").transaction()
    with pytest.raises(sw.InvalidRequest, match="the owner of a claim is a text"):
        seats.claim(tx, "12A", owner="")
    with pytest.raises(sw.InvalidRequest, match="a value is text"):
        seats.claim(tx, 12, owner="b1")  # type: ignore[arg-type]


def test_c1_a_claim_whose_answer_is_lost_is_its_own_and_a_late_copy_takes_nothing(world) -> None:
    seats = Claims(world.db.table("shop"), "LX 318")
    tx = world.table.transaction()
    seats.claim(tx, "12A", owner="b1")
    world.follow(Step(LoseAnswer(), COMMITS, nth=1))
    assert tx.try_commit()
    tx = world.table.transaction()
    seats.claim(tx, "13B", owner="b1")
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    assert tx.try_commit()
    world.other.of(ValueClaim).delete(ValueClaim.key_of("LX 318", "13B"))
    world.no_more_faults()
    world.release()
    assert world.other.of(ValueClaim).get_or_none(ValueClaim.key_of("LX 318", "13B")) is None


class Slot(Entity, discriminator="SLOT", partition_key="{day}"):
    day: Attribute[str]


async def test_a_table_without_a_sort_key_is_refused(make_table) -> None:
    table = await make_table(Slot, key=("day",))
    with pytest.raises(sw.InvalidRequest, match="key"):
        Claims(table, "slots")
