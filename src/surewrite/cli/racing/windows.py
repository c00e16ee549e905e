"""Belongs here: counts of events by the hour, each event delivered twice. Must not be here: how writers are started, killed or measured against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.counters import CounterWindow, WindowedCounter

COUNTER = "visits"
WINDOW_SECONDS = 3600
WINDOWS = 4
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Visit:
    """An event: its id and its own time, the same at each delivery."""

    id: str
    window: int
    at: datetime


def visits(plan: RacePlan) -> list[Visit]:
    """Every event of the race once."""
    random = Random(plan.seed)
    found: list[Visit] = []
    for number in range(plan.writers * plan.rounds):
        window = random.randrange(WINDOWS)
        found.append(Visit(f"visit-{number}", window, START + timedelta(seconds=window * WINDOW_SECONDS + random.randrange(WINDOW_SECONDS))))
    return found


def deliveries_of(stage: Stage) -> Iterator[Visit]:
    """A writer's share of all events delivered twice, in an order drawn by the seed. A restarted writer gets it again from the start."""
    delivered = visits(stage.plan) * 2
    Random(stage.plan.seed + 1).shuffle(delivered)
    yield from delivered[stage.writer :: stage.plan.writers]


class WindowedCounts:
    name = "windows"
    title = "counts by the hour, each event delivered twice"

    def operations(self, plan: RacePlan) -> int:
        return 2 * len(visits(plan))

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(CounterWindow, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        for visit in deliveries_of(stage):
            naive.call(
                stage.db,
                "UpdateItem",
                {
                    "TableName": stage.table,
                    "Key": naive.key("NAIVE#visits", f"WINDOW#{visit.window}"),
                    "UpdateExpression": "ADD #count :one",
                    "ExpressionAttributeNames": {"#count": "count"},
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                },
            )
            stage.tick()

    def sure(self, stage: Stage) -> None:
        counter = WindowedCounter(stage.db.table(stage.table), COUNTER, window_seconds=WINDOW_SECONDS)
        for visit in deliveries_of(stage):
            until_known(lambda visit=visit: stage.db.run(counter.add(event_id=visit.id, at=visit.at)))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return len(visits(plan))

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        counter = WindowedCounter(db.table(table), COUNTER, window_seconds=WINDOW_SECONDS)
        wanted = [0] * WINDOWS
        for visit in visits(plan):
            wanted[visit.window] += 1
        counts: list[int] = []
        for window in range(WINDOWS):
            plain = naive.number(naive.read(db, table, "NAIVE#visits", f"WINDOW#{window}"), "count")
            counts.append(plain + db.run(counter.value(START + timedelta(seconds=window * WINDOW_SECONDS))))
        over = sum(max(0, count - want) for count, want in zip(counts, wanted, strict=True))
        under = sum(max(0, want - count) for count, want in zip(counts, wanted, strict=True))
        words = [f"{over} count(s) doubled"] if over else []
        words += [f"{under} count(s) lost"] if under else []
        return Measured(sum(counts), "; ".join(words), consistent=not words)
