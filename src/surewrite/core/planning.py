"""Belongs here: from an intent (create, put, save, update, upsert, delete, check) to a plan. Must not be here: effects, outcomes, what an answer means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

from surewrite.core import limits
from surewrite.core.decisions import Guard
from surewrite.core.effects import Moment
from surewrite.core.entities import BoundSchema, stored_state
from surewrite.core.environment import Environment
from surewrite.core.expressions import (
    Arithmetic,
    ChangeTree,
    Compare,
    ConditionTree,
    Function,
    IfNotExists,
    Rendering,
    SetTo,
    Value,
    all_of,
    any_of,
    attribute,
    equals,
    exists,
    holds_on_absent,
    not_exists,
)
from surewrite.core.fresh import fresh_item
from surewrite.core.guards import StructuralGuard, guard_of_put, guard_of_update
from surewrite.core.keys import Key, Target
from surewrite.core.conditions import Change, Condition
from surewrite.core.plans import Expected, InDoubt, Names, Plan, Returning, Verb, VersionDemand
from surewrite.core.values import Item, item_size, value_size
from surewrite.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Scope:
    """One entity type in one table of one database: what every plan of it needs."""

    environment: Environment
    table: str
    schema: BoundSchema[Any]

    @property
    def entity(self) -> str:
        return self.schema.entity.__name__

    def names(self) -> Names:
        schema, layout = self.schema, self.schema.layout
        return Names(
            stamp=layout.stamp,
            birth=layout.birth,
            version=schema.version.stored_name if schema.version else None,
            discriminator=layout.discriminator if schema.discriminator_value is not None else None,
            time_to_live=schema.time_to_live.stored_name if schema.time_to_live else None,
        )


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a plan is made of besides the intent: one reading of the clock and one new id."""

    moment: Moment
    unique: str

    @property
    def seconds(self) -> int:
        """Whole seconds since 1970, cut down: a time to live counts as expired only when it certainly is."""
        return floor(self.moment.server)


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller said beside the intent."""

    condition: Condition[Any] | None = None
    if_unchanged: bool = False
    in_doubt: InDoubt | None = None
    returning: Returning = "new"


class _Draft:
    """The parts of a plan while it is made. Lives for one call of a function of this module."""

    def __init__(self, scope: Scope, occasion: Occasion, options: Options, key: Item) -> None:
        self.scope = scope
        self.schema = scope.schema
        self.names = scope.names()
        self.occasion = occasion
        self.options = options
        self.key = key
        self.condition = _tree_of(scope, options.condition)
        self.expiry = occasion.seconds if self.names.time_to_live is not None else None

    def stamp(self, version: int | None) -> str | None:
        if self.names.stamp is None:
            return None
        return f"{'-' if version is None else version}:{self.occasion.unique}"

    def partition_key(self) -> str:
        return self.schema.key_names[0]

    def present(self) -> ConditionTree:
        """An item is stored and has not expired."""
        found = all_of(exists(attribute(self.partition_key())), self.not_expired())
        assert found is not None
        return found

    def not_expired(self) -> ConditionTree | None:
        if self.names.time_to_live is None:
            return None
        ttl = attribute(self.names.time_to_live)
        return any_of(not_exists(ttl), Compare(">=", ttl, Value({"N": str(self.occasion.seconds)})))

    def expired(self) -> ConditionTree | None:
        if self.names.time_to_live is None:
            return None
        return Compare("<", attribute(self.names.time_to_live), Value({"N": str(self.occasion.seconds)}))

    def absent(self) -> ConditionTree:
        """No item is stored, or only an expired one. Never "no time to live": that would take a permanent item for absent."""
        missing = not_exists(attribute(self.partition_key()))
        expired = self.expired()
        return missing if expired is None else any_of(missing, expired)

    def of_this_type(self) -> ConditionTree | None:
        """The item carries this type's discriminator, or none, as items that other programs made."""
        if self.names.discriminator is None or self.schema.discriminator_value is None:
            return None
        name = attribute(self.names.discriminator)
        return any_of(not_exists(name), equals(name, {"S": self.schema.discriminator_value}))

    def has_version(self, version: int | None) -> ConditionTree:
        assert self.names.version is not None
        name = attribute(self.names.version)
        if version is None:
            return any_of(not_exists(name), Function("attribute_type", (name, Value({"S": "NULL"}))))
        return equals(name, {"N": str(version)})

    def has_stamp(self, stamp: str | None) -> ConditionTree | None:
        if self.names.stamp is None:
            return None
        name = attribute(self.names.stamp)
        return not_exists(name) if stamp is None else equals(name, {"S": stamp})

    def plan(self, verb: Verb, condition: ConditionTree | None, **facts: Any) -> Plan:
        """The plan of a put, delete or check; ``facts`` are fields of ``Plan``."""
        rendering = Rendering()
        text = rendering.condition(condition) if condition is not None else None
        stored: Item | None = facts.get("stored")
        body: dict[str, Any] = {"TableName": self.scope.table} | ({"Item": stored} if stored is not None else {"Key": self.key})
        return self._finish(verb, body, rendering, text, condition, facts)

    def update_plan(self, verb: Verb, condition: ConditionTree | None, changes: Sequence[ChangeTree], **facts: Any) -> Plan:
        rendering = Rendering()
        body: dict[str, Any] = {"TableName": self.scope.table, "Key": self.key, "UpdateExpression": rendering.update(changes)}
        text = rendering.condition(condition) if condition is not None else None
        return self._finish(verb, body, rendering, text, condition, facts)

    def _finish(
        self, verb: Verb, body: dict[str, Any], rendering: Rendering, text: str | None, condition: ConditionTree | None, facts: dict[str, Any]
    ) -> Plan:
        if text is not None:
            body["ConditionExpression"] = text
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if rendering.names:
            body["ExpressionAttributeNames"] = rendering.names
        if rendering.values:
            body["ExpressionAttributeValues"] = rendering.values
        guard: Guard = facts.pop("guard")
        if self.options.in_doubt == "resend" and guard is Guard.NOT_IDEMPOTENT:
            guard = Guard.IDEMPOTENT
        return Plan(
            verb=verb,
            entity=self.scope.entity,
            discriminator=self.schema.discriminator_value,
            names=self.names,
            key=self.key,
            body=body,
            guard=guard,
            fails_on_absent=condition is None or not holds_on_absent(condition),
            expiry_before=self.expiry,
            raise_in_doubt=self.options.in_doubt == "raise",
            returning=self.options.returning,
            **facts,
        )


