"""Leases, sequences and counters as their users write them, over both clients."""

from __future__ import annotations

from datetime import datetime
from typing import assert_type

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.counters import Counted, Counting
from surewrite.recipes.leases import Hold, KeptHold, LeaseRecord, NotAcquired, Ran
from surewrite.recipes.sequences import Issued, RowRefused


class Invoice(Entity, discriminator="INVOICE", partition_key="INVOICE#{number}", sort_key="INVOICE"):
    number: Attribute[int]
    order: Attribute[str]


async def works(kept: KeptHold) -> str:
    return kept.hold.owner


def blocking(db: sw.Database, shop: sw.Table, at: datetime) -> None:
    assert_type(db.run(sw.recipes.HiLo(shop, "orders").next()), int)
    invoices = sw.recipes.Gapless[Invoice](shop, "invoices")
    issued = db.run(invoices.issue("o1", lambda number: Invoice(number=number, order="o1")))
    assert_type(issued, Issued[Invoice] | RowRefused[Invoice])
    if isinstance(issued, Issued):
        assert_type(issued.row, Invoice | None)
    assert_type(db.run(sw.recipes.AtMostOnceCounter(shop, "c").add()), int)
    assert_type(db.run(sw.recipes.ExactCounter(shop, "c").add(operation="o1")), Counted)
    assert_type(db.run(sw.recipes.WindowedCounter(shop, "c").add(event_id="e1", at=at)), Counting)
    assert_type(db.run(sw.recipes.ShardedCounter(shop, "c").exact_sum()), int)
    lease = sw.recipes.Lease(shop, "relay", duration_seconds=30)
    hold = db.run(lease.acquire(wait_seconds=5))
    assert_type(hold, Hold | NotAcquired)
    if isinstance(hold, Hold):
        tx = shop.transaction()
        marker = tx.check(hold.key, hold.condition)
        assert_type(marker, sw.Marker[LeaseRecord])
        refusal = tx.try_commit().refusal_of(marker)
        if refusal:
            assert_type(hold.state_told_by(refusal), sw.recipes.LeaseState)
    assert_type(db.run(lease.run(lambda kept: kept.fence)), Ran[int] | NotAcquired)


async def awaited(db: sw.AsyncDatabase, shop: sw.AsyncTable) -> None:
    assert_type(await db.run(sw.recipes.HiLo(shop, "orders").next()), int)
    assert_type(await db.run(sw.recipes.Lease(shop, "relay").run(works)), Ran[str] | NotAcquired)
    buffered = sw.recipes.BufferedCounter(shop, "hits")
    buffered.add(2)
    assert_type(await db.run(buffered.stop()), int)
