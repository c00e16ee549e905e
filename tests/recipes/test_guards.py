"""Writes that hold only in a state: create only, transitions, taking from a stock; which condition failed is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.recipes.guards import FailedGuard, Guards, Kept, Stopped
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

UPDATES = Where(operations=("UpdateItem",))
TRANSACTIONS = Where(operations=("TransactWriteItems",))


class Order(VersionedEntity, discriminator="ORDER", partition_key="ORDER#{id}", sort_key="ORDER"):
    id: Attribute[str]
    stock: Attribute[int] = sw.attribute(default=0)
    status: Attribute[str] = sw.attribute(default="new")
    shipped: Attribute[int] = sw.attribute(default=0)
    version: Attribute[int | None] = sw.version()


class Shelf(Entity, discriminator="SHELF", partition_key="SHELF#{id}", sort_key="SHELF"):
    id: Attribute[str]
    stock: Attribute[int | None] = sw.attribute(default=None)


KEY = Order.key_of("o1")
SHELF = Shelf.key_of("s1")
NEEDS_TOKENS = pytest.mark.needs("transactions honour tokens")
BOTH = pytest.mark.parametrize("exactly_once", [False, pytest.param(True, marks=NEEDS_TOKENS)])


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


# ------------------------------------------------------------------------------------------------- over every place


async def test_create_only_hands_out_the_item_that_was_there(db, shop) -> None:
    orders = Guards(shop, Order)
    made = await db.run(orders.create(Order(id="o1", stock=3)))
    assert made.version == 1
    refused = await db.run(orders.try_create(Order(id="o1")))
    assert (bool(refused), refused.existing.stock) == (False, 3)
    with pytest.raises(sw.AlreadyExists):
        await db.run(orders.create(Order(id="o1")))


@BOTH
async def test_a_transition_happens_only_from_its_state(db, shop, exactly_once) -> None:
    orders = Guards(shop, Order)
    await db.run(orders.create(Order(id="o1", status="paid")))
    ship = orders.try_transition(KEY, Order.status, "paid", "shipped", Order.shipped.add(1), exactly_once=exactly_once)
    assert isinstance(await db.run(ship), Kept)
    again = await db.run(ship)
    assert isinstance(again, Stopped)
    assert (again.failed, again.item.status) == (FailedGuard.STATE, "shipped")
    item = await shop.of(Order).get(KEY)
    assert (item.status, item.shipped, item.version) == ("shipped", 1, 2)
    with pytest.raises(sw.ConditionFailed, match="another state"):
        await db.run(orders.transition(KEY, Order.status, "paid", "shipped", exactly_once=exactly_once))


class Job(VersionedEntity, discriminator="JOB", partition_key="JOB#{id}", sort_key="JOB"):
    id: Attribute[str]
    worker: Attribute[str | None] = sw.attribute(default=None)
    status: Attribute[str] = sw.attribute(default="new")
    version: Attribute[int | None] = sw.version()


@BOTH
async def test_no_state_is_a_state_to_come_from_and_to_go_to(db, shop, exactly_once) -> None:
    jobs, key = Guards(shop, Job), Job.key_of("j")
    await db.run(jobs.create(Job(id="j")))
    take = jobs.try_transition(key, Job.worker, None, "ann", exactly_once=exactly_once)
    give_back = jobs.try_transition(key, Job.worker, "ann", None, exactly_once=exactly_once)
    assert [bool(await db.run(each)) for each in (give_back, take, take, give_back, give_back, take)] == [False, True, False, True, False, True]
    assert (await shop.of(Job).get(key)).worker == "ann"


@BOTH
async def test_an_item_from_before_the_field_was_declared_is_in_the_state_that_it_reads_as(db, shop, exactly_once) -> None:
    jobs, key = Guards(shop, Job), Job.key_of("j")
    for before, kept in (("done", False), ("new", True)):
        await db.execute("PutItem", {"TableName": shop.name, "Item": {"pk": {"S": "JOB#j"}, "sk": {"S": "JOB"}, "_type": {"S": "JOB"}, "id": {"S": "j"}}})
        assert bool(await db.run(jobs.try_transition(key, Job.status, before, "busy", exactly_once=exactly_once))) is kept
    assert (await shop.of(Job).get(key)).status == "busy"


@BOTH
async def test_null_is_the_state_that_it_reads_as(db, shop, exactly_once) -> None:
    jobs, key = Guards(shop, Job), Job.key_of("j")
    key_attributes = {"pk": {"S": "JOB#j"}, "sk": {"S": "JOB"}}
    await db.execute("PutItem", {"TableName": shop.name, "Item": {**key_attributes, "id": {"S": "j"}, "worker": {"NULL": True}, "status": {"NULL": True}}})
    assert await db.run(jobs.try_transition(key, Job.worker, None, "ann", exactly_once=exactly_once))
    assert await db.run(jobs.try_transition(key, Job.status, "new", "busy", exactly_once=exactly_once))
    found = await shop.of(Job).get(key)
    assert (found.worker, found.status) == ("ann", "busy")


@BOTH
async def test_a_stock_never_falls_below_zero(db, shop, exactly_once) -> None:
    orders = Guards(shop, Order)
    await db.run(orders.create(Order(id="o1", stock=3)))
    assert await db.run(orders.try_take(KEY, Order.stock, 2, exactly_once=exactly_once))
    short = await db.run(orders.try_take(KEY, Order.stock, 2, exactly_once=exactly_once))
    assert (short.failed, short.item.stock) == (FailedGuard.STOCK, 1)
    with pytest.raises(sw.ConditionFailed, match="less is left"):
        await db.run(orders.take(KEY, Order.stock, 2, exactly_once=exactly_once))
    assert (await shop.of(Order).get(KEY)).stock == 1


@BOTH
async def test_a_guard_on_nothing_says_that_there_is_no_item(db, shop, exactly_once) -> None:
    orders = Guards(shop, Order)
    found = await db.run(orders.try_transition(KEY, Order.status, "paid", "shipped", exactly_once=exactly_once))
    assert (found.failed, found.item) == (FailedGuard.ITEM, None)
    with pytest.raises(sw.ItemNotFound):
        await db.run(orders.transition(KEY, Order.status, "paid", "shipped", exactly_once=exactly_once))


async def test_taking_at_a_version_tells_a_stale_version_from_a_short_stock(db, shop) -> None:
    orders = Guards(shop, Order)
    seen = await db.run(orders.create(Order(id="o1", stock=3)))
    left = await db.run(orders.take(seen, Order.stock, 2))
    assert (left.stock, left.version) == (1, 2)
    stale = await db.run(orders.try_take(seen, Order.stock, 1))
    assert (stale.failed, stale.item) == (FailedGuard.VERSION, left)
    short = await db.run(orders.try_take(left, Order.stock, 2))
    assert (short.failed, short.item) == (FailedGuard.STOCK, left)
    with pytest.raises(sw.VersionConflict):
        await db.run(orders.take(seen, Order.stock, 1))


async def test_a_type_without_a_version_is_guarded_by_its_stamp(db, shop) -> None:
    shelves = Guards(shop, Shelf)
    await db.run(shelves.create(Shelf(id="s1", stock=2)))
    assert (await db.run(shelves.take(SHELF, Shelf.stock, 2))).stock == 0
    assert (await db.run(shelves.try_take(SHELF, Shelf.stock, 1))).failed is FailedGuard.STOCK


@pytest.mark.real_time
async def test_takers_side_by_side_take_what_there_is(db, shop, together) -> None:
    orders = Guards(shop, Order, attempts=100)
    await db.run(orders.create(Order(id="o1", stock=5)))

    async def taker() -> list[bool]:
        return [bool(await db.run(orders.try_take(KEY, Order.stock, 1))) for _ in range(3)]

    results = await together(*([taker] * 3))
    assert sum(sum(each) for each in results) == 5
    assert (await shop.of(Order).get(KEY)).stock == 0


# --------------------------------------------------------------------------------------------------- schedules of C8


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()])
def test_c8_a_take_whose_answer_was_lost_takes_once(world, exactly_once, fault) -> None:
    orders = Guards(world.table, Order)
    world.other.of(Order).create(Order(id="o1", stock=10))
    world.follow(Step(fault, TRANSACTIONS if exactly_once else UPDATES))
    assert run(world, orders.try_take(KEY, Order.stock, 3, exactly_once=exactly_once))
    assert world.other.of(Order).get(KEY).stock == 7


def test_c8_a_take_in_doubt_is_not_made_twice_when_another_took_in_between(world) -> None:
    orders = Guards(world.table, Order)
    world.other.of(Order).create(Order(id="o1", stock=10))

    def other_takes() -> None:
        world.other.of(Order).update(KEY.ignore_version(), Order.stock.set(Order.stock - 2))

    world.follow(Step(LoseAnswer(), UPDATES), Step(Deliver(), UPDATES, nth=2, before=("other",)), other=other_takes)
    with pytest.raises(sw.OutcomeUnknown):
        run(world, orders.take(KEY, Order.stock, 3))
    assert world.other.of(Order).get(KEY).stock == 5


def test_c8_a_state_that_comes_back_does_not_ship_twice(world) -> None:
    orders = Guards(world.table, Order)
    world.other.of(Order).create(Order(id="o1", status="paid"))

    def comes_back() -> None:
        world.other.of(Order).update(KEY.ignore_version(), Order.status.set("paid"))

    world.follow(Step(LoseAnswer(), UPDATES, after=("back",)), back=comes_back)
    with pytest.raises(sw.OutcomeUnknown):
        run(world, orders.transition(KEY, Order.status, "paid", "shipped", Order.shipped.add(1)))
    assert world.other.of(Order).get(KEY).shipped == 1


def test_c8_a_late_copy_of_a_transition_does_nothing_in_a_state_that_came_back(world) -> None:
    orders = Guards(world.table, Order)
    world.other.of(Order).create(Order(id="o1", status="paid"))
    world.follow(Step(ApplyLate(), UPDATES))
    run(world, orders.transition(KEY, Order.status, "paid", "shipped", Order.shipped.add(1)))
    world.other.of(Order).update(KEY.ignore_version(), Order.status.set("paid"))
    world.release()
    item = world.other.of(Order).get(KEY)
    assert (item.status, item.shipped) == ("paid", 1)


def test_a_conflict_is_judged_again_on_the_item_that_refused_it_without_a_read(world) -> None:
    orders = Guards(world.table, Order)
    world.other.of(Order).create(Order(id="o1", stock=10))
    drained = lambda: world.other.of(Order).update(KEY.ignore_version(), Order.stock.set(2))  # noqa: E731
    world.follow(Step(Deliver(), UPDATES, before=("drained",)), drained=drained)
    found = run(world, orders.try_take(KEY, Order.stock, 3))
    assert (found.failed, found.item.stock) == (FailedGuard.STOCK, 2)
    assert [request.operation for request in world.watched.sent] == ["GetItem", "UpdateItem"]


def test_a_key_that_is_overtaken_in_every_try_is_told_as_a_version_conflict(world) -> None:
    orders = Guards(world.table, Order, attempts=3)
    world.other.of(Order).create(Order(id="o1", stock=10))
    touched = lambda: world.other.of(Order).update(KEY.ignore_version(), Order.shipped.add(1))  # noqa: E731
    world.follow(Step(Deliver(), UPDATES, times=None, before=("touched",)), touched=touched)
    assert run(world, orders.try_take(KEY, Order.stock, 3)).failed is FailedGuard.VERSION
    assert world.other.of(Order).get(KEY).stock == 10


@pytest.mark.parametrize("stock", [1, 10, None])
def test_a_transaction_that_a_fence_settled_reads_why_it_was_refused(world, stock) -> None:
    orders = Guards(world.table, Order)
    if stock is not None:
        world.other.of(Order).create(Order(id="o1", stock=stock))
    world.follow(Step(LoseRequest(), Where(operations=("TransactWriteItems",), mentions="stock"), times=None))
    take = orders.try_take(KEY, Order.stock, 3, exactly_once=True)
    if stock == 10:
        with pytest.raises(sw.TransactionCanceled, match="a fence proved it"):
            run(world, take)
    else:
        assert run(world, take).failed is (FailedGuard.STOCK if stock else FailedGuard.ITEM)


def test_an_item_of_another_type_raises(world) -> None:
    world.service.execute("PutItem", {"TableName": world.table.name, "Item": {"pk": {"S": "ORDER#o1"}, "sk": {"S": "ORDER"}, "_type": {"S": "OTHER"}}})
    with pytest.raises(sw.WrongEntityType):
        run(world, Guards(world.table, Order).take(KEY, Order.stock, 1))


def test_what_cannot_work_is_refused_before_anything_is_sent(world) -> None:
    orders = Guards(world.table, Order)
    loaded = world.other.of(Order).create(Order(id="o1", stock=1))
    for wrong, message in (
        (orders.take(KEY, Order.stock, 0), "cannot be taken"),
        (orders.take(KEY, Order.stock, -1), "cannot be taken"),
        (orders.take(loaded, Order.stock, 1, exactly_once=True), "give its key"),
        (orders.take(KEY.if_version(7), Order.stock, 1), "leave if_version out"),
        (orders.take(KEY, Order.stock, Decimal("NaN")), "no number"),
        (orders.take(KEY, Order.stock, Decimal("sNaN")), "no number"),
        (orders.take(KEY, Order.stock, "1"), "no number"),
    ):
        world.follow()
        with pytest.raises(sw.InvalidRequest, match=message):
            run(world, wrong)
        assert world.watched.sent == []
