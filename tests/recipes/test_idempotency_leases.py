"""Effects elsewhere under a claim: the policy says which way to be wrong, only the owner ends a claim, and done stays done."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite.recipes.effect_answers import EffectClaim, EffectNotKnown, EffectRunning, EffectStillRunning, EffectUnknown, LeaseLost
from surewrite.recipes.idempotency import Idempotency
from surewrite.recipes.idempotency_leases import LeasedEffects
from surewrite.recipes.idempotency_records import AnswerNotKept, EffectDone, IdempotencyKeyReused, IdempotencyRecord
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Reject, ServerError, Step, Where

WRITES = Where(operations=("PutItem", "UpdateItem", "TransactWriteItems"))
KEY = IdempotencyRecord.key_of("send", "r1")


class Mails:
    """Something elsewhere that no transaction reaches."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def __call__(self, claim: EffectClaim) -> str:
        self.sent.append(claim.attempt)
        return f"mail {len(self.sent)}"


def run(world: World, operation: Any) -> Any:
    result = world.db.run(operation)
    return world.run(result) if world.kind == "asyncio" else result


def sending(world: World, after_lost: Any = "retake", **settings: Any) -> LeasedEffects:
    return LeasedEffects(world.db.table(TABLE), "send", after_lost=after_lost, **settings)


def elsewhere(world: World, after_lost: Any = "retake", **settings: Any) -> LeasedEffects:
    """The same for another process, whose requests meet no fault."""
    return LeasedEffects(world.other, "send", after_lost=after_lost, **settings)


# ------------------------------------------------------------------------------------------------- over every place


async def test_a_second_call_runs_nothing_and_answers_like_the_first(db, shop) -> None:
    effects, mails = LeasedEffects(shop, "send", after_lost="refuse"), Mails()
    first = await db.run(effects.run("r1", mails))
    second = await db.run(effects.run("r1", mails))
    assert (first.answer, first.repeated, second.answer, second.repeated) == ("mail 1", False, "mail 1", True)
    assert mails.sent == [1]


async def test_calls_side_by_side_run_the_effect_once(db, shop, together) -> None:
    effects, mails = LeasedEffects(shop, "send", after_lost="retake", lease_seconds=30.0), Mails()
    found = await together(*[lambda: db.run(effects.run("r1", mails))] * 4)
    assert mails.sent == [1]
    for outcome in found:
        assert isinstance(outcome, (EffectDone, EffectRunning))


async def test_a_payload_of_another_call_is_refused_whatever_the_state_of_the_record_is(db, shop) -> None:
    effects = LeasedEffects(shop, "send", after_lost="retake")
    claim = await db.run(effects.claim("r1", payload=1))
    with pytest.raises(IdempotencyKeyReused):
        await db.run(effects.claim("r1", payload=2))
    await db.run(effects.release(claim))
    with pytest.raises(IdempotencyKeyReused):
        await db.run(effects.claim("r1", payload=2))
    await db.run(effects.complete(await db.run(effects.claim("r1", payload=1)), "sent"))
    with pytest.raises(IdempotencyKeyReused):
        await db.run(effects.claim("r1"))


# ----------------------------------------------------------------------------------------------------- the two policies


def lost_call(world: World, effects: LeasedEffects, mails: Callable[[EffectClaim], Any]) -> None:
    """A call that dies after its effect, before it is recorded."""

    def runs_and_dies(claim: EffectClaim) -> None:
        mails(claim)
        world.interrupt()

    with pytest.raises(BaseException):  # noqa: B017, PT011 - Control-C or a cancellation
        run(world, effects.run("r1", runs_and_dies))


def test_retake_runs_the_effect_of_a_lost_call_again_when_its_lease_has_ended(world: World) -> None:
    effects, mails = sending(world, "retake", lease_seconds=60.0), Mails()
    lost_call(world, effects, mails)
    world.time.advance(59.0)
    waiting = run(world, effects.run("r1", mails))
    assert isinstance(waiting, EffectRunning)
    assert 0.0 < waiting.seconds_left <= 1.0
    world.time.advance(2.0)
    assert run(world, effects.run("r1", mails)).answer == "mail 2"
    assert mails.sent == [1, 2]


