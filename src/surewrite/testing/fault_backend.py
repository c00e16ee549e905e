"""Belongs here: a backend around another one that applies a fault plan, or faults by chance, in real time. Must not be here: choosing faults for a plan.

Give it to ``connect``::

    backend = FaultBackend(EmbeddedBackend(service), FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",))),)))
    db = surewrite.connect(backend)

The decisions are made once, by a generator that asks to deliver a request or to run an action of the test; the two
backends only do so. A client that waits for a lost answer gets it as "no answer" at once: no time is spent.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, assert_never

from surewrite.core.answers import Answer, NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.drivers.backend import AsyncBackend, Backend
from surewrite.testing.altered_answers import marked_as_resent, without_items
from surewrite.testing.faults import (
    NO_FAULTS,
    ApplyLate,
    Conflict,
    DamageAnswer,
    Deliver,
    Fault,
    FaultPlan,
    FaultRates,
    HideItem,
    HoldOpen,
    InProgress,
    LoseAnswer,
    LoseRequest,
    NotSentAtAll,
    PlanProgress,
    ReadInParts,
    ReadStale,
    Reject,
    SendTwice,
    ServerError,
    Step,
    Throttle,
    actions_of,
    describe_fault,
)

Action = Callable[[], object]
"""Something that others do in between; awaited by the async backend where its result is awaitable."""

RECORDS_MAX: Final = 100_000
"""A race of hours makes more requests than anybody reads; the oldest records go first."""

TIMEOUT_LATE_SECONDS: Final = 5.0

B = TypeVar("B", Backend, AsyncBackend)


@dataclass(frozen=True, slots=True)
class Met:
    """What one request met: its number in the order of all requests, the fault, and the answer that the client got.

    ``answer`` is ``None`` while the request is still under way, and for one that was interrupted. ``late`` marks the
    execution of a request that was kept.
    """

    number: int
    request: Request
    fault: Fault
    answer: Answer | None
    late: bool = False

    def __str__(self) -> str:
        when = "executed late" if self.late else describe_fault(self.fault)
        return f"{self.number}: {self.request.operation} {when}: {_short(self.answer)}"


@dataclass(frozen=True, slots=True)
class _DeliverNow:
    request: Request


@dataclass(frozen=True, slots=True)
class _RunAction:
    name: str


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    request: Request
    fault: ApplyLate
    due: float | None


_Attending = Generator["_DeliverNow | _RunAction", Any, Answer]


class _FaultBackend(Generic[B]):
    """What both backends share: the plan, the record, and the decision about each request."""

    def __init__(
        self,
        inner: B,
        plan: FaultPlan = NO_FAULTS,
        *,
        actions: Mapping[str, Action] | None = None,
        rates: FaultRates | None = None,
        seed: int = 0,
        monotonic: Callable[[], float] | None = None,
        traits: EndpointTraits | None = None,
    ) -> None:
        _require_reach(plan)
        self._inner: B = inner
        self._progress = PlanProgress(plan)
        self._actions: dict[str, Action] = dict(actions or {})
        self._rates = rates
        self._chance = random.Random(seed)
        self._monotonic = monotonic
        self._traits = inner.traits if traits is None else traits
        self._guard = threading.Lock()
        self._number = 0
        self._kept: list[_Kept] = []
        self._records: deque[Met] = deque(maxlen=RECORDS_MAX)

    @property
    def traits(self) -> EndpointTraits:
        return self._traits

    @property
    def met(self) -> tuple[Met, ...]:
        """What each request met, in the order in which they ended."""
        return tuple(self._records)

    @property
    def waiting(self) -> tuple[Request, ...]:
        """The requests that are kept to be executed late."""
        return tuple(kept.request for kept in self._kept)

    def follow(self, plan: FaultPlan, *, actions: Mapping[str, Action] | None = None) -> None:
        """Begin another plan, counted from the next request on. Requests that are kept stay so."""
        _require_reach(plan)
        with self._guard:
            self._progress = PlanProgress(plan)
            self._actions.update(actions or {})

    def _attend(self, request: Request) -> _Attending:
        with self._guard:
            self._number += 1
            number = self._number
            step = self._progress.step_for(request)
            fault = self._chosen(step, request)
        told: Answer | None = None
        try:
            yield from self._run_actions(step.before if step is not None else ())
            answer = yield from self._meet(number, request, fault)
            yield from self._run_actions(step.after if step is not None else ())
            told = answer
        finally:
            with self._guard:
                self._records.append(Met(number, request, fault, told))
        return answer

    def _chosen(self, step: Step | None, request: Request) -> Fault:
        if step is not None:
            return step.fault
        if self._rates is None or not self._rates.where.fits(request):
            return Deliver()
        return self._rates.fault_for(self._chance.random())

    def _run_actions(self, names: tuple[str, ...]) -> Generator[_RunAction, Any, None]:
        for name in names:
            if name not in self._actions:
                raise KeyError(f"the fault plan names an action that was not given: {name!r}")
            yield _RunAction(name)

    def _meet(self, number: int, request: Request, fault: Fault) -> _Attending:
        match fault:
            case Deliver():
                return (yield from _deliver(request))
            case NotSentAtAll():
                return NotSent("the connection was refused, by a fault plan")
            case LoseRequest():
                return NoAnswer("no answer: the request was lost, by a fault plan")
            case LoseAnswer():
                yield _DeliverNow(request)
                return NoAnswer("no answer: the answer was lost, by a fault plan")
            case DamageAnswer():
                yield _DeliverNow(request)
                return NoAnswer("the answer was damaged, by a fault plan")
            case ServerError(applied=applied, status=status):
                if applied:
                    yield _DeliverNow(request)
                return Rejection("InternalServerError", "the service failed, by a fault plan", status)
            case ApplyLate(after_seconds=seconds):
                self._keep(number, request, fault, seconds)
                return NoAnswer("no answer yet: the request is under way, by a fault plan")
            case Throttle() | Conflict() | InProgress() | Reject():
                return _refusal(request, fault)
            case SendTwice(applied=applied, then=then):
                if applied:
                    yield _DeliverNow(request)
                second: Answer = _refusal(request, then) if then is not None else (yield from _deliver(request))
                return marked_as_resent(second)
            case HideItem():
                return without_items((yield from _deliver(request)))
            case HoldOpen() | ReadStale() | ReadInParts():
                raise AssertionError("such a plan was refused")
            case _:
                assert_never(fault)

    def _keep(self, number: int, request: Request, fault: ApplyLate, seconds: float | None) -> None:
        if seconds is not None and self._monotonic is None:
            raise ValueError("a request is to be executed after some seconds, and the fault backend was given no clock: pass monotonic=")
        due = None if seconds is None or self._monotonic is None else self._monotonic() + seconds
        with self._guard:
            self._kept.append(_Kept(number, request, fault, due))

    def _take_due(self) -> list[_Kept]:
        """The kept requests whose time has come; they leave the list."""
        if self._monotonic is None or not self._kept:
            return []
        now = self._monotonic()
        with self._guard:
            due = [kept for kept in self._kept if kept.due is not None and kept.due <= now]
            self._kept = [kept for kept in self._kept if kept not in due]
        return due

    def _take_all(self) -> list[_Kept]:
        with self._guard:
            kept, self._kept = self._kept, []
        return kept

    def _record_late(self, kept: _Kept, answer: Answer) -> None:
        with self._guard:
            self._records.append(Met(kept.number, kept.request, kept.fault, answer, late=True))


class FaultBackend(_FaultBackend[Backend]):
    """A blocking backend with faults around another one.

    ``actions`` gives what the names in the plan's steps do. Where no step is due, ``rates`` draws a fault by ``seed``:
    the same seed and order of requests give the same faults. ``monotonic`` is the clock for requests that are executed
    some seconds late: each is executed before the first request that comes after its time. ``traits`` replaces what is
    known of the endpoint. Safe between threads.
    """

    def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt through the plan."""
        for kept in self._take_due():
            self._record_late(kept, self._inner.send(kept.request, timeout))
        attending = self._attend(request)
        value: object = None
        try:
            asked = next(attending)
            while True:
                try:
                    value = self._perform(asked, timeout)
                except BaseException as error:  # noqa: BLE001 - the decisions pass it on
                    asked = attending.throw(error)
                else:
                    asked = attending.send(value)
        except StopIteration as answered:
            answer: Answer = answered.value
            return answer

    def _perform(self, asked: _DeliverNow | _RunAction, timeout: float) -> object:
        if isinstance(asked, _DeliverNow):
            return self._inner.send(asked.request, timeout)
        return _as_another(self._actions[asked.name])

    def release(self) -> tuple[Answer, ...]:
        """Execute the kept requests now, in the order in which they were sent; returns the answers that nobody gets."""
        answers: list[Answer] = []
        for kept in self._take_all():
            answer = self._inner.send(kept.request, TIMEOUT_LATE_SECONDS)
            self._record_late(kept, answer)
            answers.append(answer)
        return tuple(answers)

    def close(self) -> None:
        self._inner.close()


