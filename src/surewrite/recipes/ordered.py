"""Belongs here: apply if newer: events that come late, twice or out of order end in the newest state. Must not be here: clocks, queues, who numbers events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from surewrite.core import writes
from surewrite.core.conditions import Change
from surewrite.core.effects import Operation, Steps, call_user
from surewrite.core.entities import EntityBase, stored_state
from surewrite.core.fields import FieldInfo
from surewrite.core.keys import Key, Target
from surewrite.core.outcomes import Applied, RefusalReason, Refused
from surewrite.core.paths import OrderedPath, Path
from surewrite.core.plans import expired_before
from surewrite.core.reads import get_item
from surewrite.core.scopes import Occasion, Options, ScopedTable
from surewrite.core.service_time import told_moment
from surewrite.core.values import AttributeValue, Item
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError, Throttled
from surewrite.recipes.ordered_events import EventOutcome, OrderedEvent, OrderedGroup, Tombstones, constants_of, name_of

E = TypeVar("E", bound=EntityBase)

ROUNDS_MAX: Final = 8
"""A refusal that no order explains means that the item changed in between: the event is judged again, so many times."""


@dataclass(frozen=True, slots=True)
class Judged(Generic[E]):
    """The outcome of an event, and the item as the event left it or as it refused the event.

    ``item`` is ``None`` where only an expired or unreadable one is stored.
    """

    outcome: EventOutcome
    item: E | None = None


TieRule = Literal["report", "keep"] | Callable[[E, E], Any]
"""What to do about equal orders with other content: tell ``TIE``, keep what is stored, or choose.

