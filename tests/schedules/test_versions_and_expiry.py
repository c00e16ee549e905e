"""R11: versions on every path. R12: expired is absent. By name, for both clients."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.schedules.verbs import ACCOUNT
from tests.schedules.world import START_SECONDS, TABLE, Account, Note, Ticket, World

import surewrite as sw
from surewrite.core.entities import Stored, with_stored
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

ON_WRITES = Where(operations=WRITES)
TICKET = Ticket.key_of("a")
ACCOUNT_KEY = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}


def at(world: World, seconds: float) -> datetime:
    return datetime.fromtimestamp(world.time.wall + seconds, UTC)


def unversioned_item(world: World) -> None:
    """What a program without this library, or an older release, left."""
    world.other_db.execute("PutItem", {"TableName": TABLE, "Item": {**ACCOUNT_KEY, "id": {"S": "a"}, "balance": {"N": "5"}, "owner": {"S": "old"}}})


# ------------------------------------------------------------------------------------------------------------------ R11


def test_r11a_a_put_never_lowers_a_version(world: World) -> None:
    stale = world.of(Account).create(Account(id="a"))
    for _ in range(3):
        world.other.of(Account).modify(ACCOUNT, lambda a: a.replace(balance=a.balance + 1))
    assert world.of(Account).try_put(stale.replace(owner="me")).reason is sw.RefusalReason.VERSION_CONFLICT
    assert world.of(Account).get(ACCOUNT).revision == 4


def test_r11b_a_new_object_does_not_overwrite_an_item_without_a_version(world: World) -> None:
    unversioned_item(world)
    with pytest.raises(sw.AlreadyExists):
        world.of(Account).put(Account(id="a"))
    assert world.of(Account).get(ACCOUNT).owner == "old"


def test_r11b_an_item_without_a_version_is_adopted_by_a_loaded_entity(world: World) -> None:
    unversioned_item(world)
    loaded = world.of(Account).get(ACCOUNT)
    assert loaded.revision is None
    assert world.of(Account).put(loaded.replace(owner="me")).revision == 1
    assert world.of(Account).try_put(loaded.replace(owner="again")).reason is sw.RefusalReason.VERSION_CONFLICT


def test_r11b_an_item_without_a_version_is_adopted_by_if_version_none(world: World) -> None:
    unversioned_item(world)
    assert world.of(Account).update(ACCOUNT.if_version(None), Account.owner.set("me")).revision == 1
    assert world.of(Account).try_update(ACCOUNT.if_version(None), Account.owner.set("again")).reason is sw.RefusalReason.VERSION_CONFLICT


def test_r11b_an_adoption_whose_answer_was_lost_is_recovered(world: World) -> None:
    unversioned_item(world)
    loaded = world.of(Account).get(ACCOUNT)
    world.follow(Step(LoseAnswer(), ON_WRITES))
    outcome = world.of(Account).try_put(loaded.replace(owner="me"))
    assert (outcome.applied, outcome.item.revision, world.effects) == (True, 1, 1)


def test_r11c_an_update_that_ignores_the_version_is_not_sent_again_even_of_constants(world: World) -> None:
    world.of(Account).create(Account(id="a"))
    world.follow(Step(LoseAnswer(), ON_WRITES))
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Account).update(ACCOUNT.ignore_version(), Account.owner.set("me"))
    assert world.of(Account).get(ACCOUNT).revision == 2


def test_r11d_an_upsert_says_what_it_demands_of_the_version(world: World) -> None:
    accounts: Any = world.of(Account)
    with pytest.raises(sw.InvalidRequest, match="if_version"):
        accounts.upsert(ACCOUNT, Account.balance.add(1))
    made = accounts.upsert(ACCOUNT.ignore_version(), Account.balance.add(1))
    assert (made.revision, made.balance) == (1, 1)
    birth = world.item(ACCOUNT)["_b"]
    changed = accounts.upsert(ACCOUNT.ignore_version(), Account.balance.add(1))
    assert (changed.revision, changed.balance, world.item(ACCOUNT)["_b"]) == (2, 2, birth)
    with pytest.raises(sw.InvalidRequest, match="takes a key"):
        accounts.upsert(changed, Account.balance.add(1))
    assert accounts.try_upsert(ACCOUNT.if_version(7), Account.balance.add(1)).reason is sw.RefusalReason.VERSION_CONFLICT


def test_r11d_an_upsert_that_demands_a_version_never_makes_an_item(world: World) -> None:
    assert world.of(Account).try_upsert(ACCOUNT.if_version(1), Account.balance.add(1)).reason is sw.RefusalReason.ITEM_NOT_FOUND
    assert world.item(ACCOUNT) is None


def test_r11e_an_entity_that_was_read_in_part_refuses_put(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))
    part = with_stored(alice, Stored(1, "1:x", "1:x", partial=True))
    with pytest.raises(sw.InvalidRequest, match="read in part"):
        world.of(Account).put(part)


# ------------------------------------------------------------------------------------------------------------------ R12


@pytest.fixture
def expired(world: World) -> World:
    """A world with a ticket that has expired and is not swept."""
    world.other.of(Ticket).put(Ticket(id="a", text="old", count=41, order=100, ends_at=at(world, 10)))
    world.time.advance(60)
    # The answer tells the service's clock, which a condition on the time to live asks for where none has.
    assert world.of(Ticket).get_or_none(TICKET) is None
    return world


def test_r12a_an_upsert_over_an_expired_item_makes_a_whole_new_one_by_two_requests(expired: World) -> None:
    expired.follow()
    made = expired.of(Ticket).upsert(TICKET, Ticket.count.add(1))
    assert (made.count, made.text, made.ends_at) == (1, "", None)
    assert [request.operation for request in expired.watched.sent] == ["UpdateItem", "PutItem"]
    item = expired.item(TICKET)
    assert item is not None
    assert item["_b"] == item["_s"]


@pytest.mark.parametrize("between", ["swept", "put again", "put again, expired too"])
def test_r12a_the_replacement_demands_exactly_the_expired_item(expired: World, between: str) -> None:
    tickets = expired.other.of(Ticket)
    acts = {
        "swept": expired.service.sweep_expired,
        "put again": lambda: tickets.put(Ticket(id="a", text="new", count=7)),
        "put again, expired too": lambda: tickets.put(Ticket(id="a", text="new", count=7, ends_at=at(expired, -5))),
    }
    expired.follow(Step(Deliver(), ON_WRITES, nth=2, before=("act",)), act=acts[between])
    made = expired.of(Ticket).upsert(TICKET, Ticket.count.add(1))
    assert (made.count, made.text) == ((8, "new") if between == "put again" else (1, ""))
    assert expired.effects == 1


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("fault", [LoseRequest(), ApplyLate()], ids=["request lost", "late"])
def test_r12a_an_upsert_of_constants_over_an_expired_item_outlives_a_lost_request(expired: World, fault: Any, nth: int) -> None:
    expired.follow(Step(fault, ON_WRITES, nth=nth))
    outcome = expired.of(Ticket).try_upsert(TICKET, Ticket.text.set("mine"))
    assert (outcome.applied, outcome.item.count, outcome.item.text) == (True, 0, "mine")
    assert outcome.once is (nth == 2)


def test_r12a_a_count_over_an_expired_item_whose_request_was_lost_is_unknown_and_not_counted_twice(expired: World) -> None:
    expired.follow(Step(ApplyLate(), ON_WRITES))
    with pytest.raises(sw.OutcomeUnknown):
        expired.of(Ticket).upsert(TICKET, Ticket.count.add(1))
    expired.release()
    assert expired.effects == 0


def test_r12a_a_condition_that_does_not_hold_on_nothing_is_refused_by_an_expired_item(expired: World) -> None:
    refused = expired.of(Ticket).try_upsert(TICKET, Ticket.count.add(1), condition=Ticket.count == 41)
    assert (refused.reason, refused.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)
    expired.service.sweep_expired()
    assert expired.of(Ticket).try_upsert(TICKET, Ticket.count.add(1), condition=Ticket.count == 41).reason is sw.RefusalReason.ITEM_NOT_FOUND


def test_r12b_an_item_without_a_time_to_live_is_not_absent(world: World) -> None:
    world.other.of(Ticket).put(Ticket(id="a", text="for ever"))
    world.time.advance(10_000_000)
    with pytest.raises(sw.AlreadyExists):
        world.of(Ticket).create(Ticket(id="a"))
    assert world.of(Ticket).get(TICKET).text == "for ever"


def test_an_expired_item_is_absent_to_every_verb(expired: World) -> None:
    tickets = expired.of(Ticket)
    assert tickets.get_or_none(TICKET) is None
    for act in (
        lambda: tickets.get(TICKET),
        lambda: tickets.update(TICKET, Ticket.count.add(1)),
        lambda: tickets.delete(TICKET),
        lambda: tickets.modify(TICKET, lambda t: t.replace(count=1)),
    ):
        with pytest.raises(sw.ItemNotFound):
            act()
    assert expired.table.transact_get(TICKET) == (None,)
    assert tickets.create(Ticket(id="a", text="new")).text == "new"
    assert tickets.get(TICKET).count == 0


def test_the_old_item_of_a_put_over_an_expired_one_is_none(expired: World) -> None:
    assert expired.of(Ticket).put(Ticket(id="a", text="new"), returning="old") is None
    assert expired.of(Ticket).put(Ticket(id="a"), returning="old").text == "new"


@pytest.mark.parametrize("ahead_seconds", [3600.0, -3600.0])
def test_r12c_a_client_whose_clock_is_wrong_judges_expiry_by_the_service_clock(make_world: Any, ahead_seconds: float) -> None:
    world: World = make_world(ahead_seconds=ahead_seconds)
    world.other.of(Ticket).put(Ticket(id="a", ends_at=at(world, 600)))
    world.other.of(Ticket).put(Ticket(id="b", ends_at=at(world, -600)))
    world.of(Note).get_or_none(Note.key_of("any"))
    with pytest.raises(sw.AlreadyExists):
        world.of(Ticket).create(Ticket(id="a"))
    assert world.of(Ticket).create(Ticket(id="b", text="new")).text == "new"


@pytest.mark.parametrize("ahead_seconds", [3600.0, -3600.0])
@pytest.mark.parametrize("act", ["get", "transact_get", "get_many", "put", "create", "update", "upsert", "delete", "transaction"])
def test_r12c_the_first_call_of_a_client_whose_clock_is_wrong_judges_expiry_by_the_service_clock(make_world: Any, ahead_seconds: float, act: str) -> None:
    world: World = make_world(ahead_seconds=ahead_seconds)
    lives = ahead_seconds > 0
    world.other.of(Ticket).put(Ticket(id="a", count=1, ends_at=at(world, 600 if lives else -600)))
    tickets, tx = world.of(Ticket), world.table.transaction()
    tx.create(Ticket(id="a"))
    # Each as the first call of all: whether it finds the item.
    acts: dict[str, Any] = {
        "get": lambda: tickets.get_or_none(TICKET),
        "transact_get": lambda: world.table.transact_get(TICKET)[0],
        "get_many": lambda: tickets.get_many([TICKET])[0],
        "put": lambda: tickets.put(Ticket(id="a"), returning="old"),
        "create": lambda: not tickets.try_create(Ticket(id="a")),
        "update": lambda: tickets.try_update(TICKET, Ticket.count.add(1)),
        "upsert": lambda: tickets.upsert(TICKET, Ticket.count.add(1)).count == 2,
        "delete": lambda: tickets.try_delete(TICKET),
        "transaction": lambda: not tx.try_commit(),
    }
    assert bool(acts[act]()) is lives


@pytest.mark.parametrize("ahead_seconds", [3600.0, -3600.0])
def test_r12c_a_client_whose_clock_was_set_wrong_since_the_last_answer_judges_expiry_by_the_service_clock(world: World, ahead_seconds: float) -> None:
    lives = ahead_seconds > 0
    world.other.of(Ticket).put(Ticket(id="a", count=1, ends_at=at(world, 600 if lives else -600)))
    assert (world.of(Ticket).get_or_none(TICKET) is not None) is lives
    world.time.wall += ahead_seconds
    world.time.service_ahead -= ahead_seconds
    assert world.of(Ticket).try_create(Ticket(id="a")).applied is not lives


def test_r12c_a_clock_that_the_service_does_not_tell_is_asked_for_once(make_world: Any) -> None:
    world: World = make_world()
    world.watched.tells_time = False
    world.follow()
    tickets = world.of(Ticket)
    tickets.create(Ticket(id="a", ends_at=at(world, 600)))
    tickets.update(TICKET, Ticket.count.add(1))
    assert [request.operation for request in world.watched.sent] == ["GetItem", "PutItem", "UpdateItem"]


def test_r12c_a_write_that_would_hold_a_guess_of_the_time_is_not_made_where_nobody_tells_it(make_world: Any) -> None:
    world: World = make_world(ahead_seconds=3600.0)
    world.follow(Step(LoseRequest(), Where(operations=("GetItem",)), times=None))
    with pytest.raises(sw.ConnectionFailed, match="the service's time before the create"):
        world.of(Ticket).create(Ticket(id="a"))
    assert world.effects == 0


@pytest.mark.parametrize(("seconds", "stored"), [(100.0, True), (100.9, True), (101.9, True), (102.0, False)])
def test_r12d_an_item_does_not_expire_before_its_time(world: World, seconds: float, stored: bool) -> None:
    """Ends at 100.5: stored rounded up, and the clock is cut down."""
    world.other.of(Ticket).put(Ticket(id="a", ends_at=datetime.fromtimestamp(START_SECONDS + 100.5, UTC)))
    world.time.advance(seconds)
    assert (world.of(Ticket).get_or_none(TICKET) is not None) is stored
    assert bool(world.of(Ticket).try_update(TICKET, Ticket.count.add(1))) is stored


@pytest.mark.parametrize("order", [50, 100])
def test_r12e_a_late_event_does_not_move_back_an_expired_item(expired: World, order: int) -> None:
    refused = expired.of(Ticket).try_upsert(TICKET, Ticket.order.set(order), Ticket.text.set("late"), condition=Ticket.order.not_exists_or_lt(order))
    assert refused.reason is sw.RefusalReason.CONDITION_FAILED
    item = expired.item(TICKET)
    assert item is not None
    assert item["order"] == {"N": "100"}


def test_r12e_a_newer_event_begins_a_new_item_over_an_expired_one(expired: World) -> None:
    made = expired.of(Ticket).upsert(TICKET, Ticket.order.set(150), Ticket.text.set("new"), condition=Ticket.order.not_exists_or_lt(150))
    assert (made.order, made.text, made.count) == (150, "new", 0)


def test_r12f_an_expired_item_that_refuses_is_handed_out_as_none(expired: World) -> None:
    refused = expired.of(Ticket).try_update(TICKET, Ticket.count.add(1))
    assert (refused.reason, refused.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)
    with pytest.raises(sw.ItemNotFound):
        _ = refused.existing


@pytest.mark.parametrize("swept", [False, True])
def test_r12_a_save_of_an_entity_that_expired_since_it_was_read_is_refused_swept_or_not(world: World, swept: bool) -> None:
    ticket = world.of(Ticket).put(Ticket(id="a", ends_at=at(world, 10)))
    world.time.advance(60)
    if swept:
        world.service.sweep_expired()
    assert world.of(Ticket).try_put(ticket.replace(count=1), if_unchanged=True).reason is sw.RefusalReason.ITEM_NOT_FOUND


def test_r12_a_late_create_is_refused_by_the_new_life(expired: World) -> None:
    expired.follow(Step(ApplyLate(), ON_WRITES))
    expired.of(Ticket).create(Ticket(id="a", text="mine", ends_at=at(expired, 600)))
    expired.other.of(Ticket).update(TICKET, Ticket.text.set("theirs"))
    expired.release()
    assert expired.of(Ticket).get(TICKET).text == "theirs"