def test_refuse_never_runs_it_again_and_tells_that_the_outcome_is_not_known(world: World) -> None:
    effects, mails = sending(world, "refuse", lease_seconds=60.0), Mails()
    lost_call(world, effects, mails)
    world.time.advance(3600.0)
    for _ in range(2):
        assert isinstance(run(world, effects.run("r1", mails)), EffectNotKnown)
    assert mails.sent == [1]


@pytest.mark.parametrize(("says", "answer", "sent"), [("record_done", "seen in the outbox", [1]), ("allow_again", "mail 2", [1, 2])])
def test_a_person_settles_what_refuse_could_not(world: World, says: str, answer: str, sent: list[int]) -> None:
    effects, mails = sending(world, "refuse"), Mails()
    lost_call(world, effects, mails)
    say = (lambda: effects.record_done("r1", answer)) if says == "record_done" else (lambda: effects.allow_again("r1"))
    assert run(world, say()) is False, "the call may still be running"
    world.time.advance(61.0)
    assert run(world, say()) is True
    assert run(world, say()) is False
    assert run(world, effects.run("r1", mails)).answer == answer
    assert mails.sent == sent


def test_the_policy_must_be_chosen(world: World) -> None:
    with pytest.raises(TypeError):
        LeasedEffects(world.other, "send")  # type: ignore[call-arg]
    with pytest.raises(sw.InvalidRequest, match="at most once"):
        sending(world, "maybe")


def test_a_slow_first_owner_and_the_second_both_run_it_under_retake_and_the_first_is_told(world: World) -> None:
    """C2: no lease stops an effect elsewhere. The first owner raises although its effect ran; the answer is that of the second."""
    effects, mails = sending(world, "retake", lease_seconds=10.0), Mails()
    second = elsewhere(world, "retake")

    def slow(claim: EffectClaim) -> str:
        world.time.advance(11.0)
        world.other_db.run(second.run("r1", mails))
        return mails(claim)

    with pytest.raises(LeaseLost) as raised:
        run(world, effects.run("r1", slow))
    assert (raised.value.answer, raised.value.key) == ("mail 2", KEY)
    assert mails.sent == [2, 1]
    assert run(world, effects.run("r1", mails)).answer == "mail 1"


def test_an_owner_whose_lease_ended_but_whom_nobody_replaced_completes(world: World) -> None:
    effects = sending(world, "refuse", lease_seconds=10.0)
    claim = run(world, effects.claim("r1"))
    world.time.advance(100.0)
    assert isinstance(run(world, effects.claim("r1")), EffectNotKnown)
    assert run(world, effects.complete(claim, "sent")).answer == "sent"
    assert run(world, effects.claim("r1")).answer == "sent"


def test_a_renewed_lease_lasts_from_the_renewal_on(world: World) -> None:
    effects = sending(world, "retake", lease_seconds=10.0)
    claim = run(world, effects.claim("r1"))
    for _ in range(5):
        world.time.advance(9.0)
        assert run(world, effects.renew(claim)) is True
    assert isinstance(run(world, effects.claim("r1")), EffectRunning)
    world.time.advance(11.0)
    other = run(world, effects.claim("r1"))
    assert (other.attempt, other.owner != claim.owner) == (2, True)
    assert run(world, effects.renew(claim)) is False
    assert run(world, effects.release(claim)) is False


def test_a_lease_is_judged_by_the_services_clock_however_wrong_that_of_the_process_is(make_world: Any) -> None:
    world = make_world(ahead_seconds=3600.0)
    mine = elsewhere(world, "retake", lease_seconds=60.0)
    world.other_db.run(mine.claim("r1"))
    assert isinstance(run(world, sending(world, "retake").claim("r1")), EffectRunning)


def test_a_call_waits_for_the_running_one_within_its_bound(world: World) -> None:
    effects, other = sending(world, "retake", wait_seconds=20.0), elsewhere(world)
    claim = world.other_db.run(other.claim("r1"))
    world.time.on_wait = lambda: world.time.monotonic > 105.0 and world.other_db.run(other.complete(claim, "sent"))
    done = run(world, effects.claim("r1"))
    assert (done.answer, done.repeated) == ("sent", True)


