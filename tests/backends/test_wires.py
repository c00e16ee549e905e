"""What both wires say and do when the other side misbehaves. Every call ends within its limit, and the word is true."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.backends.hostile_server import DATE, Peer, echo, hostile_server, reply

from surewrite.backends import http_attempts, wire_asynchronous, wire_blocking
from surewrite.backends.connections import IDLE_SECONDS_MAX
from surewrite.backends.credentials import RefreshedCredentials
from surewrite.backends.loop_watches import LoopWatch
from surewrite.core.answers import NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.errors import InvalidRequest

# A limit is kept if the call ends not long after it; the slack is for a busy machine.
SLACK_SECONDS = 2.0
WORDS_OF_NO_ANSWER = (NoAnswer, NotSent)
# More than sockets take before the other side reads, so that the last byte stays here.
LARGE = Request("PutItem", {"TableName": "shop", "Item": {"pk": {"S": "x" * 20_000_000}}})


def told(table: str) -> Success:
    return Success({"Attributes": {"Echo": {"S": table}}}, server_time=784111777.0)


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port whose listener has a full queue, so that further connections stay without a reply."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


class TestAnswers:
    def test_a_connection_is_used_again_after_a_whole_answer(self, client):
        with hostile_server() as server:
            one = client(server.url)
            assert [one.put(f"t{number}") for number in range(5)] == [told(f"t{number}") for number in range(5)]
            assert server.connections == 1

    def test_an_endless_limit_and_an_address_of_version_six(self, client):
        try:
            listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
        except OSError:
            pytest.skip("this machine has no IPv6")
        with hostile_server(listener=listener) as server:
            one = client(f"http://[::1]:{server.port}")
            assert one.put(timeout=float("inf")) == told("shop")
            assert server.received[0].header("host") == f"[::1]:{server.port}"

    def test_an_error_of_the_service_leaves_the_connection_open(self, client):
        def script(peer: Peer) -> None:
            while peer.request():
                peer.send(reply(b'{"__type":"a#ResourceNotFoundException","message":"m"}', "400 Bad Request"))

        with hostile_server(script) as server:
            one = client(server.url)
            for _ in range(2):
                assert one.put() == Rejection("ResourceNotFoundException", "m", 400, server_time=784111777.0)
            assert server.connections == 1

    def test_answers_in_chunks_in_gzip_and_after_an_interim_reply_are_read(self, client):
        body = b'{"Attributes":{"Echo":{"S":"shop"}}}'
        packed = gzip.compress(body)
        chunked = f"HTTP/1.1 200 OK\r\nDate: {DATE}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        chunked += b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
        replies = [chunked, reply(packed, Content_Encoding="gzip"), b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + reply(body)]

        def script(peer: Peer) -> None:
            for data in replies:
                peer.request()
                peer.send(data)
            peer.wait_for_end()

        with hostile_server(script) as server:
            one = client(server.url)
            assert [one.put() for _ in replies] == [told("shop")] * 3
            assert server.connections == 1

    def test_a_large_answer_is_read_whole(self, client):
        body = json.dumps({"Attributes": {"pk": {"L": [{"S": "x" * 100_000}] * 50}}}).encode()

        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(body))
            peer.wait_for_end()

        with hostile_server(script) as server:
            answer = client(server.url).put()
            assert isinstance(answer, Success)
            assert answer.body == json.loads(body)

    def test_a_reply_that_closes_is_read_and_its_connection_is_not_used_again(self, client):
        for data in (reply(b'{"Attributes":{"Echo":{"S":"shop"}}}', Connection="close"), b'HTTP/1.0 200 OK\r\n\r\n{"Attributes":{"Echo":{"S":"shop"}}}'):

            def script(peer: Peer, data: bytes = data) -> None:
                peer.request()
                peer.send(data)
                peer.end()

            with hostile_server(script) as server:
                one = client(server.url)
                answer = one.put()
                assert isinstance(answer, Success)
                assert len(one.attempts.idle) == 0
                assert one.put("next") == told("next")
                assert server.connections == 2


class TestDamage:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(reply(b"<html>busy</html>", "502 Bad Gateway", Content_Type="text/html"), id="html 502"),
            pytest.param(reply(b"<html>no</html>", "403 Forbidden", Content_Type="text/html"), id="html 403"),
            pytest.param(reply(b"<html>large</html>", "413 Payload Too Large", Content_Type="text/html"), id="html 413"),
            pytest.param(reply(b"<html>log in</html>", Content_Type="text/html"), id="html 200"),
            pytest.param(reply(b"{}", x_amz_crc32="1"), id="wrong checksum"),
            pytest.param(reply(b"[]"), id="no object"),
            pytest.param(reply(b'{"status":"ok"}'), id="another object"),
            pytest.param(reply(b""), id="empty"),
            pytest.param(reply(b'{"message":"no"}', "400 Bad Request"), id="error without type"),
            pytest.param(reply(b"", "302 Found", Location="http://127.0.0.1/"), id="redirect"),
            pytest.param(reply(b"{}") + b"{}", id="longer than it says"),
            pytest.param(reply(b'{"Attributes":{"Echo":{"S":"shop"}}}') + reply(b'{"Attributes":{"Echo":{"S":"other"}}}'), id="two replies"),
            pytest.param(reply(b"{}", Content_Length="x"), id="length is no number"),
            pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="two lengths"),
            pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", id="bad chunk"),
            pytest.param(b"\x16\x03\x01\x00\x05hello", id="not HTTP"),
            pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", id="other protocol"),
            pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20, id="interim replies without end"),
        ],
    )
    def test_a_damaged_reply_is_no_answer_and_its_connection_is_closed(self, client, data):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(data)
            peer.wait_for_end()

        with hostile_server(script) as server:
            one = client(server.url)
            assert isinstance(one.put(), NoAnswer)
            assert server.ended.acquire(timeout=SLACK_SECONDS)
            assert one.put("next") == told("next")
            assert len(server.received) == 2

    def test_a_body_shorter_than_it_says_is_no_answer(self, client):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(b"{}", Content_Length="3"))
            peer.end()

        with hostile_server(script) as server:
            assert isinstance(client(server.url).put(), NoAnswer)

    def test_a_reply_that_is_too_long_is_no_answer(self, client, monkeypatch):
        monkeypatch.setattr("surewrite.backends.http_exchange.ANSWER_BYTES_MAX", 1000)

        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(json.dumps({"a": "x" * 2000}).encode()))
            peer.wait_for_end()

        with hostile_server(script) as server:
            assert isinstance(client(server.url).put(), NoAnswer)


class TestBrokenConnections:
    @pytest.mark.parametrize("how", ["reset", "end"])
    def test_a_break_after_each_byte_of_the_request(self, client, how):
        with hostile_server() as server:
            client(server.url).put()
            length = len(server.received[0].head) + 4 + len(server.received[0].body)

        def broken_after(count: int):
            def script(peer: Peer) -> None:
                peer.read(count)
                peer.reset() if how == "reset" else peer.end()

            return script

        with hostile_server(*[broken_after(count) for count in range(length + 1)]) as server:
            one = client(server.url)
            answers = [one.put() for _ in range(length + 1)]
            assert all(isinstance(answer, WORDS_OF_NO_ANSWER) for answer in answers)
            # The server read the last byte.
            assert isinstance(answers[-1], NoAnswer)
            assert one.put("next") == told("next")

    @pytest.mark.parametrize("how", ["reset", "end"])
    def test_a_break_after_each_byte_of_the_answer(self, client, how):
        whole = reply(b'{"Attributes":{"Echo":{"S":"shop"}}}')

        def broken_after(count: int):
            def script(peer: Peer) -> None:
                peer.request()
                peer.send(whole[:count])
                peer.reset() if how == "reset" else peer.end()

            return script

        with hostile_server(*[broken_after(count) for count in range(len(whole) + 1)]) as server:
            one = client(server.url)
            answers = [one.put() for _ in range(len(whole) + 1)]
            assert all(isinstance(answer, NoAnswer) for answer in answers[:-1])
            # An idle connection that is closed just now cannot be told from a live one, so the last end is waited for.
            assert all(server.ended.acquire(timeout=SLACK_SECONDS) for _ in answers)
            # A reset may overtake the reply on its way.
            assert answers[-1] == told("shop") or (how == "reset" and isinstance(answers[-1], NoAnswer))
            assert one.put("next") == told("next")
            assert len(server.received) == len(whole) + 2

    def test_a_large_request_that_is_taken_in_pieces_arrives_whole(self, client):
        with hostile_server() as server:
            assert client(server.url).send(LARGE, timeout=20.0) == told("shop")
            assert json.loads(server.received[0].body) == LARGE.body

    def test_a_request_whose_last_byte_stayed_here_was_not_sent(self, client):
        def script(peer: Peer) -> None:
            peer.read(1000)
            peer.reset()

        with hostile_server(script) as server:
            assert isinstance(client(server.url).send(LARGE), NotSent)
            assert server.received == []

    def test_a_request_that_nobody_reads_was_not_sent_when_the_limit_comes(self, client):
        def script(peer: Peer) -> None:
            peer.server.stop.wait()

        with hostile_server(script) as server:
            begin = time.monotonic()
            assert isinstance(client(server.url).send(LARGE, timeout=0.5), NotSent)
            assert time.monotonic() - begin < 0.5 + SLACK_SECONDS
            assert server.received == []

    def test_an_idle_connection_that_the_server_closed_is_not_used(self, client):
        def script(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            peer.send(echo(request))
            peer.end()

        with hostile_server(script, script) as server:
            one = client(server.url)
            for number in range(3):
                assert one.put(f"t{number}") == told(f"t{number}")
                assert number == 2 or server.ended.acquire(timeout=SLACK_SECONDS)
            assert server.connections == 3

    def test_a_connection_that_dies_under_a_request_is_no_answer_and_the_request_is_not_sent_again(self, client):
        def script(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            peer.send(echo(request))
            peer.request()
            peer.end()

        with hostile_server(script) as server:
            one = client(server.url)
            assert one.put("first") == told("first")
            assert isinstance(one.put("second"), NoAnswer)
            assert [request.table for request in server.received] == ["first", "second"]

    def test_bytes_that_come_after_the_answer_never_reach_the_next_call(self, client):
        def script(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            peer.send(echo(request))
            peer.server.ended.acquire(timeout=SLACK_SECONDS)
            peer.send(reply(b'{"Attributes":{"Echo":{"S":"stale"}}}'))
            peer.server.stop.wait()

        with hostile_server(script) as server:
            one = client(server.url)
            assert one.put("first") == told("first")
            (connection,) = one.attempts.idle._idle
            server.ended.release()
            connection.socket.setblocking(True)
            assert connection.socket.recv(1, socket.MSG_PEEK) == b"H"
            assert one.put("second") == told("second")
            assert server.connections == 2

    def test_an_old_idle_connection_is_not_used(self, client):
        with hostile_server() as server:
            one = client(server.url)
            one.put()
            one.attempts.idle._idle[0].idle_since -= IDLE_SECONDS_MAX
            assert one.put("next") == told("next")
            assert server.connections == 2

    @pytest.mark.parametrize(
        ("said", "idle_seconds", "connections"), [("timeout=5", 3.9, 1), ("timeout=5", 4.1, 2), ("max=9, Timeout = 600", 19.0, 1), ("x", 19.0, 1)]
    )
    def test_an_idle_connection_is_not_used_near_the_end_of_the_time_that_the_other_side_keeps_it(self, client, said, idle_seconds, connections):
        def script(peer: Peer) -> None:
            while (request := peer.request()) is not None:
                peer.send(echo(request).replace(b"\r\n\r\n", f"\r\nKeep-Alive: {said}\r\n\r\n".encode(), 1))

        with hostile_server(script, script) as server:
            one = client(server.url)
            one.put()
            one.attempts.idle._idle[0].idle_since -= idle_seconds
            assert one.put("next") == told("next")
            assert server.connections == connections


class TestNotSent:
    def test_a_refused_connection(self, client):
        with hostile_server() as server:
            url = server.url
        assert isinstance(client(url).put(), NotSent)

    def test_a_name_that_does_not_resolve(self, client, monkeypatch):
        def resolve(host: str, port: int) -> object:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(http_attempts, "resolve", resolve)
        assert isinstance(client("http://nowhere.example").put(), NotSent)

    def test_a_failure_to_connect_names_the_proxy_that_is_not_used(self, client, monkeypatch):
        def refused(host: str, port: int) -> None:
            raise OSError("no such name")

        monkeypatch.setenv("HTTP_PROXY", "http://me:hush@proxy:3128")
        monkeypatch.delenv("http_proxy", raising=False)
        monkeypatch.setattr(http_attempts, "resolve", refused)
        answer = client("http://db.example:8000").put()
        assert isinstance(answer, NotSent)
        assert "no such name; the proxy that HTTP_PROXY names is not used" in answer.detail
        assert "hush" not in answer.detail

    def test_a_resolver_that_hangs_ends_with_the_limit(self, client, monkeypatch):
        release = threading.Event()
        monkeypatch.setattr(http_attempts, "resolve", lambda host, port: release.wait(20) and ())
        begin = time.monotonic()
        assert isinstance(client("http://nowhere.example").put(timeout=0.1), NotSent)
        assert time.monotonic() - begin < 0.1 + SLACK_SECONDS
        release.set()

    def test_the_second_address_is_tried_when_the_first_refuses(self, client, monkeypatch):
        with hostile_server() as gone:
            addresses = [*http_attempts.resolve("127.0.0.1", gone.port)]
        with hostile_server() as server:
            addresses += http_attempts.resolve("127.0.0.1", server.port)
            monkeypatch.setattr(http_attempts, "resolve", lambda host, port: tuple(addresses))
            assert client("http://two.example").put() == told("shop")

    def test_an_address_that_stays_silent_leaves_time_for_the_next(self, client, monkeypatch):
        with silent_port() as port, hostile_server() as server:
            addresses = (*http_attempts.resolve("127.0.0.1", port), *http_attempts.resolve("127.0.0.1", server.port))
            monkeypatch.setattr(http_attempts, "resolve", lambda host, port: addresses)
            assert client("http://two.example", connect_timeout=0.6).put() == told("shop")

    def test_a_connection_that_is_never_accepted_ends_with_the_connect_limit(self, client):
        with silent_port() as port:
            begin = time.monotonic()
            one = client(f"http://127.0.0.1:{port}", connect_timeout=0.2)
            assert isinstance(one.put(timeout=10), NotSent)
            assert time.monotonic() - begin < 0.2 + SLACK_SECONDS

    def test_a_time_limit_that_is_over_already(self, client):
        with hostile_server() as server:
            assert isinstance(client(server.url).put(timeout=0.0), NotSent)
            assert server.received == []

    def test_a_certificate_that_is_not_trusted(self, client, server_tls):
        with hostile_server(tls=server_tls) as server:
            answer = client(server.url).put()
            assert isinstance(answer, NotSent)
            assert "certificate" in answer.detail.lower()

    def test_a_server_that_speaks_no_tls(self, client):
        def script(peer: Peer) -> None:
            peer.read(10)
            peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            peer.end()

        with hostile_server(script) as server:
            assert isinstance(client(server.url.replace("http", "https")).put(), NotSent)

    def test_a_handshake_that_hangs_ends_with_the_connect_limit(self, client):
        with hostile_server(lambda peer: peer.wait_for_end()) as server:
            begin = time.monotonic()
            assert isinstance(client(server.url.replace("http", "https"), connect_timeout=0.2).put(), NotSent)
            assert time.monotonic() - begin < 0.2 + SLACK_SECONDS
            assert server.ended.acquire(timeout=SLACK_SECONDS)

    def test_keys_that_cannot_be_fetched(self, client):
        class Broken:
            def current(self):
                return None

            def fetch(self):
                raise RuntimeError("the role is gone")

        answer = client("http://127.0.0.1:1", credentials=Broken()).put()
        assert isinstance(answer, NotSent)
        assert "the role is gone" in answer.detail

    def test_a_call_in_a_thread_that_fails_after_its_loop_ended_disturbs_nobody(self, client, caplog):
        release = threading.Event()

        class Late:
            def current(self):
                return None

            def fetch(self):
                release.wait(20)
                raise RuntimeError("too late")

        assert isinstance(client("http://127.0.0.1:1", credentials=Late()).put(timeout=0.05), NotSent)
        release.set()
        for thread in threading.enumerate():
            if thread.name == "surewrite-credentials":
                thread.join(SLACK_SECONDS)
        gc.collect()
        assert caplog.records == []

    def test_no_keys_at_all_is_an_error_to_fix(self, client):
        with hostile_server() as server:
            with pytest.raises(InvalidRequest, match="AWS_ACCESS_KEY_ID"):
                client(server.url, credentials=RefreshedCredentials(lambda: None)).put()
            assert server.connections == 0

    def test_keys_that_take_too_long(self, client):
        release = threading.Event()

        class Slow:
            def current(self):
                return None

            def fetch(self):
                release.wait(20)

        begin = time.monotonic()
        assert isinstance(client("http://127.0.0.1:1", credentials=Slow()).put(timeout=0.1), NotSent)
        assert time.monotonic() - begin < 0.1 + SLACK_SECONDS
        release.set()


class TestOtherSystems:
    """Systems without poll, and event loops that watch no sockets, as on Windows."""

    @pytest.fixture(autouse=True)
    def _as_there(self, monkeypatch):
        def watches_none(self, *arguments):
            raise NotImplementedError

        monkeypatch.delattr(select, "poll", raising=False)
        monkeypatch.setattr(asyncio.SelectorEventLoop, "add_reader", watches_none)
        monkeypatch.setattr(asyncio.SelectorEventLoop, "add_writer", watches_none)

    def test_calls_are_answered(self, client):
        with hostile_server() as server:
            one = client(server.url)
            assert [one.put(f"t{number}") for number in range(3)] == [told(f"t{number}") for number in range(3)]
            assert server.connections == 1

    def test_limits_are_kept(self, client):
        def script(peer: Peer) -> None:
            peer.request()
            peer.wait_for_end()

        with hostile_server(script) as server:
            begin = time.monotonic()
            assert isinstance(client(server.url).put(timeout=0.2), NoAnswer)
            assert time.monotonic() - begin < 0.2 + SLACK_SECONDS


class TestLimits:
    def test_silence_after_the_request_ends_with_the_limit(self, client):
        def script(peer: Peer) -> None:
            peer.request()
            peer.wait_for_end()

        with hostile_server(script) as server:
            one = client(server.url)
            begin = time.monotonic()
            assert isinstance(one.put(timeout=0.2), NoAnswer)
            assert 0.2 <= time.monotonic() - begin < 0.2 + SLACK_SECONDS
            assert server.ended.acquire(timeout=SLACK_SECONDS)
            assert one.put("next") == told("next")

    def test_an_answer_in_drops_ends_with_the_limit_and_never_reaches_the_next_call(self, client):
        def script(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            for byte in echo(request):
                peer.send(bytes([byte]))
                if peer.server.stop.wait(0.02):
                    return

        with hostile_server(script) as server:
            one = client(server.url)
            begin = time.monotonic()
            assert isinstance(one.put("dripping", timeout=0.3), NoAnswer)
            assert time.monotonic() - begin < 0.3 + SLACK_SECONDS
            assert one.put("next") == told("next")

    def test_the_read_limit_bounds_the_silence_within_an_answer(self, client):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(b"HTTP/1.1 200")
            peer.wait_for_end()

        with hostile_server(script) as server:
            begin = time.monotonic()
            assert isinstance(client(server.url, read_timeout=0.1).put(timeout=15), NoAnswer)
            assert time.monotonic() - begin < 0.1 + SLACK_SECONDS


class TestEncryption:
    def test_small_and_large_requests_and_answers_over_tls(self, client, server_tls, certificates, monkeypatch):
        body = json.dumps({"Attributes": {"pk": {"L": [{"S": "x" * 100_000}] * 20}}}).encode()

        def script(peer: Peer) -> None:
            for data in (reply(b"{}"), reply(body), reply(b"{}")):
                peer.request()
                peer.send(data)
            peer.wait_for_end()

        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificates / "trusted.pem"))
        with hostile_server(script, tls=server_tls) as server:
            one = client(server.url)
            answers = [one.put(), one.put(), one.send(Request("PutItem", {"TableName": "shop", "Item": {"pk": {"S": "x" * 1_000_000}}}))]
            assert [answer.body for answer in answers] == [{}, json.loads(body), {}]
            assert server.connections == 1

    def test_a_break_after_each_byte_of_an_answer_over_tls(self, client, server_tls, certificates, monkeypatch):
        whole = reply(b'{"Attributes":{"Echo":{"S":"shop"}}}')
        counts = range(0, len(whole), 9)

        def broken_after(count: int):
            def script(peer: Peer) -> None:
                peer.request()
                peer.send(whole[:count])
                peer.end()

            return script

        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificates / "trusted.pem"))
        with hostile_server(*[broken_after(count) for count in counts], tls=server_tls) as server:
            one = client(server.url)
            assert all(isinstance(one.put(), NoAnswer) for _ in counts)
            assert one.put("next") == told("next")

    def test_a_large_request_that_nobody_reads_was_not_sent(self, client, server_tls, certificates, monkeypatch):
        def script(peer: Peer) -> None:
            peer.server.stop.wait()

        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificates / "trusted.pem"))
        with hostile_server(script, tls=server_tls) as server:
            assert isinstance(client(server.url).send(LARGE, timeout=1.0), NotSent)
            assert server.received == []

    def test_a_bundle_that_cannot_be_read_is_told(self, client, monkeypatch):
        monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/bundle.pem")
        with pytest.raises(InvalidRequest, match=r"/nowhere/bundle\.pem"):
            client("https://127.0.0.1:1")


class TestClocks:
    def test_requests_are_signed_for_the_servers_time_and_each_attempt_afresh(self, client):
        now = [784_111_777.0 - 3600]
        with hostile_server() as server:
            one = client(server.url, wall_clock=lambda: now[0])
            one.put()
            assert one.wire.clock_offset == 3600.0
            now[0] += 60
            one.put()
            now[0] += 90
            one.put()
            assert [request.header("x-amz-date") for request in server.received] == ["19941106T074937Z", "19941106T085037Z", "19941106T085107Z"]

    def test_a_proxys_page_does_not_set_the_clock(self, client):
        def script(peer: Peer) -> None:
            peer.request()
            peer.send(reply(b"<html></html>", "502 Bad Gateway"))
            peer.wait_for_end()

        with hostile_server(script) as server:
            one = client(server.url, wall_clock=lambda: 0.0)
            one.put()
            assert one.wire.clock_offset == 0.0


class TestSharing:
    def test_threads_get_their_own_answers_and_the_pool_stays_bounded(self, client):
        with hostile_server() as server:
            one = client(server.url, idle_connections_max=2)
            with ThreadPoolExecutor(6) as pool:
                tables = [f"t{number}" for number in range(120)]
                assert list(pool.map(one.put, tables)) == [told(table) for table in tables]
            assert len(one.attempts.idle) <= 2

    def test_a_closed_wire_sends_nothing_and_keeps_nothing(self, client):
        with hostile_server() as server:
            one = client(server.url)
            one.put()
            one.close()
            assert len(one.attempts.idle) == 0
            with pytest.raises(InvalidRequest):
                one.put()
            assert len(server.received) == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_child_process_never_uses_its_parents_connections(self, client):
        with hostile_server() as server:
            one = client(server.url)
            assert one.put("parent") == told("parent")
            child = os.fork()
            if child == 0:
                status = 1
                with contextlib.suppress(BaseException):
                    status = 0 if one.put("child") == told("child") else 1
                os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert one.put("parent again") == told("parent again")
            assert [(request.table, request.connection) for request in server.received] == [("parent", 0), ("child", 1), ("parent again", 0)]

    @pytest.mark.parametrize("operation", ["", "Put Item", "PutItem\r\nx: y", "Pütitem"])
    def test_what_is_no_name_of_an_operation_is_never_sent(self, client, operation):
        with hostile_server() as server:
            with pytest.raises(InvalidRequest):
                client(server.url).send(Request(operation, {}))
            assert server.connections == 0


class TestInterrupts:
    def test_r13_an_interrupt_at_each_wait_closes_the_connection(self, monkeypatch, client):
        def script(peer: Peer) -> None:
            # One that was interrupted while it connected sends nothing.
            if (request := peer.request()) is not None:
                for byte in echo(request):
                    peer.send(bytes([byte]))
                peer.wait_for_end()

        waits = 4
        with hostile_server(*[script] * waits) as server:
            for count in range(1, waits):
                one = client(server.url)
                seen = [0]

                def interrupted(original, seen=seen, count=count):
                    def wait(*arguments):
                        seen[0] += 1
                        if seen[0] == count:
                            raise KeyboardInterrupt
                        return original(*arguments)

                    return wait

                with monkeypatch.context() as planted:
                    if one.form == "blocking":
                        planted.setattr(wire_blocking, "_waited", interrupted(wire_blocking._waited))
                    else:
                        planted.setattr(wire_asynchronous, "_waited", interrupted(wire_asynchronous._waited))
                        planted.setattr(LoopWatch, "_step", interrupted(LoopWatch._step))
                    with pytest.raises(KeyboardInterrupt):
                        one.put("interrupted")
                assert len(one.attempts.idle) == 0
                assert one.put("next") == told("next")

    def test_r13_a_cancellation_after_each_byte_of_the_answer_closes_the_connection(self):
        asyncio.run(self._cancelled_after_each_byte())

    async def _cancelled_after_each_byte(self) -> None:
        from tests.backends.conftest import Client

        whole = reply(b'{"Attributes":{"Echo":{"S":"cancelled"}}}')

        def broken_off_at(count: int):
            def script(peer: Peer) -> None:
                peer.request()
                peer.send(whole[:count])
                peer.server.ended.release()
                peer.server.stop.wait(0.05)
                peer.send(whole[count:])
                peer.wait_for_end()

            return script

        for count in range(0, len(whole), 3):
            with hostile_server(broken_off_at(count)) as server:
                wire = Client("asynchronous", server.url).wire
                request = Request("PutItem", {"TableName": "cancelled"})
                task = asyncio.create_task(wire.send(request, 5.0))
                assert await asyncio.to_thread(server.ended.acquire, timeout=SLACK_SECONDS)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await wire.send(Request("PutItem", {"TableName": "next"}), 5.0) == told("next")
                assert server.connections == 2
                await wire.close()

    def test_r13_a_cancellation_at_each_turn_of_the_loop_closes_the_connection(self):
        asyncio.run(self._cancelled_at_each_turn())

    async def _cancelled_at_each_turn(self) -> None:
        from tests.backends.conftest import Client

        with hostile_server() as server:
            for turns in range(12):
                wire = Client("asynchronous", server.url).wire
                task = asyncio.create_task(wire.send(Request("PutItem", {"TableName": f"cancelled{turns}"}), 5.0))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    assert await task == told(f"cancelled{turns}")
                for number in range(3):
                    assert await wire.send(Request("PutItem", {"TableName": f"t{number}"}), 5.0) == told(f"t{number}")
                await wire.close()

    def test_many_calls_of_one_loop_get_their_own_answers(self):
        asyncio.run(self._many_at_once())

    async def _many_at_once(self) -> None:
        from tests.backends.conftest import Client

        with hostile_server() as server:
            wire = Client("asynchronous", server.url, idle_connections_max=3).wire
            tables = [f"t{number}" for number in range(60)]
            assert await asyncio.gather(*[wire.send(Request("PutItem", {"TableName": table}), 10.0) for table in tables]) == [told(table) for table in tables]
            assert len(wire._attempts.idle) <= 3
            await wire.close()


async def put(wire, table: str, timeout: float = 5.0):
    return await wire.send(Request("PutItem", {"TableName": table}), timeout)


class TestLoops:
    """A connection is watched by its loop from one call to the next."""

    def test_an_interrupt_inside_a_step_reaches_the_call_and_closes_the_connection(self, monkeypatch):
        from tests.backends.conftest import Client

        def interrupted(exchange, data):
            raise KeyboardInterrupt

        with hostile_server() as server:
            one = Client("asynchronous", server.url)
            with monkeypatch.context() as planted:
                planted.setattr("surewrite.backends.http_exchange.Exchange.received", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    one.put("interrupted")
            assert len(one.attempts.idle) == 0
            assert one.put("next") == told("next")
            one.close()

    def test_a_socket_is_given_to_the_loop_once_and_taken_back_before_it_is_closed(self):
        class Counting(asyncio.SelectorEventLoop):
            def __init__(self) -> None:
                super().__init__()
                self.told: list[tuple[str, int]] = []

            def add_reader(self, fd, callback, *args):
                self.told.append(("add", fd))
                return super().add_reader(fd, callback, *args)

            def remove_reader(self, fd):
                self.told.append(("remove", fd))
                os.fstat(fd)
                return super().remove_reader(fd)

        from tests.backends.conftest import Client

        async def calls(loop) -> None:
            wire = Client("asynchronous", server.url).wire
            loop.told.clear()
            for number in range(4):
                assert await put(wire, f"t{number}") == told(f"t{number}")
            watched = [entry for entry in loop.told if entry[1] == wire._attempts.idle._idle[0].socket.fileno()]
            assert [word for word, _ in watched] == ["add"]
            await wire.close()
            assert loop.told[-1] == ("remove", watched[0][1])

        with hostile_server() as server, asyncio.Runner(loop_factory=Counting) as runner:
            runner.run(calls(runner.get_loop()))

    def test_a_loop_lets_go_of_an_idle_connection_that_the_other_side_closes(self, monkeypatch):
        from tests.backends.conftest import Client

        def script(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            peer.send(echo(request))
            peer.server.ended.acquire(timeout=SLACK_SECONDS)

        async def calls() -> None:
            wire = Client("asynchronous", server.url).wire
            assert await put(wire, "first") == told("first")
            (connection,) = wire._attempts.idle._idle
            forgotten, forget = asyncio.Event(), LoopWatch._forget
            monkeypatch.setattr(LoopWatch, "_forget", lambda watch: (forget(watch), forgotten.set()))
            assert connection.watch is not None
            server.ended.release()
            async with asyncio.timeout(SLACK_SECONDS):
                await forgotten.wait()
            assert connection.watch is None
            assert await put(wire, "second") == told("second")
            assert server.connections == 2
            await wire.close()

        with hostile_server(script) as server:
            asyncio.run(calls())

    def test_loops_that_run_at_once_never_use_each_others_connections(self):
        from tests.backends.conftest import Client

        async def calls(wire, name: str, at_once: threading.Barrier) -> None:
            for number in range(20):
                assert await put(wire, f"{name}{number}") == told(f"{name}{number}")
            # No loop ends before the others have seen its idle connection.
            await asyncio.to_thread(at_once.wait, 10.0)

        with hostile_server() as server, ThreadPoolExecutor(3) as threads:
            wire = Client("asynchronous", server.url).wire
            at_once = threading.Barrier(3)
            for done in [threads.submit(asyncio.run, calls(wire, name, at_once)) for name in "abc"]:
                done.result()
            by_connection: dict[int, set[str]] = {}
            for request in server.received:
                by_connection.setdefault(request.connection, set()).add(request.table[0])
            assert sorted(map(sorted, by_connection.values())) == [["a"], ["b"], ["c"]]
            asyncio.run(wire.close())

    def test_a_wire_that_is_closed_elsewhere_closes_the_connections_of_a_running_loop_on_that_loop(self):
        from tests.backends.conftest import Client

        async def calls() -> None:
            wire = Client("asynchronous", server.url).wire
            assert await put(wire, "first") == told("first")
            (connection,) = wire._attempts.idle._idle
            await asyncio.to_thread(asyncio.run, wire.close())
            assert len(wire._attempts.idle) == 0
            await asyncio.sleep(0)
            assert (connection.watch, connection.socket.fileno()) == (None, -1)

        with hostile_server() as server:
            asyncio.run(calls())

    def test_a_connection_of_a_loop_that_stands_still_is_closed_at_once(self):
        from tests.backends.conftest import Client

        loop = asyncio.new_event_loop()
        with hostile_server() as server:
            wire = Client("asynchronous", server.url).wire
            assert loop.run_until_complete(put(wire, "first")) == told("first")
            (connection,) = wire._attempts.idle._idle
            assert asyncio.run(put(wire, "second")) == told("second")
            asyncio.run(wire.close())
            assert connection.socket.fileno() == -1
            # Its number may be that of another socket by now, which the loop watches as if it had never met it.
            other = Client("asynchronous", server.url).wire
            assert loop.run_until_complete(put(other, "third")) == told("third")
            loop.run_until_complete(other.close())
            loop.close()
