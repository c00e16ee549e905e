"""Declarations of indexes: what cannot work is refused where the class is made, where it meets a table, or where it meets other types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.entities import TableLayout, schema_of
from surewrite.core.table_indexes import attribute_types, index_members, require_indexes, table_indexes

LAYOUT = TableLayout(("pk", "sk"))


def entity(*indexes: sw.Index, name: str = "Thing", **keywords: Any) -> type[Entity]:
    """An entity type with these indexes."""

    class Thing(Entity, discriminator=name.upper(), partition_key="THING#{id}", sort_key="DATA", indexes=indexes, **keywords):
        id: Attribute[str]
        state: Attribute[str | None] = sw.attribute(default=None)
        level: Attribute[int] = sw.attribute(default=0)
        tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
        done: Attribute[bool] = sw.attribute(default=False)

    Thing.__name__ = name
    return Thing


def state(**keywords: Any) -> sw.Index:
    return sw.global_index("by_state", partition_key="STATE#{state}", **keywords)


@pytest.mark.parametrize(
    ("declare", "match"),
    [
        (lambda: sw.global_index("x", partition_key="{id}"), "a name of 3 to 255"),
        (lambda: sw.global_index("by state", partition_key="{id}"), "a name of 3 to 255"),
        (lambda: sw.global_index("by_id", partition_key="{id}", projection="id"), r"names of fields, such as \('id',\)"),
        (lambda: sw.global_index("by_id", partition_key="{id}", projection=["id"]), "not list"),
        (lambda: entity(state(), state()), "declares the index 'by_state' twice"),
        (lambda: entity(sw.global_index("by_id", partition_key="{nothing}")), "of the index 'by_id': Thing has no field 'nothing'"),
        (lambda: entity(sw.global_index("by_id", partition_key="{id}{level}")), "stand side by side"),
        (lambda: entity(sw.global_index("by_tags", partition_key="{tags}")), "a key is made of"),
        (lambda: entity(sw.global_index("by_done", partition_key="DONE#{done}")), "a key is made of"),
        (lambda: entity(state(projection=("nothing",))), "there is no such field"),
        (lambda: entity(state(partition_attribute="level")), "where the field level is stored"),
        (
            lambda: entity(state(partition_attribute="g"), sw.global_index("by_id", partition_key="{id}", partition_attribute="g")),
            "put different keys into 'g'",
        ),
        (lambda: entity("by_state"), r"takes a tuple of sw\.global_index"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(declare: Callable[[], object], match: str) -> None:
    with pytest.raises(sw.DefinitionError, match=match):
        declare()


def test_indexes_are_given_as_a_tuple() -> None:
    with pytest.raises(sw.DefinitionError, match=r"write indexes=\(sw.global_index"):

        class Bare(Entity, partition_key="{id}", indexes=state()):  # type: ignore[arg-type]
            id: Attribute[str]


def test_a_version_is_an_index_key_only_alone() -> None:
    class Plain(VersionedEntity, partition_key="{id}", indexes=(sw.global_index("by_version", partition_key="{id}", sort_key="{v}"),)):
        id: Attribute[str]
        v: Attribute[int | None] = sw.version()

    assert schema_of(Plain).bind(TableLayout(("id",), discriminator=None)).index("by_version").keys[1].attribute == "v"
    with pytest.raises(sw.DefinitionError, match="use it alone"):

        class Composed(VersionedEntity, partition_key="{id}", indexes=(sw.global_index("by_version", partition_key="V#{v}"),)):
            id: Attribute[str]
            v: Attribute[int | None] = sw.version()


def test_the_partition_of_an_index_can_be_that_of_an_entity() -> None:
    class Ticket(Entity, discriminator="T", partition_key="{id}", indexes=(sw.global_index("queue", partition_key="{state}#{level}"),)):
        id: Attribute[str]
        state: Attribute[str | None] = sw.attribute(default=None)
        level: Attribute[int] = sw.attribute(default=2)

    assert Ticket.index_partition_of("queue", Ticket(id="a", state="open")) == Ticket.index_partition_of("queue", "open", 2)
    with pytest.raises(sw.InvalidRequest, match="without state is not in the index"):
        Ticket.index_partition_of("queue", Ticket(id="a"))


def test_indexes_are_inherited_and_can_be_given_anew() -> None:
    thing = entity(state())

    class Child(thing, discriminator="CHILD"):  # type: ignore[misc, valid-type]
        pass

    class Bare(thing, discriminator="BARE", indexes=()):  # type: ignore[misc, valid-type]
        pass

    assert [index.name for index in schema_of(Child).bind(LAYOUT).indexes] == ["by_state"]
    assert schema_of(Bare).bind(LAYOUT).indexes == ()


def test_the_name_of_the_method_that_makes_partitions_of_indexes_is_taken() -> None:
    with pytest.raises(sw.DefinitionError, match="would hide index_partition_of"):

        class Bad(Entity, partition_key="{id}"):
            id: Attribute[str]
            index_partition_of: Attribute[str]


@pytest.mark.parametrize(
    ("index", "layout", "match"),
    [
        (sw.local_index("by_level", sort_key="{level}"), TableLayout(("id",)), "needs a table with a sort key"),
        (state(partition_attribute="_s"), LAYOUT, "which the table uses"),
        (state(partition_attribute="sk"), LAYOUT, "puts another key into 'sk'"),
    ],
)
def test_an_index_that_does_not_fit_the_table_is_refused(index: sw.Index, layout: TableLayout, match: str) -> None:
    class Single(Entity, discriminator="THING", partition_key="{id}", indexes=(index,)):
        id: Attribute[str]
        state: Attribute[str | None] = sw.attribute(default=None)
        level: Attribute[int] = sw.attribute(default=0)

    with pytest.raises(sw.InvalidRequest, match=match):
        schema_of(Single if len(layout.key) == 1 else entity(index)).bind(layout)


def test_a_key_of_one_field_is_its_attribute_and_every_other_gets_its_own() -> None:
    thing = entity(sw.global_index("by_state", partition_key="{state}", sort_key="L#{level:05d}"), sw.local_index("by_level", sort_key="{level}"))
    schema = schema_of(thing).bind(LAYOUT)
    assert [(key.attribute, key.derived) for index in schema.indexes for key in index.keys] == [
        ("state", False), ("_by_state_sk", True), ("pk", False), ("level", False),
    ]  # fmt: skip
    item = schema.to_item(thing(id="a", state="open", level=3))
    assert item["_by_state_sk"] == {"S": "L#00003"}
    assert "_by_state_sk" not in dict(schema.from_item(item).__dict__["_stored"].unknown)


def test_an_item_is_left_out_of_an_index_whose_key_has_a_field_without_a_value() -> None:
    thing = entity(state())
    schema = schema_of(thing).bind(LAYOUT)
    assert schema.to_item(thing(id="a", state="x"))["_by_state_pk"] == {"S": "STATE#x"}
    assert "_by_state_pk" not in schema.to_item(thing(id="a"))


def members(*entities: type[Entity]) -> dict[str, Any]:
    return index_members(table_indexes("t", [schema_of(each).bind(LAYOUT) for each in entities]))


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ("all", {"ProjectionType": "ALL"}),
        ("keys", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type"]}),
        (("level", "id"), {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "id", "level"]}),
    ],
)
def test_a_projection_holds_what_tells_type_and_end_beside_what_is_named(projection: Any, expected: dict[str, Any]) -> None:
    [index] = members(entity(state(projection=projection)))["GlobalSecondaryIndexes"]
    assert index["Projection"] == expected


def test_projections_of_several_types_are_joined() -> None:
    [index] = members(entity(state(projection=("level",))), entity(state(projection=("id",)), name="Other"))["GlobalSecondaryIndexes"]
    assert index["Projection"]["NonKeyAttributes"] == ["_type", "id", "level"]


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        (state(), state(projection="keys"), 'one with projection="all"'),
        (state(), state(sort_key="{level}"), "with the keys"),
        (
            sw.global_index("by_level", partition_key="THING#{id}", partition_attribute="pk", sort_key="{level}"),
            sw.local_index("by_level", sort_key="{level}"),
            "one as global",
        ),
        (
            sw.global_index("one", partition_key="{level}", partition_attribute="g"),
            sw.global_index("two", partition_key="{state}", partition_attribute="g"),
            "would be of type",
        ),
    ],
    ids=["projection", "keys", "kind", "type of an attribute"],
)
def test_types_that_contradict_each_other_are_refused(one: sw.Index, other: sw.Index, match: str) -> None:
    schemas = [schema_of(each).bind(LAYOUT) for each in (entity(one), entity(other, name="Other"))]
    with pytest.raises(sw.InvalidRequest, match=match):
        attribute_types("t", schemas[0].key_attribute_types(), table_indexes("t", schemas), schemas)


def test_a_type_that_stores_something_else_in_an_index_key_is_refused() -> None:
    class Other(Entity, discriminator="OTHER", partition_key="OTHER#{id}", sort_key="DATA"):
        id: Attribute[str]
        level: Attribute[str] = sw.attribute(default="")

    schemas = [schema_of(entity(sw.global_index("by_level", partition_key="{level}"))).bind(LAYOUT), schema_of(Other).bind(LAYOUT)]
    with pytest.raises(sw.InvalidRequest, match=r"Other\.level is stored as 'level' of type S"):
        attribute_types("t", schemas[0].key_attribute_types(), table_indexes("t", schemas), schemas)


def test_the_service_takes_twenty_global_and_five_local_indexes() -> None:
    many = entity(*(sw.global_index(f"global{number}", partition_key="{state}") for number in range(21)))
    with pytest.raises(sw.InvalidRequest, match="at most 20"):
        members(many)
    many = entity(*(sw.local_index(f"local{number}", sort_key="{level}") for number in range(6)))
    with pytest.raises(sw.InvalidRequest, match="at most 5"):
        members(many)


@pytest.mark.parametrize(
    ("projection", "match"),
    [
        ({"ProjectionType": "KEYS_ONLY"}, "does not hold _type, level"),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["level"]}, "does not hold _type"),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["level", "_type", "more"]}, None),
        ({"ProjectionType": "ALL"}, None),
    ],
)
def test_an_index_that_holds_less_than_is_declared_is_refused(projection: dict[str, Any], match: str | None) -> None:
    needed = table_indexes("t", [schema_of(entity(state(projection=("level",)))).bind(LAYOUT)])
    found = {"IndexName": "by_state", "KeySchema": [{"AttributeName": "_by_state_pk", "KeyType": "HASH"}], "Projection": projection}
    described = {"GlobalSecondaryIndexes": [found]}
    if match is None:
        require_indexes("t", needed, described)
        return
    with pytest.raises(sw.InvalidRequest, match=match):
        require_indexes("t", needed, described)


def test_an_index_with_another_key_is_refused() -> None:
    needed = table_indexes("t", [schema_of(entity(state())).bind(LAYOUT)])
    found = {"IndexName": "by_state", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}
    with pytest.raises(sw.InvalidRequest, match=r"has the key \['g'\]"):
        require_indexes("t", needed, {"GlobalSecondaryIndexes": [found]})
