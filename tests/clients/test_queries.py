"""Queries of a partition: which entities, in which order, how many, page by page."""

from __future__ import annotations

import string
from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Customer(VersionedEntity, discriminator="CUSTOMER", partition_key="CUSTOMER#{id}", sort_key="CUSTOMER"):
    id: Attribute[str]
    name: Attribute[str] = sw.attribute(default="")
    version: Attribute[int | None] = sw.version()


class Order(Entity, discriminator="ORDER", partition_key="CUSTOMER#{customer}", sort_key="ORDER#{seq:06d}"):
    customer: Attribute[str]
    seq: Attribute[int]
    total: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Reading(Entity, partition_key="{sensor}", sort_key="{day}"):
    sensor: Attribute[str]
    day: Attribute[date]
    value: Attribute[int] = sw.attribute(default=0)


class Level(Enum):
    LOW = "low"
    MID = "mid"


class Numbered(Entity, partition_key="{group}", sort_key="{number}"):
    group: Attribute[bytes]
    number: Attribute[int]


class Binary(Entity, partition_key="{group}", sort_key="{content}"):
    group: Attribute[int]
    content: Attribute[bytes]


C5 = Order.partition_of("c5")


async def all_of(entities: AsyncIterator[Any]) -> list[Any]:
    return [entity async for entity in entities]


async def numbers_of(entities: AsyncIterator[Any]) -> list[int]:
    return [order.seq async for order in entities]


async def fill(shop: Any, count: int, customer: str = "c5") -> None:
    for seq in range(1, count + 1):
        await shop.of(Order).create(Order(customer=customer, seq=seq, total=seq * 10))


async def test_a_partition_comes_in_the_order_of_its_sort_keys(shop) -> None:
    await fill(shop, 3)
    await fill(shop, 1, "c6")
    orders = shop.of(Order)
    assert await numbers_of(orders.query(C5)) == [1, 2, 3]
    assert await numbers_of(orders.query(C5, descending=True)) == [3, 2, 1]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (sw.equal("ORDER#000002"), [2]),
        (sw.lt("ORDER#000002"), [1]),
        (sw.le("ORDER#000002"), [1, 2]),
        (sw.gt("ORDER#000002"), [3, 4]),
        (sw.ge("ORDER#000002"), [2, 3, 4]),
        (sw.between("ORDER#000002", "ORDER#000003"), [2, 3]),
        (sw.begins_with("ORDER#00000"), [1, 2, 3, 4]),
        (sw.begins_with("ORDER#000004"), [4]),
    ],
    ids=repr,
)
async def test_every_condition_on_a_sort_key_of_text(shop, condition: sw.SortCondition, expected: list[int]) -> None:
    await fill(shop, 4)
    assert await numbers_of(shop.of(Order).query(C5, sort_key=condition)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (sw.equal(date(2026, 11, 2)), [2]),
        (sw.lt(date(2026, 11, 2)), [1]),
        (sw.le(date(2026, 11, 2)), [1, 2]),
        (sw.gt(date(2026, 11, 2)), [3]),
        (sw.ge(date(2026, 11, 2)), [2, 3]),
        (sw.between(date(2026, 11, 2), date(2026, 12, 1)), [2, 3]),
        (sw.begins_with("2026-11"), [1, 2]),
    ],
    ids=repr,
)
async def test_a_sort_key_that_is_one_field_is_compared_by_values_of_that_field(make_table, condition: sw.SortCondition, expected: list[int]) -> None:
    table = await make_table(Reading, key=("sensor", "day"), discriminator=None)
    readings = table.of(Reading)
    for value, day in enumerate((date(2026, 11, 1), date(2026, 11, 2), date(2026, 12, 1)), 1):
        await readings.create(Reading(sensor="s", day=day, value=value))
    assert [reading.value for reading in await all_of(readings.query(Reading.partition_of("s"), sort_key=condition))] == expected


