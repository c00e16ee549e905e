"""Belongs here: an exact counter: every operation counts once, by its id in the item. Must not be here: starting or killing writers."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage, difference_in_words
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="ALL"):
    name: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


KEY = Tally.key_of("clicks")


class ExactCounter:
    name = "counter"
    title = "an exact counter (operation ids)"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Tally, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        for _ in naive.remaining_rounds(stage, stage.plan.rounds):
            naive.call(
                stage.db,
                "UpdateItem",
                {
                    "TableName": stage.table,
                    "Key": naive.key("TALLY#clicks", "ALL"),
                    "UpdateExpression": "ADD #count :one",
                    "ExpressionAttributeNames": {"#count": "count"},
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                },
            )

    def sure(self, stage: Stage) -> None:
        tallies = stage.db.table(stage.table).of(Tally)
        for current in range(1, stage.plan.rounds + 1):
            # A restarted writer asks for every round again: those that are counted are refused by their ids.
            operation = f"{stage.name}-{current}"
            until_known(
                lambda operation=operation: tallies.try_upsert(  # type: ignore[misc]
                    KEY, Tally.count.add(1), Tally.seen.add(operation), condition=~Tally.seen.contains(operation)
                )
            )
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        item = naive.read(db, table, "TALLY#clicks", "ALL")
        value = naive.number(item, "count")
        return Measured(value, difference_in_words(self.expected(plan), value, "count(s)"))