def plan_create(scope: Scope, entity: Any, occasion: Occasion, options: Options) -> Plan:
    """Store a new item where none is, or only an expired one."""
    draft = _Draft(scope, occasion, options, scope.schema.key_of_entity(entity))
    return _plan_new(draft, entity, "create")


def plan_put(scope: Scope, entity: Any, occasion: Occasion, options: Options) -> Plan:
    """Store an entity whole.

    A versioned entity that was loaded demands its version and stamp; a new one is a create. Without a version the put is
    unconditional, or demands the loaded stamp with ``if_unchanged``.
    """
    draft = _Draft(scope, occasion, options, scope.schema.key_of_entity(entity))
    stored = stored_state(entity)
    if stored is not None and stored.partial:
        raise InvalidRequest(f"{scope.entity}: the entity was read in part, and a put would drop what was not read; get it whole first", key=draft.key)
    if scope.schema.version is not None:
        return _plan_new(draft, entity, "create") if stored is None else _plan_save(draft, entity)
    if options.if_unchanged:
        _require_loaded_stamp(draft, entity)
        return _plan_save(draft, entity)
    item = scope.schema.to_item(entity)
    stamp = draft.stamp(None)
    _write_state(draft, item, None, stamp, (stored.birth if stored is not None else None) or stamp)
    guard = guard_of_put(draft.condition, item)
    condition = _judged_with_expiry(draft, draft.condition, guard.guard)
    return draft.plan("put", condition, guard=guard.guard, mark=guard.mark, stamp=stamp, stored=_checked_size(scope, item))


