"""Belongs here: the writes of this process whose outcome was in doubt. Must not be here: reading the clock, deciding an outcome."""

from __future__ import annotations

from collections import OrderedDict

HORIZON_SECONDS = 300.0
"""How long after it was sent a request may still be executed: the life of a signed request.

Source: the service rejects signatures older than five minutes. Endpoints that check no dates have no such bound.
"""

ENTRIES_MAX = 4096
"""Enough for every write that a process can have in doubt at once; the oldest go first."""


class DoubtRegistry:
    """Stamps of writes that were sent and not settled, so that a later refusal by one is told as one's own earlier write.

    Shared by the threads of a process: each method is one or two operations on a dictionary that cannot interleave harmfully.
    """

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()

    def add(self, stamp: str, monotonic_seconds: float) -> None:
        """Remember a stamp until the horizon has passed. ``monotonic_seconds`` is when the write was last sent."""
        self._until[stamp] = monotonic_seconds + HORIZON_SECONDS
        while len(self._until) > ENTRIES_MAX:
            self._until.popitem(last=False)

    def discard(self, stamp: str) -> None:
        """The write was settled after all."""
        self._until.pop(stamp, None)

    def holds(self, stamp: str, monotonic_seconds: float) -> bool:
        """Whether the stamp is that of an own write in doubt."""
        until = self._until.get(stamp)
        return until is not None and monotonic_seconds <= until

    def __len__(self) -> int:
        return len(self._until)
