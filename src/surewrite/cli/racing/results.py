"""Belongs here: results of queue messages, each delivered to two writers, kept as a list. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

from collections import Counter

from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.append import Append


class Result(Entity, discriminator="RESULT", partition_key="RESULTS#{test}", sort_key="MESSAGE#{message}"):
    test: Attribute[str]
    message: Attribute[str]
    text: Attribute[str]


class QueuedResults:
    name = "results"
    title = "results of messages that are delivered twice"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Result, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            listed = naive.read(stage.db, stage.table, "RESULTS#t1", "LIST") or naive.key("RESULTS#t1", "LIST")
            element = {"S": message_of(stage, current)}
            found = listed.get("results", {}).get("L", [])
            if element not in found:
                naive.put(stage.db, stage.table, listed | {"results": {"L": [*found, element]}})

    def sure(self, stage: Stage) -> None:
        results = Append(stage.db.table(stage.table), Result)
        for current in range(1, stage.plan.rounds + 1):
            message = message_of(stage, current)
            result = Result(test="t1", message=message, text=f"of {message}")
            until_known(lambda result=result: stage.db.run(results.add(result)))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return len(messages(plan))

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        listed = naive.read(db, table, "RESULTS#t1", "LIST").get("results", {}).get("L", [])
        stored = db.run(Append(db.table(table), Result).read(Result.partition_of("t1"))) if not listed else ()
        found = Counter([element["S"] for element in listed] + [result.message for result in stored])
        lost, doubled = len(messages(plan) - set(found)), sum(count - 1 for count in found.values())
        words = [f"{lost} result(s) lost"] if lost else []
        words += [f"{doubled} doubled"] if doubled else []
        return Measured(sum(found.values()), "; ".join(words), consistent=not words)


def message_of(stage: Stage, current: int) -> str:
    """Two writers next to each other get the same messages."""
    return f"{stage.writer // 2}-{current}"


def messages(plan: RacePlan) -> set[str]:
    """All messages of the race."""
    return {f"{writer // 2}-{current}" for writer in range(plan.writers) for current in range(1, plan.rounds + 1)}