def plan_update(scope: Scope, target: Any, changes: Sequence[Change[Any]], occasion: Occasion, options: Options) -> Plan:
    """Change an item that is stored. Never makes one."""
    draft, trees = _draft_of_change(scope, target, changes, occasion, options)
    names = draft.names
    common = all_of(draft.present(), draft.of_this_type() if isinstance(target, Target) else None)
    expected = None if isinstance(target, Target) else _expected_of(draft, target)
    if expected is not None:
        condition = all_of(draft.present(), _unchanged(draft, expected), draft.condition)
        version = None if names.version is None else (expected.version or 0) + 1
        stamp = draft.stamp(version)
        trees += _state_changes(draft, version, stamp)
        return draft.update_plan("update", condition, trees, guard=_stamped(expected), stamp=stamp, version=version, expected=expected)
    if names.version is None:
        condition = all_of(common, draft.condition)
        guard = guard_of_update(condition, trees)
        stamp = draft.stamp(None)
        trees += _state_changes(draft, None, stamp)
        return draft.update_plan("update", condition, trees, guard=guard.guard, mark=guard.mark, stamp=stamp)
    demand = _demand_of(target)
    if demand is None:
        stamp = draft.stamp(None)
        trees += (_raised_version(draft), *_state_changes(draft, None, stamp))
        guard = guard_of_update(draft.condition, trees)
        return draft.update_plan("update", all_of(common, draft.condition), trees, guard=guard.guard, mark=guard.mark, stamp=stamp)
    version = (demand.version or 0) + 1
    stamp = draft.stamp(version)
    trees += _state_changes(draft, version, stamp)
    condition = all_of(common, draft.has_version(demand.version), draft.condition)
    return draft.update_plan("update", condition, trees, guard=Guard.VERSION, stamp=stamp, version=version, version_demand=demand)


def plan_upsert(scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], occasion: Occasion, options: Options) -> Plan:
    """Change an item, or make a whole one. An expired item refuses it: then ``plan_upsert_over_expired`` replaces that one."""
    if not isinstance(target, Key):
        raise InvalidRequest(f"{scope.entity}: upsert takes a key, not {type(target).__name__}; what is stored already can be updated or put")
    draft, own = _draft_of_change(scope, target, changes, occasion, options)
    trees = _upsert_changes(draft, target, changes, own)
    names = draft.names
    guard = guard_of_update(draft.condition, own)
    condition = all_of(draft.of_this_type(), _judged_with_expiry(draft, draft.condition, guard.guard, start_over=True))
    if names.version is None:
        stamp = draft.stamp(None)
        trees += _state_changes(draft, None, stamp)
        return draft.update_plan("upsert", condition, trees, guard=guard.guard, mark=guard.mark, stamp=stamp)
    demand = _demand_of(target)
    if demand is None:
        stamp = draft.stamp(None)
        trees += (_raised_version(draft), *_state_changes(draft, None, stamp))
        guard = guard_of_update(draft.condition, (*own, _raised_version(draft)))
        return draft.update_plan("upsert", condition, trees, guard=guard.guard, mark=guard.mark, stamp=stamp)
    version = (demand.version or 0) + 1
    stamp = draft.stamp(version)
    trees += _state_changes(draft, version, stamp)
    condition = all_of(condition, draft.has_version(demand.version))
    return draft.update_plan(
        "upsert", condition, trees, guard=Guard.VERSION, stamp=stamp, version=version, version_demand=demand
    )


def plan_delete(scope: Scope, target: Any, occasion: Occasion, options: Options) -> Plan:
    """Remove an item that is stored."""
    draft = _Draft(scope, occasion, options, _key_of_target(scope, target))
    if not isinstance(target, Target):
        expected = _expected_of(draft, target)
        if expected is not None:
            condition = all_of(draft.present(), _unchanged(draft, expected), draft.condition)
            guard = Guard.STAMPED_DELETE if _stamped(expected) is Guard.STAMPED else Guard.VERSION_DELETE
            return draft.plan("delete", condition, guard=guard, stamp=None, expected=expected)
    common = all_of(draft.present(), draft.of_this_type())
    demand = _demand_of(target) if draft.names.version is not None else None
    if demand is None:
        return draft.plan("delete", all_of(common, draft.condition), guard=Guard.IDEMPOTENT_DELETE, stamp=None)
    condition = all_of(common, draft.has_version(demand.version), draft.condition)
    return draft.plan("delete", condition, guard=Guard.VERSION_DELETE, stamp=None, version_demand=demand)


def plan_check(scope: Scope, key: Key[Any], condition: Condition[Any], occasion: Occasion) -> Plan:
    """Demand a condition of an item that a transaction does not write."""
    draft = _Draft(scope, occasion, Options(condition=condition), scope.schema.key_item(key))
    judged = _judged_with_expiry(draft, draft.condition, Guard.TOKEN)
    return draft.plan("check", judged, guard=Guard.TOKEN, stamp=None)


