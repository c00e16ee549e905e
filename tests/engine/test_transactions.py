from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, create_table, number, text

from surewrite.engine.faults import CancellationReason, ServiceError

A, B, C = ({"pk": text(name)} for name in "abc")
NONE = CancellationReason("None")
FAILED = CancellationReason("ConditionalCheckFailed", "The conditional request failed")


def put(shop: Caller, item: dict[str, Any], **members: Any) -> dict[str, Any]:
    return shop.action("Put", Item=item, **members)


def absent(shop: Caller, item: dict[str, Any], **members: Any) -> dict[str, Any]:
    return put(shop, item, ConditionExpression="attribute_not_exists(pk)", **members)


def check(shop: Caller, key: dict[str, Any], condition: str = "attribute_exists(pk)", **members: Any) -> dict[str, Any]:
    return shop.action("ConditionCheck", Key=key, ConditionExpression=condition, **members)


def update(shop: Caller, key: dict[str, Any], expression: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
    members = {} if values is None else {"ExpressionAttributeValues": values}
    return shop.action("Update", Key=key, UpdateExpression=expression, **members)


def test_all_kinds_of_actions_take_effect_together(shop: Caller) -> None:
    shop.put(**B, n=number(1))
    shop.put(**C)
    shop.put(pk=text("d"))
    answer = shop.transact(
        put(shop, A),
        update(shop, B, "ADD n :one", {":one": number(1)}),
        shop.action("Delete", Key=C),
        check(shop, {"pk": text("d")}),
    )
    assert answer == {}
    assert (shop.item(**A), shop.item(**B), shop.item(**C)) == (A, {**B, "n": number(2)}, None)


def test_every_failing_condition_is_reported_and_nothing_is_written(shop: Caller) -> None:
    shop.put(**A)
    shop.put(**C)
    error = shop.cancelled(absent(shop, A), put(shop, B), absent(shop, C), check(shop, {"pk": text("d")}))
    assert error.reasons == (FAILED, NONE, FAILED, FAILED)
    assert error.message == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[ConditionalCheckFailed, None, ConditionalCheckFailed, ConditionalCheckFailed]"
    )
    assert shop.item(**B) is None


def test_a_reason_carries_the_item_where_asked_and_stored(shop: Caller) -> None:
    shop.put(**A, n=number(1))
    error = shop.cancelled(
        absent(shop, A, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        check(shop, B, ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    )
    assert [reason.item for reason in error.reasons] == [{**A, "n": number(1)}, None]
    assert error.members() == {
        "CancellationReasons": [
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": {**A, "n": number(1)}},
            {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
        ]
    }


def test_conditions_see_the_state_before_the_transaction(shop: Caller) -> None:
    shop.transact(put(shop, A), check(shop, B, "attribute_not_exists(pk)"))
    assert shop.cancelled(shop.action("Delete", Key=A), check(shop, B)).reasons == (NONE, FAILED)
    assert shop.item(**A) == A


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SET a = nothing", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET nothing.b = :v", "The document path provided in the update expression is invalid for update"),
        ("ADD words :v", "An operand in the update expression has an incorrect data type"),
        ("SET pk = :v", "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"),
        ("SET big = :v", "Item size to update has exceeded the maximum allowed size"),
    ],
)
def test_errors_of_an_update_at_hand_are_a_reason(shop: Caller, expression: str, message: str) -> None:
    shop.put(**A, words=text("x" * 409_500))
    values = {":v": number("1" * 38) if expression != "SET big = :v" else text("y" * 200)} if ":v" in expression else None
    error = shop.cancelled(put(shop, B), update(shop, A, expression, values))
    assert error.reasons == (NONE, CancellationReason("ValidationError", message))


def test_only_the_first_validation_error_is_reported_and_no_failed_condition(shop: Caller) -> None:
    shop.put(**A)
    error = shop.cancelled(absent(shop, A), update(shop, B, "SET a = nothing"), update(shop, C, "SET a = nothing"))
    assert [reason.code for reason in error.reasons] == ["None", "ValidationError", "None"]


@pytest.mark.parametrize(
    ("kind", "member", "message"),
    [
        ("Put", "Item", "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"),
        ("Delete", "Key", "The provided key element does not match the schema"),
    ],
)
def test_a_key_of_the_wrong_type_is_a_reason(shop: Caller, kind: str, member: str, message: str) -> None:
    error = shop.cancelled(put(shop, A), shop.action(kind, **{member: {"pk": number(1)}}))
    assert error.reasons == (NONE, CancellationReason("ValidationError", message))


def test_an_index_key_of_the_wrong_type_is_a_reason(shop: Caller) -> None:
    create_table(shop.service, "indexed", global_indexes=[_index()], extra_types={"g": "S"})
    error = shop.cancelled({"Put": {"TableName": "indexed", "Item": {**A, "g": number(1)}}})
    assert error.reasons[0].message == "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: by_g"


