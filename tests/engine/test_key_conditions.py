"""Rules of key conditions against a key schema, and of the ranges they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surewrite.core.values import AttributeValue, encode_binary, key_bytes
from surewrite.engine.faults import ServiceError
from surewrite.engine.grammar import KeyRange, SortRange, Substitutions, bind_key_condition, parse_key_condition
from surewrite.engine.schemas import KeyAttribute, KeySchema

SCHEMA = KeySchema(KeyAttribute("pk", "S"), KeyAttribute("sk", "N"))
TEXT_SCHEMA = KeySchema(KeyAttribute("pk", "S"), KeyAttribute("sk", "S"))
HASH_ONLY = KeySchema(KeyAttribute("pk", "S"))
VALUES: dict[str, AttributeValue] = {":p": {"S": "x"}, ":1": {"N": "1"}, ":2": {"N": "2"}, ":e": {"S": ""}, ":t": {"BOOL": True}, ":long": {"S": "a" * 2049}}


def bound(text: str, schema: KeySchema = SCHEMA) -> KeyRange:
    return bind_key_condition(parse_key_condition(text, Substitutions(None, VALUES)), schema)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("pk = :p", None),
        (":p = pk", None),
        ("(pk = :p)", None),
        ("pk = :p AND sk = :1", SortRange(VALUES[":1"], VALUES[":1"])),
        ("sk < :1 AND pk = :p", SortRange(high=VALUES[":1"], high_included=False)),
        ("pk = :p AND sk <= :1", SortRange(high=VALUES[":1"])),
        ("pk = :p AND (sk > :1)", SortRange(low=VALUES[":1"], low_included=False)),
        ("pk = :p AND :1 <= sk", SortRange(low=VALUES[":1"])),
        ("pk = :p AND :1 > sk", SortRange(high=VALUES[":1"], high_included=False)),
        ("pk = :p AND sk BETWEEN :1 AND :2", SortRange(VALUES[":1"], VALUES[":2"])),
    ],
)
def test_a_key_condition_names_a_partition_and_a_range(text, sort):
    assert bound(text) == KeyRange({"S": "x"}, sort)


def test_a_prefix_is_a_range_of_texts():
    assert bound("pk = :p AND begins_with(sk, :p)", TEXT_SCHEMA) == KeyRange({"S": "x"}, SortRange(prefix={"S": "x"}, high_included=False))


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("sk = :1", SCHEMA, "Query condition missed key schema element: pk"),
        ("pk = :p AND extra = :1", SCHEMA, "Query condition missed key schema element: sk"),
        ("pk > :p", SCHEMA, "Query key condition not supported"),
        ("begins_with(pk, :p) AND sk = :1", SCHEMA, "Query key condition not supported"),
        ("pk = :p AND extra = :1", HASH_ONLY, "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"),
        ("pk = :p AND sk = :1 AND extra = :1", SCHEMA, "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"),
        ("pk = :1", SCHEMA, "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        ("pk = :t", SCHEMA, "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        ("pk = :p AND sk > :p", SCHEMA, "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        ("pk = :p AND begins_with(sk, :p)", SCHEMA, "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        (
            "pk = :e",
            SCHEMA,
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
        ),
        ("pk = :long", SCHEMA, "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"),
    ],
)
def test_a_key_condition_that_does_not_fit_the_schema_is_refused(text, schema, message):
    with pytest.raises(ServiceError) as caught:
        bound(text, schema)
    assert caught.value.message == message


def in_bytes(sort: SortRange, value: AttributeValue) -> bool:
    """Whether the bytes of ``value`` lie between the bounds that a store is given."""
    place, low, high = key_bytes(value), sort.low_bytes(), sort.high_bytes()
    above = low is None or place > low or (place == low and sort.low_included)
    below = high is None or place < high or (place == high and sort.high_included)
    return above and below


CONTENTS = st.binary(max_size=3) | st.lists(st.sampled_from([0, 254, 255]), max_size=3).map(bytes)


@given(CONTENTS, CONTENTS)
def test_the_bytes_of_a_prefix_range_hold_what_begins_with_it(prefix, content):
    sort = SortRange(prefix={"B": encode_binary(prefix)}, high_included=False)
    value = {"B": encode_binary(content)}
    assert sort.admits(value) == content.startswith(prefix) == in_bytes(sort, value)


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3), st.booleans(), st.booleans())
def test_the_bytes_of_a_range_hold_what_it_admits(low, high, number, low_included, high_included):
    sort = SortRange({"N": str(low)}, {"N": str(high)}, low_included, high_included)
    value = {"N": str(number)}
    above = number > low or (number == low and low_included)
    below = number < high or (number == high and high_included)
    assert sort.admits(value) == (above and below) == in_bytes(sort, value)


@pytest.mark.parametrize(("sort", "admitted"), [(SortRange(), [1, 2, 3]), (SortRange(low={"N": "2"}), [2, 3]), (SortRange(high={"N": "2"}), [1, 2])])
def test_an_open_end_admits_everything(sort, admitted):
    assert [number for number in (1, 2, 3) if sort.admits({"N": str(number)})] == admitted
