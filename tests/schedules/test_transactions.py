"""The schedules of transactions by their names: tokens, their life, the fence, names across a crash, mixed reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.schedules.verbs import ACCOUNT, NOTE
from tests.schedules.world import TABLE, Account, Note, Ticket, World, chance

import surewrite as sw
from surewrite.backends.embedded import EmbeddedBackend
from surewrite.engine.service import ServiceSettings
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import (
    ApplyLate,
    Conflict,
    Deliver,
    FaultPlan,
    InProgress,
    LoseAnswer,
    LoseRequest,
    NotSentAtAll,
    Reject,
    SendTwice,
    Step,
    Throttle,
    Where,
)

TRANSACTIONS = Where(operations=("TransactWriteItems",))
WRITE = Where(operations=("TransactWriteItems",), key=(("pk", "NOTE#a"),))
FENCE = Where(operations=("TransactWriteItems",), mentions="surewrite-fence")
MakeWorld = Callable[..., World]


@pytest.fixture(params=[False, True], ids=["cancelled originals forgotten", "cancelled originals remembered"])
def shop(make_world: MakeWorld, request: pytest.FixtureRequest) -> World:
    """A world of either kind of service, with a note that counts 10."""
    world = make_world(settings=ServiceSettings(cancelled_originals_remembered=request.param))
    world.other.of(Note).put(Note(id="a", count=10))
    return world


def take(world: World, *, amount: int = 3, token: str | None = None) -> Any:
    """Take from the stock if there is enough."""
    tx = world.table.transaction(token=token)
    marker = tx.update(NOTE, Note.count.add(-amount), condition=Note.count >= amount)
    return marker, tx.try_commit()


def drain(world: World) -> None:
    world.other.of(Note).update(NOTE, Note.count.set(0))


def refill(world: World) -> None:
    world.other.of(Note).update(NOTE, Note.count.set(10))


def count(world: World) -> int:
    return world.other.of(Note).get(NOTE).count


def test_r2a_a_refusal_in_doubt_is_refused_for_good_by_the_fence(shop: World) -> None:
    shop.follow(Step(ApplyLate(), WRITE), Step(Deliver(), WRITE, nth=2, before=("drain",)), drain=lambda: drain(shop))
    marker, result = take(shop)
    assert not result
    assert result.refusal_of(marker).reason is sw.RefusalReason.CONDITION_FAILED
    refill(shop)
    shop.release()
    assert count(shop) == 10


def test_a_lost_answer_is_found_by_asking_again_under_the_token(shop: World) -> None:
    shop.follow(Step(LoseAnswer(), WRITE))
    assert take(shop)[1]
    assert (count(shop), shop.effects) == (7, 1)


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()], ids=["answers lost", "requests lost"])
def test_a_deadline_in_doubt_is_settled_by_the_fence(shop: World, fault: LoseAnswer | LoseRequest) -> None:
    # Every answer to the write is lost until the deadline; the fence is answered, and then the write's own bytes are too.
    shop.follow(Step(fault, WRITE, times=40), Step(Deliver(), FENCE, before=("heal",)), heal=shop.no_more_faults)
    result = take(shop)[1]
    assert bool(result) is (fault == LoseAnswer())
    assert (count(shop), shop.effects) == ((7, 1) if result else (10, 0))


@pytest.mark.parametrize("late", ["the write", "the fence"])
def test_whichever_comes_late_loses_the_token(shop: World, late: str) -> None:
    first = Step(ApplyLate(), WRITE) if late == "the write" else Step(LoseAnswer(), WRITE)
    shop.follow(first, Step(LoseRequest(), WRITE, nth=2, times=None), Step(ApplyLate(), FENCE), Step(Deliver(), FENCE, nth=2))
    if late == "the write":
        assert not take(shop)[1]
        shop.release()
        assert (count(shop), shop.effects) == (10, 0)
    else:
        with pytest.raises(sw.OutcomeUnknown) as raised:
            take(shop)
        shop.no_more_faults()
        assert settle(shop, raised.value)
        shop.release()
        assert (count(shop), shop.effects) == (7, 1)


def settle(world: World, error: sw.OutcomeUnknown) -> Any:
    result = world.db.run(error.settle())
    return world.run(result) if world.kind == "asyncio" else result


def test_an_unanswered_fence_leaves_unknown_and_settle_ends_it(shop: World) -> None:
    shop.follow(Step(LoseRequest(), TRANSACTIONS, times=None))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        take(shop)
    shop.no_more_faults()
    assert not settle(shop, raised.value)
    assert count(shop) == 10


def test_settle_is_for_transactions_only(world: World) -> None:
    world.follow(Step(LoseRequest(), times=None))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        world.of(Note).put(Note(id="a"))
    with pytest.raises(sw.InvalidRequest, match="only a transaction"):
        raised.value.settle()


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "ExpiredTokenException"])
def test_a_write_turned_away_while_it_is_settled_is_not_told_refused(shop: World, code: str) -> None:
    # The write took effect; the role loses the right to make it, but not the right to delete, which the fence needs.
    shop.follow(Step(LoseAnswer(), WRITE), Step(Reject(code), WRITE, nth=2, times=None))
    with pytest.raises(sw.OutcomeUnknown):
        take(shop)
    assert (count(shop), shop.effects) == (7, 1)


def test_a_transaction_that_the_transport_sent_twice_took_effect_once(shop: World) -> None:
    shop.follow(Step(SendTwice(applied=True), WRITE))
    assert take(shop)[1]
    assert (count(shop), shop.effects) == (7, 1)


# ------------------------------------------------------------------------------------------------------- R7: the token's life


def send_times(world: World) -> list[float]:
    """Lose every write but the fence, and note when each was sent, in seconds since the first."""
    times: list[float] = []
    world.follow(Step(LoseRequest(), WRITE, times=None, before=("note",)), note=lambda: times.append(world.time.monotonic))
    assert not take(world)[1]
    return [time - times[0] for time in times]


def test_r7a_nothing_is_sent_later_than_four_minutes_after_the_first_send(make_world: MakeWorld) -> None:
    world = make_world(deadline=100_000.0)
    world.other.of(Note).put(Note(id="a", count=10))
    step, waits = 10.0, [0]

    def wait_longer() -> None:
        waits[0] += 1
        world.time.monotonic += step
        world.time.wall += step

    world.time.on_wait = wait_longer
    times = send_times(world)
    assert len(times) > 20
    assert max(times) < 240.0


def test_r7b_a_late_copy_within_the_life_of_its_signature_does_nothing(shop: World) -> None:
    shop.follow(Step(ApplyLate(), WRITE))
    assert take(shop)[1]
    shop.time.advance(300)
    shop.release()
    assert (count(shop), shop.effects) == (7, 1)


@pytest.mark.parametrize("minutes", [4, 8, 14])
@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()], ids=["answer lost", "request lost"])
def test_r7c_a_process_frozen_in_its_pause_does_not_send_its_token_again(shop: World, fault: LoseAnswer | LoseRequest, minutes: int) -> None:
    """The monotonic clock stands still in a frozen process, the wall clock does not."""
    shop.follow(Step(fault, WRITE))

    def freeze() -> None:
        shop.time.on_wait = lambda: None
        shop.time.wall += 60 * minutes

    shop.time.on_wait = freeze
    if minutes < 9 and fault == LoseRequest():
        assert not take(shop)[1]
    else:
        with pytest.raises(sw.OutcomeUnknown):
            take(shop)
    sent = [met for met in shop.faults.met if WRITE.fits(met.request)]
    assert len(sent) == 1
    assert count(shop) == (7 if fault == LoseAnswer() else 10)


@pytest.mark.parametrize("ahead_seconds", [-240.0, 240.0])
def test_a_client_whose_clock_is_wrong_is_not_taken_for_frozen_at_its_first_answer(make_world: MakeWorld, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    world.other.of(Note).put(Note(id="a", count=10))
    world.follow(Step(LoseRequest(), WRITE), Step(Deliver(), WRITE, nth=2, before=("drain",)), drain=lambda: drain(world))
    assert not take(world)[1]
    world.follow(Step(LoseAnswer(), WRITE))
    refill(world)
    assert take(world)[1]


@pytest.mark.parametrize(("seconds", "word"), [(20.0, "refused"), (60.0, "unknown"), (-60.0, "unknown")])
def test_r7_a_service_clock_that_moves_against_ours_ends_every_proof_by_time(shop: World, seconds: float, word: str) -> None:
    def drain_and_drift() -> None:
        drain(shop)
        shop.time.service_ahead = seconds

    shop.of(Note).get(NOTE)
    shop.follow(Step(LoseRequest(), WRITE), Step(Deliver(), WRITE, nth=2, before=("drift",)), drift=drain_and_drift)
    if word == "refused":
        assert not take(shop)[1]
    else:
        with pytest.raises(sw.OutcomeUnknown):
            take(shop)
    assert shop.effects == 0


def test_r7d_every_attempt_in_doubt_has_the_same_bytes(shop: World) -> None:
    shop.follow(Step(LoseRequest(), WRITE, times=3))
    assert take(shop)[1]
    bodies = [met.request.body for met in shop.faults.met if WRITE.fits(met.request)]
    assert len(bodies) == 4
    assert all(body == bodies[0] for body in bodies)


def test_r17_an_attempt_after_a_clean_cancellation_has_a_token_of_its_own(shop: World) -> None:
    shop.follow(Step(Conflict(), WRITE, times=2))
    assert take(shop)[1]
    tokens = [met.request.body["ClientRequestToken"] for met in shop.faults.met if WRITE.fits(met.request)]
    assert len(set(tokens)) == 3


def test_r17_an_attempt_after_a_conflict_in_doubt_keeps_its_token(shop: World) -> None:
    shop.follow(Step(LoseAnswer(), WRITE), Step(Conflict(), WRITE, nth=2))
    assert take(shop)[1]
    tokens = [met.request.body["ClientRequestToken"] for met in shop.faults.met if WRITE.fits(met.request)]
    assert (len(tokens), len(set(tokens)), shop.effects) == (3, 1, 1)


def test_an_attempt_that_was_not_sent_keeps_its_token_and_brings_no_doubt(shop: World) -> None:
    shop.follow(Step(NotSentAtAll(), WRITE, times=2))
    assert take(shop)[1]
    shop.follow(Step(NotSentAtAll(), WRITE, times=None))
    with pytest.raises(sw.ConnectionFailed):
        take(shop)


# ---------------------------------------------------------------------------------------------------------- R8, R9, R10


def test_r8_a_transaction_gives_back_what_a_put_stored_and_nothing_else(world: World) -> None:
    world.follow(Step(LoseAnswer(), TRANSACTIONS))
    tx = world.table.transaction()
    made = tx.create(Account(id="a", balance=5))
    counted = tx.upsert(NOTE, Note.count.add(1))
    result = tx.commit()
    stored = result.item_for(made)
    with pytest.raises(sw.InvalidRequest, match="returns no item"):
        result.item_for(counted)
    assert world.of(Account).put(stored.replace(balance=6)).revision == 2


def test_r9_an_endpoint_that_ignores_tokens_refuses_transactions(make_world: MakeWorld) -> None:
    world = make_world(settings=ServiceSettings(tokens_ignored=True))
    world.other.of(Note).put(Note(id="a", count=10))
    with pytest.raises(sw.InvalidRequest, match="ignores the tokens"):
        take(world)
    assert count(world) == 10


def another_process(world: World, *steps: Step) -> tuple[sw.Table, FaultBackend]:
    """A client of its own on the same service, with other random ids."""
    faults = FaultBackend(EmbeddedBackend(world.service), FaultPlan(steps))
    return sw.connect(faults, clock=world.time.clock(), chance=chance("restart")).table(TABLE), faults


def named_take(table: sw.Table, *, amount: int = 3) -> Any:
    tx = table.transaction(token="order 17")
    tx.update(NOTE, Note.count.add(-amount), condition=Note.count >= amount)
    return tx


@pytest.mark.parametrize("first", [LoseAnswer(), LoseRequest()], ids=["took effect", "did not"])
def test_r10_a_restarted_process_finishes_a_named_operation_without_repeating_it(shop: World, first: LoseAnswer | LoseRequest) -> None:
    shop.follow(Step(first, WRITE, after=("die",)), die=shop.interrupt)
    with pytest.raises(BaseException) as died:  # noqa: PT011 - Control-C or a cancelled task, by the client
        take(shop, token="order 17")
    assert not isinstance(died.value, Exception)
    table, _ = another_process(shop)
    assert named_take(table).try_commit()
    assert count(shop) == 7


def test_r10_a_name_with_other_content_is_refused(shop: World) -> None:
    take(shop, token="order 17")
    table, _ = another_process(shop)
    with pytest.raises(sw.InvalidRequest, match="other content"):
        named_take(table, amount=4).commit()
    assert count(shop) == 7


def test_r10_the_names_of_two_operations_do_not_meet(shop: World) -> None:
    assert take(shop, token="order 17")[1]
    assert take(shop, token="order 18")[1]
    assert count(shop) == 4


# ------------------------------------------------------------------------------------------------------------ R17, R22


def test_r17_an_own_stamp_in_any_reason_is_applied(make_world: MakeWorld) -> None:
    """The service forgot the token: the transaction is judged again, and meets itself."""
    world = make_world(settings=ServiceSettings(token_life_seconds=-1.0))
    world.follow(Step(LoseAnswer(), TRANSACTIONS))
    tx = world.table.transaction()
    tx.create(Account(id="a"))
    tx.create(Note(id="a"))
    result = tx.try_commit()
    assert (result.applied, result.recovered, world.effects) == (True, True, 1)


def test_r17_a_failed_condition_beside_a_conflict_is_final_without_doubt(shop: World) -> None:
    held = shop.service.hold_transaction(
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}}}], "ClientRequestToken": "other"}
    )
    tx = shop.table.transaction()
    missing = tx.update(Note.key_of("z"), Note.count.add(1))
    locked = tx.create(Account(id="a"))
    result = tx.try_commit()
    held.cancel()
    assert not result
    assert result.refusal_of(missing).reason is sw.RefusalReason.ITEM_NOT_FOUND
    assert result.refusal_of(locked) is None
    assert result.reason_for(locked).code == "TransactionConflict"


def test_r22_a_running_transaction_is_waited_out_within_the_deadline(shop: World) -> None:
    body = {"TransactItems": [{"Update": {"TableName": TABLE, "Key": {"pk": {"S": "NOTE#a"}, "sk": {"S": "NOTE"}}, "UpdateExpression": "SET a = :a",
                                          "ExpressionAttributeValues": {":a": {"N": "1"}}}}], "ClientRequestToken": "other"}  # fmt: skip
    held = shop.service.hold_transaction(body)
    shop.follow(Step(Deliver(), WRITE, nth=3, before=("end",)), end=held.commit)
    assert take(shop)[1]
    held = shop.service.hold_transaction({**body, "ClientRequestToken": "another"})
    shop.follow()
    with pytest.raises(sw.TransactionConflict):
        take(shop)
    with pytest.raises(sw.TransactionConflict):
        shop.of(Note).update(NOTE, Note.text.set("x"))
    held.cancel()
    assert count(shop) == 7


def test_an_own_attempt_in_progress_is_waited_for(shop: World) -> None:
    shop.follow(Step(LoseAnswer(), WRITE), Step(InProgress(), WRITE, nth=2, times=3))
    assert take(shop)[1]
    assert (count(shop), shop.effects) == (7, 1)


# -------------------------------------------------------------------------------------------- upserts over expired items


@pytest.fixture
def expired(world: World) -> World:
    """A world with a ticket that has expired and is not swept."""
    world.other.of(Ticket).put(Ticket(id="a", text="old", count=41, ends_at=world_time(world, 10)))
    world.time.advance(60)
    return world


def world_time(world: World, seconds: float) -> Any:
    return datetime.fromtimestamp(world.time.wall + seconds, UTC)


TICKET = Ticket.key_of("a")


def test_an_upsert_over_an_expired_item_makes_a_whole_new_one_in_a_transaction_too(expired: World) -> None:
    tx = expired.table.transaction()
    ticket = tx.upsert(TICKET, Ticket.count.add(1))
    tx.create(Account(id="a"))
    result = tx.commit()
    stored = expired.of(Ticket).get(TICKET)
    assert (stored.count, stored.text, stored.ends_at) == (1, "", None)
    assert expired.of(Account).get(ACCOUNT).revision == 1
    with pytest.raises(sw.InvalidRequest, match="what the upsert left"):
        result.item_for(ticket)


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ApplyLate()], ids=["answer lost", "request lost", "late"])
@pytest.mark.parametrize("nth", [1, 2])
def test_an_upsert_over_an_expired_item_takes_effect_once_whatever_is_lost(expired: World, fault: Any, nth: int) -> None:
    expired.follow(Step(fault, TRANSACTIONS, nth=nth))
    tx = expired.table.transaction()
    tx.upsert(TICKET, Ticket.count.add(1))
    assert tx.try_commit()
    expired.release()
    assert (expired.of(Ticket).get(TICKET).count, expired.effects) == (1, 1)


@pytest.mark.parametrize("between", ["swept", "rescued", "made again"])
def test_what_happens_to_the_expired_item_before_its_replacement_is_decided_afresh(expired: World, between: str) -> None:
    table = expired.other.of(Ticket)

    def act() -> None:
        if between == "swept":
            expired.service.sweep_expired()
        elif between == "rescued":
            table.put(Ticket(id="a", text="rescued", count=7))
        else:
            expired.service.sweep_expired()
            table.create(Ticket(id="a", text="new", count=8))

    expired.follow(Step(Deliver(), TRANSACTIONS, nth=2, before=("act",)), act=act)
    tx = expired.table.transaction()
    tx.upsert(TICKET, Ticket.count.add(1))
    assert tx.try_commit()
    stored = expired.of(Ticket).get(TICKET)
    assert (stored.text, stored.count) == {"swept": ("", 1), "rescued": ("rescued", 8), "made again": ("new", 9)}[between]


def test_another_action_that_is_refused_refuses_the_whole_and_the_expired_item_is_no_refusal(expired: World) -> None:
    expired.other.of(Account).create(Account(id="a"))
    tx = expired.table.transaction()
    ticket = tx.upsert(TICKET, Ticket.count.add(1))
    account = tx.create(Account(id="a"))
    result = tx.try_commit()
    assert result.refusal_of(account).reason is sw.RefusalReason.ALREADY_EXISTS
    assert result.refusal_of(ticket) is None
    assert expired.effects == 0


def test_an_upsert_whose_condition_does_not_hold_on_nothing_is_refused_by_an_expired_item(expired: World) -> None:
    tx = expired.table.transaction()
    ticket = tx.upsert(TICKET, Ticket.count.add(1), condition=Ticket.count == 41)
    refusal = tx.try_commit().refusal_of(ticket)
    assert (refusal.reason, refusal.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)


def test_another_content_under_a_name_that_the_service_has_forgotten_is_not_taken_for_the_one_that_was_made(world: World) -> None:
    def commit(text: str) -> sw.Committed | sw.Canceled:
        tx = world.table.transaction(token="order 17")
        tx.create(Note(id="a", text=text))
        return tx.try_commit()

    assert commit("first")
    world.time.advance(3600)
    assert not commit("second")
    assert world.of(Note).get(NOTE).text == "first"
    world.time.advance(3600)
    again = commit("first")
    assert isinstance(again, sw.Committed)
    assert again.recovered


def test_a_transaction_of_which_nothing_was_sent_since_tokens_could_not_be_asked_for_may_be_committed_again(world: World) -> None:
    busy = FaultBackend(
        EmbeddedBackend(world.service), FaultPlan((Step(Throttle(), TRANSACTIONS, times=None),)), traits=replace(world.watched.traits, tokens=None)
    )
    tx = sw.connect(busy, clock=world.time.clock(), chance=chance("busy")).table(TABLE).transaction()
    tx.create(Note(id="a"))
    with pytest.raises(sw.Throttled, match="finding out"):
        tx.commit()
    busy.follow(FaultPlan(()))
    assert tx.commit()


@pytest.mark.parametrize(("fault", "error"), [(Conflict(), sw.TransactionConflict), (Throttle(), sw.Throttled)])
def test_conflicts_and_throttling_until_the_deadline_are_no_refusal_by_a_condition_after_a_loss_either(
    shop: World, fault: Conflict | Throttle, error: type[Exception]
) -> None:
    shop.follow(Step(LoseRequest(), WRITE), Step(fault, WRITE, nth=2, times=60))
    with pytest.raises(error):
        take(shop)
    assert count(shop) == 10
