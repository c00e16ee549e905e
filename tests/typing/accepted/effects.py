"""Calls with a key, leases and sequences as users write them: what a call gives is known without a cast, and asking it narrows its type."""

from __future__ import annotations
from collections.abc import Mapping
from typing import Any
import surewrite as sw
from entities import Account, Order


def key_of_order(order: str, amount: int) -> str:
    return f"{order}/{amount}"


def key_of_event(event: Mapping[str, str]) -> str:
    return event["order"]


def use(db: sw.Database, shop: sw.Table) -> None:
    shop.create_table(Account, *sw.recipes.Idempotency.entities, *sw.recipes.HiLo.entities, *sw.recipes.Lease.entities)
    charges = sw.recipes.Idempotency(shop, "charge")

    def charge(tx: sw.Transaction) -> dict[str, int]:
        tx.update(Account.key_of("alice").ignore_version(), Account.balance.add(-3))
        return {"charge": 1}

    done = db.run(charges.once("r", charge, payload=3))
    if done:
        number: int = done.answer["charge"]
        print(number, done.repeated)
    else:
        raise done.error()
    recorded = db.run(charges.once("r", charge, answer_refusal=lambda canceled: str(canceled)))
    if isinstance(recorded, sw.recipes.EffectDone):
        print(recorded.answer)

    @charges.decorate(db, key=key_of_order)
    def charge_order(tx: sw.Transaction, order: str, amount: int = 1) -> str:
        tx.update(Account.key_of(order).ignore_version(), Account.balance.add(-amount))
        return "charged"

    told: str = charge_order("o1", amount=3)
    mails = sw.recipes.LeasedEffects(shop, "mail", after_lost="refuse")

    @mails.decorate(db, key=key_of_order)
    def confirm(order: str, amount: int) -> str:
        return f"{order} {amount}"

    @mails.handler(db, key=key_of_event)
    def handle(event: Mapping[str, str], context: object) -> list[str]:
        return [event["order"]]

    sent: list[str] = handle({"order": "o1"}, None)
    print(told, confirm("o1", 3), sent)
    ran = db.run(mails.run("k", lambda claim: claim.attempt))
    if ran:
        attempt: int = ran.answer
        print(attempt)
    numbered = db.run(mails.run("k", lambda claim: sw.recipes.HiLo(shop, claim.key).next()))
    if numbered:
        print(numbered.answer + 1)

    lease = sw.recipes.Lease(shop, "job")
    if hold := db.run(lease.acquire()):
        print(hold.fence, db.run(lease.release(hold)))
    invoices = sw.recipes.Gapless[Account](shop, "invoices")
    issued = db.run(invoices.issue("o1", lambda number: Account(id=str(number))))
    if issued:
        print(issued.number, issued.row and issued.row.balance)
    else:
        raise issued.error()
    orders = sw.recipes.Guards(shop, Order)
    taken = db.run(orders.try_take(Order.key_of("c5", 17), Order.stock, 1))
    if taken:
        print(taken.item.stock)
    else:
        print(taken.failed)
    once: Order | None = db.run(orders.take(Order.key_of("c5", 17), Order.stock, 1, exactly_once=True))
    print(once)


async def use_async(db: sw.AsyncDatabase, shop: sw.AsyncTable) -> None:
    charges = sw.recipes.Idempotency(shop, "charge")

    async def charge(tx: sw.AsyncTransaction) -> int:
        tx.update(Account.key_of("alice").ignore_version(), Account.balance.add(-3))
        return 1

    done = await db.run(charges.once("r", charge))
    if done:
        print(done.answer + 1)

    @charges.decorate(db, key=key_of_order)
    async def charge_order(tx: sw.AsyncTransaction, order: str, amount: int) -> int:
        tx.update(Account.key_of(order).ignore_version(), Account.balance.add(-amount))
        return amount

    @charges.decorate(db, key=key_of_order)
    def charge_plainly(tx: sw.AsyncTransaction, order: str, amount: int) -> int:
        tx.update(Account.key_of(order).ignore_version(), Account.balance.add(-amount))
        return amount

    left: int = await charge_order("o1", 3) + await charge_plainly("o1", 3)
    mails = sw.recipes.LeasedEffects(shop, "mail", after_lost="retake")

    @mails.handler(db, key=key_of_event)
    async def handle(event: Mapping[str, Any], context: object) -> str:
        return str(event["order"])

    print(left, await handle({"order": "o1"}, None))
