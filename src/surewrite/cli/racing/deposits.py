"""Belongs here: deposits to one account by several writers: a version, and read, change, put. Must not be here: starting or killing writers."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage, difference_in_words
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database

AMOUNT = 10


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    """``done`` holds the last round of each writer: the name of the operation, stored with its effect."""

    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    done: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    revision: Attribute[int | None] = sw.version()


KEY = Account.key_of("alice")


class Deposits:
    name = "deposits"
    title = "deposits to one account (version)"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - the same start for every size
        db.table(table).create_table(Account, exist_ok=True)
        db.table(table).of(Account).create(Account(id="alice"))

    def naive(self, stage: Stage) -> None:
        for _ in naive.remaining_rounds(stage, stage.plan.rounds):
            account = naive.read(stage.db, stage.table, "ACCOUNT#alice", "BALANCE")
            account["balance"] = {"N": str(naive.number(account, "balance") + AMOUNT)}
            naive.put(stage.db, stage.table, account)

    def sure(self, stage: Stage) -> None:
        accounts = stage.db.table(stage.table).of(Account)
        done = until_known(lambda: accounts.get(KEY)).done.get(stage.name, 0)
        for current in range(done + 1, stage.plan.rounds + 1):

            def deposit(account: Account, current: int = current) -> Account:
                if account.done.get(stage.name, 0) >= current:
                    return account
                return account.replace(balance=account.balance + AMOUNT, done={**account.done, stage.name: current})

            until_known(lambda change=deposit: accounts.modify(KEY, change, attempts=1000))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds * AMOUNT

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        balance = db.table(table).of(Account).get(KEY).balance
        return Measured(balance, difference_in_words(self.expected(plan) // AMOUNT, balance // AMOUNT, "deposit(s)"))
