"""A relay publishes every event, and the first deliveries of a key in the order of its numbers, whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS, TABLE, Account, World

import surewrite as sw
from surewrite.recipes.key_parts import bucket_of
from surewrite.recipes.leases import LeaseRecord
from surewrite.recipes.outbox import Outbox, OutboxRow
from surewrite.recipes.relays import Delivery, Relay, RelayProgress
from surewrite.testing.faults import Deliver, LoseAnswer, LoseRequest, Step, Where

QUERIES = Where(operations=("Query",))
DELETES = Where(operations=("DeleteItem",))


class Broker:
    """Keeps what it was given, and refuses the ids that it is told to."""

    def __init__(self, *poison: str) -> None:
        self.got: list[str] = []
        self.deliveries: list[Delivery] = []
        self.poison = set(poison)
        self.on_publish: Callable[[Delivery], object] = lambda _delivery: None

    def __call__(self, delivery: Delivery) -> None:
        self.on_publish(delivery)
        if delivery.id in self.poison:
            raise ValueError(f"refused {delivery.id}")
        self.got.append(delivery.id)
        self.deliveries.append(delivery)


def run(world: World, operation: Any) -> Any:
    result = world.db.run(operation)
    return world.run(result) if world.kind == "asyncio" else result


def emitted(world: World, *numbers: int, key: str = "k", buckets: int = 1, epoch: int = 1, at: datetime | None = None) -> None:
    """Put events of a key where their emission would have put them."""
    for number in numbers:
        world.other.of(OutboxRow).create(
            OutboxRow(
                outbox="o",
                epoch=epoch,
                bucket=bucket_of(key, buckets),
                ordering_key=key,
                number=number,
                previous=number - 1,
                body=f'"{key}{number}"',
                emitted_at=at,
            )
        )


def relay(world: World, broker: Callable[[Delivery], Any], *, poison: Any = "block", buckets: Any = 1, **settings: Any) -> Relay:
    return Relay(Outbox(world.db.table(TABLE), "o", buckets=buckets), broker, poison=poison, **settings)


def other_relay(world: World, broker: Callable[[Delivery], Any], **settings: Any) -> Relay:
    return Relay(Outbox(world.other, "o", buckets=1), broker, poison="block", **settings)


def waiting(world: World) -> list[str]:
    return [row.id for row in world.other.of(OutboxRow).scan()]


# ----------------------------------------------------------------------------------------------------------- the plain way


async def test_what_waits_is_published_in_order_and_then_gone(db, shop) -> None:
    broker = Broker()
    rows = shop.of(OutboxRow)
    for key in ("a", "b", "c"):
        for number in (2, 1, 3):
            await rows.create(OutboxRow(outbox="o", epoch=1, bucket=bucket_of(key, 4), ordering_key=key, number=number, previous=number - 1, body="1"))
    found = await db.run(Relay(Outbox(shop, "o", buckets=4), broker, poison="block").run_once())
    assert found.published == 9
    for key in ("a", "b", "c"):
        assert [each for each in broker.got if each[0] == key] == [f"{key}#1", f"{key}#2", f"{key}#3"]
    assert (await db.run(Outbox(shop, "o", buckets=4).backlog())).events == 0


def test_publish_gets_the_event_its_order_its_fence_and_its_time(world: World) -> None:
    broker = Broker()
    emitted(world, 1, at=datetime.fromtimestamp(START_SECONDS, UTC))
    run(world, relay(world, broker, publish_timeout_seconds=7.0).run_once())
    (delivery,) = broker.deliveries
    assert (delivery.key, delivery.number, delivery.event, delivery.fence, delivery.timeout_seconds) == ("k", 1, "k1", 1, 7.0)
    emitted(world, 2)
    run(world, relay(world, broker).run_once())
    assert broker.deliveries[1].fence == 2


def test_an_asynchronous_publish_is_awaited() -> None:
    world, broker = World("asyncio"), Broker()

    async def publish(delivery: Delivery) -> None:
        broker(delivery)

    emitted(world, 1, 2)
    run(world, relay(world, publish).run_once())
    assert broker.got == ["k#1", "k#2"]
    world.close()


def test_an_idle_pass_writes_nothing(world: World) -> None:
    world.follow()
    assert run(world, relay(world, Broker(), buckets=8).run_once()) == RelayProgress()
    assert [request.operation for request in world.watched.sent] == ["Query"] * 8


# ------------------------------------------------------------------------------------------------------------- schedules


def test_a_scan_that_shows_a_later_event_without_an_earlier_one_publishes_neither_out_of_order(world: World) -> None:
    """C6.1, a query is no snapshot: it passed the place of number 2 before that was committed, and shows number 3."""
    broker = Broker()
    rows = relay(world, broker)
    emitted(world, 3)
    world.follow(Step(Deliver(), QUERIES, nth=2, after=("2 becomes visible",)), **{"2 becomes visible": lambda: emitted(world, 2)})
    found = run(world, rows.run_once())
    assert (broker.got, found.deferred) == ([], 1)
    run(world, rows.run_once())
    assert broker.got == ["k#2", "k#3"]


def test_a_page_with_a_gap_holds_back_what_is_behind_the_gap(world: World) -> None:
    """C6.1 again, within one page: 1, then 3; number 2 becomes visible behind the reader."""
    broker = Broker()
    emitted(world, 1, 3)
    world.follow(Step(Deliver(), QUERIES, nth=2, after=("2 becomes visible",)), **{"2 becomes visible": lambda: emitted(world, 2)})
    rows = relay(world, broker)
    run(world, rows.run_once())
    assert broker.got == ["k#1"]
    run(world, rows.run_once())
    assert broker.got == ["k#1", "k#2", "k#3"]


VISIBLE = [(shown, committed) for shown in ((), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)) for committed in range(max(shown, default=0), 4)]
"""What one scan may show of three events, and how many of them are committed when it ends."""


@pytest.mark.parametrize(("shown", "committed"), VISIBLE, ids=str)
def test_c6_whatever_a_scan_shows_of_three_events_they_are_published_in_order(world: World, shown: tuple[int, ...], committed: int) -> None:
    """C6.1 exhaustively: each position of a scan is read at its own moment while the events are committed one after another."""
    broker = Broker()
    rows = relay(world, broker)
    run(world, rows.run_once())
    emitted(world, *shown)
    late = [number for number in range(1, committed + 1) if number not in shown]
    world.follow(Step(Deliver(), QUERIES, nth=2, after=("the rest",)), **{"the rest": lambda: emitted(world, *late)})
    run(world, rows.run_once())
    assert broker.got == [f"k#{number}" for number in range(1, len(broker.got) + 1)]
    emitted(world, *range(committed + 1, 4))
    # Of an empty bucket there is one query a pass, so that what was to be committed in the second one may still be.
    for _ in range(2):
        run(world, rows.run_once())
    assert broker.got == ["k#1", "k#2", "k#3"]


def test_clocks_of_producers_order_nothing(world: World) -> None:
    """C6.2: the second change was stamped five seconds before the first."""
    broker, first = Broker(), datetime.fromtimestamp(START_SECONDS, UTC)
    emitted(world, 1, at=first)
    emitted(world, 2, at=first - timedelta(seconds=5))
    run(world, relay(world, broker).run_once())
    assert broker.got == ["k#1", "k#2"]


def test_a_relay_that_stands_still_in_publish_delivers_late_and_goes_no_further(world: World) -> None:
    """C6.3: its lease passes on, the next relay publishes 1 and 2, then the first one's call of publish ends. Consumers drop the repeat."""
    broker, second = Broker(), Broker()
    emitted(world, 1, 2, 3)
    others = other_relay(world, second, lease_seconds=10.0, publish_timeout_seconds=5.0)

    def stand_still(delivery: Delivery) -> None:
        if delivery.number == 1:
            world.other_db.run(others.run_once())
            world.time.advance(11.0)
            world.other_db.run(others.run_once())

    broker.on_publish = stand_still
    found = run(world, relay(world, broker, lease_seconds=10.0, publish_timeout_seconds=5.0).run_once())
    assert (broker.got, second.got) == (["k#1"], ["k#1", "k#2", "k#3"])
    assert (found.lost, found.overran) == (1, 1)
    assert second.deliveries[0].fence > broker.deliveries[0].fence


