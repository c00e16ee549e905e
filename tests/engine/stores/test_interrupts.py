"""An interrupt, or what a signal handler raises, at any step of a request: all of it is kept or nothing, and nothing stays locked."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.engine.harness import create_table, number, text
from tests.interruptions import STEPS_MAX, interrupted_at

from surewrite.engine.service import Service
from surewrite.engine.stores import memory, sqlite
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.sqlite import SqliteStore
from surewrite.engine.stores.store import Store

STORES = tuple(Path(memory.__file__).parent.glob("*.py"))


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    # A lock that stays is told at once.
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 1.0)
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "shop.db")
    yield made
    made.close()


def put(key: str, value: int) -> dict[str, Any]:
    return {"TableName": "shop", "Item": {"pk": text(key), "n": number(value)}}


def values(service: Service) -> list[Any]:
    """The numbers of the two items, read by another thread."""
    found: list[Any] = []

    def read() -> None:
        for key in ("a", "b"):
            item = service.execute("GetItem", {"TableName": "shop", "Key": {"pk": text(key)}}).get("Item")
            found.append(item and item["n"]["N"])
        found.append(len(service.execute("Scan", {"TableName": "shop"})["Items"]))
        service.execute("PutItem", put("other", 0))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the store stays locked"
    return found


def change_both(service: Service, value: int) -> None:
    actions = [{"Put": put("a", value)}, {"Put": put("b", value)}, {"Delete": {"TableName": "shop", "Key": {"pk": text("c")}}}]
    service.execute("TransactWriteItems", {"TransactItems": actions, "ClientRequestToken": str(value)})


def test_an_interrupt_at_each_step_of_a_transaction_leaves_all_or_nothing_and_no_lock(store: Store) -> None:
    service = Service(store)
    create_table(service)
    for step in range(1, STEPS_MAX):
        for key in ("a", "b"):
            service.execute("PutItem", put(key, 0))
        service.execute("PutItem", put("c", 0))
        interrupted = interrupted_at(step, lambda: change_both(service, step), STORES)  # noqa: B023 - run at once
        first, second, count = values(service)
        assert first == second, f"half of a transaction was kept by an interrupt at step {step}"
        # Beside the two: the item that the transaction deletes, and from the second time on that of the other thread.
        assert count == 2 + (first == "0") + (step > 1)
        if not interrupted:
            assert step > 20
            return
    raise AssertionError("a request ends within so many steps")


def test_an_interrupt_at_each_step_of_a_read_leaves_no_lock(store: Store) -> None:
    service = Service(store)
    create_table(service)
    for step in range(1, STEPS_MAX):
        if not interrupted_at(step, lambda: service.execute("Scan", {"TableName": "shop"}), STORES):
            return
        assert values(service)[:2] == [None, None]
    raise AssertionError("a request ends within so many steps")