A function gets the stored entity and the same with the event in it, and returns the one to store, or a third one. It has to
choose alike whichever of the two came first, or the end depends on the order of delivery.
"""


class _Judge(Generic[E]):
    """What the two forms share: sending an event, and judging the item that refused it."""

    def __init__(self, table: ScopedTable, entity: type[E], tie: TieRule[E], tombstones: Tombstones[E] | None) -> None:
        self._scope = table.scope_of(entity)
        self._fields = {field.stored_name: field for field in self._scope.schema.fields}
        self._tie = tie
        self._tombstones = tombstones
        if callable(tie) and self._scope.names.stamp is None:
            raise InvalidRequest(
                f"{self._scope.entity}: a tie that a function settles is written by compare and set, and this table has its stamps switched off"
            )
        ttl = self._scope.schema.time_to_live
        if tombstones is not None and (ttl is None or ttl.stored_name != name_of(tombstones.expires)):
            raise InvalidRequest(f"{self._scope.entity}: tombstones expire by the time to live of the type: declare the field by sw.time_to_live()")

    def _until_judged(
        self,
        key: Key[E],
        write: Callable[[], Steps[Applied[Any] | Refused[Any]]],
        judge: Callable[[Item], EventOutcome | None],
        propose: Callable[[E], E],
    ) -> Steps[Judged[E]]:
        """Write, and judge the event by the item that refused it: orders only rise, so what it shows stays true."""
        for _ in range(ROUNDS_MAX):
            outcome = yield from _tried(write)
            if isinstance(outcome, Applied):
                return Judged(EventOutcome.APPLIED, outcome.item)
            if isinstance(outcome, Refused) and outcome.reason is RefusalReason.WRONG_ENTITY_TYPE:
                raise outcome.error()
            entity: E | None = outcome.item
            found = None if entity is None else judge(self._scope.schema.to_item(entity))
            if entity is None or (found is None and isinstance(outcome, Refused)):
                # Not shown, or refused by an order that no entity shows: NULL, which reads as none.
                item, entity = yield from self._stored(key, outcome)
                found = None if item is None else judge(item)
            if found is EventOutcome.TIE:
                judged = yield from self._settle_tie(entity, propose)
                if judged is not None:
                    return judged
            elif found is not None:
                return Judged(found, entity)
            elif isinstance(outcome, OutcomeUnknown):
                raise outcome
        raise Throttled(f"{self._scope.entity}: the item changed in each of {ROUNDS_MAX} tries to judge the event; it was not applied", key=key)

    def _stored(self, key: Key[E], outcome: Refused[Any] | OutcomeUnknown) -> Steps[tuple[Item | None, E | None]]:
        """The item as it is stored, and the entity that it is unless it has expired. Where it cannot be read a doubt stays what is told."""
        try:
            item, moment = yield from get_item(self._scope, key, consistent=True)
        except SurewriteError as error:
            if isinstance(outcome, OutcomeUnknown):
                raise outcome from error
            raise
        if item is None or expired_before(item, self._scope.names.time_to_live, Occasion(moment, "").seconds):
            return item, None
        try:
            return item, self._scope.schema.from_item(item)
        except SurewriteError:
            # What the order says of the event does not need the rest of the item.
            return item, None

    def _settle_tie(self, stored: E | None, propose: Callable[[E], E]) -> Steps[Judged[E] | None]:
        """The outcome by the rule; ``None`` if the item changed while the function's choice was written."""
        rule = self._tie
        if rule == "report":
            return Judged(EventOutcome.TIE, stored)
        if isinstance(rule, str) or stored is None:
            return Judged(EventOutcome.SUPERSEDED, stored)
        schema = self._scope.schema
        chosen = yield from call_user(rule, stored, propose(stored))
        if not isinstance(chosen, schema.entity) or schema.key_of_entity(chosen) != schema.key_of_entity(stored):
            raise InvalidRequest(f"{self._scope.entity}: the rule for ties returns the {self._scope.entity} to store, under the same key")
        winner = _with_values_of(stored, chosen, schema.fields)
        if schema.to_item(winner) == schema.to_item(stored):
            return Judged(EventOutcome.SUPERSEDED, stored)
        outcome = yield from writes.put(self._scope, winner, Options(if_unchanged=True))
        return Judged(EventOutcome.APPLIED, outcome.item) if isinstance(outcome, Applied) else None

    def _with_constants(self, stored: E, values: Mapping[str, AttributeValue | None]) -> E:
        """The stored entity as it is once its fields hold these values, by their stored names."""
        fields = {self._fields[name]: value for name, value in values.items()}
        return stored.replace(**{field.name: field.when_absent() if value is None else field.codec.decode(value) for field, value in fields.items()})

    def _marks(self, key: Target[E]) -> Steps[tuple[Change[E], ...]]:
        if self._tombstones is None:
            raise InvalidRequest(f"{self._scope.entity}: a delete would let a late event bring the item back: say how it is kept, by tombstones=")
        moment = yield from told_moment(self._scope, self._scope.schema.key_item(key), "delete")
        return self._tombstones.marks(moment.server)


