from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, create_table, index, number, text
from tests.engine.test_queries import pages

from surewrite.engine.service import Service

A, B, C = ({"pk": text(name), "sk": number(1)} for name in "abc")
INVALID = "One or more parameter values were invalid: "


def caller_with(service: Service, clock: Clock, **members: Any) -> Caller:
    create_table(service, keys=(("pk", "S"), ("sk", "N")), **members)
    return Caller(service, clock)


@pytest.fixture
def indexed(service: Service, clock: Clock) -> Caller:
    """A table with global indexes of each projection and local ones, on the attributes g (a text) and h (a number)."""
    return caller_with(
        service,
        clock,
        global_indexes=[
            index("all", "g", "h"),
            index("keys", "g", projection="KEYS_ONLY"),
            index("some", "g", projection="INCLUDE", included=["x"]),
        ],
        local_indexes=[index("local", "pk", "h", projection="KEYS_ONLY")],
        extra_types={"g": "S", "h": "N"},
    )


def by_g(indexed: Caller, name: str, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = indexed("Query", IndexName=name, KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": text("g")}, **members)[
        "Items"
    ]
    return found


def test_an_item_appears_only_with_all_attributes_of_the_index_key(indexed: Caller) -> None:
    indexed.put(**A, g=text("g"))
    assert (by_g(indexed, "all"), by_g(indexed, "keys")) == ([], [{**A, "g": text("g")}])
    indexed("UpdateItem", Key=A, UpdateExpression="SET h = :h", ExpressionAttributeValues={":h": number(1)})
    assert by_g(indexed, "all") == [{**A, "g": text("g"), "h": number(1)}]
    indexed("UpdateItem", Key=A, UpdateExpression="REMOVE g")
    assert by_g(indexed, "all") == by_g(indexed, "keys") == []


def test_each_projection_shows_its_attributes(indexed: Caller) -> None:
    item = {**A, "g": text("g"), "h": number(1), "x": text("x"), "y": text("y")}
    indexed.put(**item)
    assert by_g(indexed, "all") == [item]
    assert by_g(indexed, "keys") == [{**A, "g": text("g")}]
    assert by_g(indexed, "some") == [{**A, "g": text("g"), "x": text("x")}]


def test_a_changed_index_key_moves_the_entry(indexed: Caller) -> None:
    indexed.put(**A, g=text("old"))
    indexed.put(**A, g=text("g"))
    assert len(by_g(indexed, "keys")) == 1
    assert indexed("Scan", IndexName="keys")["Count"] == 1


@pytest.mark.parametrize("way", ["DeleteItem", "TransactWriteItems", "BatchWriteItem"])
def test_a_deleted_item_leaves_all_indexes(indexed: Caller, way: str) -> None:
    indexed.put(**A, g=text("g"), h=number(1))
    if way == "DeleteItem":
        indexed("DeleteItem", Key=A)
    elif way == "TransactWriteItems":
        indexed.transact(indexed.action("Delete", Key=A))
    else:
        indexed.service.execute("BatchWriteItem", {"RequestItems": {"shop": [{"DeleteRequest": {"Key": A}}]}})
    assert [indexed("Scan", IndexName=name)["Count"] for name in ("all", "keys", "some", "local")] == [0, 0, 0, 0]


def test_items_with_equal_index_keys_stay_apart(indexed: Caller) -> None:
    for item in (A, B, C):
        indexed.put(**item, g=text("g"), h=number(7))
    assert len(by_g(indexed, "all")) == 3
    found = [
        item["pk"]["S"]
        for page in pages(indexed, "Query", IndexName="all", KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": text("g")}, Limit=1)
        for item in page["Items"]
    ]
    assert sorted(found) == ["a", "b", "c"]


def test_the_last_evaluated_key_holds_the_keys_of_table_and_index(indexed: Caller) -> None:
    indexed.put(**A, g=text("g"), h=number(1), x=text("x"))
    page = indexed("Query", IndexName="all", KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": text("g")}, Limit=1)
    assert page["LastEvaluatedKey"] == {**A, "g": text("g"), "h": number(1)}
    message = indexed.invalid("Query", IndexName="all", KeyConditionExpression="g = :g", ExpressionAttributeValues={":g": text("g")}, ExclusiveStartKey=A)
    assert message == "The provided starting key is invalid"
    assert indexed.invalid("Scan", IndexName="all", ExclusiveStartKey=A) == message


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("h = :h", [2]), ("h < :h", [1]), ("h <= :h", [1, 2]), ("h > :h", [3]), ("h >= :h", [2, 3]), ("h BETWEEN :h AND :i", [2, 3])],
)
@pytest.mark.parametrize("forward", [True, False])
def test_conditions_on_the_sort_key_of_an_index(indexed: Caller, condition: str, expected: list[int], forward: bool) -> None:
    for at in (3, 1, 2):
        indexed.put(pk=text(str(at)), sk=number(1), g=text("g"), h=number(at))
    values = {":g": text("g"), ":h": number(2)} | ({":i": number(3)} if ":i" in condition else {})
    found = indexed("Query", IndexName="all", KeyConditionExpression=f"g = :g AND {condition}", ExpressionAttributeValues=values, ScanIndexForward=forward)
    assert [int(item["h"]["N"]) for item in found["Items"]] == (expected if forward else expected[::-1])


def test_begins_with_on_the_sort_key_of_an_index(service: Service, clock: Clock) -> None:
    caller = caller_with(service, clock, global_indexes=[index("by_t", "g", "t")], extra_types={"g": "S", "t": "S"})
    for at, content in enumerate(("a", "a\x00", "a\x00b", "a\x01", "ab", "b")):
        caller.put(pk=text("p"), sk=number(at), g=text("g"), t=text(content))

    def found(prefix: str) -> list[str]:
        answer = caller(
            "Query",
            IndexName="by_t",
            KeyConditionExpression="g = :g AND begins_with(t, :t)",
            ExpressionAttributeValues={":g": text("g"), ":t": text(prefix)},
        )
        return [item["t"]["S"] for item in answer["Items"]]

    assert found("a") == ["a", "a\x00", "a\x00b", "a\x01", "ab"]
    assert found("a\x00") == ["a\x00", "a\x00b"]
    assert found("b") == ["b"]


def test_a_global_index_is_never_read_consistently(indexed: Caller) -> None:
    for operation, members in (("Query", {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": text("g")}}), ("Scan", {})):
        assert indexed.invalid(operation, IndexName="all", ConsistentRead=True, **members) == ("Consistent reads are not supported on global secondary indexes")


def test_all_attributes_of_a_global_index_that_lacks_some_are_refused(indexed: Caller) -> None:
    assert indexed.invalid("Scan", IndexName="keys", Select="ALL_ATTRIBUTES") == (
        INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index keys because its projection type is not ALL"
    )
    assert indexed("Scan", IndexName="all", Select="ALL_ATTRIBUTES")["Count"] == 0


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_global_index_is_not_asked_for_what_it_does_not_hold(indexed: Caller, operation: str) -> None:
    query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": text("g")}} if operation == "Query" else {}
    invalid = "One or more parameter values were invalid: "
    projected = {"ProjectionExpression": "pk, x.y", **query}
    filtered = {"FilterExpression": "attribute_exists(x)", **query}
    assert indexed.invalid(operation, IndexName="keys", **projected) == f"{invalid}Global secondary index keys does not project [x]"
    message = f"{invalid}Secondary index keys does not project one or more filter attributes: [x]"
    assert indexed.invalid(operation, IndexName="keys", **filtered) == message
    for members in (projected, filtered):
        assert indexed(operation, IndexName="some", **members)["Count"] == 0


def test_of_several_indexes_that_refuse_an_item_the_first_by_name_is_told(service: Service, clock: Clock) -> None:
    caller = caller_with(service, clock, global_indexes=[index("beta", "g"), index("alpha", "g")], extra_types={"g": "S"})
    assert caller.invalid("PutItem", Item={**A, "g": number(1)}).endswith("IndexName: alpha")


def of_local(indexed: Caller, **members: Any) -> list[dict[str, Any]]:
    values = {":p": text("a")} | members.pop("values", {})
    found: list[dict[str, Any]] = indexed(
        "Query", IndexName="local", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values, ConsistentRead=True, **members
    )["Items"]
    return found


def test_a_local_index_is_ordered_by_its_sort_key_and_read_consistently(indexed: Caller) -> None:
    for sort, other in ((1, 30), (2, 20), (3, 10)):
        indexed.put(pk=text("a"), sk=number(sort), h=number(other))
    assert [item["sk"]["N"] for item in of_local(indexed)] == ["3", "2", "1"]
    assert [item["sk"]["N"] for item in of_local(indexed, ScanIndexForward=False)] == ["1", "2", "3"]


def test_a_local_index_fetches_what_it_does_not_hold(indexed: Caller) -> None:
    item = {**A, "h": number(1), "x": text("x")}
    indexed.put(**item)
    assert of_local(indexed) == [{**A, "h": number(1)}]
    assert of_local(indexed, Select="ALL_ATTRIBUTES") == [item]
    assert of_local(indexed, ProjectionExpression="x") == [{"x": text("x")}]
    assert of_local(indexed, FilterExpression="x = :x", values={":x": text("x")}, Select="ALL_ATTRIBUTES") == [item]
    assert of_local(indexed, FilterExpression="x = :x", values={":x": text("y")}) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (number(1), INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all"),
        ({"NULL": True}, INVALID + "Type mismatch for Index Key g Expected: S Actual: NULL IndexName: all"),
        (
            text(""),
            (
                "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
                "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: all, IndexKey: g"
            ),
        ),
        (text("x" * 2049), INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
    ],
)
def test_an_item_that_an_index_cannot_hold_is_not_put(indexed: Caller, value: dict[str, Any], message: str) -> None:
    assert indexed.invalid("PutItem", Item={**A, "g": value}) == message
    error = indexed.refused("BatchWriteItem", {"RequestItems": {"shop": [{"PutRequest": {"Item": {**A, "g": value}}}]}})
    assert error.message == message
    assert indexed.item(**A) is None


@pytest.mark.parametrize(
    ("expression", "value", "message"),
    [
        ("SET g = :v", number(1), INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all"),
        ("SET g = if_not_exists(g, :v)", number(1), "The update expression attempted to update the secondary index key to unsupported type"),
        (
            "SET g = :v",
            text(""),
            (
                "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not "
                "supported. The AttributeValue for a key attribute cannot contain an empty string value."
            ),
        ),
        ("SET g = :v", text("x" * 2049), "The update expression attempted to update the secondary index key beyond allowed size limits"),
        (
            "SET g.x = :v",
            text("x"),
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g",
        ),
    ],
)
def test_an_update_that_an_index_cannot_hold_is_refused(indexed: Caller, expression: str, value: dict[str, Any], message: str) -> None:
    indexed.put(**A)
    assert indexed.invalid("UpdateItem", Key=A, UpdateExpression=expression, ExpressionAttributeValues={":v": value}) == message
    assert indexed.item(**A) == A
