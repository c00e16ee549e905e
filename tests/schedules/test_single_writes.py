"""The schedules of single writes by their names: what a resend or a late attempt may do, and which word is said of it."""

from __future__ import annotations

import pytest
from tests.schedules.verbs import ACCOUNT, NOTE
from tests.schedules.world import TABLE, Account, Note, World

import surewrite as sw
from surewrite.testing.faults import WRITES, ApplyLate, Deliver, HideItem, LoseAnswer, LoseRequest, Reject, Step, Where

ON_WRITES = Where(operations=WRITES)
LOST_ANSWER = Step(LoseAnswer(), ON_WRITES)
LATE = Step(ApplyLate(), ON_WRITES)


def then(*names: str) -> Step:
    """The resend is delivered, after these actions of others."""
    return Step(Deliver(), ON_WRITES, nth=2, before=names)


def test_r1a_a_take_whose_answer_was_lost_is_not_taken_again(world: World) -> None:
    world.of(Note).put(Note(id="a", count=10))
    world.follow(LOST_ANSWER, then())
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Note).update(NOTE, Note.count.add(-3), condition=Note.count >= 3)
    world.other.of(Note).update(NOTE, Note.count.add(-2))
    assert world.of(Note).get(NOTE).count == 5


def test_r1b_a_late_copy_of_a_blind_put_may_undo_a_later_write_and_once_says_so(world: World) -> None:
    world.follow(LATE)
    outcome = world.of(Note).try_put(Note(id="a", text="10"))
    assert (outcome.applied, outcome.once) == (True, False)
    world.other.of(Note).put(Note(id="a", text="12"))
    world.release()
    assert world.of(Note).get(NOTE).text == "10"


def test_r1b_a_late_copy_of_a_put_if_unchanged_is_harmless(world: World) -> None:
    note = world.of(Note).put(Note(id="a"))
    world.follow(LATE)
    outcome = world.of(Note).try_put(note.replace(text="10"), if_unchanged=True)
    assert (outcome.applied, outcome.once) == (True, True)
    world.other.of(Note).put(Note(id="a", text="12"))
    world.release()
    assert world.of(Note).get(NOTE).text == "12"


@pytest.mark.parametrize("in_doubt", ["resend", "raise"])
def test_r1c_a_resent_set_union_revokes_a_revoke_unless_the_caller_prefers_unknown(world: World, in_doubt: str) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(LOST_ANSWER, then("revoke"), revoke=lambda: world.other.of(Note).update(NOTE, Note.tags.discard("admin")))
    if in_doubt == "raise":
        with pytest.raises(sw.OutcomeUnknown):
            world.of(Note).update(NOTE, Note.tags.add("admin"), in_doubt="raise")
        assert world.effects == 1
    else:
        assert not world.of(Note).try_update(NOTE, Note.tags.add("admin"), in_doubt="resend").once
        assert world.of(Note).get(NOTE).tags == frozenset({"admin"})


def test_r1d_a_transition_whose_condition_comes_true_again_may_be_made_twice_and_once_says_so(world: World) -> None:
    world.of(Note).put(Note(id="a", text="paid"))
    world.follow(LOST_ANSWER, then("pay"), pay=lambda: world.other.of(Note).update(NOTE, Note.text.set("paid")))
    outcome = world.of(Note).try_update(NOTE, Note.text.set("shipped"), condition=Note.text == "paid")
    assert (outcome.applied, outcome.once, world.effects) == (True, False, 2)


def test_r1d_a_transition_of_a_loaded_entity_is_made_once(world: World) -> None:
    alice = world.of(Account).create(Account(id="a", owner="paid"))
    world.follow(LOST_ANSWER, then("pay"), pay=lambda: world.other.of(Account).update(ACCOUNT.ignore_version(), Account.owner.set("paid")))
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Account).update(alice, Account.owner.set("shipped"))
    assert world.effects == 1


