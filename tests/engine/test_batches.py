from __future__ import annotations

import re
from typing import Any

import pytest
from tests.engine.harness import Caller, create_table, number, text

A, B = ({"pk": text(name)} for name in "ab")


def write(shop: Caller, *entries: dict[str, Any], table: str = "shop") -> dict[str, Any]:
    return shop.service.execute("BatchWriteItem", {"RequestItems": {table: list(entries)}})


def put(item: dict[str, Any]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(key: dict[str, Any]) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": key}}


def get(*keys: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"RequestItems": {"shop": {"Keys": list(keys), **members}}}


def test_puts_and_deletes_take_effect(shop: Caller) -> None:
    shop.put(**A)
    assert write(shop, delete(A), put({**B, "n": number("1.0")}), delete({"pk": text("none")})) == {"UnprocessedItems": {}}
    assert (shop.item(**A), shop.item(**B)) == (None, {**B, "n": number(1)})


def test_missing_items_are_left_out(shop: Caller) -> None:
    shop.put(**A)
    assert shop.service.execute("BatchGetItem", get(A, B)) == {"Responses": {"shop": [A]}, "UnprocessedKeys": {}}


def test_a_batch_reads_with_a_projection(shop: Caller) -> None:
    shop.put(**A, x=text("x"), y=text("y"))
    answer = shop.service.execute("BatchGetItem", get(A, ProjectionExpression="#x", ExpressionAttributeNames={"#x": "x"}))
    assert answer["Responses"] == {"shop": [{"x": text("x")}]}


@pytest.mark.parametrize("entries", [[put(A), put(A)], [put(A), delete(A)], [put({**A, "n": number(1)}), put(A)]])
def test_two_writes_of_one_item_are_refused(shop: Caller, entries: list[dict[str, Any]]) -> None:
    error = shop.refused("BatchWriteItem", {"RequestItems": {"shop": entries}})
    assert (error.code, error.message) == ("ValidationException", "Provided list of item keys contains duplicates")
    assert shop.item(**A) is None


def test_written_keys_are_compared_by_value_and_read_ones_as_written(rows: Caller) -> None:
    first, second = ({"pk": text("a"), "sk": number(spelling)} for spelling in ("1000", "1e3"))
    rows.put(**first)
    assert rows.refused("BatchWriteItem", {"RequestItems": {"rows": [put(first), put(second)]}}).message == "Provided list of item keys contains duplicates"
    found = rows.service.execute("BatchGetItem", {"RequestItems": {"rows": {"Keys": [first, second]}}})
    assert found["Responses"] == {"rows": [first, first]}
    error = rows.refused("BatchGetItem", {"RequestItems": {"rows": {"Keys": [first, first]}}})
    assert error.message == "Provided list of item keys contains duplicates"


@pytest.mark.parametrize("entry", [put({"x": text("x")}), put({"pk": number(1)}), delete({"pk": number(1)}), delete({**A, "x": text("x")})])
def test_a_key_that_does_not_fit_refuses_the_whole_batch(shop: Caller, entry: dict[str, Any]) -> None:
    error = shop.refused("BatchWriteItem", {"RequestItems": {"shop": [put(B), entry]}})
    assert error.message == "The provided key element does not match the schema"
    assert shop.item(**B) is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            {"PutRequest": {"Item": A}, "DeleteRequest": {"Key": B}},
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_an_entry_is_one_put_or_one_delete(shop: Caller, entry: dict[str, Any], message: str) -> None:
    assert shop.refused("BatchWriteItem", {"RequestItems": {"shop": [entry]}}).message == message


def test_what_an_entry_lacks_is_told_with_its_place(shop: Caller) -> None:
    error = shop.refused("BatchWriteItem", {"RequestItems": {"shop": [put(A), {"PutRequest": {}}, {"DeleteRequest": {}}]}})
    assert error.message == (
        "2 validation errors detected: "
        "Value null at 'requestItems.shop.member.2.member.putRequest.item' failed to satisfy constraint: Member must not be null; "
        "Value null at 'requestItems.shop.member.3.member.deleteRequest.key' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize("operation", ["BatchWriteItem", "BatchGetItem"])
def test_a_missing_table_refuses_the_whole_batch(shop: Caller, operation: str) -> None:
    items: dict[str, Any] = {"shop": [put(A)], "none": [put(A)]} if operation == "BatchWriteItem" else {"shop": {"Keys": [A]}, "none": {"Keys": [A]}}
    assert shop.refused(operation, {"RequestItems": items}).code == "ResourceNotFoundException"
    assert shop.item(**A) is None


@pytest.mark.parametrize("operation", ["BatchWriteItem", "BatchGetItem"])
def test_an_empty_batch_is_refused(shop: Caller, operation: str) -> None:
    assert shop.refused(operation, {"RequestItems": {}}).message == f"The requestItems parameter is required for {operation}"
    empty: Any = [] if operation == "BatchWriteItem" else {"Keys": []}
    assert shop.refused(operation, {"RequestItems": {"shop": empty}}).code == "ValidationException"


def test_at_most_25_writes(shop: Caller) -> None:
    create_table(shop.service, "other")
    entries = [put({"pk": text(str(at))}) for at in range(26)]
    write(shop, *entries[:25])
    error = shop.refused("BatchWriteItem", {"RequestItems": {"shop": entries}})
    assert re.fullmatch(
        r"1 validation error detected: Value '\{shop=\[.+\]\}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        r"\[Member must have length less than or equal to 25, Member must have length greater than or equal to 1\]",
        error.message,
    )
    error = shop.refused("BatchWriteItem", {"RequestItems": {"shop": entries[:13], "other": entries[13:]}})
    assert error.message == "Too many items requested for the BatchWriteItem call"


def test_at_most_100_keys(shop: Caller) -> None:
    keys = [{"pk": text(str(at))} for at in range(101)]
    shop.service.execute("BatchGetItem", get(*keys[:100]))
    assert "Member must have length less than or equal to 100" in shop.refused("BatchGetItem", get(*keys)).message
    create_table(shop.service, "other")
    error = shop.refused("BatchGetItem", {"RequestItems": {"shop": {"Keys": keys[:51]}, "other": {"Keys": keys[:50]}}})
    assert error.message == "Too many items requested for the BatchGetItem call"


def test_what_exceeds_16_megabytes_is_left_for_another_request(shop: Caller) -> None:
    keys = [{"pk": text(f"{at:02d}")} for at in range(45)]
    for key in keys:
        shop.put(**key, x=text("x" * 400_000))
    answer = shop.service.execute("BatchGetItem", get(*keys, ProjectionExpression="pk"))
    read = len(answer["Responses"]["shop"])
    assert 0 < read < 45
    assert answer["UnprocessedKeys"] == {"shop": {"Keys": keys[read:], "ProjectionExpression": "pk"}}
    rest = shop.service.execute("BatchGetItem", {"RequestItems": answer["UnprocessedKeys"]})
    assert [*answer["Responses"]["shop"], *rest["Responses"]["shop"]] == keys
