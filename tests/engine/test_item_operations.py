from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, number, text

ALICE = {"pk": text("alice")}


def test_get_of_a_missing_item_answers_without_item(shop: Caller) -> None:
    assert shop("GetItem", Key=ALICE) == {}


def test_put_then_get_gives_the_item_with_canonical_numbers(shop: Caller) -> None:
    shop.put(**ALICE, n=number("1.50"), s={"NS": ["3", "1e0", "2"]})
    assert shop.item(**ALICE) == {**ALICE, "n": number("1.5"), "s": {"NS": ["1", "2", "3"]}}


def test_put_replaces_the_whole_item(shop: Caller) -> None:
    shop.put(**ALICE, a=number(1))
    shop.put(**ALICE, b=number(2))
    assert shop.item(**ALICE) == {**ALICE, "b": number(2)}


def test_number_keys_are_equal_by_value(rows: Caller) -> None:
    rows.put(pk=text("a"), sk=number("1.0"))
    assert rows.item(pk=text("a"), sk=number("1e0")) == {"pk": text("a"), "sk": number(1)}


def test_projection_keeps_the_hierarchy_and_adds_no_key(shop: Caller) -> None:
    shop.put(**ALICE, m={"M": {"x": number(1), "y": number(2)}})
    assert shop("GetItem", Key=ALICE, ProjectionExpression="m.x") == {"Item": {"m": {"M": {"x": number(1)}}}}
    assert shop("GetItem", Key=ALICE, ProjectionExpression="nothing") == {"Item": {}}


def test_delete_of_a_missing_item_succeeds(shop: Caller) -> None:
    assert shop("DeleteItem", Key=ALICE, ReturnValues="ALL_OLD") == {}


def test_all_old_is_the_item_before_and_absent_without_one(shop: Caller) -> None:
    assert shop("PutItem", Item={**ALICE, "a": number(1)}, ReturnValues="ALL_OLD") == {}
    assert shop("PutItem", Item=ALICE, ReturnValues="ALL_OLD") == {"Attributes": {**ALICE, "a": number(1)}}
    assert shop("DeleteItem", Key=ALICE, ReturnValues="ALL_OLD") == {"Attributes": ALICE}
    assert shop.item(**ALICE) is None


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_put_and_delete_return_old_values_or_none(shop: Caller, operation: str, wanted: str) -> None:
    member = {"Item": ALICE} if operation == "PutItem" else {"Key": ALICE}
    assert shop.invalid(operation, **member, ReturnValues=wanted) == "ReturnValues can only be ALL_OLD or NONE"


def test_update_creates_a_missing_item_with_its_key(shop: Caller) -> None:
    assert shop("UpdateItem", Key=ALICE) == {}
    assert shop.item(**ALICE) == ALICE


def test_remove_on_a_missing_item_creates_nothing(shop: Caller) -> None:
    assert shop("UpdateItem", Key=ALICE, UpdateExpression="REMOVE a", ReturnValues="ALL_NEW") == {}
    assert shop.item(**ALICE) is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, None),
        ("NONE", None),
        ("ALL_OLD", {**ALICE, "a": number(1), "m": {"M": {"x": number(1), "y": number(2)}}}),
        ("ALL_NEW", {**ALICE, "a": number(2), "m": {"M": {"x": number(5), "y": number(2)}}}),
        ("UPDATED_OLD", {"a": number(1), "m": {"M": {"x": number(1)}}}),
        ("UPDATED_NEW", {"a": number(2), "m": {"M": {"x": number(5)}}}),
    ],
)
def test_update_return_values(shop: Caller, wanted: str | None, expected: dict[str, Any] | None) -> None:
    shop.put(**ALICE, a=number(1), m={"M": {"x": number(1), "y": number(2)}})
    answer = shop(
        "UpdateItem",
        Key=ALICE,
        UpdateExpression="SET a = a + :one, m.x = :five",
        ExpressionAttributeValues={":one": number(1), ":five": number(5)},
        ReturnValues=wanted,
    )
    assert answer.get("Attributes") == expected


def test_updated_new_of_a_removal_is_absent(shop: Caller) -> None:
    shop.put(**ALICE, a=number(1))
    assert shop("UpdateItem", Key=ALICE, UpdateExpression="REMOVE a", ReturnValues="UPDATED_NEW") == {}


