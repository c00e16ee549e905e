from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, create_table, index, number, text

from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service

A, B, C = ({"pk": text(name)} for name in "abc")
BOTH = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
FIVE_YEARS_SECONDS = 5 * 365 * 24 * 3600


@pytest.fixture
def streamed(service: Service, clock: Clock) -> Caller:
    create_table(service, StreamSpecification=BOTH, global_indexes=[index("by_g", "g")], extra_types={"g": "S"})
    return Caller(service, clock)


def told(caller: Caller, after: int = 0) -> list[tuple[str, Any, Any]]:
    return [(record.event_name, record.old_image, record.new_image) for record in caller.service.stream_records("shop", after)]


def test_records_come_in_commit_order_with_both_images(streamed: Caller) -> None:
    streamed.put(**A)
    streamed("UpdateItem", Key=A, UpdateExpression="SET n = :n", ExpressionAttributeValues={":n": number(1)})
    streamed("DeleteItem", Key=A)
    changed = {**A, "n": number(1)}
    assert told(streamed) == [("INSERT", None, A), ("MODIFY", A, changed), ("REMOVE", changed, None)]
    records = streamed.service.stream_records("shop")
    assert [record.keys for record in records] == [A, A, A]
    assert records[0].sequence < records[1].sequence < records[2].sequence
    assert told(streamed, records[1].sequence) == [("REMOVE", changed, None)]


def test_what_changes_nothing_leaves_no_record(streamed: Caller) -> None:
    streamed.put(**A, n=number(1))
    streamed.put(**A, n=number("1.0"))
    streamed("UpdateItem", Key=A, UpdateExpression="REMOVE nothing")
    streamed("UpdateItem", Key=B, UpdateExpression="REMOVE nothing")
    streamed("DeleteItem", Key=B)
    streamed.refusal("PutItem", Item=A, ConditionExpression="attribute_not_exists(pk)")
    streamed.transact(streamed.action("ConditionCheck", Key=A, ConditionExpression="attribute_exists(pk)"))
    assert [event for event, _, _ in told(streamed)] == ["INSERT"]


def test_a_transaction_leaves_one_record_an_item_and_a_cancelled_one_none(streamed: Caller) -> None:
    streamed.transact(streamed.action("Put", Item=A), streamed.action("Put", Item=B))
    streamed.cancelled(streamed.action("Put", Item=C), streamed.action("Put", Item=A, ConditionExpression="attribute_not_exists(pk)"))
    assert told(streamed) == [("INSERT", None, A), ("INSERT", None, B)]


def test_batch_writes_are_recorded(streamed: Caller) -> None:
    streamed.service.execute("BatchWriteItem", {"RequestItems": {"shop": [{"PutRequest": {"Item": A}}]}})
    assert told(streamed) == [("INSERT", None, A)]


@pytest.mark.parametrize(
    ("view", "old", "new"),
    [("KEYS_ONLY", False, False), ("NEW_IMAGE", False, True), ("OLD_IMAGE", True, False), ("NEW_AND_OLD_IMAGES", True, True)],
)
def test_images_as_the_view_says(service: Service, clock: Clock, view: str, old: bool, new: bool) -> None:
    create_table(service, StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    caller = Caller(service, clock)
    caller.put(**A)
    caller.put(**A, n=number(1))
    record = service.stream_records("shop")[1]
    assert (record.old_image is not None, record.new_image is not None, record.keys) == (old, new, A)


def test_a_table_without_a_stream_has_no_records(shop: Caller) -> None:
    shop.put(**A)
    assert shop.service.stream_records("shop") == []


def test_the_stream_of_a_missing_table_is_refused(service: Service) -> None:
    with pytest.raises(ServiceError) as caught:
        service.stream_records("none")
    assert caught.value.code == "ResourceNotFoundException"


def test_records_are_kept_for_a_day(streamed: Caller, clock: Clock) -> None:
    streamed.put(**A)
    clock.advance(24 * 3600 + 1)
    streamed.put(**B)
    assert told(streamed) == [("INSERT", None, B)]


def test_a_record_is_a_copy(streamed: Caller) -> None:
    streamed.put(**A, m={"M": {}})
    record = streamed.service.stream_records("shop")[0]
    assert record.new_image is not None
    record.new_image["m"]["M"]["x"] = number(1)
    assert streamed.item(**A) == {**A, "m": {"M": {}}}
    assert streamed.service.stream_records("shop")[0].new_image == {**A, "m": {"M": {}}}


def test_a_new_table_of_the_same_name_has_a_stream_of_its_own(streamed: Caller) -> None:
    streamed.put(**A)
    streamed("DeleteTable")
    create_table(streamed.service, StreamSpecification=BOTH)
    assert told(streamed) == []


def expiring(caller: Caller) -> None:
    caller("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})


def test_the_sweep_deletes_what_expired_and_says_so_in_the_stream(streamed: Caller, clock: Clock) -> None:
    expiring(streamed)
    expired = {**A, "g": text("x"), "ttl": number(int(clock.now) - 1)}
    streamed.put(**expired)
    streamed.put(**B, ttl=number(int(clock.now)))
    assert streamed.service.sweep_expired() == 1
    assert (streamed.item(**A), streamed.item(**B) is not None) == (None, True)
    assert streamed("Scan", IndexName="by_g")["Items"] == []
    record = streamed.service.stream_records("shop")[-1]
    assert (record.event_name, record.old_image, record.user_identity) == (
        "REMOVE",
        expired,
        (("principalId", "dynamodb.amazonaws.com"), ("type", "Service")),
    )


def test_an_expired_item_is_read_until_it_is_swept(shop: Caller, clock: Clock) -> None:
    expiring(shop)
    shop.put(**A, ttl=number(int(clock.now) - 1))
    assert shop.item(**A) is not None
    assert shop("Scan")["Count"] == 1


@pytest.mark.parametrize("ttl", [text("1"), {"L": [number(1)]}, {"NULL": True}])
def test_only_a_number_expires_an_item(shop: Caller, ttl: dict[str, Any]) -> None:
    expiring(shop)
    shop.put(**A, ttl=ttl)
    assert shop.service.sweep_expired() == 0


@pytest.mark.parametrize(("age", "swept"), [(FIVE_YEARS_SECONDS, 1), (FIVE_YEARS_SECONDS + 1, 0)])
def test_a_time_more_than_five_years_ago_expires_nothing(shop: Caller, clock: Clock, age: int, swept: int) -> None:
    expiring(shop)
    shop.put(**A, ttl=number(int(clock.now) - age))
    assert shop.service.sweep_expired() == swept


def test_without_time_to_live_nothing_is_swept(shop: Caller) -> None:
    shop.put(**A, ttl=number(1))
    assert shop.service.sweep_expired() == 0


def test_the_sweep_leaves_items_of_a_held_transaction(shop: Caller, clock: Clock) -> None:
    expiring(shop)
    shop.put(**A, ttl=number(int(clock.now) - 1))
    held = shop.service.hold_transaction(
        {"TransactItems": [shop.action("Update", Key=A, UpdateExpression="REMOVE #t", ExpressionAttributeNames={"#t": "ttl"})]}
    )
    assert shop.service.sweep_expired() == 0
    held.commit()
    assert shop.item(**A) == A
