"""Belongs here: where a simulated world takes every decision from: chance by a seed, or what a stored plan says.

Must not be here: what the decisions are about.

Every decision has a label, such as ``("alice", 3, "fate")``, and a value that stands for "nothing special". While chance
decides, whatever differs from that value is kept. The kept decisions alone make the same run again; leaving one out means
that nothing special happens there, so a failing run is made smaller by leaving decisions out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

V = TypeVar("V")

Label = tuple[str, int, str]
"""Whose decision, the number of the point in that client's course, and what it decides."""

Decided = str | float | int


def label_text(label: Label) -> str:
    """The label as it stands in a file: ``alice 3 fate``."""
    return f"{label[0]} {label[1]} {label[2]}"


def label_of(text: str) -> Label:
    """The label that a file's text means. Raises ``ValueError`` for any other text."""
    who, number, what = text.rsplit(" ", 2)
    return who, int(number), what


class Choices:
    """Decisions by a seed, or by what was kept of an earlier run. ``taken`` holds those that differ from their usual value."""

    __slots__ = ("_given", "chance", "taken")

    def __init__(self, seed: int | str, given: Mapping[Label, Decided] | None = None) -> None:
        self.chance = random.Random(seed)
        self._given = given
        self.taken: dict[Label, Decided] = {}

    @property
    def replays(self) -> bool:
        return self._given is not None

    def happens(self, label: Label, rates: Sequence[tuple[str, float]], total: float) -> str:
        """The name of what happens, by its rate out of 1, or ``""`` for nothing. ``total`` is the sum of the rates."""
        if self._given is not None:
            return self._kept_text(label)
        share = self.chance.random()
        if share >= total:
            return ""
        for name, rate in rates:
            share -= rate
            if share < 0.0:
                self.taken[label] = name
                return name
        return ""

    def seconds(self, label: Label, most: float, usual: float) -> float:
        """A time between 0 and ``most``, to a tenth of a millisecond."""
        if self._given is not None:
            found = self._given.get(label)
            if not isinstance(found, (int, float)):
                return usual
            value = float(found)
        else:
            value = round(self.chance.random() * most, 4)
        self.taken[label] = value
        return value

    def scaled_seconds(self, label: Label, scales: Sequence[float], usual: float) -> float:
        """A time up to one of several lengths, each as likely: short ones are met as often as long ones."""
        return self.seconds(label, self.chance.choice(scales) if self._given is None else 0.0, usual)

    def index(self, label: Label, count: int) -> int:
        """A whole number from 0 to ``count - 1``; 0 is the usual one."""
        if self._given is not None:
            found = self._given.get(label, 0)
            value = int(found) if isinstance(found, (int, float)) else 0
            value = min(max(value, 0), count - 1)
        else:
            value = int(self.chance.random() * count)
        if value:
            self.taken[label] = value
        return value

    def one_of(self, label: Label, options: Sequence[V]) -> V:
        """One of the options; the first is the usual one."""
        return options[self.index(label, len(options))]

    def share(self, label: Label) -> float:
        """A number in [0, 1); a half is the usual one."""
        return min(self.seconds(label, 1.0, 0.5), 0.9999)

    def _kept_text(self, label: Label) -> str:
        assert self._given is not None
        found = self._given.get(label, "")
        if not isinstance(found, str):
            return ""
        if found:
            self.taken[label] = found
        return found
