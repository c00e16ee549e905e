"""Belongs here: planted bugs in what is sent, read and run again: conditions, versions, births, expiry, retries.

Must not be here: bugs in what an answer is taken to mean.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from surewrite.core import plan_drafts, planning, reads, retries, writes
from surewrite.core.decisions import Guard
from surewrite.core.effects import Steps
from surewrite.core.entities import stored_state
from surewrite.core.expressions import Arithmetic, Compare, IfNotExists, SetTo, Value, all_of, any_of, attribute, exists, not_exists
from surewrite.core.outcomes import RefusalReason, Refused
from surewrite.core.plan_drafts import Draft
from surewrite.core.schemas import BoundSchema
from surewrite.errors import OutcomeUnknown
from surewrite.testing.planting.bug import PlantedBug, replaced

Plant = AbstractContextManager[None]


def own_stamp_is_taken_for_a_guard() -> Plant:
    """``stamp <> mine`` beside an addition, which is then sent again freely."""
    by_upsert, by_update = Draft.upsert_plan, Draft.plan_of_stored

    def not_mine(draft: Draft, facts: dict[str, Any]) -> Any:
        stamp = facts.get("stamp")
        if facts.get("guard") is not Guard.NOT_IDEMPOTENT or stamp is None or draft.names.stamp is None:
            return None
        facts["guard"] = Guard.STAMPED
        return Compare("<>", attribute(draft.names.stamp), Value({"S": stamp}))

    def upsert(draft: Draft, condition: Any, changes: Any, **facts: Any) -> Any:
        return by_upsert(draft, all_of(condition, not_mine(draft, facts)), changes, **facts)

    def update(draft: Draft, changes: Any, **facts: Any) -> Any:
        draft.condition = all_of(draft.condition, not_mine(draft, facts))
        return by_update(draft, changes, **facts)

    return replaced(Draft, upsert_plan=upsert, plan_of_stored=update)


def only_the_version_is_checked() -> Plant:
    """The stamp that was loaded is not demanded, so a new life of the same version passes."""

    def version_only(draft: Draft, expected: Any) -> Any:
        return draft.has_version(expected.version) if draft.names.version is not None else None

    return replaced(Draft, unchanged=version_only)


def deletes_check_only_the_version() -> Plant:
    """A delete of a loaded entity demands its version number, which a new life may have too."""
    real: Callable[..., Any] = vars(Draft)["plan_of_loaded"]

    def by_number(draft: Draft, verb: Any, **facts: Any) -> Any:
        expected = facts["expected"]
        if verb != "delete" or draft.names.version is None:
            return real(draft, verb, **facts)
        return draft.plan(verb, all_of(draft.present(), draft.has_version(expected.version), draft.condition), **facts)

    return replaced(Draft, plan_of_loaded=by_number)


def nothing_loaded_is_checked() -> Plant:
    """A save demands nothing of what was loaded."""

    def nothing(draft: Draft, expected: Any) -> Any:  # noqa: ARG001
        return None

    return replaced(Draft, unchanged=nothing)


def conditions_are_lost() -> Plant:
    """What the caller demands is not sent."""

    def lost(scope: Any, condition: Any) -> Any:  # noqa: ARG001
        return None

    return replaced(plan_drafts, tree_of=lost)


def create_has_no_condition() -> Plant:
    """A create puts, whatever is stored."""
    return replaced(Draft, absent=_always)


def update_makes_items() -> Plant:
    """An update does not demand that an item is stored."""
    return replaced(Draft, present=_always)


def _always(draft: Draft) -> Any:
    """True of any item and of none."""
    key = attribute(draft.partition_key())
    return any_of(exists(key), not_exists(key))


def no_expiry_counts_as_expired() -> Plant:
    """Absence written as ``not_exists(ttl) OR ttl < :now``: a permanent item is overwritten."""

    def absent(draft: Draft) -> Any:
        missing = not_exists(attribute(draft.partition_key()))
        expired = draft.expired()
        if expired is None or draft.names.time_to_live is None:
            return missing
        return any_of(missing, not_exists(attribute(draft.names.time_to_live)), expired)

    return replaced(Draft, absent=absent)


def upserts_count_on_in_expired_items() -> Plant:
    """An expired item is changed like any other instead of being replaced."""
    real = plan_drafts.judged_with_expiry

    def lenient(draft: Any, condition: Any, guard: Any, *, start_over: bool = False) -> Any:  # noqa: ARG001
        return real(draft, condition, guard)

    return replaced(planning, judged_with_expiry=lenient)


def expired_items_are_read() -> Plant:
    """Reads hand out what has expired and was not swept yet."""

    def fresh(scope: Any, item: Any, moment: Any) -> bool:  # noqa: ARG001
        return False

    return replaced(reads, _expired=fresh)


def ignore_version_does_not_raise_it() -> Plant:
    """An update that ignores the version leaves it as it is."""

    def same(attribute_name: str) -> Any:
        name = attribute(attribute_name)
        return SetTo(name, Arithmetic("+", IfNotExists(name, Value({"N": "0"})), Value({"N": "0"})))

    return replaced(plan_drafts, raised_version=same)


def every_put_begins_a_life() -> Plant:
    """A put of a loaded entity gives the item a new birth."""
    real = plan_drafts.write_state

    def reborn(draft: Any, item: Any, version: Any, stamp: Any, birth: Any) -> None:  # noqa: ARG001
        real(draft, item, version, stamp, stamp)

    return replaced(planning, write_state=reborn)


def unknown_attributes_are_dropped() -> Plant:
    """A put leaves out the attributes that the entity does not declare."""
    real: Callable[[Any, Any], Any] = vars(BoundSchema)["to_item"]

    def forgetful(schema: Any, entity: Any) -> Any:
        state = stored_state(entity)
        item = real(schema, entity)
        return {name: value for name, value in item.items() if state is None or name not in state.unknown}

    return replaced(BoundSchema, to_item=forgetful)


def reads_are_never_consistent() -> Plant:
    """Reads may see an older state, also of types with a version."""
    real = reads.get_item

    def stale(scope: Any, key: Any, *, consistent: bool | None = None) -> Any:  # noqa: ARG001
        return real(scope, key, consistent=False)

    return replaced(reads, get_item=stale)


def applied_writes_are_run_again() -> Plant:
    """A body is run again on conflict, whatever in it was applied."""

    def again(error: BaseException, number: int, runs: int, on: Any, applied: Any) -> bool:  # noqa: ARG001
        kind = retries.kind_of(error)
        return kind is not None and bool(kind & on) and number < runs

    return replaced(retries, may_run_again=again)


def modify_goes_on_after_unknown() -> Plant:
    """Modify takes an unknown outcome for a conflict, reads again and writes again."""
    real = writes.put

    def hopeful(scope: Any, entity: Any, options: Any) -> Steps[Any]:
        try:
            return (yield from real(scope, entity, options))
        except OutcomeUnknown:
            found = yield from reads.get(scope, scope.schema.entity.key_of(entity.id), consistent=True)
            return Refused(reason=RefusalReason.VERSION_CONFLICT, entity=scope.entity, item=found)

    return replaced(retries, put=hopeful)


BUGS = (
    PlantedBug("stamp <> mine is taken for a guard", own_stamp_is_taken_for_a_guard, ("counts", "stock"), 1000),
    PlantedBug("only the version number is checked", only_the_version_is_checked, ("deleted and made again",), 2000),
    PlantedBug("a delete checks the version number only", deletes_check_only_the_version, ("deleted and made again",), 2000),
    PlantedBug("nothing that was loaded is checked", nothing_loaded_is_checked, ("saves",), 200),
    PlantedBug("conditions of the caller are lost", conditions_are_lost, ("newest wins", "stock"), 200),
    PlantedBug("create has no condition", create_has_no_condition, ("saves", "registers"), 200),
    PlantedBug("update makes items", update_makes_items, ("registers", "deleted and made again"), 400),
    PlantedBug("an item without expiry counts as expired", no_expiry_counts_as_expired, ("sessions",), 1000),
    PlantedBug("upserts count on in expired items", upserts_count_on_in_expired_items, ("sessions",), 2000),
    PlantedBug("expired items are read", expired_items_are_read, ("sessions",), 1000),
    PlantedBug("ignore_version does not raise the version", ignore_version_does_not_raise_it, ("updates by version", "transfers"), 200),
    PlantedBug("every put begins a life", every_put_begins_a_life, ("saves",), 400),
    PlantedBug("unknown attributes are dropped", unknown_attributes_are_dropped, ("modifies", "foreign writers"), 200),
    PlantedBug("reads are never consistent", reads_are_never_consistent, ("saves", "registers"), 2000),
    PlantedBug("a body is run again after a write in it was applied", applied_writes_are_run_again, ("bodies of two writes",), 1000),
    PlantedBug("modify goes on after unknown", modify_goes_on_after_unknown, ("modifies",), 3000),
)
