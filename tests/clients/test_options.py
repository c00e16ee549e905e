"""The options of a connection: its clock, its chance, and its limits of time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from tests.clients.entities import Note, Session

import surewrite as sw

HOUR = timedelta(hours=1)


async def test_ids_come_from_the_chance_that_was_given(connect, shop_name, stored) -> None:
    numbers = count()
    db = connect(chance=sw.Chance(number=lambda: 0.0, new_id=lambda: f"id-{next(numbers)}"))
    await db.table(shop_name).of(Note).create(Note(id="a"))
    assert (await stored("NOTE#a", "TEXT"))["_s"] == {"S": "-:id-0"}


async def test_two_writes_never_have_one_stamp(shop, stored) -> None:
    stamps = set()
    for _ in range(20):
        await shop.of(Note).put(Note(id="a"))
        stamps.add((await stored("NOTE#a", "TEXT"))["_s"]["S"])
    assert len(stamps) == 20


@pytest.mark.parametrize("hours", [-2, 2])
async def test_expiry_is_judged_by_the_clock_of_the_service(connect, shop_name, hours) -> None:
    """A machine whose clock is off by more than the life of an item; what it knows of the service's clock is from its first answer."""
    clock = sw.Clock(wall=lambda: time.time() + hours * 3600, monotonic=time.monotonic)
    sessions = connect(clock=clock).table(shop_name).of(Session)
    await sessions.get_or_none(Session.key_of("warm"))
    live = await sessions.create(Session(id="live", ends_at=datetime.now(UTC) + HOUR))
    await sessions.create(Session(id="dead", ends_at=datetime.now(UTC) - HOUR))
    assert await sessions.get_or_none(Session.key_of("live")) == live
    assert await sessions.get_or_none(Session.key_of("dead")) is None
    assert not await sessions.try_create(Session(id="live"))
    assert await sessions.try_create(Session(id="dead"))


@pytest.mark.real_time
@pytest.mark.parametrize("place_name", ["moto"])
async def test_nobody_at_the_address_is_told_before_the_deadline_passes_twice(place, connect) -> None:
    db = connect("http://127.0.0.1:9", deadline=0.05, timeout=0.05)
    begin = time.monotonic()
    with pytest.raises(sw.ConnectionFailed, match="trying again is safe"):
        await db.table("shop").of(Note).get(Note.key_of("a"))
    with pytest.raises(sw.ConnectionFailed, match="trying again is safe"):
        await db.table("shop").of(Note).create(Note(id="a"))
    with pytest.raises(sw.ConnectionFailed):
        await db.execute("ListTables", {})
    assert time.monotonic() - begin < 2.0


@pytest.mark.parametrize("limit", ["timeout", "deadline"])
@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), None, "2", True])
@pytest.mark.parametrize("place_name", ["memory"])
async def test_a_limit_that_is_no_time_is_refused(connect, limit, seconds) -> None:
    with pytest.raises(sw.InvalidRequest, match=f"{limit} is a number of seconds above 0, not {seconds!r}"):
        connect(**{limit: seconds})


@pytest.mark.parametrize("place_name", ["memory"])
async def test_limits_may_be_endless(connect) -> None:
    shop = connect(timeout=float("inf"), deadline=float("inf")).table("shop")
    await shop.create_table(Note)
    assert await shop.of(Note).try_create(Note(id="a"))
