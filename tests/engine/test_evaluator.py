"""Rules of conditions and projections against one item."""

from __future__ import annotations

import pytest

from surewrite.core.values import AttributeValue, Item
from surewrite.engine.evaluator import holds, project
from surewrite.engine.grammar import Substitutions, parse_condition, parse_projection

ITEM: Item = {
    "pk": {"S": "x"},
    "n": {"N": "10"},
    "s": {"S": "hello"},
    "b": {"B": "AAEC"},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "blank": {"S": ""},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AA=="]},
    "l": {"L": [{"N": "1"}, {"M": {"k": {"S": "v"}}}, {"SS": ["p", "q"]}]},
    "m": {"M": {"k": {"N": "1"}, "deep": {"L": [{"S": "x"}, {"S": "y"}]}}},
}
VALUES: dict[str, AttributeValue] = {
    ":2": {"N": "2"},
    ":9": {"N": "9"},
    ":10": {"N": "1e1"},
    ":11": {"N": "11"},
    ":s": {"S": "hello"},
    ":he": {"S": "he"},
    ":b": {"B": "AAE="},
    ":t": {"BOOL": True},
    ":ss": {"SS": ["b", "a"]},
    ":a": {"S": "a"},
    ":one": {"N": "1.0"},
    ":byte": {"B": "AA=="},
    ":qp": {"SS": ["q", "p"]},
    ":map": {"M": {"k": {"S": "v"}}},
    ":N": {"S": "N"},
    ":S": {"S": "S"},
    ":NULL": {"S": "NULL"},
    ":zero": {"N": "0"},
    ":3": {"N": "3"},
    ":5": {"N": "5"},
    ":empty": {"S": ""},
}


def outcome(text: str, item: Item | None = ITEM) -> bool:
    return holds(parse_condition(text, "ConditionExpression", Substitutions(None, VALUES)), item)


@pytest.mark.parametrize(
    "text",
    [
        "n = :10",
        "n > :9 AND n >= :10 AND n < :11 AND n <= :10",
        "n BETWEEN :9 AND :11",
        "n BETWEEN :10 AND :10",
        "n IN (:9, :10)",
        "s = :s",
        "s <> n",
        "ss = :ss",
        "l[2] = :qp",
        "l[1] = :map",
        "n <> :s",
        "n <> absent",
        "absent <> gone",
        "NOT absent < :9",
        "NOT absent = :9",
        "attribute_exists(z)",
        "attribute_exists(blank)",
        "attribute_exists(l[1].k)",
        "attribute_not_exists(l[3])",
        "attribute_not_exists(m.gone)",
        "attribute_not_exists(n.k)",
        "attribute_not_exists(s[0])",
        "attribute_type(n, :N)",
        "attribute_type(z, :NULL)",
        "attribute_type(m.deep[0], :S)",
        "NOT attribute_type(absent, :N)",
        "begins_with(s, :he)",
        "begins_with(s, :empty)",
        "begins_with(b, :byte)",
        "begins_with(:s, s)",
        "contains(s, :he)",
        "contains(b, :b)",
        "contains(ss, :a)",
        "contains(ns, :one)",
        "contains(bs, :byte)",
        "contains(l, :one)",
        "contains(l, :map)",
        "contains(l, :qp)",
        "size(s) = :5",
        "size(b) = :3",
        "size(ss) = :2",
        "size(l) = :3",
        "size(m) = :2",
        "size(blank) = :zero",
        "size(:s) = :5",
        "size(ss) = size(m)",
        ":9 < n",
        "n = :9 OR n = :10 AND s = :s",
        "n > :9 AND NOT (s = :a OR t <> :t)",
    ],
)
def test_the_condition_holds(text):
    assert outcome(text)


def test_the_size_of_a_text_is_counted_in_utf_16():
    values: dict[str, AttributeValue] = {":size": {"N": "4"}}
    node = parse_condition("size(a) = :size", "ConditionExpression", Substitutions(None, values))
    assert holds(node, {"a": {"S": "aé\U0001f600"}})


@pytest.mark.parametrize(
    "text",
    [
        "n = :s",
        "absent = gone",
        "absent = :9",
        "n < :s",
        "t < n",
        "l < ss",
        "absent < :9",
        "absent BETWEEN :9 AND :11",
        "n BETWEEN absent AND :11",
        "s BETWEEN :9 AND :11",
        "absent IN (:9, gone)",
        "n IN (:9, :s, gone)",
        "attribute_exists(absent)",
        "begins_with(n, :he)",
        "begins_with(absent, :he)",
        "begins_with(s, :byte)",
        "begins_with(ss, :a)",
        "contains(s, :10)",
        "contains(n, :10)",
        "contains(m, :a)",
        "contains(t, :t)",
        "contains(z, :t)",
        "contains(ss, :one)",
        "contains(ns, :a)",
        "contains(absent, :a)",
        "contains(s, absent)",
        "size(n) = :2",
        "size(t) >= :zero",
        "size(z) >= :zero",
        "size(absent) = :zero",
        "size(s) = :s",
        "size(s) < :s",
        "(n = :9 OR n = :10) AND s = :a",
    ],
)
def test_the_condition_does_not_hold(text):
    assert not outcome(text)


def test_a_missing_item_is_one_without_any_attribute():
    assert outcome("attribute_not_exists(pk)", None)
    assert not outcome("attribute_exists(pk)", None)
    assert outcome("pk <> :s", None)
    assert not outcome("pk = :s", None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("n", {"n": {"N": "10"}}),
        ("n, absent", {"n": {"N": "10"}}),
        ("absent.a, gone[0]", {}),
        ("m.k", {"m": {"M": {"k": {"N": "1"}}}}),
        ("m.k, m.deep[1]", {"m": {"M": {"k": {"N": "1"}, "deep": {"L": [{"S": "y"}]}}}}),
        ("m.gone", {}),
        ("m[0]", {}),
        ("l.k", {}),
        ("l[2], l[0]", {"l": {"L": [{"N": "1"}, {"SS": ["p", "q"]}]}}),
        ("l[9], l[1].k", {"l": {"L": [{"M": {"k": {"S": "v"}}}]}}),
        ("s[0]", {}),
    ],
)
def test_a_projection_keeps_the_hierarchy_and_packs_lists(text, found):
    assert project(parse_projection(text, Substitutions(None, None)), ITEM) == found
