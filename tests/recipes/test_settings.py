"""Settings that make no sense are refused where they are given, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.settings import plain_name, whole_number

recipes = sw.recipes


class Deleted(Entity, discriminator="DELETED", partition_key="DELETED#{id}", sort_key="DELETED"):
    id: Attribute[str]
    is_deleted: Attribute[bool] = sw.attribute(default=False)
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)


def soft_deletes(table: Any, lateness_seconds_most: Any) -> Any:
    return recipes.SoftDeletes(table, Deleted, deleted_at=Deleted.deleted_at, expires=Deleted.ends_at, lateness_seconds_most=lateness_seconds_most)


def relay(table: Any, attempts: Any) -> Any:
    return recipes.Relay(recipes.Outbox(table, "o"), print, poison="skip", attempts=attempts)


WHOLE_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "block_size": lambda table, value: recipes.HiLo(table, "n", block_size=value),
    "tries of Gapless": lambda table, value: recipes.Gapless(table, "n", tries=value),
    "shards": lambda table, value: recipes.ShardedCounter(table, "n", shards=value),
    "reshard": lambda table, value: recipes.ShardedCounter(table, "n").reshard(value),
    "tries of a sum": lambda table, value: recipes.ShardedCounter(table, "n").exact_sum(tries=value),
    "window_seconds": lambda table, value: recipes.WindowedCounter(table, "n", window_seconds=value),
    "attempts of a relay": relay,
    "buckets": lambda table, value: recipes.Outbox(table, "n", buckets=value),
    "buckets of an epoch": lambda table, value: recipes.Outbox(table, "n", buckets={1: 16, 2: value}),
}

TIME_SPANS: dict[str, Callable[[Any, Any], Any]] = {
    "a lease": lambda table, value: recipes.Lease(table, "n", duration_seconds=value),
    "the lease of effects": lambda table, value: recipes.LeasedEffects(table, "n", after_lost="retake", lease_seconds=value),
    "the lease of a relay": lambda table, value: recipes.Relay(recipes.Outbox(table, "o"), print, poison="skip", lease_seconds=value),
    "publish_timeout_seconds": lambda table, value: recipes.Relay(recipes.Outbox(table, "o"), print, poison="skip", publish_timeout_seconds=value),
    "every_seconds": lambda table, value: recipes.BufferedCounter(table, "n").running(int, every_seconds=value),
    "poll_seconds": lambda table, value: recipes.HiLo(table, "n").prefetching(int, poll_seconds=value),
}

TIME_SPANS_FROM: dict[str, tuple[float, Callable[[Any, Any], Any]]] = {
    "idle_seconds of a relay": (0.0, lambda table, value: recipes.Relay(recipes.Outbox(table, "o"), print, poison="skip").run(stop=bool, idle_seconds=value)),
    "idle_seconds of a writer": (3600.0, lambda table, value: recipes.BufferedCounter(table, "n").forget_writers(idle_seconds=value)),
    "the horizon of a counter": (600.0, lambda table, value: recipes.ExactCounter(table, "n", horizon_seconds=value)),
    "the horizon of a key": (600.0, lambda table, value: recipes.Idempotency(table, "n", horizon_seconds=value)),
    "the horizon of effects": (600.0, lambda table, value: recipes.LeasedEffects(table, "n", after_lost="retake", horizon_seconds=value)),
    "the lateness of soft deletes": (0.0, soft_deletes),
    "the lateness of tombstones": (0.0, lambda _table, value: recipes.Tombstones(Deleted.is_deleted, Deleted.ends_at, value)),
}

WAITS: dict[str, Callable[[Any, Any], Any]] = {
    "acquire": lambda table, value: recipes.Lease(table, "n").acquire(wait_seconds=value),
    "run": lambda table, value: recipes.Lease(table, "n").run(print, wait_seconds=value),
    "a pass": lambda table, value: recipes.Relay(recipes.Outbox(table, "o"), print, poison="skip").run_once(wait_seconds=value),
    "a key": lambda table, value: recipes.Idempotency(table, "n", wait_seconds=value),
    "effects": lambda table, value: recipes.LeasedEffects(table, "n", after_lost="retake", wait_seconds=value),
}

NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "Outbox": recipes.Outbox,
    "Consumer": recipes.Consumer,
    "Idempotency": recipes.Idempotency,
    "LeasedEffects": lambda table, name: recipes.LeasedEffects(table, name, after_lost="retake"),
}


@pytest.mark.parametrize("setting", WHOLE_NUMBERS)
@pytest.mark.parametrize("value", [0, -1, 2.5, 2.0, True, "3", None], ids=repr)
def test_what_counts_is_a_whole_number_from_1(setting: str, value: Any) -> None:
    with sw.connect("memory:") as db, pytest.raises(sw.InvalidRequest, match="whole number"):
        WHOLE_NUMBERS[setting](db.table("shop"), value)


class Tombstoned(Entity, discriminator="TOMBSTONED", partition_key="TOMBSTONED#{id}", sort_key="TOMBSTONED"):
    id: Attribute[str]
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)


def test_a_tombstone_does_not_tell_by_the_time_at_which_it_ends_that_it_is_one() -> None:
    with sw.connect("memory:") as db, pytest.raises(sw.InvalidRequest, match="deleted_at and expires are two fields"):
        recipes.SoftDeletes(db.table("shop"), Tombstoned, deleted_at=Tombstoned.ends_at, expires=Tombstoned.ends_at, lateness_seconds_most=60)


@pytest.mark.parametrize("setting", TIME_SPANS)
@pytest.mark.parametrize("value", [0, -1, True, "3", None, math.inf, math.nan], ids=repr)
def test_a_time_is_a_number_of_seconds_above_0_and_not_for_ever(setting: str, value: Any) -> None:
    with sw.connect("memory:") as db, pytest.raises(sw.InvalidRequest, match="seconds"):
        TIME_SPANS[setting](db.table("shop"), value)


@pytest.mark.parametrize("setting", TIME_SPANS_FROM)
@pytest.mark.parametrize("value", [-1, True, "3600", None, math.inf, math.nan], ids=repr)
def test_a_time_is_not_shorter_than_what_it_has_to_outlast_and_not_for_ever(setting: str, value: Any) -> None:
    least, made = TIME_SPANS_FROM[setting]
    with sw.connect("memory:") as db:
        with pytest.raises(sw.InvalidRequest, match=f"seconds.* from {least:g} on"):
            made(db.table("shop"), value)
        made(db.table("shop"), least)


@pytest.mark.parametrize("setting", WAITS)
def test_a_time_to_wait_is_a_number_of_seconds_from_0_on_also_for_ever(setting: str) -> None:
    with sw.connect("memory:") as db:
        for value in (-1, True, "3", None, math.nan):
            with pytest.raises(sw.InvalidRequest, match="wait_seconds"):
                WAITS[setting](db.table("shop"), value)
        for value in (0, 2.5, math.inf):
            WAITS[setting](db.table("shop"), value)


@pytest.mark.parametrize("recipe", NAMED)
@pytest.mark.parametrize("name", ["", "a#b", None, 5, b"a"], ids=repr)
def test_a_name_is_a_text_that_ends_at_the_sign_of_a_key(recipe: str, name: Any) -> None:
    with sw.connect("memory:") as db, pytest.raises(sw.InvalidRequest, match="has a name"):
        NAMED[recipe](db.table("shop"), name)


def test_what_makes_sense_is_given_back() -> None:
    assert (whole_number(1, "n"), whole_number(5, "n", most=5), plain_name("charge", "n")) == (1, 5, "charge")
    with pytest.raises(sw.InvalidRequest, match="n: a whole number from 1 to 5, not 6"):
        whole_number(6, "n", most=5)