# ----------------------------------------------------------------------------------------------------------- schedules


def test_a_claim_is_released_by_its_state_so_that_a_late_claim_finds_it_and_is_refused(world: World) -> None:
    """C2: claim attempt 1 hangs, attempt 2 claims, the handler raises, the claim is given back; then attempt 1 arrives."""
    effects = sending(world, "refuse", not_done=(ValueError,))

    def fails(_claim: EffectClaim) -> None:
        raise ValueError("refused by the mail service")

    world.follow(Step(ApplyLate(), WRITES, nth=1))
    with pytest.raises(ValueError, match="refused by the mail service"):
        run(world, effects.run("r1", fails))
    world.no_more_faults()
    world.release()
    item = world.item(KEY)
    assert item is not None
    assert item["state"] == {"S": "free"}
    mails = Mails()
    assert run(world, effects.run("r1", mails))
    assert mails.sent == [2]


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ServerError(applied=True)], ids=["answer lost", "request lost", "error after"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("after_lost", ["retake", "refuse"])
def test_a_lost_answer_to_the_claim_or_to_its_end_is_no_lost_claim(world: World, fault: Any, nth: int, after_lost: Any) -> None:
    effects, mails = sending(world, after_lost), Mails()
    world.follow(Step(fault, WRITES, nth=nth))
    assert run(world, effects.run("r1", mails)).answer == "mail 1"
    assert run(world, effects.run("r1", mails)).repeated
    assert mails.sent == [1]


def test_a_claim_whose_answers_are_all_lost_is_recognised_by_its_owner_id(world: World) -> None:
    effects, mails = sending(world, "refuse"), Mails()
    done_at: list[Any] = []
    world.follow(
        Step(LoseAnswer(), WRITES, times=None),
        Step(Deliver(), Where(operations=("GetItem",)), nth=2, after=("end of faults",)),
        **{"end of faults": lambda: done_at.append(world.no_more_faults())},
    )
    assert run(world, effects.run("r1", mails)).answer == "mail 1"
    assert mails.sent == [1]


def test_an_error_of_the_function_leaves_the_effect_in_doubt_under_refuse_and_free_under_retake(world: World) -> None:
    def fails(_claim: EffectClaim) -> None:
        raise OSError("the connection broke")

    for after_lost, key in (("refuse", "r1"), ("retake", "r2")):
        with pytest.raises(OSError, match="broke"):
            run(world, sending(world, after_lost).run(key, fails))
    assert isinstance(run(world, sending(world, "refuse").claim("r1")), EffectNotKnown)
    assert isinstance(run(world, sending(world, "retake").claim("r2")), EffectClaim)


def test_only_the_owner_ends_a_claim(world: World) -> None:
    effects = sending(world, "retake", lease_seconds=10.0)
    first = run(world, effects.claim("r1"))
    world.time.advance(11.0)
    second = run(world, effects.claim("r1"))
    with pytest.raises(LeaseLost):
        run(world, effects.complete(first, "of the first"))
    assert run(world, effects.complete(second, "of the second")).answer == "of the second"
    with pytest.raises(LeaseLost):
        run(world, effects.complete(first, "of the first"))
    assert run(world, effects.claim("r1")).answer == "of the second"


def test_completing_twice_is_completing_once(world: World) -> None:
    effects = sending(world)
    claim = run(world, effects.claim("r1"))
    run(world, effects.complete(claim, "sent"))
    assert run(world, effects.complete(claim, "sent")).answer == "sent"


# ------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(("large", "kept"), [("stub", False), ("parts", True)])
def test_an_answer_too_large_for_an_item_never_undoes_done(world: World, large: Any, kept: bool) -> None:
    effects = sending(world, large_answers=large)
    first = run(world, effects.run("r1", lambda _claim: "x" * 500_000))
    assert (len(first.answer), first.kept) == (500_000, kept)
    second = run(world, effects.claim("r1"))
    assert isinstance(second, EffectDone)
    assert second.repeated
    if kept:
        assert second.answer == first.answer
    else:
        with pytest.raises(AnswerNotKept):
            _ = second.answer


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize("answer", [object(), "half of a pair: \ud800", nested(100_000)], ids=["type", "text", "depth"])
def test_an_answer_that_cannot_be_kept_never_undoes_done(world: World, answer: Any) -> None:
    effects = sending(world)
    first = run(world, effects.run("r1", lambda _claim: answer))
    assert first.answer is answer
    assert first.kept is False
    assert run(world, effects.claim("r1")).kept is False


def test_answers_keep_their_types(world: World) -> None:
    effects = sending(world)
    run(world, effects.run("r1", lambda _claim: {"amount": Decimal("1.50")}))
    assert run(world, effects.claim("r1")).answer == {"amount": Decimal("1.50")}


# ---------------------------------------------------------------------------------------------------------- decorators


class Context:
    """What Lambda hands to a handler, as far as it matters here."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


def call(world: World, function: Callable[..., Any], *arguments: Any) -> Any:
    result = function(*arguments)
    return world.run(result) if world.kind == "asyncio" else result


def test_a_handler_runs_once_per_event_and_its_lease_is_the_time_that_it_has_left(world: World) -> None:
    effects, handled = sending(world, "retake", lease_seconds=900.0), [""]

    @effects.handler(world.db, key=lambda event: event["id"], payload=lambda event: event)
    def handle(event: dict[str, str], context: Context) -> dict[str, int]:
        assert context.seconds == 30.0
        handled.append(event["id"])
        if len(handled) == 2:
            world.interrupt()
        return {"count": len(handled)}

    with pytest.raises(BaseException):  # noqa: B017, PT011 - Control-C or a cancellation
        call(world, handle, {"id": "e1"}, Context(30.0))
    world.time.advance(30.5)
    with pytest.raises(EffectStillRunning) as raised:
        call(world, handle, {"id": "e1"}, Context(30.0))
    assert 0.0 < raised.value.seconds_left <= 0.5
    world.time.advance(0.6)
    assert call(world, handle, {"id": "e1"}, Context(30.0)) == {"count": 3}
    assert call(world, handle, {"id": "e1"}, Context(30.0)) == {"count": 3}
    assert handled == ["", "e1", "e1"]


@pytest.mark.parametrize("event", [{"id": None}, {"id": ""}])
def test_a_handler_without_a_key_raises_before_anything_is_sent(world: World, event: dict[str, Any]) -> None:
    handle = sending(world).handler(world.db, key=lambda event: event["id"])(lambda event, context: None)
    world.follow()
    with pytest.raises(sw.InvalidRequest):
        call(world, handle, event, Context(30.0))
    assert world.watched.sent == []


def test_a_decorated_function_tells_by_an_error_that_the_outcome_is_not_known(world: World) -> None:
    effects, mails = sending(world, "refuse"), Mails()
    lost_call(world, effects, mails)
    world.time.advance(61.0)
    send = effects.decorate(world.db, key=lambda name: name)(lambda name: name)
    with pytest.raises(EffectUnknown, match="allow_again"):
        call(world, send, "r1")
    assert call(world, send, "r2") == "r2"


def test_an_asynchronous_handler_is_awaited() -> None:
    world = World("asyncio")

    @sending(world).handler(world.db, key=lambda event: event["id"])
    async def handle(event: dict[str, str], context: Context) -> str:
        return event["id"]

    assert call(world, handle, {"id": "e1"}, Context(1.0)) == "e1"
    world.close()


def test_a_refusal_for_another_cause_does_not_cost_the_answer(world: World) -> None:
    """Found by the simulator: every malformed or forbidden request was taken for an answer that is too large."""
    for key, code in (("r1", "AccessDeniedException"), ("r2", "ValidationException")):
        world.follow(Step(Reject(code), WRITES, nth=2))
        assert run(world, sending(world).run(key, Mails())).kept
        assert run(world, sending(world).claim(key)).answer == "mail 1"


def test_what_stands_against_recording_an_effect_for_good_is_told_with_a_note(world: World) -> None:
    world.follow(Step(Reject("AccessDeniedException"), WRITES, nth=2, times=None))
    with pytest.raises(sw.InvalidRequest) as raised:
        run(world, sending(world).run("r1", Mails()))
    assert any("the effect ran" in note for note in raised.value.__notes__)


# ------------------------------------------------------------------------------------------------------- odd settings


@pytest.mark.parametrize("after_lost", ["retake", "refuse"])
def test_a_key_is_not_forgotten_while_its_lease_lasts(world: World, after_lost: Any) -> None:
    effects, mails = sending(world, after_lost, lease_seconds=900.0, horizon_seconds=600.0), Mails()
    claim = run(world, effects.claim("r1"))
    world.time.advance(700.0)
    assert isinstance(world.other_db.run(elsewhere(world, after_lost, horizon_seconds=600.0).claim("r1")), EffectRunning)
    assert run(world, effects.renew(claim, lease_seconds=900.0)) is True
    world.time.advance(899.0)
    assert isinstance(world.other_db.run(elsewhere(world, after_lost, horizon_seconds=600.0).claim("r1")), EffectRunning)
    assert run(world, effects.complete(claim, mails(claim))).answer == "mail 1"


@pytest.mark.parametrize("seconds", [0, 0.0, -1.0, float("nan"), float("inf")])
def test_a_lease_that_ends_at_once_or_never_is_refused(world: World, seconds: float) -> None:
    effects = sending(world)
    with pytest.raises(sw.InvalidRequest, match="a lease lasts"):
        run(world, effects.claim("r1", lease_seconds=seconds))
    with pytest.raises(sw.InvalidRequest, match="a lease lasts"):
        sending(world, lease_seconds=seconds)


@pytest.mark.parametrize(("large", "kept"), [("stub", False), ("parts", True)])
def test_what_a_person_records_as_done_is_done_however_large_its_answer(world: World, large: Any, kept: bool) -> None:
    effects, mails = sending(world, "refuse", large_answers=large), Mails()
    lost_call(world, effects, mails)
    world.time.advance(61.0)
    assert run(world, effects.record_done("r1", "x" * 500_000)) is True
    done = run(world, effects.run("r1", mails))
    assert (done.repeated, done.kept) == (True, kept)
    assert mails.sent == [1]


@pytest.mark.parametrize("says", ["record_done", "allow_again"])
@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ServerError(applied=True), ServerError(applied=False)], ids=lambda fault: str(fault)[:22])
def test_what_a_person_says_is_told_as_said_only_once_it_is_recorded(world: World, says: str, fault: Any) -> None:
    effects, mails = sending(world, "refuse"), Mails()
    lost_call(world, effects, mails)
    world.time.advance(61.0)
    world.follow(Step(fault, WRITES, times=8))
    said = run(world, effects.record_done("r1", "seen") if says == "record_done" else effects.allow_again("r1"))
    world.no_more_faults()
    assert said is True
    assert run(world, effects.run("r1", mails)).answer == ("seen" if says == "record_done" else "mail 2")


def test_a_name_that_both_recipes_use_is_refused_by_either(world: World) -> None:
    """A record of a call under way, read by the other recipe, would be an effect that was done."""
    effects, keys = LeasedEffects(world.other, "send", after_lost="retake"), Idempotency(world.other, "send")
    world.other_db.run(effects.claim("r1"))
    world.other_db.run(keys.once("r2", lambda _tx: None))
    with pytest.raises(sw.InvalidRequest, match="give one of them another name"):
        world.other_db.run(keys.once("r1", lambda _tx: None))
    with pytest.raises(sw.InvalidRequest, match="give one of them another name"):
        world.other_db.run(effects.claim("r2"))


def test_a_handler_finds_its_event_and_its_context_by_name_too(world: World) -> None:
    effects = sending(world, lease_seconds=900.0)

    @effects.handler(world.db, key=lambda event: event["id"], payload=lambda event: event)
    def handle(event: dict[str, str], context: Context) -> None:
        world.interrupt()

    with pytest.raises(BaseException):  # noqa: B017, PT011 - Control-C or a cancellation
        call(world, lambda: handle(event={"id": "e1"}, context=Context(30.0)))
    left = run(world, effects.claim("e1", payload={"id": "e1"}))
    assert 0.0 < left.seconds_left <= 31.0
