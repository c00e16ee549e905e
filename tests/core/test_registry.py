"""The registry of writes in doubt: kept for the horizon, bounded, forgotten when settled."""

from __future__ import annotations

from surewrite.core import limits
from surewrite.core.effects import Moment
from surewrite.core.registry import ENTRIES_MAX, HORIZON_SECONDS, DoubtRegistry
from surewrite.core.token_life import FENCE_SECONDS_MAX, SEND_SECONDS_MAX, SERVER_DRIFT_SECONDS_MAX, TokenLife


def test_a_write_in_doubt_is_known_until_the_horizon_has_passed() -> None:
    doubts = DoubtRegistry()
    doubts.add("1:a", 100.0)
    assert doubts.holds("1:a", 100.0)
    assert doubts.holds("1:a", 100.0 + HORIZON_SECONDS)
    assert not doubts.holds("1:a", 100.1 + HORIZON_SECONDS)
    assert not doubts.holds("1:b", 100.0)


def test_a_later_attempt_prolongs_it() -> None:
    doubts = DoubtRegistry()
    doubts.add("1:a", 100.0)
    doubts.add("1:a", 200.0)
    assert doubts.holds("1:a", 200.0 + HORIZON_SECONDS)
    assert len(doubts) == 1


def test_a_settled_write_is_forgotten_and_forgetting_twice_is_no_error() -> None:
    doubts = DoubtRegistry()
    doubts.add("1:a", 100.0)
    doubts.discard("1:a")
    doubts.discard("1:a")
    assert not doubts.holds("1:a", 100.0)


def test_the_oldest_go_first_where_there_are_too_many() -> None:
    doubts = DoubtRegistry()
    for number in range(ENTRIES_MAX + 2):
        doubts.add(f"1:{number}", 100.0)
    assert len(doubts) == ENTRIES_MAX
    assert not doubts.holds("1:1", 100.0)
    assert doubts.holds("1:2", 100.0)


def test_the_numbers_of_a_token_leave_a_late_copy_no_time_after_it() -> None:
    assert SEND_SECONDS_MAX == 240.0
    assert SEND_SECONDS_MAX + HORIZON_SECONDS < limits.TRANSACTION_TOKEN_SECONDS
    assert FENCE_SECONDS_MAX < limits.TRANSACTION_TOKEN_SECONDS


def moment(wall: float, monotonic: float, ahead: float = 0.0, *, known: bool = True) -> Moment:
    return Moment(1_000.0 + wall, 1_000.0 + wall + ahead, monotonic, known)


def test_a_token_is_as_old_as_the_clock_says_that_says_most() -> None:
    life = TokenLife(moment(0, 0))
    assert life.elapsed_seconds(moment(5, 3)) == 5.0
    assert life.elapsed_seconds(moment(3, 5)) == 5.0
    assert life.elapsed_seconds(moment(3, 3, 4)) == 7.0
    assert life.may_send(moment(239, 239))
    assert not life.may_send(moment(241, 1))
    assert not life.may_send(moment(1, 241))
    assert life.fence_proves(moment(530, 530))
    assert not life.fence_proves(moment(541, 1))


def test_a_service_clock_that_moved_ends_every_proof() -> None:
    life = TokenLife(moment(0, 0, 100))
    assert life.may_send(moment(1, 1, 100 + SERVER_DRIFT_SECONDS_MAX))
    for ahead in (101 + SERVER_DRIFT_SECONDS_MAX, 99 - SERVER_DRIFT_SECONDS_MAX):
        assert not life.may_send(moment(1, 1, ahead))
        assert not life.fence_proves(moment(1, 1, ahead))


def test_what_the_first_answer_tells_of_the_service_clock_is_no_drift() -> None:
    life = TokenLife(moment(0, 0, known=False))
    assert life.may_send(moment(1, 1, known=False))
    assert life.may_send(moment(2, 2, 200))
    assert life.elapsed_seconds(moment(2, 2, 200)) == 2.0
    assert not life.may_send(moment(3, 3, 240))
