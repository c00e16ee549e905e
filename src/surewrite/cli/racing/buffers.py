"""Belongs here: counting in memory, with a flush now and then. Must not be here: how writers are started, killed or measured against each other."""

from __future__ import annotations

from collections.abc import Iterator

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.buffered_counters import BufferedCounter

COUNTER = "views"
ROUNDS_A_FLUSH = 3


class Counting(Entity, discriminator="COUNTING", partition_key="COUNTING#{writer}", sort_key="LAST"):
    """Up to which round a writer has counted, written before the flush: a restarted one goes on after it, so that it counts no round again."""

    writer: Attribute[str]
    round: Attribute[int] = sw.attribute(default=0)


class BufferedCounts:
    name = "buffers"
    title = "counts in memory, flushed now and then, wrong ones"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Counting, *BufferedCounter.entities, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        counted = 0
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            counted += 1
            if current % ROUNDS_A_FLUSH and current < stage.plan.rounds:
                continue
            naive.call(
                stage.db,
                "UpdateItem",
                {
                    "TableName": stage.table,
                    "Key": naive.key("NAIVE#views", "COUNT"),
                    "UpdateExpression": "ADD #count :counted",
                    "ExpressionAttributeNames": {"#count": "count"},
                    "ExpressionAttributeValues": {":counted": {"N": str(counted)}},
                },
            )
            counted = 0

    def sure(self, stage: Stage) -> None:
        store = stage.db.table(stage.table)
        counter = BufferedCounter(store, COUNTER)
        mine = store.of(Counting)
        found = until_known(lambda: mine.get_or_none(Counting.key_of(stage.name), consistent=True))
        for flushed in _flushes(0 if found is None else found.round, stage.plan.rounds):
            for _ in flushed:
                counter.add()
                stage.tick()
            until_known(lambda flushed=flushed: mine.put(Counting(writer=stage.name, round=flushed[-1])))  # type: ignore[misc]
            until_known(lambda: stage.db.run(counter.stop()))

    def expected(self, plan: RacePlan) -> int:  # noqa: ARG002 - none of any number
        return 0

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        """A count is wrong that is made twice, and one that is lost beside those that the one killed writer had in memory."""
        stored = naive.number(naive.read(db, table, "NAIVE#views", "COUNT"), "count") + db.run(BufferedCounter(db.table(table), COUNTER).value())
        total = plan.writers * plan.rounds
        doubled, lost = max(0, stored - total), max(0, total - ROUNDS_A_FLUSH - stored)
        words = f"{doubled} count(s) doubled" if doubled else f"{lost} count(s) lost" if lost else ""
        return Measured(doubled + lost, words)


def _flushes(done: int, rounds: int) -> Iterator[range]:
    """The rounds that are left, as many at a time as are flushed together."""
    for first in range(done + 1, rounds + 1, ROUNDS_A_FLUSH):
        yield range(first, min(first + ROUNDS_A_FLUSH, rounds + 1))
