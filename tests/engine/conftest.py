from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.harness import Caller, Clock, create_table

from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.sqlite import SqliteStore
from surewrite.engine.stores.store import Store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Every rule holds on both stores."""
    opened: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "engine.db")
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(store: Store, clock: Clock) -> Service:
    return Service(store, clock=clock)


@pytest.fixture
def shop(service: Service, clock: Clock) -> Caller:
    """A table with the key attribute pk, a text."""
    create_table(service)
    return Caller(service, clock)


@pytest.fixture
def rows(service: Service, clock: Clock) -> Caller:
    """A table with the key attributes pk, a text, and sk, a number."""
    create_table(service, "rows", (("pk", "S"), ("sk", "N")))
    return Caller(service, clock, "rows")
