"""What an operation may rely on, from both drivers: answers, errors, interrupts, locks and sides, by tiny generators."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.drivers.locks import SECONDS_MAX, is_free_for_others

from surewrite.core.answers import Answer, NoAnswer, Success
from surewrite.core.effects import (
    Acquire,
    Lock,
    Operation,
    Pause,
    Steps,
    acquire,
    call_user,
    join_side,
    new_id,
    now,
    pause,
    random_number,
    release,
    send,
    start_side,
    stop_side,
)
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.asynchronous import AsyncDriver
from surewrite.drivers.blocking import BlockingDriver
from surewrite.drivers.clocks import Chance, Clock
from surewrite.errors import InvalidRequest

REQUEST = Request("GetItem", {})


class Endpoint:
    """A backend of both kinds that gives the next of its answers, or raises it."""

    def __init__(self, *answers: Answer | BaseException) -> None:
        self.traits = EndpointTraits("test")
        self.answers = list(answers)
        self.timeouts: list[float] = []

    def next_answer(self, timeout: float) -> Answer:
        self.timeouts.append(timeout)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class BlockingEndpoint(Endpoint):
    def send(self, request: Request, timeout: float) -> Answer:
        return self.next_answer(timeout)

    def close(self) -> None: ...


class AsyncEndpoint(Endpoint):
    async def send(self, request: Request, timeout: float) -> Answer:
        return self.next_answer(timeout)

    async def close(self) -> None: ...


class Runner:
    """A driver of either kind, and a clock that moves when somebody waits."""

    def __init__(self, kind: str, *answers: Answer | BaseException) -> None:
        self.kind = kind
        self.wall, self.monotonic = 1_000.0, 5.0
        self.waits: list[float] = []
        self._runner = asyncio.Runner() if kind == "asyncio" else None
        clock = Clock(lambda: self.wall, lambda: self.monotonic, self._wait, self._wait_async)
        chance = Chance(lambda: 0.25, lambda: "id")
        self.driver: Any = (
            BlockingDriver(BlockingEndpoint(*answers), clock=clock, chance=chance)
            if self._runner is None
            else AsyncDriver(AsyncEndpoint(*answers), clock=clock, chance=chance)
        )

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.monotonic += seconds

    async def _wait_async(self, seconds: float) -> None:
        self._wait(seconds)
        await asyncio.sleep(0)

    def run(self, steps: Steps[Any]) -> Any:
        if self._runner is None:
            return self.driver.run(steps)

        async def running() -> Any:
            return await self.driver.run(steps)

        return self._runner.run(running())

    def is_free(self, lock: Lock) -> bool:
        if self._runner is None:
            return is_free_for_others(self.driver.lock_for(lock))

        async def looking() -> bool:
            return not self.driver.lock_for(lock).locked()

        return self._runner.run(looking())

    @property
    def interrupt(self) -> BaseException:
        return asyncio.CancelledError() if self.kind == "asyncio" else KeyboardInterrupt()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


MakeRunner = Callable[..., Runner]


@pytest.fixture(params=["blocking", "asyncio"])
def make_runner(request: pytest.FixtureRequest) -> Iterator[MakeRunner]:
    made: list[Runner] = []

    def make(*answers: Answer | BaseException) -> Runner:
        made.append(Runner(request.param, *answers))
        return made[-1]

    yield make
    for runner in made:
        runner.close()


def test_effects_are_answered_by_what_the_driver_was_given(make_runner: MakeRunner) -> None:
    answer = Success({"Item": {}})
    runner = make_runner(answer)

    def steps() -> Steps[Any]:
        before = yield from now()
        yield from pause(3.0)
        after = yield from now()
        found = yield from send(None, REQUEST, 1.5)
        return before, after, found, (yield from random_number()), (yield from new_id()), (yield from call_user(max, 1, 2))

    before, after, found, number, text, called = runner.run(steps())
    assert (before.wall, before.server, before.monotonic) == (1_000.0, 1_000.0, 5.0)
    assert after.monotonic == 8.0
    assert found is answer
    assert (number, text, called) == (0.25, "id", 2)
    assert (runner.waits, runner.driver.backend.timeouts) == ([3.0], [1.5])


def test_the_time_of_an_answer_corrects_the_server_time_and_makes_it_known(make_runner: MakeRunner) -> None:
    runner = make_runner(NoAnswer("lost"), Success({}, server_time=1_400.0))

    def steps() -> Steps[Any]:
        yield from send(None, REQUEST, 1.0)
        guessed = yield from now()
        yield from send(None, REQUEST, 1.0)
        return guessed, (yield from now())

    guessed, told = runner.run(steps())
    assert (guessed.server, guessed.server_known) == (1_000.0, False)
    assert (told.server, told.server_known, told.wall) == (1_400.0, True, 1_000.0)


def test_an_error_of_user_code_reaches_the_operation_which_may_go_on(make_runner: MakeRunner) -> None:
    runner = make_runner()

    def fail() -> None:
        raise LookupError("mine")

    def steps() -> Steps[Any]:
        try:
            yield from call_user(fail)
        except LookupError:
            return "kept", (yield from new_id())

    assert runner.run(steps()) == ("kept", "id")


def test_a_request_for_another_database_is_not_sent(make_runner: MakeRunner) -> None:
    runner = make_runner(Success({}))
    with pytest.raises(InvalidRequest, match="another connection"):
        runner.run(send(object(), REQUEST, 1.0))
    runner.driver.database = mine = object()
    assert runner.run(send(mine, REQUEST, 1.0)) == Success({})


def test_an_error_that_the_operation_lets_pass_reaches_the_caller(make_runner: MakeRunner) -> None:
    runner = make_runner(RuntimeError("a bug of ours"))
    with pytest.raises(RuntimeError, match="a bug of ours"):
        runner.run(send(None, REQUEST, 1.0))


def test_a_stop_iteration_of_user_code_does_not_end_the_operation_as_if_it_had_returned(make_runner: MakeRunner) -> None:
    runner = make_runner()
    with pytest.raises(RuntimeError):
        runner.run(call_user(next, iter(())))


class Begun:
    """What goes on by itself, as a task does, and may be waited for."""

    def __await__(self) -> Iterator[None]:
        yield


def test_user_code_that_is_to_be_awaited_is_awaited_or_refused(make_runner: MakeRunner) -> None:
    runner = make_runner()

    async def wait() -> int:
        return 1

    if runner.kind == "asyncio":
        assert runner.run(call_user(wait)) == 1
    else:
        with pytest.raises(InvalidRequest, match="so it was not run"):
            runner.run(call_user(wait))
        begun = Begun()
        assert runner.run(call_user(lambda: begun)) is begun


def test_an_interrupt_is_thrown_into_the_operation_and_goes_on_to_the_caller(make_runner: MakeRunner) -> None:
    runner = make_runner()
    runner.driver.backend.answers.append(runner.interrupt)
    seen: list[type[BaseException]] = []

    def steps() -> Steps[Any]:
        try:
            yield from send(None, REQUEST, 1.0)
        except BaseException as interruption:
            seen.append(type(interruption))
            raise

    expected = type(runner.interrupt)
    with pytest.raises(expected):
        runner.run(steps())
    assert seen == [expected]


def test_r13_an_operation_must_not_ask_for_anything_after_an_interrupt(make_runner: MakeRunner) -> None:
    runner = make_runner()
    runner.driver.backend.answers.extend([runner.interrupt, Success({})])

    def steps() -> Steps[Any]:
        try:
            yield from send(None, REQUEST, 1.0)
        finally:
            yield from send(None, REQUEST, 1.0)

    with pytest.raises(RuntimeError, match="after it was interrupted"):
        runner.run(steps())
    assert len(runner.driver.backend.answers) == 1


@pytest.mark.parametrize("end", ["returns", "raises", "is interrupted"])
def test_a_lock_is_released_however_the_operation_ends(make_runner: MakeRunner, end: str) -> None:
    runner = make_runner()
    runner.driver.backend.answers.append(runner.interrupt)
    lock = Lock()

    def steps() -> Steps[Any]:
        yield from acquire(lock)
        if end == "raises":
            raise LookupError
        if end == "is interrupted":
            yield from send(None, REQUEST, 1.0)

    if end == "returns":
        runner.run(steps())
    else:
        with pytest.raises((LookupError, KeyboardInterrupt, asyncio.CancelledError)):
            runner.run(steps())
    assert runner.is_free(lock)


def test_a_lock_can_be_taken_again_after_its_release(make_runner: MakeRunner) -> None:
    runner = make_runner()
    lock = Lock()

    def steps() -> Steps[int]:
        for _ in range(3):
            yield from acquire(lock)
            yield from release(lock)
        return 3

    assert runner.run(steps()) == 3
    assert runner.is_free(lock)


def for_ever(said: list[str]) -> Steps[Any]:
    said.append("begun")
    while True:
        yield Pause(0.01)


def test_a_side_that_is_stopped_gives_nothing_and_one_that_ended_its_result(make_runner: MakeRunner) -> None:
    runner = make_runner()

    def short() -> Steps[str]:
        yield from new_id()
        return "done"

    def steps() -> Steps[Any]:
        ending = yield from start_side(Operation(short))
        said: list[str] = []
        running = yield from start_side(Operation(lambda: for_ever(said)))
        for _ in range(1_000):
            yield from pause(0.0)
            if said:
                break
        return (yield from stop_side(running)), said, (yield from stop_side(ending))

    stopped, said, ended = runner.run(steps())
    assert (stopped, said) == (None, ["begun"])
    # A side that was stopped before it ran has no result either.
    assert ended in ("done", None)


def test_a_side_is_stopped_when_its_operation_ends(make_runner: MakeRunner) -> None:
    runner = make_runner()
    said: list[str] = []

    def side() -> Steps[None]:
        try:
            yield from for_ever(said)
        finally:
            said.append("ended")

    def steps() -> Steps[str]:
        yield from start_side(Operation(side))
        for _ in range(100_000):
            yield from pause(0.0)
            if said:
                break
        return "result"

    assert runner.run(steps()) == "result"
    assert said == ["begun", "ended"]


def test_an_error_of_a_side_is_raised_where_it_is_stopped(make_runner: MakeRunner) -> None:
    runner = make_runner()
    failed = threading.Event()

    def side() -> Steps[None]:
        yield from new_id()
        failed.set()
        raise LookupError("of the side")

    def steps() -> Steps[None]:
        handle = yield from start_side(Operation(side))
        for _ in range(100_000):
            yield from pause(0.0)
            if failed.is_set():
                break
        yield from stop_side(handle)

    with pytest.raises(LookupError, match="of the side"):
        runner.run(steps())


def test_a_side_that_is_waited_for_comes_to_its_end_and_gives_its_result(make_runner: MakeRunner) -> None:
    runner = make_runner()

    def side() -> Steps[str]:
        for _ in range(50):
            yield from pause(0.0)
        return "done"

    def steps() -> Steps[Any]:
        handles = []
        for _ in range(3):
            handle = yield from start_side(Operation(side))
            handles.append(handle)
        results = []
        for handle in handles:
            result = yield from join_side(handle)
            results.append(result)
        return results

    assert runner.run(steps()) == ["done"] * 3


def test_an_error_of_a_side_is_raised_where_it_is_waited_for_and_the_others_are_stopped(make_runner: MakeRunner) -> None:
    runner = make_runner()
    said: list[str] = []

    def failing() -> Steps[None]:
        yield from new_id()
        raise LookupError("of the side")

    def lasting() -> Steps[None]:
        try:
            yield from for_ever(said)
        finally:
            said.append("ended")

    def steps() -> Steps[None]:
        yield from start_side(Operation(lasting))
        for _ in range(100_000):
            yield from pause(0.0)
            if said:
                break
        handle = yield from start_side(Operation(failing))
        yield from join_side(handle)

    with pytest.raises(LookupError, match="of the side"):
        runner.run(steps())
    assert said == ["begun", "ended"]


def test_a_side_that_waits_for_a_side_is_stopped_with_it(make_runner: MakeRunner) -> None:
    runner = make_runner()
    said: list[str] = []

    def inner() -> Steps[None]:
        try:
            yield from for_ever(said)
        finally:
            said.append("ended")

    def outer() -> Steps[None]:
        handle = yield from start_side(Operation(inner))
        yield from join_side(handle)

    def steps() -> Steps[Any]:
        handle = yield from start_side(Operation(outer))
        for _ in range(100_000):
            yield from pause(0.0)
            if said:
                break
        return (yield from stop_side(handle))

    assert runner.run(steps()) is None
    assert said == ["begun", "ended"]


def test_a_side_that_waits_for_a_lock_of_its_owner_does_not_keep_it_from_ending(make_runner: MakeRunner) -> None:
    runner = make_runner()
    lock = Lock()
    ended: list[str] = []

    def side() -> Steps[None]:
        yield Acquire(lock)
        yield from for_ever([])

    def steps() -> Steps[str]:
        yield from acquire(lock)
        yield from start_side(Operation(side))
        for _ in range(3):
            yield from pause(0.0)
        return "result"

    def run() -> None:
        ended.append(runner.run(steps()))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS_MAX)
    assert ended == ["result"]
    assert runner.is_free(lock)


def test_a_side_that_waits_for_a_lock_of_its_owner_can_be_stopped_by_it(make_runner: MakeRunner) -> None:
    runner = make_runner()
    lock = Lock()
    ended: list[Any] = []

    def side() -> Steps[str]:
        yield Acquire(lock)
        return "had it"

    def steps() -> Steps[Any]:
        yield from acquire(lock)
        handle = yield from start_side(Operation(side))
        for _ in range(3):
            yield from pause(0.0)
        return (yield from stop_side(handle))

    thread = threading.Thread(target=lambda: ended.append(runner.run(steps())), daemon=True)
    thread.start()
    thread.join(SECONDS_MAX)
    assert ended == [None]