async def test_numbers_are_ordered_by_value(make_table) -> None:
    table = await make_table(Numbered, key=("group", "number"), discriminator=None)
    numbered = table.of(Numbered)
    for number in (10, -3, 9, 0):
        await numbered.create(Numbered(group=b"\x00", number=number))
    partition = Numbered.partition_of(b"\x00")
    assert [each.number async for each in numbered.query(partition)] == [-3, 0, 9, 10]
    assert [each.number async for each in numbered.query(partition, sort_key=sw.between(-1, 9))] == [0, 9]


async def test_bytes_begin_with_bytes(make_table) -> None:
    table = await make_table(Binary, key=("group", "content"), discriminator=None)
    binaries = table.of(Binary)
    for content in (b"\x01\x02", b"\x01\xff", b"\x02"):
        await binaries.create(Binary(group=1, content=content))
    assert [each.content async for each in binaries.query(Binary.partition_of(1), sort_key=sw.begins_with(b"\x01"))] == [b"\x01\x02", b"\x01\xff"]


async def test_a_filter_leaves_out_what_does_not_fit(shop) -> None:
    await fill(shop, 4)
    assert await numbers_of(shop.of(Order).query(C5, filter=Order.total.between(20, 30))) == [2, 3]


async def test_limit_counts_the_entities_that_come_back(shop) -> None:
    await fill(shop, 6)
    orders = shop.of(Order)
    assert await numbers_of(orders.query(C5, limit=2)) == [1, 2]
    assert await numbers_of(orders.query(C5, limit=2, filter=Order.total >= 40)) == [4, 5]
    assert await numbers_of(orders.query(C5, limit=2, descending=True)) == [6, 5]
    assert await numbers_of(orders.query(C5, limit=9)) == [1, 2, 3, 4, 5, 6]


async def test_only_items_of_the_type_come_back(shop, store) -> None:
    await shop.of(Customer).create(Customer(id="c5"))
    await fill(shop, 2)
    await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": "ORDER#000009"}, "_type": {"S": "OTHER"}})
    assert await numbers_of(shop.of(Order).query(C5)) == [1, 2]
    assert await all_of(shop.of(Customer).query(Customer.partition_of("c5"))) == [await shop.of(Customer).get(Customer.key_of("c5"))]


async def test_an_item_without_discriminator_is_of_the_type_that_makes_its_key(shop, store) -> None:
    for sort_key in ("ORDER#000007", "CUSTOMER", "ORDER#", "LINE#000007"):
        await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": sort_key}})
    assert await numbers_of(shop.of(Order).query(C5)) == [7]
    assert [type(each) async for each in shop.query(C5, types=(Customer, Order))] == [Customer, Order]


async def test_expired_items_are_absent(shop) -> None:
    now = datetime.now(UTC)
    orders = shop.of(Order)
    for seq, ends_at in enumerate((now - timedelta(hours=1), None, now + timedelta(hours=1)), 1):
        await orders.put(Order(customer="c5", seq=seq, ends_at=ends_at))
    assert await numbers_of(orders.query(C5)) == [2, 3]
    assert await numbers_of(orders.scan()) == [2, 3]
    # With a type beside it that has no such field only the client can tell.
    assert [each.seq async for each in shop.query(C5, types=(Customer, Order))] == [2, 3]


async def test_several_types_of_one_partition_come_in_the_order_of_the_sort_key(shop, store) -> None:
    customer = await shop.of(Customer).create(Customer(id="c5", name="Bob"))
    await fill(shop, 2)
    await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": "Z"}, "_type": {"S": "OTHER"}})
    found = await all_of(shop.query(C5, types=(Customer, Order)))
    assert [type(each) for each in found] == [Customer, Order, Order]
    assert found[0] == customer
    assert await shop.of(Customer).put(found[0].replace(name="Rob"))
    assert [type(each) async for each in shop.query(C5, types=(Order,), limit=1)] == [Order]
    assert [each.seq async for each in shop.query(C5, types=(Customer, Order), filter=Order.total == 20)] == [2]


async def test_an_item_of_a_type_that_was_not_named_raises_if_asked_to(shop, store) -> None:
    await fill(shop, 1)
    assert len(await all_of(shop.query(C5, types=(Customer, Order), others="raise"))) == 1
    await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": "Z"}, "_type": {"S": "OTHER"}})
    with pytest.raises(sw.WrongEntityType) as wrong:
        await all_of(shop.query(C5, types=(Customer, Order), others="raise"))
    assert wrong.value.stored_type == "OTHER"


