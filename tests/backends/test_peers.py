"""The wires and the boto3 client against real peers: create a table, write, be refused with the item, read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from tests.services import Service

from surewrite.backends.boto3_client import Boto3ClientBackend
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.requests import Request

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 30.0


@pytest.fixture(params=["moto", "ministack"])
def peer(request: pytest.FixtureRequest) -> Service:
    service: Service = request.getfixturevalue(request.param)
    return service


@pytest.fixture(params=["our wire", "boto3 client"])
def send(request: pytest.FixtureRequest, peer: Service, client: Callable[..., Any]) -> Iterator[Callable[[str, dict[str, Any]], Answer]]:
    if request.param == "our wire":
        wire = client(peer.url)
        yield lambda operation, body: wire.send(Request(operation, body), LIMIT_SECONDS)
        return
    boto3 = pytest.importorskip("boto3")
    config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1, "mode": "standard"})
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret"}
    made = boto3.client("dynamodb", endpoint_url=peer.url, region_name="us-east-1", config=config, **keys)
    backend = Boto3ClientBackend(made)
    yield lambda operation, body: backend.send(Request(operation, body), LIMIT_SECONDS)
    backend.close()
    made.close()


def test_a_table_is_made_written_refused_and_read(send):
    table = f"t{uuid4().hex}"
    made = send(
        "CreateTable",
        {
            "TableName": table,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    assert isinstance(made, Success)
    assert made.body["TableDescription"]["TableName"] == table

    item = {"pk": {"S": "ä"}, "b": {"B": "AAH/"}, "n": {"N": "12345678901234567890123456789012345678"}, "l": {"L": [{"BOOL": True}, {"NULL": True}]}}
    create = {"TableName": table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert isinstance(send("PutItem", create), Success)

    refused = send("PutItem", create)
    assert isinstance(refused, Rejection)
    assert (refused.code, refused.status, refused.item) == ("ConditionalCheckFailedException", 400, item)

    read = send("GetItem", {"TableName": table, "Key": {"pk": {"S": "ä"}}, "ConsistentRead": True})
    assert isinstance(read, Success)
    assert read.body["Item"] == item

    absent = send("GetItem", {"TableName": table, "Key": {"pk": {"S": "nobody"}}})
    assert isinstance(absent, Success)
    assert "Item" not in absent.body

    missing = send("PutItem", {"TableName": f"{table}x", "Item": {"pk": {"S": "a"}}})
    assert isinstance(missing, Rejection)
    assert missing.code == "ResourceNotFoundException"


def test_the_reasons_of_a_cancelled_transaction_are_read(send):
    table = f"t{uuid4().hex}"
    schema = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}
    send("CreateTable", {"TableName": table, "BillingMode": "PAY_PER_REQUEST", **schema})
    put = {"Put": {"TableName": table, "Item": {"pk": {"S": "a"}}}}
    check = {"ConditionCheck": {"TableName": table, "Key": {"pk": {"S": "b"}}, "ConditionExpression": "attribute_exists(pk)"}}
    answer = send("TransactWriteItems", {"TransactItems": [put, check]})
    assert isinstance(answer, Rejection)
    assert answer.code == "TransactionCanceledException"
    assert [reason.code for reason in answer.reasons] == ["None", "ConditionalCheckFailed"]