def test_r2b_a_create_refused_in_doubt_is_unknown_because_it_may_still_be_made(world: World) -> None:
    world.follow(LATE, then("create"), create=lambda: world.other.of(Account).create(Account(id="a", owner="bob")))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        world.of(Account).create(Account(id="a", owner="alice"))
    assert raised.value.item.owner == "bob"
    world.other.of(Account).delete(ACCOUNT.ignore_version())
    world.release()
    assert world.of(Account).get(ACCOUNT).owner == "alice"


def test_r2c_an_update_whose_resend_finds_no_item_is_unknown_because_it_may_have_been_made(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(LOST_ANSWER, then("remove"), remove=lambda: world.other.of(Note).delete(NOTE))
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Note).update(NOTE, Note.text.set("mine"))
    assert world.effects == 1


def test_r2d_a_delete_whose_resend_finds_nothing_is_gone(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(LOST_ANSWER)
    outcome = world.of(Note).try_delete(NOTE)
    assert (outcome.applied, outcome.gone, outcome.item) == (True, True, None)


def test_r2d_gone_does_not_say_by_whose_hand(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(Step(LoseRequest(), ON_WRITES), then("remove"), remove=lambda: world.other.of(Note).delete(NOTE))
    assert world.of(Note).delete(NOTE) is None
    assert world.effects == 0


def test_r2d_gone_does_not_hand_out_the_item_of_another_life(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))
    world.follow(LOST_ANSWER, then("create"), create=lambda: world.other.of(Account).create(Account(id="a", owner="bob")))
    outcome = world.of(Account).try_delete(alice)
    assert (outcome.gone, outcome.item) == (True, None)
    assert world.of(Account).get(ACCOUNT).owner == "bob"


def test_r3_a_definite_answer_to_a_resend_is_told_as_unknown_and_named(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(LOST_ANSWER, Step(Reject("AccessDeniedException"), ON_WRITES, nth=2))
    with pytest.raises(sw.OutcomeUnknown, match="AccessDeniedException") as raised:
        world.of(Note).update(NOTE, Note.text.set("mine"))
    assert (raised.value.attempts, world.effects) == (2, 1)


def recreate(world: World) -> None:
    world.other.of(Account).try_delete(ACCOUNT.ignore_version())
    world.other.of(Account).create(Account(id="a", owner="bob"))


def test_r4a_a_late_copy_under_a_bare_number_hits_a_new_life(world: World) -> None:
    world.of(Account).create(Account(id="a"))
    world.follow(LATE)
    assert world.of(Account).update(ACCOUNT.if_version(1), Account.owner.set("alice")).revision == 2
    recreate(world)
    world.release()
    assert world.of(Account).get(ACCOUNT).owner == "alice"


@pytest.mark.parametrize("verb", ["put", "update", "delete"])
def test_r4a_a_late_copy_of_a_write_of_a_loaded_entity_never_hits_a_new_life(world: World, verb: str) -> None:
    accounts = world.of(Account)
    alice = accounts.create(Account(id="a"))
    world.follow(LATE)
    if verb == "put":
        accounts.put(alice.replace(owner="alice"))
    elif verb == "update":
        accounts.update(alice, Account.owner.set("alice"))
    else:
        accounts.delete(alice)
    recreate(world)
    world.release()
    assert world.of(Account).get(ACCOUNT).owner == "bob"


def test_r4a_a_stale_entity_of_an_earlier_life_is_refused_though_its_number_fits(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))
    recreate(world)
    assert world.of(Account).try_put(alice.replace(owner="alice")).reason is sw.RefusalReason.VERSION_CONFLICT
    assert world.of(Account).get(ACCOUNT).revision == alice.revision


def test_r4b_the_next_version_in_a_new_life_is_no_proof(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))

    def reborn_and_saved() -> None:
        recreate(world)
        world.other.of(Account).update(ACCOUNT.if_version(1), Account.owner.set("carol"))

    world.follow(LOST_ANSWER, then("others"), others=reborn_and_saved)
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Account).put(alice.replace(owner="alice"))
    assert world.effects == 1


