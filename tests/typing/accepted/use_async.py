"""The use that the library is made for, async form. Checked, not run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import surewrite as sw
from entities import (
    Account,
    Charge,
    EventOutcome,
    HandleClaim,
    HiLoBlock,
    IdempotencyRecord,
    LiveMatch,
    MailClaim,
    OutboxEvent,
    PageViews,
    Payment,
    Registrant,
    Registration,
    Result,
    Results,
    ScoreChanged,
    UserAccount,
)
from surewrite import ConflictKind


async def main() -> None:
    async with sw.connect_async("memory:") as db:
        shop = db.table("shop")
        await shop.create_table(Account, IdempotencyRecord, exist_ok=True)

        accounts = shop.of(Account)
        key = Account.key_of("alice")
        await accounts.create(Account(id="alice"))

        @db.retry_on_conflict()
        async def deposit(amount: int) -> Account:
            account = await accounts.get(key)
            return await accounts.put(account.replace(balance=account.balance + amount))

        await deposit(10)
        await accounts.modify(key, lambda a: a.replace(balance=a.balance + 10))
        alice = await accounts.get(key)
        await accounts.update(alice, Account.balance.add(10))
        await accounts.update(key.if_version(alice.revision), Account.balance.add(10))
        await accounts.delete(alice)

        async for attempt in db.retry_on_conflict(attempts=5):
            with attempt:
                account = await accounts.get(key)
                await accounts.put(account.replace(balance=account.balance + 10))

        @db.retry_on_conflict(on=ConflictKind.TRANSACTION)
        async def register(user: Registrant) -> Registration:
            tx = shop.transaction()
            mail = tx.create(MailClaim(address=user.email, owner=user.id))
            handle = tx.create(HandleClaim(handle=user.handle, owner=user.id))
            tx.create(user)
            result = await tx.try_commit()
            if result:
                return Registration.DONE
            if result.refusal_of(mail):
                return Registration.EMAIL_TAKEN
            if result.refusal_of(handle):
                return Registration.HANDLE_TAKEN
            raise result.error()

        await register(Registrant(id="bob", email="bob@example.ch", handle="bobby"))

        async with shop.transaction() as tx:
            tx.delete(MailClaim.key_of("alice@example.ch"), condition=MailClaim.owner == "alice")
            tx.create(MailClaim(address="alice@example.org", owner="alice"))
            tx.update(Registrant.key_of("alice"), Registrant.email.set("alice@example.org"))

        @db.retry_on_conflict(on=ConflictKind.TRANSACTION)
        async def charge(request_key: str, charge_id: str, now: datetime) -> str:
            tx = shop.transaction()
            answered = tx.create(IdempotencyRecord(key=request_key, answer=charge_id, expires_at=now + timedelta(hours=24)))
            tx.put(Charge(id=charge_id))
            result = await tx.try_commit()
            if result:
                return charge_id
            if refusal := result.refusal_of(answered):
                return refusal.existing.answer
            raise result.error()

        matches = shop.of(LiveMatch)

        async def apply(change: ScoreChanged) -> EventOutcome:
            outcome = await matches.try_upsert(
                LiveMatch.key_of(change.match_id),
                LiveMatch.home_goals.set(change.home),
                LiveMatch.away_goals.set(change.away),
                LiveMatch.score_at.set(change.at),
                condition=LiveMatch.score_at.not_exists_or_lt(change.at),
            )
            if outcome:
                return EventOutcome.APPLIED
            return EventOutcome.ALREADY_STORED if outcome.existing.score_at == change.at else EventOutcome.SUPERSEDED

        await apply(ScoreChanged("m1", 1, 0, datetime.now(UTC)))
        await charge("request-1", "charge-1", datetime.now(UTC))
        views: int = (await shop.of(PageViews).upsert(PageViews.key_of("/home"), PageViews.count.add(1))).count
        hi = (await shop.of(HiLoBlock).upsert(HiLoBlock.key_of("orders"), HiLoBlock.hi.add(100), in_doubt="resend")).hi
        number: int = await db.run(sw.recipes.HiLo(shop, "orders").next())
        print(views, hi, number)

        async with shop.transaction() as tx:
            tx.create(Payment(id="p1"))
            tx.put(OutboxEvent(at=datetime.now(UTC), event_id=uuid4(), payment_id="p1"))
        outbox = shop.of(OutboxEvent)
        async for pending in outbox.query(OutboxEvent.partition_of(), consistent=True):
            await outbox.delete(pending)

        results = db.table("results", key=("ID",), discriminator=None).of(Results)

        async def handler(event: dict[str, Any]) -> None:
            await asyncio.gather(*(results.upsert(Results.key_of(r["id"]), Results.results.append(Result(1, "fail"))) for r in event["Records"]))

        await handler({})
        users = db.table("UserAccounts", key=("UserId",), discriminator=None).of(UserAccount)
        await users.update(UserAccount.key_of("user_123").if_version(5), UserAccount.balance.set(Decimal("150.00")))


asyncio.run(main())
