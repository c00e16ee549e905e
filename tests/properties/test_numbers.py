"""Properties of numbers and of values that hold for all of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surewrite.core import values
from surewrite.core.values import AttributeValue, NumberOutOfRange
from surewrite.engine.validation import check_value


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number in range, in any spelling."""
    digits = draw(st.text("0123456789", min_size=1, max_size=38))
    point = draw(st.integers(0, len(digits)))
    text = digits[:point] + draw(st.sampled_from(["", "."])) + digits[point:] if point == len(digits) else f"{digits[:point]}.{digits[point:]}"
    text = draw(st.sampled_from(["", "-", "+"])) + text + draw(st.sampled_from(["", f"e{draw(st.integers(-170, 130))}"]))
    try:
        values.canonical_number(text)
    except NumberOutOfRange:
        assume(False)
    return text


SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=4)),
    st.builds(lambda text: {"N": text}, numbers()),
    st.builds(lambda content: {"B": values.encode_binary(content)}, st.binary(max_size=4)),
    st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
    st.just({"NULL": True}),
)
SETS = st.one_of(
    st.builds(lambda members: {"SS": members}, st.lists(st.text(max_size=2), min_size=1, max_size=3, unique=True)),
    st.builds(lambda members: {"NS": members}, st.lists(numbers(), min_size=1, max_size=3, unique_by=values.canonical_number)),
    st.builds(lambda members: {"BS": list(map(values.encode_binary, members))}, st.lists(st.binary(max_size=2), min_size=1, max_size=3, unique=True)),
)
VALUES: st.SearchStrategy[AttributeValue] = st.recursive(
    st.one_of(SCALARS, SETS),
    lambda inner: st.one_of(
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=3)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.text(min_size=1, max_size=2), inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(numbers())
def test_the_canonical_text_keeps_the_number_and_is_its_own_canonical_text(text):
    stored = values.canonical_number(text)
    assert Decimal(stored) == Decimal(text)
    assert values.canonical_number(stored) == stored
    assert values.number_text(values.parse_number(text)) == stored


@given(numbers(), numbers())
def test_bytes_of_number_keys_are_ordered_as_the_numbers(first, second):
    left, right = values.key_bytes({"N": first}), values.key_bytes({"N": second})
    order = values.compare({"N": first}, {"N": second})
    assert order == (left > right) - (left < right)
    assert order == (Decimal(first) > Decimal(second)) - (Decimal(first) < Decimal(second))


@given(st.text(max_size=6), st.text(max_size=6))
def test_bytes_of_text_keys_are_ordered_as_the_texts(first, second):
    left, right = values.key_bytes({"S": first}), values.key_bytes({"S": second})
    assert values.compare({"S": first}, {"S": second}) == (left > right) - (left < right)


@given(numbers(), numbers())
def test_a_sum_is_exact_or_refused(first, second):
    left, right = values.canonical_number(first), values.canonical_number(second)
    try:
        total = values.add_numbers(left, right)
    except NumberOutOfRange:
        return
    exact = _scaled(left) + _scaled(right)
    assert _scaled(total) == exact


def _scaled(text: str) -> int:
    """The number times ten to the 200, as Python's unbounded integers hold it."""
    numerator, denominator = Decimal(text).as_integer_ratio()
    return numerator * 10**200 // denominator


@given(VALUES)
def test_canonical_form_is_stable_and_equal_to_its_origin(value):
    stored = check_value(value)
    assert check_value(stored) == stored
    assert values.equal(stored, value)
    assert values.equal(value, stored)


@given(VALUES, VALUES)
def test_equality_is_symmetric_and_is_identity_of_canonical_forms(first, second):
    assert values.equal(first, second) == values.equal(second, first)
    assert values.equal(first, second) == (check_value(first) == check_value(second))


@pytest.mark.parametrize("exponent", [-130, -1, 0, 37, 125])
def test_a_power_of_ten_costs_two_bytes_wherever_its_point_is(exponent):
    assert values.value_size({"N": values.canonical_number(f"1e{exponent}")}) == 2
