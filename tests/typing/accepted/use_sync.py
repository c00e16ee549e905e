"""The use that the library is made for, sync form. Checked, not run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import surewrite as sw
from entities import (
    Account,
    Charge,
    DailyTally,
    EventOutcome,
    HandleClaim,
    HiLoBlock,
    IdempotencyRecord,
    LiveMatch,
    MailClaim,
    Order,
    OutboxEvent,
    PageViews,
    Payment,
    Registrant,
    Registration,
    Result,
    Results,
    ScoreChanged,
    Standing,
    UserAccount,
)
from surewrite import ConflictKind

db = sw.connect("memory:")
shop = db.table("shop")
shop.create_table(Account, IdempotencyRecord, exist_ok=True)

# ---- optimistic locking
accounts = shop.of(Account)
ALICE = Account.key_of("alice")
accounts.create(Account(id="alice"))


@db.retry_on_conflict()
def deposit(amount: int) -> Account:
    account = accounts.get(ALICE)
    return accounts.put(account.replace(balance=account.balance + amount))


deposit(10)
accounts.modify(ALICE, lambda a: a.replace(balance=a.balance + 10))
alice = accounts.get(ALICE)
alice = accounts.update(alice, Account.balance.add(10))  # a loaded entity: version and stamp are checked
accounts.update(ALICE.if_version(alice.revision), Account.balance.add(10))
accounts.update(ALICE.ignore_version(), Account.balance.add(10))
accounts.delete(ALICE.if_version(alice.revision))


# ---- uniqueness
@db.retry_on_conflict(on=ConflictKind.TRANSACTION)
def register(user: Registrant) -> Registration:
    tx = shop.transaction()
    mail = tx.create(MailClaim(address=user.email, owner=user.id))
    handle = tx.create(HandleClaim(handle=user.handle, owner=user.id))
    tx.create(user)
    result = tx.try_commit()
    if result:
        return Registration.DONE
    if result.refusal_of(mail):
        return Registration.EMAIL_TAKEN
    if result.refusal_of(handle):
        return Registration.HANDLE_TAKEN
    raise result.error()


register(Registrant(id="bob", email="bob@example.ch", handle="bobby"))

with shop.transaction() as tx:
    tx.delete(MailClaim.key_of("alice@example.ch"), condition=MailClaim.owner == "alice")
    tx.create(MailClaim(address="alice@example.org", owner="alice"))
    tx.update(Registrant.key_of("alice"), Registrant.email.set("alice@example.org"))


# ---- idempotency keys
@db.retry_on_conflict(on=ConflictKind.TRANSACTION)
def charge(request_key: str, charge_id: str, now: datetime) -> str:
    tx = shop.transaction()
    record = IdempotencyRecord(key=request_key, answer=charge_id, expires_at=now + timedelta(hours=24))
    answered = tx.create(record)  # expired is absent, so this is NotExistsOrLt(now)
    tx.put(Charge(id=charge_id))
    result = tx.try_commit()
    if result:
        return charge_id
    if refusal := result.refusal_of(answered):
        return refusal.existing.answer
    raise result.error()


# ---- events out of order
matches = shop.of(LiveMatch)


def apply(change: ScoreChanged) -> EventOutcome:
    outcome = matches.try_upsert(
        LiveMatch.key_of(change.match_id),
        LiveMatch.home_goals.set(change.home),
        LiveMatch.away_goals.set(change.away),
        LiveMatch.score_at.set(change.at),
        condition=LiveMatch.score_at.not_exists_or_lt(change.at),
    )
    if outcome:
        return EventOutcome.APPLIED
    return EventOutcome.ALREADY_STORED if outcome.existing.score_at == change.at else EventOutcome.SUPERSEDED


standing = Standing(team="x", points=3, seq=9)
shop.of(Standing).try_put(standing, condition=Standing.seq.not_exists_or_lt(standing.seq))

# ---- counters
views: int = shop.of(PageViews).upsert(PageViews.key_of("/home"), PageViews.count.add(1)).count

outcome = shop.of(DailyTally).try_upsert(
    DailyTally.key_of("signups", datetime.now(UTC).date()),
    DailyTally.count.add(1),
    DailyTally.seen.add("request-1"),
    condition=~DailyTally.seen.contains("request-1"),
)
if not outcome:
    print("counted before")

# ---- hi/lo
BLOCK = 100
hi = shop.of(HiLoBlock).upsert(HiLoBlock.key_of("orders"), HiLoBlock.hi.add(BLOCK), in_doubt="resend").hi
first = hi - BLOCK + 1
number: int = db.run(sw.recipes.HiLo(shop, "orders").next())

# ---- outbox
with shop.transaction() as tx:
    tx.create(Payment(id="p1"))
    tx.put(OutboxEvent(at=datetime.now(UTC), event_id=uuid4(), payment_id="p1"))

outbox = shop.of(OutboxEvent)
for pending in outbox.query(OutboxEvent.partition_of(), consistent=True):
    print(f"Paid: {pending.payment_id}, event {pending.event_id}")
    outbox.delete(pending)

# ---- conditional-writes
orders = db.table("Orders", key=("customer_id", "order_id"), discriminator=None).of(Order)
O1 = Order.key_of("c5", "o1")
orders.create(Order(customer_id="c5", order_id="o1", stock=3))
if not orders.try_create(Order(customer_id="c5", order_id="o1", stock=0)):
    print("already exists")


def take(n: int, seen_version: int) -> Order:
    return orders.update(O1.if_version(seen_version), Order.stock.set(Order.stock - n), condition=Order.stock >= n)


take(2, 1)
try:
    take(1, 1)
except sw.VersionConflict:
    print("conflict, re-read and retry")
orders.update(O1.ignore_version(), Order.status.set("shipped"), condition=Order.status == "paid")

# ---- concurrent-appends
results = db.table("results", key=("ID",), discriminator=None).of(Results)
results.upsert(Results.key_of("ID123"), Results.results.append(Result(1, "fail"), Result(2, "pass")))

# ---- optimistic-concurrency
users = db.table("UserAccounts", key=("UserId",), discriminator=None).of(UserAccount)
users.update(UserAccount.key_of("user_123").if_version(5), UserAccount.balance.set(Decimal("150.00")))

# ---- exactly once: a transaction of one action (it returns no item, and the types say so)
with shop.transaction(token="count-home-000017") as tx:
    tx.upsert(PageViews.key_of("/home"), PageViews.count.add(1))


def which_failed(result: sw.Canceled, mail: sw.Marker[MailClaim], account: sw.Marker[Account]) -> str | None:
    """Markers of several types go into one loop."""
    for marker in (mail, account):
        refusal = result.refusal_of(marker)
        if refusal is not None:
            return refusal.reason.value
    return None


def marker_of_any_entity(marker: sw.Marker[Account]) -> sw.Marker[sw.VersionedEntity]:
    return marker


def stored(claim: MailClaim) -> MailClaim:
    with shop.transaction() as block:
        marker = block.create(claim)
    return block.result.item_for(marker)