class AsyncFaultBackend(_FaultBackend[AsyncBackend]):
    """The same, awaited."""

    async def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt through the plan."""
        for kept in self._take_due():
            self._record_late(kept, await self._inner.send(kept.request, timeout))
        attending = self._attend(request)
        value: object = None
        try:
            asked = next(attending)
            while True:
                try:
                    value = await self._perform(asked, timeout)
                except BaseException as error:  # noqa: BLE001 - the decisions pass it on
                    asked = attending.throw(error)
                else:
                    asked = attending.send(value)
        except StopIteration as answered:
            answer: Answer = answered.value
            return answer

    async def _perform(self, asked: _DeliverNow | _RunAction, timeout: float) -> object:
        if isinstance(asked, _DeliverNow):
            return await self._inner.send(asked.request, timeout)
        result = _as_another(self._actions[asked.name])
        return await result if isinstance(result, Awaitable) else result  # pyright: ignore[reportUnknownVariableType]

    async def release(self) -> tuple[Answer, ...]:
        """Execute the kept requests now, in the order in which they were sent; returns the answers that nobody gets."""
        answers: list[Answer] = []
        for kept in self._take_all():
            answer = await self._inner.send(kept.request, TIMEOUT_LATE_SECONDS)
            self._record_late(kept, answer)
            answers.append(answer)
        return tuple(answers)

    async def close(self) -> None:
        await self._inner.close()


def _require_reach(plan: FaultPlan) -> None:
    """Raises ``ValueError`` for what no backend around another one can do."""
    beyond = next((step for step in plan.steps if step.needs_world), None)
    if beyond is not None:
        raise ValueError(f"only a simulated world can do this: {beyond}")


def _as_another(action: Action) -> object:
    """Others write in a context of their own: what they apply is no write of the body that waits for its answer."""
    return Context().run(action)


def _deliver(request: Request) -> _Attending:
    answer: Answer = yield _DeliverNow(request)
    return answer


def _refusal(request: Request, fault: Throttle | Conflict | InProgress | Reject) -> Rejection:
    match fault:
        case Throttle(code=code):
            return Rejection(code, "throttled by a fault plan")
        case Conflict():
            return _conflict(request)
        case InProgress():
            return Rejection("TransactionInProgressException", "in progress, by a fault plan")
        case Reject(code=code, message=message, status=status):
            return Rejection(code, message, status)
        case _:
            assert_never(fault)


def _conflict(request: Request) -> Rejection:
    if request.operation not in ("TransactWriteItems", "TransactGetItems"):
        return Rejection("TransactionConflictException", "a transaction is ongoing for the item, by a fault plan")
    reasons = (Reason("TransactionConflict", "a transaction is ongoing for the item"),) + (Reason("None"),) * (len(tuple(actions_of(request))) - 1)
    return Rejection("TransactionCanceledException", "cancelled by a fault plan", reasons=reasons)


def _short(answer: Answer | None) -> str:
    match answer:
        case None:
            return "interrupted"
        case Success():
            return "answered"
        case Rejection(code=code):
            return code
        case NoAnswer():
            return "no answer"
        case NotSent():
            return "not sent"
        case _:
            assert_never(answer)
