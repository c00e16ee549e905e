"""Every verb under every fault that one item can meet, with other writers in between: the word is the guarantee table's, and what is stored agrees."""

from __future__ import annotations

import asyncio

import pytest
from tests.schedules.verbs import BETWEEN, VERBS, Verb, between_action
from tests.schedules.world import World

import surewrite as sw
from surewrite.testing.faults import (
    WRITES,
    ApplyLate,
    Conflict,
    DamageAnswer,
    Deliver,
    Fault,
    LoseAnswer,
    LoseRequest,
    NotSentAtAll,
    Reject,
    SendTwice,
    ServerError,
    Step,
    Throttle,
    Where,
)

ON_WRITES = Where(operations=WRITES)

DOUBTS: dict[str, tuple[Fault, bool]] = {
    "answer lost": (LoseAnswer(), True),
    "answer damaged": (DamageAnswer(), True),
    "500 after": (ServerError(applied=True), True),
    "request lost": (LoseRequest(), False),
    "500 before": (ServerError(applied=False), False),
    "applied late": (ApplyLate(), False),
}
DEFINITE: dict[str, Fault] = {
    "throttled": Throttle(),
    "access denied": Reject("AccessDeniedException"),
    "expired token": Reject("ExpiredTokenException"),
    "table gone": Reject("ResourceNotFoundException"),
    "malformed": Reject("ValidationException", "Item size to update has exceeded the maximum allowed size"),
    "conflict": Conflict(),
    "not sent": NotSentAtAll(),
}
ERRORS: dict[str, type[sw.SurewriteError]] = {
    "throttled": sw.Throttled,
    "access denied": sw.InvalidRequest,
    "expired token": sw.InvalidRequest,
    "table gone": sw.InvalidRequest,
    "malformed": sw.InvalidRequest,
    "conflict": sw.TransactionConflict,
    "not sent": sw.ConnectionFailed,
}
every_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)


def named(name: str) -> Verb:
    return next(verb for verb in VERBS if verb.name == name)


def check_word_is_true(world: World, verb: Verb, word: str) -> None:
    """What no word may deny, also once every request under way has been executed."""
    for _ in range(2):
        if word == "once":
            assert world.effects >= 1
        if word == "applied":
            assert world.effects >= 1
        if word.isupper() or word == "canceled":
            assert world.effects == 0
        if word == "once" or verb.at_most_once:
            assert world.most_effects_on_one_life <= 1
        world.release()


@every_verb
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("doubt", DOUBTS)
def test_the_word_is_that_of_the_guarantee_table_and_true(world: World, verb: Verb, doubt: str, between: str) -> None:
    loaded = verb.prepare(world)
    fault, took_effect = DOUBTS[doubt]
    act = between_action(world, verb.entity, between)
    world.follow(Step(fault, ON_WRITES), Step(Deliver(), ON_WRITES, nth=2, before=("between",)), between=act)
    word = verb.call(world, loaded)
    assert word == verb.word(took_effect, between)
    if between == "nothing" and word in ("once", "applied", "modified") and "delete" not in verb.name:
        stored = world.item(verb.key)
        assert stored is not None
        assert "client" in stored["_s"]["S"]
    check_word_is_true(world, verb, word)


@every_verb
@pytest.mark.parametrize("doubt", ["answer lost", "request lost"])
@pytest.mark.parametrize("definite", DEFINITE)
def test_a_definite_answer_to_a_resend_does_not_clear_the_doubt(world: World, verb: Verb, doubt: str, definite: str) -> None:
    loaded = verb.prepare(world)
    world.follow(Step(DOUBTS[doubt][0], ON_WRITES), Step(DEFINITE[definite], ON_WRITES, nth=2, times=None))
    word = verb.call(world, loaded)
    assert word == "unknown"
    check_word_is_true(world, verb, word)


@every_verb
@pytest.mark.parametrize("definite", DEFINITE)
def test_a_definite_answer_without_doubt_is_told_as_what_it_is(world: World, verb: Verb, definite: str) -> None:
    loaded = verb.prepare(world)
    world.follow(Step(DEFINITE[definite], ON_WRITES, times=None))
    with pytest.raises(ERRORS[definite]):
        verb.call(world, loaded)
    world.release()
    assert world.effects == 0


