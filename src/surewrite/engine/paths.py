"""Belongs here: following document paths into an item, one or many. Must not be here: conditions, updates, parsing."""

from __future__ import annotations

from collections.abc import Mapping

from surewrite.core.values import AttributeValue, Item
from surewrite.engine.syntax import DocumentPath, PathTree, ProjectionNode


def project(node: ProjectionNode, item: Item) -> Item:
    """The parts of an item that a projection names, in their hierarchy; list elements are packed in the order of their indexes.

    Shares its values with ``item``.
    """
    return project_tree(node.tree, item)


def project_tree(tree: PathTree, item: Item) -> Item:
    """The parts of an item that a tree of paths names; shares its values with ``item``."""
    return _projected_map(tree, item)


def value_at(path: DocumentPath, item: Item) -> AttributeValue | None:
    """The value that a path leads to, or None."""
    parts = path.parts
    # The first part of a path is always a name.
    value = item.get(parts[0])  # type: ignore[arg-type]
    for part in parts[1:]:
        if value is None:
            return None
        value = _below(value, part)
    return value


def _below(value: AttributeValue, part: str | int) -> AttributeValue | None:
    if isinstance(part, int):
        elements: list[AttributeValue] | None = value.get("L")
        return elements[part] if elements is not None and part < len(elements) else None
    members: Item | None = value.get("M")
    return None if members is None else members.get(part)


def _projected_map(tree: PathTree, members: Mapping[str, AttributeValue]) -> Item:
    found: Item = {}
    for name, branch in tree.members.items():
        value = _projected(branch, members.get(name))
        if value is not None:
            found[name] = value
    return found


def _projected(branch: PathTree | int, value: AttributeValue | None) -> AttributeValue | None:
    if value is None or isinstance(branch, int):
        return value
    if "M" in value:
        members = _projected_map(branch, value["M"])
        return {"M": members} if members else None
    if "L" in value:
        elements = _projected_list(branch, value["L"])
        return {"L": elements} if elements else None
    return None


def _projected_list(tree: PathTree, elements: list[AttributeValue]) -> list[AttributeValue]:
    found: list[AttributeValue] = []
    for index, branch in tree.elements.items():
        value = _projected(branch, elements[index] if index < len(elements) else None)
        if value is not None:
            found.append(value)
    return found
