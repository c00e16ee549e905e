"""How Python values are stored: the form of each type, what is refused on the way in, what is refused on the way out."""

from __future__ import annotations

import re
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, NewType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from surewrite.core.annotations import codec, codec_for
from surewrite.core.codecs import EXPIRY, Undecodable, Unstorable
from surewrite.errors import DefinitionError


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Size(StrEnum):
    S = "s"
    L = "l"


@dataclass(frozen=True)
class Address:
    city: str
    lines: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    zip_code: int | None = None


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


@dataclass(frozen=True)
class WithoutDefault:
    number: int


@dataclass(frozen=True)
class Counted:
    number: int
    LEAST: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if self.number < self.LEAST:
            raise ValueError("too small")


@dataclass(frozen=True)
class Scaled:
    number: int
    factor: InitVar[int] = 1


UserId = NewType("UserId", str)
ID = UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime(2026, 11, 29, 18, 45, tzinfo=UTC)

FORMS: list[tuple[Any, Any, dict[str, Any]]] = [
    (str, "text", {"S": "text"}),
    (str, "", {"S": ""}),
    (str, "é漢😀", {"S": "é漢😀"}),
    (int, -12, {"N": "-12"}),
    (int, 10**37, {"N": "1" + "0" * 37}),
    (int, 10**125, {"N": "1" + "0" * 125}),
    (Decimal, Decimal("1.50"), {"N": "1.5"}),
    (Decimal, Decimal("-0.00"), {"N": "0"}),
    (Decimal, Decimal("1E+3"), {"N": "1000"}),
    (Decimal, Decimal("100.00"), {"N": "100"}),
    (Decimal, Decimal("1E-130"), {"N": "0." + "0" * 129 + "1"}),
    (float, 0.1, {"N": "0.1"}),
    (float, 1e-7, {"N": "0.0000001"}),
    (float, 1e22, {"N": "10000000000000000000000"}),
    (bool, True, {"BOOL": True}),
    (bytes, b"\x00\xff", {"B": "AP8="}),
    (datetime, NOON, {"S": "2026-11-29T18:45:00.000000Z"}),
    (date, date(2026, 11, 29), {"S": "2026-11-29"}),
    (timedelta, timedelta(days=1, microseconds=1), {"N": "86400.000001"}),
    (timedelta, timedelta(seconds=-0.5), {"N": "-0.5"}),
    (UUID, ID, {"S": str(ID)}),
    (Color, Color.RED, {"S": "red"}),
    (Level, Level.HIGH, {"N": "2"}),
    (Size, Size.L, {"S": "l"}),
    (Literal["a", "b"], "b", {"S": "b"}),
    (Literal[1, 2], 2, {"N": "2"}),
    (UserId, "u1", {"S": "u1"}),
    (Annotated[int, "seconds"], 3, {"N": "3"}),
    (list[int], [1, 2], {"L": [{"N": "1"}, {"N": "2"}]}),
    (list[int], [], {"L": []}),
    (list[int | None], [1, None], {"L": [{"N": "1"}, {"NULL": True}]}),
    (tuple[str, ...], ("a",), {"L": [{"S": "a"}]}),
    (tuple[str, int], ("a", 1), {"L": [{"S": "a"}, {"N": "1"}]}),
    (frozenset[str], frozenset({"b", "a"}), {"SS": ["a", "b"]}),
    (set[int], {1}, {"NS": ["1"]}),
    (frozenset[bytes], frozenset({b"a"}), {"BS": ["YQ=="]}),
    (frozenset[Color], frozenset({Color.BLUE}), {"SS": ["blue"]}),
    (frozenset[UUID], frozenset({ID}), {"SS": [str(ID)]}),
    (frozenset[Decimal], frozenset({Decimal("0.10")}), {"NS": ["0.1"]}),
    (dict[str, int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
    (dict[str, str | None], {"a": None}, {"M": {"a": {"NULL": True}}}),
    (Address, Address("Bern"), {"M": {"city": {"S": "Bern"}, "lines": {"L": []}}}),
    (list[frozenset[str]], [frozenset()], {"L": [{"NULL": True}]}),
    (Tree, Tree("a", [Tree("b")]), {"M": {"name": {"S": "a"}, "children": {"L": [{"M": {"name": {"S": "b"}, "children": {"L": []}}}]}}}),
]


@pytest.mark.parametrize(("annotation", "value", "stored"), FORMS)
def test_a_value_has_its_stored_form_and_comes_back(annotation: Any, value: Any, stored: dict[str, Any]) -> None:
    found = codec_for(annotation)
    assert found.store(value) == stored
    back = found.decode(stored)
    assert back == value
    assert type(back) is type(value)


def test_a_moment_of_another_zone_is_stored_in_utc() -> None:
    moment = datetime(2026, 11, 29, 20, 45, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert codec_for(datetime).store(moment) == {"S": "2026-11-29T18:45:00.000005Z"}


def test_the_order_of_stored_moments_is_the_order_of_time() -> None:
    encode = codec_for(datetime).store
    moments = [NOON + timedelta(microseconds=step) for step in (-1, 0, 1, 999_999, 1_000_000)]
    texts = [encode(moment)["S"] for moment in moments]
    assert texts == sorted(texts)


def test_moments_of_another_width_are_read() -> None:
    assert codec_for(datetime).decode({"S": "2026-11-29T18:45:00Z"}) == NOON
    assert codec_for(datetime).decode({"S": "2026-11-29T20:45:00+02:00"}) == NOON


def test_a_timedelta_is_exact_whatever_the_decimal_context_of_the_program() -> None:
    durations = codec_for(timedelta)
    duration = timedelta(days=12_345, microseconds=123_456)
    with localcontext(prec=3):
        stored = durations.store(duration)
        assert stored == {"N": "1066608000.123456"}
        assert durations.decode(stored) == duration


@pytest.mark.parametrize("hours_back", [0, 1])
def test_a_time_to_live_is_rounded_by_less_than_a_second_where_clocks_are_set_back(hours_back: int) -> None:
    """The last second before the hour that comes twice, and one in its second half."""
    moment = datetime(2026, 11, 1, 1, 59, 59, 500_000, tzinfo=ZoneInfo("America/New_York"), fold=hours_back)
    accepted = EXPIRY.accept(moment)
    assert accepted.timestamp() - moment.timestamp() == 0.5
    assert EXPIRY.encode(accepted) == {"N": str(int(moment.timestamp()) + 1)}


def test_a_time_to_live_is_whole_seconds_rounded_up() -> None:
    assert EXPIRY.accept(NOON + timedelta(microseconds=1)) == NOON + timedelta(seconds=1)
    assert EXPIRY.accept(NOON) == NOON
    assert EXPIRY.store(NOON + timedelta(milliseconds=1)) == {"N": str(int(NOON.timestamp()) + 1)}
    assert EXPIRY.decode({"N": str(int(NOON.timestamp()))}) == NOON


REFUSED: list[tuple[Any, Any, str]] = [
    (str, 1, "takes str, not int"),
    (str, None, "takes str, not None"),
    (str, "\ud800", "UTF-8"),
    (int, True, "a bool is no number"),
    (int, 1.0, "takes int, not float"),
    (int, 10**126, "magnitude"),
    (int, 10**38 + 1, "at most 38"),
    (Decimal, 1.5, "Decimal(str(value))"),
    (Decimal, Decimal("NaN"), "NaN"),
    (Decimal, Decimal("Infinity"), "NaN and infinity"),
    (Decimal, Decimal("1." + "1" * 38), "at most 38"),
    (Decimal, Decimal("1E-131"), "under 1E-130"),
    (float, float("nan"), "NaN"),
    (float, float("inf"), "NaN and infinity"),
    (float, 1e300, "magnitude"),
    (float, 2**53 + 1, "not exact as a float"),
    (float, True, "takes float, not bool"),
    (bool, 1, "takes bool, not int"),
    (bytes, bytearray(b"a"), "bytes(value)"),
    (datetime, datetime(2026, 1, 1), "time zone"),  # noqa: DTZ001 - a naive one is the case
    (datetime, date(2026, 1, 1), "takes datetime, not date"),
    (datetime, datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))), "years 1 to 9999"),
    (date, NOON, "value.date()"),
    (timedelta, 3, "timedelta(seconds=...)"),
    (UUID, "x", "UUID(text)"),
    (Color, "red", "Color(value)"),
    (Literal["a"], "b", "one of Literal['a']"),
    (Literal["a"], 1, "takes str, not int"),
    (list[int], (1,), "takes list[int], not tuple"),
    (list[int], [1, "a"], "element 1 takes int, not str"),
    (tuple[int, ...], [1], "tuple(value)"),
    (tuple[int, str], (1,), "2 elements, not 1"),
    (tuple[int, str], (1, 2), "element 1 takes str, not int"),
    (frozenset[str], {"a"}, "frozenset(value)"),
    (frozenset[str], frozenset({1}), "takes str, not int"),
    (dict[str, int], {1: 1}, "keys is of type int"),
    (dict[str, int], {"a": "b"}, "takes int, not str"),
    (Address, "Bern", "takes Address, not str"),
    (Address, Address(1), "Address.city takes str, not int"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("annotation", "value", "reason"), REFUSED)
def test_a_value_that_cannot_be_stored_is_refused_with_the_way_out(annotation: Any, value: Any, reason: str) -> None:
    with pytest.raises(Unstorable, match=re.escape(reason)):
        codec_for(annotation).accept(value)


@pytest.mark.parametrize("secret", ["4711-secret"])
def test_no_error_of_a_codec_has_the_value_in_its_text(secret: str) -> None:
    for annotation in (int, Decimal, datetime, date, UUID, Color, Literal["a"], list[int], dict[str, int]):
        with pytest.raises(Unstorable) as refused:
            codec_for(annotation).accept(secret)
        assert secret not in str(refused.value)
        with pytest.raises(Undecodable) as unread:
            codec_for(annotation).decode({"S": secret})
        assert secret not in str(unread.value)


UNREADABLE: list[tuple[Any, dict[str, Any], str]] = [
    (str, {"N": "1"}, "N"),
    (int, {"S": "1"}, "S"),
    (int, {"N": "1.5"}, "N"),
    (int, {"BOOL": True}, "BOOL"),
    (Decimal, {"S": "1"}, "S"),
    (Decimal, {"N": "NaN"}, "N"),
    (float, {"S": "1"}, "S"),
    (bool, {"N": "1"}, "N"),
    (bytes, {"S": "YQ=="}, "S"),
    (datetime, {"S": "2026-11-29T18:45:00"}, "S"),
    (datetime, {"S": "yesterday"}, "S"),
    (date, {"S": "2026-11-31"}, "S"),
    (timedelta, {"N": "0.0000001"}, "N"),
    (timedelta, {"N": "1" + "0" * 30}, "N"),
    (UUID, {"S": "x"}, "S"),
    (Color, {"S": "green"}, "S"),
    (Color, {"N": "1"}, "N"),
    (Literal["a"], {"S": "b"}, "S"),
    (list[int], {"SS": ["a"]}, "SS"),
    (list[int], {"L": [{"NULL": True}]}, "NULL"),
    (tuple[int, str], {"L": [{"N": "1"}]}, "L"),
    (frozenset[str], {"NS": ["1"]}, "NS"),
    (dict[str, int], {"L": []}, "L"),
    (Address, {"S": "Bern"}, "S"),
]


@pytest.mark.parametrize(("annotation", "stored", "letters"), UNREADABLE)
def test_a_stored_value_of_another_type_or_form_is_refused_with_its_letters(annotation: Any, stored: dict[str, Any], letters: str) -> None:
    with pytest.raises(Undecodable) as unread:
        codec_for(annotation).decode(stored)
    assert unread.value.stored_type == letters


@pytest.mark.parametrize(("text", "number"), [("1E3", 1000), ("1.0", 1), ("007", 7), ("-3", -3)])
def test_an_int_is_read_from_every_spelling_of_a_whole_number(text: str, number: int) -> None:
    assert codec_for(int).decode({"N": text}) == number


def test_a_dataclass_leaves_out_none_and_empty_sets_and_fills_them_in() -> None:
    stored = codec_for(Address).store(Address("Bern", ("a",), frozenset(), None))
    assert stored == {"M": {"city": {"S": "Bern"}, "lines": {"L": [{"S": "a"}]}}}
    assert codec_for(Address).decode({"M": {"city": {"S": "Bern"}}}) == Address("Bern")
    assert codec_for(Address).decode({"M": {"city": {"S": "Bern"}, "zip_code": {"NULL": True}, "other": {"S": "x"}}}) == Address("Bern")


@pytest.mark.parametrize(("content", "letters"), [({}, None), ({"number": {"NULL": True}}, "NULL")])
def test_a_required_member_that_is_not_stored_is_refused(content: dict[str, Any], letters: str | None) -> None:
    with pytest.raises(Undecodable, match=r"WithoutDefault\.number is required") as unread:
        codec_for(WithoutDefault).decode({"M": content})
    assert unread.value.stored_type == letters


def test_a_class_variable_of_a_dataclass_is_not_stored() -> None:
    assert codec_for(Counted).store(Counted(1)) == {"M": {"number": {"N": "1"}}}
    assert codec_for(Counted).decode({"M": {"number": {"N": "1"}}}) == Counted(1)


def test_a_stored_map_that_its_dataclass_refuses_is_none_of_it() -> None:
    with pytest.raises(Undecodable, match="Counted refuses what is stored") as unread:
        codec_for(Counted).decode({"M": {"number": {"N": "-1"}}})
    assert unread.value.stored_type == "M"


def test_a_dataclass_that_does_not_keep_what_it_is_given_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"Scaled\.factor is given to Scaled and not kept.*codec="):
        codec_for(Scaled)