async def test_pages_go_on_where_the_one_before_ended(shop) -> None:
    await fill(shop, 7)
    orders = shop.of(Order)
    seen: list[int] = []
    cursor: str | None = None
    for _ in range(10):
        page = await orders.query_page(C5, limit=3, cursor=cursor)
        seen += [order.seq for order in page.items]
        assert len(page) <= 3
        cursor = page.cursor
        if cursor is None:
            break
        assert set(cursor) <= set(string.ascii_letters + string.digits + "-_")
    assert seen == [1, 2, 3, 4, 5, 6, 7]


async def test_a_page_filled_by_a_filter_leaves_out_nothing(shop) -> None:
    await fill(shop, 9)
    orders = shop.of(Order)
    chosen = Order.total.is_in(20, 50, 60, 90)
    first = await orders.query_page(C5, limit=3, filter=chosen, descending=True)
    rest = await orders.query_page(C5, limit=3, filter=chosen, descending=True, cursor=first.cursor)
    assert [order.seq for order in (*first, *rest)] == [9, 6, 5, 2]
    assert rest.cursor is None


async def test_a_page_without_a_limit_is_one_page_of_the_service(shop) -> None:
    await fill(shop, 2)
    page = await shop.of(Order).query_page(C5)
    assert ([order.seq for order in page], page.cursor) == ([1, 2], None)


async def test_a_page_of_several_types_goes_on(shop) -> None:
    await shop.of(Customer).create(Customer(id="c5"))
    await fill(shop, 2)
    first = await shop.query_page(C5, types=(Customer, Order), limit=2)
    second = await shop.query_page(C5, types=(Customer, Order), limit=2, cursor=first.cursor)
    assert [type(each) for each in (*first, *second)] == [Customer, Order, Order]


async def test_large_items_take_several_pages_and_all_come(shop, place) -> None:
    if place.difference("an item may have 409,600 bytes") is not None:
        pytest.skip("items of this size are refused there")

    class Blob(Entity, discriminator="BLOB", partition_key="BLOBS", sort_key="{number:03d}"):
        number: Attribute[int]
        content: Attribute[str]

    blobs = shop.of(Blob)
    for number in range(4):
        await blobs.create(Blob(number=number, content="x" * 380_000))
    first = await blobs.query_page(Blob.partition_of())
    if place.difference("a page has at most 1 MB") is None:
        assert first.cursor is not None
        assert len(first) < 4
    else:
        assert (first.cursor, len(first)) == (None, 4)
    assert [blob.number async for blob in blobs.query(Blob.partition_of())] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [{"partition": Order.partition_of("c6")}, {"descending": True}, {"sort_key": sw.ge("ORDER#000001")}, {"filter": Order.total >= 10}],
    ids=["partition", "order", "sort key", "filter"],
)
async def test_a_cursor_of_another_query_is_refused(shop, other: dict[str, Any]) -> None:
    await fill(shop, 3)
    cursor = (await shop.of(Order).query_page(C5, limit=1)).cursor
    with pytest.raises(sw.InvalidRequest, match="belongs to another query"):
        await shop.of(Order).query_page(**({"partition": C5, "limit": 1, "cursor": cursor} | other))


async def test_a_cursor_of_a_query_of_other_types_is_refused(shop) -> None:
    await fill(shop, 3)
    cursor = (await shop.of(Order).query_page(C5, limit=1)).cursor
    with pytest.raises(sw.InvalidRequest, match="belongs to another query"):
        await shop.query_page(C5, types=(Customer, Order), limit=1, cursor=cursor)


@pytest.mark.parametrize("cursor", ["", "x", "W10", "!!!", 3, "WyJhIiwxXQ", pytest.param("W1tb" * 20_000, id="nested without end")])
async def test_what_is_no_cursor_is_refused(shop, cursor: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="is no cursor"):
        await shop.of(Order).query_page(C5, cursor=cursor)


