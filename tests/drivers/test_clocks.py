"""What a driver believes of the service's clock."""

from __future__ import annotations

from surewrite.drivers.clocks import ServerOffset


def test_the_offset_is_what_the_latest_answer_told() -> None:
    offset = ServerOffset()
    offset.learn(1_000.0, sent=400.0, read=400.2)
    assert offset.seconds == 1_000.0 - 400.2


def test_a_difference_of_less_than_a_second_is_noise() -> None:
    offset = ServerOffset()
    offset.learn(1_000.0, sent=1_000.5, read=1_000.9)
    assert offset.seconds == 0.0


def test_an_answer_that_lay_unread_in_a_frozen_process_tells_nothing() -> None:
    """Found by the simulator: a thawed client read an old answer, took its time for now, and signed requests that were refused as expired."""
    offset = ServerOffset()
    offset.learn(1_000.0, sent=999.9, read=1_382.0)
    assert offset.seconds == 0.0


def test_an_answer_during_which_the_wall_clock_was_set_back_tells_nothing() -> None:
    offset = ServerOffset()
    offset.learn(1_000.0, sent=1_000.0, read=940.0)
    assert offset.seconds == 0.0
