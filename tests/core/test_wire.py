"""How a request becomes JSON, and which replies are the service's own."""

from __future__ import annotations

import gzip
import json
import zlib
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surewrite.core import wire
from surewrite.core.answers import Answer, NoAnswer, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.wire import read_answer, request_body, server_time
from surewrite.errors import InvalidRequest

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
DATE_SECONDS = 784111777.0
ASKED = Request("Anything", {})
"""Of this operation nothing is known, so that any object is a success."""


def error(content: object, status: int = 400) -> Answer:
    return read_answer(ASKED, status, json.dumps(content).encode())


def test_the_same_request_gives_the_same_bytes():
    body = {"TableName": "shop", "Item": {"pk": {"S": "ä"}, "n": {"N": "1.50"}}}
    assert request_body(Request("PutItem", body)) == request_body(Request("PutItem", MappingProxyType(body)))
    assert json.loads(request_body(Request("PutItem", body))) == body


@pytest.mark.parametrize("value", ["\ud800", object(), {1, 2}], ids=["half a surrogate pair", "an object", "a set"])
def test_what_json_cannot_say_is_refused_before_anything_is_sent_and_not_quoted(value):
    with pytest.raises(InvalidRequest) as caught:
        request_body(Request("PutItem", {"Secret": value}))
    assert "Secret" not in str(caught.value)


def test_an_object_with_status_200_is_a_success_with_the_servers_time():
    assert read_answer(ASKED, 200, b'{"Attributes":{"n":{"N":"1"}}}', date=DATE) == Success({"Attributes": {"n": {"N": "1"}}}, server_time=DATE_SECONDS)


def test_a_right_checksum_is_accepted_and_a_wrong_one_is_no_answer():
    body = b'{"Count":1}'
    right = zlib.crc32(body)
    assert read_answer(ASKED, 200, body, checksum=str(right)) == Success({"Count": 1})
    for wrong in (str(right + 1), "", "x", hex(right)):
        assert isinstance(read_answer(ASKED, 200, body, checksum=wrong), NoAnswer)


def test_a_wrong_checksum_makes_an_error_no_answer_too():
    assert isinstance(read_answer(ASKED, 400, b'{"__type":"a#ValidationException"}', checksum="1"), NoAnswer)


@given(st.data())
def test_a_body_that_differs_in_one_byte_never_passes_its_checksum(data):
    body = b'{"Attributes":{"balance":{"N":"100"}}}'
    position = data.draw(st.integers(0, len(body) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != body[position]))
    damaged = body[:position] + bytes([other]) + body[position + 1 :]
    assert isinstance(read_answer(ASKED, 200, damaged, checksum=str(zlib.crc32(body))), NoAnswer)


@given(st.integers(0, 599), st.binary(max_size=60))
def test_any_bytes_give_an_answer_and_never_an_exception(status, body):
    assert isinstance(read_answer(ASKED, status, body), (Success, Rejection, NoAnswer))


def test_the_checksum_is_over_the_bytes_as_sent():
    packed = gzip.compress(b'{"Count":1}')
    assert read_answer(ASKED, 200, packed, encoding="gzip", checksum=str(zlib.crc32(packed))) == Success({"Count": 1})
    assert isinstance(read_answer(ASKED, 200, packed, encoding="gzip", checksum=str(zlib.crc32(b'{"Count":1}'))), NoAnswer)


@pytest.mark.parametrize("cut", range(len(gzip.compress(b'{"Count":1}'))))
def test_a_gzip_body_cut_anywhere_is_no_answer(cut):
    assert isinstance(read_answer(ASKED, 200, gzip.compress(b'{"Count":1}')[:cut], encoding="gzip"), NoAnswer)


def test_a_gzip_body_that_unpacks_beyond_the_limit_is_no_answer(monkeypatch):
    monkeypatch.setattr(wire, "ANSWER_BYTES_MAX", 100)
    assert isinstance(read_answer(ASKED, 200, gzip.compress(b'{"a":"' + b"x" * 200 + b'"}'), encoding="gzip"), NoAnswer)


def test_a_gzip_body_followed_by_more_is_no_answer():
    assert isinstance(read_answer(ASKED, 200, gzip.compress(b"{}") + b"{}", encoding="gzip"), NoAnswer)


def test_an_encoding_that_was_not_asked_for_is_no_answer():
    assert isinstance(read_answer(ASKED, 200, b"{}", encoding="br"), NoAnswer)


@pytest.mark.parametrize("body", [b"", b"[]", b'"text"', b"null", b"1", b"{", b'{"a":1', b"<html></html>", b"\xff", b"{}{}", b'{"__type":"a#b"}'])
def test_status_200_without_one_plain_object_is_no_answer(body):
    assert isinstance(read_answer(ASKED, 200, body), NoAnswer)


@pytest.mark.parametrize("status", [100, 101, 201, 202, 204, 206, 301, 302, 304, 399])
def test_a_status_that_the_service_does_not_use_is_no_answer(status):
    assert isinstance(read_answer(ASKED, status, b"{}"), NoAnswer)


