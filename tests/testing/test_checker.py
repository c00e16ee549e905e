"""Histories of one item against small models: yes, no with the smallest offending part, or out of budget."""

from __future__ import annotations

import math

from surewrite.testing.checker import Event, NotPossible, OutOfBudget, Possible, check_history
from surewrite.testing.models import counter, register


def write(value: str, began: float, ended: float, **more: object) -> Event:
    return Event("write", began, ended, value, who="w", **more)


def read(value: str | None, began: float, ended: float) -> Event:
    return Event("read", began, ended, result=value, observes=True, who="r")


def test_reads_in_the_order_of_writes_are_possible() -> None:
    verdict = check_history(register(), [write("a", 0, 1), read("a", 2, 3), write("b", 4, 5), read("b", 6, 7)])
    assert isinstance(verdict, Possible)
    assert verdict.order == (0, 1, 2, 3)


def test_two_calls_at_one_time_may_stand_in_either_order() -> None:
    assert check_history(register(), [write("a", 0, 10), write("b", 0, 10), read("a", 11, 12)])
    assert check_history(register(), [write("a", 0, 10), write("b", 0, 10), read("b", 11, 12)])


def test_a_read_that_goes_back_is_not_possible_and_the_explanation_leaves_out_what_it_does_not_need() -> None:
    history = [write("a", 0, 1), read("a", 1.2, 1.3), write("b", 2, 3), read("b", 4, 5), read("a", 6, 7), write("c", 8, 9), read("c", 10, 11)]
    verdict = check_history(register(), history)
    assert isinstance(verdict, NotPossible)
    assert [str(event) for event in verdict.events] == ["0.000 to 1.000  w  write 'a'", "2.000 to 3.000  w  write 'b'", "6.000 to 7.000  r  read = 'a'"]
    assert "no order of these explains what was seen of the register" in str(verdict)


def test_a_write_in_doubt_may_take_effect_later_or_never() -> None:
    doubt = write("b", 2, math.inf, required=False, until=50)
    assert check_history(register(), [write("a", 0, 1), doubt, read("a", 3, 4), read("b", 5, 6)])
    assert check_history(register(), [write("a", 0, 1), doubt, read("a", 3, 4), read("a", 60, 61)])


def test_a_write_in_doubt_does_not_take_effect_after_its_horizon() -> None:
    doubt = write("b", 2, math.inf, required=False, until=50)
    assert not check_history(register(), [write("a", 0, 1), doubt, read("a", 60, 61), read("b", 62, 63)])


def test_only_a_write_that_may_repeat_explains_a_value_that_came_back() -> None:
    rest = [write("b", 2, 3), read("b", 4, 5), read("a", 6, 7)]
    assert check_history(register(), [write("a", 0, 1, repeats=True, until=50), *rest])
    assert not check_history(register(), [write("a", 0, 1), *rest])


def test_a_refusal_shows_what_was_stored() -> None:
    assert not check_history(register(), [write("a", 0, 1), Event("refused change", 2, 3, observes=True)])
    assert check_history(register(), [Event("refused change", 0, 1, observes=True), write("a", 2, 3)])


def test_a_counter_counts_what_was_told() -> None:
    adds = [Event("add", 0, 1, 2), Event("add", 0, 1, 3)]
    assert check_history(counter(), [*adds, Event("read", 2, 3, result=5, observes=True)])
    assert not check_history(counter(), [*adds, Event("read", 2, 3, result=7, observes=True)])


def test_a_search_that_is_given_up_says_so() -> None:
    history = [write(str(number), 0, 100) for number in range(12)] + [read("no such value", 101, 102)]
    verdict = check_history(register(), history, budget=500)
    assert isinstance(verdict, OutOfBudget)
    assert verdict.steps >= 500