def test_a_publish_that_is_awaited_beyond_its_time_is_cancelled_and_tried_again(world: World) -> None:
    if world.kind != "asyncio":
        pytest.skip("plain code cannot be stopped")
    got: list[str] = []
    hung: list[str] = []

    async def publish(delivery: Delivery) -> None:
        if delivery.number == 2 and not hung:
            hung.append(delivery.id)
            await asyncio.Event().wait()
        got.append(delivery.id)

    emitted(world, 1, 2, 3)
    rows = Relay(Outbox(world.db.table(TABLE), "o", buckets=1), publish, poison="block", publish_timeout_seconds=0.01)
    found = run(world, rows.run_once())
    assert (got, hung, found.published, found.blocked) == (["k#1", "k#2", "k#3"], ["k#2"], 3, ())


def test_poison_that_blocks_holds_back_its_key_and_no_other_one(world: World) -> None:
    """C6.4, first choice."""
    broker = Broker("a#2")
    emitted(world, 1, 2, 3, key="a")
    emitted(world, 1, 2, key="b")
    rows = relay(world, broker)
    found = run(world, rows.run_once())
    assert (broker.got, found.blocked, found.deferred) == (["a#1", "b#1", "b#2"], ("a#2",), 1)
    broker.poison.clear()
    run(world, rows.run_once())
    assert broker.got[3:] == ["a#2", "a#3"]