def test_lists_and_dicts_are_kept_as_copies() -> None:
    given = [1]
    kept = codec_for(list[int]).accept(given)
    given.append(2)
    assert kept == [1]
    named = {"a": 1}
    kept_names = codec_for(dict[str, int]).accept(named)
    named["b"] = 2
    assert kept_names == {"a": 1}


def test_a_list_that_was_spoilt_after_it_was_accepted_is_refused_when_encoded() -> None:
    found = codec_for(list[int])
    kept = found.accept([1])
    kept.append("x")
    with pytest.raises(Unstorable, match="element 1 takes int"):
        found.encode(kept)


@dataclass(frozen=True)
class Money:
    cents: int

    def __post_init__(self) -> None:
        if self.cents < 0:
            raise ValueError("negative")


def test_a_codec_of_ones_own_stores_a_type_by_way_of_another() -> None:
    money = codec(Money, via=int, encode=lambda own: own.cents, decode=Money)
    assert money.store(Money(3)) == {"N": "3"}
    assert money.decode({"N": "3"}) == Money(3)
    with pytest.raises(Unstorable, match="takes Money, not int"):
        money.accept(3)
    with pytest.raises(Undecodable, match="Money cannot be read"):
        money.decode({"N": "-1"})
    with pytest.raises(Undecodable):
        money.decode({"S": "3"})


