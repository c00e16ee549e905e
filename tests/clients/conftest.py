"""The client suite: each test runs on every place where data can be, through both clients. See tests/README.md.

Belongs here: places, connections and tables. Must not be here: what is asked of them.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import random
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.clients.differences import Difference, difference
from tests.clients.harness import AsyncRunning, Form, Running, SyncRunning, face_of, one_after_another
from tests.clients.lossy import AsyncLossyBackend, Faults, LossyBackend
from tests.services import Service
from tests.typing.accepted.entities import Account

import surewrite as sw
from surewrite.core.values import Item

PLACES = ("memory", "file", "moto", "ministack")
# Real AWS, with the region and the credentials that boto3 would find. It costs money and takes minutes.
AWS = os.environ.get("SUREWRITE_TEST_AWS") == "1"
# Any other endpoint, which somebody has started.
URL = os.environ.get("SUREWRITE_TEST_URL")
ASKED_FOR = (*(("aws",) if AWS else ()), *(("url",) if URL else ()))


@dataclass(frozen=True, slots=True)
class Place:
    """Where data is. ``target`` is what ``connect`` is given; ``remote`` tells services, which keep their tables from test to test."""

    name: str
    target: str | None
    remote: bool

    def difference(self, rule: str) -> Difference | None:
        return difference(self.name, rule)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # A test of what only one client can do, or one place has, names it.
    named = {marker.args[0] for marker in metafunc.definition.iter_markers("parametrize")}
    if "form" in metafunc.fixturenames and "form" not in named:
        metafunc.parametrize("form", ("sync", "async"), scope="function")
    if "place_name" in metafunc.fixturenames and "place_name" not in named:
        metafunc.parametrize("place_name", (*PLACES, *ASKED_FOR), scope="function")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Making a table takes seconds of waiting on AWS, and a moment elsewhere."""
    for item in items:
        if isinstance(item, pytest.Function) and getattr(item, "callspec", None) is not None and item.callspec.params.get("place_name") in ASKED_FOR:
            item.add_marker(pytest.mark.real_time)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in its form; ``needs(rule)`` makes the refusal of a place without it the expectation."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    running: Running = pyfuncitem.funcargs["running"]
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    missing = [found for marker in pyfuncitem.iter_markers("needs") if (found := pyfuncitem.funcargs["place"].difference(marker.args[0]))]
    if not missing:
        running.run(pyfuncitem.obj(**arguments))
        return True
    with pytest.raises(sw.InvalidRequest, match=missing[0].error):
        running.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(scope="session")
def kept_tables() -> dict[str, str]:
    """The table that the tests of a remote place share one after another, by the name of the place."""
    return {}


@pytest.fixture
def place(place_name: str, services: Callable[[str], Service], tmp_path: Path) -> Place:
    match place_name:
        case "memory":
            return Place("memory", f"memory:{uuid4().hex}", remote=False)
        case "file":
            return Place("file", f"file:{tmp_path / 'shop.db'}", remote=False)
        case "aws":
            return Place("aws", None, remote=True)
        case "url":
            return Place("url", URL, remote=True)
        case _:
            return Place(place_name, services(place_name).url, remote=True)


@pytest.fixture
def running(form: Form) -> Iterator[Running]:
    if form == "sync":
        yield SyncRunning()
        return
    with asyncio.Runner() as runner:
        yield AsyncRunning(runner)


@pytest.fixture
def together(running: Running, place: Place) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """``await together(body, ...)`` runs bodies side by side, as tasks or as threads, and gives their results, errors too."""
    if place.difference("requests side by side do not disturb each other"):
        return one_after_another
    return running.together


@pytest.fixture
def connect(place: Place, form: Form, running: Running) -> Iterator[Callable[..., Any]]:
    """Connects to the place of the test; closed at its end. Options are those of ``sw.connect``."""
    opened: list[Any] = []

    def connect_once(target: Any = place.target, **options: Any) -> Any:
        options.setdefault("chance", sw.Chance(number=random.Random(11).random))
        opened.append(face_of(sw.connect(target, **options)) if form == "sync" else sw.connect_async(target, **options))
        return opened[-1]

    yield connect_once
    for database in opened:
        running.run(database.close())


@pytest.fixture
def db(connect: Callable[..., Any]) -> Any:
    return connect()


