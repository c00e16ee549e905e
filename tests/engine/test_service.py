from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, number, text

from surewrite.engine.faults import ServiceError
from surewrite.engine.service import OPERATIONS, Service

ALICE = {"pk": text("alice")}


def test_an_unknown_operation_is_refused(service: Service) -> None:
    with pytest.raises(ServiceError) as caught:
        service.execute("ExecuteStatement", {})
    assert caught.value.code == "UnknownOperationException"


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_a_member_that_the_engine_does_not_know_is_refused(shop: Caller, operation: str) -> None:
    error = shop.refused(operation, {"Surprise": True})
    assert error.code == "ValidationException"
    assert "Surprise" in error.message


def test_members_that_are_null_count_as_absent(shop: Caller) -> None:
    shop("PutItem", Item=ALICE, ConditionExpression=None, ReturnValues=None, ExpressionAttributeValues=None)
    assert shop.item(**ALICE) == ALICE


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"ReturnValues": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"ReturnValues": True}, "TRUE_VALUE cannot be converted to String"),
        ({"ConditionExpression": {}}, "Start of structure or map found where not expected"),
        ({"ConditionExpression": []}, "Unrecognized collection type class java.lang.String"),
        ({"Item": "x"}, "Unexpected field type"),
        ({"ConditionExpression": "a = \ud800"}, "The text is not well-formed Unicode"),
    ],
)
def test_a_wrong_json_type_is_a_serialization_error(shop: Caller, members: dict[str, Any], message: str) -> None:
    error = shop.refusal("PutItem", **{"Item": ALICE, **members})
    assert (error.code, error.message) == ("SerializationException", message)


def test_a_body_that_is_no_map_is_a_serialization_error(service: Service) -> None:
    body: Any = ["TableName"]
    with pytest.raises(ServiceError) as caught:
        service.execute("PutItem", body)
    assert caught.value.code == "SerializationException"


TOTAL_IS_NONE = "Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
OLD_IS_NONE = (
    "Value 'old' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
)
EMPTY_NAME = "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1"


def test_broken_constraints_of_a_put_are_reported_together(shop: Caller) -> None:
    message = shop.invalid("PutItem", Item=ALICE, ReturnValues="old", ReturnConsumedCapacity="x")
    assert message == f"2 validation errors detected: {TOTAL_IS_NONE}; {OLD_IS_NONE}"


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_a_broken_table_name_is_reported_alone(shop: Caller, operation: str) -> None:
    subject = "Item" if operation == "PutItem" else "Key"
    assert shop.invalid(operation, TableName="", ReturnValues="old", **{subject: ALICE}) == EMPTY_NAME


def test_an_update_reports_its_first_broken_constraint(shop: Caller) -> None:
    assert shop.invalid("UpdateItem", Key=ALICE, ReturnValues="old", ReturnConsumedCapacity="x") == f"1 validation error detected: {TOTAL_IS_NONE}"


def test_what_the_caller_changes_in_its_request_does_not_reach_the_store(shop: Caller) -> None:
    item: dict[str, Any] = {**ALICE, "l": {"L": [number(1)]}, "s": {"SS": ["a"]}, "m": {"M": {"x": text("1")}}}
    stored = copy.deepcopy(item)
    values: dict[str, Any] = {":l": {"L": [text("a")]}}
    shop("PutItem", Item=item)
    item["l"]["L"].append(number(2))
    item["s"]["SS"].append("b")
    item["m"]["M"]["x"]["S"] = "2"
    assert shop.item(**ALICE) == stored
    shop("UpdateItem", Key=ALICE, UpdateExpression="SET v = :l", ExpressionAttributeValues=values)
    values[":l"]["L"][0]["S"] = "b"
    assert shop.item(**ALICE) == stored | {"v": {"L": [text("a")]}}


def _spoil(value: Any) -> None:
    """Change everything that can be changed in place."""
    if isinstance(value, dict):
        for content in value.values():
            _spoil(content)
        value.clear()
        value["N"] = "0"
    elif isinstance(value, list):
        for content in value:
            _spoil(content)
        value.clear()


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetItem", {"Key": ALICE}),
        ("GetItem", {"Key": ALICE, "ProjectionExpression": "m.x, l[0], s"}),
        ("PutItem", {"Item": {**ALICE, "l": {"L": [number(1)]}}, "ReturnValues": "ALL_OLD"}),
        ("UpdateItem", {"Key": ALICE, "UpdateExpression": "REMOVE gone", "ReturnValues": "ALL_NEW"}),
        ("UpdateItem", {"Key": ALICE, "UpdateExpression": "SET m.x = m.x", "ReturnValues": "UPDATED_NEW"}),
        ("Query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": text("alice")}, "Limit": 1}),
        ("Scan", {"Limit": 1}),
        ("DescribeTable", {}),
    ],
)
def test_what_the_caller_changes_in_an_answer_does_not_reach_the_store(shop: Caller, operation: str, members: dict[str, Any]) -> None:
    shop.put(**ALICE, l={"L": [number(1)]}, s={"SS": ["a"]}, m={"M": {"x": text("1")}})
    answer = shop(operation, **copy.deepcopy(members))
    stored = copy.deepcopy(shop.item(**ALICE))
    _spoil(answer)
    assert shop.item(**ALICE) == stored
    assert shop("DescribeTable")["Table"]["TableName"] == "shop"


def test_a_refusing_item_is_a_copy(shop: Caller) -> None:
    shop.put(**ALICE, l={"L": [number(1)]})
    error = shop.refusal("PutItem", Item=ALICE, ConditionExpression="attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    _spoil(error.item)
    assert shop.item(**ALICE) == {**ALICE, "l": {"L": [number(1)]}}


def test_a_request_is_refused_when_its_date_is_too_old_or_too_far_ahead(shop: Caller, clock: Clock) -> None:
    body = {"TableName": "shop", "Item": ALICE}
    for date in (clock.now - 300, clock.now, clock.now + 900):
        shop.service.execute("PutItem", body, signed_at=date)
    for date, text_of in ((clock.now - 300.5, "Signature expired"), (clock.now + 901, "Signature not yet current")):
        with pytest.raises(ServiceError, match=text_of) as caught:
            shop.service.execute("PutItem", body, signed_at=date)
        assert caught.value.code == "InvalidSignatureException"


def test_threads_that_add_lose_nothing(shop: Caller) -> None:
    def add() -> None:
        for _ in range(20):
            shop("UpdateItem", Key=ALICE, UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": number(1)})

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shop.item(**ALICE) == {**ALICE, "n": number(80)}
