"""Items that do not fit their entity: told with their key, without their contents, and never taken for the item of another key."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, UndecodableItem, VersionedEntity, WrongEntityType
from surewrite.core.entities import TableLayout, schema_of

LAYOUT = TableLayout(("pk", "sk"))
ID = UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")


class Size(Enum):
    SMALL = "small"

    @classmethod
    def _missing_(cls, value: object) -> Size | None:
        return cls.SMALL if value == "SMALL" else None


class Shelf(VersionedEntity, partition_key="SHELF#{name}", sort_key="{number:03d}"):
    name: Attribute[str]
    number: Attribute[int]
    words: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    revision: Attribute[int | None] = sw.version()


class Moment(Entity, partition_key="{at}", sort_key="{id}"):
    at: Attribute[datetime]
    id: Attribute[UUID]
    note: Attribute[str | None] = sw.attribute(default=None)


class Sized(Entity, partition_key="{size}", sort_key="{share}"):
    size: Attribute[Size]
    share: Attribute[float]


PLAIN = TableLayout(("pk", "sk"), discriminator=None)
shelves = schema_of(Shelf).bind(PLAIN)
moments = schema_of(Moment).bind(TableLayout(("at", "id"), discriminator=None))
sizes = schema_of(Sized).bind(TableLayout(("size", "share"), discriminator=None))
SHELF = Shelf(name="a", number=7)


@pytest.mark.parametrize("spelling", ["2026-11-05T08:00:00+00:00", "2026-11-05T08:00:00Z", "2026-11-05T09:00:00.000000+01:00"])
def test_a_date_that_is_a_key_and_is_spelled_otherwise_is_none_that_a_write_would_find(spelling: str) -> None:
    item = {"at": {"S": spelling}, "id": {"S": str(ID)}}
    with pytest.raises(UndecodableItem, match=r"Moment\.at is the key.*codec=.*str") as unread:
        moments.from_item(item)
    assert (unread.value.field, unread.value.stored_type) == ("at", "S")
    with pytest.raises(UndecodableItem, match=r"Moment\.at is the key"):
        moments.from_item(item, partial=True)


@pytest.mark.parametrize(
    ("schema", "item"),
    [
        (moments, {"at": {"S": "2026-11-05T08:00:00.000000Z"}, "id": {"S": str(ID).upper()}}),
        (sizes, {"size": {"S": "SMALL"}, "share": {"N": "0.1"}}),
        (sizes, {"size": {"S": "small"}, "share": {"N": "0.10000000000000000000001"}}),
    ],
)
def test_so_is_any_key_that_its_type_reads_and_would_write_in_another_way(schema: Any, item: dict[str, Any]) -> None:
    with pytest.raises(UndecodableItem, match="is the key, and is stored in another form"):
        schema.from_item(item)


def test_a_key_in_the_form_of_its_type_is_read() -> None:
    assert sizes.from_item({"size": {"S": "small"}, "share": {"N": "0.1"}}) == Sized(size=Size.SMALL, share=0.1)
    moment = Moment(at=datetime(2026, 11, 5, tzinfo=UTC), id=ID)
    assert moments.from_item(moments.to_item(moment)) == moment


def test_the_key_of_an_item_is_that_which_key_of_gives() -> None:
    assert shelves.key_from(shelves.to_item(SHELF)) == Shelf.key_of("a", 7)
    assert repr(shelves.key_from(shelves.to_item(SHELF))) == repr(Shelf.key_of("a", 7))
    moment = Moment(at=datetime(2026, 11, 5, tzinfo=UTC), id=ID)
    assert moments.key_from(moments.to_item(moment)) == Moment.key_of(moment.at, ID)


@pytest.mark.parametrize("spelling", ["2026-11-05T08:00:00Z", "yesterday"])
def test_a_key_that_no_key_of_makes_names_the_stored_item(spelling: str) -> None:
    key = moments.key_from({"at": {"S": spelling}, "id": {"S": str(ID)}, "note": {"S": "n"}})
    assert key is not None
    assert key.as_stored
    assert moments.key_item(key) == {"at": {"S": spelling}, "id": {"S": str(ID)}}
    assert repr(key) == f"<key of Moment as stored: {spelling!r}, {str(ID)!r}>"


@pytest.mark.parametrize("item", [{}, {"at": {"S": "x"}}, {"at": {"N": "1"}, "id": {"S": "x"}}])
def test_what_has_no_key_of_the_table_has_none(item: dict[str, Any]) -> None:
    assert moments.key_from(item) is None


MALFORMED: list[dict[str, Any]] = [{"S": 5}, {}, {"M": {"a": {}}}, {"M": {"a": {"Q": "1"}}}, {"M": {"a": {"N": None}}}, {"M": None}, {"M": {"a": 1}}, {"Q": 1}]


@pytest.mark.parametrize("stored", MALFORMED)
def test_a_value_that_no_service_stores_is_undecodable_and_nothing_else(stored: dict[str, Any]) -> None:
    with pytest.raises(UndecodableItem, match=r"Shelf\.words: .*codec=") as unread:
        shelves.from_item({**shelves.to_item(SHELF), "words": stored})
    assert (unread.value.field, unread.value.key) == ("words", Shelf.key_of("a", 7))


@pytest.mark.parametrize("stored", [None, "x", []])
def test_so_is_what_is_no_typed_value(stored: Any) -> None:
    with pytest.raises(UndecodableItem, match=r"Shelf\.number"):
        shelves.from_item({**shelves.to_item(SHELF), "number": {"N": stored}})
    with pytest.raises(UndecodableItem, match=r"Shelf\.revision"):
        shelves.from_item({**shelves.to_item(SHELF), "revision": {"N": [stored]}})


def test_a_codec_of_the_developers_own_may_raise_anything() -> None:
    def fail(text: str) -> int:
        raise LookupError(text)

    codec = sw.codec(int, via=str, encode=str, decode=fail)

    class Odd(Entity, discriminator="ODD", partition_key="{id}", sort_key="X"):
        id: Attribute[str]
        n: Attribute[int] = sw.attribute(codec=codec)

    schema = schema_of(Odd).bind(LAYOUT)
    with pytest.raises(UndecodableItem, match=r"Odd\.n: .*LookupError") as unread:
        schema.from_item(schema.to_item(Odd(id="a", n=1234)))
    assert isinstance(unread.value.__cause__, LookupError)
    assert "1234" not in str(unread.value)


def test_an_item_of_another_type_is_told_with_its_key() -> None:
    class Lamp(Entity, discriminator="LAMP", partition_key="{id}", sort_key="X"):
        id: Attribute[str]

    schema = schema_of(Lamp).bind(LAYOUT)
    with pytest.raises(WrongEntityType) as other:
        schema.from_item({**schema.to_item(Lamp(id="a")), "_type": {"S": "TABLE"}})
    assert other.value.key == Lamp.key_of("a")


def test_a_dict_takes_no_empty_name() -> None:
    with pytest.raises(sw.InvalidRequest, match=r"Shelf\.words.*empty"):
        Shelf(name="a", number=1, words={"": 1})
