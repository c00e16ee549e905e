"""modify, and retry_on_conflict as a decorator and as a loop."""

from __future__ import annotations

import pytest
from tests.clients.entities import Note, Page
from tests.typing.accepted.entities import MailClaim

import surewrite as sw
from surewrite import ConflictKind

pytestmark = pytest.mark.real_time  # a body that runs again pauses first

KEY = Page.key_of("a")


@pytest.fixture
def pages(shop):
    return shop.of(Page)


async def test_modify_writes_what_the_function_makes_of_the_stored_entity(pages) -> None:
    await pages.create(Page(id="a", text="x"))
    changed = await pages.modify(KEY, lambda page: page.replace(text=page.text + "y"))
    assert (changed.text, changed.version) == ("xy", 2)
    assert await pages.get(KEY) == changed


async def test_modify_loses_no_change_of_writers_side_by_side(pages, together) -> None:
    await pages.create(Page(id="a"))
    results = await together(*(lambda: pages.modify(KEY, lambda page: page.replace(reads=page.reads + 1), attempts=50) for _ in range(4)))
    assert [type(result) for result in results] == [Page] * 4
    assert (await pages.get(KEY)).reads == 4


async def test_modify_of_nothing_is_not_found(pages) -> None:
    with pytest.raises(sw.ItemNotFound):
        await pages.modify(KEY, lambda page: page)


async def test_modify_writes_nothing_for_an_entity_returned_as_it_was(pages) -> None:
    page = await pages.create(Page(id="a"))
    assert (await pages.modify(KEY, lambda found: found.replace(text=""))).version == page.version
    assert (await pages.get(KEY)).version == page.version


async def test_modify_works_without_a_version_by_the_stamp(shop) -> None:
    notes = shop.of(Note)
    await notes.create(Note(id="a"))
    seen = []

    def change(note: Note) -> Note:
        seen.append(note.rank)
        return note.replace(rank=(note.rank or 0) + 1)

    assert (await notes.modify(Note.key_of("a"), change)).rank == 1
    assert seen == [None]


async def test_modify_feeds_on_the_item_that_refused_it(pages, overtake) -> None:
    await pages.create(Page(id="a"))
    seen = []

    async def change(page: Page) -> Page:
        seen.append(page.version)
        if len(seen) < 3:
            await overtake("PAGE#a", "PAGE")
        return page.replace(text="x")

    assert (await pages.modify(KEY, change)).version == 4
    assert seen == [1, 2, 3]


async def test_modify_gives_up_after_its_attempts_with_the_conflict(pages, overtake) -> None:
    await pages.create(Page(id="a"))
    seen = []

    async def change(page: Page) -> Page:
        seen.append(page.version)
        await overtake("PAGE#a", "PAGE")
        return page.replace(text="x")

    with pytest.raises(sw.VersionConflict) as conflict:
        await pages.modify(KEY, change, attempts=2)
    assert seen == [1, 2]
    assert conflict.value.item.version == 3


async def test_modify_of_an_item_deleted_meanwhile_is_not_found(pages) -> None:
    page = await pages.create(Page(id="a"))

    async def change(found: Page) -> Page:
        await pages.delete(page)
        return found.replace(text="x")

    with pytest.raises(sw.ItemNotFound):
        await pages.modify(KEY, change)


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5])
async def test_a_number_of_attempts_that_makes_no_sense_is_refused(db, pages, attempts) -> None:
    with pytest.raises(sw.InvalidRequest, match="attempts is how often"):
        await pages.modify(KEY, lambda page: page, attempts=attempts)
    with pytest.raises(sw.InvalidRequest, match="attempts is how often"):
        db.retry_on_conflict(attempts=attempts)


@pytest.mark.parametrize(("result", "says"), [(None, "returned NoneType"), (Page(id="b"), "or a new one"), (Note(id="a"), "returned Note")])
async def test_modify_takes_only_the_entity_changed(pages, result, says) -> None:
    await pages.create(Page(id="a"))
    with pytest.raises(sw.InvalidRequest, match=says):
        await pages.modify(KEY, lambda _: result)


async def test_an_error_of_the_function_passes_and_nothing_is_written(pages) -> None:
    page = await pages.create(Page(id="a"))

    def fail(_: Page) -> Page:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await pages.modify(KEY, fail)
    assert await pages.get(KEY) == page


