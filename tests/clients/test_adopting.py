"""Items that other programs made: read, adopted and changed; two releases of one type beside each other."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity

TABLE = "orders"


class Order(VersionedEntity, partition_key="{customer_id}", sort_key="{order_id}"):
    """The items of a table that exists, whose attributes have names of their own."""

    customer_id: Attribute[str] = sw.attribute(stored_as="CustomerId")
    order_id: Attribute[int] = sw.attribute(stored_as="OrderId")
    total: Attribute[Decimal] = sw.attribute(default=Decimal(0), stored_as="Total")
    status: Attribute[str | None] = sw.attribute(default=None, stored_as="Status")
    version: Attribute[int | None] = sw.version(stored_as="Version")


KEY = Order.key_of("c5", 7)
ITEM: dict[str, Any] = {
    "CustomerId": {"S": "c5"}, "OrderId": {"N": "7"}, "Total": {"N": "12.50"}, "Status": {"NULL": True}, "Lines": {"L": [{"M": {"sku": {"S": "x"}}}]},
}  # fmt: skip


class Desk:
    """A table of orders, and what another program does to the one under ``KEY``."""

    def __init__(self, table: Any, db: Any) -> None:
        self.orders = table.of(Order)
        self.table = table
        self._db = db

    async def put(self, **changed: Any) -> None:
        item = {name: value for name, value in {**ITEM, **changed}.items() if value is not None}
        await self._db.execute("PutItem", {"TableName": self.table.name, "Item": item})

    async def item(self) -> dict[str, Any]:
        key = {"CustomerId": ITEM["CustomerId"], "OrderId": ITEM["OrderId"]}
        answer = await self._db.execute("GetItem", {"TableName": self.table.name, "Key": key, "ConsistentRead": True})
        return dict(answer["Item"])


@pytest.fixture
def open_desk(make_table, db) -> Any:
    async def open_one() -> Desk:
        return Desk(await make_table(Order, key=("CustomerId", "OrderId"), discriminator=None), db)

    return open_one


async def test_an_item_of_another_program_is_read_and_queried(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    order = await desk.orders.get(KEY)
    assert (order.total, order.status, order.version) == (Decimal("12.5"), None, None)
    assert [each async for each in desk.orders.query(Order.partition_of("c5"), sort_key=sw.ge(1))] == [order]
    assert await desk.orders.get_many([KEY]) == [order]


async def test_a_put_of_a_loaded_item_adopts_it_and_keeps_what_it_does_not_know(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    order = await desk.orders.get(KEY)
    saved = await desk.orders.put(order.replace(status="paid"))
    assert saved.version == 1
    stored = await desk.item()
    assert (stored["Lines"], stored["Status"], stored["Version"]) == (ITEM["Lines"], {"S": "paid"}, {"N": "1"})
    assert {"_s", "_b"} <= stored.keys()
    with pytest.raises(sw.VersionConflict):
        await desk.orders.put(order)


async def test_an_update_of_a_loaded_item_adopts_it(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    order = await desk.orders.update(await desk.orders.get(KEY), Order.total.add(1))
    assert (order.version, order.total) == (1, Decimal("13.5"))
    assert (await desk.item())["Lines"] == ITEM["Lines"]


@pytest.mark.parametrize("version", [None, {"NULL": True}], ids=["none", "null"])
async def test_an_item_without_a_version_is_adopted_by_key(open_desk, version: Any) -> None:
    desk = await open_desk()
    await desk.put(Version=version)
    assert (await desk.orders.update(KEY.if_version(None), Order.status.set("a"))).version == 1
    with pytest.raises(sw.VersionConflict):
        await desk.orders.update(KEY.if_version(None), Order.status.set("b"))


async def test_a_missing_version_counts_as_zero_for_a_write_that_ignores_it(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    assert (await desk.orders.update(KEY.ignore_version(), Order.status.set("a"))).version == 1


@pytest.mark.parametrize("number", [0, -3, 41])
async def test_the_numbers_of_another_program_go_on(open_desk, number: int) -> None:
    desk = await open_desk()
    await desk.put(Version={"N": str(number)})
    order = await desk.orders.get(KEY)
    assert order.version == number
    assert (await desk.orders.put(order)).version == number + 1


async def test_an_item_that_got_a_version_since_it_was_read_is_a_conflict(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    order = await desk.orders.get(KEY)
    await desk.put(Version={"N": "1"})
    for write in (desk.orders.put, desk.orders.delete):
        with pytest.raises(sw.VersionConflict):
            await write(order)
    with pytest.raises(sw.VersionConflict):
        await desk.orders.update(order, Order.status.set("a"))


async def test_a_new_entity_does_not_overwrite_an_item_without_a_version(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    with pytest.raises(sw.AlreadyExists):
        await desk.orders.put(Order(customer_id="c5", order_id=7))
    assert Decimal((await desk.item())["Total"]["N"]) == Decimal("12.5")


async def test_a_loaded_item_of_another_program_is_deleted(open_desk) -> None:
    desk = await open_desk()
    await desk.put()
    await desk.orders.delete(await desk.orders.get(KEY))
    assert await desk.orders.get_or_none(KEY) is None


async def test_modify_adopts(open_desk, form) -> None:
    desk = await open_desk()
    await desk.put()
    assert (await desk.orders.modify(KEY, lambda order: order.replace(status="paid"))).version == 1


async def test_with_stamp_and_birth_switched_off_nothing_is_added(make_table, db) -> None:
    table = await make_table(Order, key=("CustomerId", "OrderId"), discriminator=None, stamp=None, birth=None)
    desk = Desk(table, db)
    await desk.put()
    await desk.orders.put(await desk.orders.get(KEY))
    assert (await desk.item()).keys() == ITEM.keys() - {"Status"} | {"Version"}


# ----------------------------------------------------------------------------------------- two releases of one type


class Before(Entity, discriminator="DOC", partition_key="DOC#{id}", sort_key="DOC"):
    """A release that knows neither the tags, nor the index, nor the version."""

    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="draft")


class After(
    VersionedEntity, discriminator="DOC", partition_key="DOC#{id}", sort_key="DOC", indexes=(sw.global_index("by_state", partition_key="STATE#{state}"),)
):
    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="draft")
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    version: Attribute[int | None] = sw.version()


async def test_a_release_that_does_not_know_a_field_keeps_it(make_table) -> None:
    table = await make_table(After)
    old, new = table.of(Before), table.of(After)
    await new.create(After(id="a", tags=frozenset({"x"})))
    await old.put((await old.get(Before.key_of("a"))).replace(state="sent"))
    await old.update(Before.key_of("a"), Before.state.set("read"))
    found = await new.get(After.key_of("a"))
    assert (found.state, found.tags, found.version) == ("read", frozenset({"x"}), 1)


async def test_a_release_with_a_version_sees_the_writes_of_one_without(make_table) -> None:
    table = await make_table(After)
    old, new = table.of(Before), table.of(After)
    mine = await new.create(After(id="a"))
    await old.update(Before.key_of("a"), Before.state.set("sent"))
    with pytest.raises(sw.VersionConflict):
        await new.put(mine.replace(tags=frozenset({"x"})))


async def test_a_release_without_a_version_overwrites_unless_it_compares_the_stamp(make_table) -> None:
    table = await make_table(After)
    old, new = table.of(Before), table.of(After)
    await old.create(Before(id="a"))
    theirs = await old.get(Before.key_of("a"))
    await new.put((await new.get(After.key_of("a"))).replace(state="sent"))
    with pytest.raises(sw.VersionConflict):
        await old.put(theirs, if_unchanged=True)
    await old.put(theirs)
    assert (await new.get(After.key_of("a"))).state == "draft"


async def test_an_item_of_the_release_without_a_version_is_adopted_by_the_one_with_it(make_table) -> None:
    table = await make_table(After)
    await table.of(Before).create(Before(id="a"))
    found = await table.of(After).get(After.key_of("a"))
    assert found.version is None
    assert (await table.of(After).put(found)).version == 1


async def test_a_release_that_does_not_know_an_index_leaves_its_key_as_it_was_until_the_next_put(make_table, place) -> None:
    if place.name == "aws":
        pytest.skip("an index follows its table some time later there")
    table = await make_table(After)
    old, new = table.of(Before), table.of(After)
    await new.create(After(id="a"))
    await old.update(Before.key_of("a"), Before.state.set("sent"))
    assert [each.id async for each in new.query(After.index_partition_of("by_state", "sent"))] == []
    assert [each.state async for each in new.query(After.index_partition_of("by_state", "draft"))] == ["sent"]
    await new.put(await new.get(After.key_of("a")))
    assert [each.id async for each in new.query(After.index_partition_of("by_state", "sent"))] == ["a"]


COLORS = {"r": "red", "g": "green"}


class Lamp(Entity, discriminator="LAMP", partition_key="LAMP#{id}", sort_key="LAMP"):
    """Its codec meets an unknown letter with a KeyError, which is no word of a codec for "none of mine"."""

    id: Attribute[str]
    uses: Attribute[int] = sw.attribute(default=0)
    color: Attribute[str] = sw.attribute(default="red", codec=sw.codec(str, via=str, encode=lambda color: color[0], decode=COLORS.__getitem__))


UNKNOWN_LAMP = {"pk": {"S": "LAMP#a"}, "sk": {"S": "LAMP"}, "_type": {"S": "LAMP"}, "color": {"S": "x"}, "uses": {"N": "1"}}


async def test_a_codec_that_fails_does_not_hide_that_the_write_was_applied(shop, stored, store) -> None:
    await store(UNKNOWN_LAMP)
    with pytest.raises(sw.UndecodableItem, match=r"the update was applied, and the item that it answered with cannot be read: Lamp\.color: .*KeyError") as told:
        await shop.of(Lamp).update(Lamp.key_of("a"), Lamp.uses.add(1))
    unread = told.value.__cause__
    assert isinstance(unread, sw.UndecodableItem)
    assert isinstance(unread.__cause__, KeyError)
    assert told.value.key == Lamp.key_of("a")
    assert (await stored("LAMP#a", "LAMP"))["uses"] == {"N": "2"}
    with pytest.raises(sw.UndecodableItem, match="the delete was applied"):
        await shop.of(Lamp).delete(Lamp.key_of("a"))
    assert await stored("LAMP#a", "LAMP") is None


async def test_a_codec_that_fails_does_not_hide_that_the_write_was_refused(shop, store) -> None:
    await store(UNKNOWN_LAMP)
    refused = await shop.of(Lamp).try_create(Lamp(id="a"))
    assert (refused.reason, refused.item) == (sw.RefusalReason.ALREADY_EXISTS, None)


class Sighting(Entity, partition_key="{place}", sort_key="{seen_at}"):
    """Moments as JavaScript writes them, in the key and beside it."""

    place: Attribute[str]
    seen_at: Attribute[datetime] = sw.attribute(codec=sw.datetime_text("%Y-%m-%dT%H:%M:%S.%3fZ"))
    changed_at: Attribute[datetime] = sw.attribute(codec=sw.datetime_text("%Y-%m-%dT%H:%M:%S[.%f]+00:00"))
    note: Attribute[str] = sw.attribute(default="")


@pytest.fixture
def open_sightings(make_table, db) -> Any:
    async def open_some() -> Any:
        table = await make_table(Sighting, key=("place", "seen_at"), discriminator=None)
        for hour in (8, 9):
            times = {"seen_at": {"S": f"2026-11-05T0{hour}:00:00.000Z"}, "changed_at": {"S": f"2026-11-05T0{hour}:00:00+00:00"}}
            await db.execute("PutItem", {"TableName": table.name, "Item": {"place": {"S": "a"}, **times}})
        return table.of(Sighting)

    return open_some


EIGHT, NINE = (datetime(2026, 11, 5, hour, tzinfo=UTC) for hour in (8, 9))


async def test_moments_in_the_form_of_another_program_are_keys_and_are_compared_rightly(open_sightings) -> None:
    sightings = await open_sightings()
    a = Sighting.partition_of("a")
    assert [each.seen_at async for each in sightings.query(a, sort_key=sw.ge(NINE))] == [NINE]
    assert [each.seen_at async for each in sightings.query(a, filter=Sighting.changed_at == EIGHT)] == [EIGHT]
    found = [each async for each in sightings.query(a)]
    await sightings.put(found[0].replace(note="x"))
    await sightings.update(found[1], Sighting.note.set("y"))
    assert [each.note async for each in sightings.query(a)] == ["x", "y"]
    assert await sightings.delete(found[0]) is not None
    assert await sightings.get_or_none(Sighting.key_of("a", EIGHT)) is None


async def test_an_order_by_moments_in_the_form_of_another_program_never_moves_back(open_sightings) -> None:
    sightings = await open_sightings()
    key = Sighting.key_of("a", NINE)
    between = NINE.replace(microsecond=1)
    for moment, applied in ((NINE, False), (EIGHT, False), (between, True), (NINE, False), (between.replace(second=1, microsecond=0), True)):
        outcome = await sightings.try_update(key, Sighting.changed_at.set(moment), condition=Sighting.changed_at < moment)
        assert bool(outcome) is applied


async def test_a_key_that_no_key_of_makes_is_told_and_its_item_found_by_the_key_of_the_error(make_table, db) -> None:
    class Plain(Entity, partition_key="{place}", sort_key="{seen_at}"):
        place: Attribute[str]
        seen_at: Attribute[datetime]

    table = await make_table(Plain, key=("place", "seen_at"), discriminator=None)
    item = {"place": {"S": "a"}, "seen_at": {"S": "2026-11-05T08:00:00Z"}}
    await db.execute("PutItem", {"TableName": table.name, "Item": item})
    problems: list[sw.UndecodableItem] = []
    plains = table.of(Plain)
    assert [each async for each in plains.query(Plain.partition_of("a"), on_undecodable=problems.append)] == []
    key = problems[0].key
    with pytest.raises(sw.UndecodableItem, match=r"Plain\.seen_at is the key.*codec="):
        await plains.get(key)
    assert await plains.get_or_none(Plain.key_of("a", EIGHT)) is None
