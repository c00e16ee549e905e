"""Unique fields of a type that is soft-deleted: a tombstone claims nothing, a creation over it claims again, and an expired item leaves nothing taken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.schedules.world import START_SECONDS, TABLE

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.claim_repair import verify_claims
from surewrite.recipes.soft_deletes import DeletionOutcome, SoftDeletes

TRANSACTIONS = pytest.mark.needs("transactions honour tokens")


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="USER"):
    id: Attribute[str]
    email: Attribute[str | None] = sw.unique(default=None, released_by="ends_at")
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")
    version: Attribute[int | None] = sw.version()


A, B = User.key_of("a"), User.key_of("b")
ENDED = datetime.fromtimestamp(START_SECONDS, UTC) - timedelta(seconds=10)


def soft(table: Any) -> SoftDeletes[User]:
    return SoftDeletes(table, User, deleted_at=User.deleted_at, expires=User.ends_at, lateness_seconds_most=60)


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


@TRANSACTIONS
@pytest.mark.parametrize("loaded", [True, False])
async def test_a_soft_delete_releases_and_another_item_may_have_the_value(db, shop, loaded) -> None:
    users = soft(shop)
    user = await db.run(users.create(User(id="a", email="m1")))
    assert (await db.run(users.delete(user if loaded else A))).outcome is DeletionOutcome.DELETED
    await db.run(users.create(User(id="b", email="m1")))
    assert (await db.run(verify_claims(shop, User))).findings == ()


@TRANSACTIONS
async def test_a_creation_over_a_tombstone_claims_its_values(db, shop) -> None:
    users = soft(shop)
    await db.run(users.create(User(id="a", email="m1")))
    await db.run(users.delete(A))
    await db.run(users.create(User(id="b", email="m1")))
    refused = await db.run(users.try_create(User(id="a", email="m1")))
    assert refused.taken == (sw.TakenValue("email", B),)
    assert (await db.run(users.create(User(id="a", email="m2")))).version == 3
    assert (await db.run(verify_claims(shop, User))).findings == ()


def test_an_expired_item_claims_nothing_and_is_replaced_by_an_upsert_that_does(world) -> None:
    users = world.of(User)
    users.create(User(id="a", email="m1", ends_at=ENDED))
    world.other.of(User).create(User(id="b", email="m1"))
    assert users.get_or_none(A) is None
    assert users.try_upsert(A.ignore_version(), User.email.set("m1")).taken == (sw.TakenValue("email", B),)
    made = users.upsert(A.ignore_version(), User.email.set("m2"))
    assert (made.email, made.ends_at, made.version) == ("m2", None, 1)
    assert made == users.get(A)
    assert run(world, verify_claims(world.db.table(TABLE), User)).findings == ()


def test_a_create_over_an_expired_item_claims(world) -> None:
    users = world.of(User)
    users.create(User(id="a", email="m1", ends_at=ENDED))
    users.create(User(id="a", email="m2"))
    assert world.other.of(User).try_create(User(id="b", email="m2")).taken == (sw.TakenValue("email", A),)
    assert world.other.of(User).create(User(id="c", email="m1"))
