"""Belongs here: changes announced to a subscriber through an outbox. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.consumers import Consumer
from surewrite.recipes.outbox import Outbox
from surewrite.recipes.relays import Delivery, Relay

ORDERS = 3
BUCKETS = 2
LEASE_SECONDS = 1.0
PASSES_MOST = 10_000
CHANGES_A_PASS = 5


class Order(VersionedEntity, discriminator="ORDER", partition_key="ORDER#{id}", sort_key="STATE"):
    """``done`` holds the last round of each writer: the name of the operation, stored with its effect."""

    id: Attribute[str]
    changes: Attribute[int] = sw.attribute(default=0)
    done: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    revision: Attribute[int | None] = sw.version()


class Subscriber(Entity, discriminator="SUBSCRIBER", partition_key="SUBSCRIBER#{order}", sort_key="SEEN"):
    """What a subscriber made of the events of an order: their numbers, in the order in which they were taken."""

    order: Attribute[str]
    numbers: Attribute[list[int]] = sw.attribute(default_factory=list)


class Announcements:
    name = "outbox"
    title = "changes announced to a subscriber, in order"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - the same start for every size
        db.table(table).create_table(Order, exist_ok=True)
        for number in range(ORDERS):
            db.table(table).of(Order).create(Order(id=f"o{number}"))
            db.table(table).of(Subscriber).create(Subscriber(order=f"o{number}"))

    def naive(self, stage: Stage) -> None:
        """Change the order, then tell the subscriber: two writes, with a crash or another writer in between."""
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            order = order_of(stage, current)
            stored = naive.read(db, table, f"ORDER#{order}", "STATE")
            number = naive.number(stored, "changes") + 1
            naive.put(db, table, stored | {"changes": {"N": str(number)}})
            seen = naive.read(db, table, f"SUBSCRIBER#{order}", "SEEN")
            seen["numbers"] = {"L": [*seen.get("numbers", {}).get("L", []), {"N": str(number)}]}
            naive.put(db, table, seen)

    def sure(self, stage: Stage) -> None:
        shop = stage.db.table(stage.table)
        outbox = Outbox(shop, "orders", buckets=BUCKETS)
        relay = Relay(outbox, _publisher(stage), poison="block", lease_seconds=LEASE_SECONDS, publish_timeout_seconds=LEASE_SECONDS / 2)
        for current in range(1, stage.plan.rounds + 1):
            until_known(lambda current=current: _change(stage, outbox, current))  # type: ignore[misc]
            stage.tick()
            if current % CHANGES_A_PASS == 0:
                until_known(lambda: stage.db.run(relay.run_once()))
        # Whoever ends last leaves nothing: the lease of a relay that was killed is waited for.
        stopped = until_known(lambda: stage.db.run(relay.run(stop=_nothing_waits(stage, outbox), idle_seconds=LEASE_SECONDS / 4)))
        if stopped.blocked:
            raise AssertionError(f"the subscriber refused {stopped.blocked}")

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        told, mixed, lost = 0, 0, 0
        for number in range(ORDERS):
            changes = naive.number(naive.read(db, table, f"ORDER#o{number}", "STATE"), "changes")
            numbers = [int(each["N"]) for each in naive.read(db, table, f"SUBSCRIBER#o{number}", "SEEN").get("numbers", {}).get("L", [])]
            told += len(numbers)
            mixed += numbers != sorted(set(numbers))
            lost += len(set(range(1, changes + 1)) - set(numbers))
        words = [f"{self.expected(plan) - told} event(s) missing"] if told < self.expected(plan) else []
        words += [f"{told - self.expected(plan)} too many"] if told > self.expected(plan) else []
        words += [f"{lost} change(s) never announced"] if lost else []
        words += [f"{mixed} order(s) announced out of order or twice"] if mixed else []
        return Measured(told, "; ".join(words), consistent=not words)


def _nothing_waits(stage: Stage, outbox: Outbox) -> Callable[[], bool]:
    """Whether the outbox is empty, asked so often that a relay which comes on does not need it."""
    asked = itertools.count(1)
    return lambda: next(asked) > PASSES_MOST or not until_known(lambda: stage.db.run(outbox.backlog())).events


def order_of(stage: Stage, current: int) -> str:
    """Each writer goes over all orders, so that they meet at each."""
    return f"o{(stage.writer + current) % ORDERS}"


def _change(stage: Stage, outbox: Outbox, current: int) -> None:
    """One change and its event in one transaction, again as long as another writer is faster."""
    shop = stage.db.table(stage.table)
    for _ in range(1000):
        order = shop.of(Order).get(Order.key_of(order_of(stage, current)))
        if order.done.get(stage.name, 0) >= current:
            return
        tx = shop.transaction()
        change = tx.put(order.replace(changes=order.changes + 1, done={**order.done, stage.name: current}))
        outbox.emit(tx, {"changes": order.changes + 1}, change=change, key=order.id)
        if tx.try_commit():
            return
    raise AssertionError("some writer of a thousand is the faster one every time")


def _publisher(stage: Stage) -> Any:
    """The broker and the subscriber at once: what is delivered is taken by the number of its order."""
    shop = stage.db.table(stage.table)
    consumer = Consumer(shop, "subscriber")

    def publish(delivery: Delivery) -> None:
        number = delivery.event["changes"]

        def take(tx: Any) -> None:
            tx.update(Subscriber.key_of(delivery.key), Subscriber.numbers.append(number))

        until_known(lambda: stage.db.run(consumer.apply(delivery.key, delivery.number, take)))

    return publish
