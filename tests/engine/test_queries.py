from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.harness import Caller, Clock, create_table, index, number, text

from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore

OF_A = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": text("a")}}


def of_a(condition: str, **values: dict[str, Any]) -> dict[str, Any]:
    constants = {":p": text("a"), **{f":{name}": value for name, value in values.items()}}
    return {"KeyConditionExpression": f"pk = :p AND {condition}", "ExpressionAttributeValues": constants}


def fill(rows: Caller, *numbers: float | str) -> None:
    for at in numbers:
        rows.put(pk=text("a"), sk=number(at))


def sort_keys(answer: dict[str, Any]) -> list[str]:
    return [item["sk"]["N"] for item in answer["Items"]]


def pages(caller: Caller, operation: str, **members: Any) -> Iterator[dict[str, Any]]:
    start: dict[str, Any] = {}
    for _ in range(1000):
        page = caller(operation, **members, **start)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    raise AssertionError("the pages do not end")


def test_items_come_by_numeric_order_of_the_sort_key(rows: Caller) -> None:
    fill(rows, "10", "9", "-1", "-10", "0.5", "1e2", "0")
    assert sort_keys(rows("Query", **OF_A)) == ["-10", "-1", "0", "0.5", "9", "10", "100"]
    assert sort_keys(rows("Query", **OF_A, ScanIndexForward=False)) == ["100", "10", "9", "0.5", "0", "-1", "-10"]


@pytest.mark.parametrize(("kind", "ordered"), [("S", ["A", "Z", "a", "é", "\uffff", "\U0001f600"]), ("B", ["AA==", "AAA=", "AP8=", "fw==", "gA==", "/w=="])])
def test_texts_and_binaries_come_by_unsigned_bytes(service: Service, clock: Clock, kind: str, ordered: list[str]) -> None:
    create_table(service, "sorted", (("pk", "S"), ("sk", kind)))
    caller = Caller(service, clock, "sorted")
    for content in reversed(ordered):
        caller.put(pk=text("a"), sk={kind: content})
    assert [item["sk"][kind] for item in caller("Query", **OF_A)["Items"]] == ordered


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("sk = :x", ["2"]),
        ("sk < :x", ["1"]),
        ("sk <= :x", ["1", "2"]),
        ("sk > :x", ["3", "4"]),
        ("sk >= :x", ["2", "3", "4"]),
        ("sk BETWEEN :x AND :y", ["2", "3"]),
    ],
)
def test_conditions_on_the_sort_key(rows: Caller, condition: str, expected: list[str]) -> None:
    fill(rows, 1, 2, 3, 4)
    rows.put(pk=text("b"), sk=number(2))
    values = {"x": number(2)} | ({"y": number(3)} if ":y" in condition else {})
    assert sort_keys(rows("Query", **of_a(condition, **values))) == expected
    assert sort_keys(rows("Query", **of_a(condition, **values), ScanIndexForward=False)) == expected[::-1]


def test_begins_with_ends_where_the_prefix_ends(service: Service, clock: Clock) -> None:
    create_table(service, "sorted", (("pk", "S"), ("sk", "S")))
    caller = Caller(service, clock, "sorted")
    for content in ("ORDER", "ORDER#1", "ORDER#2", "ORDER$", "ORDER\U0010ffff", "ORDES"):
        caller.put(pk=text("a"), sk=text(content))
    found = caller("Query", **of_a("begins_with(sk, :x)", x=text("ORDER#")))["Items"]
    assert [item["sk"]["S"] for item in found] == ["ORDER#1", "ORDER#2"]
    assert caller("Query", **of_a("begins_with(sk, :x)", x=text("ORDER")))["Count"] == 5


def test_the_limit_counts_what_is_evaluated_before_the_filter(rows: Caller) -> None:
    for at in range(5):
        rows.put(pk=text("a"), sk=number(at), even={"BOOL": at % 2 == 0})
    members = {
        **OF_A,
        "FilterExpression": "even = :t",
        "ExpressionAttributeValues": {":p": text("a"), ":t": {"BOOL": True}},
    }
    page = rows("Query", **members, Limit=2)
    assert (page["Count"], page["ScannedCount"], sort_keys(page)) == (1, 2, ["0"])
    assert page["LastEvaluatedKey"] == {"pk": text("a"), "sk": number(1)}


def test_a_page_may_be_empty_and_not_the_last(rows: Caller) -> None:
    fill(rows, 1, 2)
    page = rows("Query", **OF_A, FilterExpression="attribute_exists(x)", Limit=1)
    assert (page["Items"], "LastEvaluatedKey" in page) == ([], True)


