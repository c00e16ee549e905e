"""What guards a write is read off its compiled form, and nothing that others can make true again counts."""

from __future__ import annotations

from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.decisions import Guard
from surewrite.core.expressions import ChangeTree, Name, SetTo, Value
from surewrite.core.guards import Mark, guard_of_put, guard_of_update, is_idempotent, shows_newer_order, shows_operation, value_at


class Note(Entity, partition_key="{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    other: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    order: Attribute[int] = sw.attribute(default=0)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    lines: Attribute[list[int]] = sw.attribute(default_factory=list)
    ops: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)


def trees(*changes: Any) -> list[ChangeTree]:
    return [change.tree for change in changes]


IDEMPOTENT: dict[str, Any] = {
    "set of a constant": (Note.text.set("x"),),
    "remove": (Note.text.remove(),),
    "set union": (Note.tags.add("x"),),
    "set difference": (Note.tags.discard("x"),),
    "set if not exists": (Note.text.set(Note.text.if_not_exists("x")),),
    "copy of another attribute": (Note.text.set(Note.other),),
    "several": (Note.text.set("x"), Note.tags.add("y"), Note.other.remove()),
    "member of a map": (Note.ops["x"].set(1),),
}
NOT_IDEMPOTENT: dict[str, Any] = {
    "numeric add": (Note.count.add(1),),
    "arithmetic": (Note.count.set(Note.count + 1),),
    "append": (Note.lines.append(1),),
    "set at a list index": (Note.lines[0].set(1),),
    "remove at a list index": (Note.lines[0].remove(),),
    "swap": (Note.text.set(Note.other), Note.other.set(Note.text)),
    "copy of what the same update changes": (Note.text.set(Note.other), Note.other.set("x")),
    "one of several": (Note.text.set("x"), Note.count.add(1)),
}


@pytest.mark.parametrize("changes", IDEMPOTENT.values(), ids=IDEMPOTENT)
def test_changes_that_leave_the_same_twice_are_idempotent(changes: Any) -> None:
    found = trees(*changes)
    assert all(is_idempotent(change, found) for change in found)
    assert guard_of_update(None, found).guard is Guard.IDEMPOTENT


@pytest.mark.parametrize("changes", NOT_IDEMPOTENT.values(), ids=NOT_IDEMPOTENT)
def test_changes_that_count_twice_are_not(changes: Any) -> None:
    assert guard_of_update(None, trees(*changes)).guard is Guard.NOT_IDEMPOTENT


def test_a_copy_of_the_whole_into_its_part_is_not_idempotent() -> None:
    change = SetTo(Name(("ops", "x")), Name(("ops",)))
    assert not is_idempotent(change, [change])


ORDERS: dict[str, Any] = {
    "less than": Note.order < 5,
    "absent or less than": Note.order.not_exists_or_lt(5),
    "beside other demands": (Note.order < 5) & (Note.text == "x"),
    "less than, or absent": (Note.order < 5) | Note.order.not_exists(),
}
NO_ORDERS: dict[str, Any] = {
    "less or equal": Note.order <= 5,
    "another value": Note.order < 6,
    "another attribute": Note.count < 5,
    "one of two ways": (Note.order < 5) | (Note.text == "x"),
    "absent or less, of two attributes": (Note.order < 5) | Note.count.not_exists(),
    "not less": ~(Note.order < 5),
    "none": None,
}


def tree_of(condition: Any) -> Any:
    return None if condition is None else condition.tree


@pytest.mark.parametrize("condition", ORDERS.values(), ids=ORDERS)
def test_an_order_that_the_write_raises_guards_it(condition: Any) -> None:
    guard = guard_of_update(tree_of(condition), trees(Note.order.set(5), Note.count.add(1)))
    assert (guard.guard, guard.mark) == (Guard.ORDER, Mark(Name(("order",)), {"N": "5"}))


@pytest.mark.parametrize("condition", NO_ORDERS.values(), ids=NO_ORDERS)
def test_what_is_no_order_of_the_write_guards_nothing(condition: Any) -> None:
    assert guard_of_update(tree_of(condition), trees(Note.order.set(5), Note.count.add(1))).guard is Guard.NOT_IDEMPOTENT


def test_an_order_that_is_raised_by_arithmetic_guards_nothing() -> None:
    assert guard_of_update((Note.order < 5).tree, trees(Note.order.add(5))).guard is Guard.NOT_IDEMPOTENT


def test_an_order_at_a_list_index_guards_nothing() -> None:
    condition = (Note.lines[0] < 5).tree
    assert guard_of_update(condition, trees(Note.lines[0].set(5))).guard is Guard.NOT_IDEMPOTENT


