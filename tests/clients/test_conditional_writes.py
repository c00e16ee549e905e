"""The document on conditional writes: its four patterns and its example, on a table as it makes it."""

from __future__ import annotations

import pytest
from tests.typing.accepted.entities import Order

import surewrite as sw

O1 = Order.key_of("c5", "o1")


@pytest.fixture
def orders_table(make_table, running):
    return running.run(make_table(Order, key=("customer_id", "order_id"), discriminator=None))


@pytest.fixture
def orders(orders_table):
    return orders_table.of(Order)


async def test_create_only_if_new(orders) -> None:
    await orders.create(Order(customer_id="c5", order_id="o1", stock=3))
    assert not await orders.try_create(Order(customer_id="c5", order_id="o1", stock=0))
    assert (await orders.get(O1)).stock == 3


async def test_a_transition_is_made_from_its_state_only(orders) -> None:
    order = await orders.create(Order(customer_id="c5", order_id="o1", stock=3))
    with pytest.raises(sw.ConditionFailed) as refused:
        await orders.update(O1.ignore_version(), Order.status.set("shipped"), condition=Order.status == "paid")
    assert refused.value.item == order
    await orders.update(O1.ignore_version(), Order.status.set("paid"))
    assert (await orders.update(O1.ignore_version(), Order.status.set("shipped"), condition=Order.status == "paid")).status == "shipped"


async def test_stock_never_goes_below_zero(orders, together) -> None:
    await orders.create(Order(customer_id="c5", order_id="o1", stock=3))

    async def take() -> Order:
        return await orders.update(O1.ignore_version(), Order.stock.set(Order.stock - 1), condition=Order.stock >= 1)

    results = await together(*(take for _ in range(5)))
    assert sorted(type(result).__name__ for result in results) == ["ConditionFailed"] * 2 + ["Order"] * 3
    assert (await orders.get(O1)).stock == 0


async def test_the_example_of_the_document(orders) -> None:
    async def take(n: int, seen_version: int) -> Order:
        return await orders.update(O1.if_version(seen_version), Order.stock.set(Order.stock - n), condition=Order.stock >= n)

    await orders.create(Order(customer_id="c5", order_id="o1", stock=3))
    taken = await take(2, 1)
    assert (taken.stock, taken.version) == (1, 2)
    with pytest.raises(sw.VersionConflict) as conflict:
        await take(1, 1)
    assert conflict.value.item == taken
    with pytest.raises(sw.ConditionFailed):
        await take(2, 2)


async def test_items_of_the_document_s_boto3_code_are_taken_over(orders, orders_table, db) -> None:
    item = {"customer_id": {"S": "c5"}, "order_id": {"S": "o1"}, "stock": {"N": "3"}, "version": {"N": "1"}}
    await db.execute("PutItem", {"TableName": orders_table.name, "Item": item})
    order = await orders.get(O1)
    assert (order.stock, order.version, order.status) == (3, 1, "new")
    order = await orders.update(order, Order.stock.set(Order.stock - 2))
    take_by_another_program = {
        "TableName": orders_table.name,
        "Key": {"customer_id": {"S": "c5"}, "order_id": {"S": "o1"}},
        "UpdateExpression": "SET stock = stock - :n, version = version + :one",
        "ConditionExpression": "stock >= :n AND version = :v",
        "ExpressionAttributeValues": {":n": {"N": "1"}, ":one": {"N": "1"}, ":v": {"N": str(order.version)}},
    }
    await db.execute("UpdateItem", take_by_another_program)
    with pytest.raises(sw.VersionConflict) as conflict:
        await orders.update(order, Order.stock.set(Order.stock - 1))
    assert (conflict.value.item.stock, conflict.value.item.version) == (0, 3)