def test_a_failed_condition_changes_nothing(shop: Caller) -> None:
    shop.put(**ALICE, a=number(1))
    error = shop.refusal("PutItem", Item=ALICE, ConditionExpression="attribute_not_exists(pk)")
    assert (error.code, error.message, error.item) == ("ConditionalCheckFailedException", "The conditional request failed", None)
    assert shop.item(**ALICE) == {**ALICE, "a": number(1)}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_a_refusal_carries_the_item_where_asked_and_stored(shop: Caller, operation: str) -> None:
    member = {"Item": ALICE} if operation == "PutItem" else {"Key": ALICE}
    shown = {**member, "ConditionExpression": "a = :two", "ExpressionAttributeValues": {":two": number(2)}, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert shop.refusal(operation, **shown).item is None
    shop.put(**ALICE, a=number(1))
    assert shop.refusal(operation, **shown).item == {**ALICE, "a": number(1)}
    assert shop.refusal(operation, **{**shown, "ReturnValuesOnConditionCheckFailure": "NONE"}).item is None


def test_the_condition_is_judged_before_the_update_runs(shop: Caller) -> None:
    error = shop.refusal(
        "UpdateItem",
        Key=ALICE,
        UpdateExpression="SET a = nothing",
        ConditionExpression="attribute_exists(pk)",
    )
    assert error.code == "ConditionalCheckFailedException"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": number(1)}, "One or more parameter values were invalid: Missing the key pk in the item"),
        ({"pk": number(1)}, "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"),
        (
            {"pk": text("")},
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        ({"pk": text("x" * 2049)}, "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        ({"pk": text("a"), "b": text("x" * 409_597)}, "Item size has exceeded the maximum allowed size"),
    ],
)
def test_items_that_the_table_cannot_hold(shop: Caller, item: dict[str, Any], message: str) -> None:
    assert shop.invalid("PutItem", Item=item) == message


def test_an_item_of_exactly_400_kilobytes_is_stored(shop: Caller) -> None:
    shop.put(pk=text("a"), b=text("x" * 409_596))
    assert shop.invalid("UpdateItem", Key={"pk": text("a")}, UpdateExpression="SET c = :v", ExpressionAttributeValues={":v": text("")}) == (
        "Item size to update has exceeded the maximum allowed size"
    )


@pytest.mark.parametrize("operation", ["GetItem", "UpdateItem", "DeleteItem"])
@pytest.mark.parametrize("key", [{}, {"pk": number(1)}, {"pk": text("a"), "b": text("c")}, {"other": text("a")}])
def test_keys_that_do_not_fit_the_schema(shop: Caller, operation: str, key: dict[str, Any]) -> None:
    assert shop.invalid(operation, Key=key) == "The provided key element does not match the schema"


def test_key_attributes_cannot_be_updated(shop: Caller) -> None:
    assert shop.invalid("UpdateItem", Key=ALICE, UpdateExpression="SET pk = :v", ExpressionAttributeValues={":v": text("alice")}) == (
        "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"
    )


def test_a_missing_table_is_found_after_the_expressions_are_read(shop: Caller) -> None:
    error = shop.refusal("PutItem", TableName="none", Item=ALICE)
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found")
    assert shop.refusal("PutItem", TableName="none", Item=ALICE, ConditionExpression="a = = b").code == "ValidationException"
    assert shop.refusal("PutItem", TableName="none", Item={"pk": {}}).code == "ValidationException"


def test_names_and_values_need_an_expression(shop: Caller) -> None:
    names = {"ExpressionAttributeNames": {"#a": "a"}}
    assert shop.invalid("PutItem", Item=ALICE, **names) == "ExpressionAttributeNames can only be specified when using expressions"
    assert shop.invalid("UpdateItem", Key=ALICE, ExpressionAttributeValues={":a": number(1)}) == (
        "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null"
    )
    assert shop.invalid("GetItem", Key=ALICE, **names) == "ExpressionAttributeNames can only be specified when using expressions"


def test_unused_names_and_values_are_refused(shop: Caller) -> None:
    message = shop.invalid(
        "UpdateItem",
        Key=ALICE,
        UpdateExpression="SET a = :a",
        ConditionExpression="#b = :a",
        ExpressionAttributeNames={"#b": "b"},
        ExpressionAttributeValues={":a": number(1), ":c": number(2)},
    )
    assert message == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:c}"


def test_an_arn_names_its_table(shop: Caller) -> None:
    shop.put(**ALICE)
    arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
    assert shop("GetItem", TableName=arn, Key=ALICE) == {"Item": ALICE}


def test_a_rejected_update_changes_nothing(shop: Caller) -> None:
    shop.put(**ALICE, a=text("x"))
    assert shop.invalid("UpdateItem", Key=ALICE, UpdateExpression="SET b = :o, c = a + :o", ExpressionAttributeValues={":o": number(1)}) == (
        "An operand in the update expression has an incorrect data type"
    )
    assert shop.item(**ALICE) == {**ALICE, "a": text("x")}
