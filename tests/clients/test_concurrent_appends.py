"""The question about concurrent appends: both of its answers, and what the asker's own plan loses."""

from __future__ import annotations

import json

import pytest
from tests.typing.accepted.entities import Result, Results

import surewrite as sw

KEY = Results.key_of("ID123")
FAIL, PASS = Result(1, "fail"), Result(2, "pass")


@pytest.fixture
def results_table(make_table, running):
    return running.run(make_table(Results, key=("ID",), discriminator=None))


@pytest.fixture
def results(results_table):
    return results_table.of(Results)


async def test_an_append_needs_no_read_and_loses_nothing(results, together) -> None:
    records = [{"id": "ID123", "resultsFromApi": [[number, "pass"], [number + 100, "fail"]]} for number in range(6)]
    event = {"Records": [{"body": json.dumps(record)} for record in records]}

    async def store(record: dict) -> Results:
        body = json.loads(record["body"])
        return await results.upsert(Results.key_of(body["id"]), Results.results.append(*(Result(*each) for each in body["resultsFromApi"])))

    await together(*(lambda record=record: store(record) for record in event["Records"]))
    stored = (await results.get(KEY)).results
    assert sorted(result.result_id for result in stored) == sorted([*range(6), *range(100, 106)])


async def test_the_free_read_of_an_append_shows_the_whole_list(results) -> None:
    await results.upsert(KEY, Results.results.append(FAIL))
    assert (await results.upsert(KEY, Results.results.append(PASS))).results == [FAIL, PASS]


async def test_the_placeholder_of_another_program_is_appended_to(results, results_table, db) -> None:
    entry = {"M": {"result_id": {"N": "1"}, "result": {"S": "fail"}}}
    await db.execute("PutItem", {"TableName": results_table.name, "Item": {"ID": {"S": "ID123"}, "RESULTS": {"L": [entry]}}})
    assert (await results.update(KEY, Results.results.append(PASS))).results == [FAIL, PASS]


async def test_an_append_to_no_placeholder_is_not_found_unless_it_may_make_one(results) -> None:
    with pytest.raises(sw.ItemNotFound):
        await results.update(KEY, Results.results.append(FAIL))
    assert (await results.upsert(KEY, Results.results.append(FAIL))).results == [FAIL]


async def test_reading_and_putting_back_blindly_loses_the_other_s_results(results) -> None:
    await results.create(Results(id="ID123"))
    mine, theirs = await results.get(KEY), await results.get(KEY)
    await results.put(theirs.replace(results=[*theirs.results, FAIL]))
    await results.put(mine.replace(results=[*mine.results, PASS]))
    assert (await results.get(KEY)).results == [PASS]


@pytest.mark.real_time
async def test_reading_first_is_right_if_the_put_demands_what_was_read(results, together) -> None:
    await results.create(Results(id="ID123"))
    mine, theirs = await results.get(KEY), await results.get(KEY)
    await results.put(theirs.replace(results=[*theirs.results, FAIL]), if_unchanged=True)
    with pytest.raises(sw.VersionConflict):
        await results.put(mine.replace(results=[*mine.results, PASS]), if_unchanged=True)

    def appended(number: int):
        return lambda: results.modify(KEY, lambda found: found.replace(results=[*found.results, Result(number, "pass")]), attempts=50)

    await together(*(appended(number) for number in range(10, 14)))
    assert sorted(result.result_id for result in (await results.get(KEY)).results) == [1, 10, 11, 12, 13]
