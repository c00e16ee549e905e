"""Ordered events, appends, queue batches, guards and soft deletes as users write them: both checkers accept every line."""

from __future__ import annotations
from datetime import datetime
from decimal import Decimal
import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.recipes.ordered import Judged
from surewrite.recipes.ordered_events import EventOutcome
from surewrite.recipes.guards import Kept


class Match(Entity, discriminator="M", partition_key="M#{id}", sort_key="L"):
    id: Attribute[str]
    home: Attribute[int] = sw.attribute(default=0)
    score_at: Attribute[datetime | None] = sw.attribute(default=None)
    seq: Attribute[int] = sw.attribute(default=0)
    deleted: Attribute[bool] = sw.attribute(default=False)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)


class Order(VersionedEntity, discriminator="O", partition_key="O#{id}", sort_key="O"):
    id: Attribute[str]
    stock: Attribute[int] = sw.attribute(default=0)
    weight: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    status: Attribute[str] = sw.attribute(default="")
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)
    version: Attribute[int | None] = sw.version()


class Part(sw.recipes.ListPart, Entity, discriminator="P", partition_key="P#{id}", sort_key="PART#{part:06d}"):
    id: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)


def use(db: sw.Database, shop: sw.Table) -> None:
    group = sw.recipes.OrderedGroup(Match.score_at, Match.home)
    tombs = sw.recipes.Tombstones(Match.deleted, Match.ends_at, 3600)

    def larger(a: Match, b: Match) -> Match:
        return max(a, b, key=lambda m: m.home)

    live = sw.recipes.Ordered(shop, Match, group, tie=larger, tombstones=tombs)
    judged: Judged[Match] = db.run(live.apply(Match.key_of("m"), group.event(datetime.now(), Match.home.set(1))))
    if judged.outcome is EventOutcome.APPLIED and judged.item is not None:
        print(judged.item.home + 1)
    states = sw.recipes.OrderedState(shop, Match, Match.seq)
    j2: Judged[Match] = db.run(states.put(Match(id="x")))
    print(j2)
    orders = sw.recipes.Guards(shop, Order)
    key = Order.key_of("o")
    result = db.run(orders.try_take(key, Order.stock, 1))
    if isinstance(result, Kept):
        print(result.item)
    else:
        print(result.failed, result.item.stock if result.item else 0)
    left: Order = db.run(orders.take(key, Order.weight, Decimal(1)))
    print(left)
    db.run(orders.transition(key, Order.status, "paid", "shipped", Order.stock.add(1)))
    users = sw.recipes.SoftDeletes(shop, Order, deleted_at=Order.deleted_at, expires=Order.ends_at, lateness_seconds_most=1)
    made: Order = db.run(users.create(Order(id="o")))
    db.run(users.delete(made))
    lists = sw.recipes.SmallList(shop, Part, Part.entries)
    texts: tuple[str, ...] = db.run(lists.read(Part.partition_of("x")))
    print(texts, db.run(lists.add(Part.partition_of("x"), "m", "t")))
    results = sw.recipes.Append(shop, Match)
    found: tuple[Match, ...] = db.run(results.read(Match.partition_of("x")))
    print(found, db.run(results.add(Match(id="x"))).item.home)


async def use_async(db: sw.AsyncDatabase, shop: sw.AsyncTable) -> None:
    orders = sw.recipes.Guards(shop, Order)
    left: Order = await db.run(orders.take(Order.key_of("o"), Order.stock, 1))
    print(left, shop.of(Order).statistics().conflicts)

    @sw.recipes.queue_batch(db, on_error=print)
    def handler(record: object) -> object:
        return None

    print(await handler({"Records": []}))