class Ordered(_Judge[E]):
    """Applies events to groups of fields of an item, each with an order of its own: a late score never undoes a newer status.

    Contract: while the item or its tombstone is stored no group moves back, and late, repeated and reordered events end
    in the newest state (schedules of C3). A hard delete, or the end of a tombstone, forgets the orders.

    ``tie`` says what to do about equal orders with other content. ``tombstones`` allows ``delete``; its groups are then all
    groups of the item. The item stays judged by its orders after it has expired, until it is swept.

    Cost: one write unit per started KB of the item for each event, refused ones too. Limits: one writer's speed on one item,
    about 1000 writes a second. Raises ``OutcomeUnknown`` where nothing shows what became of the event: deliver it again.
    """

    def __init__(
        self, table: ScopedTable, entity: type[E], *groups: OrderedGroup[E], tie: TieRule[E] = "report", tombstones: Tombstones[E] | None = None
    ) -> None:
        super().__init__(table, entity, tie, tombstones)
        self._groups = groups
        if tombstones is not None and not groups:
            raise InvalidRequest(f"{self._scope.entity}: a deletion ends every group of fields: name all groups")

    def apply(self, key: Target[E], event: OrderedEvent[E]) -> Operation[Judged[E]]:
        """Apply an event of one group, if it is newer than what the group holds. Makes the item where none is stored."""
        return Operation(lambda: self._apply(key, (event,)))

    def apply_each(self, key: Target[E], *events: OrderedEvent[E]) -> Operation[tuple[Judged[E], ...]]:
        """An event that changes several groups, as one write a group: each group takes it or not by its own order.

        Readers may see one group changed before the other, and a crash in between leaves the rest to the next delivery.
        """
        return Operation(lambda: self._apply_each(key, events))

    def apply_joined(self, key: Target[E], *events: OrderedEvent[E]) -> Operation[Judged[E]]:
        """An event that changes several groups, as one write with all their conditions: a newer order of one group keeps it from all.

        Where one group holds this very event and another an older one, the outcome is ``TIE``: it was stored in part.
        """
        return Operation(lambda: self._apply(key, events))

    def delete(self, key: Target[E], order: Any) -> Operation[Judged[E]]:
        """Delete by an event: the item stays as a tombstone, all fields of its groups cleared, until no older event can come.

        Where a group holds something newer the item lives on (``SUPERSEDED``), and its older groups are cleared, one write
        each. A newer event makes a tombstone an item again. Raises ``InvalidRequest`` for fields that cannot be cleared.
        """
        return Operation(lambda: self._delete(key, order))

    def _apply_each(self, key: Target[E], events: Sequence[OrderedEvent[E]]) -> Steps[tuple[Judged[E], ...]]:
        found: tuple[Judged[E], ...] = ()
        for event in events:
            found += ((yield from self._apply(key, (event,))),)
        return found

    def _apply(self, key: Target[E], events: Sequence[OrderedEvent[E]]) -> Steps[Judged[E]]:
        beside = self._tombstones.unmarks() if self._tombstones is not None else ()
        return (yield from self._write(key, events, beside, deleted=False))

    def _delete(self, key: Target[E], order: Any) -> Steps[Judged[E]]:
        marks = yield from self._marks(key)
        cleared = tuple(group.event(order, *(self._clear(path) for path in group.fields)) for group in self._groups)
        judged = yield from self._write(key, cleared, marks, deleted=True)
        if judged.outcome is not EventOutcome.SUPERSEDED or len(cleared) == 1:
            return judged
        for event in cleared:
            yield from self._write(key, (event,), (), deleted=None)
        return judged

    def _write(self, key: Target[E], events: Sequence[OrderedEvent[E]], beside: Sequence[Change[E]], *, deleted: bool | None) -> Steps[Judged[E]]:
        if not events:
            raise InvalidRequest(f"{self._scope.entity}: no event was given")
        condition = events[0].condition
        for event in events[1:]:
            condition &= event.condition
        changes = [change for event in events for change in event.changes] + list(beside)
        options = Options(condition=condition)
        return (
            yield from self._until_judged(
                key,
                lambda: writes.upsert(self._scope, key, changes, options),
                lambda item: self._judge_all(events, key, item, deleted=deleted),
                lambda stored: self._with_events(stored, events, beside),
            )
        )

    def _judge_all(self, events: Sequence[OrderedEvent[E]], key: Key[E], item: Item, *, deleted: bool | None) -> EventOutcome | None:
        found = [event.judge(self._scope, key, item) for event in events]
        if EventOutcome.SUPERSEDED in found:
            return EventOutcome.SUPERSEDED
        if all(outcome is None for outcome in found):
            return None
        if set(found) != {EventOutcome.ALREADY_STORED}:
            return EventOutcome.TIE
        if self._tombstones is None or deleted is None:
            return EventOutcome.ALREADY_STORED
        stored = item.get(name_of(self._tombstones.deleted), {}).get("BOOL", False)
        return EventOutcome.ALREADY_STORED if stored is deleted else EventOutcome.TIE

    def _with_events(self, stored: E, events: Sequence[OrderedEvent[E]], beside: Sequence[Change[E]]) -> E:
        """With the orders too: of joined events one may tie while the group of another holds an older order."""
        values: dict[str, AttributeValue | None] = {}
        for event in events:
            values |= {event.order_name: event.order, **event.wanted}
        return self._with_constants(stored, values | constants_of(beside))

    def _clear(self, path: Path[E, Any]) -> Change[E]:
        field = self._fields[name_of(path)]
        if not path.required and (field.optional or field.is_set):
            return path.remove()
        if field.has_default:
            return path.set(field.make_default())
        raise InvalidRequest(f"{self._scope.entity}.{field.name} cannot be cleared by a deletion: give it a default or make its type `... | None`")