def test_an_empty_index_key_is_a_fault_of_the_request(shop: Caller) -> None:
    create_table(shop.service, "indexed", global_indexes=[_index()], extra_types={"g": "S"})
    update = {"UpdateExpression": "SET g = :g", "ExpressionAttributeValues": {":g": text("")}}
    for action in ({"Put": {"Item": {**A, "g": text("")}}}, {"Update": {"Key": A, **update}}):
        kind, members = next(iter(action.items()))
        error = shop.refused("TransactWriteItems", {"TransactItems": [{kind: {"TableName": "indexed", **members}}]})
        assert error.code == "ValidationException"
        assert "cannot contain an empty string value" in error.message


@pytest.mark.parametrize("kind", ["Put", "Delete", "Update", "ConditionCheck"])
def test_a_key_that_is_too_long_is_a_reason(shop: Caller, kind: str) -> None:
    key = {"pk": text("x" * 2049)}
    more = {"Put": {"Item": key}, "Update": {"Key": key, "UpdateExpression": "REMOVE a"}, "ConditionCheck": {"Key": key, "ConditionExpression": "a = b"}}
    error = shop.cancelled(put(shop, A), shop.action(kind, **more.get(kind, {"Key": key})))
    message = "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    assert error.reasons == (NONE, CancellationReason("ValidationError", message))
    read = shop.refused("TransactGetItems", {"TransactItems": [shop.action("Get", Key=key)]})
    assert (read.code, read.reasons[0].message) == ("TransactionCanceledException", message)


def test_actions_may_have_names_and_values_that_no_expression_could_use(shop: Caller) -> None:
    names: dict[str, Any] = {"ExpressionAttributeNames": {"#a": "a"}}
    values: dict[str, Any] = {"ExpressionAttributeValues": {":a": number(1)}}
    shop.transact(shop.action("Put", Item=A, **names, **values), shop.action("Delete", Key=B, **values), ClientRequestToken="t")
    get = shop.action("Get", Key=A, **names)
    assert shop.service.execute("TransactGetItems", {"TransactItems": [get]}) == {"Responses": [{"Item": A}]}


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = text("x")
    for _ in range(levels - 1):
        value = {"L": [value]}
    return value


def test_too_deep_a_constant_is_a_reason_of_an_update_and_nothing_to_a_condition_check(shop: Caller) -> None:
    deep = {"ExpressionAttributeValues": {":d": _nested(33)}}
    message = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
    error = shop.cancelled(shop.action("Update", Key=A, UpdateExpression="SET a = :d", **deep), ClientRequestToken="t")
    assert error.reasons == (CancellationReason("ValidationError", message),)
    shop.transact(shop.action("ConditionCheck", Key=A, ConditionExpression="a <> :d", **deep), ClientRequestToken="t")
    for kind, members in (("Put", {"Item": {**A, "a": _nested(33)}}), ("Delete", {"Key": A, "ConditionExpression": "a <> :d", **deep})):
        refused = shop.refused("TransactWriteItems", {"TransactItems": [shop.action(kind, **members)]})
        assert refused.code == "ValidationException"
        assert message in refused.message


def test_a_transactional_read_leaves_out_an_item_of_which_nothing_is_shown(shop: Caller) -> None:
    shop.put(**A)
    get = shop.action("Get", Key=A, ProjectionExpression="absent")
    assert shop.service.execute("TransactGetItems", {"TransactItems": [get]}) == {"Responses": [{}]}


def _index() -> dict[str, Any]:
    return {"IndexName": "by_g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"Put": {"Item": {"pk": text("")}}}, "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty"),
        ({"Put": {"Item": {"pk": text("b"), "x": text("x" * 409_600)}}}, "Item size has exceeded the maximum allowed size"),
        ({"Put": {"Item": {"pk": text("b"), "x": {}}}}, "Supplied AttributeValue is empty"),
        ({"Update": {"Key": B, "UpdateExpression": "SET"}}, "Invalid UpdateExpression: Syntax error"),
        ({"Delete": {"Key": B, "ConditionExpression": "a = :v"}}, "Invalid ConditionExpression: An expression attribute value used in expression is not"),
        ({"Delete": {"Key": A}}, "Transaction request cannot include multiple operations on one item"),
        ({"ConditionCheck": {"Key": B}}, "1 validation error detected: Value null at 'transactItems.2.member.conditionCheck.conditionExpression'"),
        ({"Update": {"Key": B}}, "1 validation error detected: Value null at 'transactItems.2.member.update.updateExpression'"),
        ({"Delete": {"Key": B, "ReturnValuesOnConditionCheckFailure": "x"}}, "1 validation error detected: Value 'x' at 'transactItems.2.member.delete."),
    ],
)
def test_faults_of_the_request_are_not_reasons(shop: Caller, broken: dict[str, dict[str, Any]], message: str) -> None:
    kind, members = next(iter(broken.items()))
    error = shop.refused("TransactWriteItems", {"TransactItems": [put(shop, A), shop.action(kind, **members)]})
    assert error.code == "ValidationException"
    assert error.message.startswith(message)
    assert shop.item(**A) is None


