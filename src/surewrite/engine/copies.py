"""Belongs here: copies of stored items for whoever asked, who may then change them. Must not be here: checks of values."""

from __future__ import annotations

from typing import Any, cast

from surewrite.core.limits import SET_TYPES
from surewrite.core.values import AttributeValue, Item


def copied(item: Item) -> Item:
    """A deep copy of a well-formed item; cost grows with its attributes."""
    return {name: copied_value(value) for name, value in item.items()}


def copied_value(value: AttributeValue) -> AttributeValue:
    """A deep copy of a well-formed value."""
    for kind, content in value.items():
        if kind == "M":
            return {"M": {name: copied_value(member) for name, member in content.items()}}
        if kind == "L":
            return {"L": [copied_value(element) for element in content]}
        if kind in SET_TYPES:
            return {kind: content.copy()}
    return value.copy()


def copied_description(description: dict[str, Any]) -> dict[str, Any]:
    """A deep copy of a table's description, which is made of JSON's types."""
    return {name: _copied_json(content) for name, content in description.items()}


def _copied_json(content: Any) -> Any:
    if isinstance(content, dict):
        return copied_description(cast("dict[str, Any]", content))
    if isinstance(content, list):
        return [_copied_json(element) for element in cast("list[object]", content)]
    return content
