"""The state of one exchange, fed with bytes: the same reply means the same however it is cut, and the word is the honest one."""

from __future__ import annotations

import gc
import weakref
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backends.hostile_server import DATE, reply

from surewrite.backends.http_exchange import HEAD_BYTES_MAX, Exchange
from surewrite.core.answers import NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request

AT = 784111777.0
ASKED = Request("Anything", {})
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
WHOLE = [
    (reply(b'{"a":1}'), Success({"a": 1}, server_time=AT), True),
    (CHUNKED, Success({"a": 1}), True),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + reply(b'{"a":1}'), Success({"a": 1}, server_time=AT), True),
    (reply(b'{"__type":"x#ThrottlingException"}', "400 Bad Request"), Rejection("ThrottlingException", server_time=AT), True),
    (reply(b'{"a":1}', Connection="close"), Success({"a": 1}, server_time=AT), False),
    (reply(b'{"a":1}').replace(b"HTTP/1.1", b"HTTP/1.0"), Success({"a": 1}, server_time=AT), False),
]


def sent() -> Exchange:
    exchange = Exchange(b"request", ASKED)
    exchange.handed_over(7)
    return exchange


@given(st.sampled_from(WHOLE), st.lists(st.integers(0, 400), max_size=6))
def test_a_reply_means_the_same_wherever_it_is_cut(case, cuts):
    data, expected, reusable = case
    exchange = sent()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for begin, end in pairwise(places):
        assert not exchange.finished
        exchange.received(data[begin:end])
    assert exchange.finished
    assert exchange.answer() == expected
    assert exchange.reusable is reusable


@given(st.sampled_from(WHOLE), st.data())
def test_a_reply_that_ends_too_early_is_no_answer(case, data):
    whole = case[0]
    exchange = sent()
    cut = data.draw(st.integers(0, len(whole) - 1))
    if cut:
        exchange.received(whole[:cut])
    exchange.received(b"")
    assert exchange.finished
    assert isinstance(exchange.answer(), NoAnswer)
    assert not exchange.reusable


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8))
def test_any_bytes_end_in_an_answer_and_never_in_an_exception(pieces):
    exchange = sent()
    for piece in [*pieces, b""]:
        if exchange.finished:
            break
        exchange.received(piece)
    assert isinstance(exchange.answer(), (Success, Rejection, NoAnswer))


@given(st.sampled_from(WHOLE), st.binary(min_size=1, max_size=30))
def test_bytes_behind_a_reply_make_it_no_answer(case, more):
    exchange = sent()
    exchange.received(case[0] + more)
    assert isinstance(exchange.answer(), NoAnswer) or more.strip(b"\r\n") == b""
    assert not exchange.reusable or more.strip(b"\r\n") == b""


@pytest.mark.parametrize("blank", [" ", "\t", " \t ", ""])
def test_blanks_around_the_value_of_a_header_are_no_part_of_it(blank):
    body = b'{"a":1}'
    checksum = str(zlib.crc32(body))
    exchange = sent()
    exchange.received(reply(body, x_amz_crc32=f"{blank}{checksum}{blank}", Content_Encoding=f"identity{blank}", Date=f"{DATE}{blank}"))
    assert exchange.answer() == Success({"a": 1}, server_time=AT)


def test_what_follows_the_body_says_nothing_about_it():
    exchange = sent()
    exchange.received(CHUNKED[:-2] + b"Content-Encoding: gzip\r\nx-amz-crc32: 1\r\nDate: never\r\n\r\n")
    assert exchange.answer() == Success({"a": 1})
    assert exchange.reusable


@pytest.mark.parametrize("piece", [b"a" * 4096, b"a\r\nX: " * 600], ids=["one long header", "many headers"])
def test_a_head_without_end_is_no_answer(piece):
    exchange = sent()
    exchange.received(b"HTTP/1.1 200 OK\r\nX: ")
    pieces = 0
    while not exchange.finished:
        exchange.received(piece)
        pieces += 1
    assert HEAD_BYTES_MAX - len(piece) < pieces * len(piece) <= HEAD_BYTES_MAX + len(piece)
    assert isinstance(exchange.answer(), NoAnswer)


def test_a_body_without_a_length_ends_with_the_connection():
    exchange = sent()
    exchange.received(b'HTTP/1.1 200 OK\r\n\r\n{"a":1}')
    assert not exchange.finished
    exchange.received(b"")
    assert exchange.answer() == Success({"a": 1})
    assert not exchange.reusable


@pytest.mark.parametrize("counts", [[], [1], [3, 3], [6]])
def test_until_the_last_byte_is_handed_over_the_request_was_not_sent(counts):
    exchange = Exchange(b"request", ASKED)
    for count in counts:
        exchange.handed_over(count)
    assert bytes(exchange.unsent) == b"request"[sum(counts) :]
    assert exchange.failed("x") == NotSent("x")


@pytest.mark.parametrize("counts", [[7], [3, 4], [6, 1]])
def test_from_the_last_byte_on_there_is_no_answer(counts):
    exchange = Exchange(b"request", ASKED)
    for count in counts:
        exchange.handed_over(count)
    assert not exchange.unsent
    assert exchange.failed("x") == NoAnswer("x")


def test_an_exchange_that_ended_is_freed_without_the_garbage_collector():
    class Watched(Exchange):
        __slots__ = ("__weakref__",)

    gc.disable()
    try:
        exchange = Watched(b"request", ASKED)
        gone = weakref.ref(exchange)
        exchange.handed_over(7)
        exchange.received(reply(b"{}"))
        exchange.answer()
        del exchange
        assert gone() is None
    finally:
        gc.enable()
