"""Belongs here: a stock that several writers take from, more than there is, and that must not go below zero. Must not be here: starting or killing writers."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database


class Stock(Entity, discriminator="STOCK", partition_key="STOCK#{sku}", sort_key="LEFT"):
    """``taken`` counts what each writer took, ``asked`` holds the last round of each: the name of the operation."""

    sku: Attribute[str]
    left: Attribute[int]
    taken: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    asked: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)


KEY = Stock.key_of("lamp")


def stocked(plan: RacePlan) -> int:
    """Three of four takes can be served."""
    return max(1, plan.writers * plan.rounds * 3 // 4)


class StockNotBelowZero:
    name = "stock"
    title = "taking from a stock that runs out"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        nothing = {f"w{writer}": 0 for writer in range(plan.writers)}
        db.table(table).create_table(Stock, exist_ok=True)
        db.table(table).of(Stock).create(Stock(sku="lamp", left=stocked(plan), taken=nothing, asked=nothing))

    def naive(self, stage: Stage) -> None:
        for _ in naive.remaining_rounds(stage, stage.plan.rounds):
            stock = naive.read(stage.db, stage.table, "STOCK#lamp", "LEFT")
            if naive.number(stock, "left") < 1:
                continue
            stock["left"] = {"N": str(naive.number(stock, "left") - 1)}
            naive.put(stage.db, stage.table, stock)
            naive.call(
                stage.db,
                "UpdateItem",
                {
                    "TableName": stage.table,
                    "Key": naive.key("STOCK#lamp", "LEFT"),
                    "UpdateExpression": "ADD taken.#w :one",
                    "ExpressionAttributeNames": {"#w": stage.name},
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                },
            )

    def sure(self, stage: Stage) -> None:
        table = stage.db.table(stage.table).of(Stock)
        asked = Stock.asked[stage.name]
        done = until_known(lambda: table.get(KEY, consistent=True)).asked[stage.name]
        for current in range(done + 1, stage.plan.rounds + 1):
            # The condition `asked < current` beside `asked = current` guards the update: it is resent freely and counts once.
            took = until_known(
                lambda current=current: table.try_update(  # type: ignore[misc]
                    KEY,
                    Stock.left.add(-1),
                    Stock.taken[stage.name].add(1),
                    asked.set(current),
                    condition=(Stock.left >= 1) & (asked < current),
                )
            )
            if not took and took.existing.asked[stage.name] < current:
                until_known(lambda current=current: table.try_update(KEY, asked.set(current), condition=asked < current))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return stocked(plan)

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        stock = db.table(table).of(Stock).get(KEY, consistent=True)
        taken = sum(stock.taken.values())
        words: list[str] = []
        if taken > stocked(plan):
            words.append(f"{taken - stocked(plan)} sold that were not there")
        if taken < stocked(plan):
            words.append(f"{stocked(plan) - taken} take(s) lost")
        if stocked(plan) - taken != stock.left:
            words.append(f"{stock.left} left where {stocked(plan) - taken} should be")
        return Measured(taken, "; ".join(words), consistent=not words)
