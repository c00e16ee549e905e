"""Real revisions, late, twice and out of order, through outbox and relay: the end state is exactly right at the source and at the subscriber."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.recipes.earthquakes import LIVES_ENDED_BY_KILL, TABLE, Load, Mirror, Published, Quake, expected, run_all

import surewrite as sw
from surewrite.recipes.outbox import OutboxRow

# All 1,659 lines by eight processes take minutes.
WHOLE = os.environ.get("SUREWRITE_TEST_LOAD") == "1"


@pytest.mark.slow
@pytest.mark.real_time
def test_processes_that_lose_answers_and_are_killed_leave_exactly_the_right_state(tmp_path: Path) -> None:
    target = f"file:{tmp_path / 'quakes.db'}"
    load = Load(target, processes=8 if WHOLE else 3, lines_most=2000 if WHOLE else 40, seed=20140415)
    with sw.connect(target) as db:
        table = db.table(TABLE)
        table.create_table(Quake)
        assert run_all(load) == LIVES_ENDED_BY_KILL * load.processes
        right = expected(load)
        for entity in (Quake, Mirror):
            assert {item.id: (item.updated, item.magnitude, item.status) for item in table.of(entity).scan(consistent=True)} == right
        assert list(table.of(OutboxRow).scan(consistent=True)) == []
        revisions = {quake.id: quake.revision for quake in table.of(Quake).scan(consistent=True)}
        published = {each.key: each.numbers for each in table.of(Published).scan(consistent=True)}
        assert published == {id_: list(range(1, revision + 1)) for id_, revision in revisions.items()}
