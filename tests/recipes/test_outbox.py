"""Events with their change or not at all, numbered by the version that the change gives its item; consumers that drop repeats."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS, TABLE, Note, World

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.consumers import Consumed, Consumer, LastConsumed
from surewrite.recipes.key_parts import bucket_of
from surewrite.recipes.outbox import Bucket, Outbox, OutboxRow
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, ServerError, Step, Where

COMMITS = Where(operations=("TransactWriteItems",))


class Payment(VersionedEntity, discriminator="PAYMENT", partition_key="PAYMENT#{id}", sort_key="STATE"):
    id: Attribute[str]
    state: Attribute[str] = sw.attribute(default="new")
    revision: Attribute[int | None] = sw.version()


class Member(VersionedEntity, discriminator="MEMBER", partition_key="MEMBER#{id}", sort_key="MEMBER"):
    id: Attribute[str]
    mail: Attribute[str] = sw.unique()
    revision: Attribute[int | None] = sw.version()


KEY = Payment.key_of("p1")


def run(world: World, operation: Any) -> Any:
    result = world.db.run(operation)
    return world.run(result) if world.kind == "asyncio" else result


def rows(world: World, outbox: Outbox) -> list[OutboxRow]:
    found: list[OutboxRow] = []
    for bucket in outbox.buckets:
        found += world.other.of(OutboxRow).query(OutboxRow.partition_of(outbox.name, bucket.epoch, bucket.number))
    return found


# -------------------------------------------------------------------------------------------------------- over places


@pytest.mark.needs("transactions honour tokens")
async def test_events_carry_the_versions_of_their_changes(db, shop) -> None:
    outbox = Outbox(shop, "payments", buckets=4)
    payments = shop.of(Payment)
    for state in ("new", "paid", "sent"):
        found = await payments.get_or_none(KEY)
        tx = shop.transaction()
        payment = Payment(id="p1") if found is None else found.replace(state=state)
        outbox.emit(tx, {"state": state, "amount": Decimal("1.50")}, change=tx.put(payment), key="p1")
        await tx.commit()
    partition = OutboxRow.partition_of("payments", 1, bucket_of("p1", 4))
    waiting = (await shop.of(OutboxRow).query_page(partition)).items
    assert [(row.id, row.previous, row.event["state"]) for row in waiting] == [("p1#1", 0, "new"), ("p1#2", 1, "paid"), ("p1#3", 2, "sent")]
    assert waiting[0].event["amount"] == Decimal("1.50")
    backlog = await db.run(outbox.backlog())
    assert (backlog.events, backlog.complete) == (3, True)
    assert backlog.lag_seconds is not None
    assert -5.0 < backlog.lag_seconds < 60.0


async def test_an_event_that_could_not_be_set_aside_is_refused(db, shop) -> None:
    tx = shop.transaction()
    change = tx.put(Payment(id="p1"))
    with pytest.raises(sw.InvalidRequest, match="store it elsewhere"):
        Outbox(shop, "payments").emit(tx, "é" * 200_000, change=change)
    assert (await db.run(Outbox(shop, "payments").backlog())).events == 0


@pytest.mark.needs("transactions honour tokens")
async def test_items_of_one_key_in_two_tables_have_orders_of_their_own(db, shop, make_table) -> None:
    archive, outbox = await make_table(Payment), Outbox(shop, "payments", buckets=1)
    tx = shop.transaction()
    here, there = tx.put(Payment(id="p1")), tx.on(archive).put(Payment(id="p1"))
    for change in (here, there):
        outbox.emit(tx, "new", change=change)
    await tx.commit()
    waiting = (await shop.of(OutboxRow).query_page(OutboxRow.partition_of("payments", 1, 0))).items
    assert sorted(row.key_parts for row in waiting) == sorted([("PAYMENT#p1", "STATE"), (archive.name, "PAYMENT#p1", "STATE")])


@pytest.mark.needs("transactions honour tokens")
async def test_a_consumer_applies_each_number_once_and_in_order(db, shop) -> None:
    consumer = Consumer(shop, "ledger")
    outcomes = [await db.run(consumer.apply("p1", number, lambda tx, n=number: tx.create(Note(id=f"n{n}")))) for number in (1, 2, 1, 2, 3, 2)]
    assert outcomes == [Consumed.APPLIED, Consumed.APPLIED, Consumed.DROPPED, Consumed.DROPPED, Consumed.APPLIED, Consumed.DROPPED]
    assert await db.run(consumer.is_new("p1", 4))
    assert not await db.run(consumer.is_new("p1", 3))
    assert await db.run(consumer.is_new("p2", 1))


# ------------------------------------------------------------------------------------------------------------ emitting


@pytest.mark.parametrize("verb", ["put", "create", "update", "update by key", "upsert by key", "delete"])
def test_the_number_is_the_version_that_the_action_gives(world: World, verb: str) -> None:
    outbox, table = Outbox(world.other, "o"), world.other
    payment = None if verb in ("create", "upsert by key") else table.of(Payment).update(table.of(Payment).create(Payment(id="p1")), Payment.state.set("x"))
    tx = table.transaction()
    match verb:
        case "put":
            change: Any = tx.put(payment.replace(state="paid"))
        case "create":
            change = tx.create(Payment(id="p1"))
        case "update":
            change = tx.update(payment, Payment.state.set("paid"))
        case "update by key":
            change = tx.update(KEY.if_version(2), Payment.state.set("paid"))
        case "upsert by key":
            change = tx.upsert(KEY.if_version(None), Payment.state.set("paid"))
        case _:
            change = tx.delete(payment)
    marker = outbox.emit(tx, verb, change=change)
    stored = tx.commit().item_for(marker)
    assert stored.number == (1 if payment is None else 3)
    found = table.of(Payment).get_or_none(KEY)
    assert verb == "delete" or found.revision == stored.number
    assert stored.key_parts == ("PAYMENT#p1", "STATE")


def test_a_change_that_claims_a_unique_value_has_its_event_and_a_refused_one_has_none(world: World) -> None:
    outbox, table = Outbox(world.other, "o"), world.other
    outcomes = []
    for name, mail in (("a", "x"), ("b", "x"), ("b", "y")):
        tx = table.transaction()
        outbox.emit(tx, mail, change=tx.create(Member(id=name, mail=mail)), key=name)
        outcomes.append(bool(tx.try_commit()))
    tx = table.transaction()
    outbox.emit(tx, "z", change=tx.put(table.of(Member).get(Member.key_of("a")).replace(mail="z")), key="a")
    assert (outcomes, bool(tx.try_commit())) == ([True, False, True], True)
    assert sorted((row.id, row.event) for row in rows(world, outbox)) == [("a#1", "x"), ("a#2", "z"), ("b#1", "y")]


def test_an_event_without_a_known_version_is_refused(world: World) -> None:
    outbox, tx = Outbox(world.other, "o"), world.other.transaction()
    changes = [tx.update(KEY.ignore_version(), Payment.state.set("paid")), tx.put(Note(id="n")), tx.check(Payment.key_of("p2"), Payment.state.exists())]
    for change in (*changes, world.other.transaction().put(Payment(id="p3"))):
        with pytest.raises(sw.InvalidRequest):
            outbox.emit(tx, "event", change=change)


@pytest.mark.parametrize(
    "fault", [LoseAnswer(), LoseRequest(), ServerError(applied=True), ApplyLate()], ids=["answer lost", "request lost", "error after", "late"]
)
def test_no_event_without_its_change_and_no_change_without_its_event(world: World, fault: Any) -> None:
    outbox = Outbox(world.db.table(TABLE), "o")
    world.follow(Step(fault, COMMITS, nth=1))
    for number in (1, 2):
        tx = world.db.table(TABLE).transaction()
        change = tx.create(Payment(id="p1")) if number == 1 else tx.update(KEY.if_version(number - 1), Payment.state.set("paid"))
        outbox.emit(tx, number, change=change)
        result = tx.try_commit()
        assert world.run(result) if world.kind == "asyncio" else result
        world.release()
    assert [row.number for row in rows(world, outbox)] == [1, 2]
    tx = world.other.transaction()
    outbox.emit(tx, "refused", change=tx.update(KEY.if_version(1), Payment.state.set("late")))
    assert not tx.try_commit()
    assert len(rows(world, outbox)) == 2


def test_an_event_tells_when_it_was_committed_by_the_services_clock(world: World) -> None:
    world.time.service_ahead = 3600.0
    world.other.of(Note).get_or_none(Note.key_of("any"))
    outbox, tx = Outbox(world.other, "o"), world.other.transaction()
    outbox.emit(tx, "event", change=tx.create(Payment(id="p1")))
    world.time.advance(10.0)
    tx.commit()
    (row,) = rows(world, outbox)
    assert row.emitted_at.timestamp() == pytest.approx(START_SECONDS + 3610.0, abs=2.0)


def test_an_event_of_a_named_transaction_has_no_time_so_that_its_bytes_repeat(world: World) -> None:
    outbox = Outbox(world.other, "o")
    for _ in range(2):
        tx = world.other.transaction(token="payment 1 is new")
        outbox.emit(tx, "event", change=tx.create(Payment(id="p1")))
        world.time.advance(10.0)
        assert tx.try_commit()
    (row,) = rows(world, outbox)
    assert row.emitted_at is None


def test_the_bucket_of_a_key_is_the_same_in_every_release() -> None:
    assert [bucket_of(key, 16) for key in ("p1", "p2", "tenant/7", "ü")] == [3, 12, 5, 4]


def test_epochs_spread_keys_anew_and_keep_the_places_of_the_old_ones(world: World) -> None:
    outbox = Outbox(world.other, "o", buckets={1: 2, 2: 3})
    assert outbox.buckets == (Bucket(1, 0), Bucket(1, 1), Bucket(2, 0), Bucket(2, 1), Bucket(2, 2))
    tx = world.other.transaction()
    outbox.emit(tx, "event", change=tx.create(Payment(id="p1")), key="k")
    tx.commit()
    (row,) = rows(world, outbox)
    assert (row.epoch, row.bucket) == (2, bucket_of("k", 3))


@pytest.mark.parametrize("buckets", [0, -1, {}, {1: 0}, {-1: 4}, 10_001])
def test_a_number_of_buckets_that_makes_no_sense_is_refused(world: World, buckets: Any) -> None:
    with pytest.raises(sw.InvalidRequest):
        Outbox(world.other, "o", buckets=buckets)


# ----------------------------------------------------------------------------------------------------------- consuming


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ServerError(applied=True)], ids=["answer lost", "request lost", "error after"])
@pytest.mark.parametrize("times", [1, None])
def test_a_consumer_applies_once_whatever_became_of_the_answers(world: World, fault: Any, times: int | None) -> None:
    consumer, asked = Consumer(world.db.table(TABLE), "ledger"), []

    def effect(tx: Any) -> None:
        asked.append(1)
        tx.upsert(Note.key_of("n"), Note.count.add(1))

    world.follow(Step(fault, COMMITS, times=times))
    try:
        run(world, consumer.apply("k", 1, effect))
    except sw.OutcomeUnknown:
        world.no_more_faults()
        run(world, consumer.apply("k", 1, effect))
    world.no_more_faults()
    assert run(world, consumer.apply("k", 1, effect)) is Consumed.DROPPED
    assert world.other.of(Note).get(Note.key_of("n"), consistent=True).count == 1


def test_a_late_delivery_that_was_held_up_is_dropped_with_its_effect(world: World) -> None:
    consumer, other = Consumer(world.db.table(TABLE), "ledger"), Consumer(world.other, "ledger")
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    run(world, consumer.apply("k", 1, lambda tx: tx.upsert(Note.key_of("n"), Note.count.add(1))))
    world.other_db.run(other.apply("k", 2, lambda tx: tx.upsert(Note.key_of("n"), Note.count.add(1))))
    world.release()
    assert world.other.of(Note).get(Note.key_of("n"), consistent=True).count == 2


def test_a_delivery_in_doubt_that_a_newer_one_has_passed_is_not_told_applied(world: World) -> None:
    consumer, other = Consumer(world.db.table(TABLE), "ledger"), Consumer(world.other, "ledger")
    world.follow(
        Step(LoseRequest(), COMMITS, nth=1),
        Step(Deliver(), COMMITS, nth=2, before=("newer",)),
        Step(LoseRequest(), COMMITS, nth=3, times=None),
        newer=lambda: world.other_db.run(other.apply("k", 3, lambda tx: None)),
    )
    assert run(world, consumer.apply("k", 1, lambda tx: tx.create(Note(id="n1")))) is Consumed.DROPPED
    assert world.other.of(Note).get_or_none(Note.key_of("n1")) is None


def test_an_effect_that_refuses_a_delivery_leaves_its_number_untaken(world: World) -> None:
    consumer = Consumer(world.db.table(TABLE), "ledger")
    with pytest.raises(sw.TransactionCanceled):
        run(world, consumer.apply("k", 1, lambda tx: tx.update(Note.key_of("missing"), Note.count.add(1))))
    assert run(world, consumer.is_new("k", 1))


def test_a_number_is_advanced_and_never_goes_back(world: World) -> None:
    consumer = Consumer(world.db.table(TABLE), "ledger")
    assert [run(world, consumer.advance("k", number)) for number in (2, 1, 2, 3)] == [True, False, False, True]
    assert world.other.of(LastConsumed).get(LastConsumed.key_of("ledger", "k")).number == 3
