"""A boto3 client as a backend: which clients are taken, and that their answers are told honestly."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.backends.hostile_server import Peer, echo, hostile_server, reply

from surewrite.backends.boto3_client import AsyncBoto3ClientBackend, Boto3ClientBackend, boto3_session_settings, is_boto3_client, is_boto3_session
from surewrite.backends.endpoints import Endpoint
from surewrite.backends.http_attempts import HttpAttempts
from surewrite.backends.wire_blocking import BlockingWire
from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.errors import InvalidRequest

boto3 = pytest.importorskip("boto3")
config = pytest.importorskip("botocore.config")

SLACK_SECONDS = 2.0
ONCE = {"total_max_attempts": 1, "mode": "standard"}
PUT = Request("PutItem", {"TableName": "shop", "Item": {"pk": {"S": "a"}}})
AT = 784111777.0


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch, tmp_path):
    for name in ("AWS_PROFILE", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
def boto_client() -> Iterator[Callable[..., Any]]:
    """Makes clients of boto3, closed at the end."""
    made: list[Any] = []

    def make(url: str = "http://127.0.0.1:1", retries: dict[str, Any] | None = ONCE, service: str = "dynamodb", **options: Any) -> Any:
        settings = config.Config(retries=retries, **options) if retries else config.Config(**options)
        made.append(boto3.client(service, endpoint_url=url, region_name="eu-west-1", aws_access_key_id="AKID", aws_secret_access_key="secret", config=settings))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture(params=["blocking", "asynchronous"])
def send(request: pytest.FixtureRequest) -> Callable[..., Answer]:
    def blocking(client: Any, what: Request = PUT, timeout: float = 5.0) -> Answer:
        backend = Boto3ClientBackend(client)
        try:
            return backend.send(what, timeout)
        finally:
            backend.close()

    async def awaited(client: Any, what: Request, timeout: float) -> Answer:
        backend = AsyncBoto3ClientBackend(client)
        try:
            return await backend.send(what, timeout)
        finally:
            await backend.close()

    def asynchronous(client: Any, what: Request = PUT, timeout: float = 5.0) -> Answer:
        return asyncio.run(awaited(client, what, timeout))

    return blocking if request.param == "blocking" else asynchronous


class TestWhichClients:
    @pytest.mark.parametrize("retries", [None, {"mode": "standard"}, {"mode": "legacy"}, {"total_max_attempts": 2}, {"max_attempts": 1}])
    def test_a_client_that_sends_again_by_itself_is_refused_with_the_line_to_write(self, boto_client, retries):
        with pytest.raises(InvalidRequest) as caught:
            Boto3ClientBackend(boto_client(retries=retries))
        assert 'boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1, "mode": "standard"}))' in str(caught.value)
        assert "boto3.Session()" in str(caught.value)

    @pytest.mark.parametrize("retries", [ONCE, {"total_max_attempts": 1}, {"max_attempts": 0}, {"total_max_attempts": 1, "mode": "adaptive"}])
    def test_a_client_whose_resends_are_off_is_taken(self, boto_client, retries):
        Boto3ClientBackend(boto_client(retries=retries)).close()

    def test_the_client_of_a_resource_is_refused(self):
        for extra in ({}, {"user_agent_extra": "mine"}):
            settings = config.Config(retries=ONCE, **extra)
            resource = boto3.resource("dynamodb", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b", config=settings)
            with pytest.raises(InvalidRequest, match="resource"):
                Boto3ClientBackend(resource.meta.client)
            resource.meta.client.close()

    def test_a_client_of_another_service_and_what_is_no_client_are_refused(self, boto_client):
        for other in (boto_client(service="sqs"), object(), None):
            with pytest.raises(InvalidRequest, match="no client of boto3 for DynamoDB"):
                Boto3ClientBackend(other)

    @pytest.mark.parametrize(
        ("url", "known"),
        [
            ("https://dynamodb.eu-west-1.amazonaws.com", True),
            ("https://dynamodb.eu-west-1.api.aws", True),
            ("https://dynamodb.eusc-de-east-1.amazonaws.eu", True),
            ("https://dynamodb.amazonaws.com.example.org", None),
            ("http://127.0.0.1:8000/x.amazonaws.com", None),
        ],
    )
    def test_what_is_known_of_an_address_is_known_by_its_host(self, boto_client, url, known):
        backend = Boto3ClientBackend(boto_client(url))
        assert (backend.traits.tokens, backend.traits.transactions, backend.traits.old_item) == (known, known, known)
        backend.close()

    def test_sessions_and_clients_are_told_apart(self, boto_client):
        session, client = boto3.Session(), boto_client()
        assert (is_boto3_session(session), is_boto3_client(session)) == (True, False)
        assert (is_boto3_session(client), is_boto3_client(client)) == (False, True)
        assert not is_boto3_session("memory:")
        assert not is_boto3_client("memory:")

    def test_the_settings_of_a_session_make_our_own_wire(self, monkeypatch):
        with hostile_server() as server:
            monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
            session = boto3.Session(aws_access_key_id="AKIDSESSION", aws_secret_access_key="secret", aws_session_token="token", region_name="sa-east-1")
            endpoint, credentials = boto3_session_settings(session)
            assert endpoint == Endpoint(False, "127.0.0.1", server.port, "/", "sa-east-1")
            wire = BlockingWire(HttpAttempts(endpoint, credentials))
            assert wire.send(PUT, 5.0) == Success({"Attributes": {"Echo": {"S": "shop"}}}, server_time=AT)
            wire.close()
            (request,) = server.received
            authorization = request.header("authorization") or ""
            assert "Credential=AKIDSESSION/" in authorization
            assert "/sa-east-1/dynamodb/" in authorization
            assert request.header("x-amz-security-token") == "token"


class TestAnswers:
    def test_binary_travels_unchanged_in_both_directions(self, boto_client, send):
        body = b'{"Attributes":{"b":{"B":"AAH/"},"l":{"L":[{"BS":["AA==","AQ=="]}]}}}'

        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(body))
            peer.wait_for_end()

        content = {
            "TableName": "shop",
            "Item": {"pk": {"S": "a"}, "b": {"B": "AAH/"}, "l": {"L": [{"BS": ["AA==", "AQ=="]}, {"M": {"x": {"B": ""}}}, {"NULL": True}]}},
        }
        with hostile_server(script) as server:
            assert send(boto_client(server.url), Request("PutItem", content)) == Success(json.loads(body), server_time=AT)
            assert json.loads(server.received[0].body) == content

    def test_binary_in_transactions_and_expressions_travels_unchanged(self, boto_client, send):
        put = {"TableName": "shop", "Item": {"pk": {"B": "AAH/"}}}
        update = {"TableName": "shop", "Key": {"pk": {"B": "AA=="}}, "UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": {"B": "/w=="}}}
        content = {"TransactItems": [{"Put": put}, {"Update": update}], "ClientRequestToken": "token"}

        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(b"{}"))
            peer.wait_for_end()

        with hostile_server(script) as server:
            assert send(boto_client(server.url), Request("TransactWriteItems", content)) == Success({}, server_time=AT)
            assert json.loads(server.received[0].body) == content

    def test_a_refusal_keeps_its_item(self, boto_client, send):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(
                reply(
                    b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{"b":{"B":"AAH/"}}}', "400 Bad Request"
                )
            )
            peer.wait_for_end()

        with hostile_server(script) as server:
            expected = Rejection("ConditionalCheckFailedException", "m", 400, item={"b": {"B": "AAH/"}}, server_time=AT)
            assert send(boto_client(server.url)) == expected

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(reply(b"<html>log in</html>", Content_Type="text/html"), id="html 200"),
            pytest.param(reply(b"<html>busy</html>", "502 Bad Gateway"), id="html 502"),
            pytest.param(reply(b"<html>no</html>", "403 Forbidden"), id="html 403"),
            pytest.param(reply(b""), id="empty"),
            pytest.param(reply(b'{"Attributes":'), id="half a document"),
            pytest.param(reply(b"{}", x_amz_crc32="1"), id="wrong checksum"),
            pytest.param(reply(b"{}", Content_Length="5"), id="shorter than it says"),
            pytest.param(reply(b'{"message":"no"}', "400 Bad Request"), id="error without type"),
            pytest.param(b"garbage\r\n\r\n", id="not HTTP"),
            pytest.param(b"", id="nothing"),
        ],
    )
    def test_a_damaged_reply_is_no_answer(self, boto_client, send, data):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(data)
            peer.end()

        with hostile_server(script) as server:
            assert isinstance(send(boto_client(server.url)), NoAnswer)
            assert len(server.received) == 1

    def test_a_connection_that_breaks_is_no_answer_and_is_not_tried_again(self, boto_client, send):
        def script(peer: Peer) -> None:
            peer.request()
            peer.reset()

        with hostile_server(script) as server:
            assert isinstance(send(boto_client(server.url)), NoAnswer)
            assert len(server.received) == 1

    def test_silence_ends_with_the_limit_of_the_call(self, boto_client, send):
        def script(peer: Peer) -> None:
            peer.request()
            peer.server.stop.wait()

        with hostile_server(script) as server:
            begin = time.monotonic()
            assert isinstance(send(boto_client(server.url, read_timeout=1), timeout=0.2), NoAnswer)
            assert time.monotonic() - begin < 0.2 + SLACK_SECONDS

    def test_a_connection_that_is_refused_was_not_sent(self, boto_client, send):
        with hostile_server() as server:
            url = server.url
        assert isinstance(send(boto_client(url)), NotSent)

    @pytest.mark.parametrize("reason", ["login", "another service"])
    def test_a_call_that_found_no_keys_was_not_sent(self, boto_client, send, reason):
        exceptions = pytest.importorskip("botocore.exceptions")

        def ask_for_keys(**_: object) -> None:
            if reason == "login":
                raise exceptions.SSOTokenLoadError(error_msg="no token")
            raise exceptions.ClientError({"Error": {"Code": "AccessDenied", "Message": "no such role"}}, "AssumeRole")

        with hostile_server() as server:
            client = boto_client(server.url)
            # Where botocore looks for keys: before it signs.
            client.meta.events.register_first("before-sign.dynamodb.PutItem", ask_for_keys)
            assert isinstance(send(client), NotSent)
            assert server.received == []

    def test_what_the_client_sent_again_is_told(self, boto_client, send):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(b'{"__type":"a#InternalServerError"}', "500 Internal Server Error"))
            peer.request()
            peer.send(reply(b"{}"))
            peer.wait_for_end()

        with hostile_server(script) as server:
            client = boto_client(server.url)
            # A handler of the user may send again although the settings forbid it.
            client.meta.events.register_first("needs-retry.dynamodb.PutItem", lambda attempts, **_: 0 if attempts == 1 else None)
            assert send(client) == Success({}, resent=True, server_time=AT)
            assert len(server.received) == 2

    def test_a_refused_connection_after_a_first_attempt_is_no_proof(self, boto_client, send):
        def script(peer: Peer) -> None:
            peer.request()
            peer.server.listener.shutdown(socket.SHUT_RDWR)
            peer.server.listener.close()
            peer.reset()

        with hostile_server(script) as server:
            client = boto_client(server.url)
            client.meta.events.register_first("needs-retry.dynamodb.PutItem", lambda attempts, **_: 0 if attempts == 1 else None)
            assert isinstance(send(client), NoAnswer)
            assert len(server.received) == 1

    def test_the_next_call_gets_its_own_answer(self, boto_client):
        def script(peer: Peer) -> None:
            while (request := peer.request()) is not None:
                peer.send(echo(request))

        with hostile_server(script) as server:
            backend = Boto3ClientBackend(boto_client(server.url))
            for number in range(3):
                answer = backend.send(Request("PutItem", {"TableName": f"t{number}", "Item": {}}), 5.0)
                assert answer == Success({"Attributes": {"Echo": {"S": f"t{number}"}}}, server_time=AT)
            backend.close()


class TestRefusedCalls:
    def test_parameters_that_the_client_refuses_are_not_quoted(self, boto_client, send):
        with pytest.raises(InvalidRequest) as caught:
            send(boto_client(), Request("PutItem", {"TableName": "shop", "Item": {"pk": {"S": ["private"]}}}))
        assert "private" not in str(caught.value)

    def test_binary_that_is_no_base64_is_refused(self, boto_client, send):
        with pytest.raises(InvalidRequest, match="base64"):
            send(boto_client(), Request("PutItem", {"TableName": "shop", "Item": {"pk": {"B": "&"}}}))

    def test_an_operation_that_does_not_exist_is_refused(self, boto_client, send):
        with pytest.raises(InvalidRequest, match="DropEverything"):
            send(boto_client(), Request("DropEverything", {}))

    def test_a_closed_backend_sends_nothing(self, boto_client):
        backend = Boto3ClientBackend(boto_client())
        backend.close()
        with pytest.raises(InvalidRequest, match="closed"):
            backend.send(PUT, 1.0)
