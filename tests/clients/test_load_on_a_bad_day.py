"""Three hundred writes of one writer, with nobody else writing, behind a proxy that loses answers and requests, fails after applying, and throttles.

The same load, with other clients beside ours, is printed by benchmarks/losses.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from tests.clients.entities import Page
from tests.proxies.faulty_proxy import BAD_DAY, FaultyProxy, faulty_proxy
from tests.services import Service

import surewrite as sw
from surewrite import Attribute, Entity

WRITES = 300
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("place_name", ["ministack"])]


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{id}", sort_key="TALLY"):
    id: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


KEY = Tally.key_of("visits")


class Words:
    """How the writes of a load ended, as the client tells."""

    def __init__(self) -> None:
        self.applied = self.unknown = self.refused = self.throttled = 0

    async def of(self, write: Any) -> Any:
        try:
            result = await write
        except sw.OutcomeUnknown:
            self.unknown += 1
        except sw.WriteRefused:
            self.refused += 1
        except sw.Throttled:
            self.throttled += 1
        else:
            self.applied += 1
            return result
        return None

    @property
    def told(self) -> tuple[int, int, int, int]:
        return self.applied, self.unknown, self.refused, self.throttled


async def no_pause(seconds: float) -> None:
    del seconds


@pytest.fixture(params=[1, 2])
def proxy(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Iterator[FaultyProxy]:
    with faulty_proxy(services("ministack").url, BAD_DAY, seed=request.param) as running:
        yield running


@pytest.fixture
def bad_shop(connect: Callable[..., Any], proxy: FaultyProxy, shop_name: str) -> Any:
    """The shop as it is reached through the proxy."""
    clock = sw.Clock(sleep=lambda seconds: None, async_sleep=no_pause)
    return connect(proxy.url, clock=clock).table(shop_name)


@pytest.fixture(autouse=True)
def _every_fault_came(proxy: FaultyProxy) -> Iterator[None]:
    yield
    assert all(proxy.fates[fate] > 0 for fate in ("answered", "answer lost", "request lost", "failed after", "throttled"))


async def test_additions_as_transactions_count_exactly(shop: Any, bad_shop: Any) -> None:
    await shop.of(Tally).create(Tally(id="visits"))
    words = Words()
    for _ in range(WRITES):
        tx = bad_shop.transaction()
        tx.update(KEY, Tally.count.add(1))
        await words.of(tx.commit())
    assert words.told == (WRITES, 0, 0, 0)
    assert (await shop.of(Tally).get(KEY)).count == WRITES


async def test_additions_with_operation_ids_count_exactly(shop: Any, bad_shop: Any) -> None:
    await shop.of(Tally).create(Tally(id="visits"))
    words = Words()
    for _ in range(WRITES):
        operation = uuid4().hex
        changes = (Tally.count.add(1), Tally.seen.add(operation))
        await words.of(bad_shop.of(Tally).update(KEY, *changes, condition=~Tally.seen.contains(operation)))
    assert words.told == (WRITES, 0, 0, 0)
    assert (await shop.of(Tally).get(KEY)).count == WRITES


async def test_plain_additions_are_never_more_than_those_acknowledged_and_those_unknown(shop: Any, bad_shop: Any) -> None:
    await shop.of(Tally).create(Tally(id="visits"))
    words = Words()
    for _ in range(WRITES):
        await words.of(bad_shop.of(Tally).update(KEY, Tally.count.add(1)))
    assert words.applied + words.unknown == WRITES
    assert words.unknown > 0
    assert words.applied <= (await shop.of(Tally).get(KEY)).count <= words.applied + words.unknown


async def test_no_creation_of_a_fresh_key_is_told_that_it_exists_already(shop: Any, bad_shop: Any) -> None:
    words = Words()
    for number in range(WRITES):
        await words.of(bad_shop.of(Tally).create(Tally(id=str(number), count=number)))
    assert words.told == (WRITES, 0, 0, 0)
    assert sum([tally.count async for tally in shop.of(Tally).scan()]) == sum(range(WRITES))


async def test_a_single_writer_meets_no_conflict_with_itself(shop: Any, bad_shop: Any) -> None:
    page = await shop.of(Page).create(Page(id="home"))
    words = Words()
    for _ in range(WRITES):
        page = await words.of(bad_shop.of(Page).update(page, Page.reads.add(1)))
    assert words.told == (WRITES, 0, 0, 0)
    stored = await shop.of(Page).get(Page.key_of("home"))
    assert (stored.reads, stored.version) == (WRITES, WRITES + 1)
