"""Belongs here: Query and Scan: their expressions, ranges and segments. Must not be here: the contents of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from surewrite.core import limits
from surewrite.core.values import Item, equal
from surewrite.engine.context import Context
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.grammar import KeyRange, Substitutions, bind_key_condition, parse_condition, parse_key_condition, parse_projection, require_expressions
from surewrite.engine.indexes import index_bounds, partition_bytes, sort_bounds
from surewrite.engine.key_validation import KEY_MISMATCH, check_filter_paths, check_key_paths
from surewrite.engine.legacy_parameters import read_attributes_to_get, read_conditions, read_key_conditions, require_one_style
from surewrite.engine.members import Member, Shapes, expression, table_name
from surewrite.engine.pages import READ_MEMBERS, Reading, Selection, Source, bad_start, check_selection, find_source, read_page, read_selection, read_start
from surewrite.engine.stores.store import SLOTS, Position, Session, slot_of
from surewrite.engine.syntax import KeyConditionNode

_LEGACY: Final = frozenset({"AttributesToGet", "ConditionalOperator", "KeyConditions", "QueryFilter", "ScanFilter"})
_SCAN_EXPRESSIONS: Final = ("FilterExpression", "ProjectionExpression")
_QUERY_EXPRESSIONS: Final = ("FilterExpression", "KeyConditionExpression", "ProjectionExpression")
_QUERY: Final = Shapes(
    "Query",
    (
        *READ_MEMBERS,
        Member("ScanIndexForward", "boolean"),
        expression("KeyConditionExpression"),
        Member("KeyConditions", "map"),
        Member("QueryFilter", "map"),
    ),
)
_SCAN: Final = Shapes(
    "Scan",
    (
        *READ_MEMBERS,
        Member("Segment", "integer", least=0, most=limits.SCAN_SEGMENTS - 1),
        Member("TotalSegments", "integer", least=1, most=limits.SCAN_SEGMENTS),
        Member("ScanFilter", "map"),
    ),
)


def query(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Query: one page of one partition of a table or index, in the order of the sort key."""
    _QUERY.check(body)
    selection = _read_query_selection(body)
    start = read_start(body)
    key_condition, reading = _read_query(body, selection)
    with context.store.session(write=False) as session:
        source = find_source(context, session, body, table_name(body["TableName"]))
        wanted = bind_key_condition(key_condition, source.key)
        if reading.filter is not None:
            filter_name = "Filter Expression" if body.get("QueryFilter") is None else "QueryFilter"
            check_filter_paths(reading.filter.paths, source.key, filter_name)
        _check_reading(source, reading)
        return read_page(session, source, reading, _queried_rows(session, source, wanted, start, descending=body.get("ScanIndexForward") is False), body)


