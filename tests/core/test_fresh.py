"""What changes leave where nothing is stored is what UpdateItem leaves there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surewrite.core.expressions import AddTo, Arithmetic, ChangeTree, DeleteFrom, IfNotExists, ListAppend, Name, Remove, Rendering, SetTo, Value
from surewrite.core.fresh import fresh_item
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.validation import check_item
from surewrite.errors import InvalidRequest

KEY = {"pk": {"S": "a"}}
NUMBERS = st.integers(-50, 50).map(lambda number: Value({"N": str(number)}))
LISTS = st.lists(st.integers(0, 9), max_size=3).map(lambda members: Value({"L": [{"N": str(member)} for member in members]}))


def name(text: str) -> Name:
    return Name((text,))


@st.composite
def changes(draw: st.DrawFn) -> list[ChangeTree]:
    # An update that only removes makes no item at all.
    made: list[ChangeTree] = [SetTo(name("z"), Value({"N": "0"}))]
    for text in draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)):
        number, other = draw(NUMBERS), draw(NUMBERS)
        made.append(
            draw(
                st.sampled_from(
                    [
                        SetTo(name(text), number),
                        SetTo(name(text), IfNotExists(name(text), number)),
                        SetTo(name(text), Arithmetic(draw(st.sampled_from(["+", "-"])), IfNotExists(name(text), number), other)),
                        SetTo(name(text), ListAppend(IfNotExists(name(text), draw(LISTS)), draw(LISTS))),
                        AddTo(name(text), number),
                        AddTo(name(text), Value({"SS": ["x", "y"]})),
                        Remove(name(text)),
                        DeleteFrom(name(text), Value({"SS": ["x"]})),
                    ]
                )
            )
        )
    return made


@given(changes())
def test_it_is_what_the_service_makes(made: list[ChangeTree]) -> None:
    service = Service(MemoryStore())
    service.execute(
        "CreateTable",
        {
            "TableName": "things",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    )
    rendering = Rendering()
    body: dict[str, Any] = {"TableName": "things", "Key": KEY, "UpdateExpression": rendering.update(made), "ReturnValues": "ALL_NEW"}
    body["ExpressionAttributeNames"] = rendering.names
    if rendering.values:
        body["ExpressionAttributeValues"] = rendering.values
    answered = service.execute("UpdateItem", body)
    assert check_item(fresh_item(KEY, made)) == check_item(answered["Attributes"])


@pytest.mark.parametrize(
    "change",
    [SetTo(Name(("a", "b")), Value({"N": "1"})), SetTo(name("a"), name("b")), SetTo(name("a"), Arithmetic("+", name("a"), Value({"N": "1"})))],
    ids=["a nested path", "another attribute", "itself"],
)
def test_a_change_that_needs_something_stored_is_refused(change: ChangeTree) -> None:
    with pytest.raises(InvalidRequest, match="needs a stored item"):
        fresh_item(KEY, [change])
