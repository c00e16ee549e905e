"""Global indexes whose partition key, or sort key, is of several attributes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.harness import Caller, Clock, create_table, number, text

from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore

TYPES = {"h": "S", "i": "B", "r": "N", "s": "S", "t": "B"}
SCHEMA = [{"AttributeName": name, "KeyType": "HASH" if name in "hi" else "RANGE"} for name in TYPES]
INDEX = {"IndexName": "wide", "KeySchema": SCHEMA, "Projection": {"ProjectionType": "ALL"}}


def binary(content: bytes) -> dict[str, str]:
    return {"B": base64.b64encode(content).decode()}


def wide(service: Service, clock: Clock) -> Caller:
    create_table(service, global_indexes=[INDEX], extra_types=TYPES)
    return Caller(service, clock)


@pytest.fixture
def caller(service: Service, clock: Clock) -> Caller:
    return wide(service, clock)


def item(name: str, sort: tuple[int, str, bytes], h: str = "h", i: bytes = b"i") -> dict[str, Any]:
    return {"pk": text(name), "h": text(h), "i": binary(i), "r": number(sort[0]), "s": text(sort[1]), "t": binary(sort[2])}


VALUES: dict[str, Any] = {":h": text("h"), ":i": binary(b"i"), ":r": number(1), ":s": text("x"), ":t": binary(b"\x00")}


def query(caller: Caller, condition: str = "", **members: Any) -> dict[str, Any]:
    used = {name: value for name, value in VALUES.items() if name in f":h :i {condition}"}
    return caller("Query", IndexName="wide", KeyConditionExpression=f"h = :h AND i = :i{condition}", ExpressionAttributeValues=used, **members)


def names(page: dict[str, Any]) -> str:
    return "".join(found["pk"]["S"] for found in page["Items"])


def test_an_item_appears_only_with_all_attributes(caller: Caller) -> None:
    whole = item("a", (1, "x", b"t"))
    for missing in TYPES:
        caller.put(**{name: value for name, value in whole.items() if name != missing})
        assert query(caller)["Count"] == 0
    caller.put(**whole)
    assert query(caller)["Items"] == [whole]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("", "abcde"),
        (" AND r = :r", "bcd"),
        (" AND r > :r", "e"),
        (" AND r <= :r", "abcd"),
        (" AND r = :r AND s = :s", "bc"),
        (" AND r = :r AND s > :s", "d"),
        (" AND r = :r AND begins_with(s, :s)", "bcd"),
        (" AND s = :s AND r = :r AND t > :t", "c"),
        (" AND r = :r AND s = :s AND t = :t", "b"),
    ],
)
def test_a_query_uses_the_sort_attributes_from_the_first_one_on(caller: Caller, condition: str, found: str) -> None:
    for name, sort in zip("edcba", ((2, "a", b"a"), (1, "xy", b"a"), (1, "x", b"\x00\x00"), (1, "x", b"\x00"), (0, "z", b"a")), strict=True):
        caller.put(**item(name, sort))
    caller.put(**item("other", (1, "x", b"\x00"), i=b"i\x00"))
    assert names(query(caller, condition)) == found
    assert names(query(caller, condition, ScanIndexForward=False)) == found[::-1]
    pages = "".join(names(page) for page in all_pages(caller, condition))
    assert pages == found


def all_pages(caller: Caller, condition: str) -> Iterator[dict[str, Any]]:
    start: dict[str, Any] = {}
    for _ in range(10):
        page = query(caller, condition, Limit=1, **start)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        assert page["LastEvaluatedKey"].keys() == {"pk", *TYPES}
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("h = :h", "Query condition missed key schema element: i"),
        ("h = :h AND i > :i", "Query key condition not supported"),
        ("h = :h AND i = :i AND s = :s", "Query condition missed key schema element: r"),
        ("h = :h AND i = :i AND r = :r AND t = :t", "Query condition missed key schema element: s"),
        ("h = :h AND i = :i AND r > :r AND s = :s", "Query key condition not supported"),
        (
            "h = :h AND i = :i AND r = :r AND s = :s AND t = :t AND u = :r",
            "The number of query conditions (6) exceeds the number of key attributes defined in the schema (5)",
        ),
    ],
)
def test_queries_that_do_not_fit_the_key(caller: Caller, condition: str, message: str) -> None:
    used = {name: value for name, value in VALUES.items() if name in condition}
    assert caller.invalid("Query", IndexName="wide", KeyConditionExpression=condition, ExpressionAttributeValues=used) == message


def test_a_starting_key_lies_within_the_query(caller: Caller) -> None:
    caller.put(**item("a", (1, "x", b"t")))
    start = query(caller, Limit=1)["LastEvaluatedKey"]
    members = {"IndexName": "wide", "ExpressionAttributeValues": {":h": text("h"), ":i": binary(b"i"), ":r": number(1)}}
    condition = "h = :h AND i = :i AND r = :r"
    outside = {**start, "i": binary(b"j")}
    assert "outside query boundaries" in caller.invalid("Query", KeyConditionExpression=condition, ExclusiveStartKey=outside, **members)
    other = {**start, "r": number(2)}
    assert "range key predicate" in caller.invalid("Query", KeyConditionExpression=condition, ExclusiveStartKey=other, **members)


@pytest.mark.parametrize("name", list(TYPES))
def test_every_attribute_is_held_to_its_type(caller: Caller, name: str) -> None:
    message = caller.invalid("PutItem", Item={**item("a", (1, "x", b"t")), name: {"BOOL": True}})
    expected = f"Type mismatch for Index Key {name} Expected: {TYPES[name]} Actual: BOOL IndexName: wide"
    assert message == f"One or more parameter values were invalid: {expected}"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([*SCHEMA[1:], SCHEMA[0]], "Invalid KeySchema: All HASH KeySchemaElements come before those of the RANGE key type"),
        (
            [{"AttributeName": name, "KeyType": "HASH"} for name in TYPES],
            "Invalid KeySchema: More than 4 KeySchemaElements are of the HASH key type",
        ),
        ([{**SCHEMA[0], "KeyType": "RANGE"}, *SCHEMA[1:]], "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
    ],
)
def test_key_schemas_that_are_not_made(service: Service, schema: list[dict[str, str]], message: str) -> None:
    body = {
        "TableName": "made",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in {"pk": "S", **TYPES}.items()],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{**INDEX, "KeySchema": schema}],
    }
    assert Caller(service, Clock()).refused("CreateTable", body).message == message


def test_tables_and_local_indexes_keep_to_two(service: Service) -> None:
    local = {"IndexName": "local", "KeySchema": SCHEMA, "Projection": {"ProjectionType": "ALL"}}
    body = {
        "TableName": "made",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in TYPES.items()],
        "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        "LocalSecondaryIndexes": [local],
    }
    assert "Member must have length less than or equal to 2" in Caller(service, Clock()).refused("CreateTable", body).message


def test_such_an_index_is_added_to_a_table_with_items(service: Service, clock: Clock) -> None:
    create_table(service)
    caller = Caller(service, clock)
    caller.put(**item("a", (1, "x", b"t")))
    definitions = [{"AttributeName": name, "AttributeType": kind} for name, kind in TYPES.items()]
    caller("UpdateTable", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[{"Create": INDEX}])
    assert names(query(caller)) == "a"


BYTES = st.sampled_from([b"\x00", b"\x00\x00", b"\x00\x01", b"a", b"a\x00", b"\xff", b"\xff\xff"])
TEXTS = st.sampled_from(["\x00", "a", "a\x00", "a\x00b", "b", "é", "\uffff"])
NUMBERS = st.sampled_from(["-10", "-1", "0", "1", "10", "0.5"])


@given(
    entries=st.lists(st.tuples(TEXTS, BYTES, NUMBERS, TEXTS, BYTES), max_size=10),
    wanted=st.tuples(TEXTS, BYTES, NUMBERS, TEXTS),
    used=st.integers(0, 2),
    forward=st.booleans(),
)
def test_entries_keep_their_order_whatever_their_keys_hold(
    entries: list[tuple[str, bytes, str, str, bytes]], wanted: tuple[str, bytes, str, str], used: int, forward: bool
) -> None:
    caller = wide(Service(MemoryStore()), Clock())
    for at, (h, i, r, s, t) in enumerate(entries):
        caller.put(pk=text(f"{at:02d}"), h=text(h), i=binary(i), r=number(r), s=text(s), t=binary(t))
    h, i, r, s = wanted
    condition = "h = :h AND i = :i" + "".join([" AND r = :r", " AND s >= :s"][:used])
    values = {":h": text(h), ":i": binary(i), **({":r": number(r)} if used else {}), **({":s": text(s)} if used > 1 else {})}
    page = caller("Query", IndexName="wide", KeyConditionExpression=condition, ExpressionAttributeValues=values, ScanIndexForward=forward)
    fitting = [
        (Decimal(entry[2]), entry[3].encode(), entry[4], f"{at:02d}")
        for at, entry in enumerate(entries)
        if entry[:2] == (h, i) and (not used or entry[2] == r) and (used < 2 or entry[3].encode() >= s.encode())
    ]
    assert [found["pk"]["S"] for found in page["Items"]] == [name for *_, name in sorted(fitting, reverse=not forward)]
