"""Belongs here: from an intent (create, put, save, update, upsert, delete, check) to a plan. Must not be here: effects, outcomes, what an answer means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surewrite.core.conditions import Change, Condition
from surewrite.core.decisions import Guard
from surewrite.core.entities import stored_state
from surewrite.core.expressions import ChangeTree, all_of, attribute, exists
from surewrite.core.fresh import fresh_item
from surewrite.core.guards import guard_of_put, guard_of_update
from surewrite.core.index_upkeep import index_changes_of_update, index_changes_of_upsert, values_at_rest
from surewrite.core.keys import Key, Target, is_key, is_target
from surewrite.core.plan_drafts import (
    Draft,
    change_tree,
    checked_size,
    judged_with_expiry,
    raised_version,
    require_one_change_each,
    version_is,
    write_state,
)
from surewrite.core.plans import Expected, InDoubt, Plan, VersionDemand
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.upserts import adapt_for_upsert, initial_changes
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest

OVER_EXPIRED_ATTEMPTS_MAX = 8
"""An upsert meets an expired item, and the sweep or another writer comes before its replacement: each round is a fresh decision."""


def plan_create(scope: Scope, entity: Any, occasion: Occasion, options: Options) -> Plan:
    """Store a new item where none is, or only an expired one."""
    draft = Draft(scope, occasion, options, scope.schema.key_of_entity(entity))
    return _plan_new(draft, entity)


def plan_put(scope: Scope, entity: Any, occasion: Occasion, options: Options) -> Plan:
    """Store an entity whole.

    A versioned entity that was loaded demands its version and stamp; a new one is a create. Without a version the put is
    unconditional, or demands the loaded stamp with ``if_unchanged``.
    """
    draft = Draft(scope, occasion, options, scope.schema.key_of_entity(entity))
    stored = stored_state(entity)
    if stored is not None and stored.partial:
        raise InvalidRequest(f"{scope.entity}: the entity was read in part, and a put would drop what was not read; get it whole first", key=draft.named_key)
    if scope.schema.version is not None:
        return _plan_new(draft, entity) if stored is None else _plan_save(draft, entity)
    if options.if_unchanged:
        _require_loaded_stamp(draft, entity)
        return _plan_save(draft, entity)
    item = scope.schema.to_item(entity, draft.key)
    stamp = draft.stamp(None)
    write_state(draft, item, None, stamp, (stored.birth if stored is not None else None) or stamp)
    guard = guard_of_put(draft.condition, item)
    condition = judged_with_expiry(draft, draft.condition, guard.guard)
    return draft.plan("put", condition, guard=guard.guard, mark=guard.mark, stamp=stamp, stored=checked_size(scope, item))


def plan_update(scope: Scope, target: Any, changes: Sequence[Change[Any]], occasion: Occasion, options: Options) -> Plan:
    """Change an item that is stored. Never makes one."""
    draft, trees = _draft_of_change(scope, target, changes, occasion, options)
    names = draft.names
    expected = None if is_target(target) else _expected_of(draft, target)
    trees += index_changes_of_update(scope.schema, trees, values_at_rest(scope.schema, target, loaded=expected is not None))
    if expected is not None:
        version = None if names.version is None else (expected.version or 0) + 1
        stamp = draft.stamp(version)
        return draft.plan_of_stored(trees, of_type=False, guard=_stamped(expected), stamp=stamp, version=version, expected=expected)
    demand = _demand_of(target) if names.version is not None else None
    if demand is not None:
        version = (demand.version or 0) + 1
        return draft.plan_of_stored(trees, of_type=True, guard=Guard.VERSION, stamp=draft.stamp(version), version=version, version_demand=demand)
    raised = () if names.version is None else (raised_version(names.version),)
    guard = guard_of_update(draft.condition, (*trees, *raised))
    return draft.plan_of_stored(trees, of_type=is_target(target), guard=guard.guard, mark=guard.mark, stamp=draft.stamp(None))


def plan_upsert(scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], occasion: Occasion, options: Options) -> Plan:
    """Change an item, or make a whole one. An expired item refuses it: then ``plan_upsert_over_expired`` replaces that one."""
    if not isinstance(target, Key):  # pyright: ignore[reportUnnecessaryIsInstance] - what the checker knows is not what every caller has checked
        raise InvalidRequest(f"{scope.entity}: upsert takes a key, not {type(target).__name__}; what is stored already can be updated or put")
    draft, own = _draft_of_change(scope, target, changes, occasion, options)
    trees = _upsert_changes(draft, target, changes, own)
    names = draft.names
    guard = guard_of_update(draft.condition, own)
    condition = all_of(draft.of_this_type(), judged_with_expiry(draft, draft.condition, guard.guard, start_over=True))
    demand = _demand_of(target) if names.version is not None else None
    if demand is not None:
        version = (demand.version or 0) + 1
        condition = all_of(condition, draft.has_version(demand.version))
        return draft.upsert_plan(condition, trees, guard=Guard.VERSION, stamp=draft.stamp(version), version=version, version_demand=demand)
    if names.version is not None:
        guard = guard_of_update(draft.condition, (*own, raised_version(names.version)))
    return draft.upsert_plan(condition, trees, guard=guard.guard, mark=guard.mark, stamp=draft.stamp(None))


def plan_delete(scope: Scope, target: Any, occasion: Occasion, options: Options) -> Plan:
    """Remove an item that is stored."""
    draft = Draft(scope, occasion, options, _key_of_target(scope, target))
    if not is_target(target):
        expected = _expected_of(draft, target)
        if expected is not None:
            guard = Guard.STAMPED_DELETE if _stamped(expected) is Guard.STAMPED else Guard.VERSION_DELETE
            return draft.plan_of_loaded("delete", guard=guard, stamp=None, expected=expected)
    common = all_of(draft.present(), draft.of_this_type())
    demand = _demand_of(target) if draft.names.version is not None else None
    if demand is None:
        return draft.plan("delete", all_of(common, draft.condition), guard=Guard.IDEMPOTENT_DELETE, stamp=None)
    condition = all_of(common, draft.has_version(demand.version), draft.condition)
    return draft.plan("delete", condition, guard=Guard.VERSION_DELETE, stamp=None, version_demand=demand)


def plan_check(scope: Scope, key: Key[Any], occasion: Occasion, options: Options) -> Plan:
    """Demand a condition of an item that a transaction does not write."""
    draft = Draft(scope, occasion, options, scope.schema.key_item(key))
    judged = judged_with_expiry(draft, draft.condition, Guard.TOKEN)
    return draft.plan("check", judged, guard=Guard.TOKEN, stamp=None)


def options_of_check(scope: Scope, key: Key[Any], condition: Condition[Any]) -> Options:
    """The caller's condition of a check and the version that the key demands; the two stay together where the check becomes part of a write."""
    demand = _demand_of(key) if is_target(key) and scope.names.version is not None else None
    if demand is None or not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance] - planning says what to write instead
        return Options(condition=condition)
    assert scope.names.version is not None
    return Options(condition=condition & Condition(scope.schema.entity, version_is(scope.names.version, demand.version)), version_demand=demand)


