"""Belongs here: what the Surewrite side of several scenarios shares: finishing an operation that has a name. Must not be here: a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from surewrite.errors import ConnectionFailed, OutcomeUnknown, Throttled, TransactionConflict

R = TypeVar("R")

TRIES_MAX = 200


def until_known(operation: Callable[[], R]) -> R:
    """Do a named operation, and again where its outcome is unknown: its name is stored with its effect, so that it is never made twice."""
    for _ in range(TRIES_MAX - 1):
        try:
            return operation()
        except (OutcomeUnknown, ConnectionFailed, Throttled, TransactionConflict):
            continue
    return operation()