def refused(call: Callable[[Any], Any], match: str) -> Any:
    return pytest.param(call, match, id=match)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        refused(lambda shop: shop.of(Order).query(Order.key_of("c5", 1)), "takes a partition"),
        refused(lambda shop: shop.of(Order).query(C5, sort_key="ORDER#"), "takes a condition such as"),
        refused(lambda shop: shop.of(Order).query(C5, sort_key=sw.begins_with("")), "never empty"),
        refused(lambda shop: shop.of(Order).query(C5, sort_key=sw.ge(3)), "the sort key is text, made by 'ORDER#"),
        refused(lambda shop: shop.of(Order).query(C5, sort_key=sw.between("b", "a")), "lower bound first"),
        refused(lambda shop: shop.of(Order).query(C5, limit=0), "at least 1 entity"),
        refused(lambda shop: shop.of(Order).query(C5, limit=True), "at least 1 entity"),
        refused(lambda shop: shop.of(Order).query(C5, index="by_total"), "declares no index 'by_total'"),
        refused(lambda shop: shop.of(Order).query(C5, filter=Customer.name == "x"), "a field of Customer"),
        refused(lambda shop: shop.query(C5, types=(Order,), filter=Customer.name == "x"), "a field of Customer"),
        refused(lambda shop: shop.query(C5, types=()), "at least one type"),
        refused(lambda shop: shop.query(C5, types=(Order,), others="drop"), "others is"),
        refused(lambda shop: shop.of(Order).scan(segment=(4, 4)), "segment is"),
        refused(lambda shop: shop.of(Order).scan(segment=3), "segment is"),
    ],
)
async def test_what_the_service_would_refuse_or_misread_is_refused_by_the_call(shop, call: Callable[[Any], Any], match: str) -> None:
    with pytest.raises(sw.InvalidRequest, match=match):
        call(shop)


async def test_a_filter_on_the_key_is_refused_and_the_way_out_named(db) -> None:
    table = db.table("readings", key=("sensor", "day"), discriminator=None)
    with pytest.raises(sw.InvalidRequest, match="use the partition and sort_key"):
        table.of(Reading).query(Reading.partition_of("s"), filter=Reading.day >= date(2026, 1, 1))
    with pytest.raises(sw.InvalidRequest, match="sort key is the field day"):
        table.of(Reading).query(Reading.partition_of("s"), sort_key=sw.ge("2026-01-01"))


async def read_into(found: list[int], orders: AsyncIterator[Any]) -> None:
    """The numbers of the orders that came before an error."""
    async for order in orders:
        found.append(order.seq)  # noqa: PERF401 - a list of all would not be there after an error


async def spoil(store: Any, number: int) -> None:
    await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": f"ORDER#{number:06d}"}, "_type": {"S": "ORDER"}, "total": {"S": "ten"}})


async def test_an_item_that_does_not_fit_raises_when_its_turn_comes(shop, store) -> None:
    await fill(shop, 4)
    await spoil(store, 3)
    found: list[int] = []
    with pytest.raises(sw.UndecodableItem) as unfit:
        await read_into(found, shop.of(Order).query(C5))
    assert found == [1, 2]
    assert (unfit.value.field, unfit.value.key) == ("total", Order.key_of("c5", 3))


async def test_a_page_ends_before_an_item_that_does_not_fit_and_the_next_one_raises(shop, store) -> None:
    await fill(shop, 4)
    await spoil(store, 3)
    orders = shop.of(Order)
    page = await orders.query_page(C5, limit=4)
    assert [order.seq for order in page] == [1, 2]
    with pytest.raises(sw.UndecodableItem) as unfit:
        await orders.query_page(C5, limit=4, cursor=page.cursor)
    assert unfit.value.key == Order.key_of("c5", 3)
    problems: list[sw.UndecodableItem] = []
    rest = await orders.query_page(C5, limit=4, cursor=page.cursor, on_undecodable=problems.append)
    assert ([order.seq for order in rest], rest.cursor) == ([4], None)
    assert [problem.key for problem in problems] == [Order.key_of("c5", 3)]


