"""Apply if newer: late, repeated and reordered events end in the newest state, and each outcome says what is stored."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.recipes.ordered import Ordered, OrderedState
from surewrite.recipes.ordered_events import EventOutcome, OrderedGroup, Tombstones
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

APPLIED, ALREADY_STORED, SUPERSEDED, TIE = EventOutcome
UPDATES = Where(operations=("UpdateItem",))
PUTS = Where(operations=("PutItem",))


class Match(Entity, discriminator="MATCH", partition_key="MATCH#{id}", sort_key="LIVE"):
    id: Attribute[str]
    home: Attribute[int] = sw.attribute(default=0)
    away: Attribute[int] = sw.attribute(default=0)
    score_at: Attribute[int | None] = sw.attribute(default=None)
    status: Attribute[str | None] = sw.attribute(default=None)
    status_at: Attribute[int | None] = sw.attribute(default=None)
    deleted: Attribute[bool] = sw.attribute(default=False)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Standing(Entity, discriminator="STANDING", partition_key="STANDING#{team}", sort_key="NOW"):
    team: Attribute[str]
    points: Attribute[int] = sw.attribute(default=0)
    note: Attribute[str | None] = sw.attribute(default=None)
    seq: Attribute[int]
    deleted: Attribute[bool] = sw.attribute(default=False)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Counted(VersionedEntity, discriminator="COUNTED", partition_key="COUNTED#{id}", sort_key="COUNTED"):
    id: Attribute[str]
    value: Attribute[int] = sw.attribute(default=0)
    seq: Attribute[int | None] = sw.attribute(default=None)
    revision: Attribute[int | None] = sw.version()


KEY = Match.key_of("m1")
TEAM = Standing.key_of("red")
SCORE = OrderedGroup(Match.score_at, Match.home, Match.away)
STATUS = OrderedGroup(Match.status_at, Match.status)
TOMBSTONES = Tombstones(Match.deleted, Match.ends_at, lateness_seconds_most=3600)
TEAM_TOMBSTONES = Tombstones(Standing.deleted, Standing.ends_at, lateness_seconds_most=3600)


def score(order: int, home: int, away: int = 0) -> Any:
    return SCORE.event(order, Match.home.set(home), Match.away.set(away))


def status(order: int, text: str | None) -> Any:
    return STATUS.event(order, Match.status.remove() if text is None else Match.status.set(text))


def live(table: Any, **settings: Any) -> Ordered[Match]:
    return Ordered(table, Match, SCORE, STATUS, **settings)


def run(world: Any, operation: Any) -> Any:
    result = world.db.run(operation)
    return world.run(result) if world.kind == "asyncio" else result


# ------------------------------------------------------------------------------------------------- over every place


async def test_each_group_takes_its_newest_event_in_whatever_order_they_come(db, shop) -> None:
    matches = live(shop)
    events = [score(1, 1), score(2, 2), status(1, "first half"), status(3, "second half")]
    for number, order in enumerate(itertools.permutations(events)):
        key = Match.key_of(f"m{number}")
        for event in (*order, *order):
            await db.run(matches.apply(key, event))
        item = await shop.of(Match).get(key)
        assert (item.home, item.score_at, item.status, item.status_at) == (2, 2, "second half", 3)
        if number == 3:
            break


async def test_the_outcome_tells_applied_repeated_late_and_tied_events_apart(db, shop) -> None:
    matches = live(shop)
    first = await db.run(matches.apply(KEY, score(5, 1)))
    assert (first.outcome, first.item.home) == (APPLIED, 1)
    assert (await db.run(matches.apply(KEY, score(5, 1)))).outcome is ALREADY_STORED
    late = await db.run(matches.apply(KEY, score(4, 9)))
    assert (late.outcome, late.item.home) == (SUPERSEDED, 1)
    tied = await db.run(matches.apply(KEY, score(5, 2)))
    assert (tied.outcome, tied.item.home) == (TIE, 1)
    assert (await db.run(matches.apply(KEY, score(6, 2)))).outcome is APPLIED


async def test_a_whole_state_is_replaced_by_a_newer_one_only(db, shop) -> None:
    standings = OrderedState(shop, Standing, Standing.seq)
    outcomes = [(await db.run(standings.put(Standing(team="red", points=points, seq=seq)))).outcome for points, seq in ((3, 1), (9, 3), (6, 2), (9, 3), (8, 3))]
    assert outcomes == [APPLIED, APPLIED, SUPERSEDED, ALREADY_STORED, TIE]
    assert (await shop.of(Standing).get(TEAM)).points == 9


async def test_one_event_of_two_groups_as_two_updates_reaches_the_group_where_it_is_newer(db, shop) -> None:
    matches = live(shop)
    await db.run(matches.apply(KEY, score(7, 7)))
    found = await db.run(matches.apply_each(KEY, score(5, 5), status(5, "over")))
    assert [judged.outcome for judged in found] == [SUPERSEDED, APPLIED]
    item = await shop.of(Match).get(KEY)
    assert (item.home, item.status) == (7, "over")


async def test_one_event_of_two_groups_with_joined_conditions_is_blocked_by_a_newer_value_of_one(db, shop) -> None:
    matches = live(shop)
    await db.run(matches.apply(KEY, score(7, 7)))
    assert (await db.run(matches.apply_joined(KEY, score(5, 5), status(5, "over")))).outcome is SUPERSEDED
    assert (await shop.of(Match).get(KEY)).status is None
    assert (await db.run(matches.apply_joined(KEY, score(8, 8), status(8, "over")))).outcome is APPLIED
    assert (await db.run(matches.apply_joined(KEY, score(8, 8), status(8, "over")))).outcome is ALREADY_STORED
    # Stored by half: neither a repeat nor superseded.
    await db.run(matches.apply(KEY, score(9, 9)))
    assert (await db.run(matches.apply_joined(KEY, score(9, 9), status(9, "resumed")))).outcome is TIE


@pytest.mark.parametrize("place_name", ["memory", "file", "ministack"])  # moto answers 500 to a comparison of two types
@pytest.mark.parametrize("order", [{"S": "yesterday"}, {"NULL": True}])
async def test_a_stored_order_of_another_type_raises_instead_of_calling_every_event_late(db, shop, store, order) -> None:
    await store({"pk": {"S": "MATCH#m1"}, "sk": {"S": "LIVE"}, "id": {"S": "m1"}, "score_at": order})
    with pytest.raises(sw.UndecodableItem, match="no event can ever be newer") as raised:
        await db.run(live(shop).apply(KEY, score(5, 1)))
    assert (raised.value.field, raised.value.stored_type, raised.value.key) == ("score_at", next(iter(order)), KEY)


async def test_a_deleted_item_is_not_brought_back_by_a_late_event_and_is_by_a_newer_one(db, shop) -> None:
    matches = live(shop, tombstones=TOMBSTONES)
    await db.run(matches.apply(KEY, score(1, 1)))
    deleted = await db.run(matches.delete(KEY, 5))
    assert (deleted.outcome, deleted.item.deleted, deleted.item.home) == (APPLIED, True, 0)
    assert (await db.run(matches.delete(KEY, 5))).outcome is ALREADY_STORED
    assert (await db.run(matches.apply(KEY, score(4, 4)))).outcome is SUPERSEDED
    assert (await db.run(matches.apply(KEY, status(4, "late")))).outcome is SUPERSEDED
    assert (await shop.of(Match).get(KEY)).deleted
    again = await db.run(matches.apply(KEY, score(6, 6)))
    assert (again.outcome, again.item.deleted, again.item.ends_at) == (APPLIED, False, None)


async def test_deletions_and_events_end_alike_in_every_order_of_delivery(db, shop) -> None:
    matches = live(shop, tombstones=TOMBSTONES)
    table = shop.of(Match)
    ends = set()
    for number, order in enumerate(itertools.permutations(["status 3", "score 6", "delete 5"])):
        key = Match.key_of(f"m{number}")
        for name in (*order, order[0]):
            operation = {"status 3": matches.apply(key, status(3, "on")), "score 6": matches.apply(key, score(6, 6)), "delete 5": matches.delete(key, 5)}[name]
            await db.run(operation)
        item = await table.get(key)
        ends.add((item.home, item.score_at, item.status, item.status_at, item.deleted, item.ends_at))
    assert ends == {(6, 6, None, 5, False, None)}


async def test_a_whole_state_is_deleted_by_an_event(db, shop) -> None:
    standings = OrderedState(shop, Standing, Standing.seq, tombstones=TEAM_TOMBSTONES)
    await db.run(standings.put(Standing(team="red", points=3, seq=1)))
    assert (await db.run(standings.delete(TEAM, 5))).outcome is APPLIED
    assert (await db.run(standings.delete(TEAM, 5))).outcome is ALREADY_STORED
    assert (await db.run(standings.put(Standing(team="red", points=3, seq=4)))).outcome is SUPERSEDED
    assert (await db.run(standings.put(Standing(team="red", points=3, seq=5)))).outcome is TIE
    assert (await db.run(standings.put(Standing(team="red", points=6, seq=6)))).outcome is APPLIED
    item = await shop.of(Standing).get(TEAM)
    assert (item.points, item.deleted, item.ends_at) == (6, False, None)


@pytest.mark.real_time
async def test_consumers_side_by_side_end_in_the_newest_state(db, shop, together) -> None:
    matches = live(shop)

    def consume(first: int) -> Any:
        async def body() -> None:
            for order in range(first, 20, 4):
                await db.run(matches.apply(KEY, score(order, order)))

        return body

    assert await together(*(consume(first) for first in range(4))) == [None] * 4
    assert (await shop.of(Match).get(KEY)).home == 19


# ------------------------------------------------------------------------------------------------------- rules for ties


def larger(stored: Match, proposed: Match) -> Match:
    return max(stored, proposed, key=lambda match: match.home)


async def test_a_tie_kept_is_told_as_superseded(db, shop) -> None:
    matches = live(shop, tie="keep")
    await db.run(matches.apply(KEY, score(5, 1)))
    assert (await db.run(matches.apply(KEY, score(5, 2)))).outcome is SUPERSEDED
    assert (await shop.of(Match).get(KEY)).home == 1


async def test_a_function_settles_a_tie_alike_in_both_orders_of_delivery(db, shop) -> None:
    matches = live(shop, tie=larger)
    for key, order in ((Match.key_of("a"), (1, 2)), (Match.key_of("b"), (2, 1))):
        outcomes = [(await db.run(matches.apply(key, score(5, home)))).outcome for home in order]
        assert outcomes == [APPLIED, APPLIED if order == (1, 2) else SUPERSEDED]
        assert (await shop.of(Match).get(key)).home == 2
        # The loser delivered again stays the loser.
        assert (await db.run(matches.apply(key, score(5, 1)))).outcome is SUPERSEDED


async def test_a_function_settles_a_tie_of_whole_states(db, shop) -> None:
    standings = OrderedState(shop, Standing, Standing.seq, tie=lambda stored, proposed: max(stored, proposed, key=lambda each: each.points))
    await db.run(standings.put(Standing(team="red", points=3, seq=1)))
    assert (await db.run(standings.put(Standing(team="red", points=2, seq=1)))).outcome is SUPERSEDED
    assert (await db.run(standings.put(Standing(team="red", points=4, seq=1)))).outcome is APPLIED
    assert (await shop.of(Standing).get(TEAM)).points == 4


async def test_a_function_settles_a_tie_of_an_event_and_a_deletion_alike_in_both_orders_of_delivery(db, shop) -> None:
    def deleted_first(stored: Match, proposed: Match) -> Match:
        return max(stored, proposed, key=lambda match: match.deleted)

    matches = live(shop, tie=deleted_first, tombstones=TOMBSTONES)
    for key, deletion_comes_first in ((Match.key_of("a"), True), (Match.key_of("b"), False)):
        event, deletion = matches.apply(key, score(5, 1)), matches.delete(key, 5)
        for operation in (deletion, event) if deletion_comes_first else (event, deletion):
            await db.run(operation)
        found = await shop.of(Match).get(key)
        assert (found.deleted, found.ends_at is not None, found.home) == (True, True, 0)


async def test_a_tombstone_of_a_whole_state_that_a_function_chose_expires(db, shop) -> None:
    def deleted_first(stored: Standing, proposed: Standing) -> Standing:
        return max(stored, proposed, key=lambda each: each.deleted)

    standings = OrderedState(shop, Standing, Standing.seq, tie=deleted_first, tombstones=TEAM_TOMBSTONES)
    await db.run(standings.put(Standing(team="red", seq=5)))
    judged = await db.run(standings.delete(TEAM, 5))
    assert (judged.outcome, judged.item.deleted, judged.item.ends_at is not None) == (APPLIED, True, True)


async def test_a_function_that_settles_joined_events_raises_the_order_of_the_group_that_was_older(db, shop) -> None:
    matches = live(shop, tie=larger)
    await db.run(matches.apply(KEY, score(5, 1)))
    await db.run(matches.apply(KEY, status(3, "first half")))
    assert (await db.run(matches.apply_joined(KEY, score(5, 2), status(5, "over")))).outcome is APPLIED
    assert (await db.run(matches.apply(KEY, status(4, "second half")))).outcome is SUPERSEDED
    assert (await shop.of(Match).get(KEY)).status == "over"


def test_what_a_function_chose_is_not_written_over_a_change_that_came_in_between(world) -> None:
    matches = live(world.table, tie=larger)
    run(world, matches.apply(KEY, score(5, 1)))
    others = live(world.other)
    world.follow(Step(Deliver(), PUTS, before=("newer",)), newer=lambda: world.other_db.run(others.apply(KEY, score(6, 0))))
    assert run(world, matches.apply(KEY, score(5, 2))).outcome is SUPERSEDED
    assert world.other.of(Match).get(KEY).score_at == 6


def test_a_function_settles_a_tie_that_only_a_read_shows(world) -> None:
    run(world, live(world.table).apply(KEY, score(5, 1)))
    world.follow(Step(LoseAnswer(), UPDATES, times=None))
    assert run(world, live(world.table, tie=larger).apply(KEY, score(5, 2))).outcome is APPLIED
    assert world.other.of(Match).get(KEY).home == 2


def test_a_rule_that_returns_something_else_is_an_error_before_anything_is_written(world) -> None:
    run(world, live(world.table).apply(KEY, score(5, 1)))
    world.follow()
    with pytest.raises(sw.InvalidRequest, match="the rule for ties returns"):
        run(world, live(world.table, tie=lambda stored, proposed: None).apply(KEY, score(5, 2)))
    assert world.effects == 0


# --------------------------------------------------------------------------------------------------- schedules of C3


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest()])
def test_an_event_whose_answer_was_lost_is_applied_once(world, fault) -> None:
    world.follow(Step(fault, UPDATES))
    assert run(world, live(world.table).apply(KEY, score(5, 1))).outcome is APPLIED
    assert world.effects == 1


def test_c3_a_late_copy_does_not_move_the_item_back(world) -> None:
    matches = live(world.table)
    world.follow(Step(ApplyLate(), UPDATES))
    assert run(world, matches.apply(KEY, score(5, 1))).outcome is APPLIED
    run(world, matches.apply(KEY, score(6, 2)))
    world.release()
    assert world.other.of(Match).get(KEY).home == 2


def test_c3_an_event_in_doubt_that_meets_a_newer_one_is_superseded(world) -> None:
    others = live(world.other)
    overtaking = Step(Deliver(), UPDATES, nth=2, before=("newer",))
    world.follow(Step(LoseRequest(), UPDATES), overtaking, newer=lambda: world.other_db.run(others.apply(KEY, score(6, 2))))
    assert run(world, live(world.table).apply(KEY, score(5, 1))).outcome is SUPERSEDED


def test_c3_an_event_in_doubt_whose_stamp_was_overwritten_by_another_group_is_already_stored(world) -> None:
    others = live(world.other)
    world.other.of(Match).create(Match(id="m1"))
    overtaking = Step(Deliver(), UPDATES, nth=2, before=("other",))
    world.follow(Step(LoseAnswer(), UPDATES), overtaking, other=lambda: world.other_db.run(others.apply(KEY, status(9, "x"))))
    assert run(world, live(world.table).apply(KEY, score(5, 1))).outcome is ALREADY_STORED


def test_c3_a_joined_event_in_doubt_is_judged_by_every_order_not_only_the_first(world) -> None:
    others = live(world.other)
    world.other.of(Match).create(Match(id="m1"))
    overtaking = Step(Deliver(), UPDATES, nth=2, before=("newer",))
    world.follow(Step(LoseRequest(), UPDATES), overtaking, newer=lambda: world.other_db.run(others.apply(KEY, status(9, "x"))))
    assert run(world, live(world.table).apply_joined(KEY, score(5, 1), status(5, "y"))).outcome is SUPERSEDED


def test_an_event_that_nothing_shows_the_fate_of_is_unknown_and_its_next_delivery_settles_it(world) -> None:
    world.follow(Step(ApplyLate(), UPDATES, times=None))
    matches = live(world.table)
    with pytest.raises(sw.OutcomeUnknown):
        run(world, matches.apply(KEY, score(5, 1)))
    world.no_more_faults()
    world.release()
    assert run(world, matches.apply(KEY, score(5, 1))).outcome is ALREADY_STORED


def test_an_event_without_any_answer_is_settled_by_the_order_that_a_read_shows(world) -> None:
    world.follow(Step(LoseAnswer(), UPDATES, times=None))
    assert run(world, live(world.table).apply(KEY, score(5, 1))).outcome is ALREADY_STORED


def test_doubt_is_told_as_doubt_where_the_item_cannot_be_read_either(world) -> None:
    # Its answer tells the time, without which nothing that ends is written.
    run(world, live(world.table).apply(KEY, score(4, 1)))
    world.follow(Step(LoseAnswer(), times=None))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, live(world.table).apply(KEY, score(5, 1)))


def test_c3_an_expired_item_is_judged_by_its_order_while_it_is_stored(world) -> None:
    matches = live(world.table, tombstones=TOMBSTONES)
    run(world, matches.delete(KEY, 100))
    world.time.advance(3600 + 301)
    late = run(world, matches.apply(KEY, score(50, 1)))
    assert (late.outcome, late.item) == (SUPERSEDED, None)
    assert run(world, matches.apply(KEY, score(101, 1))).outcome is APPLIED


def test_a_tie_with_an_expired_item_is_kept_since_nothing_is_written_over_it(world) -> None:
    matches = live(world.table, tombstones=TOMBSTONES, tie=larger)
    run(world, matches.delete(KEY, 100))
    world.time.advance(3600 + 301)
    assert run(world, matches.apply(KEY, score(100, 1))).outcome is SUPERSEDED


@pytest.mark.parametrize("ahead_seconds", [0.0, 7200.0, -7200.0])
def test_a_tombstone_stays_for_the_lateness_and_the_life_of_a_request_by_the_service_clock(make_world, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    item = run(world, live(world.table, tombstones=TOMBSTONES).delete(KEY, 5)).item
    assert item.ends_at == datetime.fromtimestamp(START_SECONDS, UTC) + timedelta(seconds=3600 + 300)


def test_an_order_guards_a_versioned_type_too(world) -> None:
    group = OrderedGroup(Counted.seq, Counted.value)
    ordered = Ordered(world.table, Counted, group)
    key = Counted.key_of("a").ignore_version()
    world.follow(Step(LoseAnswer(), UPDATES))
    judged = run(world, ordered.apply(key, group.event(5, Counted.value.set(1))))
    assert (judged.outcome, judged.item.revision, world.effects) == (APPLIED, 1, 1)


def test_an_item_of_another_type_raises(world) -> None:
    world.service.execute("PutItem", {"TableName": world.table.name, "Item": {"pk": {"S": "MATCH#m1"}, "sk": {"S": "LIVE"}, "_type": {"S": "OTHER"}}})
    with pytest.raises(sw.WrongEntityType):
        run(world, live(world.table).apply(KEY, score(5, 1)))


def test_the_item_that_changes_in_every_try_is_told_as_contended(world) -> None:
    run(world, live(world.table).apply(KEY, score(5, 1)))
    restless = iter(range(100))

    def touch() -> None:
        world.other.of(Match).update(KEY, Match.status.set(str(next(restless))))

    world.follow(Step(Deliver(), PUTS, times=None, before=("touch",)), touch=touch)
    with pytest.raises(sw.Throttled, match="changed in each of 8 tries"):
        run(world, live(world.table, tie=larger).apply(KEY, score(5, 2)))


# ------------------------------------------------------------------------------------------------------------- misuse


def test_an_event_sets_all_fields_of_its_group_to_constants() -> None:
    with pytest.raises(sw.InvalidRequest, match="each field of its group once"):
        SCORE.event(1, Match.home.set(1))
    with pytest.raises(sw.InvalidRequest, match="depends on what is stored"):
        SCORE.event(1, Match.home.add(1), Match.away.set(1))
    with pytest.raises(sw.InvalidRequest):
        SCORE.event(None, Match.home.set(1), Match.away.set(1))


def test_what_cannot_work_is_refused_before_anything_is_sent(world) -> None:
    with pytest.raises(sw.InvalidRequest, match="tombstones="):
        run(world, live(world.table).delete(KEY, 1))
    with pytest.raises(sw.InvalidRequest, match="name all groups"):
        Ordered(world.table, Match, tombstones=TOMBSTONES)
    with pytest.raises(sw.InvalidRequest, match="replaces any version"):
        OrderedState(world.table, Counted, Counted.seq)
    with pytest.raises(sw.InvalidRequest, match="no event"):
        run(world, live(world.table).apply_joined(KEY))
    with pytest.raises(sw.InvalidRequest, match="has its order"):
        run(world, OrderedState(world.table, Standing, Standing.seq).put(Match(id="m")))
    plain = world.other_db.table(world.table.name, stamp=None, birth=None)
    with pytest.raises(sw.InvalidRequest, match="stamps switched off"):
        live(plain, tie=larger)
