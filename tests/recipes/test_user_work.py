"""What a recipe records as done was done: a function that was never run, or whose operation was refused, is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.core.effects import Operation
from surewrite.recipes.append import Append
from surewrite.recipes.consumers import Consumer
from surewrite.recipes.effect_answers import EffectRunning
from surewrite.recipes.guards import Guards, Stopped
from surewrite.recipes.idempotency_leases import LeasedEffects
from surewrite.recipes.leases import Lease
from surewrite.recipes.outbox import Outbox
from surewrite.recipes.queue_batches import queue_batch
from surewrite.recipes.relays import Relay
from surewrite.recipes.user_work import WorkRefused, work_done
from surewrite.testing import World, prove


class Stock(VersionedEntity, discriminator="STOCK", partition_key="STOCK#{id}", sort_key="STOCK"):
    id: Attribute[str]
    left: Attribute[int] = sw.attribute(default=1)
    version: Attribute[int | None] = sw.version()


@pytest.fixture
def db() -> Iterator[Any]:
    with sw.connect("memory:") as db:
        yield db


@pytest.fixture
def shop(db: Any) -> Any:
    shop = db.table("shop")
    shop.create_table(Stock, *LeasedEffects.entities, *Outbox.entities, *Consumer.entities)
    return shop


async def waits(*_given: Any) -> None:
    raise AssertionError("the blocking client runs no coroutine")


def yields(*_given: Any) -> Iterator[None]:
    yield


def gives(result: Any) -> Callable[..., Any]:
    return lambda *_given: result


class Ticket:
    """Work that was begun somewhere, and is waited for by ``await``."""

    def __await__(self) -> Iterator[None]:
        yield


NEVER_RUN = pytest.mark.parametrize(
    "function",
    [waits, yields, gives([Operation(lambda: iter(()))]), gives(Ticket())],
    ids=["async", "with a yield", "several operations", "awaitable"],
)


@NEVER_RUN
def test_an_event_whose_publish_was_never_run_stays_in_the_outbox(db, shop, function) -> None:
    outbox = Outbox(shop, "o", buckets=1)
    with shop.transaction() as tx:
        outbox.emit(tx, {"left": 1}, change=tx.create(Stock(id="s")))
    progress = db.run(Relay(outbox, function, poison="block", attempts=1).run_once())
    assert (progress.published, len(progress.blocked)) == (0, 1)
    assert db.run(outbox.backlog()).events == 1


@NEVER_RUN
def test_an_event_whose_effect_was_never_run_is_not_consumed(db, shop, function) -> None:
    consumer = Consumer(shop, "c")
    with pytest.raises(sw.InvalidRequest):
        db.run(consumer.apply("k", 1, function))
    assert db.run(consumer.is_new("k", 1))


def test_an_effect_that_returns_an_operation_adds_nothing_and_is_not_consumed(db, shop) -> None:
    consumer = Consumer(shop, "c")
    with pytest.raises(sw.InvalidRequest, match="nobody runs"):
        db.run(consumer.apply("k", 1, lambda tx: Append(shop, Stock).add(Stock(id="s"))))
    assert db.run(consumer.is_new("k", 1))


@NEVER_RUN
def test_an_effect_elsewhere_that_was_never_run_is_not_done(db, shop, function) -> None:
    effects, ran = LeasedEffects(shop, "mail", after_lost="retake"), []
    with pytest.raises(sw.InvalidRequest):
        db.run(effects.run("k", function))
    assert not db.run(effects.run("k", lambda claim: ran.append(claim.attempt))).repeated
    assert ran == [2]


def test_an_operation_that_a_function_returns_is_run_and_its_answer_is_the_result(db, shop) -> None:
    appended = db.run(Operation(lambda: work_done(lambda: Append(shop, Stock).add(Stock(id="s")))))
    assert (appended.stored, shop.of(Stock).get(Stock.key_of("s")).left) == (True, 1)


def test_an_operation_that_is_refused_is_not_done(db, shop) -> None:
    shop.of(Stock).create(Stock(id="s"))
    take = Guards(shop, Stock).try_take(Stock.key_of("s"), Stock.left, 2)
    with pytest.raises(WorkRefused) as refused:
        db.run(Operation(lambda: work_done(lambda: take)))
    assert isinstance(refused.value.answer, Stopped)


@pytest.mark.parametrize("result", [None, 0, False, "", (), {}])
def test_an_operation_that_gives_a_value_is_done_whatever_its_truth(db, result) -> None:
    def steps() -> Any:
        yield from ()
        return result

    assert db.run(Operation(lambda: work_done(lambda: Operation(steps)))) == result


def test_under_refuse_an_operation_that_was_refused_leaves_its_key_free(db, shop) -> None:
    shop.of(Stock).create(Stock(id="s"))
    effects, guards = LeasedEffects(shop, "take", after_lost="refuse"), Guards(shop, Stock)
    for amount, done in ((2, False), (1, True)):
        try:
            db.run(effects.run("k", lambda _claim, amount=amount: guards.take(Stock.key_of("s"), Stock.left, amount)))
            assert done
        except sw.ConditionFailed:
            db.run(effects.allow_again("k"))
    with pytest.raises(WorkRefused):
        db.run(effects.run("other", lambda _claim: guards.try_take(Stock.key_of("s"), Stock.left, 2)))
    assert db.run(effects.run("other", lambda _claim: "ran")).answer == "ran"


def test_a_message_whose_effect_is_under_way_elsewhere_is_delivered_again(db, shop) -> None:
    effects, errors = LeasedEffects(shop, "mail", after_lost="retake"), []
    db.run(effects.claim("m1"))
    handler = queue_batch(db, on_error=lambda _record, error: errors.append(error))(lambda record: effects.run(record["messageId"], lambda _claim: None))
    assert handler({"Records": [{"messageId": "m1"}]}) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert [type(error.answer) for error in errors] == [EffectRunning]


def test_a_message_whose_id_holds_another_result_is_reported(db, shop) -> None:
    results = Append(shop, Stock)
    handler = queue_batch(db, on_error=lambda _record, _error: None)(lambda record: results.add(Stock(id="s", left=record["body"])))
    for left, failed in ((1, []), (1, []), (2, [{"itemIdentifier": "m"}])):
        assert handler({"Records": [{"messageId": "m", "body": left}]}) == {"batchItemFailures": failed}


def test_a_function_that_the_blocking_client_cannot_run_gives_the_lease_back(db, shop) -> None:
    lease = Lease(shop, "job")
    with pytest.raises(sw.InvalidRequest, match="async"):
        db.run(lease.run(waits))
    assert db.run(lease.acquire())


def test_a_simulated_blocking_client_runs_no_coroutine_either() -> None:
    def stocks(world: World) -> None:
        world.table(Stock)

        def worker(client: Any) -> None:
            with pytest.raises(sw.InvalidRequest, match="async"):
                client.db.run(Operation(lambda: work_done(waits)))

        world.blocking_client("worker", worker)

    assert prove(stocks, schedules=1, faults=frozenset()) == 1
