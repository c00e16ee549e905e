"""Secondary indexes: made with the table, kept by every write, queried, and what entities read from them may do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Order(
    VersionedEntity,
    discriminator="ORDER",
    partition_key="CUSTOMER#{customer}",
    sort_key="ORDER#{seq:06d}",
    indexes=(
        sw.global_index("by_status", partition_key="STATUS#{status}", sort_key="{placed_at}"),
        sw.global_index("by_courier", partition_key="{courier}", sort_key="{status}#{seq:06d}", projection="keys"),
        sw.local_index("by_total", sort_key="{total}", projection=("status",)),
        sw.global_index("inverted", partition_key="ORDER#{seq:06d}", partition_attribute="sk", sort_key="CUSTOMER#{customer}", sort_attribute="pk"),
    ),
):
    customer: Attribute[str]
    seq: Attribute[int]
    status: Attribute[str | None] = sw.attribute(default=None)
    placed_at: Attribute[datetime] = sw.attribute(default=datetime(2026, 11, 1, tzinfo=UTC))
    courier: Attribute[str | None] = sw.attribute(default=None)
    total: Attribute[int | None] = sw.attribute(default=None)
    note: Attribute[str] = sw.attribute(default="")
    version: Attribute[int | None] = sw.version()


class Ticket(
    Entity, discriminator="TICKET", partition_key="TICKET#{id}", sort_key="TICKET", indexes=(sw.global_index("queue", partition_key="{state}#{level}"),)
):
    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="open")
    level: Attribute[int] = sw.attribute(default=0)
    text: Attribute[str] = sw.attribute(default="")


class Chore(
    Entity,
    discriminator="CHORE",
    partition_key="CHORE#{id}",
    sort_key="CHORE",
    indexes=(sw.global_index("by_state", partition_key="{state}#{level}"), sw.global_index("by_owner", partition_key="{owner}#{level}")),
):
    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="open")
    owner: Attribute[str | None] = sw.attribute(default="nobody")
    level: Attribute[int] = sw.attribute(default=0)


OPEN = Order.index_partition_of("by_status", "open")


@pytest.fixture
def settled(place) -> Callable[[], Any]:
    """On AWS an index follows its table within moments; everywhere else at once."""

    async def settle() -> None:
        if place.name == "aws":
            await asyncio.sleep(2)

    return settle


async def sequence(found: Any) -> list[int]:
    return [order.seq async for order in found]


async def test_an_index_is_made_with_the_table_and_follows_create_put_and_delete(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    first = await orders.create(Order(customer="a", seq=1, status="open"))
    second = await orders.create(Order(customer="b", seq=2, status="open", placed_at=datetime(2026, 10, 1, tzinfo=UTC)))
    await settled()
    assert await sequence(orders.query(OPEN)) == [2, 1]
    assert [order async for order in orders.query(OPEN)] == [second, first]
    second = await orders.put(second.replace(status="sent"))
    await settled()
    assert await sequence(orders.query(OPEN)) == [1]
    assert await sequence(orders.query(Order.index_partition_of("by_status", status="sent"))) == [2]
    await orders.delete(first)
    await orders.put(second.replace(status=None))
    await settled()
    assert await sequence(orders.scan(index="by_status")) == []


async def test_conditions_order_limit_and_pages_work_on_an_index(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    for seq in range(1, 6):
        await orders.create(Order(customer="a", seq=seq, status="open", placed_at=datetime(2026, 11, seq, tzinfo=UTC), total=100 - seq))
    await settled()
    assert await sequence(orders.query(OPEN, sort_key=sw.ge(datetime(2026, 11, 3, tzinfo=UTC)))) == [3, 4, 5]
    assert await sequence(orders.query(OPEN, sort_key=sw.begins_with("2026-11-02"))) == [2]
    assert await sequence(orders.query(OPEN, index="by_status", descending=True, limit=2)) == [5, 4]
    first = await orders.query_page(OPEN, limit=3)
    rest = await orders.query_page(OPEN, limit=3, cursor=first.cursor)
    assert [order.seq for order in (*first, *rest)] == [1, 2, 3, 4, 5]
    assert await sequence(orders.query(Order.partition_of("a"), index="by_total", sort_key=sw.le(97))) == [5, 4, 3]
    assert await sequence(orders.query(Order.index_partition_of("by_total", "a"), limit=1)) == [5]


async def test_the_key_of_the_table_the_other_way_round(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    for customer in ("b", "a"):
        await orders.create(Order(customer=customer, seq=7))
    await settled()
    found = [order.customer async for order in orders.query(Order.index_partition_of("inverted", 7))]
    assert found == ["a", "b"]


async def test_an_update_keeps_the_index_where_all_its_fields_are_known(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    order = await orders.create(Order(customer="a", seq=1, courier="c"))
    order = await orders.update(order, Order.status.set("open"))
    await settled()
    assert await sequence(orders.query(OPEN)) == [1]
    assert await sequence(orders.query(Order.index_partition_of("by_courier", "c"))) == [1]
    # By key alone: the index by status is made of the status only, that by courier of the key beside it.
    await orders.update(Order.key_of("a", 1).ignore_version(), Order.status.set("sent"))
    await settled()
    assert await sequence(orders.query(OPEN)) == []
    found = orders.query(Order.index_partition_of("by_courier", "c"), sort_key=sw.begins_with("sent#"))
    assert await sequence(found) == [1]
    await orders.update(Order.key_of("a", 1).ignore_version(), Order.status.remove())
    await settled()
    assert await sequence(orders.scan(index="by_status")) == []


async def test_an_update_keeps_the_index_by_what_is_stored_and_not_by_what_the_entity_was_given_since(make_table, settled) -> None:
    tickets = (await make_table(Ticket)).of(Ticket)
    await tickets.put(Ticket(id="b"))
    for ticket in (await tickets.put(Ticket(id="a")), await tickets.get(Ticket.key_of("b"))):
        await tickets.update(ticket.replace(state="closed"), Ticket.level.set(3), if_unchanged=True)
    await settled()
    assert sorted([ticket.id async for ticket in tickets.query(Ticket.index_partition_of("queue", "open", 3))]) == ["a", "b"]
    assert [ticket.id async for ticket in tickets.query(Ticket.index_partition_of("queue", "closed", 3))] == []


async def test_an_update_makes_an_index_key_of_what_an_absent_attribute_reads_as(make_table, settled) -> None:
    chores = (await make_table(Chore)).of(Chore)
    # Without an owner, which is another thing than the owner by default, so in no partition of the index by owner.
    made = await chores.put(Chore(id="a", owner=None))
    read = await chores.update(made, Chore.level.set(1), if_unchanged=True)
    read = await chores.update(read, Chore.level.set(2), if_unchanged=True)
    await settled()
    assert [chore.id async for chore in chores.scan(index="by_owner")] == []
    # Without a state, which reads as the one by default: in that partition of the index by state, as after a put.
    await chores.update(read, Chore.state.remove(), Chore.level.set(3), if_unchanged=True)
    await settled()
    assert [chore.id async for chore in chores.query(Chore.index_partition_of("by_state", "open", 3))] == ["a"]


async def test_an_update_that_cannot_know_the_index_key_is_refused_before_it_is_sent(make_table, settled) -> None:
    tickets = (await make_table(Ticket)).of(Ticket)
    ticket = await tickets.create(Ticket(id="a", level=2))
    with pytest.raises(sw.InvalidRequest, match=r"'queue' is made of state and level.*add Ticket\.level\.set"):
        await tickets.update(Ticket.key_of("a"), Ticket.state.set("closed"))
    with pytest.raises(sw.InvalidRequest, match=r"add Ticket\.level\.set"):
        await tickets.update(ticket, Ticket.state.set("closed"))
    with pytest.raises(sw.InvalidRequest, match="is not known before it is made"):
        await tickets.update(ticket, Ticket.level.add(1), if_unchanged=True)
    assert await tickets.get(Ticket.key_of("a")) == ticket
    await tickets.update(ticket, Ticket.state.set("closed"), if_unchanged=True)
    await settled()
    assert [each.id async for each in tickets.query(Ticket.index_partition_of("queue", "closed", 2))] == ["a"]
    await tickets.update(Ticket.key_of("a"), Ticket.state.set("open"), Ticket.level.set(3))
    await tickets.update(Ticket.key_of("a"), Ticket.text.set("x"))
    await settled()
    assert [each.text async for each in tickets.query(Ticket.index_partition_of("queue", "open", 3))] == ["x"]


async def test_an_upsert_keeps_the_index_or_is_refused(make_table, settled) -> None:
    table = await make_table(Ticket, Order)
    tickets, orders = table.of(Ticket), table.of(Order)
    with pytest.raises(sw.InvalidRequest, match="stored already may have another value"):
        await tickets.upsert(Ticket.key_of("a"), Ticket.text.set("x"))
    await tickets.upsert(Ticket.key_of("a"), Ticket.state.set("open"), Ticket.level.set(1))
    await settled()
    assert [each.id async for each in tickets.query(Ticket.index_partition_of("queue", "open", 1))] == ["a"]
    key = Order.key_of("a", 1).ignore_version()
    await orders.upsert(key, Order.note.set("x"))
    await settled()
    assert await sequence(orders.scan(index="by_status")) == []
    await orders.upsert(key, Order.status.set("open"))
    # What is not touched keeps its key.
    await orders.upsert(key, Order.note.set("y"))
    await settled()
    assert await sequence(orders.query(OPEN)) == [1]


async def test_modify_keeps_the_index(make_table, settled) -> None:
    table = await make_table(Ticket)
    tickets = table.of(Ticket)
    await tickets.create(Ticket(id="a"))

    async def close(ticket: Ticket) -> Ticket:
        return ticket.replace(state="closed")

    closing: Any = close if isinstance(tickets, sw.AsyncEntityTable) else lambda ticket: ticket.replace(state="closed")
    await tickets.modify(Ticket.key_of("a"), closing)
    await settled()
    assert [each.id async for each in tickets.query(Ticket.index_partition_of("queue", "closed", 0))] == ["a"]


async def test_entities_from_an_index_of_keys_are_in_part(make_table, settled) -> None:
    table = await make_table(Order)
    orders = table.of(Order)
    stored = await orders.create(Order(customer="a", seq=1, status="open", courier="c", note="kept"))
    await settled()
    [found] = [order async for order in orders.query(Order.index_partition_of("by_courier", "c"))]
    assert (found.customer, found.seq, found.courier) == ("a", 1, "c")
    with pytest.raises(AttributeError, match="note was not read"):
        _ = found.note
    with pytest.raises(sw.InvalidRequest, match="read in part"):
        await orders.put(found)
    with pytest.raises(sw.InvalidRequest, match="without the version or stamp"):
        await orders.update(found, Order.note.set("x"))
    with pytest.raises(sw.InvalidRequest, match="without the version or stamp"):
        await orders.delete(found)
    assert await orders.get(Order.key_of("a", 1)) == stored


async def test_fields_of_the_projection_are_read_and_the_rest_is_not(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    await orders.create(Order(customer="a", seq=1, total=3, note="x"))
    await settled()
    [found] = [order async for order in orders.query(Order.partition_of("a"), index="by_total")]
    assert (found.total, found.status) == (3, None)
    with pytest.raises(AttributeError, match="note was not read"):
        _ = found.note


async def test_entities_of_a_whole_index_can_be_saved(make_table, settled) -> None:
    orders = (await make_table(Order)).of(Order)
    await orders.create(Order(customer="a", seq=1, status="open"))
    await settled()
    [found] = [order async for order in orders.query(OPEN)]
    assert (await orders.put(found.replace(note="x"))).version == 2
    with pytest.raises(sw.VersionConflict):
        await orders.put(found.replace(note="y"))


async def test_a_global_index_is_not_read_consistently_and_a_local_one_may_be(make_table) -> None:
    orders = (await make_table(Order)).of(Order)
    await orders.create(Order(customer="a", seq=1, total=1))
    with pytest.raises(sw.InvalidRequest, match="cannot be read consistently"):
        orders.query(OPEN, consistent=True)
    assert await sequence(orders.query(Order.partition_of("a"), index="by_total", consistent=True)) == [1]


async def test_the_partition_must_be_one_of_the_index(make_table) -> None:
    orders = (await make_table(Order)).of(Order)
    with pytest.raises(sw.InvalidRequest, match=r"write Order\.index_partition_of\('by_status'"):
        orders.query(Order.partition_of("a"), index="by_status")
    with pytest.raises(sw.InvalidRequest, match="and the query names the index 'by_total'"):
        orders.query(OPEN, index="by_total")
    with pytest.raises(sw.InvalidRequest, match="an item without status is not in the index"):
        Order.index_partition_of("by_status", None)
    with pytest.raises(sw.InvalidRequest, match="declares no index 'by_date'; it has 'by_status'"):
        Order.index_partition_of("by_date")


async def test_a_value_that_is_no_index_key_is_refused_before_it_is_sent(make_table) -> None:
    orders = (await make_table(Order)).of(Order)
    with pytest.raises(sw.InvalidRequest, match=r"courier is part of the key and must not be empty"):
        await orders.create(Order(customer="a", seq=1, courier=""))
    await orders.create(Order(customer="a", seq=1))
    with pytest.raises(sw.InvalidRequest, match=r"courier is part of the key and must not be empty"):
        await orders.update(Order.key_of("a", 1).ignore_version(), Order.courier.set(""))


async def test_several_types_share_an_index(make_table, settled) -> None:
    class Task(
        Entity, discriminator="TASK", partition_key="TASK#{id}", sort_key="TASK",
        indexes=(sw.global_index("todo", partition_key="DUE#{due}", sort_key="TASK#{id}", partition_attribute="g1", sort_attribute="g2"),),
    ):  # fmt: skip
        id: Attribute[str]
        due: Attribute[int]

    class Bill(
        Entity, discriminator="BILL", partition_key="BILL#{id}", sort_key="BILL",
        indexes=(sw.global_index("todo", partition_key="DUE#{day}", sort_key="{id}", partition_attribute="g1", sort_attribute="g2"),),
    ):  # fmt: skip
        id: Attribute[str]
        day: Attribute[int]

    table = await make_table(Task, Bill)
    await table.of(Task).create(Task(id="t", due=3))
    await table.of(Bill).create(Bill(id="b", day=3))
    await settled()
    found = [each async for each in table.query(Task.index_partition_of("todo", 3), types=(Task, Bill))]
    assert found == [Task(id="t", due=3), Bill(id="b", day=3)]
    assert [type(each) async for each in table.of(Bill).query(Bill.index_partition_of("todo", 3))] == [Bill]


async def test_a_table_without_the_index_is_refused_and_one_that_has_it_is_used(make_table, db) -> None:
    class Plain(Entity, discriminator="TICKET", partition_key="TICKET#{id}", sort_key="TICKET"):
        id: Attribute[str]

    table = await make_table(Plain)
    with pytest.raises(sw.InvalidRequest, match="has no global index 'queue': add it by UpdateTable"):
        await table.create_table(Ticket, exist_ok=True)
    table = await make_table(Order)
    await table.create_table(Order, exist_ok=True)


async def test_a_transaction_keeps_the_index(make_table, place, settled) -> None:
    if place.difference("transactions honour tokens") is not None:
        pytest.skip("no transactions are made there")
    table = await make_table(Order)
    orders = table.of(Order)
    order = await orders.create(Order(customer="a", seq=1, status="open"))
    tx = table.transaction()
    tx.create(Order(customer="a", seq=2, status="open"))
    tx.update(order, Order.status.set("sent"))
    await tx.commit()
    await settled()
    assert await sequence(orders.query(OPEN)) == [2]
