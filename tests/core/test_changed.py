"""What changes leave of a stored item is what the engine leaves of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite.core.changed import changed_item
from surewrite.core.expressions import AddTo, Arithmetic, ChangeTree, DeleteFrom, IfNotExists, ListAppend, Name, Remove, Rendering, SetTo, Value
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.validation import check_item

ITEM: dict[str, Any] = {
    "pk": {"S": "x"},
    "n": {"N": "3"},
    "tags": {"SS": ["a", "b"]},
    "list": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}, {"N": "4"}]},
    "map": {"M": {"n": {"N": "1"}, "inner": {"M": {"x": {"S": "deep"}}}, "list": {"L": [{"S": "a"}]}}},
}


def name(*parts: str | int) -> Name:
    return Name(parts)


def number(value: int) -> Value:
    return Value({"N": str(value)})


def by_the_engine(changes: list[ChangeTree]) -> dict[str, Any] | None:
    service = Service(MemoryStore(), clock=lambda: 0.0)
    service.execute(
        "CreateTable",
        {
            "TableName": "table",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    )
    service.execute("PutItem", {"TableName": "table", "Item": ITEM})
    rendering = Rendering()
    body: dict[str, Any] = {"TableName": "table", "Key": {"pk": {"S": "x"}}, "UpdateExpression": rendering.update(changes), "ReturnValues": "ALL_NEW"}
    body["ExpressionAttributeNames"] = rendering.names
    if rendering.values:
        body["ExpressionAttributeValues"] = rendering.values
    try:
        return check_item(service.execute("UpdateItem", body)["Attributes"])
    except Exception:  # noqa: BLE001 - whatever the engine refuses, nothing is left of it
        return None


CHANGES: tuple[ChangeTree, ...] = (
    SetTo(name("new"), number(1)),
    SetTo(name("n"), Arithmetic("+", name("n"), number(4))),
    SetTo(name("copy"), name("map", "n")),
    SetTo(name("less"), Arithmetic("-", name("n"), name("map", "n"))),
    SetTo(name("kept"), IfNotExists(name("n"), number(9))),
    SetTo(name("started"), IfNotExists(name("nothing"), number(9))),
    SetTo(name("joined"), ListAppend(name("list"), Value({"L": [{"N": "5"}]}))),
    SetTo(name("list", 1), number(20)),
    SetTo(name("list", 9), number(90)),
    SetTo(name("map", "inner", "y"), number(1)),
    SetTo(name("map", "list", 0), number(1)),
    SetTo(name("map", "nothing", "y"), number(1)),
    SetTo(name("sum"), Arithmetic("+", name("tags"), number(1))),
    SetTo(name("sum"), Arithmetic("+", name("nothing"), number(1))),
    Remove(name("tags")),
    Remove(name("nothing")),
    Remove(name("list", 0)),
    Remove(name("list", 2)),
    Remove(name("list", 7)),
    Remove(name("map", "inner", "x")),
    AddTo(name("n"), number(2)),
    AddTo(name("count"), number(2)),
    AddTo(name("tags"), Value({"SS": ["b", "c"]})),
    AddTo(name("more"), Value({"NS": ["1", "2"]})),
    AddTo(name("list"), number(1)),
    DeleteFrom(name("tags"), Value({"SS": ["a"]})),
    DeleteFrom(name("tags"), Value({"SS": ["a", "b", "c"]})),
    DeleteFrom(name("nothing"), Value({"SS": ["a"]})),
)


def by_us(changes: list[ChangeTree]) -> dict[str, Any] | None:
    try:
        return check_item(changed_item(ITEM, changes))
    except sw.InvalidRequest:
        return None


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_one_change_leaves_what_the_engine_leaves(change) -> None:
    assert by_us([change]) == by_the_engine([change])


@given(st.lists(st.sampled_from(CHANGES), min_size=2, max_size=4))
def test_several_changes_leave_what_the_engine_leaves(changes: list[ChangeTree]) -> None:
    found = by_the_engine(changes)
    # Changes that overlap are refused by the service before anything is made of them, so they are nothing to be followed.
    assert found is None or by_us(changes) == found


def test_the_item_before_is_left_as_it_was() -> None:
    before = check_item(ITEM)
    changed_item(ITEM, [SetTo(name("list", 0), number(7)), AddTo(name("tags"), Value({"SS": ["z"]}))])
    assert check_item(ITEM) == before
