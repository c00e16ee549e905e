"""Belongs here: events with an order, the fields that they set, tombstones, and what a stored item says of an event. Must not be here: writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from surewrite.core.conditions import Change, Condition
from surewrite.core.entities import EntityBase
from surewrite.core.expressions import Remove, SetTo, Value
from surewrite.core.keys import Key
from surewrite.core.paths import OrderedPath, Path
from surewrite.core.scopes import Scope
from surewrite.core.values import AttributeValue, Item, compare, equal, type_of
from surewrite.errors import InvalidRequest, UndecodableItem
from surewrite.recipes.settings import time_span

E = TypeVar("E", bound=EntityBase)

HORIZON_SECONDS: Final = 300
"""A request may be executed so long after it was sent: the life of a signature."""


class EventOutcome(Enum):
    """What became of an event. A consumer commits them all, and has ``TIE`` looked at."""

    APPLIED = "applied"
    """The item holds the event."""
    ALREADY_STORED = "already stored"
    """The item holds the same order with the same content: a second delivery, or an own write whose answer was lost."""
    SUPERSEDED = "superseded"
    """Something newer is stored, or the rule for ties kept what is stored. Whether this event was ever stored is not said."""
    TIE = "tie"
    """The item holds the same order with other content: two events were given one order."""


@dataclass(frozen=True, slots=True)
class Tombstones(Generic[E]):
    """How a type is deleted by an event: ``deleted`` is set, and ``expires``, its time to live, removes the item later.

    ``lateness_seconds_most`` is how long after the deletion an older event may still come. The tombstone stays that long
    and five minutes more, the life of a request.
    """

    deleted: Path[E, bool]
    expires: OrderedPath[E, datetime]
    lateness_seconds_most: float

    def __post_init__(self) -> None:
        time_span(self.lateness_seconds_most, "lateness_seconds_most", least=0.0)

    def marks(self, server_seconds: float) -> tuple[Change[E], ...]:
        """The changes that make a tombstone."""
        end = datetime.fromtimestamp(server_seconds, UTC) + timedelta(seconds=self.lateness_seconds_most + HORIZON_SECONDS)
        return (self.deleted.set(value=True), self.expires.set(end))

    def unmarks(self) -> tuple[Change[E], ...]:
        """The changes that make it an item again."""
        return (self.deleted.set(value=False), self.expires.remove())

    def names(self) -> frozenset[str]:
        return frozenset((name_of(self.deleted), name_of(self.expires)))


class OrderedGroup(Generic[E]):
    """Fields that one kind of event sets, all of them each time, and the field that holds the order of such an event.

    An order is a number of the producer or the time of the event. It orders only what one source numbers: times of
    several producers are as good as their clocks, and offsets of Kafka compare within one partition.
    """

    __slots__ = ("fields", "order")

    def __init__(self, order: OrderedPath[E, Any], *fields: Path[E, Any]) -> None:
        self.order = order
        self.fields = fields

    def event(self, order: Any, *changes: Change[E]) -> OrderedEvent[E]:
        """An event of this group. Raises ``InvalidRequest`` unless the changes set or remove every field of the group, and no other, to constants."""
        expected = sorted(name_of(path) for path in self.fields)
        if sorted(str(change.tree.target.parts[0]) for change in changes) != expected:
            raise InvalidRequest(f"an event sets each field of its group once ({', '.join(expected)}): one left out would keep the value of an older event")
        return OrderedEvent(self.order.set(order), self.order.not_exists_or_lt(order), changes)


class OrderedEvent(Generic[E]):
    """What an event says of one group of fields. Make it with ``OrderedGroup.event``; it may be applied any number of times."""

    __slots__ = ("changes", "condition", "order", "order_name", "wanted")

    def __init__(
        self, order: Change[E], condition: Condition[E], changes: Sequence[Change[E]], wanted: Mapping[str, AttributeValue | None] | None = None
    ) -> None:
        value = _constant(order)
        if value is None:
            raise InvalidRequest("an event without an order cannot be put in order")
        self.order = value
        self.order_name = str(order.tree.target.parts[0])
        self.wanted = constants_of(changes) if wanted is None else wanted
        self.changes = (order, *changes)
        self.condition = condition

    def judge(self, scope: Scope, key: Key[E], item: Item) -> EventOutcome | None:
        """What the stored item says of the event; ``None`` if it holds an older order, or none. Raises ``UndecodableItem`` for an order of another type."""
        stored = item.get(self.order_name)
        if stored is None:
            return None
        if type_of(stored) != type_of(self.order):
            message = f"{scope.entity}: the stored order {self.order_name!r} is of type {type_of(stored)}, so no event can ever be newer; nothing was written"
            raise UndecodableItem(message, key=key, entity=scope.schema.entity, field=self.order_name, stored_type=type_of(stored))
        difference = compare(stored, self.order)
        if difference is None or difference < 0:
            return None
        if difference > 0:
            return EventOutcome.SUPERSEDED
        same = all(_same(item.get(name), wanted) for name, wanted in self.wanted.items())
        return EventOutcome.ALREADY_STORED if same else EventOutcome.TIE


def name_of(path: Path[Any, Any]) -> str:
    """The stored name of the field that a path leads to."""
    return str(path.name.parts[0])


def constants_of(changes: Sequence[Change[Any]]) -> dict[str, AttributeValue | None]:
    """What each field holds after the changes, by its stored name. Raises ``InvalidRequest`` for changes that depend on what is stored."""
    return {str(change.tree.target.parts[0]): _constant(change) for change in changes}


def _constant(change: Change[Any]) -> AttributeValue | None:
    """What the field holds after the change; ``None`` for nothing."""
    match change.tree:
        case SetTo(operand=Value(value=value)):
            return None if "NULL" in value else value
        case Remove():
            return None
        case _:
            raise InvalidRequest(f"an event says what a field is then, by set or remove, and {change!r} depends on what is stored")


def _same(stored: AttributeValue | None, wanted: AttributeValue | None) -> bool:
    if stored is None or "NULL" in stored:
        return wanted is None
    return wanted is not None and equal(stored, wanted)
