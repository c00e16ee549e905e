"""R13: an interrupted call leaves a write in doubt, and a later refusal by it is told as one's own earlier write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.schedules.verbs import ACCOUNT, NOTE
from tests.schedules.world import Account, Calls, Note, World

import surewrite as sw
from surewrite.core.registry import HORIZON_SECONDS
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, HideItem, LoseAnswer, LoseRequest, Step, Throttle, Where

ON_WRITES = Where(operations=WRITES)
FENCES = Where(mentions="surewrite-fence")
INTERRUPTS = (KeyboardInterrupt, asyncio.CancelledError)


def loaded(world: World) -> Any:
    return world.of(Account).create(Account(id="a"))


def interrupted_save(world: World, alice: Any, *steps: Step) -> BaseException:
    """A save whose call is interrupted where the plan says so; the interrupt as the caller sees it."""
    world.follow(*steps, interrupt=world.interrupt)
    with pytest.raises(INTERRUPTS) as raised:
        world.of(Account).put(alice.replace(balance=10))
    world.no_more_faults()
    return raised.value


def test_r13_a_save_cancelled_at_the_send_that_lands_refuses_the_next_one_as_an_own_earlier_write(world: World) -> None:
    alice = loaded(world)
    interruption: Any = interrupted_save(world, alice, Step(Deliver(), ON_WRITES, after=("interrupt",)))
    assert interruption.plan.verb == "put"
    assert "may have taken effect" in " ".join(interruption.__notes__)
    refused = world.of(Account).try_put(alice.replace(balance=20))
    assert refused.reason is sw.RefusalReason.VERSION_CONFLICT
    assert refused.own_earlier_write
    assert refused.item.balance == 10
    with pytest.raises(sw.VersionConflict) as raised:
        world.of(Account).put(alice.replace(balance=20))
    assert raised.value.own_earlier_write


def test_r13_a_save_cancelled_at_the_send_that_lands_late_is_an_own_earlier_write(world: World) -> None:
    alice = loaded(world)
    interrupted_save(world, alice, Step(ApplyLate(), ON_WRITES, after=("interrupt",)))
    world.release()
    assert world.of(Account).try_put(alice.replace(balance=20)).own_earlier_write


def test_r13_a_save_by_another_is_no_own_earlier_write(world: World) -> None:
    alice = loaded(world)
    interrupted_save(world, alice, Step(LoseRequest(), ON_WRITES, after=("interrupt",)))
    world.other.of(Account).put(world.other.of(Account).get(ACCOUNT).replace(owner="bob"))
    refused = world.of(Account).try_put(alice.replace(balance=20))
    assert refused.reason is sw.RefusalReason.VERSION_CONFLICT
    assert not refused.own_earlier_write


def test_a_save_interrupted_while_it_waits_to_be_sent_again_is_in_doubt_too(world: World) -> None:
    alice = loaded(world)
    world.follow(Step(LoseAnswer(), ON_WRITES))
    world.time.on_wait = world.interrupt
    with pytest.raises(INTERRUPTS) as raised:
        world.of(Account).put(alice.replace(balance=10))
    world.time.on_wait = lambda: None
    assert hasattr(raised.value, "plan")
    assert world.of(Account).try_put(alice.replace(balance=20)).own_earlier_write


def test_a_save_interrupted_while_it_waits_after_throttling_is_not_in_doubt(world: World) -> None:
    alice = loaded(world)
    world.follow(Step(Throttle(), ON_WRITES))
    world.time.on_wait = world.interrupt
    with pytest.raises(INTERRUPTS) as raised:
        world.of(Account).put(alice.replace(balance=10))
    world.time.on_wait = lambda: None
    assert not hasattr(raised.value, "plan")
    assert world.of(Account).put(alice.replace(balance=20)).revision == 2


def test_an_own_earlier_write_is_remembered_until_the_horizon(world: World) -> None:
    alice = loaded(world)
    interrupted_save(world, alice, Step(Deliver(), ON_WRITES, after=("interrupt",)))
    world.time.advance(HORIZON_SECONDS + 1)
    refused = world.of(Account).try_put(alice.replace(balance=20))
    assert refused.reason is sw.RefusalReason.VERSION_CONFLICT
    assert not refused.own_earlier_write


def test_an_unknown_write_is_an_own_earlier_write_to_the_next_one(world: World) -> None:
    alice = loaded(world)
    world.follow(Step(LoseAnswer(), ON_WRITES, times=None))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        world.of(Account).put(alice.replace(balance=10))
    assert (raised.value.plan.verb, raised.value.key) == ("put", ACCOUNT)
    world.no_more_faults()
    assert world.of(Account).try_put(alice.replace(balance=20)).own_earlier_write


@pytest.mark.parametrize("moment", ["the send", "the wait", "the fence"])
def test_an_interrupted_transaction_is_in_doubt_at_every_step(world: World, moment: str) -> None:
    world.of(Note).put(Note(id="a"))
    note = world.of(Note).get(NOTE)
    steps = {
        "the send": (Step(Deliver(), ON_WRITES, after=("interrupt",)),),
        "the wait": (Step(LoseAnswer(), ON_WRITES),),
        "the fence": (Step(Deliver(), FENCES, before=("interrupt",)), Step(LoseAnswer(), ON_WRITES, times=None)),
    }[moment]
    world.follow(*steps, interrupt=world.interrupt)
    if moment == "the wait":
        world.time.on_wait = world.interrupt
    tx = world.table.transaction()
    tx.put(note.replace(text="mine"), if_unchanged=True)
    with pytest.raises(INTERRUPTS) as raised:
        tx.try_commit()
    world.time.on_wait = lambda: None
    world.no_more_faults()
    assert hasattr(raised.value, "plan")
    assert world.of(Note).try_put(note.replace(text="again"), if_unchanged=True).own_earlier_write


# ------------------------------------------------------------------- an attempt that cannot be made: no credentials, a closed connection


def no_credentials() -> None:
    raise sw.InvalidRequest("no credentials: the session has ended")


def test_a_resend_that_cannot_be_made_leaves_the_write_unknown(world: World) -> None:
    alice = loaded(world)
    world.follow(Step(LoseAnswer(), ON_WRITES), Step(Deliver(), ON_WRITES, nth=2, before=("fail",)), fail=no_credentials)
    with pytest.raises(sw.OutcomeUnknown, match="no credentials") as raised:
        world.of(Account).put(alice.replace(balance=10))
    assert raised.value.attempts == 2
    world.no_more_faults()
    assert world.of(Account).try_put(alice.replace(balance=20)).own_earlier_write


def test_a_first_attempt_that_cannot_be_made_is_told_as_the_cause_says(world: World) -> None:
    alice = loaded(world)
    world.follow(Step(Deliver(), ON_WRITES, before=("fail",)), fail=no_credentials)
    with pytest.raises(sw.InvalidRequest, match="no credentials"):
        world.of(Account).put(alice.replace(balance=10))
    world.no_more_faults()
    assert world.of(Account).put(alice.replace(balance=20)).balance == 20


def test_a_refusal_whose_item_cannot_be_read_any_more_is_a_refusal(make_world: Any) -> None:
    world = make_world(old_item=None)
    world.of(Note).put(Note(id="a"))
    world.follow(Step(Deliver(), Where(operations=("GetItem",)), before=("fail",)), Step(HideItem(), ON_WRITES, times=None), fail=no_credentials)
    refused = world.of(Note).try_create(Note(id="a"))
    assert (refused.reason, refused.item) == (sw.RefusalReason.ALREADY_EXISTS, None)


@pytest.mark.parametrize("moment", ["the resend", "the fence"])
def test_a_transaction_whose_resend_or_fence_cannot_be_made_is_unknown_and_can_be_settled(world: World, moment: str) -> None:
    world.of(Note).put(Note(id="a"))
    note = world.of(Note).get(NOTE)
    if moment == "the resend":
        steps = (Step(LoseAnswer(), ON_WRITES), Step(Deliver(), ON_WRITES, nth=2, before=("fail",)))
    else:
        steps = (Step(Deliver(), FENCES, before=("fail",)), Step(LoseAnswer(), ON_WRITES, times=None))
    world.follow(*steps, fail=no_credentials)
    tx = world.table.transaction()
    tx.put(note.replace(text="mine"), if_unchanged=True)
    with pytest.raises(sw.OutcomeUnknown) as raised:
        tx.try_commit()
    world.no_more_faults()
    assert isinstance(Calls(world.db, world.run).run(raised.value.settle()), sw.Committed)


@pytest.mark.parametrize("name", [None, "operation-1"])
def test_a_transaction_whose_first_attempt_cannot_be_made_is_told_as_the_cause_says(world: World, name: str | None) -> None:
    world.follow(Step(Deliver(), ON_WRITES, before=("fail",)), fail=no_credentials)
    tx = world.table.transaction(token=name)
    tx.create(Note(id="a"))
    with pytest.raises(sw.InvalidRequest, match="no credentials"):
        tx.try_commit()
