"""R5 and R13 over real connections: what resends below us is refused, and a cancelled call's answer never reaches the next one.

The waits of R13 one by one are in tests/backends/test_wires.py, under the same name.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from uuid import uuid4

import pytest
from tests.backends.hostile_server import Peer, hostile_server, reply
from tests.clients.entities import Page, Session
from tests.clients.harness import face_of
from tests.proxies.faulty_proxy import FaultyProxy, faulty_proxy
from tests.services import Service

import surewrite as sw

boto3 = pytest.importorskip("boto3")
config = pytest.importorskip("botocore.config")

ONE_ATTEMPT = {"total_max_attempts": 1, "mode": "standard"}
KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "AKID", "aws_secret_access_key": "secret"}


async def no_pause(seconds: float) -> None:
    del seconds


NO_PAUSES = sw.Clock(sleep=lambda seconds: None, async_sleep=no_pause)
VISITS = Session.key_of("visits")


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service keeps tables by region and by key, so all connections of a test have the same ones."""
    monkeypatch.setenv("AWS_REGION", KEYS["region_name"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["aws_secret_access_key"])
    for name in ("AWS_PROFILE", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy(services: Callable[[str], Service]) -> Iterator[FaultyProxy]:
    """Before ministack: the first answer is lost, all later ones come."""
    with faulty_proxy(services("ministack").url, first=["answer lost"]) as running:
        yield running


@pytest.fixture
def shop_name(services: Callable[[str], Service]) -> Iterator[str]:
    """A table with the visits, and a page."""
    name = f"surewrite-test-{uuid4().hex}"
    with sw.connect(services("ministack").url) as database:
        table = database.table(name)
        table.create_table(Session, Page)
        table.of(Session).create(Session(id="visits"))
        table.of(Page).create(Page(id="home"))
        yield name
        database.execute("DeleteTable", {"TableName": name})


@pytest.fixture
def stored(services: Callable[[str], Service], shop_name: str) -> Callable[[], tuple[int, int]]:
    """How often the visits and the page were counted."""

    def count() -> tuple[int, int]:
        with sw.connect(services("ministack").url) as database:
            table = database.table(shop_name)
            return table.of(Session).get(VISITS).hits, table.of(Page).get(Page.key_of("home")).reads

    return count


@pytest.fixture
def boto_client(proxy: FaultyProxy) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def make(**retries: Any) -> Any:
        settings = config.Config(retries=retries) if retries else config.Config()
        made.append(boto3.client("dynamodb", endpoint_url=proxy.url, config=settings, **KEYS))
        return made[-1]

    yield make
    for client in made:
        client.close()


def run_in(form: str, target: Any, body: Callable[[Any], Any]) -> Any:
    """Run the body with a database of that form, which it closes."""

    async def awaited() -> Any:
        async with sw.connect_async(target, clock=NO_PAUSES) as database:
            return await body(database)

    if form == "async":
        return asyncio.run(awaited())
    database = face_of(sw.connect(target, clock=NO_PAUSES))
    try:
        body(database).send(None)
    except StopIteration as finished:
        return finished.value
    finally:
        database._blocking.close()
    raise AssertionError("the body waits for something that is not the client")


both_forms = pytest.mark.parametrize("form", ["sync", "async"])


@both_forms
@pytest.mark.parametrize("retries", [{}, {"mode": "standard"}, {"mode": "legacy"}, {"mode": "adaptive"}, {"total_max_attempts": 4}])
def test_r5_a_client_that_sends_again_by_itself_is_refused_with_the_line_to_write(
    form: str, retries: dict[str, Any], boto_client: Callable[..., Any], proxy: FaultyProxy
) -> None:
    client = boto_client(**retries)
    with pytest.raises(sw.InvalidRequest) as raised:
        sw.connect(client) if form == "sync" else sw.connect_async(client)
    assert 'boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1, "mode": "standard"}))' in str(raised.value)
    assert proxy.fates == {}


def test_r5_such_a_client_would_have_counted_twice(boto_client: Callable[..., Any], shop_name: str, stored: Callable[[], tuple[int, int]]) -> None:
    update = {"UpdateExpression": "ADD hits :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    state = random.getstate()
    try:
        # It pauses for a time that it draws from the global generator.
        boto_client().update_item(TableName=shop_name, Key={"pk": {"S": "SESSION#visits"}, "sk": {"S": "SESSION"}}, **update)
    finally:
        random.setstate(state)
    assert stored()[0] == 2


def targets(boto_client: Callable[..., Any], proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    return {"client": boto_client(**ONE_ATTEMPT), "session": boto3.Session(**KEYS)}


@both_forms
@pytest.mark.parametrize("kind", ["client", "session"])
def test_r5_through_one_attempt_or_a_session_an_addition_in_doubt_is_unknown_and_made_once(
    form: str,
    kind: str,
    boto_client: Callable[..., Any],
    proxy: FaultyProxy,
    shop_name: str,
    stored: Callable[[], tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(database: Any) -> None:
        sessions = database.table(shop_name).of(Session)
        # Sessions end, so the first answer of all tells the time; the one to be lost is that of the update.
        proxy.faults = False
        await sessions.get(VISITS)
        proxy.faults = True
        await sessions.update(VISITS, Session.hits.add(1))

    with pytest.raises(sw.OutcomeUnknown):
        run_in(form, targets(boto_client, proxy, monkeypatch)[kind], body)
    assert proxy.fates == {"answered": 1, "answer lost": 1}
    assert stored()[0] == 1


@both_forms
@pytest.mark.parametrize("kind", ["client", "session"])
def test_r5_through_one_attempt_or_a_session_a_guarded_write_is_sent_again_and_recognised(
    form: str,
    kind: str,
    boto_client: Callable[..., Any],
    proxy: FaultyProxy,
    shop_name: str,
    stored: Callable[[], tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(database: Any) -> Any:
        return await database.table(shop_name).of(Page).try_update(Page.key_of("home").if_version(1), Page.reads.add(1))

    outcome = run_in(form, targets(boto_client, proxy, monkeypatch)[kind], body)
    assert (outcome.recovered, outcome.once) == (True, True)
    assert proxy.fates["answer lost"] == 1
    assert stored()[1] == 1


def test_r13_the_answer_of_a_cancelled_call_never_reaches_the_next_one() -> None:
    asked = asyncio.Event()

    async def cancel_the_first_and_ask_again(url: str) -> Any:
        loop = asyncio.get_running_loop()
        seen.append(lambda: loop.call_soon_threadsafe(asked.set))
        async with sw.connect_async(url) as database:
            first = asyncio.create_task(database.execute("PutItem", {"TableName": "first", "Item": {}}))
            await asked.wait()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            release.set()
            return await database.execute("PutItem", {"TableName": "second", "Item": {}})

    seen: list[Callable[[], object]] = []
    with hostile_server() as server:
        release = threading.Event()

        def hold(peer: Peer) -> None:
            request = peer.request()
            assert request is not None
            seen[0]()
            release.wait(20.0)
            peer.send(reply(b'{"Attributes":{"Echo":{"S":"first"}}}'))
            peer.wait_for_end()

        server.scripts.append(hold)
        assert asyncio.run(cancel_the_first_and_ask_again(server.url)) == {"Attributes": {"Echo": {"S": "second"}}}
        assert server.connections == 2


HOURS_APART = 3 * 3600.0
ITEM = {"pk": {"S": "SESSION#visits"}, "sk": {"S": "SESSION"}, "_type": {"S": "SESSION"}, "id": {"S": "visits"}, "hits": {"N": "1"}}
CALLS: dict[str, tuple[Callable[[sw.EntityTable[Session], sw.Table], object], dict[str, Any]]] = {
    "get": (lambda sessions, _: sessions.get_or_none(VISITS), {}),
    "update": (lambda sessions, _: sessions.update(VISITS, Session.hits.add(1)), {"Attributes": ITEM}),
    "query": (lambda sessions, _: list(sessions.query(Session.partition_of("visits"))), {"Items": []}),
    "transactional get": (lambda _, table: table.transact_get(VISITS), {"Responses": [{}]}),
    "bulk": (lambda sessions, _: [each.item for each in sessions.unsafe_batch_delete([VISITS])], {}),
}


def of_another_time(answer: dict[str, Any], *, told: bool = True) -> Callable[[Peer], None]:
    """A service whose clock is hours ahead of ours, and that refuses what is older than five minutes, before it looks at anything else."""

    def script(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            now = time.time() + HOURS_APART
            date = formatdate(now, usegmt=True) if told else ""
            signed = datetime.strptime(request.header("x-amz-date") or "", "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
            if now - signed > 300:
                text = "Signature expired: 20261129T100000Z is now earlier than 20261129T125500Z (20261129T130000Z - 5 min.)"
                error = {"__type": "com.amazon.coral.service#InvalidSignatureException", "message": text}
                peer.send(reply(json.dumps(error).encode(), "400 Bad Request", Date=date))
            else:
                peer.send(reply(json.dumps(answer).encode(), Date=date))

    return script


@pytest.mark.parametrize("name", CALLS)
def test_a_clock_that_is_hours_off_costs_one_attempt(name: str) -> None:
    call, answer = CALLS[name]
    with hostile_server(of_another_time(answer)) as server, sw.connect(server.url, clock=NO_PAUSES) as database:
        call(database.table("shop").of(Session), database.table("shop"))
        assert len(server.received) == 2


@pytest.mark.parametrize("name", CALLS)
def test_a_service_that_does_not_tell_its_time_is_asked_until_the_deadline_and_its_text_is_told(name: str) -> None:
    call, answer = CALLS[name]
    with (
        hostile_server(of_another_time(answer, told=False)) as server,
        sw.connect(server.url, deadline=0.2, clock=NO_PAUSES) as database,
        pytest.raises(sw.InvalidRequest, match="Signature expired"),
    ):
        call(database.table("shop").of(Session), database.table("shop"))
