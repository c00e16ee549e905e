"""Rules of the value model: numbers, equality, order, sizes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from surewrite.core import values
from surewrite.core.limits import RESERVED_WORDS
from surewrite.core.values import NotANumber, NumberOutOfRange

NINES = "9" * 38


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("1.50", "1.5"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("+3", "3"),
        ("-3", "-3"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("1.e5", "100000"),
        ("001", "1"),
        ("00042", "42"),
        ("0e125", "0"),
        ("0.0e126", "0"),
        ("1e125", "1" + "0" * 125),
        ("1e-130", "0." + "0" * 129 + "1"),
        (NINES + "e88", NINES + "0" * 88),
        (NINES + "0000", NINES + "0000"),
        ("0" * 50 + "1", "1"),
        ("123456e-3", "123.456"),
        ("1e-0000000000000000000000002", "0.01"),
    ],
)
def test_a_number_has_one_plain_text(written, stored):
    assert values.canonical_number(written) == stored


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "NaN", "Infinity", "0x10", "1e", "+e2", "1+2", "1.2.3", ".", "1_000", "\u0661", "e5", "1\n", "1e9223372036854775808"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(NotANumber):
        values.canonical_number(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (NINES + "9", "precision"),
        ("1." + "0" * 38 + "1", "precision"),
        ("1e126", "overflow"),
        ("-1e126", "overflow"),
        ("1e9223372036854775807", "overflow"),
        ("1e-131", "underflow"),
        ("0e126", "overflow"),
        ("0e-131", "underflow"),
    ],
)
def test_a_number_outside_of_the_range_tells_in_which_way(text, fault):
    with pytest.raises(NumberOutOfRange) as caught:
        values.canonical_number(text)
    assert caught.value.fault == fault


@pytest.mark.parametrize(
    ("value", "text"), [(5, "5"), (-120, "-120"), (Decimal("1.50"), "1.5"), (Decimal("1E+3"), "1000"), (Decimal("0E-200"), "0"), (10**125, "1" + "0" * 125)]
)
def test_an_exact_python_number_becomes_its_text(value, text):
    assert values.number_text(value) == text


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), 10**126, int(NINES + "9"), Decimal("1E-131")])
def test_a_python_number_that_the_service_cannot_hold_is_refused(value):
    with pytest.raises(NumberOutOfRange):
        values.number_text(value)


def test_an_integer_too_long_for_text_is_refused_like_any_large_one():
    with pytest.raises(NumberOutOfRange):
        values.number_text(10**5000)


def test_a_bool_is_no_number():
    with pytest.raises(TypeError):
        values.number_text(True)


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [("1", "2", "3"), ("0.1", "0.2", "0.3"), ("-1", "1", "0"), ("1.5", "0.5", "2"), (NINES, "1", "1" + "0" * 38), ("1" + "0" * 125, "-1" + "0" * 125, "0")],
)
def test_sums_are_exact(first, second, total):
    assert values.add_numbers(first, second) == total
    assert values.subtract_numbers(total, second) == first


@pytest.mark.parametrize(("first", "second"), [("1" + "0" * 125, "1"), (NINES, "0.1"), ("9" + "0" * 125, "9" + "0" * 125), ("0." + "0" * 129 + "1", "1")])
def test_a_sum_that_would_be_rounded_or_is_too_large_is_refused(first, second):
    with pytest.raises(NumberOutOfRange):
        values.add_numbers(first, second)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("12", 2),
        ("15", 2),
        ("123", 3),
        ("1010", 3),
        ("123456", 4),
        ("0.15", 2),
        ("1.5", 3),
        ("100.5", 4),
        ("3.14159", 5),
        ("-42", 3),
        (NINES, 20),
    ],
)
def test_numbers_have_the_sizes_that_were_measured_on_the_service(text, size):
    assert values.value_size({"N": text}) == size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "é"}, 2),
        ({"B": "AAEC"}, 3),
        ({"B": "AA=="}, 1),
        ({"B": "AAE="}, 2),
        ({"B": ""}, 0),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "12"]}, 4),
        ({"BS": ["AA==", "AAEC"]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"N": "0"}]}, 3 + 1 + 2 + 1 + 1),
        ({"M": {}}, 3),
        ({"M": {"é": {"BOOL": True}}}, 3 + 1 + 2 + 1),
    ],
)
def test_a_value_has_the_size_of_its_parts(value, size):
    assert values.value_size(value) == size
    assert values.item_size({"ab": value}) == 2 + size


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"N": "1"}, {"N": "1.0"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1e0"]}),
        ({"BS": ["AA==", "AQ=="]}, {"BS": ["AQ==", "AA=="]}),
        ({"B": "YQ=="}, {"B": "YR=="}),
        ({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]}),
        ({"M": {"a": {"N": "1"}, "b": {"S": "x"}}}, {"M": {"b": {"S": "x"}, "a": {"N": "1.00"}}}),
    ],
)
def test_equality_is_by_value_at_every_level(first, second):
    assert values.equal(first, second)
    assert values.equal(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"L": [{"N": "1"}, {"N": "2"}]}, {"L": [{"N": "2"}, {"N": "1"}]}),
        ({"L": []}, {"M": {}}),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}),
        ({"BOOL": True}, {"BOOL": False}),
        ({"M": {"a": {"N": "1"}}}, {"M": {"b": {"N": "1"}}}),
        ({"S": "a"}, {"S": "A"}),
    ],
)
def test_what_differs_is_not_equal(first, second):
    assert not values.equal(first, second)


def test_text_is_ordered_by_its_utf_8_bytes_and_not_by_utf_16():
    high, astral = {"S": "\uffff"}, {"S": "\U00010000"}
    assert values.compare(high, astral) == -1
    assert values.key_bytes(high) < values.key_bytes(astral)


def test_binary_is_ordered_by_unsigned_bytes():
    assert values.compare({"B": "fw=="}, {"B": "gA=="}) == -1


@pytest.mark.parametrize(
    ("first", "second"), [({"S": "1"}, {"N": "1"}), ({"BOOL": True}, {"BOOL": True}), ({"L": []}, {"L": []}), ({"SS": ["a"]}, {"SS": ["a"]})]
)
def test_other_types_have_no_order(first, second):
    assert values.compare(first, second) is None


def test_key_bytes_of_numbers_follow_their_values():
    ordered = ["-9e125", "-100", "-99.5", "-99", "-1.1", "-1", "-0.5", "-1e-130", "0", "1e-130", "0.05", "0.5", "1", "1.1", "9.9", "10", "99", "100", "9e125"]
    encoded = [values.key_bytes({"N": text}) for text in ordered]
    assert encoded == sorted(encoded)
    assert len(set(encoded)) == len(encoded)


def test_spellings_of_one_number_are_one_key():
    assert values.key_bytes({"N": "1"}) == values.key_bytes({"N": "1.0"}) == values.key_bytes({"N": "10e-1"})
    assert len({values.sort_token({"N": text}) for text in ("1", "1.0", "1e0")}) == 1
    assert values.sort_token({"N": "0.5"}) == values.sort_token({"N": "5e-1"})


@pytest.mark.parametrize("value", [{"BOOL": True}, {"L": []}, {"SS": ["a"]}])
def test_only_scalars_that_can_be_keys_have_a_place(value):
    with pytest.raises(ValueError, match="does not order"):
        values.sort_token(value)
    with pytest.raises(ValueError, match="does not order"):
        values.key_bytes(value)


def test_the_service_reserves_573_words():
    assert len(RESERVED_WORDS) == 573
    assert {"STATUS", "NAME", "TTL", "ZONE", "ABORT"} <= RESERVED_WORDS
    assert not {"ID", "VERSION", "EXPIRES", "LEASE"} & RESERVED_WORDS