def test_r4c_the_next_version_under_a_stamp_of_an_older_release_is_no_proof(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))

    def older_release() -> None:
        key = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}
        body = {"UpdateExpression": "SET #s = :s", "ExpressionAttributeNames": {"#s": "_s"}, "ExpressionAttributeValues": {":s": {"S": "-:older"}}}
        world.other_db.execute("UpdateItem", {"TableName": TABLE, "Key": key, **body})

    world.follow(LOST_ANSWER, then("older"), older=older_release)
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Account).put(alice.replace(owner="alice"))
    assert world.effects == 1


def test_r4_another_writer_of_the_next_version_in_the_same_life_is_a_proof(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))
    world.follow(LATE, then("save"), save=lambda: world.other.of(Account).put(world.other.of(Account).get(ACCOUNT).replace(owner="bob")))
    refused = world.of(Account).try_put(alice.replace(owner="alice"))
    assert (refused.reason, refused.existing.owner) == (sw.RefusalReason.VERSION_CONFLICT, "bob")
    world.release()
    assert world.effects == 0


def test_r6_the_resend_of_a_create_undoes_a_delete_and_once_says_so(world: World) -> None:
    world.follow(LOST_ANSWER, then("revoke"), revoke=lambda: world.other.of(Account).delete(ACCOUNT.ignore_version()))
    outcome = world.of(Account).try_create(Account(id="a"))
    assert (outcome.applied, outcome.once, world.effects) == (True, False, 2)


