"""What a value of a unique field claims, and which declarations cannot work."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.definitions import definition_of
from surewrite.core.entities import TableLayout, schema_of
from surewrite.core.unique_fields import PART_BYTES_MAX

LAYOUT = TableLayout(("pk", "sk"))


class Booking(Entity, discriminator="BOOKING", partition_key="BOOKING#{id}", sort_key="BOOKING"):
    id: Attribute[str]
    code: Attribute[str | None] = sw.unique(default=None, scope="v1#{hotel}#{floor}")
    hotel: Attribute[str | None] = sw.attribute(default=None)
    floor: Attribute[int] = sw.attribute(default=0)
    price: Attribute[Decimal | None] = sw.unique(default=None, stored_as="p")
    mail: Attribute[str | None] = sw.unique(default=None, normalise=str.casefold)


def claimed(**values: object) -> dict[str, str]:
    return schema_of(Booking).bind(LAYOUT).claims_of_values(Booking(id="b", **values).__dict__)


def test_a_claim_names_type_field_scope_and_value() -> None:
    assert claimed(code="c", hotel="h", floor=3) == {"BOOKING#code#v1#h#3#c": "code"}


def test_the_stored_name_is_claimed_so_that_a_field_may_be_renamed() -> None:
    assert claimed(price=Decimal("1.50")) == {"BOOKING#p#1.5": "price"}


def test_equal_numbers_claim_the_same() -> None:
    assert claimed(price=Decimal("1.0")) == claimed(price=Decimal(1))


def test_without_a_value_or_a_scope_nothing_is_claimed() -> None:
    assert claimed() == {}
    assert claimed(code="c") == {}


def test_normalised_values_claim_one_text() -> None:
    assert claimed(mail="A@X") == claimed(mail="a@x") == {"BOOKING#mail#a@x": "mail"}


TEXTS = st.text(alphabet="a#%2", max_size=5) | st.sampled_from(["x" * 300, "y" * 300, "%sha256:" + "0" * 64])


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_two_items_claim_the_same_exactly_where_value_and_scope_are_the_same(code: str, hotel: str, other_code: str, other_hotel: str) -> None:
    same = claimed(code=code, hotel=hotel) == claimed(code=other_code, hotel=other_hotel)
    assert same == ((code, hotel) == (other_code, other_hotel))


def test_a_long_value_is_claimed_by_its_hash() -> None:
    (text,) = claimed(mail="x" * 5_000)
    assert len(text.encode()) < 2 * PART_BYTES_MAX
    assert text != next(iter(claimed(mail="x" * 5_001)))


def test_what_normalise_gives_must_be_text() -> None:
    class Bad(Entity, discriminator="BAD", partition_key="BAD#{id}", sort_key="BAD"):
        id: Attribute[str]
        code: Attribute[int] = sw.unique(normalise=lambda value: value)

    with pytest.raises(sw.InvalidRequest, match=r"Bad\.code: normalise must give the text"):
        schema_of(Bad).bind(LAYOUT).claims_of_values(Bad(id="b", code=1).__dict__)


def test_a_time_to_live_beside_it_is_a_definition_error() -> None:
    with pytest.raises(sw.DefinitionError, match="leaves what it claimed taken for ever"):

        class Session(Entity, discriminator="SESSION", partition_key="SESSION#{id}", sort_key="SESSION"):
            id: Attribute[str] = sw.unique()
            ends_at: Attribute[datetime] = sw.time_to_live()


def test_a_time_to_live_that_releases_is_none() -> None:
    class Session(Entity, discriminator="SESSION", partition_key="SESSION#{id}", sort_key="SESSION"):
        id: Attribute[str]
        name: Attribute[str] = sw.unique(released_by="ends_at")
        ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)

    assert [unique.field.name for unique in definition_of(Session).uniques] == ["name"]


def declared(field: str, annotation: str, said: dict[str, object], **keywords: object) -> type:
    names = {"__annotations__": {"id": "sw.Attribute[str]", field: f"sw.Attribute[{annotation}]"}, field: sw.unique(**said), "__module__": __name__}
    keywords = {"discriminator": "T", "partition_key": "T#{id}", "sort_key": "T", **keywords}
    return type(Entity)("T", (Entity,), names, **keywords)


@pytest.mark.parametrize(
    ("annotation", "said", "keywords", "message"),
    [
        ("list[str]", {}, {}, "cannot be claimed"),
        ("bool", {}, {}, "cannot be claimed"),
        ("str", {"scope": "{tenant}"}, {}, "there is no field 'tenant'"),
        ("int", {"scope": "{x:03d}"}, {}, "without a format"),
        ("str", {"released_by": "gone"}, {}, "must name another field"),
        ("str", {"released_by": "x"}, {}, "must name another field"),
        ("str", {}, {"discriminator": None}, "give T a discriminator="),
    ],
)
def test_what_cannot_work_is_told_where_the_class_is_made(annotation, said, keywords, message) -> None:
    with pytest.raises(sw.DefinitionError, match=message):
        declared("x", annotation, said, **keywords)


def test_two_defaults_are_a_definition_error() -> None:
    with pytest.raises(sw.DefinitionError, match="not both"):
        sw.unique(default="a", default_factory=str)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (TableLayout(("pk", "sk"), discriminator=None), "told from its items by the discriminator"),
        (TableLayout(("pk", "sk"), stamp=None, birth=None), "rests on the stamp"),
    ],
)
def test_a_table_without_what_claims_need_is_refused(layout, message) -> None:
    with pytest.raises(sw.InvalidRequest, match=message):
        schema_of(Booking).bind(layout)


def test_a_table_without_a_sort_key_or_with_a_numeric_partition_key_is_refused() -> None:
    with pytest.raises(sw.InvalidRequest, match="the table needs a sort key"):
        schema_of(declared("x", "str", {}, sort_key=None)).bind(TableLayout(("pk",)))

    class Row(Entity, discriminator="ROW", partition_key="{number}", sort_key="ROW"):
        number: Attribute[int]
        code: Attribute[str] = sw.unique()

    with pytest.raises(sw.InvalidRequest, match="a partition key that is text"):
        schema_of(Row).bind(LAYOUT)


def test_fields_are_shared_by_a_base_without_a_key() -> None:
    class Named(sw.Fields):
        name: Attribute[str] = sw.unique()

    class Thing(Named, Entity, discriminator="THING", partition_key="THING#{id}", sort_key="THING"):
        id: Attribute[str]

    assert schema_of(Thing).bind(LAYOUT).claims_of_values(Thing(id="t", name="n").__dict__) == {"THING#name#n": "name"}
