"""Unique fields over every place, through both clients: claims are made, moved and released with the item that has the value."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity

TRANSACTIONS = pytest.mark.needs("transactions honour tokens")


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="PROFILE"):
    id: Attribute[str]
    email: Attribute[str | None] = sw.unique(default=None, normalise=str.casefold)
    name: Attribute[str] = sw.attribute(default="")
    visits: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Page(Entity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]
    site: Attribute[str | None] = sw.attribute(default=None)
    path: Attribute[str | None] = sw.unique(default=None, scope="{site}")


class Seat(Entity, discriminator="SEAT", partition_key="SEAT#{id}", sort_key="SEAT"):
    id: Attribute[str]
    number: Attribute[int] = sw.unique(stored_as="no")
    guest: Attribute[str] = sw.unique(default_factory=lambda: "nobody in particular")


class Post(VersionedEntity, discriminator="POST", partition_key="POST#{id}", sort_key="POST"):
    id: Attribute[str]
    slug: Attribute[str] = sw.unique(released_by="deleted_at")
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    revision: Attribute[int | None] = sw.version()


A, B = User.key_of("a"), User.key_of("b")
ANY_A, ANY_B = A.ignore_version(), B.ignore_version()


@pytest.fixture
def claimed(db, shop_name):
    """``await claimed()`` gives the claims that are stored, with the first part of their owner's key."""

    async def read() -> dict[str, str]:
        items = (await db.execute("Scan", {"TableName": shop_name, "ConsistentRead": True}))["Items"]
        rows = [item for item in items if item["_type"]["S"] == "SUREWRITE_CLAIM"]
        return {row["pk"]["S"].removeprefix("UNIQUE#"): row["_owner"]["S"].split('"')[1] for row in rows}

    return read


@TRANSACTIONS
async def test_a_create_claims_its_values_and_one_that_is_taken_is_told_with_its_owner(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="Ann@x"))
    assert await claimed() == {"USER#email#ann@x": "USER#a"}
    with pytest.raises(sw.ValueTaken) as raised:
        await users.create(User(id="b", email="ann@X"))
    assert (raised.value.field, raised.value.owner) == ("email", A)
    refused = await users.try_create(User(id="b", email="ANN@x"))
    assert not refused
    assert refused.reason is sw.RefusalReason.VALUE_TAKEN
    assert refused.taken == (sw.TakenValue("email", A),)
    assert await users.get_or_none(B) is None
    assert await claimed() == {"USER#email#ann@x": "USER#a"}


@TRANSACTIONS
async def test_an_item_that_exists_is_told_before_its_value(shop) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="x"))
    await users.create(User(id="b", email="y"))
    with pytest.raises(sw.AlreadyExists):
        await users.create(User(id="b", email="x"))