def test_r6_the_resend_of_a_delete_by_key_removes_the_item_of_another(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    world.follow(LOST_ANSWER, then("create"), create=lambda: world.other.of(Note).put(Note(id="a", text="bob")))
    outcome = world.of(Note).try_delete(NOTE)
    assert (outcome.applied, outcome.once, outcome.item.text, world.effects) == (True, False, "bob", 2)


def test_r6_a_transaction_closes_it(world: World) -> None:
    world.follow(LOST_ANSWER, then("revoke"), revoke=lambda: world.other.of(Account).delete(ACCOUNT.ignore_version()))
    tx = world.table.transaction()
    tx.create(Account(id="a"))
    assert tx.try_commit()
    assert (world.item(ACCOUNT), world.effects) == (None, 1)


def test_r8_the_old_item_of_a_recovered_write_is_lost_and_the_write_is_not(world: World) -> None:
    world.of(Note).put(Note(id="a", lines=["one"]))
    note = world.of(Note).get(NOTE)
    world.follow(LOST_ANSWER)
    with pytest.raises(sw.OldItemLost):
        world.of(Note).update(note, Note.lines.set([]), if_unchanged=True, returning="old")
    assert world.of(Note).get(NOTE).lines == []


def test_r8_the_old_item_of_a_guarded_write_that_a_resend_made_is_there(world: World) -> None:
    note = world.of(Note).put(Note(id="a", lines=["one"]))
    world.follow(Step(LoseRequest(), ON_WRITES))
    assert world.of(Note).update(note, Note.lines.set([]), if_unchanged=True, returning="old").lines == ["one"]


def test_r8_the_old_item_of_an_unguarded_resend_may_be_ones_own(world: World) -> None:
    world.of(Note).put(Note(id="a", text="old"))
    world.follow(LOST_ANSWER)
    with pytest.raises(sw.OldItemLost):
        world.of(Note).put(Note(id="a", text="new"), returning="old")
    assert world.of(Note).get(NOTE).text == "new"


@pytest.mark.parametrize(("kind", "error"), [("AccessDeniedException", sw.InvalidRequest), ("ThrottlingException", sw.Throttled)])
def test_r15_what_is_definite_without_doubt_says_that_nothing_was_written(world: World, kind: str, error: type[sw.SurewriteError]) -> None:
    world.follow(Step(Reject(kind), ON_WRITES, times=None))
    with pytest.raises(error, match="was not made"):
        world.of(Note).put(Note(id="a"))
    assert world.item(NOTE) is None


def test_r15_only_a_failed_condition_is_an_answer_of_try(world: World) -> None:
    world.of(Note).put(Note(id="a"))
    assert not world.of(Note).try_update(NOTE, Note.text.set("x"), condition=Note.count == 9)
    world.follow(Step(Reject("ThrottlingException"), ON_WRITES, times=None))
    with pytest.raises(sw.Throttled):
        world.of(Note).try_update(NOTE, Note.text.set("x"), condition=Note.count == 9)


class TestR16:
    """A refusal that does not show its item, from an endpoint of which nobody knows whether it would."""

    def test_a_create_that_finds_itself_is_recovered_by_reading(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.follow(LOST_ANSWER, Step(HideItem(), ON_WRITES, nth=2))
        outcome = world.of(Account).try_create(Account(id="a"))
        assert (outcome.recovered, outcome.attempts, world.effects) == (True, 2, 1)

    def test_the_endpoint_is_told_to_hide_items_once_a_refusal_that_only_an_item_can_make_shows_none(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Account).create(Account(id="a", owner="bob"))
        world.follow(Step(HideItem(), ON_WRITES))
        assert world.db.endpoint.old_item is None
        world.of(Account).try_create(Account(id="a"))
        assert world.db.endpoint.old_item is False

    def test_an_item_of_another_is_unknown_in_doubt(self, make_world) -> None:
        world: World = make_world(old_item=None)
        create = lambda: world.other.of(Account).create(Account(id="a", owner="bob"))  # noqa: E731
        world.follow(LATE, Step(HideItem(), ON_WRITES, nth=2, before=("create",)), create=create)
        with pytest.raises(sw.OutcomeUnknown):
            world.of(Account).create(Account(id="a"))

    def test_an_item_of_another_refuses_without_doubt_and_is_handed_out(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Account).create(Account(id="a", owner="bob"))
        world.follow(Step(HideItem(), ON_WRITES))
        refused = world.of(Account).try_create(Account(id="a"))
        assert (refused.reason, refused.existing.owner) == (sw.RefusalReason.ALREADY_EXISTS, "bob")

    def test_an_item_that_vanished_before_it_was_read_refused_all_the_same(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Account).create(Account(id="a", owner="bob"))
        remove = lambda: world.other.of(Account).delete(ACCOUNT.ignore_version())  # noqa: E731
        world.follow(Step(HideItem(), ON_WRITES, after=("remove",)), remove=remove)
        refused = world.of(Account).try_create(Account(id="a"))
        assert (refused.reason, refused.item) == (sw.RefusalReason.ALREADY_EXISTS, None)

    def test_a_delete_in_doubt_that_finds_nothing_is_gone(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Note).put(Note(id="a"))
        world.follow(LOST_ANSWER)
        assert world.of(Note).try_delete(NOTE).gone

    def test_an_item_that_a_cancelled_transaction_shows_tells_nothing_of_single_writes(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Note).put(Note(id="a", count=10))
        tx = world.table.transaction()
        tx.create(Note(id="a"))
        assert not tx.try_commit()
        assert world.db.endpoint.cancelled_items
        world.follow(Step(HideItem(), ON_WRITES))
        refused = world.of(Note).try_update(NOTE, Note.count.add(1), condition=Note.count == 9)
        assert (refused.reason, refused.existing.count) == (sw.RefusalReason.CONDITION_FAILED, 10)

    def test_an_item_that_a_single_refusal_shows_tells_nothing_of_cancelled_transactions(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.other.of(Note).put(Note(id="a", count=10))
        assert not world.of(Note).try_create(Note(id="a"))
        assert world.db.endpoint.old_item
        world.follow(Step(HideItem(), Where(operations=("TransactWriteItems",))))
        tx = world.table.transaction()
        update = tx.update(NOTE, Note.count.add(1), condition=Note.count == 9)
        assert tx.try_commit().refusal_of(update).reason is sw.RefusalReason.CONDITION_FAILED

    def test_a_read_that_is_not_answered_leaves_the_doubt(self, make_world) -> None:
        world: World = make_world(old_item=None)
        world.follow(LOST_ANSWER, Step(HideItem(), ON_WRITES, nth=2), Step(LoseAnswer(), Where(operations=("GetItem",)), times=None))
        with pytest.raises(sw.OutcomeUnknown):
            world.of(Account).create(Account(id="a"))
        assert world.effects == 1

    def test_an_item_that_cannot_be_read_as_the_type_does_not_hide_the_word(self, world: World) -> None:
        world.other_db.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}, "balance": {"S": "?"}}})
        refused = world.of(Account).try_create(Account(id="a"))
        assert (refused.reason, refused.item) == (sw.RefusalReason.ALREADY_EXISTS, None)


