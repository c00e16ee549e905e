from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, create_table, index, number, text

from surewrite.engine.service import Service

A, B = ({"pk": text(name)} for name in "ab")


def filler(size: int) -> dict[str, Any]:
    """An attribute that makes an item with key A of ``size`` bytes."""
    return {"x": text("x" * (size - 4))}


def units(answer: dict[str, Any]) -> float:
    consumed: float = answer["ConsumedCapacity"]["CapacityUnits"]
    return consumed


def test_capacity_is_told_only_where_asked(shop: Caller) -> None:
    assert "ConsumedCapacity" not in shop("PutItem", Item=A, ReturnConsumedCapacity="NONE")
    assert shop("PutItem", Item=A, ReturnConsumedCapacity="TOTAL") == {"ConsumedCapacity": {"TableName": "shop", "CapacityUnits": 1.0}}
    assert shop("PutItem", Item=A, ReturnConsumedCapacity="INDEXES") == {
        "ConsumedCapacity": {"TableName": "shop", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}
    }


@pytest.mark.parametrize(
    ("size", "consistent", "expected"), [(4096, True, 1), (4097, True, 2), (4096, False, 0.5), (4097, False, 1), (0, True, 1), (0, False, 0.5)]
)
def test_reads_are_charged_by_4_kilobytes(shop: Caller, size: int, consistent: bool, expected: float) -> None:
    if size:
        shop.put(**A, **filler(size))
    assert units(shop("GetItem", Key=A, ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")) == expected


def test_writes_are_charged_by_the_larger_of_both_states(shop: Caller) -> None:
    assert units(shop("PutItem", Item={**A, **filler(1024)}, ReturnConsumedCapacity="TOTAL")) == 1
    assert units(shop("PutItem", Item={**A, **filler(1025)}, ReturnConsumedCapacity="TOTAL")) == 2
    assert units(shop("PutItem", Item=A, ReturnConsumedCapacity="TOTAL")) == 2
    assert units(shop("DeleteItem", Key=A, ReturnConsumedCapacity="TOTAL")) == 1
    assert units(shop("DeleteItem", Key=A, ReturnConsumedCapacity="TOTAL")) == 1


@pytest.fixture
def indexed(service: Service, clock: Clock) -> Caller:
    create_table(service, global_indexes=[index("by_g", "g", projection="KEYS_ONLY")], extra_types={"g": "S"})
    return Caller(service, clock)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"g": text("x")}, 1),
        ({"g": text("x")}, {"g": text("y")}, 2),
        ({"g": text("x")}, {}, 1),
        ({"g": text("x")}, {"g": text("x"), "other": number(1)}, 0),
        ({}, {"other": number(1)}, 0),
    ],
)
def test_index_writes_are_charged_by_what_changes_in_the_index(indexed: Caller, before: dict[str, Any], after: dict[str, Any], expected: float) -> None:
    indexed.put(**A, **before)
    consumed = indexed("PutItem", Item={**A, **after}, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert consumed["Table"] == {"CapacityUnits": 1.0}
    assert consumed.get("GlobalSecondaryIndexes", {}) == ({"by_g": {"CapacityUnits": expected}} if expected else {})
    assert consumed["CapacityUnits"] == 1 + expected


def test_transactions_are_charged_twice_and_say_which_way(shop: Caller) -> None:
    shop.put(**B)
    check = shop.action("ConditionCheck", Key=B, ConditionExpression="attribute_exists(pk)")
    answer = shop.transact(shop.action("Put", Item={**A, **filler(1025)}), check, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}]
    gets = {"TransactItems": [shop.action("Get", Key=key) for key in (A, {"pk": text("none")})], "ReturnConsumedCapacity": "TOTAL"}
    assert shop.service.execute("TransactGetItems", gets)["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]


def test_the_repeat_of_a_token_is_charged_as_reading(shop: Caller) -> None:
    action = shop.action("Put", Item={**A, **filler(4097)})
    first, second = (shop.transact(action, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"][0] for _ in range(2))
    assert first == {"TableName": "shop", "CapacityUnits": 10.0, "WriteCapacityUnits": 10.0}
    assert second == {"TableName": "shop", "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}


def test_the_repeat_of_a_token_is_charged_by_what_the_original_was_sized_on(shop: Caller) -> None:
    shop.put(**A, **filler(4097))
    action = shop.action("Delete", Key=A)
    first, second = (shop.transact(action, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"][0] for _ in range(2))
    assert (first["WriteCapacityUnits"], second["ReadCapacityUnits"]) == (10.0, 4.0)


def test_a_transaction_doubles_the_units_of_the_table_but_not_of_its_indexes(indexed: Caller) -> None:
    answer = indexed.transact(indexed.action("Put", Item={**A, "g": text("x")}), ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": "shop",
            "CapacityUnits": 3.0,
            "WriteCapacityUnits": 3.0,
            "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
            "GlobalSecondaryIndexes": {"by_g": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}},
        }
    ]


def test_queries_are_charged_by_what_they_evaluate(rows: Caller) -> None:
    for at in range(3):
        rows.put(pk=text("a"), sk=number(at), x=text("x" * 2000))
    query = {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": text("a"), ":x": text("y")},
        "FilterExpression": "x = :x",
        "ReturnConsumedCapacity": "TOTAL",
    }
    assert units(rows("Query", **query, ConsistentRead=True)) == 2
    assert units(rows("Query", **query, Select="COUNT")) == 1


def test_an_index_query_is_charged_to_the_index(indexed: Caller) -> None:
    indexed.put(**A, g=text("x"))
    answer = indexed("Query", IndexName="by_g", KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": text("x")}, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {
        "TableName": "shop",
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"by_g": {"CapacityUnits": 0.5}},
    }


def test_batches_round_each_item_and_sum_by_table(shop: Caller) -> None:
    create_table(shop.service, "other")
    shop.put(**A, **filler(4097))
    request = {"RequestItems": {"shop": {"Keys": [A, B], "ConsistentRead": True}, "other": {"Keys": [A]}}, "ReturnConsumedCapacity": "TOTAL"}
    assert shop.service.execute("BatchGetItem", request)["ConsumedCapacity"] == [
        {"TableName": "shop", "CapacityUnits": 3.0},
        {"TableName": "other", "CapacityUnits": 0.5},
    ]
    write = {"RequestItems": {"shop": [{"DeleteRequest": {"Key": A}}, {"PutRequest": {"Item": B}}]}, "ReturnConsumedCapacity": "TOTAL"}
    assert shop.service.execute("BatchWriteItem", write)["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 6.0}]


def test_collection_metrics_are_told_for_tables_with_local_indexes(service: Service, clock: Clock) -> None:
    create_table(service, keys=(("pk", "S"), ("sk", "N")), local_indexes=[index("by_l", "pk", "l")], extra_types={"l": "S"})
    caller = Caller(service, clock)
    metrics = {"ItemCollectionKey": {"pk": text("a")}, "SizeEstimateRangeGB": [0.0, 1.0]}
    item = {"pk": text("a"), "sk": number(1)}
    assert caller("PutItem", Item=item, ReturnItemCollectionMetrics="SIZE") == {"ItemCollectionMetrics": metrics}
    assert caller.transact(caller.action("Delete", Key=item), ReturnItemCollectionMetrics="SIZE") == {"ItemCollectionMetrics": {"shop": [metrics]}}
    batch = {"RequestItems": {"shop": [{"PutRequest": {"Item": item}}]}, "ReturnItemCollectionMetrics": "SIZE"}
    assert service.execute("BatchWriteItem", batch)["ItemCollectionMetrics"] == {"shop": [metrics]}


def test_collection_metrics_are_left_out_without_local_indexes(shop: Caller) -> None:
    assert shop("PutItem", Item=A, ReturnItemCollectionMetrics="SIZE") == {}
