"""Belongs here: what a success of each operation holds, and whether an object is one. Must not be here: JSON, HTTP, errors of the service.

A login page or a gateway may answer with status 200 and an object of JSON. Taken for the service's word it would say that a
write was applied which the service never saw. The shapes are those of the API Reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from surewrite.core.requests import Request

_Check = Callable[[Any], bool]


def is_item(value: Any) -> bool:
    """Whether a value of JSON is an item at all: attributes by name, each with the one letter of its type."""
    return isinstance(value, dict) and all(map(_is_typed, cast("dict[str, Any]", value).values()))


def _is_typed(value: Any) -> bool:
    return isinstance(value, dict) and len(cast("dict[str, Any]", value)) == 1


def flaw_of(request: Request, content: Mapping[str, Any]) -> str | None:
    """Why an object is no success of the request, for people; ``None`` where it is one, or nothing is known of the operation.

    A member that is ``null`` counts as left out. The cost is one look at each attribute of each item.
    """
    shape = _SHAPES.get(request.operation)
    if shape is None:
        return None
    if content and shape.keys().isdisjoint(content) and _BESIDES.isdisjoint(content):
        return "an object that is no answer of the service"
    for name, check in shape.items():
        value = content.get(name)
        if value is not None and not check(value):
            return f"{name} is not what the service sends"
    missing = _demanded(request)
    if missing is not None and content.get(missing) is None:
        return f"no {missing}"
    if request.operation == "TransactGetItems" and len(content["Responses"]) != len(request.body.get("TransactItems", ())):
        return "not one of the Responses for each item"
    return None


def _demanded(request: Request) -> str | None:
    """The member without which the answer says nothing."""
    match request.operation:
        case "Query" | "Scan":
            return "Items" if request.body.get("Select") != "COUNT" else None
        case "UpdateItem":
            return "Attributes" if request.body.get("ReturnValues") == "ALL_NEW" else None
        case "BatchGetItem" | "TransactGetItems":
            return "Responses"
        case "DescribeTable":
            return "Table"
        case _:
            return None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_key(value: Any) -> bool:
    return bool(value) and is_item(value)


def _all(check: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(check, cast("Iterable[Any]", value)))


def _by_table(check: _Check) -> _Check:
    return lambda value: isinstance(value, dict) and all(map(check, cast("dict[str, Any]", value).values()))


def _holds(name: str, check: _Check) -> _Check:
    return lambda value: isinstance(value, dict) and check(cast("dict[str, Any]", value).get(name))


def _is_none_or(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _is_write(value: Any) -> bool:
    return _holds("PutRequest", _holds("Item", is_item))(value) or _holds("DeleteRequest", _holds("Key", is_item))(value)


_ONE_ITEM: Final[Mapping[str, _Check]] = {"Attributes": is_item}
_PAGE: Final[Mapping[str, _Check]] = {"Items": _all(is_item), "LastEvaluatedKey": _is_key}
_TABLE: Final[Mapping[str, _Check]] = {"TableDescription": _is_object}

_SHAPES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "GetItem": {"Item": is_item},
    "PutItem": _ONE_ITEM,
    "UpdateItem": _ONE_ITEM,
    "DeleteItem": _ONE_ITEM,
    "Query": _PAGE,
    "Scan": _PAGE,
    "BatchGetItem": {"Responses": _by_table(_all(is_item)), "UnprocessedKeys": _by_table(_holds("Keys", _all(_is_key)))},
    "BatchWriteItem": {"UnprocessedItems": _by_table(_all(_is_write))},
    "TransactGetItems": {"Responses": _all(_holds("Item", _is_none_or(is_item)))},
    "TransactWriteItems": {},
    "CreateTable": _TABLE,
    "DeleteTable": _TABLE,
    "DescribeTable": {"Table": _is_object},
    "UpdateTimeToLive": {"TimeToLiveSpecification": _is_object},
    "DescribeTimeToLive": {"TimeToLiveDescription": _is_object},
}
_BESIDES: Final = frozenset(("ConsumedCapacity", "ItemCollectionMetrics", "Count", "ScannedCount"))
"""Members that tell of the cost, which nothing here reads."""
