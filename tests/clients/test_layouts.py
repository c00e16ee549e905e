"""Tables with key attributes of their own names and types, and with discriminator, stamp or birth named otherwise or switched off."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.typing.accepted.entities import Order, Results

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Reading(Entity, partition_key="{sensor}", sort_key="{number}"):
    sensor: Attribute[bytes]
    number: Attribute[Decimal]
    value: Attribute[str] = sw.attribute(default="")


class Item(VersionedEntity, discriminator="ITEM", partition_key="{id}"):
    id: Attribute[int] = sw.attribute(stored_as="item_id")
    text: Attribute[str] = sw.attribute(default="")
    version: Attribute[int | None] = sw.version(stored_as="v")


async def raw(db, table, key) -> dict:
    answer = await db.execute("GetItem", {"TableName": table.name, "Key": key, "ConsistentRead": True})
    return answer.get("Item")


async def test_a_key_attribute_that_is_a_field_is_stored_once(make_table, db) -> None:
    table = await make_table(Order, key=("customer_id", "order_id"), discriminator=None)
    order = await table.of(Order).create(Order(customer_id="c", order_id="o", stock=3))
    item = await raw(db, table, {"customer_id": {"S": "c"}, "order_id": {"S": "o"}})
    assert set(item) == {"customer_id", "order_id", "stock", "status", "version", "_s", "_b"}
    assert await table.of(Order).get(Order.key_of("c", "o")) == order


async def test_one_key_attribute_of_another_stored_name(make_table) -> None:
    table = await make_table(Results, key=("ID",), discriminator=None)
    results = table.of(Results)
    kept = await results.create(Results(id="x"))
    assert await results.get(Results.key_of("x")) == kept
    assert await results.delete(Results.key_of("x")) == kept


async def test_keys_may_be_binary_and_numbers(make_table, db) -> None:
    table = await make_table(Reading, key=("sensor", "number"), discriminator=None)
    readings = table.of(Reading)
    kept = await readings.create(Reading(sensor=b"\x00\xff", number=Decimal("1.50"), value="x"))
    assert await readings.get(Reading.key_of(b"\x00\xff", Decimal("1.5"))) == kept
    with pytest.raises(sw.AlreadyExists):
        await readings.create(Reading(sensor=b"\x00\xff", number=Decimal("1.500")))
    assert (await raw(db, table, {"sensor": {"B": "AP8="}, "number": {"N": "1.5"}}))["value"] == {"S": "x"}


async def test_what_is_added_may_have_other_names(make_table, db) -> None:
    table = await make_table(Item, key=("item_id",), discriminator="kind", stamp="written", birth="born")
    items = table.of(Item)
    await items.put((await items.create(Item(id=1))).replace(text="x"))
    item = await raw(db, table, {"item_id": {"N": "1"}})
    assert set(item) == {"item_id", "text", "v", "kind", "written", "born"}
    assert item["written"]["S"].startswith("2:")
    assert item["born"]["S"].startswith("1:")


async def test_with_stamp_and_birth_off_the_version_alone_guards(make_table, db) -> None:
    table = await make_table(Item, key=("item_id",), stamp=None, birth=None)
    items = table.of(Item)
    old = await items.create(Item(id=1))
    assert set(await raw(db, table, {"item_id": {"N": "1"}})) == {"item_id", "text", "v", "_type"}
    new = await items.put(old.replace(text="x"))
    with pytest.raises(sw.VersionConflict):
        await items.put(old.replace(text="y"))
    await items.delete(new)
    # A bare number does not see that the item was deleted and made again.
    await items.create(Item(id=1))
    assert (await items.put(old.replace(text="old life"))).text == "old life"


async def test_if_unchanged_needs_stamps(make_table) -> None:
    table = await make_table(Results, key=("ID",), discriminator=None, stamp=None, birth=None)
    results = table.of(Results)
    kept = await results.create(Results(id="x"))
    with pytest.raises(sw.InvalidRequest, match="switched off"):
        await results.put(kept, if_unchanged=True)
    with pytest.raises(sw.InvalidRequest, match="give the type a version, or the table its stamp"):
        await results.modify(Results.key_of("x"), lambda found: found)


async def test_with_the_discriminator_off_any_item_is_of_the_type(make_table, db) -> None:
    table = await make_table(Order, key=("customer_id", "order_id"), discriminator=None)
    body = {"customer_id": {"S": "c"}, "order_id": {"S": "o"}, "stock": {"N": "3"}, "_type": {"S": "SOMETHING"}}
    await db.execute("PutItem", {"TableName": table.name, "Item": body})
    order = await table.of(Order).get(Order.key_of("c", "o"))
    assert (await table.of(Order).put(order.replace(status="x"))).version == 1
    assert (await raw(db, table, {"customer_id": {"S": "c"}, "order_id": {"S": "o"}}))["_type"] == {"S": "SOMETHING"}


async def test_a_type_without_discriminator_does_not_fit_a_table_that_keeps_one(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="discriminator=None for the table"):
        db.table("Orders", key=("customer_id", "order_id")).of(Order)


async def test_a_type_with_one_key_attribute_does_not_fit_a_table_with_two(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="key attribute"):
        db.table("shop").of(Item)
