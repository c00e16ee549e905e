"""What code reads of the real machine is seen with its place, and the library itself reads nothing."""

from __future__ import annotations

import logging
import random
import secrets
import sys
import time
import uuid
from datetime import UTC, date, datetime
from functools import partial

import pytest

from surewrite.testing.real_reads import watch_real_reads
from surewrite.testing.runs import run_by_seed
from surewrite.testing.scenarios.catalogue import SCENARIOS


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (time.time, "time.time"),
        (time.monotonic, "time.monotonic"),
        (lambda: datetime.now(UTC), "datetime.now"),
        (date.today, "date.today"),
        (uuid.uuid4, "uuid.uuid4"),
        (partial(secrets.token_hex, 4), "secrets.token_hex"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_read_of_clock_or_chance_is_told_with_its_place(read, name: str) -> None:
    _, reads = watch_real_reads(read)
    assert [text.partition(" (test_real_reads.py:")[0] for text in reads] == [name]


def test_shared_chance_is_seen() -> None:
    before = random.getstate()
    try:
        _, reads = watch_real_reads(lambda: random.choice("ab"))
    finally:
        random.setstate(before)
    assert len(reads) == 1
    assert reads[0].startswith("random.choice (test_real_reads.py:")


def test_the_result_comes_through_and_each_place_is_told_once() -> None:
    def twice() -> int:
        for _ in range(2):
            time.time()
        return 7

    result, reads = watch_real_reads(twice)
    assert result == 7
    assert reads == (f"time.time (test_real_reads.py:{twice.__code__.co_firstlineno + 2})",)


def test_a_generator_of_ones_own_and_log_lines_are_no_reads() -> None:
    _, reads = watch_real_reads(lambda: (random.Random(1).random(), logging.getLogger("quiet").error("x")))
    assert reads == ()


def test_nothing_is_looked_at_afterwards_nor_where_a_profiler_runs() -> None:
    def profiler(*_: object) -> None:
        """Another profiler."""

    with pytest.raises(ZeroDivisionError):
        watch_real_reads(lambda: 1 / 0)
    assert sys.getprofile() is None
    sys.setprofile(profiler)
    try:
        _, reads = watch_real_reads(time.time)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert reads == ()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_scenario_of_the_library_reads_anything_real(scenario) -> None:
    run_by_seed(scenario, "1")  # the engine gives each kind of table a real id, once in a process
    _, reads = watch_real_reads(lambda: run_by_seed(scenario, "1"))
    assert reads == ()
