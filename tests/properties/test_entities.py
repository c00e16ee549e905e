"""Any entity goes to an item and back, two accepted keys never share a text, numbers come back exactly. Classes are generated, not only values."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from hypothesis import assume, given
from hypothesis import strategies as st

import surewrite as sw
from surewrite import Attribute, Entity, InvalidRequest, VersionedEntity
from surewrite.core.annotations import codec_for
from surewrite.core.codecs import Unstorable
from surewrite.core.entities import BoundSchema, Stored, TableLayout, schema_of, stored_state, with_stored
from surewrite.core.expressions import Rendering
from surewrite.core.templates import KeyTemplate
from surewrite.core.values import number_text, value_size


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    x: int
    label: str | None = None
    tags: frozenset[str] = frozenset()


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
member_name = text.filter(bool)  # the service stores no member without a name
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
moments = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))]))  # noqa: DTZ001
points = st.builds(Point, st.integers(-99, 99), st.none() | text, st.frozensets(text, max_size=2))

KINDS: Mapping[Any, st.SearchStrategy[Any]] = {
    str: text,
    int: st.integers(-(10**37), 10**37),
    Decimal: decimals,
    float: st.floats(-1e100, 1e100).filter(lambda number: number == 0 or abs(number) > 1e-100),
    bool: st.booleans(),
    bytes: st.binary(max_size=8),
    datetime: moments,
    date: st.dates(),
    timedelta: st.timedeltas(),
    UUID: st.uuids(),
    Color: st.sampled_from(Color),
    Point: points,
    list[int]: st.lists(st.integers(-9, 9), max_size=3),
    list[Point | None]: st.lists(st.none() | points, max_size=3),
    tuple[str, ...]: st.lists(text, max_size=3).map(tuple),
    tuple[int, str]: st.tuples(st.integers(-9, 9), text),
    frozenset[str]: st.frozensets(text, max_size=3),
    set[int]: st.sets(st.integers(-9, 9), max_size=3),
    frozenset[Decimal]: st.frozensets(decimals, max_size=3),
    dict[str, int]: st.dictionaries(member_name, st.integers(-9, 9), max_size=3),
    dict[str, frozenset[bytes]]: st.dictionaries(member_name, st.frozensets(st.binary(max_size=3), max_size=2), max_size=2),
}
SETS = (frozenset[str], set[int], frozenset[Decimal])
LAYOUT = TableLayout(("pk", "sk"))


@st.composite
def classes(draw: st.DrawFn) -> tuple[type[Any], dict[str, st.SearchStrategy[Any]]]:
    """An entity class with up to six fields beside its id, and how to make values of them."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=6))
    versioned = draw(st.booleans())
    annotations: dict[str, Any] = {"id": Attribute[str]}
    body: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {"id": text.filter(bool)}
    for number, kind in enumerate(kinds):
        name = f"field_{number}"
        optional = kind not in SETS and draw(st.booleans())
        annotations[name] = Attribute[kind | None] if optional else Attribute[kind]  # type: ignore[valid-type]
        values[name] = st.none() | KINDS[kind] if optional else KINDS[kind]
        if draw(st.booleans()):
            body[name] = sw.attribute(stored_as=f"stored {number}")
    if versioned:
        annotations["revision"] = Attribute[int | None]
        body["revision"] = sw.version()
    base = VersionedEntity if versioned else Entity
    made = type(base)(
        "Made", (base,), {"__annotations__": annotations, "__module__": __name__, **body}, discriminator="MADE", partition_key="M#{id}", sort_key="{id}"
    )
    return made, values


def schema(entity: type[Any]) -> BoundSchema[Any]:
    return schema_of(entity).bind(LAYOUT)


@st.composite
def instances(draw: st.DrawFn) -> Any:
    entity, values = draw(classes())
    return entity(**{name: draw(strategy) for name, strategy in values.items()})


@given(
    instances(),
    st.none() | st.integers(-3, 10**6),
    st.none() | text,
    st.dictionaries(text.map("other {}".format), text.map(lambda value: {"S": value}), max_size=2),
)
def test_any_entity_goes_to_an_item_and_back(entity: Any, version: int | None, stamp: str | None, unknown: dict[str, Any]) -> None:
    bound = schema(type(entity))
    item = bound.to_item(entity)
    assert sum(value_size(value) for value in item.values()) > 0
    extra: dict[str, Any] = dict(unknown)
    if bound.version is not None and version is not None:
        extra[bound.version.stored_name] = {"N": str(version)}
    if stamp is not None:
        extra["_s"] = {"S": stamp}
    back = bound.from_item({**item, **extra})
    state = Stored(version if bound.version is not None else None, stamp, None, unknown)
    assert stored_state(back) == state
    assert back == with_stored(entity, state)
    assert bound.to_item(back) == {**item, **unknown}
    assert bound.key_of_entity(back) == bound.key_item(type(entity).key_of(entity.id))


@given(instances())
def test_copies_and_replacements_leave_an_entity_as_it_was(entity: Any) -> None:
    before = schema(type(entity)).to_item(entity)
    assert copy.deepcopy(entity) == entity
    assert entity.replace() == entity
    entity.replace(id=entity.id + "x")
    assert schema(type(entity)).to_item(entity) == before


@given(st.sampled_from(list(KINDS)).flatmap(lambda kind: st.tuples(st.just(kind), KINDS[kind])))
def test_any_value_comes_back_in_its_own_type(pair: tuple[Any, Any]) -> None:
    kind, value = pair
    codec = codec_for(kind)
    back = codec.decode(codec.store(value))
    assert back == value
    assert type(back) is type(value)