def plan_upsert_over_expired(scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], expired: Expected, occasion: Occasion) -> Plan:
    """Replace exactly the expired item that refused an upsert by a whole new one, made as if none were stored."""
    draft, own = _draft_of_change(scope, target, changes, occasion, Options())
    item = fresh_item(draft.key, _upsert_changes(draft, target, changes, own))
    version = 1 if draft.names.version is not None else None
    stamp = draft.stamp(version)
    _write_state(draft, item, version, stamp, stamp)
    demanded = all_of(exists(attribute(draft.partition_key())), draft.expired(), _unchanged(draft, expired))
    return draft.plan("put", demanded, guard=_stamped(expired), stamp=stamp, version=version, expected=expired, stored=_checked_size(scope, item))


def _plan_new(draft: _Draft, entity: Any, verb: Verb) -> Plan:
    item, version, stamp = _new_item(draft, entity)
    condition = all_of(draft.absent(), draft.condition)
    return draft.plan(verb, condition, guard=Guard.IDEMPOTENT, stamp=stamp, version=version, stored=item)


def _new_item(draft: _Draft, entity: Any) -> tuple[Item, int | None, str | None]:
    item = draft.schema.to_item(entity)
    version = 1 if draft.names.version is not None else None
    stamp = draft.stamp(version)
    _write_state(draft, item, version, stamp, stamp)
    return _checked_size(draft.scope, item), version, stamp


def _plan_save(draft: _Draft, entity: Any) -> Plan:
    """A put of a loaded entity over exactly the state that was loaded."""
    expected = _expected_of(draft, entity)
    assert expected is not None
    version = None if draft.names.version is None else (expected.version or 0) + 1
    stamp = draft.stamp(version)
    item = draft.schema.to_item(entity)
    _write_state(draft, item, version, stamp, expected.birth or stamp)
    condition = all_of(draft.present(), _unchanged(draft, expected), draft.condition)
    return draft.plan("put", condition, guard=_stamped(expected), stamp=stamp, version=version, expected=expected, stored=_checked_size(draft.scope, item))


def _write_state(draft: _Draft, item: Item, version: int | None, stamp: str | None, birth: str | None) -> None:
    names = draft.names
    if names.version is not None and version is not None:
        item[names.version] = {"N": str(version)}
    if names.stamp is not None and stamp is not None:
        item[names.stamp] = {"S": stamp}
    if names.birth is not None and birth is not None:
        item[names.birth] = {"S": birth}


def _state_changes(draft: _Draft, version: int | None, stamp: str | None) -> tuple[ChangeTree, ...]:
    """Version where it is known, stamp, and a birth where the item has none yet."""
    names = draft.names
    changes: list[ChangeTree] = []
    if names.version is not None and version is not None:
        changes.append(SetTo(attribute(names.version), Value({"N": str(version)})))
    if names.stamp is not None and stamp is not None:
        changes.append(SetTo(attribute(names.stamp), Value({"S": stamp})))
        if names.birth is not None:
            birth = attribute(names.birth)
            changes.append(SetTo(birth, IfNotExists(birth, Value({"S": stamp}))))
    return tuple(changes)


def _raised_version(draft: _Draft) -> ChangeTree:
    """The service adds one to whatever version is stored; a missing one counts as zero."""
    assert draft.names.version is not None
    name = attribute(draft.names.version)
    return SetTo(name, Arithmetic("+", IfNotExists(name, Value({"N": "0"})), Value({"N": "1"})))


def _stamped(expected: Expected) -> Guard:
    """Without a stamp the version number alone is checked, and that does not see a delete and recreate."""
    return Guard.STAMPED if expected.stamp is not None else Guard.VERSION


def _expected_of(draft: _Draft, entity: Any) -> Expected | None:
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
            key=draft.key,
        )
    if draft.names.version is None:
        _require_loaded_stamp(draft, entity)
    return Expected(stored.version, stored.stamp if draft.names.stamp is not None else None, stored.birth if draft.names.birth is not None else None)


def _require_loaded_stamp(draft: _Draft, entity: Any) -> None:
    if draft.names.stamp is None:
        raise InvalidRequest(f"{draft.scope.entity}: if_unchanged compares stamps, and this table has them switched off; give the type a version", key=draft.key)
    if stored_state(entity) is None:
        raise InvalidRequest(f"{draft.scope.entity}: if_unchanged needs an entity that was read or written before; get it first", key=draft.key)


def _unchanged(draft: _Draft, expected: Expected) -> ConditionTree | None:
    version = draft.has_version(expected.version) if draft.names.version is not None else None
    return all_of(version, draft.has_stamp(expected.stamp))


