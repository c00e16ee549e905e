"""Record and effect in one transaction: the effect at most once per key and horizon, and one answer for all calls of a key."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.schedules.world import TABLE, World

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.recipes.idempotency import EffectRefused, Idempotency
from surewrite.recipes.idempotency_records import AnswerNotKept, EffectDone, IdempotencyKeyReused, IdempotencyRecord
from surewrite.testing.faults import ApplyLate, Conflict, Deliver, LoseAnswer, LoseRequest, ServerError, Step, Where

COMMITS = Where(operations=("TransactWriteItems",), mentions="IDEMPOTENCY#charge#r1")
KEY = IdempotencyRecord.key_of("charge", "r1")


class Purse(Entity, discriminator="PURSE", partition_key="PURSE#{id}", sort_key="PURSE"):
    id: Attribute[str]
    coins: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


PURSE = Purse.key_of("p")


class Charging:
    """An effect that takes coins, counts how often it was asked for, and answers with a number of its own each time."""

    def __init__(self, amount: int = 3) -> None:
        self.amount = amount
        self.asked = 0
        self.marker: Any = None

    def __call__(self, tx: Any) -> dict[str, Any]:
        self.asked += 1
        self.marker = tx.update(PURSE, Purse.coins.add(-self.amount), condition=Purse.coins >= self.amount)
        return {"charge": self.asked, "amount": Decimal(self.amount)}


def run(world: World, operation: Any) -> Any:
    result = world.db.run(operation)
    return world.run(result) if world.kind == "asyncio" else result


def charging(world: World, **settings: Any) -> Idempotency[Any]:
    world.other.of(Purse).put(Purse(id="p", coins=10))
    return Idempotency(world.db.table(TABLE), "charge", **settings)


def coins(world: World) -> int:
    return int(world.other.of(Purse).get(PURSE, consistent=True).coins)


# ------------------------------------------------------------------------------------------------- over every place


@pytest.mark.needs("transactions honour tokens")
async def test_a_second_call_does_nothing_and_answers_like_the_first(db, shop) -> None:
    await shop.of(Purse).create(Purse(id="p", coins=10))
    keys, charge = Idempotency(shop, "charge"), Charging()
    first = await db.run(keys.once("r1", charge))
    second = await db.run(keys.once("r1", charge))
    assert (first.answer, first.repeated) == ({"charge": 1, "amount": Decimal(3)}, False)
    assert (second.answer, second.repeated) == (first.answer, True)
    assert (await shop.of(Purse).get(PURSE, consistent=True)).coins == 7
    assert (await db.run(keys.once("r2", charge))).answer["charge"] == 2


@pytest.mark.needs("transactions honour tokens")
async def test_calls_side_by_side_do_the_effect_once_and_share_its_answer(db, shop, together) -> None:
    await shop.of(Purse).create(Purse(id="p", coins=10))
    keys, charge = Idempotency(shop, "charge"), Charging()
    found = await together(*[lambda: db.run(keys.once("r1", charge))] * 4)
    for error in found:
        if isinstance(error, Exception):
            raise error
    assert len({str(done.answer) for done in found}) == 1
    assert sorted(done.repeated for done in found) == [False, True, True, True]
    assert (await shop.of(Purse).get(PURSE, consistent=True)).coins == 7


@pytest.mark.needs("transactions honour tokens")
async def test_another_payload_under_the_key_is_refused_with_an_error_of_its_own(db, shop) -> None:
    await shop.of(Purse).create(Purse(id="p", coins=10))
    keys, charge = Idempotency(shop, "charge"), Charging()
    await db.run(keys.once("r1", charge, payload={"amount": 3}))
    assert (await db.run(keys.once("r1", charge, payload={"amount": Decimal("3.0")}))).repeated
    for other in ({"amount": 4}, None):
        with pytest.raises(IdempotencyKeyReused):
            await db.run(keys.once("r1", charge, payload=other))
    with pytest.raises(IdempotencyKeyReused):
        await db.run(keys.once("r1", charge))


# --------------------------------------------------------------------------------------------------------- schedules


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), ServerError(applied=True), ServerError(applied=False)], ids=lambda fault: str(fault)[:22])
@pytest.mark.parametrize("times", [1, None], ids=["once", "until the deadline"])
def test_the_effect_takes_place_once_whatever_became_of_the_answers(world: World, fault: Any, times: int | None) -> None:
    keys, charge = charging(world, wait_seconds=0.0), Charging()
    world.follow(Step(fault, COMMITS, times=times))
    try:
        done = run(world, keys.once("r1", charge))
    except (sw.OutcomeUnknown, sw.TransactionConflict, sw.ConnectionFailed):
        done = None
    world.no_more_faults()
    again = run(world, keys.once("r1", charge))
    assert again.repeated is (done is not None or (coins(world) == 7 and charge.asked == 1))
    assert done is None or done.answer == again.answer
    assert coins(world) == 7


def test_an_owner_that_finds_its_own_record_goes_on_with_the_stored_answer(world: World) -> None:
    """C2, owner id per call: the commit and all fences stay without an answer; the record says whose effect it was."""
    keys, charge = charging(world, wait_seconds=60.0), Charging()
    world.follow(Step(LoseAnswer(), COMMITS, times=None), Step(LoseRequest(), Where(operations=("TransactWriteItems",)), times=None))
    done = run(world, keys.once("r1", charge))
    assert (done.answer["charge"], done.repeated) == (1, False)
    assert coins(world) == 7


def test_a_late_first_attempt_is_refused_by_the_record(world: World) -> None:
    keys, charge = charging(world), Charging()
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    run(world, keys.once("r1", charge))
    world.release()
    assert coins(world) == 7


def test_a_late_attempt_after_the_horizon_is_refused_by_its_own_time_while_a_newer_record_is_stored(make_world: Any) -> None:
    """C2: the record has expired and the key was used anew; the copy of the first call holds the time at which it was made."""
    world = make_world()
    keys, charge = charging(world, horizon_seconds=600.0), Charging()
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    run(world, keys.once("r1", charge))
    world.time.advance(601.0)
    assert not run(world, keys.once("r1", charge)).repeated
    assert coins(world) == 4
    world.release()
    assert coins(world) == 4


def test_an_expired_record_that_is_not_deleted_yet_counts_as_none(world: World) -> None:
    keys, charge = charging(world, horizon_seconds=600.0), Charging()
    run(world, keys.once("r1", charge))
    world.time.advance(599.0)
    assert run(world, keys.once("r1", charge)).repeated
    world.time.advance(2.0)
    assert not run(world, keys.once("r1", charge)).repeated
    assert coins(world) == 4


def test_the_record_outranks_the_refusal_of_an_effect_that_is_there_already(world: World) -> None:
    """R17: P commits between Q's read and Q's commit; Q's stock is gone because P took it, and Q answers like P."""
    keys, charge, first = charging(world), Charging(amount=10), Charging(amount=10)
    other = Idempotency(world.other, "charge")
    world.follow(Step(Deliver(), COMMITS, before=("P commits",)), **{"P commits": lambda: world.other_db.run(other.once("r1", first))})
    done = run(world, keys.once("r1", charge))
    assert (done.answer, done.repeated) == ({"charge": 1, "amount": Decimal(10)}, True)
    assert coins(world) == 0


