"""What is written with paths is what is sent, and what the service would refuse is refused where it is written."""

# ruff: noqa: B015, E711, E712, SIM201 - a comparison of a path is an expression that is looked at
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Change, Condition, Entity, InvalidRequest, Operand, VersionedEntity
from surewrite.core.expressions import Rendering


class State(Enum):
    NEW = "new"
    PAID = "paid"


@dataclass(frozen=True)
class Address:
    city: str
    lines: list[str]
    zip_code: int | None = None


class Order(Entity, discriminator="ORDER", partition_key="ORDER#{id}", sort_key="ORDER"):
    id: Attribute[str]
    stock: Attribute[int]
    limit: Attribute[int] = sw.attribute(default=10, stored_as="most")
    price: Attribute[Decimal | None] = sw.attribute(default=None)
    weight: Attribute[float | None] = sw.attribute(default=None)
    wait: Attribute[timedelta | None] = sw.attribute(default=None)
    status: Attribute[str | None] = sw.attribute(default=None)
    paid: Attribute[bool] = sw.attribute(default=False)
    state: Attribute[State] = sw.attribute(default=State.NEW)
    at: Attribute[datetime | None] = sw.attribute(default=None)
    blob: Attribute[bytes | None] = sw.attribute(default=None)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    lines: Attribute[list[int]] = sw.attribute(default_factory=list)
    marks: Attribute[tuple[str, ...]] = sw.attribute(default=())
    pair: Attribute[tuple[int, str] | None] = sw.attribute(default=None)
    counts: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    groups: Attribute[dict[str, frozenset[str]]] = sw.attribute(default_factory=dict)
    address: Attribute[Address | None] = sw.attribute(default=None)


class Other(Entity, discriminator="OTHER", partition_key="OTHER#{id}", sort_key="OTHER"):
    id: Attribute[str]
    stock: Attribute[int]


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}"):
    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    revision: Attribute[int | None] = sw.version()


