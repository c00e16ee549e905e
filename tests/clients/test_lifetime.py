"""Connecting, closing, and what may be shared."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.clients.entities import Note, Page

import surewrite as sw
from surewrite.backends.targets import async_backend_for


async def test_connect_sends_nothing(connect) -> None:
    connect("http://127.0.0.1:9")  # nobody listens there


async def test_a_connection_closes_at_the_end_of_its_block(connect, shop_name) -> None:
    async with connect() as db:
        note = await db.table(shop_name).of(Note).create(Note(id="a"))
    assert await connect().table(shop_name).of(Note).get(Note.key_of("a")) == note


async def test_a_connection_may_be_closed_twice(connect) -> None:
    db = connect()
    await db.close()
    await db.close()


async def test_a_closed_connection_says_so(connect, shop_name) -> None:
    db = connect()
    await db.close()
    with pytest.raises(sw.InvalidRequest, match="was closed"):
        await db.table(shop_name).of(Note).get(Note.key_of("a"))


async def test_closing_one_connection_leaves_the_others_open(connect, shop_name) -> None:
    open_still = connect()
    await connect().close()
    assert await open_still.table(shop_name).of(Note).create(Note(id="a"))


async def test_what_one_connection_wrote_another_reads(connect, shop_name) -> None:
    note = await connect().table(shop_name).of(Note).create(Note(id="a"))
    assert await connect().table(shop_name).of(Note).get(Note.key_of("a")) == note


async def test_a_connection_serves_writers_side_by_side(shop, together) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a", rank=0))

    async def count() -> int:
        return [(await notes.update(Note.key_of("a"), Note.rank.add(1))).rank for _ in range(5)]

    results = await together(*(count for _ in range(6)))
    assert sorted(number for numbers in results for number in numbers) == list(range(1, 31))


@pytest.mark.parametrize("target", ["nonsense", "memory", "ftp://127.0.0.1", "file:", 3, object()])
async def test_a_target_that_is_none_is_refused(connect, target) -> None:
    with pytest.raises(sw.InvalidRequest):
        connect(target)


@pytest.mark.parametrize("place_name", ["memory"])
async def test_memory_is_fresh_unless_it_has_a_name(connect, place) -> None:
    await connect("memory:").table("shop").create_table(Note)
    with pytest.raises(sw.InvalidRequest):
        await connect("memory:").table("shop").of(Note).create(Note(id="a"))


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.mark.parametrize("place_name", ["file"])
async def test_a_closed_file_is_left_whole_and_without_its_log(connect, place, tmp_path: Path) -> None:
    db = connect()
    await db.table("shop").create_table(Note)
    await db.table("shop").of(Note).create(Note(id="a"))
    await db.close()
    assert names_in(tmp_path) == ["shop.db"]
    assert await connect().table("shop").of(Note).get(Note.key_of("a")) == Note(id="a")


async def test_an_awaited_connection_serves_several_event_loops_one_after_another(form, place, shop_name) -> None:
    if form == "sync":
        with sw.connect(place.target) as db:
            counted = [db.table(shop_name).of(Note).upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1)).rank for _ in range(3)]
        assert counted == [1, 2, 3]
        return
    db = sw.connect_async(place.target)
    counted = []

    async def count() -> None:
        notes = db.table(shop_name).of(Note)
        counted.append((await notes.upsert(Note.key_of("a"), Note.rank.set(Note.rank.if_not_exists(0) + 1))).rank)

    async def close() -> None:
        await db.close()

    # Loops of other threads, since this test runs on one of its own.
    for body in (count, count, count, close):
        thread = threading.Thread(target=asyncio.run, args=(body(),))
        thread.start()
        await asyncio.to_thread(thread.join)
    assert counted == [1, 2, 3]


class Waiting:
    """A backend that holds an answer back until the caller is cancelled."""

    def __init__(self, inner) -> None:
        self._inner = inner
        self.traits = inner.traits
        self.holds = False
        self.executed = asyncio.Event()

    async def send(self, request, timeout):
        answer = await self._inner.send(request, timeout)
        if self.holds:
            self.executed.set()
            await asyncio.Event().wait()
        return answer

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("form", ["async"])
async def test_a_cancelled_write_is_in_doubt_and_later_told_as_one_s_own(form, connect, place, shop_name) -> None:
    waiting = Waiting(async_backend_for(place.target))
    db = connect(waiting)
    pages = db.table(shop_name).of(Page)
    page = await pages.create(Page(id="a"))
    waiting.holds = True
    save = asyncio.create_task(pages.put(page.replace(text="x")))
    await waiting.executed.wait()
    save.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await save
    assert cancelled.value.plan.verb == "put"
    waiting.holds = False
    with pytest.raises(sw.VersionConflict) as conflict:
        await pages.put(page.replace(text="y"))
    assert conflict.value.own_earlier_write
    assert conflict.value.item.text == "x"


@pytest.mark.parametrize("form", ["async"])
async def test_after_a_cancelled_call_the_next_one_gets_its_own_answer(form, db, shop) -> None:
    notes = shop.of(Note)
    for key in ("a", "b"):
        await notes.create(Note(id=key, text=key))
    for _ in range(10):
        read = asyncio.create_task(notes.get(Note.key_of("a")))
        await asyncio.sleep(0)
        read.cancel()
        # In memory the answer is there at once, so there is nothing to cancel.
        with suppress(asyncio.CancelledError):
            await read
        assert (await notes.get(Note.key_of("b"))).text == "b"