def scan(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Scan: one page of a table or index, or of one segment of it."""
    _SCAN.check(body)
    segment, total = _read_segment(body)
    selection = read_selection(body)
    start = read_start(body)
    reading = _read_scan(body, selection)
    with context.store.session(write=False) as session:
        source = find_source(context, session, body, table_name(body["TableName"]))
        _check_reading(source, reading)
        first, end = segment * SLOTS // total, (segment + 1) * SLOTS // total
        after = _scan_position(source, start) if start is not None else None
        if after is not None and not first <= after.slot < end:
            raise bad_start(f"Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: {total} Segment: {segment}")
        return read_page(session, source, reading, session.scan(source.space, first, end, after), body)


def _read_query_selection(body: Mapping[str, Any]) -> Selection:
    try:
        return read_selection(body)
    except ServiceError as refused:
        # Measured: of a Select that its request contradicts, Query speaks within the envelope, and Scan does not.
        raise validation(f"1 validation error detected: {refused.message}") from None


def _read_query(body: Mapping[str, Any], selection: Selection) -> tuple[KeyConditionNode, Reading]:
    if not _LEGACY.isdisjoint(body):
        require_one_style(body, ("AttributesToGet", "QueryFilter", "ConditionalOperator"), _QUERY_EXPRESSIONS)
        # Filters and projections were expressions before conditions on keys were, so KeyConditions go with them.
        require_one_style(body, ("KeyConditions",), ("KeyConditionExpression",))
    text: str | None = body.get("KeyConditionExpression")
    key_condition = None if text is not None else read_key_conditions(body)
    if text is None and key_condition is None:
        raise validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    names, values = body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
    if text is None:
        require_expressions(names, values, {member: body.get(member) for member in _QUERY_EXPRESSIONS})
    substitutions = Substitutions(names, values)
    if key_condition is None:
        key_condition = parse_key_condition(text or "", substitutions)
    return key_condition, _read_reading(body, selection, substitutions, "QueryFilter")


def _read_scan(body: Mapping[str, Any], selection: Selection) -> Reading:
    if not _LEGACY.isdisjoint(body):
        require_one_style(body, ("AttributesToGet", "ScanFilter", "ConditionalOperator"), _SCAN_EXPRESSIONS)
    names, values = body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
    require_expressions(names, values, {member: body.get(member) for member in _SCAN_EXPRESSIONS})
    return _read_reading(body, selection, Substitutions(names, values), "ScanFilter")


def _read_reading(body: Mapping[str, Any], selection: Selection, substitutions: Substitutions, legacy: Literal["QueryFilter", "ScanFilter"]) -> Reading:
    filter_text, projection_text = body.get("FilterExpression"), body.get("ProjectionExpression")
    condition = (
        parse_condition(filter_text, "FilterExpression", substitutions)
        if filter_text is not None
        else None
        if _LEGACY.isdisjoint(body)
        else read_conditions(body, legacy)
    )
    projection = parse_projection(projection_text, substitutions) if projection_text is not None else read_attributes_to_get(body)
    substitutions.require_all_used()
    return Reading(selection, condition, projection)


def _check_reading(source: Source, reading: Reading) -> None:
    check_selection(source, reading)
    paths = (reading.filter.paths if reading.filter is not None else ()) + (reading.projection.paths if reading.projection is not None else ())
    check_key_paths(paths, source.table.key, source.table.indexes)


def _queried_rows(session: Session, source: Source, wanted: KeyRange, start: Item | None, *, descending: bool) -> Iterator[Item]:
    low, high = sort_bounds(wanted.sort, in_index=False) if source.index is None else index_bounds(wanted.leading, wanted.sort)
    partition = partition_bytes((wanted.hash, *wanted.more_hashes))
    if start is not None:
        sort = _start_sort(source, wanted, start)
        if descending:
            high = sort
        else:
            low = sort + b"\x00"
    return session.rows(source.space, partition, low, high, descending=descending)


def _start_sort(source: Source, wanted: KeyRange, start: Item) -> bytes:
    if source.index is None and source.table.key.sort is None:
        raise validation("The query can return at most one row and cannot be restarted")
    source.check_start(start)
    hashes = (wanted.hash, *wanted.more_hashes)
    if not all(equal(start[attribute.name], value) for attribute, value in zip(source.key.partitions, hashes, strict=True)):
        raise validation("The provided starting key is outside query boundaries based on provided conditions")
    sorts = [start[attribute.name] for attribute in source.key.sorts]
    ranged = len(wanted.leading)
    fits = all(map(equal, sorts, wanted.leading)) and (wanted.sort is None or wanted.sort.admits(sorts[ranged]))
    if not fits:
        raise validation("The provided starting key does not match the range key predicate")
    return source.place(start)[1]


def _read_segment(body: Mapping[str, Any]) -> tuple[int, int]:
    segment, total = body.get("Segment"), body.get("TotalSegments")
    if segment is None and total is None:
        return 0, 1
    if total is None:
        raise validation("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
    if segment is None:
        raise validation("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
    if segment >= total:
        raise validation(
            f"The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {segment} is not less than TotalSegments: {total}"
        )
    return segment, total


def _scan_position(source: Source, start: Item) -> Position:
    source.check_start(start, KEY_MISMATCH if source.index is None else None)
    partition, sort = source.place(start)
    return Position(slot_of(partition), partition, sort)
