"""The schedules of C1 by name: two owners never have one value, and nothing stays taken by nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.entities import stored_state
from surewrite.engine.service import ServiceSettings
from surewrite.testing.faults import ApplyLate, Conflict, Deliver, Fault, LoseAnswer, LoseRequest, NotSentAtAll, Reject, Step, Throttle, Where

COMMITS = Where(operations=("TransactWriteItems",))
READS = Where(operations=("GetItem",))


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="USER"):
    id: Attribute[str]
    email: Attribute[str | None] = sw.unique(default=None)
    name: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


class Page(Entity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]
    path: Attribute[str | None] = sw.unique(default=None)


A, B = User.key_of("a"), User.key_of("b")
ANY_A, ANY_B = A.ignore_version(), B.ignore_version()


def held(world: World) -> dict[str, str]:
    """The values that stored items have, and by whose key."""
    return {item["email"]["S"]: item["pk"]["S"] for item in items(world) if "email" in item and item["_type"]["S"] == "USER"}


def claimed(world: World) -> dict[str, str]:
    return {item["_claimed"]["S"].rpartition("#")[2]: item["_owner"]["S"].split('"')[1] for item in items(world) if item["_type"]["S"] == "SUREWRITE_CLAIM"}


def items(world: World) -> list[dict[str, Any]]:
    return world.service.execute("Scan", {"TableName": TABLE})["Items"]


def agrees(world: World, expected: dict[str, str]) -> bool:
    return held(world) == claimed(world) == expected


def test_two_upserts_of_a_new_key_leave_no_burnt_claim(world: World) -> None:
    """Without a demand on what was read: m3 is owned by a, whose item holds m4."""
    world.follow(
        Step(Deliver(), COMMITS, before=("the other upserts",)), **{"the other upserts": lambda: world.other.of(User).upsert(ANY_A, User.email.set("m3"))}
    )
    user = world.of(User).upsert(ANY_A, User.email.set("m4"))
    assert (user.email, user.revision) == ("m4", 2)
    assert agrees(world, {"m4": "USER#a"})


def test_an_update_where_the_old_value_was_unset_rests_on_that_too(world: World) -> None:
    world.other.of(User).create(User(id="a"))
    world.follow(
        Step(Deliver(), COMMITS, before=("the other updates",)), **{"the other updates": lambda: world.other.of(User).update(ANY_A, User.email.set("m3"))}
    )
    assert world.of(User).update(ANY_A, User.email.set("m4")).revision == 3
    assert agrees(world, {"m4": "USER#a"})


def test_a_late_copy_after_there_and_back_does_not_apply_again(make_world) -> None:
    """a: m1 to m3 and back to m1; a late copy of the first finds the old value again, but not the stamp. The endpoint has forgotten the token."""
    world = make_world(settings=ServiceSettings(token_life_seconds=0.001))
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(ApplyLate(), COMMITS, nth=1), Step(Deliver(), COMMITS, nth=2))
    world.of(User).update(ANY_A, User.email.set("m3"))
    world.other.of(User).update(ANY_A, User.email.set("m1"))
    world.no_more_faults()
    world.time.advance(1)
    world.release()
    assert agrees(world, {"m1": "USER#a"})
    assert world.other.of(User).create(User(id="b", email="m3"))


def test_a_put_of_a_loaded_entity_rests_on_the_loaded_value_beside_a_foreign_edit(world: World) -> None:
    """A foreign writer that leaves the stamp alone changes the value; the put would leave its value's claim astray."""
    loaded = world.of(User).create(User(id="a", email="m1"))
    update = {
        "TableName": TABLE,
        "Key": {"pk": {"S": "USER#a"}, "sk": {"S": "USER"}},
        "UpdateExpression": "SET email = :m",
        "ExpressionAttributeValues": {":m": {"S": "m9"}},
    }
    world.service.execute("UpdateItem", update)
    with pytest.raises(sw.VersionConflict):
        world.of(User).put(loaded.replace(email="m2"))
    assert claimed(world) == {"m1": "USER#a"}


