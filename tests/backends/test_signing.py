"""Signatures against the published examples, and against botocore as a second judge."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surewrite.backends.endpoints import endpoint_at
from surewrite.backends.signed_requests import SignedRequests
from surewrite.backends.signing import Credentials, Scope, Signer, signing_key, time_stamp

# The signature version 4 test suite of AWS: one key, one moment, one scope for all cases.
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
STAMP = "20150830T123600Z"
SUITE = Scope("20150830", "us-east-1", "service")
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2"
    "wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSI"
    "lTJabIQwj2ICCR/oLxBA=="
)
HOST = ("host", "example.amazonaws.com")
DATE = ("x-amz-date", STAMP)


@pytest.mark.parametrize(
    ("method", "query", "headers", "body", "signature"),
    [
        pytest.param("GET", "", (HOST, DATE), b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", id="get-vanilla"),
        pytest.param("POST", "", (HOST, DATE), b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", id="post-vanilla"),
        pytest.param("POST", "Param1=value1", (HOST, DATE), b"", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11", id="post-vanilla-query"),
        pytest.param(
            "GET",
            "Param1=value1&Param2=value2",
            (HOST, DATE),
            b"",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            id="get-vanilla-query-order-key-case",
        ),
        pytest.param(
            "POST",
            "",
            (HOST, ("my-header1", "value1"), DATE),
            b"",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
            id="post-header-key-sort",
        ),
        pytest.param(
            "POST",
            "",
            (HOST, ("my-header1", "VALUE1"), DATE),
            b"",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
            id="post-header-value-case",
        ),
        pytest.param(
            "POST",
            "",
            (("content-type", "application/x-www-form-urlencoded"), HOST, DATE),
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            id="post-x-www-form-urlencoded",
        ),
        pytest.param(
            "POST",
            "",
            (HOST, DATE, ("x-amz-security-token", TOKEN)),
            b"",
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            id="post-sts-header-before",
        ),
    ],
)
def test_the_published_suite(method, query, headers, body, signature):
    key = signing_key(SECRET, SUITE)
    names = ";".join(name for name, _ in headers)
    signer = Signer(method, "/", query, headers, access_key_id="AKIDEXAMPLE", key=key, stamp=STAMP, scope=SUITE)
    expected = f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={names}, Signature={signature}"
    assert [signer.authorization(body).decode() for _ in range(2)] == [expected, expected]


def test_the_published_steps_of_post_sts_header_before():
    headers = (HOST, DATE, ("x-amz-security-token", TOKEN))
    signer = Signer("POST", "/", "", headers, access_key_id="AKIDEXAMPLE", key=signing_key(SECRET, SUITE), stamp=STAMP, scope=SUITE)
    assert signer.string_to_sign(b"") == (
        b"AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\nc237e1b440d4c63c32ca95b5b99481081cb7b13c7e40434868e71567c1a882f6"
    )


def test_the_published_signing_key():
    assert signing_key(SECRET, Scope("20150830", "us-east-1", "iam")).hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


def test_the_stamp_is_in_utc():
    assert time_stamp(1440938160.9) == STAMP


def test_the_secret_and_the_token_are_not_shown():
    shown = repr(Credentials("AKIDEXAMPLE", SECRET, TOKEN))
    assert SECRET not in shown
    assert TOKEN not in shown


@given(
    body=st.binary(max_size=200),
    token=st.none() | st.text("abcXYZ019+/=", min_size=1, max_size=40),
    seconds=st.integers(1_000_000_000, 4_000_000_000),
    url=st.sampled_from(
        ["https://dynamodb.eu-west-1.amazonaws.com", "http://127.0.0.1:8000", "http://[::1]:8000/", "http://proxy.example:81/a/b_c", "https://proxy.example/x/"]
    ),
)
def test_the_second_judge_signs_a_whole_request_the_same_way(body, token, seconds, url):
    auth = pytest.importorskip("botocore.auth")
    awsrequest = pytest.importorskip("botocore.awsrequest")
    endpoint = endpoint_at(url, region="eu-west-1", environ={})
    sent = SignedRequests(endpoint, lambda: float(seconds)).signed("PutItem", body, Credentials("AKID", SECRET, token))
    head, _, sent_body = sent.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert lines[0] == f"POST {endpoint.path} HTTP/1.1"
    assert (sent_body, int(headers["content-length"])) == (body, len(body))
    signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    assert {"host", "x-amz-date", "x-amz-target", "content-type"} | ({"x-amz-security-token"} if token else set()) == set(signed)
    judge = awsrequest.AWSRequest("POST", endpoint.url, data=body, headers={name: headers[name] for name in signed})
    judge.context["timestamp"] = headers["x-amz-date"]
    credentials = pytest.importorskip("botocore.credentials").Credentials("AKID", SECRET, token)
    signer = auth.SigV4Auth(credentials, "dynamodb", "eu-west-1")
    text = signer.string_to_sign(judge, signer.canonical_request(judge))
    assert headers["authorization"].endswith(f"Signature={signer.signature(text, judge)}")
    assert headers["x-amz-date"] == dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y%m%dT%H%M%SZ")


ROTATED = (Credentials("AKID", SECRET), Credentials("AKID", "rotated"), Credentials("AKID", SECRET, "token"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["PutItem", "GetItem"]), st.binary(max_size=40), st.sampled_from(ROTATED), st.sampled_from([0.0, 0.5, 1.0, 43_199.0, 43_200.0])
        ),
        max_size=12,
    )
)
def test_what_is_kept_between_requests_changes_no_byte(requests):
    noon = 1_800_014_400.0
    clock = [0.0]
    endpoint = endpoint_at("https://dynamodb.eu-west-1.amazonaws.com", region="eu-west-1", environ={})
    kept = SignedRequests(endpoint, lambda: clock[0])
    for operation, body, credentials, seconds in requests:
        clock[0] = noon + seconds
        assert kept.signed(operation, body, credentials) == SignedRequests(endpoint, lambda: clock[0]).signed(operation, body, credentials)
