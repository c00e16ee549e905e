"""The document on safe writes: each of its patterns as its reader would write it, and its caveats where a test can show them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from tests.typing.accepted.entities import (
    Account,
    Charge,
    DailyTally,
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
    ScoreChanged,
    Standing,
)

import surewrite as sw
from surewrite import ConflictKind

pytestmark = pytest.mark.real_time  # a conflict is answered by a pause and another run

ALICE = Account.key_of("alice")
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


# ---------------------------------------------------------------------------------------------------- optimistic locking


@pytest.fixture
def deposit(db, shop):
    """The document's read-modify-write, run again on a conflict."""
    accounts = shop.of(Account)

    @db.retry_on_conflict(attempts=50)
    async def deposit(amount: int) -> Account:
        account = await accounts.get(ALICE)
        return await accounts.put(account.replace(balance=account.balance + amount))

    return deposit


async def test_deposits_side_by_side_are_all_kept(shop, deposit, together) -> None:
    await shop.of(Account).create(Account(id="alice"))
    results = await together(*(lambda amount=amount: deposit(amount) for amount in (1, 10, 100, 1_000)))
    assert [type(result) for result in results] == [Account] * 4
    alice = await shop.of(Account).get(ALICE)
    assert (alice.balance, alice.revision) == (1_111, 5)


async def test_two_writers_of_one_read_do_not_both_succeed(shop) -> None:
    accounts = shop.of(Account)
    await accounts.create(Account(id="alice"))
    first, second = await accounts.get(ALICE), await accounts.get(ALICE)
    await accounts.put(first.replace(balance=Decimal(10)))
    with pytest.raises(sw.VersionConflict):
        await accounts.put(second.replace(balance=Decimal(20)))
    assert (await accounts.get(ALICE)).balance == 10


async def test_every_form_of_a_versioned_change(shop, deposit) -> None:
    accounts = shop.of(Account)
    await accounts.create(Account(id="alice"))
    await deposit(10)
    await accounts.modify(ALICE, lambda found: found.replace(balance=found.balance + 10))
    alice = await accounts.get(ALICE)
    alice = await accounts.update(alice, Account.balance.add(10))
    await accounts.update(ALICE.if_version(alice.revision), Account.balance.add(10))
    alice = await accounts.update(ALICE.ignore_version(), Account.balance.add(10))
    assert (alice.balance, alice.revision) == (50, 6)
    with pytest.raises(sw.VersionConflict):
        await accounts.delete(ALICE.if_version(5))
    await accounts.delete(ALICE.if_version(6))


# ------------------------------------------------------------------------------------------------ uniqueness constraints


@pytest.fixture
def register(db, shop):
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

    return register


@pytest.mark.needs("transactions honour tokens")
async def test_a_registration_tells_which_value_was_taken(register) -> None:
    assert await register(Registrant(id="bob", email="bob@example.ch", handle="bobby")) is Registration.DONE
    assert await register(Registrant(id="eve", email="bob@example.ch", handle="eve")) is Registration.EMAIL_TAKEN
    assert await register(Registrant(id="eve", email="eve@example.ch", handle="bobby")) is Registration.HANDLE_TAKEN
    assert await register(Registrant(id="eve", email="eve@example.ch", handle="eve")) is Registration.DONE


@pytest.mark.needs("transactions honour tokens")
async def test_a_refused_registration_leaves_no_claim_behind(register, shop) -> None:
    await register(Registrant(id="bob", email="bob@example.ch", handle="bobby"))
    await register(Registrant(id="eve", email="eve@example.ch", handle="bobby"))
    assert await shop.of(MailClaim).get_or_none(MailClaim.key_of("eve@example.ch")) is None
    assert await shop.of(Registrant).get_or_none(Registrant.key_of("eve")) is None


@pytest.mark.needs("transactions honour tokens")
async def test_a_record_that_exists_surfaces_at_once(register) -> None:
    await register(Registrant(id="bob", email="bob@example.ch", handle="bobby"))
    with pytest.raises(sw.TransactionCanceled) as canceled:
        await register(Registrant(id="bob", email="new@example.ch", handle="new"))
    assert [refusal.reason for refusal in canceled.value.refusals()] == [sw.RefusalReason.ALREADY_EXISTS]


@pytest.mark.needs("transactions honour tokens")
async def test_of_registrations_of_one_address_side_by_side_one_gets_it(register, together) -> None:
    assert await register(Registrant(id="z", email="z@example.ch", handle="z")) is Registration.DONE
    results = await together(*(lambda name=name: register(Registrant(id=name, email="one@example.ch", handle=name)) for name in ("a", "b", "c", "d")))
    assert sorted(result.name for result in results) == ["DONE", "EMAIL_TAKEN", "EMAIL_TAKEN", "EMAIL_TAKEN"]


