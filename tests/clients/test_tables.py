"""create_table."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.clients.entities import Lease, Note, Page, Session
from tests.typing.accepted.entities import IdempotencyRecord, Order

import surewrite as sw
from surewrite import Attribute, Entity


class ByNumber(Entity, discriminator="BY_NUMBER", partition_key="{number}", sort_key="X"):
    number: Attribute[int]


class Other(Entity, discriminator="OTHER", partition_key="OTHER#{id}", sort_key="X"):
    id: Attribute[str]
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ends")


async def test_a_table_serves_all_its_entities(make_table) -> None:
    table = await make_table(Note, Page)
    assert await table.of(Note).create(Note(id="a"))
    assert await table.of(Page).create(Page(id="a"))


async def test_a_table_that_exists_is_used_only_if_the_caller_says_so(make_table) -> None:
    table = await make_table(Note)
    note = await table.of(Note).create(Note(id="a"))
    with pytest.raises(sw.InvalidRequest, match="exist_ok=True") as exists:
        await table.create_table(Note)
    assert exists.value.code == "ResourceInUseException"
    await table.create_table(Note, exist_ok=True)
    assert await table.of(Note).get(Note.key_of("a")) == note


async def test_a_table_with_another_key_is_refused(make_table, db) -> None:
    table = await make_table(Note)
    with pytest.raises(sw.InvalidRequest, match="has the key"):
        await db.table(table.name, key=("customer_id", "order_id"), discriminator=None).create_table(Order, exist_ok=True)


async def test_time_to_live_is_turned_on(make_table, db) -> None:
    table = await make_table(Session, Lease, IdempotencyRecord)
    described = (await db.execute("DescribeTimeToLive", {"TableName": table.name}))["TimeToLiveDescription"]
    assert described["AttributeName"] == "ttl"
    assert described["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    await table.create_table(Session, exist_ok=True)


async def test_time_to_live_stays_off_where_no_entity_declares_one(make_table, db) -> None:
    table = await make_table(Note)
    described = (await db.execute("DescribeTimeToLive", {"TableName": table.name}))["TimeToLiveDescription"]
    assert described["TimeToLiveStatus"] == "DISABLED"


async def test_another_time_to_live_than_that_of_the_table_is_refused(make_table) -> None:
    table = await make_table(Session)
    with pytest.raises(sw.InvalidRequest, match="has its time to live in 'ttl'"):
        await table.create_table(Other, exist_ok=True)


async def test_entities_that_contradict_each_other_are_refused(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="cannot share the table"):
        await db.table("shop").create_table(Note, ByNumber)
    with pytest.raises(sw.InvalidRequest, match=r"one time to live attribute.* \(Session\) and .* \(Other\)"):
        await db.table("shop").create_table(Session, Other)


async def test_a_table_needs_an_entity(db) -> None:
    with pytest.raises(sw.InvalidRequest, match="needs an entity"):
        await db.table("shop").create_table()


async def test_a_name_that_the_service_refuses_is_an_invalid_request(db, place) -> None:
    if place.difference("the name of a table has three characters or more"):
        await db.table("no").create_table(Note, exist_ok=True)
        return
    with pytest.raises(sw.InvalidRequest) as refused:
        await db.table("no").create_table(Note)
    assert refused.value.code == "ValidationException"


async def test_a_table_knows_its_name(db) -> None:
    assert db.table("shop").name == "shop"


async def test_the_table_is_billed_on_demand(make_table, db) -> None:
    table = await make_table(Note)
    described = (await db.execute("DescribeTable", {"TableName": table.name}))["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
