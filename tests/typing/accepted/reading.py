"""Queries, scans, batches and bulk writes, as both checkers must accept them, with the types that they infer."""

from __future__ import annotations

from datetime import date
from typing import assert_type

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Reading(
    Entity,
    partition_key="{sensor}",
    sort_key="{day}",
    indexes=(sw.global_index("by_day", partition_key="{day}", projection=("value",)), sw.local_index("by_value", sort_key="{value}", projection="keys")),
):
    sensor: Attribute[str]
    day: Attribute[date]
    value: Attribute[int] = sw.attribute(default=0)


class Sensor(VersionedEntity, partition_key="{sensor}", sort_key="SENSOR"):
    sensor: Attribute[str]
    revision: Attribute[int | None] = sw.version()


def read(table: sw.Table) -> None:
    readings = table.of(Reading)
    for reading in readings.query(Reading.partition_of("s"), sort_key=sw.between(date(2026, 1, 1), date(2026, 2, 1)), filter=Reading.value > 3, limit=5):
        assert_type(reading, Reading)
    for reading in readings.query(Reading.index_partition_of("by_day", date(2026, 1, 1)), descending=True):
        assert_type(reading, Reading)
    page = readings.query_page(Reading.partition_of("s"), index="by_value", sort_key=sw.ge(3), cursor=None)
    assert_type(page, sw.Page[Reading])
    assert_type(page.cursor, str | None)
    for each in table.query(Reading.partition_of("s"), types=(Reading, Sensor)):
        assert_type(each, Reading | Sensor)
    for reading in readings.scan(segment=(0, 4)):
        assert_type(reading, Reading)
    assert_type(readings.get_many([Reading.key_of("s", date(2026, 1, 1))]), list[Reading | None])


def write(table: sw.Table) -> None:
    for result in table.of(Sensor).put_many([Sensor(sensor="s")], parallel=4):
        assert_type(result.item, Sensor)
    for removed in table.of(Sensor).delete_many([Sensor.key_of("s").ignore_version()]):
        assert_type(removed.item, Sensor | None)


async def read_awaited(table: sw.AsyncTable) -> None:
    readings = table.of(Reading)
    async for reading in readings.query(Reading.partition_of("s"), sort_key=sw.begins_with("2026")):
        assert_type(reading, Reading)
    async for each in table.query(Reading.partition_of("s"), types=(Reading, Sensor), others="raise"):
        assert_type(each, Reading | Sensor)
    assert_type(await readings.query_page(Reading.partition_of("s")), sw.Page[Reading])
    assert_type(await readings.get_many([Reading.key_of("s", date(2026, 1, 1))]), list[Reading | None])
    assert_type(await readings.put_many([]), list[sw.BulkResult[Reading]])
