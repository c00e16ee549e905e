"""Counts by table and type, and advice where one item stays contended."""

from __future__ import annotations

import warnings

import pytest

import surewrite as sw
from surewrite.core.contention import ADVICE, KEYS_MAX, WINDOW, Contention, Statistics, TypeCounts


def key(number: int = 0) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"item {number}"}}


def contend(counts: TypeCounts, turns: int, *, items: int = 1, kind="version") -> None:
    """Each turn is one write that lost and one that went through, for each item."""
    for number in range(items):
        for _ in range(turns):
            counts.end(key(number), 1)
            counts.conflict(key(number), kind)


def test_types_and_tables_are_counted_apart_and_nothing_counts_as_nothing() -> None:
    contention = Contention()
    contention.of("shop", "Account").end(key(), 3)
    assert contention.statistics("shop", "Account") == Statistics(writes=1, attempts=3)
    assert contention.statistics("shop", "Order") == contention.statistics("other", "Account") == Statistics()


@pytest.mark.parametrize("kind", ["version", "transaction"])
def test_an_item_that_stays_contended_is_told_once(kind) -> None:
    counts = Contention().of("shop", "Account")
    with pytest.warns(sw.SurewriteWarning, match=r"Account: .*sw\.recipes\.") as told:
        contend(counts, 10 * WINDOW, items=2, kind=kind)
    assert len(told) == 1
    assert counts.advice is not None
    assert "\n" not in counts.advice


def test_one_burst_of_conflicts_is_no_reason_for_another_design() -> None:
    counts = Contention().of("shop", "Account")
    for _ in range(5):
        contend(counts, WINDOW // 2)
        for _ in range(2 * WINDOW):
            counts.end(key(), 1)
    assert counts.advice is None


def test_conflicts_that_are_few_among_many_writes_are_no_reason() -> None:
    counts = Contention().of("shop", "Account")
    for _ in range(10 * WINDOW):
        counts.conflict(key(), "version")
        counts.end(key(), 1)
        counts.end(key(), 1)
    assert counts.advice is None


def test_conflicts_spread_over_many_items_are_no_reason_and_take_bounded_memory() -> None:
    counts = Contention().of("shop", "Account")
    for number in range(100 * KEYS_MAX):
        counts.end(key(number), 1)
        counts.conflict(key(number), "version")
    assert (counts.advice, counts.conflicts) == (None, 100 * KEYS_MAX)
    assert len(counts.keys) == KEYS_MAX


def test_an_item_that_calmed_down_is_watched_no_longer() -> None:
    counts = Contention().of("shop", "Account")
    contend(counts, 1)
    for _ in range(3 * WINDOW):
        counts.end(key(), 1)
    assert not counts.keys


def test_where_warnings_are_errors_the_write_still_gets_its_word_and_the_advice_stands_in_the_statistics() -> None:
    counts = Contention().of("shop", "Account")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contend(counts, 10 * WINDOW)
    assert counts.advice is not None


def test_every_recipe_that_advice_names_is_there() -> None:
    named = {word.strip(",.") for text in ADVICE.values() for word in text.split() if word.startswith("sw.recipes.")}
    assert named
    for name in named:
        assert getattr(sw.recipes, name.removeprefix("sw.recipes."))
