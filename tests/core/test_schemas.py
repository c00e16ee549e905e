"""From entity to item and back: what is stored, what is kept, what is refused, and what an upsert adds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import surewrite as sw
from surewrite import Attribute, Change, Entity, InvalidRequest, UndecodableItem, VersionedEntity, WrongEntityType
from surewrite.core.entities import BoundSchema, Stored, TableLayout, schema_of, stored_state, with_stored
from surewrite.core.expressions import Rendering
from surewrite.core.upserts import adapt_for_upsert, initial_changes

LAYOUT = TableLayout(("pk", "sk"))
PLAIN = TableLayout(("pk", "sk"), None, None, None)


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0), stored_as="b")
    note: Attribute[str | None] = sw.attribute(default=None)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    revision: Attribute[int | None] = sw.version(stored_as="v")


class Order(VersionedEntity, partition_key="{customer_id}", sort_key="{order_id}"):
    customer_id: Attribute[str]
    order_id: Attribute[int]
    stock: Attribute[int]
    version: Attribute[int | None] = sw.version()


class Event(Entity, discriminator="EVENT", partition_key="EVENTS", sort_key="{at}#{ref}"):
    at: Attribute[datetime]
    ref: Attribute[UUID]
    text: Attribute[str]
    ends: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


@dataclass(frozen=True)
class Line:
    n: int


class Tally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="NOW"):
    name: Attribute[str]
    count: Attribute[int] = sw.attribute(default=5)
    total: Attribute[int | None] = sw.attribute(default=None)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    roles: Attribute[frozenset[str]] = sw.attribute(default=frozenset({"user"}))
    lines: Attribute[list[Line]] = sw.attribute(default_factory=list)
    counts: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)


class Must(Entity, discriminator="MUST", partition_key="MUST#{id}", sort_key="NOW"):
    id: Attribute[str]
    n: Attribute[int]
    lines: Attribute[list[int]]


accounts: BoundSchema[Account] = schema_of(Account).bind(LAYOUT)
orders: BoundSchema[Order] = schema_of(Order).bind(TableLayout(("customer_id", "order_id"), None))
events: BoundSchema[Event] = schema_of(Event).bind(LAYOUT)
tallies: BoundSchema[Tally] = schema_of(Tally).bind(LAYOUT)
musts: BoundSchema[Must] = schema_of(Must).bind(LAYOUT)
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
REF = UUID(int=1)


def test_schemas_are_made_once() -> None:
    assert schema_of(Account) is schema_of(Account)
    assert schema_of(Account).bind(LAYOUT) is schema_of(Account).bind(TableLayout(("pk", "sk")))
    assert schema_of(Account).bind(LAYOUT) is not schema_of(Account).bind(PLAIN)


def test_an_item_has_key_discriminator_and_fields_that_have_a_value_and_no_state() -> None:
    assert accounts.to_item(Account(id="a", balance=Decimal("1.50"))) == {
        "pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}, "_type": {"S": "ACCOUNT"}, "id": {"S": "a"}, "b": {"N": "1.5"},
    }  # fmt: skip
    assert accounts.key_of_entity(Account(id="a")) == accounts.key_item(Account.key_of("a")) == {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}
    assert accounts.key_item(Account.key_of("a").if_version(3)) == accounts.key_item(Account.key_of("a"))


def test_a_template_that_is_a_field_of_the_key_attributes_name_is_stored_once_in_its_own_type() -> None:
    assert orders.to_item(Order(customer_id="c", order_id=7, stock=3)) == {"customer_id": {"S": "c"}, "order_id": {"N": "7"}, "stock": {"N": "3"}}
    assert orders.key_attribute_types() == (("customer_id", "S"), ("order_id", "N"))
    assert accounts.key_attribute_types() == (("pk", "S"), ("sk", "S"))


def test_what_the_planning_asks_is_answered() -> None:
    assert accounts.entity is Account
    assert accounts.version is not None
    assert (accounts.version.name, accounts.version.stored_name) == ("revision", "v")
    assert accounts.time_to_live is None
    assert events.time_to_live is not None
    assert events.time_to_live.stored_name == "ttl"
    assert events.version is None
    assert accounts.key_names == ("pk", "sk")
    assert accounts.discriminator_value == "ACCOUNT"
    assert schema_of(Account).bind(PLAIN).discriminator_value is None
    assert [field.stored_name for field in accounts.fields] == ["id", "b", "note", "tags", "v"]
    assert {name for name in ("pk", "sk", "id", "b", "v") if accounts.is_key_attribute(name)} == {"pk", "sk", "id"}


def test_a_read_entity_has_its_state_and_keeps_what_it_does_not_know() -> None:
    item = {
        **accounts.to_item(Account(id="a", note="n", tags=frozenset({"x"}))), "v": {"N": "7"}, "_s": {"S": "7:s"}, "_b": {"S": "1:b"}, "new": {"S": "n"},
    }  # fmt: skip
    entity = accounts.from_item(item)
    assert entity == with_stored(Account(id="a", note="n", tags=frozenset({"x"})), Stored(7, None, None))
    assert stored_state(entity) == Stored(7, "7:s", "1:b", {"new": {"S": "n"}})
    assert accounts.to_item(entity.replace(note=None)) == {name: value for name, value in item.items() if name not in {"v", "_s", "_b", "note"}}


@pytest.mark.parametrize("version", [{}, {"v": {"NULL": True}}])
def test_a_missing_version_and_a_null_one_are_none(version: dict[str, Any]) -> None:
    entity = accounts.from_item({**accounts.to_item(Account(id="a")), **version})
    assert entity.revision is None
    assert stored_state(entity) == Stored(None, None, None)


@pytest.mark.parametrize("number", [0, -3])
def test_version_zero_and_negative_ones_are_read(number: int) -> None:
    assert accounts.from_item({**accounts.to_item(Account(id="a")), "v": {"N": str(number)}}).revision == number


def test_a_stored_null_and_an_absent_attribute_read_as_none_empty_or_default() -> None:
    key = accounts.key_of_entity(Account(id="a"))
    nulls = {name: {"NULL": True} for name in ("b", "note", "tags")}
    assert accounts.from_item({**key, "id": {"S": "a"}}) == accounts.from_item({**key, "id": {"S": "a"}, **nulls}) == Account(id="a")


def test_an_optional_field_that_is_absent_is_none_whatever_its_default() -> None:
    class Noted(Entity, discriminator="NOTED", partition_key="{id}", sort_key="X"):
        id: Attribute[str]
        note: Attribute[str | None] = sw.attribute(default="empty")

    schema = schema_of(Noted).bind(LAYOUT)
    assert schema.from_item(schema.to_item(Noted(id="a", note=None))).note is None


@pytest.mark.parametrize(("stored", "letters"), [({}, None), ({"n": {"NULL": True}}, "NULL"), ({"n": {"S": "secret"}}, "S")])
def test_an_item_that_does_not_fit_is_told_by_entity_field_and_type_without_its_contents(stored: dict[str, Any], letters: str | None) -> None:
    item = {name: value for name, value in musts.to_item(Must(id="a", n=1, lines=[])).items() if name != "n"}
    with pytest.raises(UndecodableItem, match=r"Must\.n") as unread:
        musts.from_item({**item, **stored})
    assert (unread.value.entity, unread.value.field, unread.value.stored_type) == (Must, "n", letters)
    assert "secret" not in str(unread.value)


def test_a_version_that_is_no_number_is_told() -> None:
    with pytest.raises(UndecodableItem, match=r"Account\.revision") as unread:
        accounts.from_item({**accounts.to_item(Account(id="a")), "v": {"S": "7"}})
    assert unread.value.stored_type == "S"


def test_another_type_is_refused_and_a_missing_one_is_adopted() -> None:
    item = accounts.to_item(Account(id="a"))
    with pytest.raises(WrongEntityType, match="the discriminator of Account") as refused:
        accounts.from_item({**item, "_type": {"S": "OTHER"}})
    assert refused.value.stored_type == "OTHER"
    with pytest.raises(WrongEntityType) as refused:
        accounts.from_item({**item, "_type": {"N": "1"}})
    assert refused.value.stored_type is None
    assert accounts.from_item({name: value for name, value in item.items() if name != "_type"}) == Account(id="a")


def test_key_fields_that_are_not_stored_beside_the_key_are_read_from_it() -> None:
    event = Event(at=NOON, ref=REF, text="t")
    item = {name: value for name, value in events.to_item(event).items() if name not in {"at", "ref"}}
    assert events.from_item(item) == event


def test_an_item_whose_fields_make_another_key_is_refused() -> None:
    item = accounts.to_item(Account(id="a"))
    with pytest.raises(UndecodableItem, match="the key of the item is none that its fields make"):
        accounts.from_item({**item, "id": {"S": "b"}})
    with pytest.raises(UndecodableItem, match="none that its fields make"):
        accounts.from_item({name: value for name, value in item.items() if name != "id"} | {"pk": {"S": "OTHER#a"}})


def test_a_key_number_of_another_spelling_is_the_same_key() -> None:
    class Numbered(Entity, discriminator="NUMBERED", partition_key="{n}", sort_key="X"):
        n: Attribute[int]

    schema = schema_of(Numbered).bind(LAYOUT)
    item = schema.to_item(Numbered(n=1))
    assert schema.from_item({**item, "pk": {"N": "1.0"}}) == Numbered(n=1)


def test_a_partly_read_entity_has_what_was_read_and_cannot_be_put() -> None:
    partial = accounts.from_item({"id": {"S": "a"}, "v": {"N": "1"}}, partial=True)
    state = stored_state(partial)
    assert state is not None
    assert state.partial
    assert (partial.id, partial.revision) == ("a", 1)
    with pytest.raises(InvalidRequest, match="read in part"):
        accounts.to_item(partial)


def test_a_partly_read_entity_has_the_fields_of_its_key() -> None:
    event = Event(at=NOON, ref=REF, text="t")
    partial = events.from_item(events.key_of_entity(event), partial=True)
    assert (partial.at, partial.ref) == (NOON, REF)
    assert events.key_of_entity(partial) == events.key_of_entity(event)
    with pytest.raises(AttributeError, match=r"Event\.text was not read"):
        _ = partial.text


def test_a_list_that_was_spoilt_is_told_when_it_is_stored() -> None:
    must: Any = Must(id="a", n=1, lines=[1])
    must.lines.append("x")
    with pytest.raises(InvalidRequest, match=r"Must\.lines element 1 takes int, not str"):
        musts.to_item(must)


def test_a_time_to_live_is_stored_in_seconds() -> None:
    event = Event(at=NOON, ref=REF, text="t", ends=NOON + timedelta(seconds=0.5))
    assert events.to_item(event)["ttl"] == {"N": str(int(NOON.timestamp()) + 1)}
    assert events.from_item(events.to_item(event)) == event


def test_entities_and_keys_of_another_type_are_refused() -> None:
    wrong: Any = accounts
    with pytest.raises(InvalidRequest, match=re.escape("write Account.key_of(...)")):
        wrong.key_item(Tally.key_of("x"))
    with pytest.raises(InvalidRequest, match="Tally is no Account"):
        wrong.to_item(Tally(name="x"))
    with pytest.raises(InvalidRequest, match="Tally is no Account"):
        wrong.key_of_entity(Tally(name="x"))


# --------------------------------------------------------------------------------------------------------------- layouts


class Bare(Entity, partition_key="B#{id}"):
    id: Attribute[str]
    other: Attribute[str] = sw.attribute(default="", stored_as="x")


@pytest.mark.parametrize(
    ("entity", "layout", "reason"),
    [
        (Bare, TableLayout(("pk",)), 'write discriminator="BARE" in the class, or discriminator=None'),
        (Bare, TableLayout(("pk", "sk"), None), "give the class a sort_key="),
        (Account, TableLayout(("pk",)), 'name both, as in key=("pk", "sk")'),
        (Bare, TableLayout(("x",), None), "Bare.other is stored as 'x', where the table stores a key attribute"),
        (Bare, TableLayout(("id",), None), "Bare.id is stored as 'id', where the table stores a key attribute"),
        (Bare, TableLayout(("pk",), None, stamp="x"), "where the table stores the stamp"),
        (Bare, TableLayout(("pk",), None, birth="x"), "where the table stores the birth"),
        (Account, TableLayout(("pk", "sk"), discriminator="note"), "where the table stores the discriminator"),
        (Bare, TableLayout(("pk",), None, stamp="pk"), "the stamp and a key attribute both as 'pk'"),
        (Bare, TableLayout(("pk",), None, stamp="s", birth="s"), "the birth and the stamp both as 's'"),
    ],
)
def test_a_type_and_a_table_that_do_not_fit_are_told_when_they_meet(entity: Any, layout: TableLayout, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        schema_of(entity).bind(layout)


# --------------------------------------------------------------------------------------------------------------- upserts


def sent(changes: Any) -> tuple[str, list[Any], list[Any]]:
    rendering = Rendering()
    text = rendering.update(changes)
    return text, list(rendering.names.values()), list(rendering.values.values())


def test_an_upsert_sets_discriminator_key_fields_and_the_defaults_that_are_not_touched() -> None:
    text, names, values = sent(initial_changes(tallies, Tally.key_of("x"), {"count", "seen"}))
    assert text == "SET #0 = :0, #1 = :1, #2 = if_not_exists(#2, :2), #3 = if_not_exists(#3, :3), #4 = if_not_exists(#4, :4)"
    assert names == ["_type", "name", "roles", "lines", "counts"]
    assert values == [{"S": "TALLY"}, {"S": "x"}, {"SS": ["user"]}, {"L": []}, {"M": {}}]


def test_a_key_attribute_is_never_set_by_an_upsert() -> None:
    text, names, _ = sent(initial_changes(orders, Order.key_of("c", 1), {"stock"}))
    assert (text, names) == ("", [])


def test_an_upsert_that_leaves_out_a_required_field_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=re.escape("lines is required: add Must.lines.set(...)")):
        initial_changes(musts, Must.key_of("a"), {"n"})


ADAPTED: list[tuple[BoundSchema[Any], Callable[[], Change[Any]], str, list[Any]]] = [
    (tallies, lambda: Tally.count.add(1), "SET #0 = if_not_exists(#0, :0) + :1", [{"N": "5"}, {"N": "1"}]),
    (tallies, lambda: Tally.total.add(1), "SET #0 = if_not_exists(#0, :0) + :1", [{"N": "0"}, {"N": "1"}]),
    (musts, lambda: Must.n.add(1), "SET #0 = if_not_exists(#0, :0) + :1", [{"N": "0"}, {"N": "1"}]),
    (tallies, lambda: Tally.count.set(Tally.count - 1), "SET #0 = if_not_exists(#0, :0) - :1", [{"N": "5"}, {"N": "1"}]),
    (tallies, lambda: Tally.count.set(1 - Tally.count), "SET #0 = :0 - if_not_exists(#0, :1)", [{"N": "1"}, {"N": "5"}]),
    (musts, lambda: Must.n.set(Must.n + 1), "SET #0 = #0 + :0", [{"N": "1"}]),
    (tallies, lambda: Tally.count.set(Tally.count.if_not_exists(1) + 1), "SET #0 = if_not_exists(#0, :0) + :1", [{"N": "1"}, {"N": "1"}]),
    (tallies, lambda: Tally.count.set(3), "SET #0 = :0", [{"N": "3"}]),
    (tallies, lambda: Tally.seen.add("a"), "ADD #0 :0", [{"SS": ["a"]}]),
    (tallies, lambda: Tally.seen.discard("a"), "DELETE #0 :0", [{"SS": ["a"]}]),
    (tallies, lambda: Tally.lines.append(Line(1)), "SET #0 = list_append(if_not_exists(#0, :0), :1)", [{"L": []}, {"L": [{"M": {"n": {"N": "1"}}}]}]),
    (musts, lambda: Must.lines.prepend(1), "SET #0 = list_append(:0, if_not_exists(#0, :1))", [{"L": [{"N": "1"}]}, {"L": []}]),
    (tallies, lambda: Tally.counts["a"].add(1), "ADD #0.#1 :0", [{"N": "1"}]),
]


@pytest.mark.parametrize(("schema", "write", "text", "values"), ADAPTED)
def test_a_change_in_an_upsert_starts_from_the_default(schema: BoundSchema[Any], write: Callable[[], Change[Any]], text: str, values: list[Any]) -> None:
    adapted = sent((adapt_for_upsert(schema, write()),))
    assert (adapted[0], adapted[2]) == (text, values)


@pytest.mark.parametrize("write", [lambda: Tally.roles.add("admin"), lambda: Tally.roles.discard("admin")])
def test_a_set_that_does_not_start_empty_cannot_be_added_to_in_an_upsert(write: Callable[[], Change[Any]]) -> None:
    with pytest.raises(InvalidRequest, match="starts as a set that is not empty"):
        adapt_for_upsert(tallies, write())
