"""Transactions before they are sent, what their reasons say together, and the endpoints that cannot hold what they promise."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.backends.embedded import EmbeddedBackend
from surewrite.core.answers import Reason
from surewrite.core.decisions import AnswerClass
from surewrite.core.effects import Moment
from surewrite.core.entities import Stored, TableLayout, schema_of, with_stored
from surewrite.core.environment import Environment
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.traits import EndpointTraits
from surewrite.core.transaction_drafts import Action, TransactionDraft, TransactionPlan, compile_transaction, token_of_name
from surewrite.core.transactions import classify_reasons, commit
from surewrite.engine.service import Service, ServiceSettings
from surewrite.engine.stores.memory import MemoryStore
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import Deliver, FaultPlan, LoseAnswer, Reject, Step, Where


class Account(VersionedEntity, partition_key="{id}"):
    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Note(Entity, partition_key="NOTE#{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")


class Ticket(Entity, partition_key="TICKET#{id}"):
    id: Attribute[str]
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)


LAYOUT = TableLayout(("pk",), None, "_s", "_b")
ENVIRONMENT = Environment(EndpointTraits("test", tokens=True, transactions=True))
OCCASION = Occasion(Moment(1_000.0, 1_000.0, 0.0), "id")
NOTHING = Options()


def scope(entity: type[Any]) -> Scope:
    return Scope(ENVIRONMENT, "things", schema_of(entity).bind(LAYOUT))


def compiled(draft: TransactionDraft) -> TransactionPlan:
    return compile_transaction(draft, OCCASION, "token")


NOTE = Note.key_of("a")


def test_actions_are_compiled_in_their_order_under_one_stamp() -> None:
    draft = TransactionDraft(ENVIRONMENT)
    draft.create(scope(Note), Note(id="a"))
    draft.update(scope(Account), Account.key_of("b").if_version(3), [Account.balance.add(1)], NOTHING)
    draft.delete(scope(Note), Note.key_of("c"), NOTHING)
    plan = compiled(draft)
    assert [next(iter(action)) for action in plan.body["TransactItems"]] == ["Put", "Update", "Delete"]
    assert [action.plan.stamp for action in plan.actions] == ["-:id", "4:id", None]
    assert plan.request().body["ClientRequestToken"] == "token"


def test_a_check_of_an_item_that_is_written_becomes_part_of_the_write() -> None:
    draft = TransactionDraft(ENVIRONMENT)
    check = draft.check(scope(Note), NOTE, Note.text == "x")
    update = draft.update(scope(Note), NOTE, [Note.text.set("y")], Options(condition=Note.text != "z"))
    plan = compiled(draft)
    assert len(plan.actions) == 1
    assert [intent.marker for intent in plan.actions[0].intents] == [update, check]
    assert {value["S"] for value in plan.actions[0].plan.body["ExpressionAttributeValues"].values()} == {"-:id", "x", "y", "z"}


def test_two_checks_of_one_item_are_one_action() -> None:
    draft = TransactionDraft(ENVIRONMENT)
    draft.check(scope(Note), NOTE, Note.text == "x")
    draft.check(scope(Note), NOTE, Note.text.exists())
    assert [next(iter(action)) for action in compiled(draft).body["TransactItems"]] == ["ConditionCheck"]


def test_two_writes_of_one_item_name_both_their_markers() -> None:
    draft = TransactionDraft(ENVIRONMENT)
    draft.create(scope(Note), Note(id="a"))
    draft.delete(scope(Note), NOTE, NOTHING)
    with pytest.raises(sw.InvalidRequest, match=r"create Note \(action 1\) and delete Note \(action 2\) write one item"):
        compiled(draft)


def test_a_transaction_over_the_limits_is_refused_before_it_is_sent() -> None:
    with pytest.raises(sw.InvalidRequest, match="no action"):
        compiled(TransactionDraft(ENVIRONMENT))
    many, large = TransactionDraft(ENVIRONMENT), TransactionDraft(ENVIRONMENT)
    for number in range(101):
        many.create(scope(Note), Note(id=str(number)))
    with pytest.raises(sw.InvalidRequest, match="101 actions"):
        compiled(many)
    for number in range(12):
        large.create(scope(Note), Note(id=str(number), text="x" * 400_000))
    with pytest.raises(sw.InvalidRequest, match="bytes and the service takes"):
        compiled(large)


def test_the_token_of_a_name_is_the_same_in_every_process_and_within_the_limit() -> None:
    assert token_of_name("order 17") == token_of_name("order 17")
    assert token_of_name("order 17") != token_of_name("order 18")
    assert len(token_of_name("x" * 10_000)) == 36


def test_what_a_named_transaction_stamps_follows_from_its_name_and_its_content() -> None:
    def stamp(name: str, text: str) -> str | None:
        draft = TransactionDraft(ENVIRONMENT, name)
        draft.create(scope(Note), Note(id="a", text=text))
        return compiled(draft).actions[0].plan.stamp

    assert stamp("order 17", "x") == stamp("order 17", "x")
    assert len({stamp("order 17", "x"), stamp("order 17", "y"), stamp("order 18", "x")}) == 3


def test_a_named_transaction_holds_no_time() -> None:
    timeless, timed = TransactionDraft(ENVIRONMENT, "order 17"), TransactionDraft(ENVIRONMENT, "order 17")
    timeless.create(scope(Note), Note(id="a"))
    assert compiled(timeless).name == "order 17"
    timed.create(scope(Ticket), Ticket(id="a"))
    with pytest.raises(sw.InvalidRequest, match="leave token= out"):
        compiled(timed)


def test_a_fence_is_another_transaction_under_the_same_token_and_follows_from_it() -> None:
    draft = TransactionDraft(ENVIRONMENT)
    draft.create(scope(Note), Note(id="a"))
    plan = compiled(draft)
    assert plan.fence.body["ClientRequestToken"] == "token"
    assert plan.fence.body["TransactItems"] != plan.body["TransactItems"]
    assert compiled(draft).fence.body == plan.fence.body
    other = plan.with_token("another")
    assert (other.fence.body["ClientRequestToken"], other.body) == ("another", plan.body)
    assert other.fence.body["TransactItems"] != plan.fence.body["TransactItems"]


# --------------------------------------------------------------------------------------------------------------- reasons

NONE, FAILED, BUSY = Reason("None"), Reason("ConditionalCheckFailed"), Reason("TransactionConflict")
OWN = Reason("ConditionalCheckFailed", item={"_s": {"S": "-:id"}})
MALFORMED = Reason("ValidationError", "too large")


def actions(*, asks_again: bool = False) -> tuple[Action, ...]:
    draft = TransactionDraft(ENVIRONMENT)
    first = draft.create(scope(Note), Note(id="a"))
    draft.create(scope(Note), Note(id="b"))
    if asks_again:
        draft.outrank(first)
    return compiled(draft).actions


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ((FAILED, NONE), AnswerClass.OTHER),
        ((BUSY, FAILED), AnswerClass.OTHER),
        ((BUSY, NONE), AnswerClass.BUSY),
        ((BUSY, Reason("ThrottlingError")), AnswerClass.BUSY),
        ((Reason("ProvisionedThroughputExceeded"), NONE), AnswerClass.BUSY),
        ((MALFORMED, NONE), AnswerClass.REJECTED),
        ((MALFORMED, FAILED), AnswerClass.OTHER),
        ((FAILED, OWN), AnswerClass.OWN),
        ((BUSY, OWN), AnswerClass.OWN),
    ],
)
def test_r17_the_reasons_of_a_cancellation_say_one_thing_together(reasons: tuple[Reason, ...], expected: AnswerClass) -> None:
    assert classify_reasons(actions(), reasons) is expected


def test_r17_a_conflict_on_a_guard_row_outranks_failed_conditions_elsewhere() -> None:
    assert classify_reasons(actions(asks_again=True), (BUSY, FAILED)) is AnswerClass.BUSY
    assert classify_reasons(actions(asks_again=True), (FAILED, BUSY)) is AnswerClass.OTHER
    assert classify_reasons(actions(asks_again=True), (BUSY, OWN)) is AnswerClass.OWN


# ------------------------------------------------------------------------------------------------------------- endpoints


class Endpoint:
    """An endpoint of which nothing is known beforehand."""

    def __init__(self, *steps: Step, settings: ServiceSettings | None = None, **actions: Callable[[], object]) -> None:
        service = Service(MemoryStore(), settings=settings or ServiceSettings())
        inner = EmbeddedBackend(service)
        unknown = replace(inner.traits, tokens=None, transactions=None)
        self.faults = FaultBackend(inner, FaultPlan(steps), actions=actions, traits=unknown)
        self.now = 0.0
        clock = sw.Clock(lambda: 1.9e9 + self.now, lambda: self.now, self._wait)
        self.db = sw.connect(self.faults, clock=clock)
        self.table = self.db.table("things", key=("pk",), discriminator=None)
        self.table.create_table(Account, Note)

    def _wait(self, seconds: float) -> None:
        self.now += seconds

    def commit(self, identifier: str) -> Any:
        tx = self.table.transaction()
        tx.create(Note(id=identifier))
        return tx.try_commit()

    @property
    def transactions(self) -> int:
        return sum(met.request.operation == "TransactWriteItems" for met in self.faults.met)


TRANSACTIONS = Where(operations=("TransactWriteItems",))


def test_an_unknown_endpoint_is_probed_once() -> None:
    endpoint = Endpoint()
    assert endpoint.commit("a")
    assert endpoint.transactions == 3
    assert endpoint.commit("b")
    assert endpoint.transactions == 4


def test_r9_an_unknown_endpoint_that_ignores_tokens_is_found_out() -> None:
    endpoint = Endpoint(settings=ServiceSettings(tokens_ignored=True))
    for _ in range(2):
        with pytest.raises(sw.InvalidRequest, match="ignores the tokens"):
            endpoint.commit("a")
    assert endpoint.transactions == 2
    assert endpoint.table.of(Note).get_or_none(NOTE) is None


def test_an_endpoint_without_transactions_is_found_out() -> None:
    endpoint = Endpoint(Step(Reject("UnknownOperationException"), TRANSACTIONS))
    with pytest.raises(sw.InvalidRequest, match="has no transactions"):
        endpoint.commit("a")
    assert endpoint.transactions == 1


@pytest.mark.parametrize("nth", [1, 2])
def test_a_probe_outlives_a_lost_answer(nth: int) -> None:
    assert Endpoint(Step(LoseAnswer(), TRANSACTIONS, nth=nth)).commit("a")


def test_a_probe_without_an_answer_says_that_nothing_was_written() -> None:
    endpoint = Endpoint(Step(LoseAnswer(), TRANSACTIONS, times=None))
    with pytest.raises(sw.ConnectionFailed, match="nothing was written"):
        endpoint.commit("a")
    assert endpoint.table.of(Note).get_or_none(NOTE) is None


# ---------------------------------------------------------------------------------------------------------------- results


def test_a_transaction_is_committed_once() -> None:
    endpoint = Endpoint()
    tx = endpoint.table.transaction()
    tx.create(Note(id="a"))
    tx.commit()
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        tx.commit()
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        tx.create(Note(id="b"))


def test_of_two_commits_side_by_side_one_only_is_made() -> None:
    """Two threads, or tasks: the second begins while the first has sent nothing yet."""
    draft = TransactionDraft(ENVIRONMENT)
    draft.create(scope(Note), Note(id="a"))
    first = commit(draft)
    next(first)
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        next(commit(draft))
    with pytest.raises(sw.InvalidRequest, match="was committed"):
        draft.create(scope(Note), Note(id="b"))
    first.close()


def test_a_commit_that_ended_before_anything_was_sent_can_be_made_again() -> None:
    endpoint = Endpoint()
    tx = endpoint.table.transaction()
    with pytest.raises(sw.InvalidRequest, match="no action"):
        tx.commit()
    tx.create(Note(id="a"))
    assert tx.commit()


def test_a_check_demands_the_version_that_its_key_says() -> None:
    endpoint = Endpoint()
    accounts = endpoint.table.of(Account)
    accounts.put(accounts.create(Account(id="a")))
    key = Account.key_of("a")
    for version, reason in ((2, None), (1, sw.RefusalReason.VERSION_CONFLICT), (None, sw.RefusalReason.VERSION_CONFLICT)):
        tx = endpoint.table.transaction()
        marker = tx.check(key.if_version(version), Account.balance == 0)
        tx.put(Note(id="a"))
        refusal = tx.try_commit().refusal_of(marker)
        assert (None if refusal is None else refusal.reason) is reason


def test_a_check_of_a_version_stays_whole_where_it_becomes_part_of_a_write() -> None:
    endpoint = Endpoint()
    accounts = endpoint.table.of(Account)
    accounts.put(accounts.create(Account(id="a")))
    key = Account.key_of("a")
    for version, reason in ((1, sw.RefusalReason.VERSION_CONFLICT), (2, None)):
        tx = endpoint.table.transaction()
        written = tx.update(key.ignore_version(), Account.balance.add(1))
        checked = tx.check(key.if_version(version), Account.balance == 0)
        result = tx.try_commit()
        for marker in (written, checked):
            refusal = result.refusal_of(marker)
            assert (None if refusal is None else refusal.reason) is reason
    assert accounts.get(key).balance == 1


def test_two_checks_of_one_item_demand_both_versions() -> None:
    endpoint = Endpoint()
    endpoint.table.of(Account).create(Account(id="a"))
    key = Account.key_of("a")
    for first, second in ((1, 2), (2, 1)):
        tx = endpoint.table.transaction()
        tx.check(key.if_version(first), Account.balance == 0)
        tx.check(key.if_version(second), Account.balance == 0)
        tx.put(Note(id="a"))
        assert not tx.try_commit()


def test_the_word_unknown_reaches_another_process() -> None:
    """A pool of processes pickles what a task raises; an error that cannot be pickled is replaced by one that says nothing of the write."""
    endpoint = Endpoint(Step(LoseAnswer(), TRANSACTIONS, nth=3, times=None))
    with pytest.raises(sw.OutcomeUnknown) as raised:
        endpoint.commit("a")
    told: sw.OutcomeUnknown = pickle.loads(pickle.dumps(raised.value))
    assert type(told) is sw.OutcomeUnknown
    assert (str(told), told.key, told.attempts) == (str(raised.value), raised.value.key, raised.value.attempts)
    assert told.plan.request().body == raised.value.plan.request().body
    with pytest.raises(sw.InvalidRequest, match="in the process that sent it"):
        told.settle()


def test_a_block_commits_at_its_end_and_not_where_it_raises() -> None:
    endpoint = Endpoint()
    with endpoint.table.transaction() as tx:
        tx.create(Note(id="a"))
    assert endpoint.table.of(Note).get(NOTE)

    def fail_in_a_block() -> None:
        with endpoint.table.transaction() as tx:
            tx.create(Note(id="b"))
            raise LookupError

    with pytest.raises(LookupError):
        fail_in_a_block()
    assert endpoint.table.of(Note).get_or_none(Note.key_of("b")) is None


def test_an_action_that_the_service_finds_malformed_is_named() -> None:
    endpoint = Endpoint()
    endpoint.table.of(Account).create(Account(id="a"))
    change = {"UpdateExpression": "SET balance = :text", "ExpressionAttributeValues": {":text": {"S": "none"}}}
    endpoint.db.execute("UpdateItem", {"TableName": endpoint.table.name, "Key": {"pk": {"S": "a"}}, **change})
    tx = endpoint.table.transaction()
    tx.create(Note(id="a"))
    tx.update(Account.key_of("a").ignore_version(), Account.balance.add(1))
    with pytest.raises(sw.InvalidRequest, match=r"update Account \(action 2\): .*incorrect data type"):
        tx.commit()
    assert endpoint.table.of(Note).get_or_none(NOTE) is None


def test_the_commit_of_a_draft_can_be_run_by_any_client() -> None:
    endpoint = Endpoint()
    draft = TransactionDraft(endpoint.table.environment)
    marker = draft.create(endpoint.table.scope_of(Note), Note(id="a"))
    result = endpoint.db.run(commit(draft))
    assert isinstance(result, sw.Committed)
    assert result.item_for(marker) == Note(id="a")


def test_a_stale_entity_and_its_other_action_are_both_told() -> None:
    endpoint = Endpoint()
    endpoint.table.of(Account).create(Account(id="a"))
    stale = with_stored(Account(id="a"), Stored(7, "7:x", "7:x"))
    tx = endpoint.table.transaction()
    account = tx.put(stale)
    note = tx.create(Note(id="a"))
    with pytest.raises(sw.TransactionCanceled, match="version conflict") as raised:
        tx.commit()
    refusal = raised.value.refusal_of(account)
    assert refusal is not None
    assert (refusal.reason, refusal.existing.revision) == (sw.RefusalReason.VERSION_CONFLICT, 1)
    assert raised.value.refusal_of(note) is None


def test_what_happens_before_the_commit_of_a_transaction_is_seen_by_it() -> None:
    endpoint = Endpoint(Step(Deliver(), TRANSACTIONS, nth=3, before=("other",)), other=lambda: endpoint.table.of(Note).put(Note(id="a")))
    result = endpoint.commit("a")
    assert not result


def test_a_block_tells_its_result_afterwards() -> None:
    endpoint = Endpoint()
    with endpoint.table.transaction() as tx:
        marker = tx.create(Note(id="a"))
        with pytest.raises(sw.InvalidRequest, match="not committed yet"):
            _ = tx.result
    assert tx.result.item_for(marker) == Note(id="a")
    assert repr(tx.result) == "<Committed create Note (action 1); 1 attempt(s)>"


def test_the_result_of_a_cancelled_transaction_raises_what_its_commit_raised() -> None:
    endpoint = Endpoint()
    endpoint.table.of(Note).create(Note(id="a"))
    tx = endpoint.table.transaction()
    tx.create(Note(id="a"))
    canceled = tx.try_commit()
    assert repr(canceled) == "<Canceled create Note (action 1): already exists; 1 attempt(s)>"
    with pytest.raises(sw.TransactionCanceled, match="create Note"):
        _ = tx.result


def test_a_marker_of_another_transaction_is_refused() -> None:
    endpoint = Endpoint()
    other = endpoint.table.transaction()
    marker = other.create(Note(id="b"))
    other.commit()
    tx = endpoint.table.transaction()
    tx.create(Note(id="a"))
    with pytest.raises(sw.InvalidRequest, match="no action of this transaction"):
        tx.commit().item_for(marker)
