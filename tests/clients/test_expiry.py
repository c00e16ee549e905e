"""Expired is absent: a time to live in the past hides an item that the service has not deleted yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.clients.entities import Lease, Session

import surewrite as sw

KEY = Session.key_of("a")
LEASE = Lease.key_of("a")


def an_hour(sign: int) -> datetime:
    return datetime.now(UTC) + sign * timedelta(hours=1)


PAST, FUTURE = -1, 1


async def test_reads_do_not_see_an_expired_item(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", ends_at=an_hour(PAST)))
    assert await sessions.get_or_none(KEY) is None
    with pytest.raises(sw.ItemNotFound):
        await sessions.get(KEY)


async def test_reads_see_an_item_that_ends_later_or_never(shop) -> None:
    sessions = shop.of(Session)
    later = await sessions.create(Session(id="a", ends_at=an_hour(FUTURE)))
    assert await sessions.get(KEY) == later
    never = await sessions.put(Session(id="a"))
    assert await sessions.get(KEY) == never


async def test_an_item_with_null_for_its_time_to_live_never_ends_for_reads_and_writes(shop, store) -> None:
    """As other programs store a moment that is none."""
    sessions = shop.of(Session)
    await store({"pk": {"S": "SESSION#a"}, "sk": {"S": "SESSION"}, "_type": {"S": "SESSION"}, "id": {"S": "a"}, "ttl": {"NULL": True}})
    assert (await sessions.get(KEY)).ends_at is None
    assert [session.id async for session in sessions.query(Session.partition_of("a"))] == ["a"]
    with pytest.raises(sw.AlreadyExists):
        await sessions.create(Session(id="a"))
    assert (await sessions.update(KEY, Session.hits.add(1))).hits == 1
    session = await sessions.upsert(KEY, Session.hits.add(1), condition=Session.owner.not_exists())
    assert session.hits == 2
    session = await sessions.update(session, Session.hits.add(1), if_unchanged=True)
    assert await sessions.delete(session, if_unchanged=True) == session


async def test_a_moment_is_stored_in_whole_seconds_rounded_up(shop, stored) -> None:
    moment = datetime(2099, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    session = await shop.of(Session).create(Session(id="a", ends_at=moment))
    assert session.ends_at == datetime(2099, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert (await stored("SESSION#a", "SESSION"))["ttl"] == {"N": str(int(moment.timestamp()) + 1)}


async def test_create_takes_the_place_of_an_expired_item(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", owner="old", ends_at=an_hour(PAST)))
    new = await sessions.create(Session(id="a", owner="new", ends_at=an_hour(FUTURE)))
    assert await sessions.get(KEY) == new


async def test_create_does_not_take_an_item_without_a_time_to_live_for_expired(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a"))
    with pytest.raises(sw.AlreadyExists):
        await sessions.create(Session(id="a"))


async def test_an_update_does_not_find_an_expired_item_and_does_not_hand_it_out(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", ends_at=an_hour(PAST)))
    outcome = await sessions.try_update(KEY, Session.hits.add(1))
    assert (outcome.reason, outcome.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)


async def test_a_delete_does_not_find_an_expired_item(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", ends_at=an_hour(PAST)))
    with pytest.raises(sw.ItemNotFound):
        await sessions.delete(KEY)


async def test_a_put_whose_condition_holds_on_nothing_passes_over_an_expired_item(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", owner="old", ends_at=an_hour(PAST)))
    assert await sessions.try_put(Session(id="a", owner="new"), condition=Session.owner.not_exists())
    outcome = await sessions.try_put(Session(id="a", owner="newer"), condition=Session.owner.not_exists())
    assert outcome.existing.owner == "new"


async def test_a_put_whose_condition_needs_an_item_does_not_pass_over_an_expired_one(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", owner="old", ends_at=an_hour(PAST)))
    outcome = await sessions.try_put(Session(id="a"), condition=Session.owner == "old")
    assert (outcome.reason, outcome.item) == (sw.RefusalReason.ITEM_NOT_FOUND, None)


async def test_an_upsert_over_an_expired_item_starts_a_new_one(shop, store, stored) -> None:
    past = {"N": str(int(an_hour(PAST).timestamp()))}
    await store({"pk": {"S": "SESSION#a"}, "sk": {"S": "SESSION"}, "id": {"S": "a"}, "hits": {"N": "41"}, "extra": {"S": "x"}, "ttl": past})
    ends_at = an_hour(FUTURE).replace(microsecond=0)
    session = await shop.of(Session).upsert(KEY, Session.hits.add(1), Session.ends_at.set(ends_at))
    assert session == Session(id="a", hits=1, ends_at=ends_at)
    item = await stored("SESSION#a", "SESSION")
    assert "extra" not in item
    assert item["hits"] == {"N": "1"}


async def test_an_upsert_over_an_expired_item_that_keeps_its_end_out_never_ends(shop) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", hits=41, ends_at=an_hour(PAST)))
    assert await sessions.upsert(KEY, Session.hits.add(1)) == Session(id="a", hits=1)
    assert await sessions.get(KEY) == Session(id="a", hits=1)


async def test_an_order_is_judged_on_the_expired_item_so_that_it_never_moves_back(shop, stored) -> None:
    sessions = shop.of(Session)
    await sessions.create(Session(id="a", seq=100, ends_at=an_hour(PAST)))
    late = await sessions.try_upsert(KEY, Session.seq.set(50), condition=Session.seq.not_exists_or_lt(50))
    assert late.reason is sw.RefusalReason.CONDITION_FAILED
    assert (await stored("SESSION#a", "SESSION"))["seq"] == {"N": "100"}
    newer = await sessions.try_upsert(KEY, Session.seq.set(101), condition=Session.seq.not_exists_or_lt(101))
    assert newer
    assert newer.item.seq == 101


async def test_a_save_of_an_entity_that_expired_since_it_was_read_is_not_found(shop, store, stored) -> None:
    leases = shop.of(Lease)
    lease = await leases.create(Lease(id="a", holder="me", ends_at=an_hour(FUTURE)))
    await store(await stored("LEASE#a", "LEASE") | {"ttl": {"N": str(int(an_hour(PAST).timestamp()))}})
    for write in (leases.put(lease), leases.update(lease, Lease.holder.set("x")), leases.delete(lease)):
        with pytest.raises(sw.ItemNotFound) as missing:
            await write
        assert missing.value.item is None


async def test_versions_start_again_over_an_expired_item(shop) -> None:
    leases = shop.of(Lease)
    first = await leases.create(Lease(id="a", ends_at=an_hour(PAST)))
    second = await leases.upsert(LEASE.ignore_version(), Lease.holder.set("me"))
    assert (first.version, second.version) == (1, 1)
    assert await leases.put(second.replace(holder="you"))
