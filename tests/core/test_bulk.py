"""Single writes side by side: each keeps its own word, whatever befalls the others."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.core.answers import Answer, NoAnswer, Rejection
from surewrite.core.requests import Request


class Page(VersionedEntity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    version: Attribute[int | None] = sw.version()


class Fated:
    """An embedded engine that answers the puts of some items in its own way."""

    def __init__(self) -> None:
        self.inner = EmbeddedBackend(open_embedded("memory:"))
        self.traits = self.inner.traits
        self.fates: dict[str, Answer | BaseException] = {}
        self.threads: set[str] = set()

    def send(self, request: Request, timeout: float) -> Answer:
        self.threads.add(threading.current_thread().name)
        fate = self.fates.get(request.body.get("Item", {}).get("id", {}).get("S", ""))
        if isinstance(fate, BaseException):
            raise fate
        return self.inner.send(request, timeout) if fate is None else fate

    def close(self) -> None:
        self.inner.close()


class Bench:
    def __init__(self) -> None:
        self.now = 0.0
        self.lock = threading.Lock()
        self.backend = Fated()
        ids = itertools.count()
        clock = sw.Clock(lambda: 1.9e9 + self.now, lambda: self.now, self.wait)
        db = sw.connect(self.backend, clock=clock, chance=sw.Chance(lambda: 0.5, lambda: f"{next(ids):012d}"))
        db.table("pages").create_table(Page)
        self.pages = db.table("pages").of(Page)

    def wait(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


@pytest.fixture
def bench() -> Bench:
    return Bench()


def some(count: int) -> list[Page]:
    return [Page(id=str(number)) for number in range(count)]


def test_each_item_has_its_own_word(bench: Bench) -> None:
    bench.backend.fates = {"1": Rejection("ThrottlingException"), "3": NoAnswer("lost"), "4": Rejection("AccessDeniedException", "no")}
    results = bench.pages.put_many(some(6), parallel=3)
    assert [bool(result) for result in results] == [True, False, True, False, False, True]
    assert [type(result.error) for result in results if result.error is not None] == [sw.Throttled, sw.OutcomeUnknown, sw.InvalidRequest]
    with pytest.raises(sw.Throttled):
        _ = results[1].item


def test_as_many_are_under_way_as_was_said(bench: Bench) -> None:
    meeting = threading.Barrier(4, timeout=10)

    def meet(done: int, total: int) -> None:
        assert (done, total) != (0, 0)

    inner = bench.backend.inner

    class Meeting:
        traits = inner.traits

        @staticmethod
        def send(request: Request, timeout: float) -> Answer:
            # Passes only when four writes are made at one time.
            meeting.wait()
            return inner.send(request, timeout)

        @staticmethod
        def close() -> None:
            """Nothing of its own is open."""

    pages = sw.connect(Meeting()).table("pages").of(Page)
    assert all(pages.put_many(some(4), parallel=4, progress=meet))


def test_one_at_a_time_needs_no_thread(bench: Bench) -> None:
    assert all(bench.pages.put_many(some(5), parallel=1))
    assert bench.backend.threads == {threading.current_thread().name}


def test_an_interrupt_ends_the_call_and_leaves_no_thread(bench: Bench) -> None:
    bench.backend.fates = {"2": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        bench.pages.put_many(some(40), parallel=3)


def test_an_error_of_the_program_is_the_result_of_its_item(bench: Bench) -> None:
    bench.backend.fates = {"2": ZeroDivisionError()}
    results = bench.pages.put_many(some(4))
    assert [type(result.error) for result in results] == [type(None), type(None), ZeroDivisionError, type(None)]


def test_nothing_given_is_nothing_done(bench: Bench) -> None:
    assert bench.pages.put_many([]) == []
    assert bench.pages.delete_many([]) == []


def test_a_cancelled_call_cancels_the_writes_beside_it() -> None:
    inner = EmbeddedBackend(open_embedded("memory:"))
    started: list[str] = []
    ended: list[str] = []

    class Slow:
        traits = inner.traits

        @staticmethod
        async def send(request: Request, timeout: float) -> Answer:
            if request.operation != "PutItem":
                return inner.send(request, timeout)
            name = request.body["Item"]["id"]["S"]
            started.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)
            raise AssertionError

        @staticmethod
        async def close() -> None:
            """Nothing of its own is open."""

    async def cancel() -> None:
        pages = sw.connect_async(Slow()).table("pages").of(Page)
        task = asyncio.create_task(pages.put_many(some(9), parallel=3))
        for _ in range(1000):
            if len(started) == 3:
                break
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert sorted(started) == sorted(ended)
    assert len(started) == 3
