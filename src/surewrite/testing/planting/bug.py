"""Belongs here: what a planted bug is, and putting one in and taking it out. Must not be here: any bug, looking for it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A mistake that somebody could make, as a patch of the real code.

    ``plant`` puts it in and takes it out. ``scenarios`` are those that are to find it, within ``within`` schedules in all.
    """

    name: str
    plant: Callable[[], AbstractContextManager[None]]
    scenarios: tuple[str, ...]
    within: int


@contextmanager
def replaced(owner: Any, **values: Any) -> Generator[None, None, None]:
    """Give attributes of a module or class other values for a while."""
    before: dict[str, Any] = {name: vars(owner)[name] for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextmanager
def entries_replaced(table: dict[Any, Any], entries: Mapping[Any, Any]) -> Generator[None, None, None]:
    """Give entries of a dictionary other values for a while."""
    before = {key: table[key] for key in entries}
    table.update(entries)
    try:
        yield
    finally:
        table.update(before)


@contextmanager
def together(*plants: AbstractContextManager[None]) -> Generator[None, None, None]:
    """Several patches that make one bug."""
    if not plants:
        yield
        return
    with plants[0], together(*plants[1:]):
        yield