def test_a_limit_that_equals_the_number_of_items_leaves_a_key_that_leads_to_nothing(rows: Caller) -> None:
    fill(rows, 1, 2)
    counts = [page["Count"] for page in pages(rows, "Query", **OF_A, Limit=2)]
    assert counts == [2, 0]


def test_a_page_ends_after_1_megabyte(rows: Caller) -> None:
    for at in range(4):
        rows.put(pk=text("a"), sk=number(at), x=text("x" * 400_000))
    found = list(pages(rows, "Query", **OF_A, Select="COUNT"))
    assert [page["Count"] for page in found] == [3, 1]
    assert [page["Count"] for page in pages(rows, "Scan", Select="COUNT")] == [3, 1]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_together_are_the_whole(rows: Caller, limit: int, forward: bool) -> None:
    fill(rows, *range(7))
    found = [key for page in pages(rows, "Query", **OF_A, Limit=limit, ScanIndexForward=forward) for key in sort_keys(page)]
    assert found == [str(at) for at in (range(7) if forward else range(6, -1, -1))]


def test_a_starting_key_need_not_exist_any_more(rows: Caller) -> None:
    fill(rows, 1, 2, 3)
    start = rows("Query", **OF_A, Limit=2)["LastEvaluatedKey"]
    rows("DeleteItem", Key=start)
    assert sort_keys(rows("Query", **OF_A, ExclusiveStartKey=start)) == ["3"]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"pk": text("a")}, "The provided starting key is invalid"),
        ({"pk": text("a"), "sk": text("1")}, "The provided starting key is invalid"),
        ({"pk": text("a"), "sk": number(1), "x": text("x")}, "The provided starting key is invalid"),
        ({"pk": text("b"), "sk": number(1)}, "The provided starting key is outside query boundaries based on provided conditions"),
        ({"pk": text("a"), "sk": number(5)}, "The provided starting key does not match the range key predicate"),
    ],
)
def test_starting_keys_that_do_not_fit_the_query(rows: Caller, start: dict[str, Any], message: str) -> None:
    assert rows.invalid("Query", **of_a("sk < :x", x=number(5)), ExclusiveStartKey=start) == message


def test_a_starting_key_that_does_not_fit_the_scanned_table_is_told_why(rows: Caller) -> None:
    message = "The provided starting key is invalid: The provided key element does not match the schema"
    assert rows.invalid("Scan", ExclusiveStartKey={"pk": text("a")}) == message


def test_a_query_of_a_table_without_sort_key_is_not_restarted(shop: Caller) -> None:
    assert shop.invalid("Query", **OF_A, ExclusiveStartKey={"pk": text("a")}) == "The query can return at most one row and cannot be restarted"