def sent_condition(condition: Condition[Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
    rendering = Rendering()
    text = rendering.condition(condition.tree)
    return text, rendering.names, rendering.values


def sent_change(change: Change[Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
    rendering = Rendering()
    text = rendering.update((change.tree,))
    return text, rendering.names, rendering.values


NOON = datetime(2026, 11, 29, 18, 45, tzinfo=UTC)

CONDITIONS: list[tuple[Callable[[], Condition[Any]], str, list[str], list[dict[str, Any]]]] = [
    (lambda: Order.stock == 3, "#0 = :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock != 3, "#0 <> :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock < 3, "#0 < :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock <= 3, "#0 <= :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock > 3, "#0 > :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock >= 3, "#0 >= :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock < Order.limit, "#0 < #1", ["stock", "most"], []),
    (lambda: Order.stock.between(1, 3), "#0 BETWEEN :0 AND :1", ["stock"], [{"N": "1"}, {"N": "3"}]),
    (lambda: Order.stock.between(1, Order.limit), "#0 BETWEEN :0 AND #1", ["stock", "most"], [{"N": "1"}]),
    (lambda: Order.stock.is_in(1, Order.limit), "#0 IN (:0, #1)", ["stock", "most"], [{"N": "1"}]),
    (lambda: Order.price == 3, "#0 = :0", ["price"], [{"N": "3"}]),
    (lambda: Order.wait > timedelta(seconds=1.5), "#0 > :0", ["wait"], [{"N": "1.5"}]),
    (lambda: Order.paid == True, "#0 = :0", ["paid"], [{"BOOL": True}]),
    (lambda: Order.state == State.PAID, "#0 = :0", ["state"], [{"S": "paid"}]),
    (lambda: Order.at < NOON, "#0 < :0", ["at"], [{"S": "2026-11-29T18:45:00.000000Z"}]),
    (Order.status.exists, "attribute_exists(#0)", ["status"], []),
    (Order.status.not_exists, "attribute_not_exists(#0)", ["status"], []),
    (lambda: Order.status.has_type("NULL"), "attribute_type(#0, :0)", ["status"], [{"S": "NULL"}]),
    (lambda: Order.status.begins_with("a"), "begins_with(#0, :0)", ["status"], [{"S": "a"}]),
    (lambda: Order.status.contains("a"), "contains(#0, :0)", ["status"], [{"S": "a"}]),
    (lambda: Order.status.contains(Order.id), "contains(#0, #1)", ["status", "id"], []),
    (lambda: Order.status.is_prefix_of("abc"), "begins_with(:0, #0)", ["status"], [{"S": "abc"}]),
    (lambda: Order.status.is_part_of("abc"), "contains(:0, #0)", ["status"], [{"S": "abc"}]),
    (lambda: Order.blob.is_prefix_of(b"a"), "begins_with(:0, #0)", ["blob"], [{"B": "YQ=="}]),
    (lambda: Order.blob.is_part_of(b"a"), "contains(:0, #0)", ["blob"], [{"B": "YQ=="}]),
    (lambda: Order.tags.contains(Order.id), "contains(#0, #1)", ["tags", "id"], []),
    (lambda: Order.lines.contains(Order.stock), "contains(#0, #1)", ["lines", "stock"], []),
    (lambda: Order.groups["a"].contains("x"), "contains(#0.#1, :0)", ["groups", "a"], [{"S": "x"}]),
    (lambda: Order.status.size() > 3, "size(#0) > :0", ["status"], [{"N": "3"}]),
    (lambda: Order.status.size() == Order.stock, "size(#0) = #1", ["status", "stock"], []),
    (lambda: Order.tags.size().between(1, 2), "size(#0) BETWEEN :0 AND :1", ["tags"], [{"N": "1"}, {"N": "2"}]),
    (lambda: Order.blob.begins_with(b"a"), "begins_with(#0, :0)", ["blob"], [{"B": "YQ=="}]),
    (lambda: Order.blob.contains(b"a"), "contains(#0, :0)", ["blob"], [{"B": "YQ=="}]),
    (lambda: Order.blob.size() < 3, "size(#0) < :0", ["blob"], [{"N": "3"}]),
    (lambda: Order.tags.contains("a"), "contains(#0, :0)", ["tags"], [{"S": "a"}]),
    (lambda: Order.tags == frozenset({"b", "a"}), "#0 = :0", ["tags"], [{"SS": ["a", "b"]}]),
    (lambda: Order.tags == {"a"}, "#0 = :0", ["tags"], [{"SS": ["a"]}]),
    (lambda: Order.lines.contains(3), "contains(#0, :0)", ["lines"], [{"N": "3"}]),
    (lambda: Order.lines[1] == 3, "#0[1] = :0", ["lines"], [{"N": "3"}]),
    (lambda: Order.lines == [1], "#0 = :0", ["lines"], [{"L": [{"N": "1"}]}]),
    (lambda: Order.marks == ("a",), "#0 = :0", ["marks"], [{"L": [{"S": "a"}]}]),
    (lambda: Order.lines.size() < 3, "size(#0) < :0", ["lines"], [{"N": "3"}]),
    (lambda: Order.counts["a.b"] > 3, "#0.#1 > :0", ["counts", "a.b"], [{"N": "3"}]),
    (lambda: Order.counts.size() >= 1, "size(#0) >= :0", ["counts"], [{"N": "1"}]),
    (lambda: Order.address["city"].begins_with("B"), "begins_with(#0.#1, :0)", ["address", "city"], [{"S": "B"}]),
    (lambda: Order.address["lines"][0] == "x", "#0.#1[0] = :0", ["address", "lines"], [{"S": "x"}]),
    (Order.address["zip_code"].not_exists, "attribute_not_exists(#0.#1)", ["address", "zip_code"], []),
    (lambda: Order.address == Address("B", []), "#0 = :0", ["address"], [{"M": {"city": {"S": "B"}, "lines": {"L": []}}}]),
    (lambda: Order.at.not_exists_or_lt(NOON), "attribute_not_exists(#0) OR #0 < :0", ["at"], [{"S": "2026-11-29T18:45:00.000000Z"}]),
    (lambda: Order.stock.not_exists_or_le(1), "attribute_not_exists(#0) OR #0 <= :0", ["stock"], [{"N": "1"}]),
    (lambda: (Order.stock > 1) & (Order.limit > 2) & (Order.paid == True),
     "#0 > :0 AND #1 > :1 AND #2 = :2", ["stock", "most", "paid"], [{"N": "1"}, {"N": "2"}, {"BOOL": True}]),
    (lambda: ((Order.stock > 1) | (Order.limit > 2)) & ~Order.tags.contains("a"),
     "(#0 > :0 OR #1 > :1) AND NOT contains(#2, :2)", ["stock", "most", "tags"], [{"N": "1"}, {"N": "2"}, {"S": "a"}]),
    (lambda: ~((Order.stock > 1) & (Order.limit > 2)), "NOT (#0 > :0 AND #1 > :1)", ["stock", "most"], [{"N": "1"}, {"N": "2"}]),
]  # fmt: skip


@pytest.mark.parametrize(("write", "text", "names", "values"), CONDITIONS)
def test_a_condition_is_sent_as_written_with_names_aliased_and_values_apart(
    write: Callable[[], Condition[Any]], text: str, names: list[str], values: list[dict[str, Any]]
) -> None:
    condition = write()
    sent, aliases, placeholders = sent_condition(condition)
    assert sent == text
    assert list(aliases.values()) == names
    assert list(placeholders.values()) == values
    assert condition.owner is Order


CHANGES: list[tuple[Callable[[], Change[Any]], str, list[str], list[dict[str, Any]]]] = [
    (lambda: Order.stock.set(3), "SET #0 = :0", ["stock"], [{"N": "3"}]),
    (lambda: Order.stock.set(Order.limit), "SET #0 = #1", ["stock", "most"], []),
    (lambda: Order.stock.set(Order.stock + 1), "SET #0 = #0 + :0", ["stock"], [{"N": "1"}]),
    (lambda: Order.stock.set(Order.limit - Order.stock), "SET #0 = #1 - #0", ["stock", "most"], []),
    (lambda: Order.stock.set(5 - Order.stock), "SET #0 = :0 - #0", ["stock"], [{"N": "5"}]),
    (lambda: Order.stock.set(5 + Order.stock), "SET #0 = :0 + #0", ["stock"], [{"N": "5"}]),
    (lambda: Order.stock.set(Order.stock.if_not_exists(0)), "SET #0 = if_not_exists(#0, :0)", ["stock"], [{"N": "0"}]),
    (lambda: Order.stock.set(Order.stock.if_not_exists(Order.limit)), "SET #0 = if_not_exists(#0, #1)", ["stock", "most"], []),
    (lambda: Order.stock.set(Order.stock.if_not_exists(Order.limit.if_not_exists(1))),
     "SET #0 = if_not_exists(#0, if_not_exists(#1, :0))", ["stock", "most"], [{"N": "1"}]),
    (lambda: Order.stock.set(Order.stock.if_not_exists(0) + 1), "SET #0 = if_not_exists(#0, :0) + :1", ["stock"], [{"N": "0"}, {"N": "1"}]),
    (lambda: Order.stock.set(1 + Order.stock.if_not_exists(0)), "SET #0 = :0 + if_not_exists(#0, :1)", ["stock"], [{"N": "1"}, {"N": "0"}]),
    (lambda: Order.stock.set(1 - Order.stock.if_not_exists(0)), "SET #0 = :0 - if_not_exists(#0, :1)", ["stock"], [{"N": "1"}, {"N": "0"}]),
    (lambda: Order.stock.set(Order.stock.if_not_exists(0) - Order.limit), "SET #0 = if_not_exists(#0, :0) - #1", ["stock", "most"], [{"N": "0"}]),
    (lambda: Order.stock.set(Order.limit - Order.stock.if_not_exists(0)), "SET #0 = #1 - if_not_exists(#0, :0)", ["stock", "most"], [{"N": "0"}]),
    (lambda: Order.stock.add(-3), "ADD #0 :0", ["stock"], [{"N": "-3"}]),
    (lambda: Order.price.add(3), "ADD #0 :0", ["price"], [{"N": "3"}]),
    (lambda: Order.weight.add(0.5), "ADD #0 :0", ["weight"], [{"N": "0.5"}]),
    (Order.price.remove, "REMOVE #0", ["price"], []),
    (lambda: Order.tags.add("b", "a"), "ADD #0 :0", ["tags"], [{"SS": ["a", "b"]}]),
    (lambda: Order.tags.discard("a"), "DELETE #0 :0", ["tags"], [{"SS": ["a"]}]),
    (lambda: Order.tags.set(frozenset({"a"})), "SET #0 = :0", ["tags"], [{"SS": ["a"]}]),
    (lambda: Order.tags.set(frozenset()), "REMOVE #0", ["tags"], []),
    (Order.tags.remove, "REMOVE #0", ["tags"], []),
    (lambda: Order.lines.append(1, 2), "SET #0 = list_append(#0, :0)", ["lines"], [{"L": [{"N": "1"}, {"N": "2"}]}]),
    (lambda: Order.lines.prepend(1), "SET #0 = list_append(:0, #0)", ["lines"], [{"L": [{"N": "1"}]}]),
    (lambda: Order.lines.set(Order.lines.if_not_exists([]).preceded_by([1])),
     "SET #0 = list_append(:0, if_not_exists(#0, :1))", ["lines"], [{"L": [{"N": "1"}]}, {"L": []}]),
    (lambda: Order.lines.set(Order.lines.followed_by([1])), "SET #0 = list_append(#0, :0)", ["lines"], [{"L": [{"N": "1"}]}]),
    (lambda: Order.lines.set(Order.lines.if_not_exists([]).followed_by([1])),
     "SET #0 = list_append(if_not_exists(#0, :0), :1)", ["lines"], [{"L": []}, {"L": [{"N": "1"}]}]),
    (lambda: Order.marks.append("a"), "SET #0 = list_append(#0, :0)", ["marks"], [{"L": [{"S": "a"}]}]),
    (lambda: Order.lines[2].set(3), "SET #0[2] = :0", ["lines"], [{"N": "3"}]),
    (Order.lines[2].remove, "REMOVE #0[2]", ["lines"], []),
    (lambda: Order.lines[2].add(1), "ADD #0[2] :0", ["lines"], [{"N": "1"}]),
    (lambda: Order.counts["a"].add(1), "ADD #0.#1 :0", ["counts", "a"], [{"N": "1"}]),
    (lambda: Order.groups["a"].add("x"), "ADD #0.#1 :0", ["groups", "a"], [{"SS": ["x"]}]),
    (lambda: Order.counts.set({"a": 1}), "SET #0 = :0", ["counts"], [{"M": {"a": {"N": "1"}}}]),
    (lambda: Order.address["zip_code"].set(3000), "SET #0.#1 = :0", ["address", "zip_code"], [{"N": "3000"}]),
    (lambda: Order.address["lines"].append("x"), "SET #0.#1 = list_append(#0.#1, :0)", ["address", "lines"], [{"L": [{"S": "x"}]}]),
    (lambda: Order.pair[1].set("x"), "SET #0[1] = :0", ["pair"], [{"S": "x"}]),  # type: ignore[index]
]  # fmt: skip


@pytest.mark.parametrize(("write", "text", "names", "values"), CHANGES)
def test_a_change_is_sent_as_written(write: Callable[[], Change[Any]], text: str, names: list[str], values: list[dict[str, Any]]) -> None:
    change = write()
    sent, aliases, placeholders = sent_change(change)
    assert sent == text
    assert list(aliases.values()) == names
    assert list(placeholders.values()) == values
    assert change.owner is Order


anything: Any = Order
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: anything.stock == None, ".not_exists()"),
    (lambda: anything.at < None, ".not_exists() or .exists()"),
    (lambda: anything.at.not_exists_or_lt(None), ".exists()"),
    (lambda: anything.stock == "3", "Order.stock takes int, not str"),
    (lambda: anything.stock == 1.5, "Order.stock takes int, not float"),
    (lambda: anything.stock == True, "a bool is no number"),
    (lambda: anything.stock == Order.stock, "compared with itself"),
    (lambda: anything.stock == Order.stock + 1, "in updates only"),
    (lambda: anything.stock == Other.stock, "Order and Other are stored in different items"),
    (lambda: anything.stock.set(Other.stock), "Order and Other"),
    (lambda: anything.stock.set(Other.stock + 1), "Order and Other"),
    (lambda: (Order.stock == 1) & anything.stock, "put each comparison in parentheses"),
    (lambda: (Order.stock == 1) & (Other.stock == 1), "Order and Other"),
    (lambda: (Order.stock == 1) | (Other.stock == 1), "Order and Other"),
    (anything.stock.is_in, "1 to 100 values, not 0"),
    (lambda: anything.stock.is_in(*range(101)), "1 to 100 values, not 101"),
    (lambda: anything.stock.is_in([1, 2]), "write .is_in(*values)"),
    (lambda: anything.stock.between(3, 1), "the lower bound first"),
    (lambda: anything.stock.has_type("X"), "has_type takes one of"),
    (lambda: anything.tags == frozenset(), "empty set"),
    (lambda: anything.status.set(None), "write .remove()"),
    (lambda: anything.stock.set("x"), "Order.stock takes int"),
    (lambda: anything.stock.set(Order.status.size()), "no size"),
    (anything.stock.remove, "is required"),
    (lambda: anything.stock.add("x"), "takes int, not str"),
    (lambda: Order.stock + anything.stock.set, "takes int"),
    (lambda: anything.stock.computed(Order.stock.name, "+", Order.stock + 1), "one + or -"),
    (lambda: anything.stock.if_not_exists(Order.stock + 1), "outermost only"),
    (anything.tags.add, "one element or more"),
    (lambda: anything.tags.add(3), "Order.tags takes str, not int"),
    (lambda: anything.tags.contains(Other.id), "Order and Other"),
    (lambda: anything.tags.discard(None), "takes str, not None"),
    (anything.lines.append, "one element or more"),
    (lambda: anything.lines.append("x"), "Order.lines takes int, not str"),
    (lambda: anything.lines.followed_by(Order.lines.followed_by([1])), "appends once"),
    (lambda: anything.lines[-1], "does not count from the end"),
    (lambda: anything.lines["a"], "an index counted from 0"),
    (lambda: anything.counts[""], "the name of a member"),
    (lambda: anything.counts[3], "the name of a member"),
    (lambda: anything.address["town"], "it has city, lines, zip_code"),
    (lambda: anything.pair[2], "it has 0 to 1"),
    (lambda: bool(Order.stock == 3), "(a) & (b)"),
    (lambda: 1 < Order.stock < 3, "path.between"),
    (lambda: Order.stock == 1 and Order.stock == 2, "for `and`"),  # type: ignore[truthy-bool]
    (lambda: not Order.stock == 1, "~(a)"),
]


@pytest.mark.parametrize(("write", "reason"), REFUSED)
def test_what_the_service_would_refuse_is_refused_where_it_is_written(write: Callable[[], Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        write()


@pytest.mark.parametrize("write", [lambda: list(anything.lines), lambda: 3 in anything.lines, lambda: 3 in anything.tags, lambda: iter(anything.counts)])
def test_a_path_is_no_sequence(write: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        write()


def test_a_path_has_no_operation_that_its_type_has_not() -> None:
    assert not {"add", "begins_with", "between", "append"} & set(dir(Order.paid))
    assert not {"begins_with", "append"} & set(dir(Order.stock))
    with pytest.raises(TypeError):
        anything.paid < True


def test_no_value_stands_in_the_text_of_an_expression() -> None:
    written = [Order.status == "secret", Order.tags.add("secret"), Order.stock + 4711, Order.status.set("secret"), ~(Order.stock > 4711)]
    assert [repr(one) for one in written] == [
        "<Condition on Order: status = <S>>",
        "<Change of Order: ADD tags <SS>>",
        "<Operand of Order: stock + <N>>",
        "<Change of Order: SET status = <S>>",
        "<Condition on Order: NOT (stock > <N>)>",
    ]


def test_the_text_of_a_path_names_entity_and_field() -> None:
    assert repr(Order.counts["a"]) == "<NumberPath Order.counts.a>"
    assert repr(Order.lines[0]) == "<NumberPath Order.lines[0]>"
    assert repr(Order.tags.size()) == "<size of Order.tags>"


def test_a_path_is_the_same_object_each_time_and_hashable() -> None:
    assert Order.stock is Order.stock
    assert hash(Order.stock) == hash(Order.stock)
    assert len({Order.stock, Order.limit}) == 2


def test_a_condition_of_a_base_and_one_of_a_class_derived_from_it_are_about_the_class() -> None:
    class Base(Entity):
        stock: Attribute[int]

    class Derived(Base, discriminator="DERIVED", partition_key="D#{id}"):
        id: Attribute[str]

    assert ((Base.stock > 1) & (Derived.id == "x")).owner is Derived
    assert ((Derived.id == "x") | (Base.stock > 1)).owner is Derived
    assert Derived.stock.name == Base.stock.name


def test_a_version_can_be_asked_for() -> None:
    assert sent_condition(Account.revision == 3)[0] == "#0 = :0"


def test_an_operand_is_of_its_entity() -> None:
    operand: Operand[Any, Any] = Order.stock + 1
    assert operand.owner is Order


NESTED: dict[str, Callable[[Condition[Order], int], Condition[Order]]] = {
    "not": lambda inner, _: ~inner,
    "and and or by turns": lambda inner, at: (Order.paid.exists() & inner) if at % 2 else (Order.paid.exists() | inner),
    "side by side": lambda inner, _: inner & Order.paid.exists(),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_condition_of_more_operators_than_the_service_takes_is_refused_where_it_is_joined(kind: str) -> None:
    condition = Order.stock > 1
    for at in range(300):
        condition = NESTED[kind](condition, at)
    assert repr(condition).count("stock > <N>") == 1
    with pytest.raises(InvalidRequest, match=re.escape("more than 300 of &, | and ~")):
        NESTED[kind](condition, 300)


def test_so_is_a_default_of_a_default_of_too_many() -> None:
    default = Order.stock.if_not_exists(1)
    for _ in range(299):
        default = Order.stock.if_not_exists(default)
    assert repr(Order.stock.set(default)).count("if_not_exists") == 300
    with pytest.raises(InvalidRequest, match="300 functions"):
        Order.stock.if_not_exists(default)


def test_a_value_that_is_a_tuple_may_be_the_only_one_of_is_in() -> None:
    pair = sw.codec(tuple, via=str, encode=":".join, decode=lambda text: tuple(text.split(":")))

    class Visit(Entity, discriminator="VISIT", partition_key="VISIT#{id}", sort_key="VISIT"):
        id: Attribute[str]
        place: Attribute[tuple[str, str]] = sw.attribute(codec=pair)

    assert sent_condition(Visit.place.is_in(("a", "b"))) == ("#0 IN (:0)", {"#0": "place"}, {":0": {"S": "a:b"}})
