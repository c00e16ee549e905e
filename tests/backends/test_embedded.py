from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.engine.harness import NOON, Clock, create_table, number, text

from surewrite.backends.embedded import AsyncEmbeddedBackend, EmbeddedBackend, open_embedded
from surewrite.core.answers import NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.engine.service import Service, ServiceSettings
from surewrite.engine.stores import sqlite
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.sqlite import SqliteStore
from surewrite.engine.stores.store import StoreError
from surewrite.errors import ConnectionFailed, InvalidRequest

A = {"pk": text("a")}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(clock: Clock) -> Service:
    made = Service(MemoryStore(), clock=clock)
    create_table(made)
    return made


@pytest.fixture
def on_disk(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = Service(SqliteStore(tmp_path / "shop.db"), clock=clock)
    create_table(made)
    yield made
    made.close()


def put(**item: Any) -> Request:
    return Request("PutItem", {"TableName": "shop", "Item": {**A, **item}})


def test_a_success_carries_the_body_and_the_time_of_the_service(service: Service) -> None:
    backend = EmbeddedBackend(service)
    assert backend.send(put(), 1.0) == Success({}, server_time=NOON)
    assert backend.send(Request("GetItem", {"TableName": "shop", "Key": A}), 1.0) == Success({"Item": A}, server_time=NOON)


def test_a_refusal_carries_its_item(service: Service) -> None:
    backend = EmbeddedBackend(service)
    backend.send(put(n=number(1)), 1.0)
    body = {**put().body, "ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert backend.send(Request("PutItem", body), 1.0) == Rejection(
        "ConditionalCheckFailedException", "The conditional request failed", 400, {**A, "n": number(1)}, server_time=NOON
    )


def test_a_cancellation_carries_its_reasons(service: Service) -> None:
    backend = EmbeddedBackend(service)
    check = {"ConditionCheck": {"TableName": "shop", "Key": A, "ConditionExpression": "attribute_exists(pk)"}}
    answer = backend.send(Request("TransactWriteItems", {"TransactItems": [check]}), 1.0)
    assert isinstance(answer, Rejection)
    assert (answer.code, answer.reasons) == (
        "TransactionCanceledException",
        (Reason("ConditionalCheckFailed", "The conditional request failed"),),
    )


@pytest.mark.parametrize("ignored", [False, True])
def test_traits_say_what_the_service_can(ignored: bool) -> None:
    service = Service(MemoryStore(), settings=ServiceSettings(tokens_ignored=ignored))
    for backend in (EmbeddedBackend(service, "mine"), AsyncEmbeddedBackend(service, "mine")):
        traits = backend.traits
        assert (traits.name, traits.tokens, traits.transactions, traits.old_item) == ("mine", not ignored, True, True)


class _FailingStore(MemoryStore):
    def __init__(self, failure: StoreError) -> None:
        super().__init__()
        self.failure = failure

    def session(self, *, write: bool) -> Any:
        raise self.failure


@pytest.mark.parametrize(("applied", "expected"), [(False, NotSent("the disk")), (None, NoAnswer("the disk"))])
def test_a_failed_store_is_not_sent_only_where_nothing_was_kept(applied: bool | None, expected: NotSent | NoAnswer) -> None:
    backend = EmbeddedBackend(Service(_FailingStore(StoreError("the disk", applied=applied))))
    assert backend.send(put(), 1.0) == expected


def test_the_async_form_answers_the_same_on_both_stores(service: Service, on_disk: Service) -> None:
    async def run(used: Service) -> list[Any]:
        backend = AsyncEmbeddedBackend(used)
        answers = [await backend.send(request, 5.0) for request in (put(), Request("GetItem", {"TableName": "shop", "Key": A}), Request("Odd", {}))]
        await backend.close()
        return answers

    first, second = (asyncio.run(run(used)) for used in (service, on_disk))
    assert first == second
    assert first[1] == Success({"Item": A}, server_time=NOON)


def _blocked(service: Service) -> tuple[threading.Event, threading.Thread]:
    """Hold the writing session of a store in another thread until the event is set."""
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with service.store.session(write=True):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    return leave, thread


class _SlowStore(MemoryStore):
    """A store whose sessions begin when the event is set."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    @property
    def waits(self) -> bool:
        return True

    def session(self, *, write: bool) -> Any:
        self.may_go_on.wait(10)
        return super().session(write=write)


@pytest.mark.parametrize("way", ["timeout", "cancel"])
def test_a_write_that_is_given_up_may_still_take_effect(way: str) -> None:
    store = _SlowStore()
    service = Service(store)
    store.may_go_on.set()
    create_table(service)
    store.may_go_on.clear()

    async def run() -> None:
        backend = AsyncEmbeddedBackend(service)
        if way == "timeout":
            assert isinstance(await backend.send(put(), 0.01), NoAnswer)
        else:
            task = asyncio.create_task(backend.send(put(), 10.0))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        store.may_go_on.set()

    asyncio.run(run())
    assert service.execute("GetItem", {"TableName": "shop", "Key": A}) == {"Item": A}


def test_a_lock_is_waited_for_no_longer_than_the_time_limit(on_disk: Service) -> None:
    leave, thread = _blocked(on_disk)
    answer = EmbeddedBackend(on_disk).send(put(), 0.01)
    leave.set()
    thread.join()
    assert isinstance(answer, NotSent)
    assert on_disk.execute("GetItem", {"TableName": "shop", "Key": A}) == {}


def test_the_loop_goes_on_while_a_store_waits(on_disk: Service) -> None:
    leave, thread = _blocked(on_disk)

    async def run() -> Any:
        sent = asyncio.create_task(AsyncEmbeddedBackend(on_disk).send(put(), 10.0))
        await asyncio.sleep(0.01)
        assert not sent.done()
        leave.set()
        return await sent

    assert asyncio.run(run()) == Success({}, server_time=NOON)
    thread.join()


def test_memory_without_a_name_is_fresh_and_with_one_is_shared(request: pytest.FixtureRequest) -> None:
    name = f"memory:{request.node.name}"
    assert open_embedded("memory:") is not open_embedded("memory:")
    assert open_embedded(name) is open_embedded(name)
    assert open_embedded(name) is not open_embedded(name + "2")


def test_a_shared_memory_keeps_its_clock_and_settings(request: pytest.FixtureRequest, clock: Clock) -> None:
    name = f"memory:{request.node.name}"
    opened = open_embedded(name, clock=clock)
    assert open_embedded(name, clock=clock) is opened
    with pytest.raises(InvalidRequest, match="is already open with another clock or other settings"):
        open_embedded(name)
    with pytest.raises(InvalidRequest, match="is already open with another clock or other settings"):
        open_embedded(name, clock=clock, settings=ServiceSettings(tokens_ignored=True))


def test_a_file_is_opened_by_its_path(tmp_path: Path) -> None:
    target = f"file:{tmp_path / 'shop.db'}"
    service = open_embedded(target)
    create_table(service)
    service.close()
    again = open_embedded(target)
    assert again.execute("ListTables", {}) == {"TableNames": ["shop"]}
    again.close()
    with pytest.raises(InvalidRequest, match="cannot be opened for writing"):
        open_embedded(f"file:{tmp_path}")


def test_a_file_that_others_keep_locked_is_worth_another_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 0.0)
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConnectionFailed, match=r"kept .* locked"):
            open_embedded(f"file:{path}")


@pytest.mark.parametrize("target", ["", "file:", "shop.db", "http://localhost:8000"])
def test_other_targets_are_refused(target: str) -> None:
    with pytest.raises(InvalidRequest, match="write 'memory:', 'memory:NAME' or 'file:PATH'"):
        open_embedded(target)