def plan_upsert_over_expired(
    scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], expired: Expected, occasion: Occasion, *, in_doubt: InDoubt | None = None
) -> Plan:
    """Replace exactly the expired item that refused an upsert by a whole new one, made as if none were stored."""
    draft, own = _draft_of_change(scope, target, changes, occasion, Options(in_doubt=in_doubt))
    item = fresh_item(draft.key, _upsert_changes(draft, target, changes, own))
    version = 1 if draft.names.version is not None else None
    stamp = draft.stamp(version)
    write_state(draft, item, version, stamp, stamp)
    unchanged = draft.unchanged(expired)
    demanded = all_of(exists(attribute(draft.partition_key())), draft.expired(), unchanged)
    guard = Guard.IDEMPOTENT if unchanged is None else _stamped(expired)
    return draft.plan("put", demanded, guard=guard, stamp=stamp, version=version, expected=expired, stored=checked_size(scope, item))


def _plan_new(draft: Draft, entity: Any) -> Plan:
    item, version, stamp = _new_item(draft, entity)
    condition = all_of(draft.absent(), draft.condition)
    return draft.plan("create", condition, guard=Guard.IDEMPOTENT, stamp=stamp, version=version, stored=item)


def _new_item(draft: Draft, entity: Any) -> tuple[Item, int | None, str | None]:
    item = draft.schema.to_item(entity, draft.key)
    version = 1 if draft.names.version is not None else None
    stamp = draft.stamp(version)
    write_state(draft, item, version, stamp, stamp)
    return checked_size(draft.scope, item), version, stamp