def test_numbers_that_are_equal_are_one_order_however_they_are_written() -> None:
    change = SetTo(Name(("order",)), Value({"N": "5.0"}))
    assert guard_of_update((Note.order < 5).tree, [change]).guard is Guard.ORDER


def test_a_put_is_guarded_by_an_order_that_it_stores() -> None:
    item = {"order": {"N": "5"}}
    assert guard_of_put((Note.order < 5).tree, item).guard is Guard.ORDER
    assert guard_of_put((Note.order < 6).tree, item).guard is Guard.IDEMPOTENT
    assert guard_of_put(None, item).guard is Guard.IDEMPOTENT


def test_an_operation_id_that_the_write_adds_and_looks_for_guards_it() -> None:
    in_set = guard_of_update((~Note.tags.contains("op")).tree, trees(Note.count.add(1), Note.tags.add("op")))
    assert (in_set.guard, in_set.mark) == (Guard.OPERATION_ID, Mark(Name(("tags",)), {"S": "op"}))
    in_map = guard_of_update(Note.ops["op"].not_exists().tree, trees(Note.count.add(1), Note.ops["op"].set(1)))
    assert (in_map.guard, in_map.mark) == (Guard.OPERATION_ID, Mark(Name(("ops", "op")), {"N": "1"}))


def test_what_is_kept_under_an_operation_id_may_be_computed() -> None:
    after = Note.count + 1
    guard = guard_of_update(Note.ops["op"].not_exists().tree, trees(Note.count.set(after), Note.ops["op"].set(after)))
    assert guard.guard is Guard.OPERATION_ID
    assert guard.mark is not None
    assert shows_operation({"ops": {"M": {"op": {"N": "7"}}}}, guard.mark)
    assert not shows_operation({"ops": {"M": {}}}, guard.mark)


@pytest.mark.parametrize(
    ("condition", "changes"),
    [
        (~Note.tags.contains("op"), (Note.count.add(1), Note.tags.add("another"))),
        (~Note.tags.contains("op"), (Note.count.add(1), Note.tags.discard("op"))),
        (Note.tags.contains("op"), (Note.count.add(1), Note.tags.add("op"))),
        ((~Note.tags.contains("op")) | (Note.text == "x"), (Note.count.add(1), Note.tags.add("op"))),
        (Note.ops["op"].not_exists(), (Note.count.add(1), Note.ops["another"].set(1))),
        (Note.text.not_exists(), (Note.count.add(1), Note.text.set("x"))),
    ],
    ids=["another id", "taken out", "demanded", "one of two ways", "another member", "a plain attribute"],
)
def test_what_is_no_operation_id_of_the_write_guards_nothing(condition: Any, changes: Any) -> None:
    assert guard_of_update(condition.tree, trees(*changes)).guard is Guard.NOT_IDEMPOTENT


def test_an_idempotent_update_takes_no_operation_id_for_a_guard_since_an_element_may_be_taken_out_again() -> None:
    assert guard_of_update((~Note.tags.contains("admin")).tree, trees(Note.tags.add("admin"))).guard is Guard.IDEMPOTENT


def test_an_item_shows_an_operation_by_the_element_or_the_member() -> None:
    in_set, in_map = Mark(Name(("tags",)), {"S": "op"}), Mark(Name(("ops", "op")), {"N": "1"})
    assert shows_operation({"tags": {"SS": ["a", "op"]}}, in_set)
    assert not shows_operation({"tags": {"SS": ["a"]}}, in_set)
    assert not shows_operation({}, in_set)
    assert shows_operation({"ops": {"M": {"op": {"N": "7"}}}}, in_map)
    assert not shows_operation({"ops": {"M": {}}}, in_map)


@pytest.mark.parametrize(("stored", "newer"), [({"N": "6"}, True), ({"N": "5"}, True), ({"N": "4"}, False), ({"S": "9"}, False), (None, False)])
def test_an_item_shows_the_same_or_a_newer_order(stored: Any, newer: bool) -> None:
    item = {} if stored is None else {"order": stored}
    assert shows_newer_order(item, Mark(Name(("order",)), {"N": "5"})) is newer


def test_a_path_is_followed_through_maps_and_lists_and_ends_at_nothing() -> None:
    item = {"a": {"M": {"b": {"L": [{"N": "1"}, {"S": "x"}]}}}}
    assert value_at(item, Name(("a", "b", 1))) == {"S": "x"}
    assert value_at(item, Name(("a", "b", 2))) is None
    assert value_at(item, Name(("a", "c", 0))) is None
    assert value_at(item, Name(("a", "b", "c"))) is None
