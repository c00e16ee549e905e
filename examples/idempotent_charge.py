"""A charge with a key that the caller chose: asked for twice, it charges once and answers the same."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import surewrite as sw
from surewrite import Attribute, ConflictKind, Entity

HORIZON = timedelta(hours=24)
"""Longer than any caller tries again; after it the same key is a new request."""


class IdempotencyRecord(Entity, discriminator="IDEMPOTENCY", partition_key="IDEMPOTENCY#{key}", sort_key="RECORD"):
    """The answer to a request, kept until its horizon has passed."""

    key: Attribute[str]
    answer: Attribute[str]
    expires_at: Attribute[datetime] = sw.time_to_live(stored_as="ttl")


class Charge(Entity, discriminator="CHARGE", partition_key="CHARGE#{id}", sort_key="DATA"):
    """What was charged."""

    id: Attribute[str]
    cents: Attribute[int]


def charge(db: sw.Database, shop: sw.Table, request_key: str, cents: int) -> str:
    """Charge once for the key, and return the id of that charge."""

    @db.retry_on_conflict(on=ConflictKind.TRANSACTION)
    def once() -> str:
        charge_id = str(uuid4())
        tx = shop.transaction()
        # An expired record counts as absent, also while the service has not deleted it.
        record = tx.create(IdempotencyRecord(key=request_key, answer=charge_id, expires_at=datetime.now(UTC) + HORIZON))
        tx.create(Charge(id=charge_id, cents=cents))
        result = tx.try_commit()
        if result:
            return charge_id
        if refusal := result.refusal_of(record):
            return refusal.existing.answer
        raise result.error()

    return once()


def main(target: str = "memory:") -> None:
    """Send one request twice, and another one."""
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(IdempotencyRecord, Charge, exist_ok=True)
        request, other = str(uuid4()), str(uuid4())
        first, again, third = (charge(db, shop, key, 950) for key in (request, request, other))
        print(f"the same answer: {first == again}; another request: {third != first}")


if __name__ == "__main__":
    main(*sys.argv[1:])
