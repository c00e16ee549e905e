"""Fault plans: which request a step is about, in which order steps count, and how they read."""

from __future__ import annotations

from typing import Any

import pytest

from surewrite.core.requests import Request
from surewrite.testing.faults import (
    ITEM_OPERATIONS,
    NO_FAULTS,
    WRITES,
    ApplyLate,
    Cancel,
    Conflict,
    Crash,
    DamageAnswer,
    Deliver,
    Fault,
    FaultPlan,
    FaultRates,
    Freeze,
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
    Where,
    describe_fault,
)

PUT = Request("PutItem", {"TableName": "shop", "Item": {"pk": {"S": "A#1"}, "sk": {"S": "X"}, "note": {"L": [{"S": "deep text"}]}}})
GET = Request("GetItem", {"TableName": "shop", "Key": {"pk": {"S": "A#1"}, "sk": {"S": "X"}}})
TRANSACTION = Request("TransactWriteItems", {"TransactItems": [{"Put": PUT.body}, {"Delete": {"TableName": "other", "Key": {"pk": {"N": "7"}}}}]})


@pytest.mark.parametrize(
    ("where", "fits"),
    [
        (Where(), "put get transaction"),
        (Where(operations=WRITES), "put transaction"),
        (Where(operations=("GetItem",)), "get"),
        (Where(table="shop"), "put get transaction"),
        (Where(table="other"), "transaction"),
        (Where(key=(("pk", "A#1"),)), "put get transaction"),
        (Where(key=(("pk", "A#1"), ("sk", "X"))), "put get transaction"),
        (Where(key=(("pk", "7"),)), "transaction"),
        (Where(table="shop", key=(("pk", "7"),)), ""),
        (Where(key=(("pk", "A#2"),)), ""),
        (Where(mentions="deep"), "put transaction"),
        (Where(operations=WRITES, mentions="nowhere"), ""),
    ],
)
def test_a_place_fits_the_requests_that_it_names(where: Where, fits: str) -> None:
    found = [name for name, request in (("put", PUT), ("get", GET), ("transaction", TRANSACTION)) if where.fits(request)]
    assert found == fits.split()


def faults_met(plan: FaultPlan, *requests: Request) -> list[Fault | None]:
    progress = PlanProgress(plan)
    steps = [progress.step_for(request) for request in requests]
    return [None if step is None else step.fault for step in steps]


def test_a_step_is_about_the_nth_fitting_request() -> None:
    plan = FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",)), nth=2),))
    assert faults_met(plan, PUT, GET, PUT, PUT) == [None, None, LoseAnswer(), None]


def test_a_step_lasts_for_as_many_requests_as_it_says() -> None:
    assert faults_met(FaultPlan((Step(Throttle(), nth=2, times=2),)), GET, GET, GET, GET) == [None, Throttle(), Throttle(), None]
    assert faults_met(FaultPlan((Step(Throttle(), nth=2, times=None),)), GET, GET, GET) == [None, Throttle(), Throttle()]


def test_the_first_step_that_is_due_is_taken_and_all_that_fit_count() -> None:
    plan = FaultPlan((Step(LoseAnswer()), Step(LoseRequest()), Step(Throttle(), nth=2)))
    assert faults_met(plan, PUT, PUT, PUT) == [LoseAnswer(), Throttle(), None]


def test_plans_are_values() -> None:
    one, other = (FaultPlan((Step(LoseAnswer(), Where(key=(("pk", "a"),))),)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != NO_FAULTS


FAULTS: tuple[Fault, ...] = (
    Deliver(),
    NotSentAtAll(),
    LoseRequest(),
    LoseAnswer(),
    DamageAnswer(),
    ServerError(applied=True),
    ServerError(applied=False),
    ApplyLate(),
    ApplyLate(30),
    Throttle(),
    Conflict(),
    InProgress(),
    Reject("AccessDeniedException"),
    SendTwice(),
    SendTwice(applied=False),
    SendTwice(then=Throttle()),
    HideItem(),
    HoldOpen(),
    ReadStale(),
    ReadInParts(),
)


def test_every_fault_reads_differently() -> None:
    assert len({describe_fault(fault) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (NO_FAULTS, "no faults"),
        (FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",)), nth=2),)), "PutItem 2: is executed, its answer is lost"),
        (FaultPlan((Step(Throttle(), times=None),)), "every request: is throttled"),
        (FaultPlan((Step(Throttle(), nth=3, times=None),)), "request 3 and later: is throttled"),
        (FaultPlan((Step(Throttle(), Where(table="shop"), times=3),)), "request in shop 1 to 3: is throttled"),
        (
            FaultPlan((Step(Deliver(), Where(key=(("pk", "a"),), mentions="x"), before=("bob writes",), after=("stop",)),)),
            "request on pk=a that mentions 'x' 1: is delivered; before it: bob writes; after it: stop",
        ),
        (FaultPlan((Step(Deliver(), befalls=Crash()),)), "request 1: is delivered; its client crashes"),
        (FaultPlan((Step(LoseAnswer(), befalls=Cancel(0.5)),)), "request 1: is executed, its answer is lost; its client is cancelled after 0.5 seconds"),
        (FaultPlan((Step(LoseRequest(), befalls=Freeze(60, 1)),)), "request 1: is lost; its client stands still for 60 seconds after 1 seconds"),
    ],
)
def test_a_plan_reads_as_a_line_a_step(plan: FaultPlan, text: str) -> None:
    assert str(plan) == text


def test_rates_share_out_the_numbers_from_zero_to_one() -> None:
    rates = FaultRates(lose_request=0.1, lose_answer=0.2, error_after=0.3, throttle=0.1)
    faults: list[Any] = [rates.fault_for(number) for number in (0.0, 0.09, 0.11, 0.29, 0.31, 0.59, 0.61, 0.69, 0.71, 0.99)]
    assert faults == [LoseRequest()] * 2 + [LoseAnswer()] * 2 + [ServerError(applied=True)] * 2 + [Throttle()] * 2 + [Deliver()] * 2
    assert FaultRates().fault_for(0.0) == Deliver()
    assert set(rates.where.operations) == set(ITEM_OPERATIONS)


@pytest.mark.parametrize("rates", [{"throttle": -0.1}, {"lose_answer": 0.6, "lose_request": 0.6}])
def test_rates_that_are_no_shares_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        FaultRates(**rates)