@every_verb
@pytest.mark.parametrize("definite", ["throttled", "conflict", "not sent"])
def test_a_passing_obstacle_is_waited_out_and_leaves_no_doubt(world: World, verb: Verb, definite: str) -> None:
    loaded = verb.prepare(world)
    world.follow(Step(DEFINITE[definite], ON_WRITES, times=3))
    assert verb.call(world, loaded) in ("once", "modified")
    assert world.effects == 1


@every_verb
@pytest.mark.parametrize("then", [Throttle(), Conflict(), Reject("AccessDeniedException")], ids=["throttled", "conflict", "access denied"])
def test_what_the_transport_sent_twice_by_itself_is_in_doubt(world: World, verb: Verb, then: Throttle | Conflict | Reject) -> None:
    loaded = verb.prepare(world)
    world.follow(Step(SendTwice(applied=True, then=then), ON_WRITES), Step(then, ON_WRITES, nth=2, times=None))
    word = verb.call(world, loaded)
    assert word == "unknown"
    check_word_is_true(world, verb, word)


@pytest.mark.parametrize("name", ["update with add", "update with append", "update ignore_version"])
@pytest.mark.parametrize("then", [Throttle(), Conflict()], ids=["throttled", "conflict"])
def test_a_write_that_is_not_idempotent_is_not_sent_again_after_a_hidden_resend(world: World, name: str, then: Throttle | Conflict) -> None:
    verb = named(name)
    loaded = verb.prepare(world)
    world.follow(Step(SendTwice(applied=True, then=then), ON_WRITES))
    assert verb.call(world, loaded) == "unknown"
    assert world.effects == 1


@pytest.mark.parametrize("definite", ["access denied", "table gone", "malformed", "throttled", "conflict", "not sent"])
@pytest.mark.parametrize("doubt", ["answer lost", "request lost"])
def test_a_transaction_is_settled_after_one_definite_answer_in_doubt(world: World, doubt: str, definite: str) -> None:
    verb = named("transaction")
    loaded = verb.prepare(world)
    world.follow(Step(DOUBTS[doubt][0], ON_WRITES), Step(DEFINITE[definite], ON_WRITES, nth=2))
    word = verb.call(world, loaded)
    passes = definite in ("throttled", "conflict", "not sent")
    assert word == ("once" if doubt == "answer lost" or passes else "canceled")
    check_word_is_true(world, verb, word)


@every_verb
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("order", ["others, then the late attempt", "the late attempt, then others"])
def test_the_word_is_true_where_a_late_attempt_lands_before_the_resend(world: World, verb: Verb, between: str, order: str) -> None:
    loaded = verb.prepare(world)
    acts = ("between", "release") if order == "others, then the late attempt" else ("release", "between")
    world.follow(
        Step(ApplyLate(), ON_WRITES),
        Step(Deliver(), ON_WRITES, nth=2, before=acts),
        between=between_action(world, verb.entity, between),
        release=world.faults.release,
    )
    word = verb.call(world, loaded)
    if order == "the late attempt, then others":
        assert word == verb.word(took_effect=True, between=between)
    check_word_is_true(world, verb, word)


INTERRUPTED: dict[str, tuple[Fault, int, int]] = {
    "it lands": (Deliver(), 1, 1),
    "it lands late": (ApplyLate(), 0, 1),
    "it never lands": (LoseRequest(), 0, 0),
}


@every_verb
@pytest.mark.parametrize("fate", INTERRUPTED)
def test_r13_an_interrupted_write_carries_its_plan_and_sends_nothing_more(world: World, verb: Verb, fate: str) -> None:
    loaded = verb.prepare(world)
    fault, effects_at_once, effects_at_last = INTERRUPTED[fate]
    world.follow(Step(fault, ON_WRITES, after=("interrupt",)), interrupt=world.interrupt)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)) as raised:
        verb.call(world, loaded)
    assert world.effects == effects_at_once
    world.release()
    assert world.effects == effects_at_last
    assert [request.operation for request in world.watched.sent if request.operation in WRITES][1:] == []
    assert hasattr(raised.value, "plan")
    assert "may have taken effect" in " ".join(raised.value.__notes__)