def test_a_move_whose_answer_is_lost_is_told_applied_once(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(LoseAnswer(), COMMITS, nth=1))
    outcome = world.of(User).try_update(ANY_A, User.email.set("m2"))
    assert outcome
    assert outcome.once
    assert outcome.item.revision == 2
    assert world.effects == 1
    assert agrees(world, {"m2": "USER#a"})


def test_a_move_that_never_arrived_and_was_overtaken_reads_again(world: World) -> None:
    """In doubt, refused by another writer's stamp: a fence proves that it cannot apply, then it is made anew."""
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(
        Step(LoseRequest(), COMMITS, nth=1),
        Step(Deliver(), COMMITS, nth=2, before=("overtaken",)),
        overtaken=lambda: world.other.of(User).update(ANY_A, User.name.set("Ann")),
    )
    user = world.of(User).update(ANY_A, User.email.set("m2"))
    assert (user.email, user.name, user.revision) == ("m2", "Ann", 3)
    assert world.effects == 1
    assert agrees(world, {"m2": "USER#a"})


def test_a_late_first_attempt_of_a_refused_claim_never_applies(world: World) -> None:
    """The value was taken, the word was refused; later it is free, and the late copy must not take it."""
    world.other.of(User).create(User(id="b", email="m1"))
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    outcome = world.of(User).try_create(User(id="a", email="m1"))
    assert outcome.reason is sw.RefusalReason.VALUE_TAKEN
    assert outcome.taken == (sw.TakenValue("email", B),)
    world.other.of(User).delete(ANY_B)
    world.no_more_faults()
    world.release()
    assert agrees(world, {})


def test_a_value_taken_between_read_and_write_is_told_with_its_owner(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(Deliver(), COMMITS, before=("taken",)), taken=lambda: world.other.of(User).create(User(id="b", email="m2")))
    with pytest.raises(sw.ValueTaken) as raised:
        world.of(User).update(ANY_A, User.email.set("m2"))
    assert (raised.value.field, raised.value.owner) == ("email", B)
    assert agrees(world, {"m1": "USER#a", "m2": "USER#b"})


def test_a_delete_that_is_overtaken_by_a_move_releases_the_moved_claim(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(Deliver(), COMMITS, before=("moved",)), moved=lambda: world.other.of(User).update(ANY_A, User.email.set("m2")))
    assert world.of(User).delete(ANY_A).email == "m2"
    assert agrees(world, {})


def test_a_delete_that_is_overtaken_by_a_delete_and_recreate_removes_the_new_life_with_its_claim(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))

    def again() -> None:
        world.other.of(User).delete(ANY_A)
        world.other.of(User).create(User(id="a", email="m2"))

    world.follow(Step(Deliver(), COMMITS, before=("again",)), again=again)
    assert world.of(User).delete(ANY_A).email == "m2"
    assert agrees(world, {})


def test_a_loaded_entity_of_an_old_life_moves_nothing(world: World) -> None:
    loaded = world.of(User).create(User(id="a", email="m1"))
    world.other.of(User).delete(ANY_A)
    world.other.of(User).create(User(id="a", email="m1"))
    for write in (
        lambda: world.of(User).put(loaded.replace(email="m2")),
        lambda: world.of(User).update(loaded, User.email.set("m2")),
        lambda: world.of(User).delete(loaded),
    ):
        with pytest.raises(sw.VersionConflict):
            write()
    assert agrees(world, {"m1": "USER#a"})


def test_an_item_stored_before_its_field_was_unique_can_leave_its_value(world: World) -> None:
    """No claim of it is stored: releasing what is not there is no refusal."""
    stored = {"pk": {"S": "USER#a"}, "sk": {"S": "USER"}, "_type": {"S": "USER"}, "id": {"S": "a"}, "email": {"S": "m1"}}
    world.service.execute("PutItem", {"TableName": TABLE, "Item": stored})
    assert world.of(User).update(ANY_A, User.email.set("m2")).revision == 1
    assert agrees(world, {"m2": "USER#a"})