class OrderedState(_Judge[E]):
    """Stores events that carry the whole state of an item, each replacing the one before if it is newer.

    ``order`` is the field that holds the order. The contract, cost and limits are those of ``Ordered`` with one group.
    Attributes that the type does not declare do not survive a newer state. Takes types without a version: the order is one.
    """

    def __init__(
        self, table: ScopedTable, entity: type[E], order: OrderedPath[E, Any], *, tie: TieRule[E] = "report", tombstones: Tombstones[E] | None = None
    ) -> None:
        super().__init__(table, entity, tie, tombstones)
        schema = self._scope.schema
        if schema.version is not None:
            raise InvalidRequest(f"{self._scope.entity}: a put of a whole state replaces any version; use a type without one, or Ordered")
        self._order = order
        self._field = next(field for field in schema.fields if field.stored_name == name_of(order))
        self._compared = tuple(field.stored_name for field in schema.fields if field.role == "plain" and field.stored_name != self._field.stored_name)

    def put(self, state: E) -> Operation[Judged[E]]:
        """Store a state, if it is newer than the stored one or none is stored."""
        return Operation(lambda: self._put(state))

    def delete(self, key: Target[E], order: Any) -> Operation[Judged[E]]:
        """Delete by an event: the item stays as a tombstone until no older event can come. A newer state replaces it.

        Fields without a default need an item that is stored: a tombstone is a whole item. Its other fields stay as they are.
        """
        return Operation(lambda: self._delete(key, order))

    def _put(self, state: E) -> Steps[Judged[E]]:
        schema = self._scope.schema
        value = getattr(state, self._field.name, None)
        if not isinstance(state, schema.entity) or value is None:
            raise InvalidRequest(f"{self._scope.entity}: a state is an entity of this type that has its order, {self._field.name}")
        item = schema.to_item(state)
        condition = self._order.not_exists_or_lt(value)
        event = OrderedEvent(self._order.set(value), condition, (), {name: item.get(name) for name in self._compared})
        key = schema.entity.key_of(state)
        options = Options(condition=condition)
        return (
            yield from self._until_judged(
                key,
                lambda: writes.put(self._scope, state, options),
                lambda found: event.judge(self._scope, key, found),
                lambda stored: _with_values_of(stored, state, schema.fields),
            )
        )

    def _delete(self, key: Target[E], order: Any) -> Steps[Judged[E]]:
        marks = yield from self._marks(key)
        assert self._tombstones is not None
        wanted: Item = {name_of(self._tombstones.deleted): {"BOOL": True}}
        event = OrderedEvent(self._order.set(order), self._order.not_exists_or_lt(order), (), wanted)
        return (
            yield from self._until_judged(
                key,
                lambda: writes.upsert(self._scope, key, (*event.changes, *marks), Options(condition=event.condition)),
                lambda found: event.judge(self._scope, key, found),
                lambda stored: self._with_constants(stored, constants_of(marks)),
            )
        )


def _tried(write: Callable[[], Steps[Applied[Any] | Refused[Any]]]) -> Steps[Applied[Any] | Refused[Any] | OutcomeUnknown]:
    """Write; an unknown outcome is judged by the item it shows, before it is raised."""
    try:
        return (yield from write())
    except OutcomeUnknown as unknown:
        return unknown


def _with_values_of(stored: E, other: E, fields: Sequence[FieldInfo]) -> E:
    """The stored entity with the field values of another one, still known as what is stored."""
    values = {field.name: other.__dict__[field.name] for field in fields if field.role != "version"}
    changed: E = stored.replace(**values)
    assert stored_state(changed) is not None
    return changed
