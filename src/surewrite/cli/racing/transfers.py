"""Belongs here: transfers between two accounts: two items that change together or not at all. Must not be here: starting or killing writers."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database

START = 1_000_000
SIDES = ("left", "right")


class Purse(Entity, discriminator="PURSE", partition_key="PURSE#{side}", sort_key="COINS"):
    side: Attribute[str]
    coins: Attribute[int] = sw.attribute(default=START)


class Transfer(Entity, discriminator="TRANSFER", partition_key="TRANSFER#{writer}", sort_key="LAST"):
    """The last round of a writer, written in the transaction of its transfer: the name of the operation, stored with its effect."""

    writer: Attribute[str]
    round: Attribute[int]


def side_from(writer: int) -> tuple[str, str]:
    """Two of three writers pay from left to right, so that the total of each side is known and differs from its start."""
    return ("right", "left") if writer % 3 == 2 else ("left", "right")


class Transfers:
    name = "transfers"
    title = "transfers between two accounts (transaction)"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        shop = db.table(table)
        shop.create_table(Purse, exist_ok=True)
        for side in SIDES:
            shop.of(Purse).create(Purse(side=side))
        for writer in range(plan.writers):
            shop.of(Transfer).create(Transfer(writer=f"w{writer}", round=0))

    def naive(self, stage: Stage) -> None:
        payer, payee = side_from(stage.writer)
        for _ in naive.remaining_rounds(stage, stage.plan.rounds):
            for side, amount in ((payer, -1), (payee, 1)):
                purse = naive.read(stage.db, stage.table, f"PURSE#{side}", "COINS")
                purse["coins"] = {"N": str(naive.number(purse, "coins") + amount)}
                naive.put(stage.db, stage.table, purse)

    def sure(self, stage: Stage) -> None:
        shop = stage.db.table(stage.table)
        payer, payee = side_from(stage.writer)
        mine = Transfer.key_of(stage.name)
        done = until_known(lambda: shop.of(Transfer).get(mine, consistent=True)).round
        for current in range(done + 1, stage.plan.rounds + 1):

            def transfer(current: int = current) -> bool:
                tx = shop.transaction()
                tx.update(Purse.key_of(payer), Purse.coins.add(-1))
                tx.update(Purse.key_of(payee), Purse.coins.add(1))
                tx.update(mine, Transfer.round.set(current), condition=Transfer.round < current)
                # Refused: the round is stored, by an attempt whose answer was lost.
                return bool(tx.try_commit())

            until_known(transfer)
            stage.tick()

    def expected(self, plan: RacePlan) -> str:
        moved = sum(plan.rounds if side_from(writer)[0] == "left" else -plan.rounds for writer in range(plan.writers))
        return f"{START - moved}/{START + moved}"

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        purses = db.table(table).of(Purse)
        left, right = (purses.get(Purse.key_of(side), consistent=True).coins for side in SIDES)
        value = f"{left}/{right}"
        words: list[str] = []
        if left + right != 2 * START:
            words.append(f"{abs(left + right - 2 * START)} coin(s) {'made' if left + right > 2 * START else 'lost'}")
        elif value != self.expected(plan):
            words.append("transfers lost or doubled")
        return Measured(value, "; ".join(words))