@pytest.fixture
def make_table(db: Any, connect: Callable[..., Any], place: Place, running: Running) -> Iterator[Callable[..., Coroutine[Any, Any, Any]]]:
    """``await make_table(Entity, ...)`` makes a table for the entities; keywords are those of ``db.table``. It is gone after the test."""
    names: list[str] = []

    async def make(*entities: Any, **layout: Any) -> Any:
        names.append(f"surewrite-test-{uuid4().hex}")
        table = db.table(names[-1], **layout)
        await table.create_table(*entities)
        return table

    yield make
    if place.remote:
        for name in names:
            running.run(connect().execute("DeleteTable", {"TableName": name}))


@pytest.fixture
def shop_name(connect: Callable[..., Any], place: Place, running: Running, kept_tables: dict[str, str]) -> Iterator[str]:
    """The name of an empty table with the key attributes pk and sk, both text."""
    name = kept_tables.get(place.name) if place.remote else None
    if name is None:
        name = f"surewrite-test-{uuid4().hex}"
        running.run(connect().table(name).create_table(Account))
        if place.remote:
            kept_tables[place.name] = name
    yield name
    if place.remote:
        running.run(_empty(connect(), name))


@pytest.fixture
def shop(db: Any, shop_name: str) -> Any:
    return db.table(shop_name)


@pytest.fixture
def lossy(connect: Callable[..., Any], place: Place, form: Form) -> Callable[..., tuple[Any, Faults]]:
    """``lossy()`` gives a connection to the same place, and what makes it lose requests and answers. Options are those of ``sw.connect``."""

    def connect_lossy(**options: Any) -> tuple[Any, Faults]:
        faults = Faults()
        backend = LossyBackend(place.target, faults) if form == "sync" else AsyncLossyBackend(place.target, faults)
        return connect(backend, **options), faults

    return connect_lossy


@pytest.fixture
def hasty() -> dict[str, Any]:
    """Options of a connection on whose clock half a second passes at each look, and which does not pause: its deadline comes after a few attempts."""
    ticks = itertools.count(0.0, 0.5)
    return {"clock": sw.Clock(monotonic=lambda: next(ticks)), "chance": sw.Chance(number=lambda: 0.0)}


@pytest.fixture
def stored(db: Any, shop_name: str) -> Callable[..., Coroutine[Any, Any, Item | None]]:
    """``await stored("pk", "sk")`` gives an item of the shop as the service has it."""

    async def get(pk: str, sk: str) -> Item | None:
        answer = await db.execute("GetItem", {"TableName": shop_name, "Key": {"pk": {"S": pk}, "sk": {"S": sk}}, "ConsistentRead": True})
        found: Item | None = answer.get("Item")
        return found

    return get


@pytest.fixture
def store(db: Any, shop_name: str) -> Callable[..., Coroutine[Any, Any, None]]:
    """``await store(item)`` writes an item into the shop as another program would."""

    async def put(item: Item) -> None:
        await db.execute("PutItem", {"TableName": shop_name, "Item": item})

    return put


@pytest.fixture
def overtake(db: Any, shop_name: str) -> Callable[..., Coroutine[Any, Any, None]]:
    """``await overtake("pk", "sk")`` raises the version of a stored item as a writer that uses another library."""

    async def raise_version(pk: str, sk: str) -> None:
        update = {
            "TableName": shop_name,
            "Key": {"pk": {"S": pk}, "sk": {"S": sk}},
            "UpdateExpression": "SET version = version + :one",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        await _Apart(db.execute("UpdateItem", update))

    return raise_version


class _Apart:
    """Awaits a call in a context of its own: what another program writes is no write of the body that a retry runs."""

    def __init__(self, call: Coroutine[Any, Any, Any]) -> None:
        self._call = call

    def __await__(self) -> Generator[Any, None, Any]:
        context, steps = Context(), self._call.__await__()
        while True:
            try:
                waited_for = context.run(next, steps)
            except StopIteration as end:
                return end.value
            yield waited_for


async def _empty(database: Any, table: str) -> None:
    page: dict[str, Any] = {}
    for _ in range(100):
        answer = await database.execute("Scan", {"TableName": table, "ConsistentRead": True, **page})
        for item in answer["Items"]:
            await database.execute("DeleteItem", {"TableName": table, "Key": {"pk": item["pk"], "sk": item["sk"]}})
        if "LastEvaluatedKey" not in answer:
            return
        page = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    raise AssertionError("a test left more items than a test should")


@pytest.fixture(scope="session", autouse=True)
def _kept_tables_end(kept_tables: dict[str, str]) -> Iterator[None]:
    """Third parties end with the session; on AWS the kept table has to be deleted."""
    yield
    if "aws" in kept_tables:
        with sw.connect() as database:
            database.execute("DeleteTable", {"TableName": kept_tables["aws"]})