def test_a_codec_of_ones_own_that_gives_the_wrong_type_is_refused() -> None:
    wrong: Any = codec(Money, via=str, encode=lambda own: own.cents, decode=lambda text: Money(int(text)))  # type: ignore[arg-type, return-value]
    with pytest.raises(Unstorable, match="encoded as str, which takes str, not int"):
        wrong.accept(Money(1))


class Mixed(Enum):
    A = 1
    B = "b"


@dataclass
class Computed:
    a: int
    b: int = field(init=False, default=0)


DEFINITIONS: list[tuple[Any, str]] = [
    (object, "no type that can be stored"),
    (complex, "no type that can be stored"),
    (Any, "no type that can be stored"),
    (list, "write list[str]"),
    (dict, "write dict[str, str]"),
    (int | str, "mixes types"),
    (int | str | None, "mixes types"),
    (frozenset[str] | None, "write frozenset[str]"),
    (frozenset[bool], "write list[bool]"),
    (frozenset[tuple[int, ...]], "cannot be stored as a set"),
    (dict[int, str], "write dict[str, ...]"),
    (Mixed, "values of one type"),
    (Literal["a", 1], "values of one type"),
    (Computed, "is not a parameter"),
]


@pytest.mark.parametrize(("annotation", "reason"), DEFINITIONS)
def test_a_type_that_cannot_be_stored_is_refused_with_what_to_write(annotation: Any, reason: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(reason)):
        codec_for(annotation)


def test_a_codec_of_ones_own_by_way_of_a_set_is_refused() -> None:
    with pytest.raises(DefinitionError, match="use list"):
        codec(Money, via=frozenset[int], encode=lambda own: frozenset({own.cents}), decode=lambda found: Money(len(found)))
