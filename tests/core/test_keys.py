"""Keys: what a template makes of fields, that two items never share a key, and what a key demands of the version."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

import surewrite as sw
from surewrite import Attribute, DefinitionError, Entity, InvalidRequest, Target, VersionedEntity, VersionedKey
from surewrite.core.annotations import codec_for
from surewrite.core.codecs import Undecodable
from surewrite.core.keys import Demand
from surewrite.core.templates import KeyTemplate


class Kind(Enum):
    A = "a"
    B = "b#c"


TYPES: dict[str, Any] = {
    "id": str, "n": int, "price": Decimal, "at": datetime, "day": date, "ref": UUID, "kind": Kind, "raw": bytes, "ok": bool, "other": str, "ratio": float,
}  # fmt: skip
CODECS = {name: codec_for(annotation) for name, annotation in TYPES.items()}
NOON = datetime(2026, 11, 29, 18, 45, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-567812345678")


def template(text: str, keyword: str = "partition_key") -> KeyTemplate:
    return KeyTemplate("Thing", keyword, text, CODECS)


MADE: list[tuple[str, dict[str, Any], tuple[str, str]]] = [
    ("ALL", {}, ("S", "ALL")),
    ("{id}", {"id": "x#y"}, ("S", "x#y")),
    ("{n}", {"n": 12}, ("N", "12")),
    ("{price}", {"price": Decimal("1.50")}, ("N", "1.5")),
    ("{raw}", {"raw": b"a"}, ("B", "YQ==")),
    ("{at}", {"at": NOON}, ("S", "2026-11-29T18:45:00.000000Z")),
    ("USER#{id}", {"id": "x"}, ("S", "USER#x")),
    ("USER#{id}", {"id": "x#y"}, ("S", "USER#x#y")),
    ("{id}#{n}", {"id": "x", "n": -3}, ("S", "x#-3")),
    ("{id}#END", {"id": "x"}, ("S", "x#END")),
    ("{n:020d}", {"n": 7}, ("S", "00000000000000000007")),
    ("{n:x}", {"n": 7}, ("S", "7")),
    ("{price:.2f}", {"price": Decimal("1.5")}, ("S", "1.50")),
    ("{ratio}#", {"ratio": 0.1}, ("S", "0.1#")),
    ("DAY#{day}", {"day": date(2026, 11, 29)}, ("S", "DAY#2026-11-29")),
    ("{at}#{ref}", {"at": NOON, "ref": ID}, ("S", f"2026-11-29T18:45:00.000000Z#{ID}")),
    ("{kind}|{id}", {"kind": Kind.B, "id": "x"}, ("S", "b#c|x")),
    ("{{{id}}}", {"id": "x"}, ("S", "{x}")),
    ("a{{b{{{id}", {"id": "x"}, ("S", "a{b{x")),
    ("{id}#{n}#{id}", {"id": "x", "n": 1}, ("S", "x#1#x")),
    ("{id}ab{n}", {"id": "xa", "n": 1}, ("S", "xaab1")),
    ("{n:5d}", {"n": 3}, ("S", "    3")),
]


@pytest.mark.parametrize(("text", "values", "made"), MADE)
def test_a_template_makes_a_key_and_reads_its_fields_back(text: str, values: dict[str, Any], made: tuple[str, str]) -> None:
    found = template(text)
    assert found.render(values) == made
    assert found.stored == made[0]
    assert found.parse(made[1]) == values


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("{id}", {"id": ""}, "must not be empty"),
    ("{raw}", {"raw": b""}, "must not be empty"),
    ("USER#{id}", {"id": ""}, "must not be empty"),
    ("{id}#{n}", {"id": "x#y", "n": 1}, "holds '#'"),
    ("{id}#END", {"id": "x#EN#END"}, "'#END'"),
    ("{id}aa{n}", {"id": "xa", "n": 1}, "'aa'"),
    ("{kind}#{id}", {"kind": Kind.B, "id": "x"}, "'#'"),
    ("{price:.2f}", {"price": Decimal("1.005")}, "does not read back"),
    ("{n:,d}", {"n": 1000}, "does not read back"),
    ("{at:%Y-%m}", {"at": NOON}, "does not read back"),
    ("{id:.3}", {"id": "abcd"}, "does not read back"),
    ("{id:>5}", {"id": "abcd"}, "does not read back"),
    ("{id:d}", {"id": "abcd"}, "does not read back"),
]


@pytest.mark.parametrize(("text", "values", "reason"), REFUSED)
def test_a_value_that_could_share_a_key_with_another_is_refused(text: str, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        template(text).render(values)


@pytest.mark.parametrize(
    ("keyword", "text", "value", "accepted"),
    [
        ("partition_key", "{id}", "x" * 2048, True),
        ("partition_key", "{id}", "x" * 2049, False),
        ("partition_key", "{id}", "é" * 1024, True),
        ("partition_key", "{id}", "é" * 1025, False),
        ("partition_key", "P#{id}", "x" * 2046, True),
        ("partition_key", "P#{id}", "x" * 2047, False),
        ("sort_key", "{id}", "x" * 1024, True),
        ("sort_key", "{id}", "x" * 1025, False),
        ("sort_key", "{raw}", b"x" * 1024, True),
        ("sort_key", "{raw}", b"x" * 1025, False),
    ],
)
def test_a_key_is_held_to_the_size_limits_of_the_service(keyword: str, text: str, value: Any, accepted: bool) -> None:
    values = {"id": value, "raw": value}
    if accepted:
        template(text, keyword).render(values)
        return
    with pytest.raises(InvalidRequest, match=r"the key has \d+ bytes"):
        template(text, keyword).render(values)


@pytest.mark.parametrize(
    ("text", "foreign"),
    [("USER#{id}", "MAIL#x"), ("USER#{id}", "USER#"), ("{id}#{n}", "x"), ("{id}#{n}", "x#y"), ("{id}#END", "x#END!"), ("{id}#{id}", "x#y"), ("ALL", "ALL!")],
)
def test_a_key_that_the_template_does_not_make_is_not_read(text: str, foreign: str) -> None:
    with pytest.raises(Undecodable):
        template(text).parse(foreign)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be empty"),
        ("{id}{n}", "{id} and {n} stand side by side"),
        ("{nope}", "has no field 'nope'; it has id, n"),
        ("{}", "is no field"),
        ("{0}", "is no field"),
        ("{id.x}", "is no field"),
        ("{id!r}", "takes a format"),
        ("{n:{id}}", "takes a format"),
        ("{id", "brace"),
        ("{ok}", "stored as BOOL"),
        ("P#{raw}", "stored as B"),
    ],
)
def test_a_template_from_which_no_key_can_be_made_or_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(reason)):
        template(text)


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="DAY#{day}#{name}"):
    name: Attribute[str]
    day: Attribute[date]


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    revision: Attribute[int | None] = sw.version()


class Event(Entity, discriminator="EVENT", partition_key="EVENTS", sort_key="{id}"):
    id: Attribute[str]


DAY = date(2026, 11, 29)


def test_key_values_are_taken_in_template_order_or_by_name() -> None:
    by_place = Tally.key_of("x", DAY)
    assert by_place == Tally.key_of(day=DAY, name="x") == Tally.key_of("x", day=DAY)
    assert by_place.partition == ("S", "TALLY#x")
    assert by_place.sort == ("S", "DAY#2026-11-29#x")
    assert Tally.partition_of("x") == Tally.partition_of(name="x")
    assert Tally.partition_of("x").partition == ("S", "TALLY#x")
    assert Event.partition_of().partition == ("S", "EVENTS")


def test_the_key_of_an_entity_is_made_of_its_fields() -> None:
    tally = Tally(name="x", day=DAY)
    assert Tally.key_of(tally) == Tally.key_of("x", DAY)
    assert Tally.key_of(tally).values == Tally.key_of("x", DAY).values
    assert Tally.partition_of(tally) == Tally.partition_of("x")
    assert Account.key_of(Account(id="a")).if_version(3) == Account.key_of("a").if_version(3)


anything: Any = Tally


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: anything.key_of("x"), "needs 'day'"),
        (lambda: anything.key_of("x", DAY, 3), "takes 2 values, not 3"),
        (lambda: anything.key_of("x", DAY, extra=3), "takes no 'extra'"),
        (lambda: anything.key_of("x", DAY, name="x"), "got 'name' twice"),
        (lambda: anything.key_of("x", "2026-11-29"), "Tally.day takes date, not str"),
        (lambda: anything.key_of(None, DAY), "Tally.name takes str, not None"),
        (lambda: anything.key_of("", DAY), "must not be empty"),
        (anything.partition_of, "needs 'name'"),
        (lambda: anything.partition_of("x", DAY), "takes 1 values, not 2"),
        (lambda: Account.key_of(1, 2, 3), "takes 1 values, not 3"),
        (lambda: Account.key_of(1), "Account.id takes str, not int"),
        (lambda: Account.key_of(Tally(name="x", day=DAY)), "Account.id takes str, not Tally"),
        (lambda: Tally.key_of(Tally(name="x", day=DAY), DAY), "Tally.name takes str, not Tally"),
    ],
)
def test_wrong_key_values_are_refused_with_the_call_to_write(make: Callable[[], Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        make()


def test_equal_values_make_equal_keys_whatever_their_spelling() -> None:
    class Priced(Entity, discriminator="PRICED", partition_key="{price}"):
        price: Attribute[Decimal]

    assert Priced.key_of(Decimal("1.50")) == Priced.key_of(Decimal("1.5"))
    assert hash(Priced.key_of(Decimal("1.50"))) == hash(Priced.key_of(Decimal("1.5")))
    assert Priced.key_of(Decimal(1)) == Priced.key_of(1)
    assert Priced.key_of(Decimal(1)) != Priced.key_of(2)


def test_a_key_says_what_it_demands_of_the_version() -> None:
    key = Account.key_of("a")
    assert isinstance(key, VersionedKey)
    assert not isinstance(key, Target)
    assert key.if_version(3).demand == Demand(checked=True, version=3)
    assert key.if_version(None).demand == Demand(checked=True, version=None)
    assert key.ignore_version().demand == Demand(checked=False)
    assert key.if_version(3) != key.if_version(4)
    assert len({key.if_version(3), key.if_version(3), key.ignore_version()}) == 2
    assert isinstance(Event.key_of("a"), Target)
    assert Event.key_of("a").demand is None


@pytest.mark.parametrize("version", [True, "3", 1.0])
def test_a_demand_that_is_no_number_is_refused(version: Any) -> None:
    with pytest.raises(InvalidRequest, match="if_version takes an int or None"):
        Account.key_of("a").if_version(version)


def test_a_key_shows_how_it_is_written() -> None:
    assert repr(Tally.key_of("x", DAY)) == "Tally.key_of(name='x', day=datetime.date(2026, 11, 29))"
    assert repr(Account.key_of("a").if_version(3)) == "Account.key_of(id='a').if_version(3)"
    assert repr(Account.key_of("a").ignore_version()) == "Account.key_of(id='a').ignore_version()"
    assert repr(Event.partition_of()) == "Event.partition_of()"


def test_keys_are_immutable_and_can_be_copied_and_pickled() -> None:
    for key in (Tally.key_of("x", DAY), Account.key_of("a").if_version(3), Tally.partition_of("x")):
        assert copy.deepcopy(key) == key
        assert pickle.loads(pickle.dumps(key)) == key
        with pytest.raises((AttributeError, TypeError)):
            key.entity = Tally  # type: ignore[misc, assignment]


def test_a_class_without_templates_has_no_keys() -> None:
    class Base(Entity):
        id: Attribute[str]

    for make in (lambda: Base.key_of("x"), lambda: Base.partition_of("x"), lambda: Base(id="x")):
        with pytest.raises(InvalidRequest, match="a base to inherit from"):
            make()
