"""What a retry of a body runs again for, and what it must not."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.core.retries import RUN_PAUSE_SECONDS_FIRST, RUN_PAUSE_SECONDS_MAX
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import Conflict, Deliver, FaultPlan, LoseAnswer, Step, Throttle, Where


class Account(VersionedEntity, partition_key="{id}"):
    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Note(Entity, partition_key="NOTE#{id}"):
    id: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)


class Bench:
    """A table with one account and one note, a client with faults, another without, and a clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        service = open_embedded("memory:")
        self.faults = FaultBackend(EmbeddedBackend(service))
        ids = itertools.count()
        clock = sw.Clock(lambda: 1.9e9 + self.now, lambda: self.now, self._wait)
        self.db = sw.connect(self.faults, clock=clock, chance=sw.Chance(lambda: 0.5, lambda: f"{next(ids):012d}"))
        self.other = self._table(sw.connect(EmbeddedBackend(service)))
        self.other.create_table(Account, Note)
        self.other.of(Account).create(Account(id="a"))
        self.other.of(Note).put(Note(id="n"))
        self.accounts = self._table(self.db).of(Account)
        self.notes = self._table(self.db).of(Note)

    @staticmethod
    def _table(db: sw.Database) -> sw.Table:
        return db.table("things", key=("pk",), discriminator=None)

    def _wait(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    def overtake(self, times: int) -> None:
        """Let another writer come before each of the next saves."""

        def save() -> None:
            accounts = self.other.of(Account)
            stored = accounts.get(Account.key_of("a"))
            accounts.put(stored.replace(balance=stored.balance + 100))

        self.faults.follow(FaultPlan((Step(Deliver(), Where(operations=("PutItem",)), times=times, before=("save",)),)), actions={"save": save})


KEY = Account.key_of("a")


def save_five_more(bench: Bench) -> sw.EntityTable[Account]:
    account = bench.accounts.get(KEY)
    bench.accounts.put(account.replace(balance=account.balance + 5))
    return bench.accounts


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_body_runs_again_on_a_conflict_and_reads_again(bench: Bench) -> None:
    bench.overtake(times=2)
    runs: list[int] = []

    @bench.db.retry_on_conflict()
    def deposit() -> None:
        runs.append(1)
        save_five_more(bench)

    deposit()
    assert len(runs) == 3
    assert bench.accounts.get(KEY).balance == 205


def test_the_loop_form_runs_again_on_a_conflict_too(bench: Bench) -> None:
    bench.overtake(times=2)
    numbers: list[int] = []
    for attempt in bench.db.retry_on_conflict():
        with attempt:
            numbers.append(attempt.number)
            save_five_more(bench)
    assert numbers == [1, 2, 3]
    assert bench.accounts.get(KEY).balance == 205


def test_the_last_run_raises_its_conflict(bench: Bench) -> None:
    bench.overtake(times=9)
    with pytest.raises(sw.VersionConflict):
        bench.db.retry_on_conflict(attempts=3)(save_five_more)(bench)
    assert bench.accounts.get(KEY).balance == 300


def test_pauses_between_runs_grow_to_a_bound(bench: Bench) -> None:
    bench.overtake(times=11)
    bench.db.retry_on_conflict(attempts=12)(save_five_more)(bench)
    assert bench.waits == [0.5 * min(RUN_PAUSE_SECONDS_MAX, RUN_PAUSE_SECONDS_FIRST * 2.0**n) for n in range(11)]


def test_a_body_may_run_more_often_than_a_pause_can_double(bench: Bench) -> None:
    runs: list[int] = []

    @bench.db.retry_on_conflict(attempts=1100)
    def overtaken() -> None:
        runs.append(1)
        raise sw.VersionConflict("overtaken")

    with pytest.raises(sw.VersionConflict):
        overtaken()
    assert len(runs) == 1100
    assert max(bench.waits) == 0.5 * RUN_PAUSE_SECONDS_MAX


def test_r18_a_body_is_not_run_again_after_a_write_in_it_was_applied(bench: Bench) -> None:
    bench.overtake(times=1)

    @bench.db.retry_on_conflict()
    def transfer() -> None:
        account = bench.accounts.get(KEY)
        bench.notes.update(Note.key_of("n"), Note.count.add(1))
        bench.accounts.put(account.replace(balance=account.balance + 5))

    with pytest.raises(sw.VersionConflict) as raised:
        transfer()
    assert "not run again" in " ".join(raised.value.__notes__)
    assert bench.notes.get(Note.key_of("n")).count == 1


@pytest.mark.parametrize("fate", [Deliver(), LoseAnswer()])
def test_r18_a_body_is_not_run_again_after_a_raw_write_in_it(bench: Bench, fate: Deliver | LoseAnswer) -> None:
    def overtake() -> None:
        accounts = bench.other.of(Account)
        accounts.put(accounts.get(KEY).replace(balance=100))

    steps = (Step(fate, Where(operations=("UpdateItem",))), Step(Deliver(), Where(operations=("PutItem",)), before=("overtake",)))
    bench.faults.follow(FaultPlan(steps), actions={"overtake": overtake})

    @bench.db.retry_on_conflict()
    def transfer() -> None:
        account = bench.accounts.get(KEY)
        with contextlib.suppress(sw.OutcomeUnknown):
            add_one_raw(bench)
        bench.accounts.put(account.replace(balance=account.balance + 5))

    with pytest.raises(sw.VersionConflict, match="changed the item"):
        transfer()
    assert bench.notes.get(Note.key_of("n")).count == 1


def test_r18_raw_reads_do_not_keep_a_body_from_running_again(bench: Bench) -> None:
    bench.overtake(times=1)

    @bench.db.retry_on_conflict()
    def save() -> sw.EntityTable[Account]:
        bench.db.execute("GetItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}})
        return save_five_more(bench)

    assert save().get(KEY).balance == 105


def test_r18_a_body_is_not_run_again_after_a_write_in_it_that_may_have_been_applied(bench: Bench) -> None:
    def overtake_then_lose() -> None:
        accounts = bench.other.of(Account)
        accounts.put(accounts.get(KEY).replace(balance=100))

    steps = (
        Step(LoseAnswer(), Where(operations=("UpdateItem",))),
        Step(Deliver(), Where(operations=("PutItem",)), before=("save",)),
    )
    bench.faults.follow(FaultPlan(steps), actions={"save": overtake_then_lose})

    @bench.db.retry_on_conflict()
    def transfer() -> None:
        account = bench.accounts.get(KEY)
        with contextlib.suppress(sw.OutcomeUnknown):
            bench.notes.update(Note.key_of("n"), Note.count.add(1))
        bench.accounts.put(account.replace(balance=account.balance + 5))

    with pytest.raises(sw.VersionConflict):
        transfer()
    assert bench.notes.get(Note.key_of("n")).count == 1


def add_one(bench: Bench) -> None:
    bench.notes.update(Note.key_of("n"), Note.count.add(1))


def add_one_in_a_transaction(bench: Bench) -> None:
    with bench.db.table("things", key=("pk",), discriminator=None).transaction() as tx:
        tx.update(Note.key_of("n"), Note.count.add(1))


def put_one_in_a_batch(bench: Bench) -> None:
    bench.notes.unsafe_batch_put([Note(id="n", count=1)])


def add_one_raw(bench: Bench) -> None:
    expression = {"UpdateExpression": "ADD #n :one", "ExpressionAttributeNames": {"#n": "count"}, "ExpressionAttributeValues": {":one": {"N": "1"}}}
    bench.db.execute("UpdateItem", {"TableName": "things", "Key": {"pk": {"S": "NOTE#n"}}, **expression})


@pytest.mark.parametrize("write", [add_one, add_one_in_a_transaction, put_one_in_a_batch, add_one_raw])
def test_r18_a_body_is_not_run_again_after_a_write_in_it_that_was_interrupted(bench: Bench, write: Callable[[Bench], None]) -> None:
    """A body that sets a limit to a write, for instance, goes on after it; the write may have taken effect."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def overtake() -> None:
        accounts = bench.other.of(Account)
        accounts.put(accounts.get(KEY).replace(balance=100))

    steps = (
        Step(Deliver(), Where(operations=("UpdateItem", "TransactWriteItems", "BatchWriteItem")), after=("interrupt",)),
        Step(Deliver(), Where(operations=("PutItem",)), before=("overtake",)),
    )
    bench.faults.follow(FaultPlan(steps), actions={"interrupt": interrupt, "overtake": overtake})

    @bench.db.retry_on_conflict()
    def transfer() -> None:
        account = bench.accounts.get(KEY)
        with contextlib.suppress(KeyboardInterrupt):
            write(bench)
        bench.accounts.put(account.replace(balance=account.balance + 5))

    with pytest.raises(sw.VersionConflict) as raised:
        transfer()
    assert "not run again" in " ".join(raised.value.__notes__)
    assert bench.notes.get(Note.key_of("n")).count == 1


def test_a_body_whose_call_runs_nothing_of_it_yet_is_refused(bench: Bench) -> None:
    """The retry would be over before the body began, and a conflict in it would find nobody."""

    def generator() -> Iterator[None]:
        yield save_five_more(bench) and None

    async def coroutine() -> None:
        save_five_more(bench)

    async def both() -> AsyncIterator[None]:
        yield save_five_more(bench) and None

    retry: Any = bench.db.retry_on_conflict()
    awaited: Any = sw.connect_async("memory:").retry_on_conflict()
    for refused, body, says in (
        (retry, generator, "generator"),
        (retry, coroutine, "connect_async"),
        (awaited, generator, "generator"),
        (awaited, both, "generator"),
    ):
        with pytest.raises(sw.InvalidRequest, match=says):
            refused(body)
    assert awaited(coroutine).__name__ == "coroutine"


def test_a_loop_whose_runs_are_not_told_to_the_attempt_is_refused_after_the_first(bench: Bench) -> None:
    def loop() -> None:
        for _ in bench.db.retry_on_conflict():
            add_one(bench)

    with pytest.raises(sw.InvalidRequest, match="with attempt"):
        loop()
    assert bench.notes.get(Note.key_of("n")).count == 1


def test_a_run_that_ends_in_another_context_is_the_last_and_its_error_passes(bench: Bench) -> None:
    """Frameworks that run a generator in threads enter it in one context and leave it in another: what it wrote there was not seen."""
    [attempt] = itertools.islice(bench.db.retry_on_conflict(), 1)
    contextvars.copy_context().run(attempt.__enter__)
    conflict = sw.VersionConflict("of the body")
    assert not attempt.__exit__(sw.VersionConflict, conflict, None)
    assert attempt.done


def test_a_run_that_ends_in_another_context_tells_the_outer_one_what_was_applied(bench: Bench) -> None:
    runs: list[int] = []

    @bench.db.retry_on_conflict()
    def outer() -> None:
        runs.append(1)
        [attempt] = itertools.islice(bench.db.retry_on_conflict(), 1)
        within = contextvars.copy_context()
        within.run(attempt.__enter__)
        within.run(add_one, bench)
        attempt.__exit__(None, None, None)
        raise sw.VersionConflict("of the rest of the body")

    with pytest.raises(sw.VersionConflict):
        outer()
    assert runs == [1]
    assert bench.notes.get(Note.key_of("n")).count == 1


def test_a_nested_retry_tells_the_outer_one_what_was_applied(bench: Bench) -> None:
    bench.overtake(times=1)
    saves: list[int] = []

    @bench.db.retry_on_conflict()
    def inner() -> None:
        bench.notes.update(Note.key_of("n"), Note.count.add(1))

    @bench.db.retry_on_conflict()
    def outer() -> None:
        account = bench.accounts.get(KEY)
        inner()
        saves.append(1)
        bench.accounts.put(account.replace(balance=5))

    with pytest.raises(sw.VersionConflict):
        outer()
    assert saves == [1]


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (Step(LoseAnswer(), Where(operations=("PutItem",)), times=None), sw.OutcomeUnknown),
        (Step(Throttle(), Where(operations=("PutItem",)), times=None), sw.Throttled),
    ],
    ids=["unknown", "throttled"],
)
def test_unknown_and_throttled_are_never_run_again(bench: Bench, plan: Step, error: type[Exception]) -> None:
    bench.faults.follow(FaultPlan((plan,)))
    runs: list[int] = []

    @bench.db.retry_on_conflict()
    def body() -> None:
        runs.append(1)
        save_five_more(bench)

    with pytest.raises(error):
        body()
    assert runs == [1]


def test_a_held_item_is_a_conflict_of_its_own_kind(bench: Bench) -> None:
    bench.faults.follow(FaultPlan((Step(Conflict(), Where(operations=("PutItem",)), times=40),)))
    runs: list[int] = []

    @bench.db.retry_on_conflict(on=sw.ConflictKind.TRANSACTION)
    def body() -> None:
        runs.append(1)
        save_five_more(bench)

    body()
    assert len(runs) == 2
    bench.overtake(times=1)
    with pytest.raises(sw.VersionConflict):
        body()


@pytest.mark.parametrize("act", ["create", "condition"])
def test_an_answer_is_run_again_only_where_that_is_asked_for(bench: Bench, act: str) -> None:
    runs: list[int] = []

    def body() -> None:
        runs.append(1)
        if act == "create":
            bench.accounts.create(Account(id="a"))
        else:
            bench.accounts.update(bench.accounts.get(KEY), Account.balance.add(1), condition=Account.balance == 9)

    with pytest.raises((sw.AlreadyExists, sw.ConditionFailed)):
        bench.db.retry_on_conflict()(body)()
    assert len(runs) == 1
    with pytest.raises((sw.AlreadyExists, sw.ConditionFailed)):
        bench.db.retry_on_conflict(attempts=3, on=sw.ConflictKind.CONDITION)(body)()
    assert len(runs) == 4


def test_a_cancelled_transaction_is_a_conflict_of_the_kind_of_its_refusals(bench: Bench) -> None:
    runs: list[int] = []
    stale = bench.accounts.get(KEY)
    bench.accounts.put(stale.replace(balance=1))

    def transact(change: Any) -> None:
        runs.append(1)
        tx = bench.db.table("things", key=("pk",), discriminator=None).transaction()
        change(tx)
        tx.commit()

    with pytest.raises(sw.TransactionCanceled):
        bench.db.retry_on_conflict(attempts=2)(transact)(lambda tx: tx.put(stale.replace(balance=2)))
    assert len(runs) == 2
    with pytest.raises(sw.TransactionCanceled):
        bench.db.retry_on_conflict(attempts=2)(transact)(lambda tx: tx.create(Account(id="a")))
    assert len(runs) == 3
    with pytest.raises(sw.TransactionCanceled):
        bench.db.retry_on_conflict(attempts=2, on=sw.ConflictKind.CONDITION)(transact)(
            lambda tx: tx.delete(KEY.ignore_version(), condition=Account.balance == 9)
        )
    assert len(runs) == 5
    with pytest.raises(sw.TransactionCanceled):
        bench.db.retry_on_conflict(attempts=2, on=sw.ConflictKind.CONDITION)(transact)(lambda tx: tx.delete(Account.key_of("z").ignore_version()))
    assert len(runs) == 6


def test_a_version_that_moved_on_is_a_conflict_whatever_else_was_refused_with_it(bench: Bench) -> None:
    """What was read is stale, so the other demands were made of what is gone: an event numbered by the version is there already, for one."""
    runs: list[int] = []
    others = bench.other.of(Account)

    def change(account: Account) -> None:
        tx = bench.db.table("things", key=("pk",), discriminator=None).transaction()
        tx.put(account.replace(balance=account.balance + 1))
        tx.create(Account(id=f"event {account.revision}"))
        tx.commit()

    def change_by_another() -> None:
        account = others.get(KEY)
        others.create(Account(id=f"event {account.revision}"))
        others.put(account)

    def body() -> None:
        runs.append(1)
        change(bench.accounts.get(KEY))

    met = FaultPlan((Step(Deliver(), Where(operations=("TransactWriteItems",)), before=("another",)),))
    bench.faults.follow(met, actions={"another": change_by_another})
    bench.db.retry_on_conflict(attempts=2)(body)()
    assert len(runs) == 2
    stale = bench.accounts.get(KEY)
    change_by_another()

    def stay_stale() -> None:
        runs.append(1)
        change(stale)

    for on in (sw.ConflictKind.VERSION, sw.ConflictKind.CONDITION):
        runs.clear()
        with pytest.raises(sw.TransactionCanceled):
            bench.db.retry_on_conflict(attempts=2, on=on)(stay_stale)()
        assert len(runs) == 2


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5, "3"])
def test_a_number_of_runs_that_makes_no_sense_is_refused(bench: Bench, attempts: Any) -> None:
    with pytest.raises(sw.InvalidRequest, match="whole number from 1"):
        bench.db.retry_on_conflict(attempts=attempts)
    with pytest.raises(sw.InvalidRequest, match="whole number from 1"):
        bench.accounts.modify(KEY, lambda a: a, attempts=attempts)


def test_modify_feeds_on_the_item_that_refused_it(bench: Bench) -> None:
    bench.overtake(times=3)
    assert bench.accounts.modify(KEY, lambda a: a.replace(balance=a.balance + 5)).balance == 305
    assert [met.request.operation for met in bench.faults.met].count("GetItem") == 1


def test_modify_raises_the_conflict_of_its_last_run(bench: Bench) -> None:
    bench.overtake(times=9)
    with pytest.raises(sw.VersionConflict):
        bench.accounts.modify(KEY, lambda a: a.replace(balance=a.balance + 5), attempts=2)


def test_modify_writes_nothing_where_the_function_changes_nothing(bench: Bench) -> None:
    before = bench.accounts.get(KEY)
    assert bench.accounts.modify(KEY, lambda a: a.replace(balance=a.balance)) == before
    assert "PutItem" not in [met.request.operation for met in bench.faults.met]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: None, "returned NoneType"),
        (lambda a: a.replace(id="b"), "keeps the key"),
        (lambda a: Account(id="a", balance=9), "keeps the key"),
    ],
    ids=["nothing", "another key", "a new entity"],
)
def test_modify_refuses_what_is_no_new_state_of_the_entity(bench: Bench, change: Any, message: str) -> None:
    with pytest.raises(sw.InvalidRequest, match=message):
        bench.accounts.modify(KEY, change)
    assert bench.accounts.get(KEY).balance == 0


def test_modify_of_a_missing_item_and_of_one_that_vanishes_says_so(bench: Bench) -> None:
    with pytest.raises(sw.ItemNotFound):
        bench.accounts.modify(Account.key_of("z"), lambda a: a)
    plan = FaultPlan((Step(Deliver(), Where(operations=("PutItem",)), before=("remove",)),))
    bench.faults.follow(plan, actions={"remove": lambda: bench.other.of(Account).delete(KEY.ignore_version())})
    with pytest.raises(sw.ItemNotFound):
        bench.accounts.modify(KEY, lambda a: a.replace(balance=5))


def test_modify_compares_stamps_where_the_type_has_no_version(bench: Bench) -> None:
    plan = FaultPlan((Step(Deliver(), Where(operations=("PutItem",)), before=("add",)),))
    bench.faults.follow(plan, actions={"add": lambda: bench.other.of(Note).update(Note.key_of("n"), Note.count.add(10))})
    assert bench.notes.modify(Note.key_of("n"), lambda n: n.replace(count=n.count + 1)).count == 11


def test_modify_refuses_a_version_that_it_would_not_demand(bench: Bench) -> None:
    with pytest.raises(sw.InvalidRequest, match="demands the version that it read"):
        bench.accounts.modify(KEY.if_version(7), lambda account: account.replace(balance=1))
    assert bench.accounts.modify(KEY.ignore_version(), lambda account: account.replace(balance=1)).balance == 1


def test_modify_needs_a_version_or_a_stamp(bench: Bench) -> None:
    bare = bench.db.table("things", key=("pk",), discriminator=None, stamp=None, birth=None).of(Note)
    with pytest.raises(sw.InvalidRequest, match="compares a version or a stamp"):
        bare.modify(Note.key_of("n"), lambda n: n)


def test_modify_never_runs_again_after_an_unknown_outcome(bench: Bench) -> None:
    bench.faults.follow(FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",)), times=None),)))
    calls: list[int] = []

    def change(account: Account) -> Account:
        calls.append(1)
        return account.replace(balance=account.balance + 5)

    with pytest.raises(sw.OutcomeUnknown):
        bench.accounts.modify(KEY, change)
    assert calls == [1]


def test_modify_whose_answer_was_lost_is_not_run_again(bench: Bench) -> None:
    bench.faults.follow(FaultPlan((Step(LoseAnswer(), Where(operations=("PutItem",))),)))
    assert bench.accounts.modify(KEY, lambda a: a.replace(balance=a.balance + 5)).balance == 5
    assert bench.accounts.get(KEY).revision == 2