def test_an_item_leaves_a_value_that_another_item_claims_without_touching_that_claim(world: World) -> None:
    """Two items had one value before it was unique, and the other got the claim."""
    stored = {"pk": {"S": "USER#a"}, "sk": {"S": "USER"}, "_type": {"S": "USER"}, "id": {"S": "a"}, "email": {"S": "m1"}}
    world.other.of(User).create(User(id="b", email="m1"))
    world.service.execute("PutItem", {"TableName": TABLE, "Item": stored})
    assert world.of(User).update(ANY_A, User.email.set("m2")).email == "m2"
    assert agrees(world, {"m1": "USER#b", "m2": "USER#a"})


def test_a_claim_in_other_hands_that_becomes_its_own_meanwhile_is_released(world: World) -> None:
    """Between the round that found it in other hands and the next, a repair gives the claim to the item that leaves it."""
    world.other.of(User).create(User(id="b", email="m1"))
    item = {"pk": {"S": "USER#a"}, "sk": {"S": "USER"}, "_type": {"S": "USER"}, "id": {"S": "a"}, "email": {"S": "m1"}}
    world.service.execute("PutItem", {"TableName": TABLE, "Item": item})

    def repaired() -> None:
        world.other.of(User).delete(ANY_B)
        owner = {":o": {"S": '["USER#a","USER"]'}}
        key = {"pk": {"S": "UNIQUE#USER#email#m1"}, "sk": {"S": "CLAIM"}}
        fields = {"_type": {"S": "SUREWRITE_CLAIM"}, "_claimed": {"S": "USER#email#m1"}, "_entity": {"S": "USER"}, "_field": {"S": "email"}}
        world.service.execute("PutItem", {"TableName": TABLE, "Item": {**key, **fields, "_owner": owner[":o"], "_s": {"S": "-:repairrepair"}}})

    world.follow(Step(Deliver(), COMMITS, nth=2, before=("repaired",)), repaired=repaired)
    assert world.of(User).update(ANY_A, User.email.set("m2")).email == "m2"
    assert agrees(world, {"m2": "USER#a"})


def test_writers_that_never_stop_end_in_a_conflict_that_is_safe_to_try_again(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    counts = iter(range(1_000))
    world.follow(
        *(Step(Deliver(), COMMITS, nth=number, before=("another",)) for number in range(1, 70)),
        another=lambda: world.other.of(User).update(ANY_A, User.name.set(str(next(counts)))),
    )
    with pytest.raises(sw.TransactionConflict, match="trying again is safe") as raised:
        world.of(User).update(ANY_A, User.email.set("m2"))
    assert raised.value.key == User.key_of("a")
    assert agrees(world, {"m1": "USER#a"})


def test_a_conflict_with_a_running_transaction_is_waited_for(world: World) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(Conflict(), COMMITS, nth=1))
    assert world.of(User).update(ANY_A, User.email.set("m2")).revision == 2


FAILURES = (
    (Throttle(), sw.Throttled),
    (NotSentAtAll(), sw.ConnectionFailed),
    (Reject("AccessDeniedException"), sw.InvalidRequest),
)


@pytest.mark.parametrize("where", [COMMITS, READS])
@pytest.mark.parametrize(("fault", "kind"), FAILURES)
def test_any_error_of_a_write_that_moves_claims_has_the_key_of_its_item(world: World, fault: Fault, kind: type[sw.SurewriteError], where: Where) -> None:
    world.other.of(User).create(User(id="a", email="m1"))
    world.follow(Step(fault, where, times=None))
    with pytest.raises(kind) as raised:
        world.of(User).update(ANY_A, User.email.set("m2"))
    assert raised.value.key == A
    assert raised.value.attempts >= 1


def settled(world: World, error: sw.OutcomeUnknown) -> Any:
    result = world.db.run(error.settle())
    return world.run(result) if world.kind == "asyncio" else result


