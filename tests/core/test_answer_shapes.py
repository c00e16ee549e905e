"""Which objects are a success of an operation, and which only look like one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from surewrite.core.answer_shapes import flaw_of, is_item
from surewrite.core.answers import NoAnswer
from surewrite.core.requests import Request
from surewrite.core.wire import read_answer

ITEM = {"pk": {"S": "a"}}
TABLE = {"TableName": "shop"}
ALL_NEW = {"ReturnValues": "ALL_NEW"}
TWO_GETS: dict[str, Any] = {"TransactItems": [{"Get": {}}, {"Get": {}}]}

WHOLE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("GetItem", {}, {}),
    ("GetItem", {}, {"Item": ITEM}),
    ("GetItem", {}, {"Item": {}}),
    ("PutItem", {}, {}),
    ("PutItem", {}, {"ConsumedCapacity": {"TableName": "shop"}}),
    ("PutItem", {}, {"Attributes": ITEM, "Something": "new"}),
    ("UpdateItem", ALL_NEW, {"Attributes": ITEM}),
    ("UpdateItem", {"ReturnValues": "ALL_OLD"}, {}),
    ("UpdateItem", {}, {}),
    ("DeleteItem", {}, {"Attributes": None}),
    ("Query", {}, {"Items": [], "Count": 0}),
    ("Query", {}, {"Items": [ITEM], "LastEvaluatedKey": ITEM}),
    ("Query", {"Select": "COUNT"}, {"Count": 3, "ScannedCount": 3}),
    ("Scan", {}, {"Items": [ITEM], "LastEvaluatedKey": None}),
    ("BatchGetItem", {}, {"Responses": {}}),
    ("BatchGetItem", {}, {"Responses": {"shop": [ITEM]}, "UnprocessedKeys": {"shop": {"Keys": [ITEM]}}}),
    ("BatchWriteItem", {}, {}),
    ("BatchWriteItem", {}, {"UnprocessedItems": {"shop": [{"PutRequest": {"Item": ITEM}}, {"DeleteRequest": {"Key": ITEM}}]}}),
    ("TransactGetItems", TWO_GETS, {"Responses": [{"Item": ITEM}, {}]}),
    ("TransactWriteItems", {}, {}),
    ("DescribeTable", {}, {"Table": TABLE}),
    ("CreateTable", {}, {"TableDescription": TABLE}),
    ("DescribeTimeToLive", {}, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}),
    ("ListStreams", {}, {"whatever": 1}),
]

FLAWED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *[(operation, {}, {"status": "ok"}) for operation in ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")],
    ("GetItem", {}, {"Item": {"pk": "a"}}),
    ("UpdateItem", ALL_NEW, {}),
    ("UpdateItem", ALL_NEW, {"Attributes": None}),
    ("Query", {}, {}),
    ("Query", {}, {"Items": None}),
    ("Query", {}, {"Items": 5}),
    ("Query", {}, {"Items": [5]}),
    ("Query", {}, {"Items": [{"pk": 5}]}),
    ("Query", {}, {"Items": [], "LastEvaluatedKey": 5}),
    ("Query", {}, {"Items": [], "LastEvaluatedKey": {}}),
    ("Scan", {}, {"Count": 3}),
    ("BatchGetItem", {}, {}),
    ("BatchGetItem", {}, {"Responses": {"shop": 5}}),
    ("BatchGetItem", {}, {"Responses": {}, "UnprocessedKeys": 5}),
    ("BatchGetItem", {}, {"Responses": {}, "UnprocessedKeys": {"shop": {}}}),
    ("BatchWriteItem", {}, {"UnprocessedItems": 5}),
    ("BatchWriteItem", {}, {"UnprocessedItems": {"shop": [{}]}}),
    ("BatchWriteItem", {}, {"UnprocessedItems": {"shop": [{"PutRequest": {}}]}}),
    ("TransactGetItems", TWO_GETS, {}),
    ("TransactGetItems", TWO_GETS, {"Responses": [{}]}),
    ("TransactGetItems", TWO_GETS, {"Responses": [{}, "x"]}),
    ("TransactGetItems", TWO_GETS, {"Responses": [{}, {"Item": 5}]}),
    ("DescribeTable", {}, {}),
    ("DescribeTable", {}, {"Table": "shop"}),
]


@pytest.mark.parametrize(("operation", "body", "content"), WHOLE)
def test_what_the_service_sends_has_no_flaw(operation, body, content):
    assert flaw_of(Request(operation, body), content) is None


@pytest.mark.parametrize(("operation", "body", "content"), FLAWED)
def test_an_object_that_the_service_does_not_send_is_no_answer(operation, body, content):
    request = Request(operation, body)
    assert flaw_of(request, content) is not None
    assert isinstance(read_answer(request, 200, json.dumps(content).encode()), NoAnswer)


@pytest.mark.parametrize(
    ("value", "expected"), [(ITEM, True), ({}, True), (None, False), ([], False), ({"a": {}}, False), ({"a": {"S": "x", "N": "1"}}, False)]
)
def test_an_item_is_made_of_typed_values(value, expected):
    assert is_item(value) is expected
