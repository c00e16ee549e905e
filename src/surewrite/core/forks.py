"""Belongs here: the count of forks that a process descends from, as a value that operations may ask. Must not be here: noticing a fork, which drivers do.

What an operation keeps in memory between its calls, such as a block of numbers, is there twice after a fork. Whoever
keeps such a thing keeps the count beside it, and drops both where the count has risen.
"""

from __future__ import annotations

from typing import Final


class Forks:
    """How many forks lie between the process that loaded this library and the one that asks."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def count_one(self) -> None:
        """This process has just begun, as the copy of another."""
        self.count += 1


FORKS: Final = Forks()
"""Of this process. Raised in the child by the module of the drivers' clocks."""