@pytest.mark.needs("transactions honour tokens")
async def test_a_changed_value_releases_the_old_claim_if_it_is_the_user_s(register, shop) -> None:
    async def change(old: str, new: str) -> None:
        async with shop.transaction() as tx:
            tx.delete(MailClaim.key_of(old), condition=MailClaim.owner == "alice")
            tx.create(MailClaim(address=new, owner="alice"))
            tx.update(Registrant.key_of("alice"), Registrant.email.set(new))

    await register(Registrant(id="alice", email="alice@example.ch", handle="alice"))
    await change("alice@example.ch", "alice@example.org")
    assert (await shop.of(Registrant).get(Registrant.key_of("alice"))).email == "alice@example.org"
    await register(Registrant(id="bob", email="alice@example.ch", handle="bob"))
    with pytest.raises(sw.TransactionCanceled):
        await change("alice@example.ch", "alice@example.com")


# ------------------------------------------------------------------------------------------------------ idempotency keys


@pytest.fixture
def charge(db, shop):
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

    return charge


@pytest.mark.needs("transactions honour tokens")
async def test_the_second_call_does_nothing_and_answers_like_the_first(charge, shop) -> None:
    now = datetime.now(UTC)
    assert await charge("request-1", "charge-1", now) == "charge-1"
    assert await charge("request-1", "charge-2", now) == "charge-1"
    assert await shop.of(Charge).get_or_none(Charge.key_of("charge-2")) is None


@pytest.mark.needs("transactions honour tokens")
async def test_calls_of_one_key_side_by_side_answer_the_same(charge, shop, together) -> None:
    now = datetime.now(UTC)
    assert await charge("request-0", "charge-0", now) == "charge-0"
    answers = await together(*(lambda name=name: charge("request-1", name, now) for name in ("a", "b", "c")))
    assert len(set(answers)) == 1
    made = [name for name in ("a", "b", "c") if await shop.of(Charge).get_or_none(Charge.key_of(name))]
    assert made == [answers[0]]


@pytest.mark.needs("transactions honour tokens")
async def test_after_the_horizon_a_call_counts_as_new_even_if_the_record_is_still_stored(charge) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=25)
    assert await charge("request-1", "charge-1", long_ago) == "charge-1"
    assert await charge("request-1", "charge-2", datetime.now(UTC)) == "charge-2"


# ------------------------------------------------------------------------------------------ events that arrive out of order


@pytest.fixture
def apply(shop):
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

    return apply


async def test_late_and_repeated_events_never_move_the_item_back(apply, shop) -> None:
    events = [ScoreChanged("m1", home, 0, NOON + timedelta(minutes=home)) for home in range(4)]
    outcomes = [await apply(events[number]) for number in (1, 0, 1, 3, 2, 3)]
    assert [outcome.name for outcome in outcomes] == ["APPLIED", "SUPERSEDED", "ALREADY_STORED", "APPLIED", "SUPERSEDED", "ALREADY_STORED"]
    match = await shop.of(LiveMatch).get(LiveMatch.key_of("m1"))
    assert (match.home_goals, match.score_at) == (3, events[3].at)


async def test_each_group_of_fields_has_its_own_order(apply, shop) -> None:
    matches, key = shop.of(LiveMatch), LiveMatch.key_of("m1")

    async def tell(status: str, at: datetime) -> bool:
        change = (LiveMatch.status.set(status), LiveMatch.status_at.set(at))
        return bool(await matches.try_upsert(key, *change, condition=LiveMatch.status_at.not_exists_or_lt(at)))

    assert await tell("over", NOON + timedelta(hours=2))
    assert await apply(ScoreChanged("m1", 1, 0, NOON)) is EventOutcome.APPLIED
    assert not await tell("running", NOON)
    match = await matches.get(key)
    assert (match.status, match.home_goals) == ("over", 1)


async def test_whole_states_are_put_by_one_order(shop) -> None:
    standings = shop.of(Standing)
    for seq, passes in ((9, True), (8, False), (9, False), (10, True)):
        standing = Standing(team="x", points=seq, seq=seq)
        assert bool(await standings.try_put(standing, condition=Standing.seq.not_exists_or_lt(standing.seq))) is passes


@pytest.mark.parametrize("fate", ["answer lost", "request lost"])
async def test_an_event_whose_answer_is_lost_is_applied(lossy, shop_name, fate) -> None:
    db, faults = lossy()
    standings = db.table(shop_name).of(Standing)
    faults.next_writes(fate)
    outcome = await standings.try_put(Standing(team="x", points=3, seq=9), condition=Standing.seq.not_exists_or_lt(9))
    assert outcome.item == await standings.get(Standing.key_of("x"))
    # Where the write also makes the item, a delete in between would have let the resend make it twice.
    assert outcome.once is False
    faults.next_writes(fate)
    outcome = await standings.try_put(Standing(team="x", points=6, seq=10), condition=Standing.seq < 10)
    assert outcome.once is True
    assert outcome.item == await standings.get(Standing.key_of("x"))


