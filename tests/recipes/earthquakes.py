"""Revisions of earthquakes through an outbox and a relay, by processes that lose answers and are killed.

Belongs here: what one process of the load does, and starting it again. Must not be here: what must come out.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.backends.targets import backend_for
from surewrite.cli.racing.events import lines
from surewrite.cli.racing.mortality import MortalBackend, kill_this_process
from surewrite.cli.racing.sure import until_known
from surewrite.drivers.backend import Backend
from surewrite.recipes.ordered import OrderedState
from surewrite.recipes.outbox import Outbox
from surewrite.recipes.relays import Delivery, Relay
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import FaultRates

TABLE = "quakes"
BUCKETS = 4
LEASE_SECONDS = 3.0
LIVES_ENDED_BY_KILL = 2
RATES = FaultRates(lose_answer=0.05, lose_request=0.03, error_after=0.02, throttle=0.02)


class Quake(VersionedEntity, discriminator="QUAKE", partition_key="QUAKE#{id}", sort_key="LATEST"):
    """The latest revision at its source; each newer one is announced."""

    id: Attribute[str]
    updated: Attribute[int]
    magnitude: Attribute[str]
    status: Attribute[str]
    revision: Attribute[int | None] = sw.version()


class Mirror(Entity, discriminator="MIRROR", partition_key="MIRROR#{id}", sort_key="LATEST"):
    """The latest revision as a subscriber knows it, from events alone."""

    id: Attribute[str]
    updated: Attribute[int]
    magnitude: Attribute[str]
    status: Attribute[str]


class Published(Entity, discriminator="PUBLISHED", partition_key="PUBLISHED#{key}", sort_key="NUMBERS"):
    """The numbers of each key in the order of their first deliveries, as the broker saw them."""

    key: Attribute[str]
    numbers: Attribute[list[int]] = sw.attribute(default_factory=list)
    seen: Attribute[frozenset[int]] = sw.attribute(default=frozenset())


@dataclass(frozen=True, slots=True)
class Load:
    """How large the load is. ``seed`` decides the order, the repeats, the faults and the kills."""

    target: str
    processes: int
    lines_most: int
    seed: int


@dataclass(frozen=True, slots=True)
class Task:
    load: Load
    number: int
    life: int = 0


def deliveries(load: Load) -> list[dict[str, Any]]:
    """Each line one to three times, shuffled; earthquakes with several revisions first."""
    chance = random.Random(load.seed)
    counts: dict[str, int] = {}
    for line in lines():
        counts[line["id"]] = counts.get(line["id"], 0) + 1
    chosen = sorted(lines(), key=lambda line: -counts[line["id"]])[: load.lines_most]
    delivered = [line for line in chosen for _ in range(chance.randint(1, 3))]
    chance.shuffle(delivered)
    return delivered


def expected(load: Load) -> dict[str, tuple[int, str, str]]:
    """For each earthquake its line with the greatest ``updated``."""
    newest: dict[str, dict[str, Any]] = {}
    for line in deliveries(load):
        if line["id"] not in newest or newest[line["id"]]["updated"] < line["updated"]:
            newest[line["id"]] = line
    return {id_: (line["updated"], str(line["mag"]), line["status"]) for id_, line in newest.items()}


def work(task: Task) -> None:
    """One process: its share of the deliveries, from the start in every life, then relaying until nothing waits."""
    load = task.load
    chance = random.Random(f"{load.seed} {task.number} {task.life}")
    backend: Backend = FaultBackend(backend_for(load.target), rates=RATES, seed=chance.randrange(2**32))
    share = deliveries(load)[task.number :: load.processes]
    if task.life < LIVES_ENDED_BY_KILL:
        # A delivery takes a request or more, so that no such life comes to its end by itself.
        backend = MortalBackend(backend, chance.randint(len(share) // 4, len(share)), kill_this_process)
    with sw.connect(backend, deadline=30.0, timeout=10.0) as db:
        table = db.table(TABLE)
        outbox = Outbox(table, "quakes", buckets=BUCKETS)
        relay = Relay(outbox, publisher(db, table), poison="block", lease_seconds=LEASE_SECONDS, publish_timeout_seconds=LEASE_SECONDS / 2)
        for count, line in enumerate(share):
            until_known(lambda line=line: store(table, outbox, line))
            if count % 20 == 19:
                until_known(lambda: db.run(relay.run_once()))
        passes = itertools.count(1)
        until_known(
            lambda: db.run(relay.run(stop=lambda: next(passes) > 100_000 or not until_known(lambda: db.run(outbox.backlog())).events, idle_seconds=0.2))
        )


def store(table: Any, outbox: Outbox, line: dict[str, Any]) -> None:
    """Apply a revision if it is newer, and announce it in the same transaction."""
    values = {"updated": line["updated"], "magnitude": str(line["mag"]), "status": line["status"]}
    for _ in range(1000):
        stored = table.of(Quake).get_or_none(Quake.key_of(line["id"]))
        if stored is not None and stored.updated >= line["updated"]:
            return
        tx = table.transaction()
        change = tx.put(Quake(id=line["id"], **values) if stored is None else stored.replace(**values))
        outbox.emit(tx, values, change=change, key=line["id"])
        if tx.try_commit():
            return
    raise AssertionError("some process of a thousand is the faster one every time")


def publisher(db: Any, table: Any) -> Callable[[Delivery], None]:
    """The broker, which notes what it saw, and a subscriber behind it that orders by the time of the source."""
    mirror = OrderedState(table, Mirror, Mirror.updated)

    def publish(delivery: Delivery) -> None:
        published, numbers = Published.key_of(delivery.key), Published.numbers
        until_known(
            lambda: table.of(Published).try_upsert(
                published, numbers.append(delivery.number), Published.seen.add(delivery.number), condition=~Published.seen.contains(delivery.number)
            )
        )
        until_known(lambda: db.run(mirror.put(Mirror(id=delivery.key, **delivery.event))))

    return publish


def run_all(load: Load) -> int:
    """Run the processes to their ends, those that were killed again. Gives how many were killed."""
    context = multiprocessing.get_context("spawn")

    def started(task: Task) -> tuple[Task, Any]:
        process = context.Process(target=work, args=(task,), name=f"quakes-{task.number}")
        process.start()
        return task, process

    running, killed = [started(Task(load, number)) for number in range(load.processes)], 0
    try:
        while running:
            task, process = running.pop(0)
            process.join(0.2)
            if process.is_alive():
                running.append((task, process))
            elif process.exitcode != 0:
                if process.exitcode not in (-9, 137) or task.life >= LIVES_ENDED_BY_KILL:
                    raise AssertionError(f"process {task.number} ended with {process.exitcode}")
                killed += 1
                running.append(started(replace(task, life=task.life + 1)))
    finally:
        for _, process in running:
            process.kill()
            process.join()
    return killed
