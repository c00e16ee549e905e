"""Belongs here: planted bugs of ordered events, appends, queue batches, guards and soft deletes. Must not be here: bugs of the core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from surewrite.core import writes
from surewrite.core.conditions import Change
from surewrite.core.decisions import Guard
from surewrite.core.effects import Steps
from surewrite.core.keys import Key, VersionedKey
from surewrite.core.outcomes import Applied
from surewrite.core.plan_drafts import Draft
from surewrite.core.plans import Plan
from surewrite.core.scopes import Occasion, Options
from surewrite.recipes import ordered_events, queue_batches, soft_deletes
from surewrite.recipes.guards import Guards, Kept
from surewrite.recipes.ordered import Judged, Ordered
from surewrite.recipes.ordered_events import EventOutcome, OrderedEvent, OrderedGroup
from surewrite.recipes.small_lists import SmallList
from surewrite.recipes.soft_deletes import SoftDeletes
from surewrite.testing.planting.bug import PlantedBug, replaced

Plant = AbstractContextManager[None]


def _original(owner: type | ModuleType, name: str) -> Callable[..., Steps[Any]]:
    found: Callable[..., Steps[Any]] = vars(owner)[name]
    return found


# --------------------------------------------------------------------------------------------------------- ordered events


def _equal_orders_are_written_again() -> Plant:
    def event(self: OrderedGroup[Any], order: Any, *changes: Change[Any]) -> OrderedEvent[Any]:
        return OrderedEvent(self.order.set(order), self.order.not_exists_or_le(order), changes)

    return replaced(OrderedGroup, event=event)


def _tie_is_taken_for_a_repeat() -> Plant:
    def same(stored: Any, wanted: Any) -> bool:  # noqa: ARG001
        return True

    return replaced(ordered_events, _same=same)


def _deletion_leaves_nothing() -> Plant:
    def delete(self: Ordered[Any], key: Any, order: Any) -> Steps[Judged[Any]]:  # noqa: ARG001
        outcome = yield from writes.delete(self._scope, key, Options())  # pyright: ignore[reportPrivateUsage]
        return Judged(EventOutcome.APPLIED if isinstance(outcome, Applied) else EventOutcome.SUPERSEDED)

    return replaced(Ordered, _delete=delete)


def _deletion_stops_at_the_first_newer_group() -> Plant:
    def write(self: Ordered[Any], key: Any, events: Any, beside: Any, *, deleted: bool | None) -> Steps[Judged[Any]]:
        if deleted is None:
            return Judged(EventOutcome.SUPERSEDED)
        judged: Judged[Any] = yield from writing(self, key, events, beside, deleted=deleted)
        return judged

    writing = _original(Ordered, "_write")
    return replaced(Ordered, _write=write)


# ---------------------------------------------------------------------------------------------------------------- appends


def _ids_are_looked_for_in_the_last_part() -> Plant:
    def parts(self: SmallList[Any, Any], partition: Any, *, last_only: bool = False) -> Steps[list[Any]]:
        found: list[Any] = yield from reading(self, partition, last_only=last_only)
        return found[-1:]

    reading = _original(SmallList, "_parts")
    return replaced(SmallList, _parts=parts)


def _append_does_not_ask_for_the_seal() -> Plant:
    def make(self: SmallList[Any, Any], table: Any, entity: Any, *arguments: Any, **named: Any) -> None:
        making(self, table, entity, *arguments, **named)
        self._open = entity.part.exists() | entity.part.not_exists()  # pyright: ignore[reportPrivateUsage]

    making: Callable[..., None] = vars(SmallList)["__init__"]
    return replaced(SmallList, __init__=make)


def _failures_are_not_reported() -> Plant:
    def handle(*arguments: Any) -> Steps[dict[str, Any]]:
        yield from handling(*arguments)
        return {"batchItemFailures": []}

    handling = _original(queue_batches, "_handle")
    return replaced(queue_batches, _handle=handle)


# ----------------------------------------------------------------------------------------------------------------- guards


def _guard_is_the_condition_alone() -> Plant:
    """The write that people make by hand: the condition, no version, and a client that sends it again."""

    def write_once(self: Guards[Any], item: Any, guard: Any, changes: Any) -> Steps[Any]:
        key: Key[Any] = self._key_of(item)  # pyright: ignore[reportPrivateUsage]
        target: Any = key.ignore_version() if isinstance(key, VersionedKey) else key
        outcome = yield from writes.update(self._scope, target, changes, Options(condition=guard.condition, in_doubt="resend"))  # pyright: ignore[reportPrivateUsage]
        return Kept(outcome.item) if isinstance(outcome, Applied) else self._stopped(key, guard, outcome)  # pyright: ignore[reportPrivateUsage]

    return replaced(Guards, _write_once=write_once)


# ----------------------------------------------------------------------------------------------------------- soft deletes


def _any_tombstone_is_taken_for_absent() -> Plant:
    """One request that replaces whatever tombstone is stored when it is executed."""

    def plan_over(self: SoftDeletes[Any], tombstone: Any, entity: Any, occasion: Occasion) -> Plan:
        plan: Plan = planning(self, tombstone, entity, occasion)
        draft = Draft(self._scope, occasion, Options(condition=self._deleted_at.exists()), plan.key)  # pyright: ignore[reportPrivateUsage]
        return draft.plan("put", draft.condition, guard=Guard.IDEMPOTENT, stamp=plan.stamp, version=plan.version, stored=plan.stored)

    planning: Callable[..., Plan] = vars(SoftDeletes)["_plan_over"]
    return replaced(SoftDeletes, _plan_over=plan_over)


def _new_life_keeps_the_birth() -> Plant:
    def write_state(draft: Draft, item: Any, version: int | None, stamp: str | None, birth: str | None) -> None:  # noqa: ARG001
        writing(draft, item, version, stamp, "kept")

    writing: Callable[..., None] = vars(soft_deletes)["write_state"]
    return replaced(soft_deletes, write_state=write_state)


BUGS = (
    PlantedBug("an event of an equal order is written again", _equal_orders_are_written_again, ("ordered events",), 50),
    PlantedBug("a tie is taken for a repeat", _tie_is_taken_for_a_repeat, ("ordered events",), 50),
    PlantedBug("a deletion by an event leaves no tombstone", _deletion_leaves_nothing, ("ordered events",), 50),
    PlantedBug("a deletion stops at a group that is newer", _deletion_stops_at_the_first_newer_group, ("ordered events",), 50),
    PlantedBug("ids are looked for in the last part only", _ids_are_looked_for_in_the_last_part, ("lists in parts",), 50),
    PlantedBug("an append does not ask for the seal", _append_does_not_ask_for_the_seal, ("lists in parts",), 800),
    PlantedBug("failed messages are not reported", _failures_are_not_reported, ("appended results",), 50),
    PlantedBug("a guard is the condition alone", _guard_is_the_condition_alone, ("guarded takes", "transitions that come back"), 100),
    PlantedBug("any tombstone is taken for absent", _any_tombstone_is_taken_for_absent, ("soft deletions",), 400),
    PlantedBug("a life over a tombstone keeps the birth", _new_life_keeps_the_birth, ("soft deletions",), 50),
)
