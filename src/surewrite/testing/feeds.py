"""Belongs here: a queue and a stream feed that deliver at least once, late, repeated and out of order, as real ones may.

Must not be here: what is done with a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from surewrite.engine.service import Service
from surewrite.engine.streams import StreamRecord
from surewrite.testing.choices import Choices

REPEAT_SHARE = 0.25
DELIVERIES_MAX = 4
"""How often one message comes at most while there are faults; without, it comes until it is acknowledged."""


class WorldOfFeed(Protocol):
    """What a feed needs of its world."""

    faulty: bool
    choices: Choices


@dataclass(slots=True)
class _Message:
    number: int
    body: Any
    deliveries: int = 0
    acknowledged: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as a consumer gets it. ``number`` names the message, so a repeat is seen."""

    number: int
    body: Any


class MessageQueue:
    """Each message is delivered until it is acknowledged, and now and then once more; any one that waits may come next."""

    def __init__(self, world: WorldOfFeed, name: str) -> None:
        self._world = world
        self._name = name
        self._messages: list[_Message] = []
        self._draws = 0

    def send(self, body: Any) -> int:
        """Put a message in and return its number."""
        number = len(self._messages) + 1
        self._messages.append(_Message(number, body))
        return number

    def receive(self) -> Delivery | None:
        """The next message, or ``None`` where none waits. One that is not acknowledged comes again."""
        waiting = [message for message in self._messages if not message.acknowledged or self._repeats(message)]
        if not waiting:
            return None
        message = waiting[self._draw(len(waiting))]
        message.deliveries += 1
        return Delivery(message.number, message.body)

    def acknowledge(self, delivery: Delivery) -> None:
        """The message need not come again; while there are faults it may all the same."""
        self._messages[delivery.number - 1].acknowledged = True

    def _repeats(self, message: _Message) -> bool:
        return self._world.faulty and message.deliveries < DELIVERIES_MAX and self._draw(int(1 / REPEAT_SHARE)) == 1

    def _draw(self, count: int) -> int:
        self._draws += 1
        return self._world.choices.index((self._name, self._draws, "delivery"), count) if self._world.faulty else 0


class StreamFeed:
    """A table's stream records from a checkpoint on: in commit order, and from an earlier checkpoint again after a failure."""

    def __init__(self, world: WorldOfFeed, service: Service, table: str) -> None:
        self._world = world
        self._service = service
        self._table = table
        self._checkpoint = 0
        self._draws = 0

    def receive(self, most: int = 10) -> list[StreamRecord]:
        """The next records, at most ``most``; while there are faults they may lag behind, or begin before the checkpoint."""
        first = self._checkpoint
        if self._world.faulty:
            first = max(0, first - self._draw(3))
            most = max(0, most - self._draw(most + 1))
        return self._service.stream_records(self._table, first)[:most]

    def checkpoint(self, record: StreamRecord) -> None:
        """Records up to this one need not come again."""
        self._checkpoint = max(self._checkpoint, record.sequence)

    def _draw(self, count: int) -> int:
        self._draws += 1
        return self._world.choices.index((f"stream of {self._table}", self._draws, "delivery"), count)
