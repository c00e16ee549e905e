"""Claims that do not agree with the items are found and mended; fresh ones are left alone, whatever a scan shows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.schedules.world import TABLE

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.claim_repair import ClaimFault, ClaimFinding, repair_claims, verify_claims
from surewrite.testing.faults import Conflict, Deliver, LoseAnswer, Step, Where

TRANSACTIONS = pytest.mark.needs("transactions honour tokens")
COMMITS = Where(operations=("TransactWriteItems",))
SCANS = Where(operations=("Scan",))
GETS = Where(operations=("GetItem",))
STRAY, MISSING, TAKEN = ClaimFault


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="USER"):
    id: Attribute[str]
    email: Attribute[str | None] = sw.unique(default=None)
    revision: Attribute[int | None] = sw.version()


class Plain(VersionedEntity, discriminator="PLAIN", partition_key="PLAIN#{id}", sort_key="PLAIN"):
    id: Attribute[str]
    revision: Attribute[int | None] = sw.version()


A, B = User.key_of("a"), User.key_of("b")


def user_item(name: str, email: str) -> dict[str, Any]:
    return {"pk": {"S": f"USER#{name}"}, "sk": {"S": "USER"}, "_type": {"S": "USER"}, "id": {"S": name}, "email": {"S": email}}


def claim_item(email: str, owner: str) -> dict[str, Any]:
    return {
        "pk": {"S": f"UNIQUE#USER#email#{email}"},
        "sk": {"S": "CLAIM"},
        "_type": {"S": "SUREWRITE_CLAIM"},
        "_claimed": {"S": f"USER#email#{email}"},
        "_entity": {"S": "USER"},
        "_field": {"S": "email"},
        "_owner": {"S": owner},
        "_s": {"S": "-:strangestamp"},
    }


def run(world: Any, operation: Any) -> Any:
    found = world.db.run(operation)
    return world.run(found) if world.kind == "asyncio" else found


def put(world: Any, *items: dict[str, Any]) -> None:
    for item in items:
        world.service.execute("PutItem", {"TableName": TABLE, "Item": item})


def finding(fault: ClaimFault, email: str, item: Any, holder: Any = None, *, repaired: bool = False) -> ClaimFinding:
    return ClaimFinding(fault, "email", f"USER#email#{email}", item, holder, repaired=repaired)


@TRANSACTIONS
async def test_what_agrees_is_clean(db, shop) -> None:
    await shop.of(User).create(User(id="a", email="m1"))
    await shop.of(User).create(User(id="b"))
    report = await db.run(verify_claims(shop, User))
    assert (report.items, report.claims, report.findings, report.clean) == (2, 1, (), True)


@TRANSACTIONS
async def test_items_stored_before_the_field_was_unique_get_their_claims(db, shop, store) -> None:
    await store(user_item("a", "m1"))
    await store(user_item("b", "m2"))
    assert not (await db.run(verify_claims(shop, User))).clean
    report = await db.run(repair_claims(shop, User))
    assert set(report.findings) == {finding(MISSING, "m1", A, repaired=True), finding(MISSING, "m2", B, repaired=True)}
    assert report.clean
    assert (await db.run(verify_claims(shop, User))).findings == ()
    assert (await shop.of(User).try_create(User(id="c", email="m1"))).taken == (sw.TakenValue("email", A),)


@TRANSACTIONS
async def test_stray_claims_are_deleted(db, shop, store) -> None:
    await shop.of(User).create(User(id="a", email="m1"))
    await store(claim_item("m2", '["USER#a","USER"]'))
    await store(claim_item("m3", '["USER#gone","USER"]'))
    found = {finding(STRAY, "m2", A), finding(STRAY, "m3", User.key_of("gone"))}
    assert set((await db.run(repair_claims(shop, User, dry_run=True))).findings) == found
    assert set((await db.run(verify_claims(shop, User))).findings) == found
    assert (await db.run(repair_claims(shop, User))).clean
    assert (await db.run(verify_claims(shop, User))).findings == ()
    assert await shop.of(User).create(User(id="gone", email="m2"))


@TRANSACTIONS
async def test_a_stray_claim_makes_room_for_the_item_that_has_the_value(db, shop, store) -> None:
    await store(user_item("a", "m1"))
    await store(claim_item("m1", '["USER#gone","USER"]'))
    report = await db.run(repair_claims(shop, User))
    assert report.findings == (finding(STRAY, "m1", User.key_of("gone"), repaired=True), finding(MISSING, "m1", A, repaired=True))


async def test_a_value_that_two_items_have_is_told_and_left_to_people(db, shop, store) -> None:
    await store(user_item("a", "m1"))
    await store(user_item("b", "m1"))
    await store(claim_item("m1", '["USER#a","USER"]'))
    report = await db.run(repair_claims(shop, User))
    assert report.findings == (finding(TAKEN, "m1", B, A),)
    assert not report.clean


@pytest.mark.parametrize("repair", [False, pytest.param(True, marks=TRANSACTIONS)])
async def test_a_value_that_two_items_have_and_none_has_claimed_is_told_in_the_same_run(db, shop, store, repair) -> None:
    await store(user_item("a", "x"))
    await store(user_item("b", "x"))
    missing, taken = (await db.run(repair_claims(shop, User, dry_run=not repair))).findings
    assert (missing.fault, missing.repaired) == (MISSING, repair)
    assert (taken.fault, taken.holder, taken.repaired) == (TAKEN, missing.item, False)
    assert {missing.item, taken.item} == {A, B}


async def test_a_claim_that_names_no_item_of_the_type_is_told_and_left(db, shop, store) -> None:
    await store(claim_item("m1", "nonsense"))
    report = await db.run(repair_claims(shop, User))
    assert report.findings == (finding(STRAY, "m1", None),)


async def test_a_type_without_unique_fields_is_refused(db, shop) -> None:
    with pytest.raises(sw.InvalidRequest, match="Plain has no unique field"):
        await db.run(verify_claims(shop, Plain))


def test_progress_tells_what_was_found_so_far(world) -> None:
    put(world, user_item("a", "m1"))
    told: list[tuple[int, int, int]] = []
    run(world, verify_claims(world.db.table(TABLE), User, progress=lambda report: told.append((report.claims, report.items, len(report.findings)))))
    assert told == [(0, 0, 0), (0, 1, 1)]


def test_c1_a_fresh_claim_is_never_deleted_though_the_scan_shows_no_item(world) -> None:
    """The claims are read after a create, its item is looked at before: then the create is seen whole when it is looked at again."""
    users = world.other.of(User)
    world.follow(
        Step(Deliver(), GETS, nth=1, before=("deleted",)),
        Step(Deliver(), GETS, nth=2, before=("created",)),
        deleted=lambda: users.delete(A.ignore_version()),
        created=lambda: users.create(User(id="a", email="m1")),
    )
    users.create(User(id="a", email="m1"))
    report = run(world, repair_claims(world.db.table(TABLE), User))
    assert report.findings == ()
    assert users.try_create(User(id="b", email="m1")).taken == (sw.TakenValue("email", A),)


def test_c1_a_repair_that_meets_a_write_gives_way(world) -> None:
    """Between the look and the repair the owner takes the value after all: the check refuses, and the claim stays."""
    users = world.other.of(User)
    users.create(User(id="a"))
    put(world, claim_item("m1", '["USER#a","USER"]'))
    world.follow(Step(Deliver(), COMMITS, nth=1, before=("taken",)), taken=lambda: users.update(A.ignore_version(), User.email.set("m1")))
    report = run(world, repair_claims(world.db.table(TABLE), User))
    assert report.findings == (finding(STRAY, "m1", A),)
    assert users.try_create(User(id="b", email="m1")).taken == (sw.TakenValue("email", A),)


def test_a_repair_that_others_keep_from_its_items_is_told_as_not_made_and_the_rest_is_looked_at(world) -> None:
    put(world, claim_item("m0", '["USER#gone","USER"]'), user_item("a", "m1"), user_item("b", "m2"))
    world.follow(Step(Conflict(), COMMITS, times=None))
    report = run(world, repair_claims(world.db.table(TABLE), User))
    assert set(report.findings) == {finding(STRAY, "m0", User.key_of("gone")), finding(MISSING, "m1", A), finding(MISSING, "m2", B)}
    world.no_more_faults()
    assert run(world, repair_claims(world.db.table(TABLE), User)).clean
    assert run(world, verify_claims(world.db.table(TABLE), User)).findings == ()


def test_c1_no_claim_is_made_for_a_value_that_the_item_has_no_more(world) -> None:
    put(world, user_item("a", "m1"))
    world.follow(Step(Deliver(), COMMITS, nth=1, before=("moved",)), moved=lambda: world.other.of(User).update(A.ignore_version(), User.email.set("m2")))
    report = run(world, repair_claims(world.db.table(TABLE), User))
    assert report.findings == (finding(MISSING, "m1", A),)
    assert world.other.of(User).create(User(id="b", email="m1"))


def test_a_repair_whose_answer_is_lost_is_told_as_made(world) -> None:
    put(world, user_item("a", "m1"))
    world.follow(Step(LoseAnswer(), COMMITS, nth=1))
    assert run(world, repair_claims(world.db.table(TABLE), User)).findings == (finding(MISSING, "m1", A, repaired=True),)
    assert world.effects == 1


def test_items_written_while_they_are_looked_at_are_no_fault(world) -> None:
    users = world.other.of(User)
    users.create(User(id="a", email="m1"))
    world.follow(
        Step(Deliver(), Where(operations=("BatchGetItem",)), nth=1, before=("moved",)), moved=lambda: users.update(A.ignore_version(), User.email.set("m2"))
    )
    assert run(world, verify_claims(world.db.table(TABLE), User)).findings == ()
