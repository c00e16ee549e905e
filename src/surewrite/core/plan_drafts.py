"""Belongs here: the conditions and changes that plans share, and putting a plan together. Must not be here: which of them an intent needs."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Required, TypedDict, Unpack

from surewrite.core import limits
from surewrite.core.conditions import Change, Condition
from surewrite.core.decisions import Guard
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
from surewrite.core.guards import Mark
from surewrite.core.keys import Key
from surewrite.core.plans import Expected, Names, Plan, Verb, VersionDemand
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.values import AttributeValue, Item, item_size, value_size
from surewrite.errors import InvalidRequest

_NULL_TYPE: AttributeValue = {"S": "NULL"}


class Facts(TypedDict, total=False):
    """Fields of ``Plan`` that the planning of each verb knows."""

    guard: Required[Guard]
    stamp: Required[str | None]
    version: int | None
    expected: Expected | None
    version_demand: VersionDemand | None
    mark: Mark | None
    stored: Item | None


class Draft:
    """The parts of a plan while it is made. Lives for one call of a function of this module."""

    def __init__(self, scope: Scope, occasion: Occasion, options: Options, key: Item) -> None:
        # What the checker knows is not what every caller has checked, and a misspelled word must not be taken for none.
        if options.in_doubt not in (None, "resend", "raise"):
            raise InvalidRequest(f'{scope.entity}: in_doubt is "resend" or "raise", not {options.in_doubt!r}')
        if options.returning not in ("new", "old"):
            raise InvalidRequest(f'{scope.entity}: returning is "new" or "old", not {options.returning!r}')
        self.scope = scope
        self.schema = scope.schema
        self.names = scope.names
        self.occasion = occasion
        self.options = options
        self.key = key
        self.condition = tree_of(scope, options.condition)
        self.expiry = occasion.seconds if self.names.time_to_live is not None else None

    def stamp(self, version: int | None) -> str | None:
        if self.names.stamp is None:
            return None
        return f"{'-' if version is None else version}:{self.occasion.unique}"

    @property
    def named_key(self) -> Key[Any] | None:
        """The key, for errors."""
        return self.schema.key_from(self.key)

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
        return _has_version(self.names.version, version)

    def has_stamp(self, stamp: str | None) -> ConditionTree | None:
        return None if self.names.stamp is None else _has_stamp(self.names.stamp, stamp)

    def unchanged(self, expected: Expected) -> ConditionTree | None:
        """The item is in the state that was loaded."""
        return _unchanged(self.names, expected)

    def plan(self, verb: Verb, condition: ConditionTree | None, **facts: Unpack[Facts]) -> Plan:
        """The plan of a put, delete or check."""
        rendering = Rendering()
        demand = _rendered(rendering, condition)
        return self._planned(verb, self._body(facts), demand, rendering.values, facts)

    def plan_of_loaded(self, verb: Verb, **facts: Unpack[Facts]) -> Plan:
        """The plan of a put or delete over exactly the state that was loaded. Where that is all it demands, its text is the same each time."""
        expected = facts.get("expected")
        assert expected is not None
        if self.condition is not None or self.expiry is not None:
            return self.plan(verb, all_of(self.present(), self.unchanged(expected), self.condition), **facts)
        demand = _demand_unchanged(self.partition_key(), self.names, expected.version is None, expected.stamp is None)
        values = dict(zip(demand.places, _state_values(self.names, expected), strict=True))
        return self._planned(verb, self._body(facts), demand, values, facts)

    def _body(self, facts: Facts) -> dict[str, Any]:
        stored = facts.get("stored")
        return {"TableName": self.scope.table, "Key": self.key} if stored is None else {"TableName": self.scope.table, "Item": stored}

    def update_plan(self, verb: Verb, condition: ConditionTree | None, changes: Sequence[ChangeTree], **facts: Unpack[Facts]) -> Plan:
        rendering = Rendering()
        body: dict[str, Any] = {"TableName": self.scope.table, "Key": self.key, "UpdateExpression": rendering.update(changes)}
        demand = _rendered(rendering, condition)
        return self._planned(verb, body, demand, rendering.values, facts, tuple(changes))

    def _planned(
        self, verb: Verb, body: dict[str, Any], demand: _Demand, values: dict[str, AttributeValue], facts: Facts, changes: tuple[ChangeTree, ...] = ()
    ) -> Plan:
        if demand.text is not None:
            body["ConditionExpression"] = demand.text
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if demand.names:
            body["ExpressionAttributeNames"] = demand.names
        if values:
            body["ExpressionAttributeValues"] = values
        options, guard = self.options, facts["guard"]
        if options.in_doubt == "resend" and guard is Guard.NOT_IDEMPOTENT:
            guard = Guard.IDEMPOTENT
        return Plan(
            verb,
            self.scope.entity,
            self.schema.discriminator_value,
            self.names,
            self.key,
            body,
            guard,
            facts["stamp"],
            version=facts.get("version"),
            expected=facts.get("expected"),
            version_demand=facts.get("version_demand"),
            mark=facts.get("mark"),
            fails_on_absent=demand.fails_on_absent,
            expiry_before=self.expiry,
            raise_in_doubt=options.in_doubt == "raise",
            returning=options.returning,
            stored=facts.get("stored"),
            changes=changes,
        )


@dataclass(frozen=True, slots=True)
class _Demand:
    """A condition as it is sent, without its values: ``places`` are their placeholders in order, ``names`` all those of the request."""

    text: str | None
    names: dict[str, str]
    places: tuple[str, ...]
    fails_on_absent: bool


def _rendered(rendering: Rendering, condition: ConditionTree | None) -> _Demand:
    text = rendering.condition(condition) if condition is not None else None
    return _Demand(text, rendering.names, tuple(rendering.values), condition is None or not holds_on_absent(condition))


@lru_cache(maxsize=1024)
def _demand_unchanged(partition_key: str, names: Names, no_version: bool, no_stamp: bool) -> _Demand:  # noqa: FBT001 - a key of the cache
    """What a write of a loaded entity demands, compiled once for an entity type in a table. Its values stand for those of each call."""
    state = Expected(None if no_version else 0, None if no_stamp else "", None)
    return _rendered(Rendering(), all_of(exists(attribute(partition_key)), _unchanged(names, state)))


def _unchanged(names: Names, expected: Expected) -> ConditionTree | None:
    version = None if names.version is None else _has_version(names.version, expected.version)
    return all_of(version, None if names.stamp is None else _has_stamp(names.stamp, expected.stamp))


def _state_values(names: Names, expected: Expected) -> list[AttributeValue]:
    """The values of ``_unchanged``, in the order of their places."""
    values: list[AttributeValue] = []
    if names.version is not None:
        values.append(dict(_NULL_TYPE) if expected.version is None else {"N": str(expected.version)})
    if names.stamp is not None and expected.stamp is not None:
        values.append({"S": expected.stamp})
    return values


def _has_version(attribute_name: str, version: int | None) -> ConditionTree:
    name = attribute(attribute_name)
    if version is None:
        return any_of(not_exists(name), Function("attribute_type", (name, Value(dict(_NULL_TYPE)))))
    return equals(name, {"N": str(version)})


def _has_stamp(attribute_name: str, stamp: str | None) -> ConditionTree:
    name = attribute(attribute_name)
    return not_exists(name) if stamp is None else equals(name, {"S": stamp})


def write_state(draft: Draft, item: Item, version: int | None, stamp: str | None, birth: str | None) -> None:
    """Put version, stamp and birth into an item, as far as the table stores them."""
    names = draft.names
    if names.version is not None and version is not None:
        item[names.version] = {"N": str(version)}
    if names.stamp is not None and stamp is not None:
        item[names.stamp] = {"S": stamp}
    if names.birth is not None and birth is not None:
        item[names.birth] = {"S": birth}


def state_changes(draft: Draft, version: int | None, stamp: str | None) -> tuple[ChangeTree, ...]:
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


def raised_version(draft: Draft) -> ChangeTree:
    """The service adds one to whatever version is stored; a missing one counts as zero."""
    assert draft.names.version is not None
    name = attribute(draft.names.version)
    return SetTo(name, Arithmetic("+", IfNotExists(name, Value({"N": "0"})), Value({"N": "1"})))


def change_tree(scope: Scope, change: Change[Any]) -> ChangeTree:
    """The change of a caller, checked: of this entity, and of nothing that never changes."""
    if not isinstance(change, Change):  # pyright: ignore[reportUnnecessaryIsInstance] - what the checker knows is not what every caller has checked
        raise InvalidRequest(f"{scope.entity}: a change is made by a field, such as {scope.entity}.field.set(value), not {type(change).__name__}")
    require_owner(scope, change.owner, "change")
    name = change.tree.target.parts[0]
    assert isinstance(name, str)
    if scope.schema.is_key_attribute(name):
        raise InvalidRequest(f"{scope.entity}: {name!r} is part of the key and cannot change; store a new entity under the new key and delete this one")
    if scope.schema.version is not None and name == scope.schema.version.stored_name:
        raise InvalidRequest(f"{scope.entity}: the version {name!r} is raised by every write and cannot be set")
    return change.tree


def require_one_change_each(draft: Draft, changes: Sequence[ChangeTree]) -> None:
    """Refuse two changes of one attribute, and of an attribute and a part of it. Source: API Reference, UpdateItem: "Two document paths overlap"."""
    if len(changes) == 1:
        return
    changed: set[tuple[str | int, ...]] = set()
    inside: set[tuple[str | int, ...]] = set()
    for change in changes:
        parts = change.target.parts
        outer = {parts[:length] for length in range(1, len(parts))}
        if parts in changed or parts in inside or outer & changed:
            field = draft.schema.field_stored_as(str(parts[0]))
            first = parts[0] if field is None else field.name
            name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (first, *parts[1:]))
            raise InvalidRequest(
                f"{draft.scope.entity}{name} is changed twice in this call, itself or with a part of it, "
                "and the service makes one change of each: make one of them, or write them one after another",
                key=draft.named_key,
            )
        changed.add(parts)
        inside |= outer


def require_owner(scope: Scope, owner: type | None, what: str) -> None:
    """Refuse an expression about another entity."""
    if owner is not None and not issubclass(scope.schema.entity, owner):
        raise InvalidRequest(f"{scope.entity}: the {what} speaks of a field of {owner.__name__}")


def tree_of(scope: Scope, condition: Condition[Any] | None) -> ConditionTree | None:
    """The condition of a caller, checked; ``None`` where none was given."""
    if condition is None:
        return None
    if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise InvalidRequest(
            f"{scope.entity}: a condition is made by a field, such as {scope.entity}.field == value or {scope.entity}.field.exists(),"
            f" not {type(condition).__name__}; join conditions by &, | and ~"
        )
    require_owner(scope, condition.owner, "condition")
    return condition.tree


def judged_with_expiry(draft: Draft, condition: ConditionTree | None, guard: Guard, *, start_over: bool = False) -> ConditionTree | None:
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


def checked_size(scope: Scope, item: Item) -> Item:
    """The item, if the service can store it; else ``InvalidRequest`` that names the largest attributes."""
    if _size_at_most(item) <= limits.ITEM_BYTES:
        return item
    size = item_size(item)
    if size > limits.ITEM_BYTES:
        largest = sorted(((len(name.encode()) + value_size(value), name) for name, value in item.items()), reverse=True)[:3]
        named = ", ".join(f"{name} {bytes_} bytes" for bytes_, name in largest)
        raise InvalidRequest(
            f"{scope.entity}: the item has {size} bytes and the service stores at most {limits.ITEM_BYTES}; its largest attributes: {named}."
            " Split it over several items, or store the large value elsewhere and its address here"
        )
    return item


def _size_at_most(item: Item) -> int:
    """A bound of the item's size that costs half of measuring it; an exact size for what a codec of the developer made of types of its own."""
    try:
        # Each text is written in UTF-8 behind five more bytes, each list and map behind as many, so the service never counts more.
        # In later formats what comes twice is written once.
        return len(marshal.dumps(item, 2))
    except ValueError:
        return item_size(item)