@given(st.integers() | st.decimals() | st.floats())
def test_a_number_is_stored_exactly_or_refused(number: Any) -> None:
    codec = codec_for(type(number))
    try:
        stored = codec.store(number)
    except Unstorable:
        return
    assert codec.decode(stored) == number
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    assert stored == {"N": number_text(exact)}


@given(moments, moments)
def test_the_order_of_stored_moments_is_the_order_of_time(first: datetime, second: datetime) -> None:
    encode = codec_for(datetime).store
    assert (encode(first)["S"] < encode(second)["S"]) == (first < second)
    assert (encode(first) == encode(second)) == (first == second)


# ------------------------------------------------------------------------------------------------------------------ keys

KEY_KINDS: dict[str, tuple[Any, st.SearchStrategy[Any], list[str]]] = {
    "name": (str, st.text("a#:", max_size=4), ["", "{:>3}", "{:.2}"]),
    "number": (int, st.integers(-20, 20), ["", "{:04d}", "{:x}"]),
    "price": (Decimal, st.decimals(-2, 2, places=3), ["", "{:.2f}"]),
    "day": (date, st.dates(date(2026, 1, 1), date(2026, 1, 9)), ["", "{:%Y-%m}"]),
    "color": (Color, st.sampled_from(Color), [""]),
}
CODECS = {name: codec_for(kind) for name, (kind, _, _) in KEY_KINDS.items()}


@st.composite
def templates(draw: st.DrawFn) -> KeyTemplate:
    names = draw(st.lists(st.sampled_from(list(KEY_KINDS)), min_size=1, max_size=3))
    parts = [draw(st.sampled_from(["", "P#", "a"]))]
    for place, name in enumerate(names):
        if place:
            parts.append(draw(st.sampled_from(["#", "##", ":", "a", "#a"])))
        spec = draw(st.sampled_from(KEY_KINDS[name][2]))
        parts.append("{" + name + spec[1:-1] + "}")
    parts.append(draw(st.sampled_from(["", "#END", "a"])))
    return KeyTemplate("Made", "partition_key", "".join(parts), CODECS)


def values_of(template: KeyTemplate) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: KEY_KINDS[name][1] for name in template.field_names})


def rendered(template: KeyTemplate, values: dict[str, Any]) -> tuple[str, str]:
    try:
        return template.render(values)
    except InvalidRequest:
        assume(False)
        raise


@given(templates().flatmap(lambda template: st.tuples(st.just(template), values_of(template), values_of(template))))
def test_two_accepted_keys_that_differ_in_a_field_differ_as_text(case: tuple[KeyTemplate, dict[str, Any], dict[str, Any]]) -> None:
    template, first, second = case
    assert (rendered(template, first) == rendered(template, second)) == (first == second)


@given(templates().flatmap(lambda template: st.tuples(st.just(template), values_of(template))))
def test_the_fields_of_an_accepted_key_are_read_back_from_its_text(case: tuple[KeyTemplate, dict[str, Any]]) -> None:
    template, values = case
    assert template.parse(rendered(template, values)[1]) == values


# ----------------------------------------------------------------------------------------------------------- expressions


class Subject(Entity, discriminator="SUBJECT", partition_key="S#{id}", sort_key="S"):
    id: Attribute[str]
    n: Attribute[int] = sw.attribute(default=0)
    t: Attribute[str | None] = sw.attribute(default=None)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


LEAVES: st.SearchStrategy[tuple[sw.Condition[Subject], int]] = st.one_of(
    st.integers(-9, 9).map(lambda number: (Subject.n == number, 1)),
    st.integers(-9, 9).map(lambda number: (Subject.n.not_exists_or_lt(number), 1)),
    text.map(lambda value: (Subject.t != value, 1)),
    text.map(lambda value: (Subject.tags.contains(value), 1)),
    st.tuples(st.integers(-9, 0), st.integers(1, 9)).map(lambda bounds: (Subject.n.between(*bounds), 2)),
)
JOINS: list[Callable[[Any, Any], Any]] = [lambda first, second: first & second, lambda first, second: first | second]


def joined(children: st.SearchStrategy[tuple[Any, int]]) -> st.SearchStrategy[tuple[Any, int]]:
    both = st.tuples(st.sampled_from(JOINS), children, children).map(lambda case: (case[0](case[1][0], case[2][0]), case[1][1] + case[2][1]))
    return both | children.map(lambda child: (~child[0], child[1]))


@given(st.recursive(LEAVES, joined, max_leaves=6))
def test_every_constant_of_a_condition_is_in_the_request(case: tuple[sw.Condition[Subject], int]) -> None:
    condition, constants = case
    rendering = Rendering()
    rendered_text = rendering.condition(condition.tree)
    assert len(rendering.values) == constants
    assert all(placeholder in rendered_text for placeholder in rendering.values)
    assert all(alias in rendered_text for alias in rendering.names)
    assert condition.owner is Subject


@given(text.filter(bool), st.integers(-9, 9))
def test_an_entity_survives_pickling_with_its_state(identifier: str, number: int) -> None:
    subject = with_stored(Subject(id=identifier, n=number), Stored(None, "s", "b", {"x": {"S": "y"}}))
    back = pickle.loads(pickle.dumps(subject))
    assert back == subject
    assert stored_state(back) == stored_state(subject)
