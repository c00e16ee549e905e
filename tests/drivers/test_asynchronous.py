"""The asyncio driver awaits user code, passes cancellation on, and is used from several loops."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.core.answers import Answer, Success
from surewrite.core.effects import Lock, Operation, Steps, acquire, call_user, call_user_within, new_id, pause, release, send, start_side, stop_side
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.asynchronous import AsyncDriver
from surewrite.drivers.clocks import Chance, Clock


class Hanging:
    """A backend whose answers come when the test says so."""

    traits = EndpointTraits("test")

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def send(self, request: Request, timeout: float) -> Answer:
        self.asked.set()
        return await self.answer

    async def close(self) -> None: ...


class Silent:
    traits = EndpointTraits("test")

    async def send(self, request: Request, timeout: float) -> Answer:
        raise AssertionError("nothing is sent here")

    async def close(self) -> None: ...


def driver_of(backend: Any) -> AsyncDriver:
    return AsyncDriver(backend, clock=Clock(), chance=Chance())


def test_user_code_is_awaited_where_it_is_awaitable() -> None:
    async def slow(value: int) -> int:
        await asyncio.sleep(0)
        return value + 1

    async def main() -> tuple[int, int]:
        driver = driver_of(Silent())
        return await driver.run(call_user(slow, 1)), await driver.run(call_user(int, "7"))

    assert asyncio.run(main()) == (2, 7)


def test_user_code_that_is_awaited_beyond_its_time_limit_is_cancelled_and_the_operation_goes_on() -> None:
    ended: list[str] = []

    async def stay() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    def steps() -> Steps[str]:
        try:
            yield from call_user_within(0.001, stay)
        except TimeoutError:
            return "went on after " + (yield from call_user_within(60.0, ended.pop))
        return "stayed"

    async def main() -> str:
        return await driver_of(Silent()).run(steps())

    assert asyncio.run(main()) == "went on after cancelled"


def test_a_cancellation_of_the_task_is_no_time_limit_of_the_user_code_in_it() -> None:
    begun: list[asyncio.Event] = []

    async def stay() -> None:
        begun[0].set()
        await asyncio.Event().wait()

    async def main() -> None:
        begun.append(asyncio.Event())
        task = asyncio.create_task(driver_of(Silent()).run(call_user_within(60.0, stay)))
        await begun[0].wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_cancelled_task_throws_the_cancellation_into_its_operation() -> None:
    seen: list[str] = []

    def steps() -> Steps[Any]:
        try:
            yield from send(None, Request("PutItem", {}), 1.0)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        backend = Hanging()
        task = asyncio.create_task(driver_of(backend).run(steps()))
        await backend.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_a_cancelled_wait_for_a_lock_leaves_the_lock_to_its_holder() -> None:
    lock = Lock()

    def hold() -> Steps[str]:
        yield from acquire(lock)
        yield from send(None, Request("PutItem", {}), 1.0)
        return "held"

    async def main() -> str:
        backend = Hanging()
        driver = driver_of(backend)
        holder = asyncio.create_task(driver.run(hold()))
        await backend.asked.wait()
        waiter = asyncio.create_task(driver.run(acquire(lock)))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert driver.lock_for(lock).locked()
        backend.answer.set_result(Success({}))
        result = await holder
        assert not driver.lock_for(lock).locked()
        return result

    assert asyncio.run(main()) == "held"


def test_a_side_is_stopped_when_its_owner_is_cancelled() -> None:
    ended: list[str] = []

    def side() -> Steps[None]:
        try:
            yield from pause(3_600.0)
        finally:
            ended.append("side")

    def steps() -> Steps[None]:
        yield from start_side(Operation(side))
        yield from send(None, Request("PutItem", {}), 1.0)

    async def main() -> None:
        backend = Hanging()
        task = asyncio.create_task(driver_of(backend).run(steps()))
        await backend.asked.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["side"]

    asyncio.run(main())


def test_the_cancellation_of_an_operation_that_stops_a_side_is_not_swallowed() -> None:
    waiting = threading.Event()

    def side() -> Steps[None]:
        yield from call_user(stay)

    async def stay() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            waiting.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    def steps() -> Steps[str]:
        handle = yield from start_side(Operation(side))
        yield from pause(0.0)
        yield from pause(0.0)
        yield from stop_side(handle)
        return "swallowed"

    async def main() -> None:
        task = asyncio.create_task(driver_of(Silent()).run(steps()))
        for _ in range(100):
            await asyncio.sleep(0)
            if waiting.is_set():
                break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_side_is_stopped_by_what_a_cancelled_task_does_last() -> None:
    """A task that was cancelled cleans up by operations of its own; it counts as cancelled as long as it lives."""

    def steps() -> Steps[str]:
        side = yield from start_side(Operation(lambda: pause(3_600.0)))
        yield from pause(0.0)
        yield from stop_side(side)
        return "cleaned up"

    async def main() -> list[str]:
        done: list[str] = []
        begun = asyncio.Event()

        async def work() -> None:
            try:
                begun.set()
                await asyncio.sleep(3_600)
            finally:
                done.append(await driver_of(Silent()).run(steps()))

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return done

    assert asyncio.run(main()) == ["cleaned up"]


def test_a_lock_excludes_the_tasks_of_a_loop() -> None:
    lock = Lock()
    inside: list[int] = []
    most: list[int] = []

    async def enter() -> None:
        inside.append(1)
        await asyncio.sleep(0)
        most.append(len(inside))
        inside.pop()

    def steps() -> Steps[None]:
        for _ in range(20):
            yield from acquire(lock)
            yield from call_user(enter)
            yield from release(lock)

    async def main() -> None:
        driver = driver_of(Silent())
        await asyncio.gather(*(driver.run(steps()) for _ in range(5)))

    asyncio.run(main())
    assert (len(most), max(most)) == (100, 1)


def test_one_driver_and_one_lock_serve_several_loops_one_after_another_and_in_threads() -> None:
    driver = driver_of(Silent())
    lock = Lock()
    results: list[str] = []

    def steps() -> Steps[str]:
        yield from acquire(lock)
        found = yield from new_id()
        yield from release(lock)
        return found

    async def main() -> None:
        results.extend(await asyncio.gather(*(driver.run(steps()) for _ in range(3))))

    for _ in range(2):
        asyncio.run(main())
    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(set(results)) == 12


class Account(VersionedEntity, partition_key="{id}"):
    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


def test_a_shared_client_is_used_from_two_loops_one_after_another() -> None:
    db = sw.connect_async("memory:")
    table = db.table("accounts", key=("pk",), discriminator=None)

    async def make() -> None:
        await table.create_table(Account)
        await table.of(Account).create(Account(id="a"))

    async def deposit() -> Account:
        return await table.of(Account).modify(Account.key_of("a"), lambda a: a.replace(balance=a.balance + 1))

    asyncio.run(make())
    asyncio.run(deposit())
    assert asyncio.run(deposit()).balance == 2
