"""db.execute: the service's own request, with no promise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients.entities import Note

import surewrite as sw


async def test_it_gives_the_body_of_the_answer_as_it_is(db, shop_name) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}}
    assert await db.execute("PutItem", {"TableName": shop_name, "Item": item}) == {}
    answer = await db.execute("GetItem", {"TableName": shop_name, "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}})
    assert answer["Item"] == item


async def test_an_error_is_the_service_s_own(db, shop_name) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    await db.execute("PutItem", {"TableName": shop_name, "Item": item})
    request = {
        "TableName": shop_name,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    with pytest.raises(sw.ServiceFault, match="ConditionalCheckFailedException") as fault:
        await db.execute("PutItem", request)
    assert (fault.value.code, fault.value.status, fault.value.item) == ("ConditionalCheckFailedException", 400, item)


async def test_a_missing_table_is_the_service_s_own_error(db) -> None:
    with pytest.raises(sw.ServiceFault) as fault:
        await db.execute("DescribeTable", {"TableName": "surewrite-test-no-such-table"})
    assert fault.value.code == "ResourceNotFoundException"


async def test_a_cancelled_transaction_carries_its_reasons(db, shop_name) -> None:
    put = {"TableName": shop_name, "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}, "ConditionExpression": "attribute_exists(pk)"}
    with pytest.raises(sw.ServiceFault) as fault:
        await db.execute("TransactWriteItems", {"TransactItems": [{"Put": put}]})
    assert [reason.code for reason in fault.value.reasons] == ["ConditionalCheckFailed"]


@pytest.mark.parametrize(("fate", "error"), [("answer lost", sw.OutcomeUnknown), ("request lost", sw.OutcomeUnknown), ("not sent", sw.ConnectionFailed)])
async def test_it_is_sent_once(lossy, shop_name, shop, fate, error) -> None:
    db, faults = lossy()
    faults.next_writes(fate)
    with pytest.raises(error):
        await db.execute("PutItem", {"TableName": shop_name, "Item": {"pk": {"S": "NOTE#a"}, "sk": {"S": "TEXT"}, "id": {"S": "a"}}})
    assert (await shop.of(Note).get_or_none(Note.key_of("a")) is not None) is (fate == "answer lost")


def _containing_itself() -> dict[str, Any]:
    values: list[Any] = []
    values.append({"L": values})
    return {"L": values}


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({1: {"S": "a"}}, "a name in it is int"),
        ({"pk": {"M": {b"x": {"S": "a"}}}}, "a name in it is bytes"),
        ({"pk": {"S": "\ud800"}}, "surrogate"),
        ({"\ud800": {"S": "a"}}, "surrogate"),
        (_containing_itself(), "nested more than"),
    ],
)
@pytest.mark.parametrize("operation", ["PutItem", "TransactWriteItems"])
async def test_a_body_that_is_no_json_is_refused_before_it_is_sent(db, shop_name, operation, item, told) -> None:
    put = {"TableName": shop_name, "Item": item}
    with pytest.raises(sw.InvalidRequest, match=told):
        await db.execute(operation, put if operation == "PutItem" else {"TransactItems": [{"Put": put}]})
