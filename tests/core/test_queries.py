"""What a query sends, and what it does with pages that a test makes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.requests import Request


class Order(
    Entity, discriminator="ORDER", partition_key="C#{customer}", sort_key="O#{seq:03d}",
    indexes=(
        sw.global_index("whole", partition_key="{total}"),
        sw.global_index("part", partition_key="{total}", projection="keys"),
        sw.global_index("ending", partition_key="{customer}", sort_key="{ends_at}"),
    ),
):  # fmt: skip
    customer: Attribute[str]
    seq: Attribute[int]
    total: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Recorder:
    """An embedded engine that remembers what it was asked; ``pages`` are answered before it is."""

    def __init__(self) -> None:
        self.inner = EmbeddedBackend(open_embedded("memory:"))
        self.traits = self.inner.traits
        self.sent: list[Request] = []
        self.pages: list[dict[str, Any]] = []

    def send(self, request: Request, timeout: float) -> Answer:
        self.sent.append(request)
        if self.pages:
            return Success(self.pages.pop(0))
        answer = self.inner.send(request, timeout)
        # So that the clock of the test is the only one.
        return replace(answer, server_time=None) if isinstance(answer, (Success, Rejection)) else answer

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def backend() -> Recorder:
    return Recorder()


@pytest.fixture
def orders(backend: Recorder) -> sw.EntityTable[Order]:
    table = sw.connect(backend, clock=sw.Clock(lambda: 1000.9, lambda: 0.0, lambda _: None)).table("orders")
    table.create_table(Order)
    backend.sent.clear()
    return table.of(Order)


PARTITION = Order.partition_of("c")


def item(seq: int, **more: Any) -> dict[str, Any]:
    return {"pk": {"S": "C#c"}, "sk": {"S": f"O#{seq:03d}"}, "customer": {"S": "c"}, "seq": {"N": str(seq)}, "_type": {"S": "ORDER"}, **more}


@pytest.mark.parametrize("wall", [13_600.0, 6_400.0])
def test_the_first_query_of_a_client_whose_clock_is_wrong_judges_expiry_by_the_service_clock(wall: float) -> None:
    service = open_embedded("memory:", clock=lambda: 10_000.0)
    exact = sw.connect(EmbeddedBackend(service)).table("orders")
    exact.create_table(Order)
    for seq, ends_at in ((1, 10_600), (2, 9_400)):
        exact.of(Order).put(Order(customer="c", seq=seq, ends_at=datetime.fromtimestamp(ends_at, UTC)))
    first = sw.connect(EmbeddedBackend(service), clock=sw.Clock(lambda: wall, lambda: 0.0, lambda _: None)).table("orders")
    assert [order.seq for order in first.of(Order).query(PARTITION)] == [1]


def test_a_query_asks_for_the_type_and_for_what_has_not_ended(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    backend.pages = [{"Items": []}]
    assert list(orders.query(PARTITION, sort_key=sw.begins_with("O#"), filter=Order.total > 3)) == []
    [request] = backend.sent
    names, values = request.body["ExpressionAttributeNames"], request.body["ExpressionAttributeValues"]
    written = f"{request.body['KeyConditionExpression']} | {request.body['FilterExpression']}"
    for placeholder, name in names.items():
        written = written.replace(placeholder, name)
    for placeholder, value in values.items():
        written = written.replace(placeholder, next(iter(value.values())))
    assert written == ("pk = C#c AND begins_with(sk, O#) | (attribute_not_exists(_type) OR _type = ORDER) AND NOT (ttl < 1000) AND total > 3")


def test_an_expired_item_that_comes_anyway_is_left_out(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    backend.pages = [{"Items": [item(1, ttl={"N": "999"}), item(2, ttl={"N": "1000"}), item(3)]}]
    assert [order.seq for order in orders.query(PARTITION)] == [2, 3]


def test_what_ends_is_left_to_the_client_where_the_service_takes_no_filter_on_it(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    backend.pages = [{"Items": [item(1, ttl={"N": "999"}), item(2, ttl={"N": "2000"})]}]
    assert [order.seq for order in orders.query(Order.index_partition_of("ending", "c"))] == [2]
    assert "ttl" not in backend.sent[0].body["ExpressionAttributeNames"].values()
    orders.put(Order(customer="c", seq=5, ends_at=datetime(2026, 1, 1, tzinfo=UTC)))
    later = sw.gt(datetime(2025, 1, 1, tzinfo=UTC))
    assert [order.seq for order in orders.query(Order.index_partition_of("ending", "c"), sort_key=later)] == [5]


def test_pages_are_read_as_they_are_needed(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    backend.pages = [{"Items": [item(1)], "LastEvaluatedKey": {"pk": {"S": "C#c"}, "sk": {"S": "O#001"}}}, {"Items": [item(2)]}]
    found = orders.query(PARTITION)
    assert backend.sent == []
    assert next(found).seq == 1
    assert len(backend.sent) == 1
    assert [order.seq for order in found] == [2]
    assert backend.sent[1].body["ExclusiveStartKey"] == {"pk": {"S": "C#c"}, "sk": {"S": "O#001"}}


def test_a_limit_is_asked_of_the_service_and_doubled_while_the_filter_leaves_too_little(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    ends = [{"pk": {"S": "C#c"}, "sk": {"S": f"O#{number:03d}"}} for number in range(9)]
    backend.pages = [
        {"Items": [], "LastEvaluatedKey": ends[0]},
        {"Items": [item(1)], "LastEvaluatedKey": ends[1]},
        {"Items": [item(2)], "LastEvaluatedKey": ends[2]},
    ]
    assert [order.seq for order in orders.query(PARTITION, limit=2)] == [1, 2]
    assert [request.body["Limit"] for request in backend.sent] == [2, 4, 8]


def test_a_page_that_is_cut_in_the_middle_goes_on_after_its_last_entity(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    end = {"pk": {"S": "C#c"}, "sk": {"S": "O#009"}}
    backend.pages = [
        {"Items": [], "LastEvaluatedKey": {**end, "sk": {"S": "O#000"}}},
        {"Items": [item(1), item(2), item(3)], "LastEvaluatedKey": end},
        {"Items": []},
    ]
    page = orders.query_page(PARTITION, limit=2)
    assert [order.seq for order in page] == [1, 2]
    orders.query_page(PARTITION, limit=2, cursor=page.cursor)
    assert backend.sent[-1].body["ExclusiveStartKey"] == {"pk": {"S": "C#c"}, "sk": {"S": "O#002"}}


def test_what_was_found_before_an_item_that_does_not_fit_is_told_also_where_the_item_begins_a_page_of_the_service(
    backend: Recorder, orders: sw.EntityTable[Order]
) -> None:
    end = {"pk": {"S": "C#c"}, "sk": {"S": "O#002"}}
    spoilt = {**item(3), "total": {"S": "ten"}}
    backend.pages = [{"Items": [item(1), item(2)], "LastEvaluatedKey": end}, {"Items": [spoilt, item(4)]}, {"Items": [spoilt, item(4)]}]
    page = orders.query_page(PARTITION, limit=10)
    assert [order.seq for order in page] == [1, 2]
    with pytest.raises(sw.UndecodableItem):
        orders.query_page(PARTITION, limit=10, cursor=page.cursor)
    assert backend.sent[-1].body["ExclusiveStartKey"] == end


def test_what_is_raised_for_an_item_that_does_not_fit_ends_the_page(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    def stop(error: sw.UndecodableItem) -> None:
        raise error

    end = {"pk": {"S": "C#c"}, "sk": {"S": "O#001"}}
    backend.pages = [{"Items": [item(1)], "LastEvaluatedKey": end}, {"Items": [{**item(2), "total": {"S": "ten"}}]}]
    with pytest.raises(sw.UndecodableItem):
        orders.query_page(PARTITION, limit=10, on_undecodable=stop)


def test_a_cursor_fits_the_same_query_with_the_values_of_a_set_in_another_order(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    end = {"pk": {"S": "C#c"}, "sk": {"S": "O#001"}}
    backend.pages = [{"Items": [item(1)], "LastEvaluatedKey": end}, {"Items": []}]
    page = orders.query_page(PARTITION, filter=Order.total.is_in(3, 1, 2))
    orders.query_page(PARTITION, filter=Order.total.is_in(1, 2, 3), cursor=page.cursor)
    assert backend.sent[-1].body["ExclusiveStartKey"] == end


def test_a_page_ends_after_a_hundred_requests_that_brought_nothing(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    backend.pages = [{"Items": [], "LastEvaluatedKey": {"pk": {"S": "C#c"}, "sk": {"S": f"O#{number:03d}"}}} for number in range(101)]
    page = orders.query_page(PARTITION, limit=5)
    assert page.items == ()
    assert page.cursor is not None
    assert len(backend.sent) == 100


def test_a_service_that_does_not_come_on_is_an_error(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    end = {"pk": {"S": "C#c"}, "sk": {"S": "O#001"}}
    backend.pages = [{"Items": [], "LastEvaluatedKey": end}, {"Items": [], "LastEvaluatedKey": end}]
    with pytest.raises(sw.SurewriteError, match="does not come on"):
        list(orders.query(PARTITION))


def test_whole_items_are_demanded_of_an_index_that_is_declared_to_hold_them(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    for name in ("whole", "part"):
        list(orders.query(Order.index_partition_of(name, 3)))
    assert [request.body.get("Select") for request in backend.sent] == ["ALL_ATTRIBUTES", None]


def test_a_global_index_that_holds_less_than_declared_is_refused_by_the_service(backend: Recorder) -> None:
    class Partly(
        Entity, discriminator="ORDER", partition_key="C#{customer}", sort_key="O#{seq:03d}", indexes=(sw.global_index("part", partition_key="{total}"),)
    ):
        customer: Attribute[str]
        seq: Attribute[int]
        total: Attribute[int] = sw.attribute(default=0)

    db = sw.connect(backend)
    db.table("orders").create_table(Order)
    with pytest.raises(sw.InvalidRequest, match="projection type is not ALL"):
        list(db.table("orders").of(Partly).query(Partly.index_partition_of("part", 1)))


def test_types_are_read_consistently_where_one_has_a_version_and_the_caller_decides(backend: Recorder, orders: sw.EntityTable[Order]) -> None:
    class Customer(sw.VersionedEntity, discriminator="CUSTOMER", partition_key="C#{id}", sort_key="CUSTOMER"):
        id: Attribute[str]
        version: Attribute[int | None] = sw.version()

    table = sw.connect(backend).table("orders")
    list(orders.query(PARTITION))
    list(table.query(PARTITION, types=(Order, Customer)))
    list(table.query(PARTITION, types=(Order, Customer), consistent=False))
    list(table.of(Customer).scan())
    assert [request.body["ConsistentRead"] for request in backend.sent] == [False, True, False, True]


def test_a_condition_on_the_sort_key_shows_no_values() -> None:
    assert repr(sw.between("secret", "secrets")) == "<SortCondition between>"


def test_a_partition_of_an_index_shows_how_it_was_made() -> None:
    assert repr(Order.index_partition_of("whole", 3)) == "Order.index_partition_of('whole', total=3)"
    assert Order.index_partition_of("whole", 3) != Order.index_partition_of("part", 3)
