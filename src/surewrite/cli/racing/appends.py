"""Belongs here: concurrent appends to one list, with a sequence per writer in the item. Must not be here: starting or killing writers."""

from __future__ import annotations

from collections import Counter

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database


class Results(Entity, discriminator="RESULTS", partition_key="RESULTS#{id}", sort_key="LIST"):
    """``last`` holds the last round of each writer: what guards an append, which by itself would be made twice by a resend."""

    id: Attribute[str]
    results: Attribute[list[str]] = sw.attribute(default_factory=list)
    last: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)


KEY = Results.key_of("ID123")


class Appends:
    name = "appends"
    title = "concurrent appends to one list"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        db.table(table).create_table(Results, exist_ok=True)
        db.table(table).of(Results).create(Results(id="ID123", last={f"w{writer}": 0 for writer in range(plan.writers)}))

    def naive(self, stage: Stage) -> None:
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            stored = naive.read(stage.db, stage.table, "RESULTS#ID123", "LIST")
            stored["results"] = {"L": [*stored.get("results", {}).get("L", []), {"S": f"{stage.name}-{current}"}]}
            naive.put(stage.db, stage.table, stored)

    def sure(self, stage: Stage) -> None:
        results = stage.db.table(stage.table).of(Results)
        last = Results.last[stage.name]
        done = until_known(lambda: results.get(KEY, consistent=True)).last[stage.name]
        for current in range(done + 1, stage.plan.rounds + 1):
            until_known(
                lambda current=current: results.try_update(  # type: ignore[misc]
                    KEY, Results.results.append(f"{stage.name}-{current}"), last.set(current), condition=last < current
                )
            )
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        stored = naive.read(db, table, "RESULTS#ID123", "LIST")
        found = Counter(element["S"] for element in stored.get("results", {}).get("L", []))
        wanted = {f"w{writer}-{current}" for writer in range(plan.writers) for current in range(1, plan.rounds + 1)}
        lost, doubled = len(wanted - set(found)), sum(count - 1 for count in found.values())
        words = [f"{lost} result(s) lost"] if lost else []
        words += [f"{doubled} doubled"] if doubled else []
        return Measured(sum(found.values()), "; ".join(words), consistent=not words)