CONTRADICTING_SELECTS: list[tuple[dict[str, Any], str]] = [
    ({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "x"}, "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES"),
    ({"Select": "COUNT", "ProjectionExpression": "x"}, "Cannot specify the ProjectionExpression when choosing to get only the Count"),
    ({"Select": "SPECIFIC_ATTRIBUTES"}, "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
    ({"Select": "ALL_PROJECTED_ATTRIBUTES"}, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"KeyConditionExpression": None}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."),
        *((members, f"1 validation error detected: {message}") for members, message in CONTRADICTING_SELECTS),
        ({"IndexName": "none"}, "The table does not have the specified index: none"),
        ({"FilterExpression": "sk = :p"}, "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"),
        (
            {"Limit": 0},
            "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
        (
            {"Select": "ALL"},
            (
                "1 validation error detected: Value 'ALL' at 'select' failed to satisfy constraint: "
                "Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
            ),
        ),
    ],
)
def test_queries_that_contradict_themselves(rows: Caller, members: dict[str, Any], message: str) -> None:
    assert rows.invalid("Query", **{**OF_A, **members}) == message


def test_select_decides_what_is_shown(rows: Caller) -> None:
    rows.put(pk=text("a"), sk=number(1), x=text("x"))
    assert rows("Query", **OF_A, Select="COUNT") == {"Count": 1, "ScannedCount": 1}
    assert rows("Query", **OF_A, ProjectionExpression="x")["Items"] == [{"x": text("x")}]
    assert rows("Query", **OF_A, Select="SPECIFIC_ATTRIBUTES", ProjectionExpression="x")["Items"] == [{"x": text("x")}]


def test_a_missing_table_is_not_found(rows: Caller) -> None:
    for operation, members in (("Query", OF_A), ("Scan", {})):
        assert rows.refusal(operation, TableName="none", **members).code == "ResourceNotFoundException"


def test_a_scan_may_filter_by_keys(rows: Caller) -> None:
    fill(rows, 1, 2)
    found = rows("Scan", FilterExpression="sk = :x", ExpressionAttributeValues={":x": number(2)})
    assert (sort_keys(found), found["ScannedCount"]) == (["2"], 2)


def test_a_scan_walks_each_partition_in_sort_order(rows: Caller) -> None:
    for at in range(30):
        rows.put(pk=text(str(at % 5)), sk=number(at))
    found = rows("Scan")["Items"]
    by_partition: dict[str, list[int]] = {}
    for item in found:
        by_partition.setdefault(item["pk"]["S"], []).append(int(item["sk"]["N"]))
    assert len(found) == 30
    assert all(numbers == sorted(numbers) for numbers in by_partition.values())
    partitions = [item["pk"]["S"] for item in found]
    assert sum(first != second for first, second in pairwise(partitions)) == 4


@pytest.mark.parametrize("total", [1, 2, 3, 7])
@pytest.mark.parametrize("limit", [None, 2])
def test_segments_are_disjoint_and_complete(rows: Caller, total: int, limit: int | None) -> None:
    expected = {(str(at % 20), str(at)) for at in range(40)}
    for partition, at in expected:
        rows.put(pk=text(partition), sk=number(at))
    found = [
        (item["pk"]["S"], item["sk"]["N"])
        for segment in range(total)
        for page in pages(rows, "Scan", Segment=segment, TotalSegments=total, Limit=limit)
        for item in page["Items"]
    ]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_scan_goes_on_behind_a_partition_that_is_gone(rows: Caller) -> None:
    for at in range(6):
        rows.put(pk=text(str(at)), sk=number(at))
    everything = rows("Scan")["Items"]
    first = rows("Scan", Limit=3)
    rows("DeleteItem", Key=first["LastEvaluatedKey"])
    assert rows("Scan", ExclusiveStartKey=first["LastEvaluatedKey"])["Items"] == everything[3:]


def test_a_starting_key_belongs_to_its_segment(rows: Caller) -> None:
    for at in range(20):
        rows.put(pk=text(str(at)), sk=number(at))
    start = rows("Scan", Segment=0, TotalSegments=2, Limit=1)["LastEvaluatedKey"]
    assert "Please use ExclusiveStartKey with correct Segment" in rows.invalid("Scan", Segment=1, TotalSegments=2, ExclusiveStartKey=start)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Segment": 0}, "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"),
        ({"TotalSegments": 2}, "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"),
        (
            {"Segment": 5, "TotalSegments": 5},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5",
        ),
        ({"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only be specified when using expressions"),
        *CONTRADICTING_SELECTS,
    ],
)
def test_scans_that_contradict_themselves(rows: Caller, members: dict[str, Any], message: str) -> None:
    assert rows.invalid("Scan", **members).startswith(message)


@given(
    entries=st.dictionaries(st.tuples(st.binary(min_size=1, max_size=3), st.binary(max_size=3)), st.binary(max_size=2), max_size=12),
    limit=st.integers(1, 4),
    forward=st.booleans(),
)
def test_index_entries_keep_their_order_whatever_bytes_their_keys_have(entries: dict[tuple[bytes, bytes], bytes], limit: int, forward: bool) -> None:
    service = Service(MemoryStore())
    create_table(service, "bytes", (("pk", "B"), ("sk", "B")), global_indexes=[index("by_g", "g", "h")], extra_types={"g": "S", "h": "B"})
    caller = Caller(service, Clock(), "bytes")
    stored = {(key, sort): other for (key, sort), other in entries.items() if sort and other}
    for (key, sort), other in stored.items():
        caller.put(pk=_binary(key), sk=_binary(sort), g=text("g"), h=_binary(other))
    query = {"IndexName": "by_g", "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": text("g")}}
    found = [
        (item["h"]["B"], item["pk"]["B"], item["sk"]["B"])
        for page in pages(caller, "Query", **query, Limit=limit, ScanIndexForward=forward)
        for item in page["Items"]
    ]
    expected = sorted(((other, key, sort) for (key, sort), other in stored.items()), reverse=not forward)
    assert found == [tuple(_binary(part)["B"] for part in row) for row in expected]


def _binary(content: bytes) -> dict[str, str]:
    return {"B": base64.b64encode(content).decode()}
