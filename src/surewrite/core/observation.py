"""Belongs here: the records that an observer gets. Must not be here: item contents, where records go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

ObservationKind = Literal["attempt", "conflict", "recovered", "unknown"]


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that happened to one operation.

    ``attempt``: a request was made and ``answer`` says what came of it. ``conflict``: the write was refused by a version,
    a condition or a running transaction. ``recovered``: a refusal was recognised as the write's own earlier attempt.
    ``unknown``: the outcome could not be shown. ``seconds`` is the time of the attempt, or of the whole operation.
    ``key_digest`` tells keys apart without showing them.
    """

    kind: ObservationKind
    verb: str
    table: str
    entity: str | None
    attempt: int
    answer: str
    seconds: float
    key_digest: int | None = None


Observer = Callable[[Observation], None]
