"""What the proxy does to a request is what it counts, and a seed repeats it."""

from __future__ import annotations

import http.client
from collections import Counter

import pytest
from tests.backends.hostile_server import hostile_server
from tests.proxies.faulty_proxy import BAD_DAY, Rates, faulty_proxy

PUT = {"x-amz-target": "DynamoDB_20120810.PutItem"}


def ask(url: str, headers: dict[str, str] = PUT) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", "/", b'{"TableName":"shop"}', headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_an_answer_is_passed_back_as_it_came() -> None:
    with hostile_server() as server, faulty_proxy(server.url, Rates(), seed=1) as proxy:
        assert ask(proxy.url) == (200, b'{"Attributes":{"Echo":{"S":"shop"}}}')
        assert proxy.fates == {"answered": 1}


def test_a_lost_answer_reached_the_service() -> None:
    with hostile_server() as server, faulty_proxy(server.url, Rates(answer_lost=1.0), seed=1) as proxy:
        with pytest.raises(ConnectionError):
            ask(proxy.url)
        assert len(server.received) == 1


def test_a_lost_request_did_not_reach_the_service() -> None:
    with hostile_server() as server, faulty_proxy(server.url, Rates(request_lost=1.0), seed=1) as proxy:
        with pytest.raises(ConnectionError):
            ask(proxy.url)
        assert len(server.received) == 0


def test_a_failure_after_applying_reached_the_service_and_throttling_did_not() -> None:
    with hostile_server() as server:
        with faulty_proxy(server.url, Rates(failed_after=1.0), seed=1) as proxy:
            assert ask(proxy.url)[0] == 500
        assert len(server.received) == 1
        with faulty_proxy(server.url, Rates(throttled=1.0), seed=1) as proxy:
            status, body = ask(proxy.url)
        assert status == 400
        assert b"ProvisionedThroughputExceededException" in body
        assert len(server.received) == 1


def test_the_work_on_tables_is_spared() -> None:
    with hostile_server() as server, faulty_proxy(server.url, Rates(request_lost=1.0), seed=1) as proxy:
        assert ask(proxy.url, {"x-amz-target": "DynamoDB_20120810.CreateTable"})[0] == 200


def test_the_first_requests_meet_the_fates_that_were_given() -> None:
    with hostile_server() as server, faulty_proxy(server.url, first=["throttled", "failed after"]) as proxy:
        assert [ask(proxy.url)[0] for _ in range(3)] == [400, 500, 200]


def test_the_same_seed_gives_the_same_fates() -> None:
    def fates(seed: int) -> Counter[str]:
        with hostile_server() as server, faulty_proxy(server.url, BAD_DAY, seed=seed) as proxy:
            for _ in range(60):
                try:
                    ask(proxy.url)
                except ConnectionError:
                    continue
            return Counter(proxy.fates)

    assert fates(7) == fates(7)
