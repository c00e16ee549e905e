"""Belongs here: what a scenario of the race is. Must not be here: any scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from surewrite.client import Database


@dataclass(frozen=True, slots=True)
class RacePlan:
    """How large the race is. Every writer makes ``rounds`` operations of each scenario; ``seed`` decides order and faults."""

    writers: int
    rounds: int
    seed: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one writer runs one side of one scenario: the table is the side's own."""

    db: Database
    table: str
    writer: int
    plan: RacePlan
    tick: Callable[[], None]
    """Called after each operation, for the progress bar."""

    @property
    def name(self) -> str:
        """The writer's name in the table, made of nothing but its number."""
        return f"w{self.writer}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a side left: the figure that is compared with the expected one, and in words what was lost or doubled."""

    value: Any
    words: str = ""
    consistent: bool = True
    """False where the figure is right and something beside it is not."""


class Scenario(Protocol):
    """One race. Both sides start from the same prepared table and are judged by the same measurement."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str:
        """What is done, in a few words."""
        ...

    def operations(self, plan: RacePlan) -> int:
        """How many operations one side makes in all, for the progress bar."""
        ...

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        """Make the table and what is stored before the race."""
        ...

    def naive(self, stage: Stage) -> None:
        """The operations of one writer as people write them: read, change, put, and send again what was not answered."""
        ...

    def sure(self, stage: Stage) -> None:
        """The same with Surewrite. A restarted writer knows its number and finds the rest in the table."""
        ...

    def expected(self, plan: RacePlan) -> Any: ...

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured: ...


def difference_in_words(expected: int, value: int, what: str) -> str:
    """What a total that is too small or too large means."""
    if value == expected:
        return ""
    return f"{expected - value} {what} lost" if value < expected else f"{value - expected} {what} doubled"
