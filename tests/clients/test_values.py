"""Values of every type go to the service and come back as they were."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest

import surewrite as sw
from surewrite import Attribute, Entity


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Address:
    street: str
    number: int | None


class Everything(Entity, discriminator="EVERYTHING", partition_key="EVERYTHING#{id}", sort_key="X"):
    id: Attribute[str]
    text: Attribute[str | None] = sw.attribute(default=None)
    whole: Attribute[int | None] = sw.attribute(default=None)
    real: Attribute[float | None] = sw.attribute(default=None)
    exact: Attribute[Decimal | None] = sw.attribute(default=None)
    flag: Attribute[bool | None] = sw.attribute(default=None)
    raw: Attribute[bytes | None] = sw.attribute(default=None)
    moment: Attribute[datetime | None] = sw.attribute(default=None)
    day: Attribute[date | None] = sw.attribute(default=None)
    span: Attribute[timedelta | None] = sw.attribute(default=None)
    uuid: Attribute[UUID | None] = sw.attribute(default=None)
    colour: Attribute[Colour | None] = sw.attribute(default=None)
    choice: Attribute[Literal["a", "b"] | None] = sw.attribute(default=None)
    entries: Attribute[list[str | None] | None] = sw.attribute(default=None)
    pair: Attribute[tuple[int, ...] | None] = sw.attribute(default=None)
    texts: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    numbers: Attribute[frozenset[Decimal]] = sw.attribute(default=frozenset())
    blobs: Attribute[frozenset[bytes]] = sw.attribute(default=frozenset())
    mapping: Attribute[dict[str, int] | None] = sw.attribute(default=None)
    address: Attribute[Address | None] = sw.attribute(default=None)
    nested: Attribute[dict[str, list[Address]] | None] = sw.attribute(default=None)


VALUES: list[dict[str, Any]] = [
    {"text": ""},
    {"text": 'tab\t, quote ", back \\, null \x00, ü, 漢, 😀'},
    {"text": "x" * 100_000},
    {"whole": 0},
    {"whole": -(10**37)},
    {"whole": 99999999999999999999999999999999999999},
    {"real": 0.1},
    {"real": -1e-100},
    {"real": 1.7976931348623157e100},
    {"exact": Decimal("12345678901234567890.123456789012345678")},
    {"exact": Decimal("1E-130")},
    {"exact": Decimal("9.9999999999999999999999999999999999999E+125")},
    {"flag": True},
    {"flag": False},
    {"raw": b""},
    {"raw": bytes(range(256))},
    {"moment": datetime(2026, 11, 29, 18, 45, 0, 1, tzinfo=UTC)},
    {"moment": datetime(2026, 11, 29, 18, 45, tzinfo=timezone(timedelta(hours=5, minutes=30)))},
    {"day": date(1, 1, 1)},
    {"span": timedelta(days=-1, microseconds=1)},
    {"uuid": UUID(int=7)},
    {"colour": Colour.RED},
    {"choice": "b"},
    {"entries": []},
    {"entries": ["a", None, ""]},
    {"pair": (3, 1, 2)},
    {"texts": frozenset({"b", "a", ""})},
    {"numbers": frozenset({Decimal(1), Decimal("1.5"), Decimal(-2)})},
    {"blobs": frozenset({b"a", b"\x00"})},
    {"mapping": {}},
    {"mapping": {"a": 1, "x.y": 2, "#": 3, "SET": 4}},
    {"address": Address("High Street", None)},
    {"nested": {"home": [Address("a", 1), Address("b", None)], "none": []}},
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: next(iter(values)))
async def test_a_value_comes_back_as_it_was(shop, place, values) -> None:
    things, key = shop.of(Everything), Everything.key_of("a")
    kept = await things.create(Everything(id="a", **values))
    assert await things.get(key) == kept == Everything(id="a", **values)
    refused = await things.try_create(Everything(id="a"))
    assert refused.existing == kept


@pytest.mark.parametrize("values", VALUES[1:], ids=lambda values: next(iter(values)))
async def test_a_value_can_be_set_and_compared_with(shop, values) -> None:
    ((name, value),) = values.items()
    things, key, path = shop.of(Everything), Everything.key_of("a"), getattr(Everything, name)
    await things.create(Everything(id="a"))
    changed = await things.update(key, path.set(value), condition=path.not_exists())
    assert changed == Everything(id="a", **values)
    assert await things.try_update(key, Everything.text.set("seen"), condition=path == value)


async def test_a_member_of_a_map_has_a_name(shop, db, place) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"Everything\.mapping .*empty"):
        Everything(id="a", mapping={"": 1})
    item = {"pk": {"S": "a"}, "sk": {"S": "a"}, "mapping": {"M": {"": {"N": "1"}}}}
    if place.difference("a name in a map is not empty"):
        assert await db.execute("PutItem", {"TableName": shop.name, "Item": item}) is not None
        return
    with pytest.raises(sw.ServiceFault, match="Empty attribute name"):
        await db.execute("PutItem", {"TableName": shop.name, "Item": item})


async def test_a_float_is_stored_as_the_shortest_decimal(shop, stored) -> None:
    await shop.of(Everything).create(Everything(id="a", real=0.1))
    assert (await stored("EVERYTHING#a", "X"))["real"] == {"N": "0.1"}


async def test_moments_are_stored_so_that_the_order_of_texts_is_that_of_time(shop, stored) -> None:
    await shop.of(Everything).create(Everything(id="a", moment=datetime(2026, 11, 29, 18, 45, tzinfo=UTC)))
    assert (await stored("EVERYTHING#a", "X"))["moment"] == {"S": "2026-11-29T18:45:00.000000Z"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), 10**38 + 1, Decimal("1E-131"), Decimal("1E126")])
def test_a_number_that_the_service_cannot_hold_is_refused_where_it_is_written(value) -> None:
    field = {float: "real", Decimal: "exact", int: "whole"}[type(value)]
    with pytest.raises(sw.InvalidRequest, match=f"Everything.{field}"):
        Everything(id="a", **{field: value})