def _plan_save(draft: Draft, entity: Any) -> Plan:
    """A put of a loaded entity over exactly the state that was loaded."""
    expected = _expected_of(draft, entity)
    assert expected is not None
    version = None if draft.names.version is None else (expected.version or 0) + 1
    stamp = draft.stamp(version)
    item = draft.schema.to_item(entity, draft.key)
    write_state(draft, item, version, stamp, expected.birth or stamp)
    return draft.plan_of_loaded("put", guard=_stamped(expected), stamp=stamp, version=version, expected=expected, stored=checked_size(draft.scope, item))


def _stamped(expected: Expected) -> Guard:
    """Without a stamp the version number alone is checked, and that does not see a delete and recreate."""
    return Guard.STAMPED if expected.stamp is not None else Guard.VERSION


def _expected_of(draft: Draft, entity: Any) -> Expected | None:
    """The loaded state that a write of this entity demands; ``None`` where the entity means its key only."""
    scope = draft.scope
    if not isinstance(entity, scope.schema.entity):
        raise InvalidRequest(f"{scope.entity}: expected an entity or a key of this type, not {type(entity).__name__}")
    stored = stored_state(entity)
    if draft.names.version is None and not draft.options.if_unchanged:
        return None
    if stored is None:
        raise InvalidRequest(
            f"{scope.entity}: this entity was never stored, so there is no version to check; create it, or use the entity that create or get returned",
            key=draft.named_key,
        )
    if draft.names.version is None:
        _require_loaded_stamp(draft, entity)
    if stored.partial and ((draft.names.stamp is not None and stored.stamp is None) or (draft.names.version is not None and stored.version is None)):
        raise InvalidRequest(
            f"{scope.entity}: this entity was read in part, without the version or stamp that the write would check; get it whole first", key=draft.named_key
        )
    return Expected(stored.version, stored.stamp if draft.names.stamp is not None else None, stored.birth if draft.names.birth is not None else None)


def _require_loaded_stamp(draft: Draft, entity: Any) -> None:
    if draft.names.stamp is None:
        raise InvalidRequest(
            f"{draft.scope.entity}: if_unchanged compares stamps, and this table has them switched off; give the type a version", key=draft.named_key
        )
    if stored_state(entity) is None:
        raise InvalidRequest(f"{draft.scope.entity}: if_unchanged needs an entity that was read or written before; get it first", key=draft.named_key)


def _key_of_target(scope: Scope, target: Any) -> Item:
    """The key attributes of an entity, or of a key that says all that a write needs to know of the version."""
    if not is_key(target):
        return scope.schema.key_of_entity(target)
    if not is_target(target):
        raise InvalidRequest(f"{scope.entity} has a version: say key.if_version(n) to check it, or key.ignore_version() to write whatever it is", key=target)
    return scope.schema.key_item(target)


def _demand_of(target: Target[Any]) -> VersionDemand | None:
    """What a key of a versioned type says of the version; ``None`` for ``ignore_version``."""
    demand = target.demand
    assert demand is not None
    return VersionDemand(demand.version) if demand.checked else None


def _draft_of_change(scope: Scope, target: Any, changes: Sequence[Change[Any]], occasion: Occasion, options: Options) -> tuple[Draft, tuple[ChangeTree, ...]]:
    key = _key_of_target(scope, target)
    if not changes:
        raise InvalidRequest(f"{scope.entity}: no change was given; say for instance {scope.entity}.field.set(value)", key=scope.schema.key_from(key))
    draft = Draft(scope, occasion, options, key)
    trees = tuple(change_tree(scope, change) for change in changes)
    require_one_change_each(draft, trees)
    return draft, trees


def _upsert_changes(draft: Draft, target: Target[Any], changes: Sequence[Change[Any]], own: tuple[ChangeTree, ...]) -> tuple[ChangeTree, ...]:
    touched = {str(tree.target.parts[0]) for tree in own}
    initial = initial_changes(draft.schema, target, touched)
    kept = index_changes_of_upsert(draft.schema, own, dict(target.values))
    return tuple(adapt_for_upsert(draft.schema, change) for change in changes) + initial + kept
