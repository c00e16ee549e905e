"""Belongs here: payments that come twice and are charged once. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.idempotency import Idempotency

AMOUNT = 10


class Wallet(Entity, discriminator="WALLET", partition_key="WALLET#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    spent: Attribute[int] = sw.attribute(default=0)


class Receipt(Entity, discriminator="RECEIPT", partition_key="RECEIPT#{request}", sort_key="{writer}"):
    """What a writer was answered to a request."""

    request: Attribute[str]
    writer: Attribute[str]
    answer: Attribute[str]


WALLET = Wallet.key_of("alice")


class Payments:
    """Every request comes to two writers, as from a client that asks again while the first call is still under way."""

    name = "idempotency"
    title = "requests that come twice, charged once"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - the same start for every size
        db.table(table).create_table(Wallet, *Idempotency.entities, exist_ok=True)
        db.table(table).of(Wallet).create(Wallet(id="alice"))

    def naive(self, stage: Stage) -> None:
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            request = request_of(stage, current)
            record = naive.read(db, table, f"REQUEST#{request}", "RECORD")
            answer = record["answer"]["S"] if record else f"{stage.name}-{current}"
            if not record:
                wallet = naive.read(db, table, "WALLET#alice", "BALANCE")
                wallet["spent"] = {"N": str(naive.number(wallet, "spent") + AMOUNT)}
                naive.put(db, table, wallet)
                naive.put(db, table, naive.key(f"REQUEST#{request}", "RECORD") | {"answer": {"S": answer}})
            naive.put(db, table, naive.key(f"RECEIPT#{request}", stage.name) | {"answer": {"S": answer}})

    def sure(self, stage: Stage) -> None:
        shop = stage.db.table(stage.table)
        keys = Idempotency(shop, "charge", wait_seconds=60.0)
        for current in range(1, stage.plan.rounds + 1):
            request = request_of(stage, current)

            def charge(tx: Any, current: int = current) -> str:
                tx.update(WALLET, Wallet.spent.add(AMOUNT))
                return f"{stage.name}-{current}"

            done = until_known(lambda request=request, charge=charge: stage.db.run(keys.once(request, charge, payload=AMOUNT)))  # type: ignore[misc]
            receipt = Receipt(request=request, writer=stage.name, answer=str(done.answer) if done else "refused")
            until_known(lambda receipt=receipt: shop.of(Receipt).put(receipt))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return len(requests(plan)) * AMOUNT

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        spent = naive.number(naive.read(db, table, "WALLET#alice", "BALANCE"), "spent")
        torn = 0
        for request in requests(plan):
            answers = [naive.read(db, table, f"RECEIPT#{request}", f"w{writer}").get("answer", {}).get("S") for writer in range(plan.writers)]
            torn += len({answer for answer in answers if answer is not None}) != 1
        words: list[str] = []
        if spent != self.expected(plan):
            count = abs(spent - self.expected(plan)) // AMOUNT
            words.append(f"{count} request(s) {'charged twice' if spent > self.expected(plan) else 'not charged'}, net")
        if torn:
            words.append(f"{torn} request(s) with two answers")
        return Measured(spent, "; ".join(words), consistent=not words)


def request_of(stage: Stage, current: int) -> str:
    """Two writers next to each other get the same requests."""
    return f"{stage.writer // 2}-{current}"


def requests(plan: RacePlan) -> list[str]:
    """All requests of the race."""
    return sorted({f"{writer // 2}-{current}" for writer in range(plan.writers) for current in range(1, plan.rounds + 1)})