@pytest.mark.parametrize("poison", ["skip", "block"])
@pytest.mark.parametrize("body", ["{nope", '{"$decimal":"x"}', '{"$bytes":5}'])
def test_an_event_that_cannot_be_read_is_poison_for_its_key_only(world: World, poison: Any, body: str) -> None:
    emitted(world, 1)
    row = next(iter(world.other.of(OutboxRow).scan()))
    world.other.of(OutboxRow).put(row.replace(body=body))
    emitted(world, 1, key="other")
    broker, told = Broker(), list[Any]()
    progress = run(world, relay(world, broker, poison=poison, on_skip=lambda delivery, _error: told.append(delivery.event)).run_once())
    assert (broker.got, len(progress.blocked), told) == (["other#1"], 1 if poison == "block" else 0, [body] if poison == "skip" else [])


def test_the_largest_event_can_be_set_aside(world: World) -> None:
    outbox, key = Outbox(world.other, "o", buckets=1), "k" * 900
    tx = world.other.transaction()
    change = tx.create(Account(id="big"))
    outbox.emit(tx, "x" * 399_998, change=change, key=key)
    tx.commit()

    def fails(_delivery: Delivery) -> None:
        raise ValueError("漢" * 600)

    assert run(world, relay(world, fails, poison="skip").run_once()).skipped == (f"{key}#1",)
    assert waiting(world) == []


def test_poison_that_is_skipped_is_set_aside_and_told(world: World) -> None:
    """C6.4, second choice."""
    broker, told = Broker("a#2"), []
    emitted(world, 1, 2, 3, key="a")
    rows = relay(world, broker, poison="skip", on_skip=lambda delivery, error: told.append((delivery.id, str(error))))
    found = run(world, rows.run_once())
    assert (broker.got, found.skipped, told) == (["a#1", "a#3"], ("a#2",), [("a#2", "refused a#2")])
    (aside,) = run(world, Outbox(world.db.table(TABLE), "o", buckets=1).set_aside())
    assert (aside.number, aside.error, waiting(world)) == (2, "ValueError: refused a#2", [])


