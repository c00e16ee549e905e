"""Soft deletion: a late creation does not bring an item back, a later one does, as a new life that goes on from the tombstone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.entities import stored_state
from surewrite.recipes.soft_deletes import DeletionOutcome, SoftDeletes
from surewrite.testing.faults import ApplyLate, Deliver, LoseAnswer, LoseRequest, Step, Where

DELETED, ALREADY_DELETED, NOT_FOUND, CHANGED = DeletionOutcome
PUTS = Where(operations=("PutItem",))
UPDATES = Where(operations=("UpdateItem",))
LATENESS = 3600


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="USER"):
    id: Attribute[str]
    name: Attribute[str] = sw.attribute(default="")
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")
    version: Attribute[int | None] = sw.version()


class Tag(Entity, discriminator="TAG", partition_key="TAG#{id}", sort_key="TAG"):
    id: Attribute[str]
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Plain(Entity, discriminator="PLAIN", partition_key="PLAIN#{id}", sort_key="PLAIN"):
    id: Attribute[str]
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)


KEY = User.key_of("u1")


def soft(table: Any, **settings: Any) -> SoftDeletes[User]:
    return SoftDeletes(table, User, deleted_at=User.deleted_at, expires=User.ends_at, **{"lateness_seconds_most": LATENESS, **settings})


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


async def test_a_deleted_item_is_absent_and_its_tombstone_is_stored(db, shop) -> None:
    users = soft(shop)
    await db.run(users.create(User(id="u1", name="Ann")))
    assert (await db.run(users.delete(KEY))).outcome is DELETED
    assert (await db.run(users.delete(KEY))).outcome is ALREADY_DELETED
    assert await db.run(users.get_or_none(KEY)) is None
    assert (await shop.of(User).get(KEY)).name == "Ann"
    assert (await db.run(users.delete(User.key_of("nobody")))).outcome is NOT_FOUND


async def test_an_item_with_null_for_the_moment_of_its_deletion_lives(db, shop) -> None:
    item = {"pk": {"S": "USER#u1"}, "sk": {"S": "USER"}, "id": {"S": "u1"}, "deleted_at": {"NULL": True}, "ttl": {"NULL": True}}
    await db.execute("PutItem", {"TableName": shop.name, "Item": item})
    users = soft(shop)
    assert [user.id async for user in shop.of(User).scan(filter=users.alive)] == ["u1"]
    assert (await db.run(users.delete(KEY))).outcome is DELETED


async def test_a_creation_over_a_tombstone_goes_on_from_its_version_with_a_new_birth(db, shop) -> None:
    users = soft(shop)
    first = await db.run(users.create(User(id="u1", name="Ann")))
    deletion = await db.run(users.delete(first))
    again = await db.run(users.create(User(id="u1", name="Bob")))
    assert (deletion.item.version, again.version, again.name, again.deleted_at, again.ends_at) == (2, 3, "Bob", None, None)
    stored = await shop.of(User).get(KEY)
    assert stored == again
    assert stored_state(stored).birth not in (None, stored_state(first).birth)
    # The result can be written on.
    assert (await shop.of(User).put(again.replace(name="Bobby"))).version == 4
    with pytest.raises(sw.VersionConflict):
        await shop.of(User).put(first.replace(name="ghost"))


async def test_a_living_item_refuses_a_creation(db, shop) -> None:
    users = soft(shop)
    await db.run(users.create(User(id="u1", name="Ann")))
    refused = await db.run(users.try_create(User(id="u1")))
    assert (bool(refused), refused.existing.name) == (False, "Ann")
    with pytest.raises(sw.AlreadyExists):
        await db.run(users.create(User(id="u1")))


async def test_a_loaded_entity_that_was_changed_since_is_not_deleted(db, shop) -> None:
    users = soft(shop)
    first = await db.run(users.create(User(id="u1")))
    second = await shop.of(User).put(first.replace(name="Ann"))
    found = await db.run(users.delete(first))
    assert (found.outcome, found.item, found.deleted) == (CHANGED, second, False)


async def test_other_writes_ask_for_a_living_item_by_condition(db, shop) -> None:
    users = soft(shop)
    await db.run(users.create(User(id="u1")))
    assert await shop.of(User).try_update(KEY.ignore_version(), User.name.set("x"), condition=users.alive)
    await db.run(users.delete(KEY))
    assert not await shop.of(User).try_update(KEY.ignore_version(), User.name.set("y"), condition=users.alive)


async def test_a_type_without_a_version_is_guarded_by_its_stamp(db, shop) -> None:
    tags = SoftDeletes(shop, Tag, deleted_at=Tag.deleted_at, expires=Tag.ends_at, lateness_seconds_most=0)
    await db.run(tags.create(Tag(id="t")))
    assert (await db.run(tags.delete(Tag.key_of("t")))).outcome is DELETED
    await db.run(tags.create(Tag(id="t")))
    assert await db.run(tags.get_or_none(Tag.key_of("t"))) == Tag(id="t")


# --------------------------------------------------------------------------------------------------- schedules of C9


def test_c9_a_late_creation_does_not_bring_the_item_back(world) -> None:
    users = soft(world.table)
    world.follow(Step(ApplyLate(), PUTS))
    run(world, users.create(User(id="u1")))
    run(world, users.delete(KEY))
    world.release()
    assert run(world, users.get_or_none(KEY)) is None


def test_c9_the_resend_of_a_creation_does_not_bring_the_item_back(world) -> None:
    users, others = soft(world.table), soft(world.other)
    world.follow(Step(LoseAnswer(), PUTS, after=("delete",)), delete=lambda: world.other_db.run(others.delete(KEY)))
    outcome = run(world, users.try_create(User(id="u1")))
    assert (outcome.applied, outcome.recovered) == (True, True)
    assert run(world, users.get_or_none(KEY)) is None


def test_c9_a_creation_in_doubt_over_an_older_tombstone_is_made_once(world) -> None:
    users = soft(world.table)
    run(world, users.create(User(id="u1")))
    run(world, users.delete(KEY))
    world.time.advance(60)
    world.follow(Step(LoseRequest(), PUTS))
    made = run(world, users.create(User(id="u1", name="new")))
    assert (made.version, world.effects) == (3, 1)
    world.release()
    assert run(world, users.get_or_none(KEY)) == made


def test_c9_a_creation_in_doubt_over_a_tombstone_that_may_be_younger_is_unknown(world) -> None:
    users, others = soft(world.table), soft(world.other)

    def another_life() -> None:
        world.other_db.run(others.delete(KEY))
        world.other_db.run(others.create(User(id="u1", name="another")))
        world.other_db.run(others.delete(KEY))

    world.follow(Step(LoseAnswer(), PUTS, after=("life",)), life=another_life)
    with pytest.raises(sw.OutcomeUnknown):
        run(world, users.create(User(id="u1", name="mine")))
    assert run(world, users.get_or_none(KEY)) is None


def test_c9_a_creation_in_a_frozen_process_does_not_take_a_younger_tombstone_for_an_older_one(world) -> None:
    users, others = soft(world.table), soft(world.other)

    def frozen_while_another_lives_and_dies() -> None:
        world.time.on_wait = lambda: None
        world.time.wall += 10
        world.other_db.run(others.delete(KEY))
        world.other_db.run(others.create(User(id="u1", name="another")))
        world.other_db.run(others.delete(KEY))
        world.time.wall += 200

    world.time.on_wait = frozen_while_another_lives_and_dies
    world.follow(Step(LoseAnswer(), PUTS))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, users.create(User(id="u1", name="mine")))
    assert run(world, users.get_or_none(KEY)) is None


@pytest.mark.parametrize("ahead_seconds", [-3600, 3600])
def test_c9_the_creation_is_compared_by_the_services_clock(make_world, ahead_seconds) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    users, others = soft(world.table), soft(world.other)
    world.other_db.run(others.create(User(id="u1")))
    world.other_db.run(others.delete(KEY))
    world.time.advance(60)
    world.follow(Step(LoseRequest(), PUTS))
    assert run(world, users.create(User(id="u1", name="new"))).version == 3


def test_c9_a_late_copy_of_a_creation_over_a_tombstone_is_refused_by_every_later_tombstone(world) -> None:
    users = soft(world.table)
    run(world, users.create(User(id="u1")))
    run(world, users.delete(KEY))
    world.follow(Step(ApplyLate(), PUTS, nth=2))
    run(world, users.create(User(id="u1", name="second")))
    run(world, users.delete(KEY))
    world.release()
    assert run(world, users.get_or_none(KEY)) is None


def test_c9_a_deletion_in_doubt_does_not_delete_the_next_life(world) -> None:
    users, others = soft(world.table), soft(world.other)
    run(world, users.create(User(id="u1")))
    world.follow(Step(LoseAnswer(), UPDATES, after=("again",)), again=lambda: world.other_db.run(others.create(User(id="u1", name="next"))))
    with pytest.raises(sw.OutcomeUnknown):
        run(world, users.delete(KEY))
    assert run(world, users.get_or_none(KEY)).name == "next"


def test_the_tombstone_stays_for_the_lateness_and_the_life_of_a_request_and_then_frees_the_key(world) -> None:
    users = soft(world.table)
    run(world, users.create(User(id="u1")))
    deletion = run(world, users.delete(KEY))
    start = datetime.fromtimestamp(START_SECONDS, UTC)
    assert (deletion.item.deleted_at, deletion.item.ends_at) == (start, start + timedelta(seconds=LATENESS + 300))
    world.time.advance(LATENESS + 301)
    assert run(world, users.create(User(id="u1"))).version == 1


@pytest.mark.parametrize("ahead_seconds", [7200.0, -7200.0])
def test_the_first_call_of_a_client_whose_clock_is_wrong_deletes_by_the_service_clock(make_world, ahead_seconds: float) -> None:
    world = make_world(ahead_seconds=ahead_seconds)
    loaded = world.other.of(User).create(User(id="a"))
    deletion = run(world, soft(world.table).delete(loaded))
    assert deletion.item.deleted_at == datetime.fromtimestamp(START_SECONDS, UTC)


def test_a_tombstone_that_another_took_first_refuses_the_creation(world) -> None:
    users, others = soft(world.table), soft(world.other)
    run(world, users.create(User(id="u1")))
    run(world, users.delete(KEY))
    world.follow(Step(Deliver(), PUTS, nth=2, before=("other",)), other=lambda: world.other_db.run(others.create(User(id="u1", name="other"))))
    refused = run(world, users.try_create(User(id="u1", name="mine")))
    assert refused.existing.name == "other"


def test_a_deletion_by_key_is_judged_again_on_a_conflict(world) -> None:
    users = soft(world.table)
    run(world, users.create(User(id="u1")))
    touched = lambda: world.other.of(User).update(KEY.ignore_version(), User.name.set("x"))  # noqa: E731
    world.follow(Step(Deliver(), UPDATES, before=("touched",)), touched=touched)
    found = run(world, users.delete(KEY))
    assert (found.outcome, found.item.name) == (DELETED, "x")


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize(("ends", "outcome"), [("hard delete", NOT_FOUND), ("soft delete", ALREADY_DELETED), ("change", CHANGED)])
def test_a_deletion_that_is_overtaken_in_its_last_try_tells_what_is_stored(world, attempts, ends, outcome) -> None:
    users = soft(world.table, attempts=attempts)
    run(world, users.create(User(id="u1", name="Ann")))
    others = soft(world.other)

    def change() -> None:
        world.other.of(User).update(KEY.ignore_version(), User.name.set("Bob"))

    def end() -> None:
        if ends == "hard delete":
            world.other.of(User).delete(KEY.ignore_version())
        elif ends == "soft delete":
            world.other_db.run(others.delete(KEY))
        else:
            change()

    steps = [Step(Deliver(), UPDATES, nth=number, before=("end" if number == attempts else "change",)) for number in range(1, attempts + 1)]
    world.follow(*steps, change=change, end=end)
    assert run(world, users.delete(KEY)).outcome is outcome


def test_a_loaded_item_that_is_gone_is_not_found_in_one_try(world) -> None:
    users = soft(world.table, attempts=1)
    loaded = run(world, users.create(User(id="u1", name="Ann")))
    world.other.of(User).delete(KEY.ignore_version())
    assert run(world, users.delete(loaded)).outcome is NOT_FOUND


def test_what_cannot_work_is_refused(world) -> None:
    with pytest.raises(sw.InvalidRequest, match="leave deleted_at out"):
        run(world, soft(world.table).create(User(id="u1", deleted_at=datetime.now(UTC))))
    with pytest.raises(sw.InvalidRequest, match="leave if_version out"):
        run(world, soft(world.table).delete(KEY.if_version(7)))
    with pytest.raises(sw.InvalidRequest, match="switched off"):
        soft(world.other_db.table(world.table.name, birth=None))
    with pytest.raises(sw.InvalidRequest, match="time to live"):
        SoftDeletes(world.table, Plain, deleted_at=Plain.deleted_at, expires=Plain.deleted_at, lateness_seconds_most=0)
    with pytest.raises(sw.InvalidRequest, match="from 0 on"):
        soft(world.table, lateness_seconds_most=-1)
    with pytest.raises(sw.InvalidRequest, match="not for ever"):
        soft(world.table, lateness_seconds_most=float("nan"))