@pytest.mark.parametrize("status", [400, 403, 404, 407, 413, 429, 500, 502, 503, 504])
@pytest.mark.parametrize(
    "body",
    [b"", b"<html><body>Forbidden</body></html>", b"{}", b'{"message":"no"}', b'{"__type":null}', b'{"__type":3}', b'{"__type":""}', b'{"__type":"a#"}'],
)
def test_an_error_without_its_type_is_no_answer(status, body):
    assert isinstance(read_answer(ASKED, status, body), NoAnswer)


@pytest.mark.parametrize(
    "kind",
    [
        "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        "ResourceNotFoundException",
        "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException:http://internal.example.com/coral/",
        "ResourceNotFoundException:http://internal.example.com/#fragment",
        "a#b#ResourceNotFoundException",
    ],
)
def test_the_code_stands_after_the_last_hash_and_before_a_colon(kind):
    assert error({"__type": kind, "message": "no"}) == Rejection("ResourceNotFoundException", "no", 400)


def test_both_spellings_of_the_message_are_read():
    assert error({"__type": "x#AccessDeniedException", "Message": "m"}) == Rejection("AccessDeniedException", "m")
    assert error({"__type": "x#AccessDeniedException", "message": "m"}) == Rejection("AccessDeniedException", "m")
    assert error({"__type": "x#AccessDeniedException"}) == Rejection("AccessDeniedException", "")
    assert isinstance(error({"__type": "x#AccessDeniedException", "message": ["m"]}), NoAnswer)


def test_a_server_error_in_the_services_shape_is_a_rejection_with_its_status():
    answer = read_answer(ASKED, 500, b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}', date=DATE, resent=True)
    assert answer == Rejection("InternalServerError", "x", 500, resent=True, server_time=DATE_SECONDS)


def test_the_item_that_refused_is_handed_on():
    item = {"pk": {"S": "a"}, "v": {"N": "2"}}
    assert error({"__type": "x#ConditionalCheckFailedException", "message": "The conditional request failed", "Item": item}) == Rejection(
        "ConditionalCheckFailedException", "The conditional request failed", 400, item=item
    )


@pytest.mark.parametrize("item", [[], "x", {"pk": "a"}, {"pk": {}}, {"pk": {"S": "a", "N": "1"}}])
def test_a_refusal_whose_item_is_none_is_no_answer(item):
    assert isinstance(error({"__type": "x#ConditionalCheckFailedException", "Item": item}), NoAnswer)


def test_the_reasons_of_a_cancellation_keep_their_order_and_items():
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": {"pk": {"S": "a"}}},
        {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"},
    ]
    assert error({"__type": "x#TransactionCanceledException", "Message": "m", "CancellationReasons": reasons}) == Rejection(
        "TransactionCanceledException",
        "m",
        400,
        reasons=(
            Reason("None"),
            Reason("ConditionalCheckFailed", "The conditional request failed", {"pk": {"S": "a"}}),
            Reason("TransactionConflict", "Transaction is ongoing for the item"),
        ),
    )


@pytest.mark.parametrize("reasons", [{}, "x", ["x"], [{"Code": 3}], [{"Code": "a", "Message": 3}], [{"Code": "a", "Item": []}]])
def test_a_cancellation_whose_reasons_are_damaged_is_no_answer(reasons):
    assert isinstance(error({"__type": "x#TransactionCanceledException", "CancellationReasons": reasons}), NoAnswer)


@pytest.mark.parametrize(
    "date",
    [
        None,
        "",
        "yesterday",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 99 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 99999999999 08:49:37 GMT",
    ],
)
def test_a_date_in_no_known_form_tells_no_time(date):
    assert server_time(date) is None


def test_the_date_of_the_published_example_and_of_a_leap_second():
    assert server_time(DATE) == DATE_SECONDS
    assert server_time("Sat, 31 Dec 2016 23:59:60 GMT") == 1483228799.0


@pytest.mark.parametrize(("operation", "member"), [("GetItem", "Item"), ("UpdateItem", "Attributes")])
@pytest.mark.parametrize("content", ["5", '"x"', "[]", '{"a":5}', '{"a":{}}', '{"a":{"S":"x","N":"1"}}'])
def test_an_answer_whose_item_is_none_is_no_answer(operation, member, content):
    assert isinstance(read_answer(Request(operation, {}), 200, f'{{"{member}":{content}}}'.encode()), NoAnswer)


def test_an_answer_without_an_item_is_one():
    assert read_answer(Request("GetItem", {}), 200, b'{"Item":null}') == Success({"Item": None})


@pytest.mark.parametrize("encoding", ["", "identity", "Identity", "GZIP"])
def test_the_name_of_an_encoding_is_read_without_case_and_an_empty_one_is_none(encoding):
    body = b'{"Count":1}'
    assert read_answer(ASKED, 200, gzip.compress(body) if encoding == "GZIP" else body, encoding=encoding) == Success({"Count": 1})
