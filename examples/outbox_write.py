"""A payment and its event in one transaction: no event without its change, no change without its event."""

from __future__ import annotations

import sys
from uuid import uuid4

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Payment(VersionedEntity, discriminator="PAYMENT", partition_key="PAYMENT#{id}", sort_key="STATE"):
    """A payment, whose version numbers its events."""

    id: Attribute[str]
    status: Attribute[str]
    revision: Attribute[int | None] = sw.version()


class PaymentEvent(Entity, discriminator="PAYMENT_EVENT", partition_key="PAYMENT#{payment_id}", sort_key="EVENT#{number:010d}"):
    """What a relay publishes later, in the order of ``number`` for each payment."""

    payment_id: Attribute[str]
    number: Attribute[int]
    status: Attribute[str]


def begin(shop: sw.Table, payment_id: str) -> Payment:
    """Make a payment with its first event."""
    tx = shop.transaction()
    made = tx.create(Payment(id=payment_id, status="new"))
    tx.create(PaymentEvent(payment_id=payment_id, number=1, status="new"))
    return tx.commit().item_for(made)


def advance(shop: sw.Table, payment: Payment, status: str) -> Payment:
    """Change the status, with the event that tells it. Refused as a whole if somebody changed the payment since it was read."""
    assert payment.revision is not None
    tx = shop.transaction()
    changed = tx.put(payment.replace(status=status))
    tx.create(PaymentEvent(payment_id=payment.id, number=payment.revision + 1, status=status))
    return tx.commit().item_for(changed)


def main(target: str = "memory:") -> None:
    """Pay, and try to cancel what was read before."""
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(Payment, exist_ok=True)
        payment = begin(shop, str(uuid4()))
        paid = advance(shop, payment, "paid")
        print(f"{paid.status} at version {paid.revision}")
        try:
            advance(shop, payment, "cancelled")
        except sw.TransactionCanceled:
            print("the cancellation was refused, with its event")
        events = (shop.of(PaymentEvent).get_or_none(PaymentEvent.key_of(payment.id, number), consistent=True) for number in range(1, 4))
        print("events:", ", ".join(event.status for event in events if event))


if __name__ == "__main__":
    main(*sys.argv[1:])