def unknown_creation(world: World, *steps: Step) -> sw.OutcomeUnknown:
    world.follow(*steps)
    with pytest.raises(sw.OutcomeUnknown) as raised:
        world.of(User).create(User(id="a", email="m1"))
    assert raised.value.key == A
    assert str(raised.value).startswith("User: ")
    return raised.value


NEVER_ARRIVES = Step(LoseRequest(), COMMITS, times=None)


def test_an_outcome_that_stays_unknown_says_so_and_is_settled_as_refused_in_the_words_of_the_write(world: World) -> None:
    world.other.of(User).create(User(id="b", email="m1"))
    error = unknown_creation(world, NEVER_ARRIVES)
    world.no_more_faults()
    outcome = settled(world, error)
    assert isinstance(outcome, sw.Refused)
    assert outcome.key == A
    assert agrees(world, {"m1": "USER#b"})


def test_an_outcome_that_stays_unknown_is_settled_as_applied_with_the_item_of_the_write(world: World) -> None:
    error = unknown_creation(world, Step(LoseAnswer(), COMMITS, nth=1), NEVER_ARRIVES)
    with pytest.raises(sw.OutcomeUnknown) as again:
        settled(world, error)
    assert again.value.key == A
    world.no_more_faults()
    outcome = settled(world, again.value)
    assert isinstance(outcome, sw.Applied)
    assert (outcome.item.email, outcome.item.revision, outcome.once, outcome.recovered) == ("m1", 1, True, True)
    assert world.of(User).put(outcome.item.replace(email="m2")).revision == 2
    assert agrees(world, {"m2": "USER#a"})


def test_an_interrupted_claim_is_whole_or_not_at_all(world: World) -> None:
    world.follow(Step(LoseAnswer(), COMMITS, nth=1))
    world.time.on_wait = world.interrupt
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)) as raised:
        world.of(User).create(User(id="a", email="m1"))
    assert "may have taken effect" in "".join(raised.value.__notes__)
    world.time.on_wait = lambda: None
    assert agrees(world, {"m1": "USER#a"})


def test_an_own_life_is_kept_in_the_entity_that_a_move_returns(world: World) -> None:
    user = world.of(User).create(User(id="a", email="m1"))
    moved = world.of(User).put(user.replace(email="m2"))
    again = world.of(User).update(moved, User.email.set("m3"))
    assert stored_state(again).birth == stored_state(user).birth
    assert world.of(User).put(again.replace(email="m4")).revision == 4
    assert agrees(world, {"m4": "USER#a"})


def test_a_blind_put_that_is_overtaken_reads_again(world: World) -> None:
    world.other.of(Page).put(Page(id="p", path="/1"))
    world.follow(Step(Deliver(), COMMITS, before=("moved",)), moved=lambda: world.other.of(Page).put(Page(id="p", path="/2")))
    world.of(Page).put(Page(id="p", path="/3"))
    assert claimed(world) == {"/3": "PAGE#p"}
    assert len([request for request in world.watched.sent if request.operation == "GetItem"]) == 2


def test_plain_types_read_nothing_and_plain_changes_of_unique_types_are_plain_writes(world: World) -> None:
    user = world.of(User).create(User(id="a", email="m1"))
    world.follow()
    user = world.of(User).put(user.replace(name="Ann"))
    world.of(User).update(user, User.name.set("Bea"))
    world.of(User).update(ANY_A, User.name.set("Cleo"))
    world.of(User).create(User(id="b"))
    assert [request.operation for request in world.watched.sent] == ["PutItem", "UpdateItem", "UpdateItem", "PutItem"]


def test_where_refusals_hide_their_items_the_owner_is_read(make_world) -> None:
    world = make_world(old_item=None)
    world.other.of(User).create(User(id="b", email="m1"))
    assert world.of(User).try_create(User(id="a", email="m1")).taken == (sw.TakenValue("email", B),)
