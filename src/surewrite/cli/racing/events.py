"""Belongs here: revisions of keyed records that arrive late, twice and out of order, on real data. Must not be here: starting or killing writers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.ordered import OrderedState

DELIVERIES_MAX = 3
LINES_A_ROUND = 4
"""A delivery is one write, so the load is bounded by the rounds; 100 rounds of four writers take all lines."""


class Quake(Entity, discriminator="QUAKE", partition_key="QUAKE#{id}", sort_key="LATEST"):
    """The latest revision of one earthquake. ``updated`` is the order that the source gives, in milliseconds since 1970."""

    id: Attribute[str]
    updated: Attribute[int]
    magnitude: Attribute[str]
    status: Attribute[str]


@cache
def lines() -> tuple[dict[str, Any], ...]:
    """Every revision of both feeds, in the order of the file."""
    text = (files("surewrite.cli.racing") / "earthquake-revisions.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def chosen(plan: RacePlan) -> list[dict[str, Any]]:
    """The lines that a race of this size delivers: whole earthquakes, those with several revisions first."""
    by_id: dict[str, list[dict[str, Any]]] = {}
    for line in lines():
        by_id.setdefault(line["id"], []).append(line)
    wanted = plan.writers * plan.rounds * LINES_A_ROUND
    found: list[dict[str, Any]] = []
    for revisions in sorted(by_id.values(), key=len, reverse=True):
        if len(found) >= wanted:
            break
        found.extend(revisions)
    return found


def deliveries(plan: RacePlan) -> list[dict[str, Any]]:
    """Each line one to three times, shuffled: the same list for every writer of the race."""
    random = Random(plan.seed)
    delivered = [line for line in chosen(plan) for _ in range(random.randint(1, DELIVERIES_MAX))]
    random.shuffle(delivered)
    return delivered


def deliveries_of(stage: Stage) -> Iterator[dict[str, Any]]:
    """A writer's share. A restarted writer gets it again from the start, as from a queue that was not acknowledged."""
    yield from deliveries(stage.plan)[stage.writer :: stage.plan.writers]


class OrderedEvents:
    name = "events"
    title = "revisions of earthquakes, late, twice and out of order"

    def operations(self, plan: RacePlan) -> int:
        return len(deliveries(plan))

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Quake, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        for line in deliveries_of(stage):
            stored = naive.read(stage.db, stage.table, f"QUAKE#{line['id']}", "LATEST") or naive.key(f"QUAKE#{line['id']}", "LATEST")
            revision = {"updated": {"N": str(line["updated"])}, "magnitude": {"S": str(line["mag"])}, "status": {"S": line["status"]}}
            naive.put(stage.db, stage.table, stored | revision)
            stage.tick()

    def sure(self, stage: Stage) -> None:
        quakes = OrderedState(stage.db.table(stage.table), Quake, Quake.updated)
        for line in deliveries_of(stage):
            quake = Quake(id=line["id"], updated=line["updated"], magnitude=str(line["mag"]), status=line["status"])
            until_known(lambda quake=quake: stage.db.run(quakes.put(quake)))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return len({line["id"] for line in chosen(plan)})

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        newest: dict[str, int] = {}
        for line in chosen(plan):
            newest[line["id"]] = max(newest.get(line["id"], 0), line["updated"])
        right = sum(naive.number(naive.read(db, table, f"QUAKE#{id_}", "LATEST"), "updated") == updated for id_, updated in newest.items())
        return Measured(right, "" if right == len(newest) else f"{len(newest) - right} earthquake(s) moved back to an older revision")
