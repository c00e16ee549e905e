"""Rules of updates against one item."""

from __future__ import annotations

import copy

import pytest

from surewrite.core.values import AttributeValue, Item
from surewrite.engine.evaluator import UpdateResult, apply_update
from surewrite.engine.faults import ServiceError
from surewrite.engine.grammar import Substitutions, parse_update

KEY: Item = {"pk": {"S": "x"}}
MISSING_OPERAND = "The provided expression refers to an attribute that does not exist in the item"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
BAD_PATH = "The document path provided in the update expression is invalid for update"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


def numbers(*values: int) -> AttributeValue:
    return {"L": [{"N": str(value)} for value in values]}


ITEM: Item = KEY | {
    "n": {"N": "5"},
    "s": {"S": "text"},
    "z": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["2", "10"]},
    "l": numbers(2, 3, 4, 5, 6, 7),
    "m": {"M": {"k": {"N": "1"}, "t": {"SS": ["a"]}, "l": numbers(1, 2)}},
}
VALUES: dict[str, AttributeValue] = {
    ":1": {"N": "1"},
    ":17": {"N": "17"},
    ":18": {"N": "18"},
    ":s": {"S": "new"},
    ":ss": {"SS": ["b", "c"]},
    ":ab": {"SS": ["a", "b"]},
    ":a": {"SS": ["a"]},
    ":ns": {"NS": ["3", "2.0"]},
    ":bs": {"BS": ["AA=="]},
    ":l": numbers(8),
    ":none": {"L": []},
    ":large": {"N": "9e125"},
    ":38": {"N": "9" * 38},
    ":half": {"N": "0.5"},
}


def applied(text: str, item: Item | None = ITEM) -> UpdateResult:
    before = copy.deepcopy(item)
    result = apply_update(parse_update(text, Substitutions(None, VALUES)), item, KEY)
    assert item == before
    return result


def changed(text: str, item: Item | None = ITEM) -> Item:
    """What differs from the old item; an absent attribute shows as an empty value."""
    result = applied(text, item).item or {}
    old = item or {}
    return {name: result.get(name, {}) for name in result.keys() | old.keys() if result.get(name) != old.get(name)}


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("SET a = :s", {"a": {"S": "new"}}),
        ("SET n = n + :1", {"n": {"N": "6"}}),
        ("SET n = n - :17", {"n": {"N": "-12"}}),
        ("SET n = (:1 - n)", {"n": {"N": "-4"}}),
        ("SET c = if_not_exists(c, :1) + :1", {"c": {"N": "2"}}),
        ("SET n = if_not_exists(n, :1) + :1", {"n": {"N": "6"}}),
        ("SET n = if_not_exists(gone, if_not_exists(lost, :1))", {"n": {"N": "1"}}),
        ("SET z = if_not_exists(z, :1)", {}),
        ("SET s = n, n = s", {"s": {"N": "5"}, "n": {"S": "text"}}),
        ("SET a = :1, b = n REMOVE n", {"a": {"N": "1"}, "b": {"N": "5"}, "n": {}}),
        ("SET l = list_append(l, :l)", {"l": numbers(2, 3, 4, 5, 6, 7, 8)}),
        ("SET l = list_append(:l, l)", {"l": numbers(8, 2, 3, 4, 5, 6, 7)}),
        ("SET a = list_append(if_not_exists(a, :none), :l)", {"a": numbers(8)}),
        ("SET m.k = :17", {"m": ITEM["m"] | {"M": ITEM["m"]["M"] | {"k": {"N": "17"}}}}),
        ("SET m.j = n", {"m": {"M": ITEM["m"]["M"] | {"j": {"N": "5"}}}}),
        ("SET m.l[0] = :17", {"m": {"M": ITEM["m"]["M"] | {"l": numbers(17, 2)}}}),
        ("SET l[1] = :17", {"l": numbers(2, 17, 4, 5, 6, 7)}),
        ("SET l[99] = :17", {"l": numbers(2, 3, 4, 5, 6, 7, 17)}),
        ("SET l[99] = :17, l[50] = :18", {"l": numbers(2, 3, 4, 5, 6, 7, 18, 17)}),
        ("REMOVE l[1] SET l[3] = :17", {"l": numbers(2, 4, 17, 6, 7)}),
        ("REMOVE l[0], l[5], l[2]", {"l": numbers(3, 5, 6)}),
        ("REMOVE l[0] SET l[6] = :17", {"l": numbers(3, 4, 5, 6, 7, 17)}),
        ("REMOVE gone", {}),
        ("REMOVE m.gone, l[77]", {}),
        ("REMOVE m.k, m.t, m.l", {"m": {"M": {}}}),
        ("REMOVE l[0], l[1], l[2], l[3], l[4], l[5]", {"l": {"L": []}}),
        ("ADD n :1", {"n": {"N": "6"}}),
        ("ADD c :1", {"c": {"N": "1"}}),
        ("ADD m.c :1", {"m": {"M": ITEM["m"]["M"] | {"c": {"N": "1"}}}}),
        ("ADD ss :ss", {"ss": {"SS": ["a", "b", "c"]}}),
        ("ADD ns :ns", {"ns": {"NS": ["2", "3", "10"]}}),
        ("ADD c :bs", {"c": {"BS": ["AA=="]}}),
        ("DELETE ss :a", {"ss": {"SS": ["b"]}}),
        ("DELETE ss :ab", {"ss": {}}),
        ("DELETE m.t :ab", {"m": {"M": {"k": {"N": "1"}, "l": numbers(1, 2)}}}),
        ("DELETE gone :a", {}),
        ("DELETE ns :ns", {"ns": {"NS": ["10"]}}),
        ("SET n = n + :half", {"n": {"N": "5.5"}}),
    ],
)
def test_an_update_changes_the_item(text, difference):
    assert changed(text) == difference


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET a = gone", MISSING_OPERAND),
        ("SET a = gone + :1", MISSING_OPERAND),
        ("SET a = list_append(gone, :l)", MISSING_OPERAND),
        ("SET a = if_not_exists(gone, lost)", MISSING_OPERAND),
        ("SET a = l[77]", MISSING_OPERAND),
        ("SET a = s + :1", WRONG_OPERAND),
        ("SET a = :1 - z", WRONG_OPERAND),
        ("SET a = list_append(s, :l)", WRONG_OPERAND),
        ("ADD s :1", WRONG_OPERAND),
        ("ADD ss :1", WRONG_OPERAND),
        ("ADD ss :ns", WRONG_OPERAND),
        ("ADD n :ss", WRONG_OPERAND),
        ("DELETE n :ss", WRONG_OPERAND),
        ("DELETE ss :ns", WRONG_OPERAND),
        ("SET gone.a = :1", BAD_PATH),
        ("SET gone[0] = :1", BAD_PATH),
        ("SET s.a = :1", BAD_PATH),
        ("SET m[0] = :1", BAD_PATH),
        ("SET l.a = :1", BAD_PATH),
        ("SET l[77].a = :1", BAD_PATH),
        ("SET m.gone.a = :1", BAD_PATH),
        ("REMOVE gone.a", BAD_PATH),
        ("REMOVE s[0]", BAD_PATH),
        ("ADD gone.a :1", BAD_PATH),
        ("DELETE gone.a :ss", BAD_PATH),
        ("SET n = :large + :large", OVERFLOW),
        ("SET n = :38 + :half", OVERFLOW),
        ("SET n = :large + n", OVERFLOW),
        ("ADD n :large", OVERFLOW),
    ],
)
def test_an_update_that_the_item_makes_impossible_is_refused(text, message):
    with pytest.raises(ServiceError) as caught:
        applied(text)
    assert caught.value.code == "ValidationException"
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "created"),
    [
        ("SET a = :1", KEY | {"a": {"N": "1"}}),
        ("ADD a :1", KEY | {"a": {"N": "1"}}),
        ("SET a = if_not_exists(a, :1) REMOVE b", KEY | {"a": {"N": "1"}}),
        ("SET a = :1 REMOVE b.c, d[0]", KEY | {"a": {"N": "1"}}),
        ("SET a = :1 DELETE ss :ss", KEY | {"a": {"N": "1"}}),
        ("REMOVE a", None),
        ("REMOVE a.b, c[0]", None),
        ("DELETE a :ss", None),
        ("REMOVE a DELETE b :ss", None),
    ],
)
def test_a_missing_item_is_created_by_set_and_add_only(text, created):
    result = applied(text, None)
    assert result.item == created
    assert result.updated_old() == {}