async def test_items_that_do_not_fit_are_told_and_left_out(shop, store) -> None:
    await fill(shop, 5)
    await spoil(store, 1)
    await spoil(store, 4)
    problems: list[sw.UndecodableItem] = []
    assert [order.seq for order in await all_of(shop.of(Order).query(C5, on_undecodable=problems.append))] == [2, 3, 5]
    assert [order.seq for order in await all_of(shop.query(C5, types=(Order,), limit=2, on_undecodable=problems.append))] == [2, 3]
    assert [problem.key for problem in problems] == [Order.key_of("c5", 1), Order.key_of("c5", 4), Order.key_of("c5", 1)]
    problems.clear()
    assert len(await all_of(shop.of(Order).scan(on_undecodable=problems.append))) == 3
    assert len(await all_of(shop.scan(types=(Order,), on_undecodable=problems.append))) == 3
    assert len((await shop.of(Order).scan_page(on_undecodable=problems.append)).items) == 3
    assert len((await shop.query_page(C5, types=(Order,), on_undecodable=problems.append)).items) == 3
    assert len(problems) == 8


async def test_what_is_called_for_items_that_do_not_fit_may_end_the_query(shop, store) -> None:
    await fill(shop, 2)
    await spoil(store, 1)

    def stop(problem: sw.UndecodableItem) -> None:
        raise RuntimeError(problem.field)

    with pytest.raises(RuntimeError, match="total"):
        await all_of(shop.of(Order).query(C5, on_undecodable=stop))
    with pytest.raises(sw.InvalidRequest, match=r"problems\.append"):
        await all_of(shop.of(Order).query(C5, on_undecodable="skip"))


async def test_an_item_of_another_type_lets_those_before_it_come_first(shop, store) -> None:
    await fill(shop, 2)
    await store({"pk": {"S": "CUSTOMER#c5"}, "sk": {"S": "ZZZ"}, "_type": {"S": "PARCEL"}})
    found: list[int] = []
    with pytest.raises(sw.WrongEntityType):
        await read_into(found, shop.query(C5, types=(Order,), others="raise"))
    assert found == [1, 2]


async def test_a_missing_table_is_told_at_the_first_entity(db) -> None:
    found = db.table("surewrite-test-no-such-table").of(Order).query(C5)
    with pytest.raises(sw.InvalidRequest, match=r"no table 'surewrite-test-no-such-table' at .*create_table.*region.*endpoint") as missing:
        await all_of(found)
    assert missing.value.code == "ResourceNotFoundException"


async def test_a_scan_finds_all_of_the_type_and_its_segments_are_disjoint(shop) -> None:
    await shop.of(Customer).create(Customer(id="c5"))
    for customer in "abcdefgh":
        await fill(shop, 2, customer)
    orders = shop.of(Order)
    everything = sorted([(order.customer, order.seq) async for order in orders.scan()])
    assert everything == [(customer, seq) for customer in "abcdefgh" for seq in (1, 2)]
    in_segments = [(order.customer, order.seq) for number in range(3) for order in await all_of(orders.scan(segment=(number, 3)))]
    assert sorted(in_segments) == everything
    assert len(await all_of(orders.scan(limit=5))) == 5
    assert len(await all_of(shop.scan(types=(Customer, Order)))) == 17
    assert [order.seq async for order in orders.scan(filter=(Order.total == 20) & (Order.customer == "a"))] == [2]


async def test_a_scan_goes_on_from_a_cursor(shop) -> None:
    await fill(shop, 5)
    orders = shop.of(Order)
    first = await orders.scan_page(limit=3)
    rest = await orders.scan_page(limit=3, cursor=first.cursor)
    assert sorted(order.seq for order in (*first, *rest)) == [1, 2, 3, 4, 5]
    with pytest.raises(sw.InvalidRequest, match="another query"):
        await orders.scan_page(segment=(0, 2), cursor=first.cursor)


async def test_an_abandoned_query_leaves_nothing_behind(shop) -> None:
    await fill(shop, 3)
    async for order in shop.of(Order).query(C5):
        assert order.seq == 1
        break