def test_an_event_that_an_earlier_relay_published_is_not_said_to_be_set_aside(world: World) -> None:
    """The earlier relay published it, lost its lease and deleted the row late, while this one was refused by the broker."""
    broker, told = Broker("a#1"), []
    emitted(world, 1, 2, key="a")
    row = world.other.of(OutboxRow).get(OutboxRow.key_of("o", 1, 0, "a", 1))
    world.follow(Step(Deliver(), Where(operations=("TransactWriteItems",)), before=("delete",)), delete=lambda: world.other.of(OutboxRow).delete(row))
    found = run(world, relay(world, broker, poison="skip", on_skip=lambda delivery, _error: told.append(delivery.id)).run_once())
    assert (broker.got, found.skipped, told, waiting(world)) == (["a#2"], (), [], [])
    assert run(world, Outbox(world.db.table(TABLE), "o", buckets=1).set_aside()) == ()


def test_what_to_do_about_poison_must_be_chosen(world: World) -> None:
    with pytest.raises(TypeError):
        Relay(Outbox(world.other, "o"), Broker())  # type: ignore[call-arg]
    with pytest.raises(sw.InvalidRequest, match="skip"):
        relay(world, Broker(), poison="ignore")


def test_a_publish_that_fails_now_and_then_is_tried_again(world: World) -> None:
    broker, failures = Broker(), iter([True, True, False])

    def fail(_delivery: Delivery) -> None:
        if next(failures):
            raise OSError("the broker is restarting")

    broker.on_publish = fail
    emitted(world, 1)
    assert run(world, relay(world, broker).run_once()).published == 1


def test_a_key_keeps_its_order_while_the_number_of_buckets_changes(world: World) -> None:
    """C6.5: events of one key wait in a bucket of the old epoch and in one of the new; the relay begins with the new one."""
    broker = Broker()
    epochs = {1: 2, 2: 3}
    emitted(world, 1, 2, buckets=2, epoch=1)
    emitted(world, 3, buckets=3, epoch=2)
    # A producer that was not told yet still writes to the old epoch.
    emitted(world, 4, buckets=2, epoch=1)
    rows = relay(world, broker, buckets=epochs)
    for _ in range(4):
        run(world, rows.run_once())
    assert broker.got == ["k#1", "k#2", "k#3", "k#4"]


def test_a_relay_that_dies_between_publish_and_delete_publishes_again(world: World) -> None:
    broker = Broker()
    emitted(world, 1, 2)
    world.follow(Step(Deliver(), DELETES, before=("die",)), die=world.interrupt)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - Control-C or a cancellation
        run(world, relay(world, broker, lease_seconds=10.0, publish_timeout_seconds=5.0).run_once())
    world.no_more_faults()
    rows = relay(world, broker, lease_seconds=10.0, publish_timeout_seconds=5.0)
    assert run(world, rows.run_once()).busy == 1
    world.time.advance(11.0)
    run(world, rows.run_once())
    first = list(dict.fromkeys(broker.got))
    assert first == ["k#1", "k#2"]
    assert waiting(world) == []


def held_by_the_dead(world: World, buckets: int, *, seconds: float) -> None:
    for bucket in range(buckets):
        world.other.of(LeaseRecord).create(LeaseRecord(name=f"outbox o 1 {bucket}", fence=1, duration_seconds=seconds, owner="dead"))


def test_a_relay_that_is_made_anew_for_each_pass_takes_over_from_the_dead_where_its_pass_waits(world: World) -> None:
    broker = Broker()
    held_by_the_dead(world, 4, seconds=10.0)
    for key in "adhl":
        emitted(world, 1, 2, key=key, buckets=4)
    for _ in range(3):
        assert run(world, relay(world, broker, buckets=4).run_once()).busy == 4
        world.time.advance(11.0)
    began = world.time.monotonic
    found = run(world, relay(world, broker, buckets=4).run_once(wait_seconds=10.0))
    assert (found.published, found.busy, waiting(world)) == (8, 0, [])
    assert {delivery.fence for delivery in broker.deliveries} == {2}
    # The leases of all four ran out side by side.
    assert world.time.monotonic - began <= 12.0


def test_a_pass_waits_no_longer_than_it_was_told_for_what_another_relay_holds(world: World) -> None:
    broker = Broker()
    held_by_the_dead(world, 1, seconds=30.0)
    emitted(world, 1)
    began = world.time.monotonic
    found = run(world, relay(world, broker).run_once(wait_seconds=5.0))
    assert (found.published, found.busy, waiting(world)) == (0, 1, ["k#1"])
    assert 5.0 <= world.time.monotonic - began < 6.0


