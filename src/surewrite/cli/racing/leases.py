"""Belongs here: entries in a ledger by writers that take turns under a lease. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

import time

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage, difference_in_words
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.leases import Hold, Lease, NotAcquired

LEASE_SECONDS = 0.5
"""The lease of a writer that is killed stands in the way for so long. A request takes a hundredth of it."""

WAIT_SECONDS = 10.0
ENTRIES_A_TURN = 5
POLL_SECONDS = 0.002
TURNS_MAX = 10_000


class Ledger(Entity, discriminator="LEDGER", partition_key="LEDGER#{name}", sort_key="TOTAL"):
    """Has neither a version nor a condition: the lease keeps its writers apart."""

    name: Attribute[str]
    total: Attribute[int] = sw.attribute(default=0)


class Turn(Entity, discriminator="TURN", partition_key="TURN#{writer}", sort_key="LAST"):
    """The last round of a writer, written in the transaction of its entry: the name of the operation, stored with its effect."""

    writer: Attribute[str]
    round: Attribute[int] = sw.attribute(default=0)


KEY = Ledger.key_of("main")


class TurnsUnderALease:
    name = "leases"
    title = "turns under a lease"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        store = db.table(table)
        store.create_table(Ledger, exist_ok=True)
        store.of(Ledger).create(Ledger(name="main"))
        for writer in range(plan.writers):
            store.of(Turn).create(Turn(writer=f"w{writer}"))

    def naive(self, stage: Stage) -> None:
        """Look whether the lock is free or has expired, put one's own, work, delete it."""
        db, table = stage.db, stage.table
        locked = False
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            if not locked:
                self._lock(stage)
                locked = True
            ledger = naive.read(db, table, "LEDGER#main", "TOTAL")
            ledger["total"] = {"N": str(naive.number(ledger, "total") + 1)}
            naive.put(db, table, ledger)
            if ends_turn(stage.plan, current):
                naive.call(db, "DeleteItem", {"TableName": table, "Key": naive.key("LOCK#main", "LOCK")})
                locked = False

    def _lock(self, stage: Stage) -> None:
        for _ in range(TURNS_MAX):
            lock = naive.read(stage.db, stage.table, "LOCK#main", "LOCK")
            now_milliseconds = int(time.time() * 1000)
            if naive.number(lock, "expires") < now_milliseconds:
                expires = {"N": str(now_milliseconds + int(LEASE_SECONDS * 1000))}
                naive.put(stage.db, stage.table, naive.key("LOCK#main", "LOCK") | {"owner": {"S": stage.name}, "expires": expires})
                return
            time.sleep(POLL_SECONDS)
        raise naive.GaveUp("the lock")

    def sure(self, stage: Stage) -> None:
        turns = stage.db.table(stage.table).of(Turn)
        lease = Lease(stage.db.table(stage.table), "main", duration_seconds=LEASE_SECONDS)
        mine = Turn.key_of(stage.name)
        done = until_known(lambda: turns.get(mine, consistent=True)).round
        hold: Hold | NotAcquired | None = None
        for current in range(done + 1, stage.plan.rounds + 1):
            for _ in range(TURNS_MAX):
                if not hold:
                    hold = until_known(lambda: stage.db.run(lease.acquire(wait_seconds=WAIT_SECONDS)))
                if isinstance(hold, Hold):
                    if self._enter(stage, hold, current):
                        break
                    # Refused: the entry was stored before, or the lease is another's by now. The row of the writer says which.
                    if until_known(lambda: turns.get(mine, consistent=True)).round >= current:
                        break
                    hold = None
            if isinstance(hold, Hold) and ends_turn(stage.plan, current):
                until_known(lambda hold=hold: stage.db.run(lease.release(hold)))  # type: ignore[misc]
                hold = None
            stage.tick()

    def _enter(self, stage: Stage, hold: Hold, current: int) -> bool:
        """Read, add and write; the write is refused unless the lease is still this hold's."""
        store = stage.db.table(stage.table)
        total = until_known(lambda: store.of(Ledger).get(KEY, consistent=True)).total

        def enter() -> bool:
            tx = store.transaction()
            tx.check(hold.key, hold.condition)
            tx.update(KEY, Ledger.total.set(total + 1))
            tx.update(Turn.key_of(stage.name), Turn.round.set(current), condition=Turn.round < current)
            return bool(tx.try_commit())

        return until_known(enter)

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        total = db.table(table).of(Ledger).get(KEY, consistent=True).total
        return Measured(total, difference_in_words(self.expected(plan), total, "entry(ies)"))


def ends_turn(plan: RacePlan, current: int) -> bool:
    """Whether the lease is given back after this round."""
    return current % ENTRIES_A_TURN == 0 or current == plan.rounds