def committing(world: World) -> Any:
    """The call P of the same key between the commits of its two rows: its effect is there, its record is still locked."""
    record = IdempotencyRecord(operation="charge", key="r1", owner="P", state="done", answer='"of P"', ends=datetime(2999, 1, 1, tzinfo=UTC))
    item = world.other.scope_of(IdempotencyRecord).schema.to_item(record)
    held = world.service.hold_transaction({"TransactItems": [{"Put": {"TableName": TABLE, "Item": item}}]})
    world.other.of(Purse).put(Purse(id="p", coins=0))
    return held


def test_a_conflict_on_the_record_is_asked_again_before_the_effects_refusal_counts(world: World) -> None:
    """R17: [record: TransactionConflict, effect: ConditionalCheckFailed] means that the call of this key is committing."""
    keys = charging(world)
    held = committing(world)
    waits = iter([held.commit])

    def commit_at_the_first_wait() -> None:
        for commit in waits:
            commit()

    world.time.on_wait = commit_at_the_first_wait
    done = run(world, keys.once("r1", Charging()))
    assert (done.answer, done.repeated) == ("of P", True)


def test_ranked_below_the_effects_refusal_the_same_conflict_would_tell_that_it_was_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug of R17: what the test above would see without the rank of the record."""
    monkeypatch.setattr(TransactionDraft, "outrank", lambda _draft, _marker: None)
    keys = charging(world)
    held = committing(world)
    assert isinstance(run(world, keys.once("r1", Charging())), EffectRefused)
    held.commit()


def test_a_call_that_stays_under_way_is_waited_for_within_a_bound(world: World) -> None:
    keys, charge = charging(world, wait_seconds=30.0), Charging()
    world.follow(Step(Conflict(), COMMITS, times=None))
    before = world.time.monotonic
    with pytest.raises(sw.TransactionConflict):
        run(world, keys.once("r1", charge))
    assert 20.0 <= world.time.monotonic - before <= 45.0
    assert coins(world) == 10


def test_an_interrupted_call_is_finished_by_the_next_one(world: World) -> None:
    keys, charge = charging(world), Charging()
    world.follow(Step(Deliver(), COMMITS, after=("stop",)), stop=world.interrupt)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - Control-C or a cancellation
        run(world, keys.once("r1", charge))
    world.no_more_faults()
    again = run(world, keys.once("r1", charge))
    assert (again.answer["charge"], again.repeated) == (1, True)
    assert coins(world) == 7


# ------------------------------------------------------------------------------------------------ refusals and errors


def test_a_refused_effect_is_judged_again_by_the_next_call(world: World) -> None:
    keys, charge = charging(world), Charging(amount=11)
    first = run(world, keys.once("r1", charge))
    assert isinstance(first, EffectRefused)
    assert isinstance(first.error(), sw.TransactionCanceled)
    assert first.refused.refusal_of(charge.marker).existing.coins == 10
    world.other.of(Purse).put(Purse(id="p", coins=20))
    assert run(world, keys.once("r1", charge))
    assert coins(world) == 9


def test_a_recorded_refusal_is_the_answer_of_the_key(world: World) -> None:
    keys, charge = charging(world), Charging(amount=11)
    first = run(world, keys.once("r1", charge, answer_refusal=lambda _canceled: "no coins"))
    world.other.of(Purse).put(Purse(id="p", coins=20))
    second = run(world, keys.once("r1", charge, answer_refusal=lambda _canceled: "other words"))
    assert (first.answer, first.refused, first.repeated) == ("no coins", True, False)
    assert (second.answer, second.refused, second.repeated) == ("no coins", True, True)
    assert coins(world) == 20


def test_a_recorded_refusal_refuses_late_copies_of_the_effect(world: World) -> None:
    keys, charge = charging(world), Charging(amount=11)
    world.follow(Step(ApplyLate(), COMMITS, nth=1))
    run(world, keys.once("r1", charge, answer_refusal=lambda _canceled: "no coins"))
    world.other.of(Purse).put(Purse(id="p", coins=20))
    world.release()
    assert coins(world) == 20


def test_an_effect_that_raises_because_the_first_call_did_it_answers_like_the_first(world: World) -> None:
    keys, charge = charging(world), Charging()
    other = Idempotency(world.other, "charge")

    def raises(_tx: Any) -> None:
        world.other_db.run(other.once("r1", charge))
        raise ValueError("it is paid")

    assert run(world, keys.once("r1", raises)).answer["charge"] == 1


def test_an_effect_that_raises_writes_nothing(world: World) -> None:
    keys = charging(world)

    def raises(tx: Any) -> None:
        Charging()(tx)
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        run(world, keys.once("r1", raises))
    assert (coins(world), world.item(KEY)) == (10, None)


def test_an_asynchronous_effect_is_awaited_by_the_asynchronous_client() -> None:
    world = World("asyncio")

    async def effect(tx: Any) -> dict[str, Any]:
        return Charging()(tx)

    keys = charging(world)
    assert run(world, keys.once("r1", effect)).answer["charge"] == 1
    world.close()


@pytest.mark.parametrize("key", [None, "", ("a", None), ("a", ""), ()])
def test_an_empty_key_is_refused_before_anything_is_sent(world: World, key: Any) -> None:
    keys = charging(world)
    world.follow()
    with pytest.raises(sw.InvalidRequest):
        run(world, keys.once(key, Charging()))
    assert world.watched.sent == []


def test_an_answer_that_cannot_be_kept_is_refused_before_the_commit(world: World) -> None:
    keys = charging(world)

    def effect(tx: Any) -> object:
        Charging()(tx)
        return object()

    with pytest.raises(sw.InvalidRequest, match="cannot be kept"):
        run(world, keys.once("r1", effect))
    assert coins(world) == 10


def test_a_horizon_below_twice_the_life_of_a_request_is_refused(world: World) -> None:
    with pytest.raises(sw.InvalidRequest, match="600"):
        charging(world, horizon_seconds=599.0)


def test_a_table_without_a_sort_key_is_refused(world: World) -> None:
    with pytest.raises(sw.InvalidRequest, match="key"):
        Idempotency(world.db.table("other", key=("id",)), "charge")


# ------------------------------------------------------------------------------------------------------ large answers


@pytest.mark.parametrize("character", ["x", "ü", "𝄞"], ids=["one byte", "two bytes", "four bytes"])
def test_a_large_answer_is_kept_in_parts_of_the_same_commit(world: World, character: str) -> None:
    keys, text = charging(world, large_answers="parts"), character * 210_000
    first = run(world, keys.once("r1", lambda tx: Charging()(tx) and text))
    second = run(world, keys.once("r1", Charging()))
    assert first.answer == second.answer == text
    assert (first.kept, second.repeated) == (True, True)


def test_an_answer_in_parts_is_measured_as_it_is_stored(world: World) -> None:
    """A letter of three bytes takes six characters in JSON that is escaped, and nobody sends it so."""
    keys = charging(world, large_answers="parts")
    assert run(world, keys.once("r1", lambda tx: Charging()(tx) and "漢" * 900_000)).kept
    assert run(world, keys.once("r1", Charging())).answer == "漢" * 900_000


@pytest.mark.parametrize(("large", "length"), [("stub", 250_000), ("parts", 4_000_000)])
def test_an_answer_that_does_not_fit_leaves_a_stub_and_done_stays_done(world: World, large: Any, length: int) -> None:
    keys = charging(world, large_answers=large)
    first = run(world, keys.once("r1", lambda tx: Charging()(tx) and "x" * length))
    assert (len(first.answer), first.kept) == (length, False)
    second = run(world, keys.once("r1", Charging()))
    assert (second.repeated, second.kept) == (True, False)
    with pytest.raises(AnswerNotKept):
        _ = second.answer
    assert coins(world) == 7


# --------------------------------------------------------------------------------------------------------- decorators


def test_a_decorated_function_runs_once_per_key(world: World) -> None:
    keys = charging(world)
    asked: list[str] = []

    @keys.decorate(world.db, key=lambda order: order["id"], payload=lambda order: order["amount"])
    def charge(tx: Any, order: dict[str, Any]) -> str:
        """Charge an order."""
        asked.append(order["id"])
        tx.update(PURSE, Purse.coins.add(-order["amount"]), condition=Purse.coins >= order["amount"])
        return f"charged {len(asked)}"

    def call(order: dict[str, Any]) -> Any:
        result = charge(order)
        return world.run(result) if world.kind == "asyncio" else result

    assert [call({"id": "o1", "amount": 3}), call({"id": "o1", "amount": 3}), call({"id": "o2", "amount": 3})] == ["charged 1", "charged 1", "charged 2"]
    assert coins(world) == 4
    with pytest.raises(IdempotencyKeyReused):
        call({"id": "o1", "amount": 4})
    with pytest.raises(sw.TransactionCanceled):
        call({"id": "o3", "amount": 40})
    assert (charge.__name__, charge.__doc__) == ("charge", "Charge an order.")


def test_the_cancellation_of_no_known_cause_is_judged_again(world: World) -> None:
    """A fence proved that the first attempt did not take effect, and no answer says which condition failed."""
    keys, charge = charging(world), Charging()
    world.follow(
        Step(LoseRequest(), COMMITS, times=2),
        Step(Deliver(), Where(operations=("TransactWriteItems",))),
    )
    assert isinstance(run(world, keys.once("r1", charge)), EffectDone)
    assert coins(world) == 7


def test_rejection_of_the_service_is_told_as_it_is(world: World) -> None:
    keys = charging(world)
    world.service.execute("DeleteTable", {"TableName": TABLE})
    with pytest.raises(sw.InvalidRequest) as raised:
        run(world, keys.once("r1", Charging()))
    assert raised.value.code == "ResourceNotFoundException"


def test_an_effect_that_commits_its_transaction_itself_writes_nothing() -> None:
    db = sw.connect("memory:")
    shop = db.table("shop")
    shop.create_table(Purse)

    def commits(tx: Any) -> None:
        tx.create(Purse(id="p", coins=1))
        tx.commit()

    def leaves_a_block(tx: Any) -> None:
        with tx:
            tx.create(Purse(id="p", coins=1))

    for effect in (commits, leaves_a_block):
        for operation in (Idempotency(shop, "charge").once("r1", effect), sw.recipes.Consumer(shop, "ledger").apply("p", 1, effect)):
            with pytest.raises(sw.InvalidRequest, match="leave the commit out"):
                db.run(operation)
            assert shop.of(Purse).get_or_none(PURSE) is None