async def test_the_decorator_runs_the_body_again_on_a_conflict_and_gives_its_result(db, pages, overtake) -> None:
    await pages.create(Page(id="a"))
    runs = []

    @db.retry_on_conflict()
    async def append(text: str, *, also: str) -> Page:
        page = await pages.get(KEY)
        runs.append((text, also))
        if len(runs) < 3:
            await overtake("PAGE#a", "PAGE")
        return await pages.put(page.replace(text=text + also))

    assert (await append("x", also="y")).text == "xy"
    assert runs == [("x", "y")] * 3


async def test_the_decorator_gives_up_after_its_attempts(db, pages, overtake) -> None:
    await pages.create(Page(id="a"))
    runs = []

    @db.retry_on_conflict(attempts=2)
    async def append() -> Page:
        page = await pages.get(KEY)
        runs.append(page.version)
        await overtake("PAGE#a", "PAGE")
        return await pages.put(page.replace(text="x"))

    with pytest.raises(sw.VersionConflict):
        await append()
    assert runs == [1, 2]


async def test_the_loop_runs_the_body_again_and_ends_with_the_first_run_that_holds(db, pages, overtake) -> None:
    await pages.create(Page(id="a"))
    numbers = []
    async for attempt in db.retry_on_conflict(attempts=5):
        with attempt:
            numbers.append(attempt.number)
            page = await pages.get(KEY)
            if attempt.number < 3:
                await overtake("PAGE#a", "PAGE")
            await pages.put(page.replace(text="x"))
    assert numbers == [1, 2, 3]
    assert (await pages.get(KEY)).version == 4


async def test_the_loop_raises_the_conflict_of_its_last_run(db, pages, overtake) -> None:
    await pages.create(Page(id="a"))

    async def loop() -> None:
        async for attempt in db.retry_on_conflict(attempts=2):
            with attempt:
                page = await pages.get(KEY)
                await overtake("PAGE#a", "PAGE")
                await pages.put(page.replace(text="x"))

    with pytest.raises(sw.VersionConflict):
        await loop()
    assert (await pages.get(KEY)).version == 3


async def test_an_answer_is_not_a_conflict(db, shop) -> None:
    claims = shop.of(MailClaim)
    await claims.create(MailClaim(address="a", owner="bob"))
    runs = []

    @db.retry_on_conflict()
    async def claim() -> MailClaim:
        runs.append("claim")
        return await claims.create(MailClaim(address="a", owner="eve"))

    with pytest.raises(sw.AlreadyExists):
        await claim()
    assert runs == ["claim"]


async def test_a_failed_condition_is_run_again_if_the_caller_says_so(db, shop) -> None:
    claims = shop.of(MailClaim)
    await claims.create(MailClaim(address="a", owner="bob"))
    runs = []

    @db.retry_on_conflict(attempts=3, on=ConflictKind.CONDITION)
    async def release() -> MailClaim | None:
        runs.append("release")
        return await claims.delete(MailClaim.key_of("a"), condition=MailClaim.owner == "eve")

    with pytest.raises(sw.ConditionFailed):
        await release()
    assert runs == ["release"] * 3


async def test_a_missing_item_and_any_other_error_are_never_run_again(db, pages) -> None:
    runs = []

    @db.retry_on_conflict(on=ConflictKind.VERSION | ConflictKind.TRANSACTION | ConflictKind.CONDITION)
    async def fail(error: Exception | None) -> Page:
        runs.append(error)
        if error is not None:
            raise error
        return await pages.get(KEY)

    with pytest.raises(sw.ItemNotFound):
        await fail(None)
    for error in (LookupError("mine"), sw.OutcomeUnknown("not known"), sw.Throttled("slow down")):
        with pytest.raises(type(error)):
            await fail(error)
    assert len(runs) == 4


async def test_a_body_whose_first_write_was_applied_is_not_run_again(db, pages, shop, overtake) -> None:
    page = await pages.create(Page(id="a"))
    await overtake("PAGE#a", "PAGE")
    runs = []

    @db.retry_on_conflict()
    async def both() -> None:
        runs.append("both")
        await shop.of(Note).upsert(Note.key_of("a"), Note.lines.append("x"))
        await pages.put(page.replace(text="x"))

    with pytest.raises(sw.VersionConflict) as conflict:
        await both()
    assert runs == ["both"]
    assert any("put them into one transaction" in note for note in conflict.value.__notes__)


async def test_the_decorated_function_keeps_its_name(db) -> None:
    @db.retry_on_conflict()
    async def deposit() -> None: ...

    assert getattr(deposit, "__name__", None) == "deposit"
