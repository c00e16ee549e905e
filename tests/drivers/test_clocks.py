"""Where drivers take time, chance and ids from."""

from __future__ import annotations

import re
import time

import pytest

from surewrite.drivers.clocks import Chance, Clock, ServerOffset


def test_the_default_clock_is_the_one_of_the_machine() -> None:
    clock = Clock()
    assert abs(clock.wall() - time.time()) < 60
    first = clock.monotonic()
    assert clock.monotonic() >= first
    assert clock.async_sleep is None


def test_r20_ids_are_new_each_time_and_have_twelve_characters_of_the_stamp_alphabet() -> None:
    ids = [Chance().new_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{12}", text) for text in ids)


def test_numbers_are_shares() -> None:
    numbers = [Chance().number() for _ in range(1_000)]
    assert all(0.0 <= number < 1.0 for number in numbers)
    assert len(set(numbers)) > 900


@pytest.mark.parametrize(("difference", "seconds"), [(0.0, 0.0), (0.9, 0.0), (-1.0, 0.0), (1.1, 1.1), (-360.0, -360.0)])
def test_a_difference_of_up_to_a_second_is_noise(difference: float, seconds: float) -> None:
    offset = ServerOffset()
    assert not offset.known
    offset.learn(1_000.0 + difference, sent=1_000.0, read=1_000.0)
    assert offset.known
    assert offset.seconds == pytest.approx(seconds)


def test_the_offset_is_what_the_latest_answer_told() -> None:
    offset = ServerOffset()
    offset.learn(2_000.0, sent=400.0, read=400.2)
    offset.learn(1_000.0, sent=400.0, read=400.2)
    assert offset.seconds == 1_000.0 - 400.2


def test_an_answer_that_lay_unread_in_a_frozen_process_tells_nothing() -> None:
    """Found by the simulator: a thawed client read an old answer, took its time for now, and signed requests that were refused as expired."""
    offset = ServerOffset()
    offset.learn(1_000.0, sent=999.9, read=1_382.0)
    assert (offset.known, offset.seconds) == (False, 0.0)


def test_an_answer_during_which_the_wall_clock_was_set_back_tells_nothing() -> None:
    offset = ServerOffset()
    offset.learn(1_000.0, sent=1_000.0, read=940.0)
    assert (offset.known, offset.seconds) == (False, 0.0)


def test_an_answer_that_lay_unread_for_seconds_does_not_set_the_clock_back() -> None:
    """Found by the simulator: a process that stood still for three seconds then read what had expired two seconds before."""
    offset = ServerOffset()
    offset.learn(1_000.0, sent=1_000.0, read=1_003.0)
    assert (offset.known, offset.seconds) == (True, 0.0)
    ahead = ServerOffset()
    ahead.learn(1_600.0, sent=1_000.0, read=1_000.0)
    ahead.learn(1_610.0, sent=1_010.0, read=1_014.0)
    assert ahead.seconds == 600.0
