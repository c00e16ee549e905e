"""Writers that do not follow the rules of this library, beside one that does: each row of the table in docs/adopting.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import Deliver, Fault, FaultPlan, LoseAnswer, LoseRequest, Step, Where


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    note: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


class AccountBefore(Entity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    """An older release of the same type, which knows of no version."""

    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)


KEY = Account.key_of("a")
STORED_KEY = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}
WRITES = Where(operations=("PutItem", "UpdateItem"))
PLACES_OF_STATE = ("_s", "_b")


class Bench:
    """Account "a" with a balance of 100 and version 1, loaded by the writer under test; ``theirs`` writes without this library."""

    def __init__(self) -> None:
        self.now = 0.0
        service = open_embedded("memory:")
        self.faults = FaultBackend(EmbeddedBackend(service))
        clock = sw.Clock(lambda: 1.9e9 + self.now, lambda: self.now, self.wait)
        self.accounts = sw.connect(self.faults, clock=clock).table("shop").of(Account)
        self.theirs = sw.connect(EmbeddedBackend(service))
        self.others = self.theirs.table("shop")
        self.others.create_table(Account)
        self.loaded = self.others.of(Account).create(Account(id="a", balance=100))

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def item(self) -> dict[str, Any]:
        found: dict[str, Any] = self.theirs.execute("GetItem", {"TableName": "shop", "Key": STORED_KEY, "ConsistentRead": True})["Item"]
        return found

    def change(self, expression: str, **values: int) -> None:
        body = {"TableName": "shop", "Key": STORED_KEY, "UpdateExpression": expression}
        self.theirs.execute("UpdateItem", {**body, "ExpressionAttributeValues": {f":{name}": {"N": str(value)} for name, value in values.items()}})

    def put(self, item: dict[str, Any]) -> None:
        self.theirs.execute("PutItem", {"TableName": "shop", "Item": item})

    def between_attempts(self, first: Fault, act: Callable[[], None]) -> None:
        """The first attempt meets the fault, and before the second is executed the others act."""
        steps = (Step(first, WRITES, nth=1), Step(Deliver(), WRITES, nth=2, before=("act",)))
        self.faults.follow(FaultPlan(steps), actions={"act": act})

    def save(self) -> sw.Outcome[Account]:
        return self.accounts.try_put(self.loaded.replace(balance=self.loaded.balance + 10))

    def balance(self) -> int:
        return int(self.item()["balance"]["N"])


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ------------------------------------------------------------------------------------------------- all through Surewrite


def test_of_writers_through_this_library_one_that_is_overtaken_is_told_unknown_never_refused_falsely(bench: Bench) -> None:
    def other_saves() -> None:
        accounts = bench.others.of(Account)
        accounts.modify(KEY, lambda account: account.replace(balance=account.balance + 1))

    bench.between_attempts(LoseAnswer(), other_saves)
    with pytest.raises(sw.OutcomeUnknown):
        bench.save()
    assert bench.balance() == 111


def test_of_writers_through_this_library_one_that_did_not_take_effect_is_told_refused(bench: Bench) -> None:
    bench.between_attempts(LoseRequest(), lambda: bench.others.of(Account).put(bench.loaded.replace(balance=7)) and None)
    outcome = bench.save()
    assert isinstance(outcome, sw.Refused)
    assert outcome.reason is sw.RefusalReason.VERSION_CONFLICT
    assert bench.balance() == 7


# ------------------------------------------------------------------------------- raise the version, do not touch the stamp


def raise_version(bench: Bench) -> None:
    bench.change("SET balance = balance + :n, revision = revision + :one", n=1, one=1)


def test_beside_writers_that_raise_the_version_only_an_applied_write_recognises_itself(bench: Bench) -> None:
    bench.between_attempts(LoseAnswer(), lambda: raise_version(bench))
    outcome = bench.save()
    assert isinstance(outcome, sw.Applied)
    assert (outcome.recovered, outcome.once, bench.balance()) == (True, True, 111)


def test_beside_writers_that_raise_the_version_only_a_write_that_never_came_is_not_told_applied(bench: Bench) -> None:
    bench.between_attempts(LoseRequest(), lambda: raise_version(bench))
    with pytest.raises(sw.OutcomeUnknown):
        bench.save()
    assert bench.balance() == 101


def test_writers_that_raise_the_version_only_are_seen(bench: Bench) -> None:
    raise_version(bench)
    with pytest.raises(sw.VersionConflict):
        bench.accounts.put(bench.loaded.replace(balance=0))
    with pytest.raises(sw.VersionConflict):
        bench.accounts.update(KEY.if_version(1), Account.balance.set(0))
    assert bench.balance() == 101


# ------------------------------------------------------------------------------------------------- stamp, have no version


def old_release_adds(bench: Bench) -> None:
    bench.others.of(AccountBefore).update(AccountBefore.key_of("a"), AccountBefore.balance.add(1))


def test_beside_an_older_release_without_a_version_an_applied_write_is_told_unknown(bench: Bench) -> None:
    bench.between_attempts(LoseAnswer(), lambda: old_release_adds(bench))
    with pytest.raises(sw.OutcomeUnknown):
        bench.save()
    assert bench.balance() == 111


def test_beside_an_older_release_without_a_version_a_loaded_entity_sees_its_writes_and_a_number_does_not(bench: Bench) -> None:
    old_release_adds(bench)
    assert bench.item()["revision"] == {"N": "1"}
    with pytest.raises(sw.VersionConflict):
        bench.accounts.put(bench.loaded)
    assert bench.accounts.update(KEY.if_version(1), Account.note.set("unseen")).balance == 101


# --------------------------------------------------------------------------------------------------------- reset the version


def test_beside_writers_that_reset_the_version_nothing_is_done_twice(bench: Bench) -> None:
    bench.between_attempts(LoseAnswer(), lambda: bench.change("SET revision = :v", v=1))
    outcome = bench.accounts.try_update(bench.loaded, Account.balance.add(10))
    assert isinstance(outcome, sw.Applied)
    assert (outcome.recovered, bench.balance()) == (True, 110)


def test_beside_a_put_that_drops_the_stamp_and_resets_the_version_nothing_is_done_twice(bench: Bench) -> None:
    def put_without_state() -> None:
        kept = {name: value for name, value in bench.item().items() if name not in PLACES_OF_STATE}
        bench.put({**kept, "revision": {"N": "1"}})

    bench.between_attempts(LoseAnswer(), put_without_state)
    with pytest.raises(sw.OutcomeUnknown):
        bench.accounts.update(bench.loaded, Account.balance.add(10))
    assert bench.balance() == 110


def test_beside_writers_that_reset_the_version_refused_can_be_false(bench: Bench) -> None:
    """The limit that the page states: the number n + 1 was given twice, so the second one passes for the write of another."""

    def reset_and_save() -> None:
        bench.change("SET revision = :v", v=1)
        accounts = bench.others.of(Account)
        accounts.put(accounts.get(KEY).replace(note="by another"))

    bench.between_attempts(LoseAnswer(), reset_and_save)
    outcome = bench.save()
    assert isinstance(outcome, sw.Refused)
    assert bench.balance() == 110


# --------------------------------------------------------------------------------- put back a stale whole copy, write blind


def test_a_stale_copy_that_is_put_back_takes_an_acknowledged_write_away_unseen(bench: Bench) -> None:
    stale = bench.item()
    saved = bench.save()
    assert isinstance(saved, sw.Applied)
    bench.put(stale)
    assert bench.balance() == 100
    # Whoever holds the newer state finds out with the next write; whoever holds the older one does not.
    with pytest.raises(sw.VersionConflict):
        bench.accounts.put(saved.item)
    assert bench.accounts.put(bench.loaded.replace(balance=1)).revision == 2


def test_a_blind_write_that_leaves_version_and_stamp_is_overwritten_unseen(bench: Bench) -> None:
    bench.change("SET balance = :n", n=5)
    assert isinstance(bench.save(), sw.Applied)
    assert bench.balance() == 110