@pytest.mark.parametrize(("text", "message"), [("SET a.b = :1", BAD_PATH), ("ADD a.b :1", BAD_PATH), ("SET a = pk", MISSING_OPERAND)])
def test_a_missing_item_has_no_paths_to_write_below_and_nothing_to_read(text, message):
    with pytest.raises(ServiceError) as caught:
        applied(text, None)
    assert caught.value.message == message


def test_without_an_update_a_missing_item_is_created_with_its_key_alone():
    assert apply_update(None, None, KEY).item == KEY
    assert apply_update(None, ITEM, KEY).item == ITEM
    assert apply_update(None, ITEM, KEY).updated_new() == {}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET n = :1", {"n": {"N": "5"}}, {"n": {"N": "1"}}),
        ("SET a = :1", {}, {"a": {"N": "1"}}),
        ("REMOVE n", {"n": {"N": "5"}}, {}),
        ("SET a = :1 REMOVE n", {"n": {"N": "5"}}, {"a": {"N": "1"}}),
        ("SET m.k = :17, m.j = :1", {"m": {"M": {"k": {"N": "1"}}}}, {"m": {"M": {"k": {"N": "17"}, "j": {"N": "1"}}}}),
        ("SET m.l[1] = :17", {"m": {"M": {"l": numbers(2)}}}, {"m": {"M": {"l": numbers(17)}}}),
        ("SET m.l[9] = :17", {}, {}),
        ("REMOVE m.l[0]", {"m": {"M": {"l": numbers(1)}}}, {"m": {"M": {"l": numbers(2)}}}),
        ("DELETE ss :ab", {"ss": {"SS": ["a", "b"]}}, {}),
        ("ADD n :1", {"n": {"N": "5"}}, {"n": {"N": "6"}}),
    ],
)
def test_updated_values_are_those_of_the_written_paths(text, old, new):
    result = applied(text)
    assert result.updated_old() == old
    assert result.updated_new() == new


def test_defaults_of_defaults_are_followed_as_deep_as_the_text_has_room():
    depth = 230
    text = "SET a=" + "if_not_exists(b," * depth + ":1" + ")" * depth
    assert applied(text).item == ITEM | {"a": {"N": "1"}}


def test_an_update_cannot_nest_deeper_than_32_levels():
    def nested(levels: int) -> AttributeValue:
        return {"L": [nested(levels - 1)]} if levels > 1 else {"S": ""}

    item = KEY | {"m": {"M": {"l": {"L": []}}}}
    node = parse_update("SET m.l[0] = :v", Substitutions(None, {":v": nested(30)}))
    assert apply_update(node, item, KEY).item is not None
    node = parse_update("SET m.l[0] = :v", Substitutions(None, {":v": nested(31)}))
    with pytest.raises(ServiceError, match="Nesting Levels have exceeded supported limits"):
        apply_update(node, item, KEY)