async def test_a_field_without_a_value_claims_nothing(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a"))
    await users.create(User(id="b"))
    assert await claimed() == {}


@TRANSACTIONS
async def test_a_put_of_a_loaded_entity_moves_the_claim(shop, claimed) -> None:
    users = shop.of(User)
    user = await users.create(User(id="a", email="m1"))
    user = await users.put(user.replace(email="m2"))
    assert await claimed() == {"USER#email#m2": "USER#a"}
    user = await users.put(user.replace(email=None))
    assert await claimed() == {}
    user = await users.put(user.replace(name="Ann"))
    assert user == await users.get(A)


@TRANSACTIONS
async def test_a_put_that_moves_no_claim_keeps_it(shop, claimed) -> None:
    users = shop.of(User)
    user = await users.create(User(id="a", email="m1"))
    user = await users.put(user.replace(name="Ann", email="M1"))
    assert (user.revision, user.email) == (2, "M1")
    assert await claimed() == {"USER#email#m1": "USER#a"}


@TRANSACTIONS
async def test_a_stale_put_is_a_version_conflict_and_moves_nothing(shop, claimed) -> None:
    users = shop.of(User)
    stale = await users.create(User(id="a", email="m1"))
    await users.update(ANY_A, User.email.set("m2"))
    with pytest.raises(sw.VersionConflict) as raised:
        await users.put(stale.replace(email="m3"))
    assert raised.value.item.email == "m2"
    assert await claimed() == {"USER#email#m2": "USER#a"}


@TRANSACTIONS
async def test_an_update_by_key_moves_the_claim_and_tells_what_it_left(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1", visits=2))
    left = await users.update(ANY_A, User.email.set("m2"), User.visits.add(3))
    assert (left.email, left.visits, left.revision) == ("m2", 5, 2)
    assert left == await users.get(A)
    assert await users.put(left.replace(name="Ann")) == await users.get(A)
    assert await claimed() == {"USER#email#m2": "USER#a"}


@TRANSACTIONS
async def test_an_update_that_gives_no_value_releases_the_claim(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    assert (await users.update(ANY_A, User.email.remove())).email is None
    assert await claimed() == {}


@TRANSACTIONS
async def test_an_update_of_other_fields_leaves_claims_alone(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    await users.update(ANY_A, User.visits.add(1))
    assert await claimed() == {"USER#email#m1": "USER#a"}


@TRANSACTIONS
async def test_an_update_to_a_value_of_another_item_changes_nothing(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    await users.create(User(id="b", email="m2"))
    refused = await users.try_update(ANY_B, User.email.set("m1"), User.visits.add(1))
    assert refused.taken == (sw.TakenValue("email", A),)
    assert (await users.get(B)).visits == 0
    assert await claimed() == {"USER#email#m1": "USER#a", "USER#email#m2": "USER#b"}


@TRANSACTIONS
async def test_an_update_by_version_or_of_a_loaded_entity_demands_it(shop, claimed) -> None:
    users = shop.of(User)
    user = await users.create(User(id="a", email="m1"))
    user = await users.update(user, User.email.set("m2"))
    assert (await users.update(A.if_version(2), User.email.set("m3"))).revision == 3
    with pytest.raises(sw.VersionConflict):
        await users.update(A.if_version(2), User.email.set("m4"))
    with pytest.raises(sw.VersionConflict):
        await users.update(user, User.email.set("m4"))
    assert await claimed() == {"USER#email#m3": "USER#a"}


@TRANSACTIONS
async def test_an_update_of_what_is_not_stored_claims_nothing(shop, claimed) -> None:
    with pytest.raises(sw.ItemNotFound):
        await shop.of(User).update(ANY_A, User.email.set("m1"))
    assert await claimed() == {}


@TRANSACTIONS
async def test_a_condition_that_fails_is_told_as_that(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    with pytest.raises(sw.ConditionFailed):
        await users.update(ANY_A, User.email.set("m2"), condition=User.visits > 5)
    assert await claimed() == {"USER#email#m1": "USER#a"}


@TRANSACTIONS
async def test_the_old_item_is_told_where_it_is_asked_for(shop) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    old = await users.update(ANY_A, User.email.set("m2"), returning="old")
    assert (old.email, old.revision) == ("m1", 1)
    loaded = await users.get(A)
    assert await users.put(loaded.replace(email="m3"), returning="old") == loaded


@TRANSACTIONS
async def test_an_upsert_makes_a_whole_item_or_moves_the_claim_of_the_stored_one(shop, claimed) -> None:
    users = shop.of(User)
    made = await users.upsert(ANY_A, User.email.set("m1"), User.visits.add(2))
    assert (made.email, made.visits, made.name, made.revision) == ("m1", 2, "", 1)
    changed = await users.upsert(ANY_A, User.email.set("m2"), User.visits.add(2))
    assert (changed.email, changed.visits, changed.revision) == ("m2", 4, 2)
    assert changed == await users.get(A)
    assert await claimed() == {"USER#email#m2": "USER#a"}
    refused = await users.try_upsert(ANY_B, User.email.set("m2"))
    assert refused.taken == (sw.TakenValue("email", A),)
    assert await users.get_or_none(B) is None


@TRANSACTIONS
async def test_a_delete_releases_the_claim_and_tells_what_it_removed(shop, claimed) -> None:
    users = shop.of(User)
    first = await users.create(User(id="a", email="m1"))
    second = await users.create(User(id="b", email="m2"))
    assert await users.delete(ANY_A) == first
    assert await users.delete(second.replace(name="not saved")) == second
    assert await claimed() == {}
    with pytest.raises(sw.ItemNotFound):
        await users.delete(ANY_A)
    await users.create(User(id="c", email="m1"))


@TRANSACTIONS
async def test_a_stale_delete_releases_nothing(shop, claimed) -> None:
    users = shop.of(User)
    stale = await users.create(User(id="a", email="m1"))
    await users.update(ANY_A, User.visits.add(1))
    with pytest.raises(sw.VersionConflict):
        await users.delete(stale)
    assert await claimed() == {"USER#email#m1": "USER#a"}


@TRANSACTIONS
async def test_modify_moves_the_claim(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    assert (await users.modify(A, lambda user: user.replace(email="m2"))).revision == 2
    assert await claimed() == {"USER#email#m2": "USER#a"}


@TRANSACTIONS
async def test_a_claim_of_its_own_is_no_collision(shop, db, shop_name, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    await db.execute("DeleteItem", {"TableName": shop_name, "Key": {"pk": {"S": "USER#a"}, "sk": {"S": "PROFILE"}}})
    assert (await users.create(User(id="a", email="m1"))).revision == 1
    assert await claimed() == {"USER#email#m1": "USER#a"}


@TRANSACTIONS
async def test_a_blind_put_of_a_type_without_a_version_releases_what_was_stored(shop, claimed) -> None:
    pages = shop.of(Page)
    await pages.put(Page(id="p", site="s", path="/a"))
    await pages.put(Page(id="p", site="s", path="/b"))
    assert await claimed() == {"PAGE#path#s#/b": "PAGE#p"}
    loaded = await pages.get(Page.key_of("p"))
    await pages.update(Page.key_of("p"), Page.path.set("/c"))
    with pytest.raises(sw.VersionConflict):
        await pages.put(loaded.replace(path="/d"), if_unchanged=True)
    assert await claimed() == {"PAGE#path#s#/c": "PAGE#p"}


@TRANSACTIONS
async def test_a_scope_keeps_values_apart_and_moves_the_claim_when_it_changes(shop, claimed) -> None:
    pages = shop.of(Page)
    await pages.create(Page(id="p", site="one", path="/a"))
    await pages.create(Page(id="q", site="two", path="/a"))
    await pages.create(Page(id="r", path="/a"))
    refused = await pages.try_update(Page.key_of("q"), Page.site.set("one"))
    assert refused.taken == (sw.TakenValue("path", Page.key_of("p")),)
    await pages.update(Page.key_of("q"), Page.site.set("three"))
    assert await claimed() == {"PAGE#path#one#/a": "PAGE#p", "PAGE#path#three#/a": "PAGE#q"}


@TRANSACTIONS
async def test_each_of_several_taken_values_is_told(shop) -> None:
    seats = shop.of(Seat)
    await seats.create(Seat(id="1", number=1, guest="Ann"))
    await seats.create(Seat(id="2", number=2, guest="Bob"))
    refused = await seats.try_create(Seat(id="3", number=1, guest="Bob"))
    assert set(refused.taken) == {sw.TakenValue("number", Seat.key_of("1")), sw.TakenValue("guest", Seat.key_of("2"))}


@TRANSACTIONS
async def test_while_it_is_released_an_item_claims_nothing(shop, claimed) -> None:
    posts = shop.of(Post)
    post = await posts.create(Post(id="p", slug="s"))
    at = datetime.fromisoformat("2026-11-29T18:00:00+00:00")
    post = await posts.update(post, Post.deleted_at.set(at))
    assert await claimed() == {}
    await posts.create(Post(id="q", slug="s"))
    refused = await posts.try_update(post, Post.deleted_at.remove())
    assert refused.taken == (sw.TakenValue("slug", Post.key_of("q")),)


@TRANSACTIONS
async def test_bulk_writes_claim_one_by_one_and_batches_are_refused(shop, claimed) -> None:
    pages = shop.of(Page)
    results = await pages.put_many([Page(id=str(number), site="s", path=f"/{number % 2}") for number in range(3)], parallel=1)
    assert results[0].item == await pages.get(Page.key_of("0"))
    assert [bool(result) for result in results] == [True, True, False]
    assert results[2].outcome.taken == (sw.TakenValue("path", Page.key_of("0")),)
    with pytest.raises(sw.InvalidRequest, match=r"Page\.path is unique"):
        await pages.unsafe_batch_put([Page(id="9", site="s", path="/9")])
    with pytest.raises(sw.InvalidRequest, match=r"Page\.path is unique"):
        await pages.unsafe_batch_delete([Page.key_of("1")])
    await pages.delete_many([Page.key_of("0"), Page.key_of("1")])
    assert await claimed() == {}


@pytest.mark.parametrize("change", [User.email.set(User.email.if_not_exists("m2")), User.email.set(User.name)])
@TRANSACTIONS
async def test_a_change_whose_value_is_not_known_is_refused(shop, change) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    with pytest.raises(sw.InvalidRequest, match="must be known before it is made"):
        await users.update(ANY_A, change)
    with pytest.raises(sw.InvalidRequest, match="must be known before it is made"):
        await users.upsert(ANY_A, change)


@TRANSACTIONS
async def test_queries_and_scans_do_not_meet_claims(shop) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    assert [user.id async for user in users.scan()] == ["a"]


@TRANSACTIONS
@pytest.mark.real_time  # a round after another writer came between pauses first
async def test_users_that_race_for_a_value_leave_one_owner(shop, claimed, together) -> None:
    users = shop.of(User)
    for name in "abcd":
        await users.create(User(id=name))
    found = await together(*(lambda name=name: users.try_update(User.key_of(name).ignore_version(), User.email.set("m1")) for name in "abcd"))
    for error in found:
        if isinstance(error, Exception):
            raise error
    assert [bool(outcome) for outcome in found].count(True) == 1
    assert list(await claimed()) == ["USER#email#m1"]


@TRANSACTIONS
@pytest.mark.real_time  # a round after another writer came between pauses first
async def test_writers_that_race_on_one_item_leave_one_claim(shop, claimed, together) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m0"))
    found = await together(*(lambda number=number: users.update(ANY_A, User.email.set(f"m{number}")) for number in range(1, 5)))
    assert [type(each) for each in found] == [User] * 4
    assert await claimed() == {f"USER#email#{(await users.get(A)).email}": "USER#a"}
    assert (await users.get(A)).revision == 5


# ------------------------------------------------------------------------------------------------------- transactions


@TRANSACTIONS
async def test_a_transaction_claims_moves_and_releases(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    await users.create(User(id="b", email="m2"))
    tx = shop.transaction()
    tx.update(ANY_A, User.email.set("m3"))
    tx.delete(ANY_B)
    made = tx.create(User(id="c", email="m1"))
    result = await tx.commit()
    assert result.item_for(made).email == "m1"
    assert await claimed() == {"USER#email#m3": "USER#a", "USER#email#m1": "USER#c"}


@TRANSACTIONS
async def test_two_items_swap_their_values_in_one_transaction(shop, claimed) -> None:
    users = shop.of(User)
    first = await users.create(User(id="a", email="m1"))
    second = await users.create(User(id="b", email="m2"))
    tx = shop.transaction()
    tx.put(first.replace(email="m2"))
    tx.put(second.replace(email="m1"))
    await tx.commit()
    assert await claimed() == {"USER#email#m2": "USER#a", "USER#email#m1": "USER#b"}


@TRANSACTIONS
async def test_a_cancelled_transaction_tells_which_write_met_a_taken_value(shop, claimed) -> None:
    users = shop.of(User)
    await users.create(User(id="a", email="m1"))
    tx = shop.transaction()
    fine = tx.create(User(id="b", email="m2"))
    taken = tx.create(User(id="c", email="m1"))
    result = await tx.try_commit()
    assert not result
    assert result.refusal_of(fine) is None
    assert result.refusal_of(taken).taken == (sw.TakenValue("email", A),)
    assert await claimed() == {"USER#email#m1": "USER#a"}


async def test_two_writes_of_a_transaction_that_take_one_value_are_an_error_before_anything_is_sent(shop, claimed) -> None:
    tx = shop.transaction()
    tx.create(User(id="a", email="m1"))
    tx.create(User(id="b", email="M1"))
    with pytest.raises(sw.InvalidRequest, match=r"take one value of User\.email"):
        await tx.commit()
    assert await claimed() == {}


async def test_claims_count_toward_the_actions_of_a_transaction(shop) -> None:
    tx = shop.transaction()
    for number in range(51):
        tx.create(User(id=str(number), email=str(number)))
    with pytest.raises(sw.InvalidRequest, match="102 actions, claims of unique values among them"):
        await tx.commit()


@TRANSACTIONS
async def test_a_named_transaction_takes_what_needs_no_reading(shop, claimed) -> None:
    tx = shop.transaction(token=f"register {uuid4()}")
    tx.create(User(id="a", email="m1"))
    await tx.commit()
    loaded = await shop.of(User).get(A)
    tx = shop.transaction(token=f"change {uuid4()}")
    tx.put(loaded.replace(email="m2"))
    await tx.commit()
    assert await claimed() == {"USER#email#m2": "USER#a"}
    tx = shop.transaction(token=f"change again {uuid4()}")
    tx.update(ANY_A, User.email.set("m3"))
    with pytest.raises(sw.InvalidRequest, match="known only by reading"):
        await tx.commit()


@TRANSACTIONS
async def test_what_a_transaction_left_of_an_update_is_not_told(shop) -> None:
    await shop.of(User).create(User(id="a", email="m1"))
    tx = shop.transaction()
    marker = tx.update(ANY_A, User.email.set("m2"))
    result = await tx.commit()
    with pytest.raises(sw.InvalidRequest, match="a transaction returns no item"):
        result.item_for(marker)


# ------------------------------------------------------------------------------------------------------------- layouts


class ByNumber(Entity, discriminator="BY_NUMBER", partition_key="{owner}", sort_key="{number}"):
    owner: Attribute[str]
    number: Attribute[int]
    code: Attribute[str | None] = sw.unique(default=None)


class ByBytes(Entity, discriminator="BY_BYTES", partition_key="{owner}", sort_key="{raw}"):
    owner: Attribute[str]
    raw: Attribute[bytes]
    code: Attribute[str | None] = sw.unique(default=None)


@pytest.mark.parametrize(("entity", "second", "key"), [(ByNumber, 7, ("owner", "number")), (ByBytes, b"7", ("owner", "raw"))])
@TRANSACTIONS
async def test_claims_stand_in_tables_of_any_sort_key(make_table, entity, second, key) -> None:
    items = (await make_table(entity, key=key)).of(entity)
    name = key[1]
    await items.create(entity(owner="o", code="c", **{name: second}))
    refused = await items.try_create(entity(owner="p", code="c", **{name: second}))
    assert refused.taken == (sw.TakenValue("code", entity.key_of("o", second)),)
    await items.delete(entity.key_of("o", second))
    await items.create(entity(owner="p", code="c", **{name: second}))
