"""The fault backend does to each request what the plan says, the same for both clients, and tells what it did."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.backends.embedded import AsyncEmbeddedBackend, EmbeddedBackend, open_embedded
from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.testing.fault_backend import AsyncFaultBackend, FaultBackend
from surewrite.testing.faults import (
    NO_FAULTS,
    ApplyLate,
    Conflict,
    Crash,
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
    ReadInParts,
    ReadStale,
    Reject,
    SendTwice,
    ServerError,
    Step,
    Throttle,
    Where,
)

ON_PUT = Where(operations=("PutItem",))


class Bench:
    """A table in memory behind a fault backend of either kind."""

    def __init__(self, kind: str, plan: FaultPlan, **options: Any) -> None:
        self.service = open_embedded("memory:")
        self.service.execute(
            "CreateTable",
            {
                "TableName": "things",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            },
        )
        self._runner = asyncio.Runner() if kind == "asyncio" else None
        self.backend: Any = (
            FaultBackend(EmbeddedBackend(self.service), plan, **options)
            if self._runner is None
            else AsyncFaultBackend(AsyncEmbeddedBackend(self.service), plan, **options)
        )

    def wait(self, result: Any) -> Any:
        if not inspect.isawaitable(result):
            return result
        assert self._runner is not None

        async def waiting() -> Any:
            return await result

        return self._runner.run(waiting())

    def put(self, value: str = "a", condition: str | None = None) -> Answer:
        body: dict[str, Any] = {"TableName": "things", "Item": {"pk": {"S": "k"}, "value": {"S": value}}}
        if condition is not None:
            body |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        answer: Answer = self.wait(self.backend.send(Request("PutItem", body), 1.0))
        return answer

    def transact(self) -> Answer:
        put = {"Put": {"TableName": "things", "Item": {"pk": {"S": "k"}}}}
        other = {"Put": {"TableName": "things", "Item": {"pk": {"S": "l"}}}}
        answer: Answer = self.wait(self.backend.send(Request("TransactWriteItems", {"TransactItems": [put, other]}), 1.0))
        return answer

    def release(self) -> Any:
        return self.wait(self.backend.release())

    @property
    def stored(self) -> str | None:
        item = self.service.execute("GetItem", {"TableName": "things", "Key": {"pk": {"S": "k"}}}).get("Item")
        return None if item is None else item["value"]["S"]

    def close(self) -> None:
        self.wait(self.backend.close())
        if self._runner is not None:
            self._runner.close()


MakeBench = Callable[..., Bench]


@pytest.fixture(params=["blocking", "asyncio"])
def make_bench(request: pytest.FixtureRequest) -> Iterator[MakeBench]:
    made: list[Bench] = []

    def make(*steps: Step, **options: Any) -> Bench:
        made.append(Bench(request.param, FaultPlan(steps), **options))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.mark.parametrize("step", [Step(HoldOpen()), Step(ReadStale()), Step(ReadInParts()), Step(Deliver(), befalls=Crash())], ids=str)
def test_what_only_a_simulated_world_can_do_is_refused(make_bench: MakeBench, step: Step) -> None:
    with pytest.raises(ValueError, match="only a simulated world"):
        make_bench(step)
    with pytest.raises(ValueError, match="only a simulated world"):
        make_bench().backend.follow(FaultPlan((step,)))


@pytest.mark.parametrize(
    ("fault", "answer", "executed"),
    [
        (Deliver(), Success, True),
        (NotSentAtAll(), NotSent, False),
        (LoseRequest(), NoAnswer, False),
        (LoseAnswer(), NoAnswer, True),
        (DamageAnswer(), NoAnswer, True),
        (ServerError(applied=True), "InternalServerError", True),
        (ServerError(applied=False), "InternalServerError", False),
        (ApplyLate(), NoAnswer, False),
        (Throttle(), "ProvisionedThroughputExceededException", False),
        (Throttle("ThrottlingException"), "ThrottlingException", False),
        (Conflict(), "TransactionConflictException", False),
        (InProgress(), "TransactionInProgressException", False),
        (Reject("AccessDeniedException"), "AccessDeniedException", False),
        (SendTwice(), Success, True),
        (SendTwice(applied=False), Success, True),
        (SendTwice(then=Throttle()), "ProvisionedThroughputExceededException", True),
        (SendTwice(applied=False, then=Throttle()), "ProvisionedThroughputExceededException", False),
        (HideItem(), Success, True),
    ],
)
def test_a_fault_does_what_it_says(make_bench: MakeBench, fault: Fault, answer: type | str, executed: bool) -> None:
    bench = make_bench(Step(fault))
    found = bench.put()
    if isinstance(answer, str):
        assert isinstance(found, Rejection)
        assert found.code == answer
    else:
        assert isinstance(found, answer)
    assert (bench.stored is not None) is executed
    assert getattr(found, "resent", False) is isinstance(fault, SendTwice)
    assert isinstance(bench.put("b"), Success)
    assert [(met.number, met.fault) for met in bench.backend.met] == [(1, fault), (2, Deliver())]


def test_a_conflict_cancels_a_transaction_with_a_reason_for_each_action(make_bench: MakeBench) -> None:
    found = make_bench(Step(Conflict())).transact()
    assert isinstance(found, Rejection)
    assert found.code == "TransactionCanceledException"
    assert [reason.code for reason in found.reasons] == ["TransactionConflict", "None"]


def test_a_hidden_item_is_missing_from_the_refusal_only(make_bench: MakeBench) -> None:
    bench = make_bench(Step(HideItem(), ON_PUT, nth=2))
    bench.put()
    hidden, shown = bench.put(condition="attribute_not_exists(pk)"), bench.put(condition="attribute_not_exists(pk)")
    assert isinstance(hidden, Rejection)
    assert isinstance(shown, Rejection)
    assert (hidden.code, hidden.item) == (shown.code, None)
    assert shown.item is not None


def test_a_kept_request_is_executed_on_release_once(make_bench: MakeBench) -> None:
    bench = make_bench(Step(ApplyLate()))
    bench.put("late")
    bench.put("now")
    assert len(bench.backend.waiting) == 1
    assert [type(answer) for answer in bench.release()] == [Success]
    assert bench.stored == "late"
    assert (bench.release(), bench.backend.waiting) == ((), ())
    assert [met.late for met in bench.backend.met] == [False, False, True]


def test_a_kept_request_is_executed_before_the_first_request_after_its_time(make_bench: MakeBench) -> None:
    now = [0.0]
    bench = make_bench(Step(ApplyLate(10.0)), monotonic=lambda: now[0])
    bench.put("late")
    now[0] = 9.9
    bench.put("early enough")
    assert bench.stored == "early enough"
    now[0] = 10.0
    assert isinstance(bench.put("third", condition="attribute_not_exists(pk)"), Rejection)
    assert bench.stored == "late"


def test_a_request_that_is_to_be_late_needs_a_clock(make_bench: MakeBench) -> None:
    with pytest.raises(ValueError, match="no clock"):
        make_bench(Step(ApplyLate(10.0))).put()


def test_actions_run_before_and_after_their_request(make_bench: MakeBench) -> None:
    seen: list[str | None] = []
    bench = make_bench(Step(Deliver(), before=("look",), after=("look", "look")), actions={"look": lambda: seen.append(bench.stored)})
    bench.put()
    assert seen == [None, "a", "a"]


def test_an_action_of_the_async_backend_is_awaited(make_bench: MakeBench) -> None:
    bench = make_bench()
    plan = FaultPlan((Step(ApplyLate()), Step(Deliver(), nth=2, before=("release",))))
    bench.backend.follow(plan, actions={"release": bench.backend.release})
    bench.put("late")
    bench.put("now")
    assert bench.stored == "now"
    assert [met.late for met in bench.backend.met] == [False, True, False]


def test_an_action_runs_in_a_context_of_its_own(make_bench: MakeBench) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    bench = make_bench(Step(Deliver(), before=("look",)), actions={"look": lambda: seen.append(variable.get())})
    token = variable.set("caller")
    bench.put()
    variable.reset(token)
    assert seen == ["nobody"]


def test_an_action_that_raises_interrupts_the_request_and_is_recorded(make_bench: MakeBench) -> None:
    def fail() -> None:
        raise LookupError("by the test")

    bench = make_bench(Step(Deliver(), after=("fail",)), actions={"fail": fail})
    with pytest.raises(LookupError):
        bench.put()
    assert bench.stored == "a"
    assert [str(met) for met in bench.backend.met] == ["1: PutItem is delivered: interrupted"]


def test_a_plan_that_names_an_unknown_action_is_an_error(make_bench: MakeBench) -> None:
    with pytest.raises(KeyError, match="was not given"):
        make_bench(Step(Deliver(), before=("nobody",))).put()


def test_another_plan_counts_from_the_next_request(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.put()
    bench.backend.follow(FaultPlan((Step(LoseRequest(), ON_PUT),)))
    assert isinstance(bench.put("b"), NoAnswer)
    bench.backend.follow(NO_FAULTS)
    assert isinstance(bench.put("c"), Success)


def by_chance(make_bench: MakeBench, seed: int, rates: FaultRates) -> list[Fault]:
    bench = make_bench(rates=rates, seed=seed)
    for number in range(400):
        bench.put(str(number))
    return [met.fault for met in bench.backend.met]


def test_faults_by_chance_come_at_their_rates_and_repeat_with_their_seed(make_bench: MakeBench) -> None:
    rates = FaultRates(lose_request=0.1, lose_answer=0.2, error_after=0.1, throttle=0.1)
    first = by_chance(make_bench, 7, rates)
    assert first == by_chance(make_bench, 7, rates)
    assert first != by_chance(make_bench, 8, rates)
    assert 50 <= first.count(LoseAnswer()) <= 110
    assert 20 <= first.count(LoseRequest()) <= 65
    assert 160 <= first.count(Deliver()) <= 240


def test_faults_by_chance_spare_what_they_are_not_about_and_draw_nothing_for_it(make_bench: MakeBench) -> None:
    rates = FaultRates(lose_request=1.0, where=Where(operations=("PutItem",)))
    bench = make_bench(rates=rates)
    assert isinstance(bench.transact(), Success)
    assert isinstance(bench.put(), NoAnswer)


def test_a_step_of_the_plan_goes_before_chance(make_bench: MakeBench) -> None:
    bench = make_bench(Step(Deliver(), ON_PUT), rates=FaultRates(lose_request=1.0))
    assert isinstance(bench.put(), Success)
    assert isinstance(bench.put("b"), NoAnswer)


def test_traits_are_those_of_the_endpoint_unless_replaced(make_bench: MakeBench) -> None:
    bench = make_bench()
    assert bench.backend.traits.old_item is True
    other = make_bench(traits=replace(bench.backend.traits, old_item=None))
    assert other.backend.traits.old_item is None


class Note(Entity, partition_key="{id}"):
    id: Attribute[str]


def test_connect_takes_it() -> None:
    backend = FaultBackend(EmbeddedBackend(open_embedded("memory:")), FaultPlan((Step(LoseAnswer(), ON_PUT),)))
    clock = sw.Clock(sleep=lambda seconds: None)
    notes = sw.connect(backend, clock=clock).table("notes", key=("pk",), discriminator=None)
    notes.create_table(Note)
    assert notes.of(Note).try_create(Note(id="a")).recovered
