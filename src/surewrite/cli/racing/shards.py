"""Belongs here: an exact count that is spread over several items. Must not be here: how writers are started, killed or measured against each other."""

from __future__ import annotations

from random import Random

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage, difference_in_words
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.sharded_counters import ShardedCounter

COUNTER = "likes"
SHARDS = 8


class Liked(Entity, discriminator="LIKED", partition_key="LIKED#{writer}", sort_key="LAST"):
    """The last round of a writer, written in the transaction of its addition: the name of the operation, stored with its effect."""

    writer: Attribute[str]
    round: Attribute[int] = sw.attribute(default=0)


class ShardedCount:
    name = "shards"
    title = "an exact count over several items"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        store = db.table(table)
        store.create_table(Liked, exist_ok=True)
        for writer in range(plan.writers):
            store.of(Liked).create(Liked(writer=f"w{writer}"))
        db.run(ShardedCounter(store, COUNTER, shards=SHARDS).reshard(SHARDS))

    def naive(self, stage: Stage) -> None:
        shards = Random(stage.plan.seed * 1000 + stage.writer)
        for _ in naive.remaining_rounds(stage, stage.plan.rounds):
            naive.call(
                stage.db,
                "UpdateItem",
                {
                    "TableName": stage.table,
                    "Key": naive.key("NAIVE#likes", f"SHARD#{shards.randrange(SHARDS)}"),
                    "UpdateExpression": "ADD #count :one",
                    "ExpressionAttributeNames": {"#count": "count"},
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                },
            )

    def sure(self, stage: Stage) -> None:
        """An addition is exact across the death of its caller in one transaction with the caller's round."""
        store = stage.db.table(stage.table)
        likes = ShardedCounter(store, COUNTER)
        mine = Liked.key_of(stage.name)
        done = until_known(lambda: store.of(Liked).get(mine, consistent=True)).round
        for current in range(done + 1, stage.plan.rounds + 1):

            def like(current: int = current) -> bool:
                tx = store.transaction()
                stage.db.run(likes.add_to(tx))
                tx.update(mine, Liked.round.set(current), condition=Liked.round < current)
                # Refused: the round is stored, by an attempt whose answer was lost.
                return bool(tx.try_commit())

            until_known(like)
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        plain = sum(naive.number(naive.read(db, table, "NAIVE#likes", f"SHARD#{shard}"), "count") for shard in range(SHARDS))
        value = plain + db.run(ShardedCounter(db.table(table), COUNTER).exact_sum())
        return Measured(value, difference_in_words(self.expected(plan), value, "count(s)"))