def test_r19_a_foreign_bump_of_the_version_without_a_stamp_leaves_the_word_true(world: World) -> None:
    alice = world.of(Account).create(Account(id="a"))

    def bump() -> None:
        key = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}
        world.other_db.execute(
            "UpdateItem",
            {"TableName": TABLE, "Key": key, "UpdateExpression": "SET revision = revision + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}},
        )

    world.follow(LATE, then("bump"), bump=bump)
    with pytest.raises(sw.OutcomeUnknown):
        world.of(Account).put(alice.replace(owner="alice"))
    world.no_more_faults()
    assert world.of(Account).try_put(alice.replace(owner="alice")).reason is sw.RefusalReason.VERSION_CONFLICT
    world.release()
    assert world.effects == 0


@pytest.mark.parametrize("verb", ["create", "put", "update", "delete", "modify"])
def test_a_refused_or_failed_write_leaves_every_object_equal_to_before(world: World, verb: str) -> None:
    alice = world.of(Account).create(Account(id="a", balance=5, seen=frozenset({"x"})))
    before = repr(alice), hash(alice), dict(alice.__dict__)
    world.other.of(Account).put(world.other.of(Account).get(ACCOUNT).replace(owner="bob"))
    accounts = world.of(Account)
    act = {
        "create": lambda: accounts.create(alice),
        "put": lambda: accounts.put(alice),
        "update": lambda: accounts.update(alice, Account.balance.add(1)),
        "delete": lambda: accounts.delete(alice),
        "modify": lambda: accounts.modify(ACCOUNT, lambda _: alice, attempts=1),
    }[verb]
    with pytest.raises(sw.WriteRefused):
        act()
    world.follow(Step(LoseAnswer(), ON_WRITES, times=None))
    with pytest.raises(sw.SurewriteError):
        act()
    assert (repr(alice), hash(alice), dict(alice.__dict__)) == before


@pytest.mark.parametrize("verb", ["put", "update", "transaction"])
def test_the_plan_that_an_unknown_write_carries_shows_neither_key_nor_contents(world: World, verb: str) -> None:
    world.follow(Step(LoseAnswer(), Where(operations=(*WRITES, "TransactWriteItems")), times=None))
    secret = Note(id="secret-key", text="secret-text")
    tx = world.table.transaction()
    tx.put(secret)
    act = {
        "put": lambda: world.of(Note).put(secret),
        "update": lambda: world.of(Note).upsert(Note.key_of("secret-key"), Note.text.set("secret-text")),
        "transaction": tx.commit,
    }[verb]
    with pytest.raises(sw.OutcomeUnknown) as unknown:
        act()
    assert "Note" in repr(unknown.value.plan)
    assert not any("secret" in shown for shown in (repr(unknown.value.plan), str(unknown.value), repr(unknown.value)))