# -------------------------------------------------------------------------------------------------------------- counters


async def test_each_add_gets_the_value_after_its_own(shop, together) -> None:
    views, key = shop.of(PageViews), PageViews.key_of("/home")
    results = await together(*(lambda: views.upsert(key, PageViews.count.add(1)) for _ in range(8)))
    assert sorted(result.count for result in results) == list(range(1, 9))


async def test_a_counter_that_remembers_what_it_counted_counts_each_once(shop) -> None:
    async def count(request: str) -> bool:
        key = DailyTally.key_of("signups", date(2026, 11, 29))
        changes = (DailyTally.count.add(1), DailyTally.seen.add(request))
        return bool(await shop.of(DailyTally).try_upsert(key, *changes, condition=~DailyTally.seen.contains(request)))

    assert [await count(request) for request in ("r1", "r2", "r1", "r3", "r2")] == [True, True, False, True, False]
    tally = await shop.of(DailyTally).get(DailyTally.key_of("signups", date(2026, 11, 29)))
    assert (tally.count, tally.seen) == (3, {"r1", "r2", "r3"})


async def test_the_window_is_the_day_of_the_key(shop) -> None:
    for day in (date(2026, 11, 29), date(2026, 11, 30)):
        key = DailyTally.key_of("signups", day)
        changes = (DailyTally.count.add(1), DailyTally.seen.add("r1"))
        assert await shop.of(DailyTally).try_upsert(key, *changes, condition=~DailyTally.seen.contains("r1"))


# ------------------------------------------------------------------------------------------------------------------ hi/lo


async def claim_block(shop, size: int) -> range:
    hi = (await shop.of(HiLoBlock).upsert(HiLoBlock.key_of("orders"), HiLoBlock.hi.add(size), in_doubt="resend")).hi
    return range(hi - size + 1, hi + 1)


async def test_blocks_do_not_overlap(shop, together) -> None:
    blocks = await together(*(lambda: claim_block(shop, 100) for _ in range(6)))
    assert sorted(number for block in blocks for number in block) == list(range(1, 601))


async def test_a_lost_answer_wastes_a_block_and_hands_none_out_twice(lossy, shop_name, shop) -> None:
    db, faults = lossy()
    faults.next_writes("answer lost")
    blocks = [await claim_block(db.table(shop_name), 10), await claim_block(shop, 10)]
    assert blocks == [range(11, 21), range(21, 31)]


# ----------------------------------------------------------------------------------------------------------------- outbox


@pytest.mark.needs("transactions honour tokens")
async def test_a_change_and_its_event_are_written_together_or_not_at_all(shop) -> None:
    async def pay(event: UUID) -> None:
        async with shop.transaction() as tx:
            tx.create(Payment(id="p1"))
            tx.put(OutboxEvent(at=NOON, event_id=event, payment_id="p1"))

    first, second = UUID(int=1), UUID(int=2)
    await pay(first)
    with pytest.raises(sw.TransactionCanceled):
        await pay(second)
    outbox = shop.of(OutboxEvent)
    pending = await outbox.get(OutboxEvent.key_of(at=NOON, event_id=first))
    assert pending.payment_id == "p1"
    assert await outbox.get_or_none(OutboxEvent.key_of(at=NOON, event_id=second)) is None
    assert await outbox.delete(pending) == pending


@pytest.mark.needs("transactions honour tokens")
async def test_the_relay_reads_in_time_order_publishes_and_deletes(shop) -> None:
    outbox = shop.of(OutboxEvent)
    for minutes in (2, 0, 1):
        async with shop.transaction() as tx:
            tx.create(Payment(id=f"p{minutes}"))
            tx.put(OutboxEvent(at=NOON + timedelta(minutes=minutes), event_id=UUID(int=minutes), payment_id=f"p{minutes}"))

    published: list[str] = []
    async for pending in outbox.query(OutboxEvent.partition_of(), consistent=True):
        published.append(pending.payment_id)
        await outbox.delete(pending)
    assert published == ["p0", "p1", "p2"]
    assert [pending async for pending in outbox.query(OutboxEvent.partition_of(), consistent=True)] == []


# ----------------------------------------------------------------------------------------------------------- exactly once


@pytest.mark.needs("transactions honour tokens")
async def test_an_add_in_a_named_transaction_counts_once_however_often_it_is_sent(shop) -> None:
    name = f"count-home-{uuid4()}"
    for _ in range(3):
        async with shop.transaction(token=name) as tx:
            tx.upsert(PageViews.key_of("/home"), PageViews.count.add(1))
    assert (await shop.of(PageViews).get(PageViews.key_of("/home"))).count == 1