def _key_of_target(scope: Scope, target: Any) -> Item:
    """The key attributes of an entity, or of a key that says all that a write needs to know of the version."""
    if not isinstance(target, Key):
        return scope.schema.key_of_entity(target)
    if not isinstance(target, Target):
        raise InvalidRequest(
            f"{scope.entity} has a version: say key.if_version(n) to check it, or key.ignore_version() to write whatever it is", key=target
        )
    return scope.schema.key_item(target)


def _demand_of(target: Target[Any]) -> VersionDemand | None:
    """What a key of a versioned type says of the version; ``None`` for ``ignore_version``."""
    demand = target.demand
    assert demand is not None
    return VersionDemand(demand.version) if demand.checked else None


def _draft_of_change(
    scope: Scope, target: Any, changes: Sequence[Change[Any]], occasion: Occasion, options: Options
) -> tuple[_Draft, tuple[ChangeTree, ...]]:
    key = _key_of_target(scope, target)
    if not changes:
        raise InvalidRequest(f"{scope.entity}: no change was given; say for instance {scope.entity}.field.set(value)", key=target)
    draft = _Draft(scope, occasion, options, key)
    trees = tuple(_change_tree(scope, change) for change in changes)
    return draft, trees


def _change_tree(scope: Scope, change: Change[Any]) -> ChangeTree:
    if not isinstance(change, Change):
        raise InvalidRequest(f"{scope.entity}: a change is made by a field, such as {scope.entity}.field.set(value), not {type(change).__name__}")
    _require_owner(scope, change.owner, "change")
    name = change.tree.target.parts[0]
    assert isinstance(name, str)
    if scope.schema.is_key_attribute(name):
        raise InvalidRequest(f"{scope.entity}: {name!r} is part of the key and cannot change; store a new entity under the new key and delete this one")
    if scope.schema.version is not None and name == scope.schema.version.stored_name:
        raise InvalidRequest(f"{scope.entity}: the version {name!r} is raised by every write and cannot be set")
    return change.tree


def _require_owner(scope: Scope, owner: type | None, what: str) -> None:
    if owner is not None and not issubclass(scope.schema.entity, owner):
        raise InvalidRequest(f"{scope.entity}: the {what} speaks of a field of {owner.__name__}")


def _tree_of(scope: Scope, condition: Condition[Any] | None) -> ConditionTree | None:
    if condition is None:
        return None
    if not isinstance(condition, Condition):
        raise InvalidRequest(
            f"{scope.entity}: a condition is made by a field, such as {scope.entity}.field == value or {scope.entity}.field.exists(),"
            f" not {type(condition).__name__}; join conditions by &, | and ~"
        )
    _require_owner(scope, condition.owner, "condition")
    return condition.tree


def _upsert_changes(
    draft: _Draft, target: Target[Any], changes: Sequence[Change[Any]], own: tuple[ChangeTree, ...]
) -> tuple[ChangeTree, ...]:
    touched = {str(tree.target.parts[0]) for tree in own}
    return tuple(draft.schema.adapt_for_upsert(change) for change in changes) + draft.schema.initial_changes(target, touched)


def _judged_with_expiry(draft: _Draft, condition: ConditionTree | None, guard: Guard, *, start_over: bool = False) -> ConditionTree | None:
    """The caller's condition where an expired item counts as none.

    An order is judged on the stored item even when it has expired: a late event must not move it back. With
    ``start_over`` an expired item always refuses, because it has to be replaced whole.
    """
    expired, alive = draft.expired(), draft.not_expired()
    if expired is None or alive is None:
        return condition
    if guard is Guard.ORDER or start_over:
        return all_of(condition, alive) if start_over else condition
    if condition is None:
        return None
    return any_of(expired, condition) if holds_on_absent(condition) else all_of(alive, condition)


def _checked_size(scope: Scope, item: Item) -> Item:
    size = item_size(item)
    if size > limits.ITEM_BYTES:
        largest = sorted(((len(name.encode()) + value_size(value), name) for name, value in item.items()), reverse=True)[:3]
        named = ", ".join(f"{name} {bytes_} bytes" for bytes_, name in largest)
        raise InvalidRequest(
            f"{scope.entity}: the item has {size} bytes and the service stores at most {limits.ITEM_BYTES}; its largest attributes: {named}."
            " Split it over several items, or store the large value elsewhere and its address here"
        )
    return item


__all__ = [
    "Occasion",
    "Options",
    "Scope",
    "StructuralGuard",
    "plan_check",
    "plan_create",
    "plan_delete",
    "plan_put",
    "plan_update",
    "plan_upsert",
    "plan_upsert_over_expired",
]