def test_a_pass_that_nobody_keeps_waiting_does_not_wait(world: World) -> None:
    broker = Broker()
    emitted(world, 1)
    began = world.time.monotonic
    assert run(world, relay(world, broker).run_once(wait_seconds=30.0)).published == 1
    assert world.time.monotonic - began < 1.0


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()], ids=["answer lost", "request lost"])
@pytest.mark.parametrize("operation", ["Query", "DeleteItem", "PutItem", "UpdateItem", "TransactGetItems"])
def test_a_lost_request_or_answer_costs_neither_an_event_nor_its_order(world: World, fault: Any, operation: str) -> None:
    broker = Broker()
    emitted(world, 1, 2, 3, key="a")
    emitted(world, 4, 5, key="b")
    world.follow(Step(fault, Where(operations=(operation,)), nth=1))
    rows = relay(world, broker)
    for _ in range(2):
        run(world, rows.run_once())
    assert waiting(world) == []
    assert list(dict.fromkeys(broker.got)) == ["a#1", "a#2", "a#3", "b#4", "b#5"]


def test_two_relays_share_the_buckets_and_never_one_bucket(world: World) -> None:
    first, second = Broker(), Broker()
    emitted(world, 1, 2, 3)
    others = other_relay(world, second)
    first.on_publish = lambda _delivery: world.other_db.run(others.run_once())
    found = run(world, relay(world, first).run_once())
    assert (first.got, second.got, found.published) == (["k#1", "k#2", "k#3"], [], 3)


def test_a_relay_renews_its_lease_while_it_publishes(world: World) -> None:
    broker = Broker()
    broker.on_publish = lambda _delivery: world.time.advance(4.0)
    emitted(world, *range(1, 11))
    found = run(world, relay(world, broker, lease_seconds=10.0, publish_timeout_seconds=5.0).run_once())
    assert (found.published, found.lost, found.overran) == (10, 0, 0)
    record = world.other.of(LeaseRecord).get(LeaseRecord.key_of("outbox o 1 0"))
    assert record.fence == 1
    assert record.renewals > 0


# --------------------------------------------------------------------------------------------------------- running, telling


def test_a_relay_runs_until_it_is_told_to_stop_between_two_events(world: World) -> None:
    broker = Broker()
    emitted(world, 1, 2, 3)
    rows = relay(world, broker)
    found = run(world, rows.run(stop=lambda: len(broker.got) >= 2))
    assert (broker.got, found.published, waiting(world)) == (["k#1", "k#2"], 2, ["k#3"])
    # The lease was given back: another relay need not wait for it.
    assert run(world, relay(world, broker).run_once()).published == 1


def test_an_idle_relay_pauses_between_its_passes(world: World) -> None:
    asked: list[float] = []

    def stop() -> bool:
        asked.append(world.time.monotonic)
        return len(asked) > 6

    run(world, relay(world, Broker()).run(stop=stop, idle_seconds=2.0))
    assert asked[-1] - asked[0] >= 3.0


def test_progress_tells_what_waits_longest(world: World) -> None:
    broker, seen = Broker("a#1"), []
    start = datetime.fromtimestamp(START_SECONDS, UTC)
    emitted(world, 1, key="a", at=start + timedelta(seconds=5))
    emitted(world, 1, key="b", at=start)
    world.time.advance(60.0)
    found = run(world, relay(world, broker, on_progress=seen.append).run_once())
    assert (found.published, found.blocked, found.oldest_at) == (1, ("a#1",), start + timedelta(seconds=5))
    assert found.lag_seconds == pytest.approx(60.0, abs=2.0)
    assert seen[-1].published == 1


@pytest.mark.parametrize("settings", [{"publish_timeout_seconds": 16.0}, {"publish_timeout_seconds": 0.0}, {"attempts": 0}])
def test_settings_that_could_not_hold_are_refused(world: World, settings: dict[str, Any]) -> None:
    with pytest.raises(sw.InvalidRequest):
        relay(world, Broker(), **settings)