@pytest.mark.parametrize("element", [{}, {"Put": {"TableName": "shop", "Item": A}, "Delete": {"TableName": "shop", "Key": B}}, {"Insert": {}}])
def test_an_element_holds_exactly_one_action(shop: Caller, element: dict[str, Any]) -> None:
    error = shop.refused("TransactWriteItems", {"TransactItems": [element]})
    assert error.message == "TransactItems can only contain one of Check, Put, Update or Delete"


@pytest.mark.parametrize("operation", ["TransactWriteItems", "TransactGetItems"])
def test_one_to_a_hundred_actions(shop: Caller, operation: str) -> None:
    def request(count: int) -> dict[str, Any]:
        keys = [{"pk": text(str(at))} for at in range(count)]
        return {"TransactItems": [put(shop, key) if operation == "TransactWriteItems" else shop.action("Get", Key=key) for key in keys]}

    assert shop.refused(operation, request(0)).message == (
        "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )
    assert "Member must have length less than or equal to 100" in shop.refused(operation, request(101)).message
    shop.service.execute(operation, request(100))


def test_the_payload_is_at_most_4_megabytes(shop: Caller) -> None:
    error = shop.refused("TransactWriteItems", {"TransactItems": [put(shop, {"pk": text(str(at)), "x": text("x" * 400_000)}) for at in range(11)]})
    assert error.code == "ValidationException"
    assert "size cannot exceed" in error.message


def test_number_keys_written_differently_are_one_item(rows: Caller) -> None:
    first, second = ({"pk": text("a"), "sk": number(spelling)} for spelling in ("1", "1.0"))
    error = rows.refused("TransactWriteItems", {"TransactItems": [put(rows, first), rows.action("Delete", Key=second)]})
    assert error.message == "Transaction request cannot include multiple operations on one item"


def test_the_same_key_in_two_tables_is_two_items(shop: Caller) -> None:
    create_table(shop.service, "other")
    shop.transact(put(shop, A), {"Put": {"TableName": "other", "Item": A}})
    assert shop("GetItem", TableName="other", Key=A) == {"Item": A}


def test_a_missing_table_is_no_cancellation(shop: Caller) -> None:
    error = shop.refused("TransactWriteItems", {"TransactItems": [put(shop, A), {"Put": {"TableName": "none", "Item": B}}]})
    assert (error.code, error.message, error.reasons) == ("ResourceNotFoundException", "Requested resource not found", ())
    assert shop.item(**A) is None


def test_an_earlier_fault_wins_and_tables_come_after_all_expressions(shop: Caller) -> None:
    missing = {"Put": {"TableName": "none", "Item": A}}
    error = shop.refused("TransactWriteItems", {"TransactItems": [missing, put(shop, B, ConditionExpression="a = = b"), put(shop, {"pk": {}})]})
    assert error.message.startswith("Invalid ConditionExpression")


def test_reads_come_in_the_order_of_the_request(shop: Caller) -> None:
    shop.put(**A, m={"M": {"x": number(1)}})
    shop.put(**C)
    answer = shop.service.execute(
        "TransactGetItems",
        {"TransactItems": [shop.action("Get", Key=C), shop.action("Get", Key=B), shop.action("Get", Key=A, ProjectionExpression="m.x")]},
    )
    assert answer == {"Responses": [{"Item": C}, {}, {"Item": {"m": {"M": {"x": number(1)}}}}]}


@pytest.mark.parametrize(
    ("gets", "message"),
    [
        ([{"Key": A}, {"Key": A}], "Transaction request cannot include multiple operations on one item"),
        ([{"Key": A, "ProjectionExpression": "!"}], "Invalid ProjectionExpression: Syntax error"),
        ([{"Key": {"pk": text("")}}], "One or more parameter values are not valid"),
    ],
)
def test_faults_of_a_transactional_read(shop: Caller, gets: list[dict[str, Any]], message: str) -> None:
    error = shop.refused("TransactGetItems", {"TransactItems": [shop.action("Get", **get) for get in gets]})
    assert error.code == "ValidationException"
    assert error.message.startswith(message)


def test_a_key_that_does_not_fit_is_a_reason_of_a_transactional_read(shop: Caller) -> None:
    with pytest.raises(ServiceError) as caught:
        shop.service.execute("TransactGetItems", {"TransactItems": [shop.action("Get", Key=A), shop.action("Get", Key={"pk": number(1)})]})
    assert caught.value.reasons == (NONE, CancellationReason("ValidationError", "The provided key element does not match the schema"))


def test_a_transactional_read_returns_at_most_4_megabytes(shop: Caller) -> None:
    keys = [{"pk": text(str(at))} for at in range(11)]
    for key in keys:
        shop.put(**key, x=text("x" * 400_000))
    assert shop.refused("TransactGetItems", {"TransactItems": [shop.action("Get", Key=key) for key in keys]}).code == "ValidationException"
    assert len(shop.service.execute("TransactGetItems", {"TransactItems": [shop.action("Get", Key=key) for key in keys[:10]]})["Responses"]) == 10
