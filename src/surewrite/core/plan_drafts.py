"""Belongs here: the conditions and changes that plans share, and putting a plan together. Must not be here: which of them an intent needs."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any, Required, TypedDict, Unpack

from surewrite.core import limits
from surewrite.core.conditions import Change, Condition
from surewrite.core.decisions import Guard
from surewrite.core.effects import Moment
from surewrite.core.expressions import (
    Arithmetic,
    ChangeTree,
    Compare,
    ConditionTree,
    IfNotExists,
    Not,
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
    reads_as_none,
)
from surewrite.core.frames import FRAMES_MAX, SECONDS, STAMP_READ, STAMP_WRITTEN, VERSION_READ, VERSION_WRITTEN, Demanded, Frame, compiled, rendered
from surewrite.core.guards import Mark
from surewrite.core.keys import Key
from surewrite.core.plans import Expected, Names, Plan, Verb, VersionDemand
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.values import AttributeValue, Item, item_size, value_size
from surewrite.errors import InvalidRequest


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
        expired = self.expired()
        return None if expired is None else Not(expired)

    def expired(self) -> ConditionTree | None:
        return None if self.names.time_to_live is None else is_expired_at(self.names.time_to_live, self.occasion.seconds)

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
        return version_is(self.names.version, version)

    def has_stamp(self, stamp: str | None) -> ConditionTree | None:
        return None if self.names.stamp is None else _has_stamp(self.names.stamp, stamp)

    def unchanged(self, expected: Expected) -> ConditionTree | None:
        """The item is in the state that was loaded."""
        return all_of(None if self.names.version is None else self.has_version(expected.version), self.has_stamp(expected.stamp))

    def plan(self, verb: Verb, condition: ConditionTree | None, **facts: Unpack[Facts]) -> Plan:
        """The plan of a put, delete or check."""
        rendering = Rendering()
        demand = rendered(rendering, condition)
        return self._planned(verb, self._body(facts), demand, rendering.values, facts)

    def plan_of_loaded(self, verb: Verb, **facts: Unpack[Facts]) -> Plan:
        """The plan of a put or delete over exactly the state that was loaded."""
        return self._framed(verb, self._body(facts), None, facts)

    def plan_of_stored(self, changes: tuple[ChangeTree, ...], *, of_type: bool, **facts: Unpack[Facts]) -> Plan:
        """The plan of an update of an item that is stored: in the state that was loaded, or of a version, or in any. ``of_type``: and of this type."""
        return self._framed("update", {"TableName": self.scope.table, "Key": self.key}, changes, facts, of_type=of_type)

    def _framed(self, verb: Verb, body: dict[str, Any], changes: tuple[ChangeTree, ...] | None, facts: Facts, *, of_type: bool = False) -> Plan:
        """The plan of a write of which all but the caller's part is compiled once for an entity type in a database."""
        expected, demand = facts.get("expected"), facts.get("version_demand")
        state = Expected(demand.version, None, None) if expected is None and demand is not None else expected
        version, stamp = facts.get("version"), facts["stamp"]
        frame = self._frame(state, version, updates=changes is not None, of_type=of_type, exactly=expected is not None)
        version_read, stamp_read = (None, None) if state is None else (state.version, state.stamp)
        values = frame.values((version_read, version, self.expiry, stamp_read, stamp))
        if changes is None and self.condition is None:
            return self._planned(verb, body, frame.demanded, values, facts)
        rendering = Rendering.with_placeholders(frame.demanded.names, values)
        if changes is not None:
            body["UpdateExpression"] = rendering.update(changes, sets=frame.sets)
        return self._planned(verb, body, self._demanded_beside(frame.demanded, rendering), values, facts, changes or ())

    def _demanded_beside(self, always: Demanded, rendering: Rendering) -> Demanded:
        """The caller's condition beside what is always demanded."""
        if self.condition is None:
            return Demanded(always.condition, rendering.names, always.fails_on_absent)
        own = rendering.conjunct(self.condition)
        text = own if always.condition is None else f"{always.condition} AND {own}"
        return Demanded(text, rendering.names, always.fails_on_absent or not holds_on_absent(self.condition))

    def _frame(self, state: Expected | None, version: int | None, *, updates: bool, of_type: bool, exactly: bool) -> Frame:
        no_version, no_stamp = state is None or state.version is None, state is None or state.stamp is None
        kind = (self.schema, state is None, exactly, no_version, no_stamp, version is None, updates, of_type)
        frames = self.scope.environment.frames
        frame = frames.get(kind)
        if frame is None:
            model = Draft(self.scope, _STAND_IN_OCCASION, Options(), {})
            found = None if state is None else Expected(None if no_version else VERSION_READ, None if no_stamp else STAMP_READ, None)
            kept = changes_beside(self.names, None if version is None else VERSION_WRITTEN, STAMP_WRITTEN) if updates else ()
            if len(frames) >= FRAMES_MAX:
                frames.clear()
            frame = frames[kind] = compiled(model.demanded(found, of_type=of_type, exactly=exactly), kept)
        return frame

    def demanded(self, state: Expected | None, *, of_type: bool, exactly: bool) -> ConditionTree | None:
        """What a write of a stored item demands beside its caller: that it is there, of this type, in the state that was read, or of its version."""
        found = None if state is None else self.unchanged(state) if exactly else self.has_version(state.version)
        return all_of(self.present(), self.of_this_type() if of_type else None, found)

    def _body(self, facts: Facts) -> dict[str, Any]:
        stored = facts.get("stored")
        return {"TableName": self.scope.table, "Key": self.key} if stored is None else {"TableName": self.scope.table, "Item": stored}

    def upsert_plan(self, condition: ConditionTree | None, changes: tuple[ChangeTree, ...], **facts: Unpack[Facts]) -> Plan:
        """The plan of an upsert."""
        rendering = Rendering()
        text = rendering.update((*changes, *changes_beside(self.names, facts.get("version"), facts["stamp"])))
        body: dict[str, Any] = {"TableName": self.scope.table, "Key": self.key, "UpdateExpression": text}
        demanded = rendered(rendering, condition)
        return self._planned("upsert", body, demanded, rendering.values, facts, changes)

    def _planned(
        self, verb: Verb, body: dict[str, Any], demanded: Demanded, values: dict[str, AttributeValue], facts: Facts, changes: tuple[ChangeTree, ...] = ()
    ) -> Plan:
        if demanded.condition is not None:
            body["ConditionExpression"] = demanded.condition
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if demanded.names:
            body["ExpressionAttributeNames"] = demanded.names
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
            version_demand=facts.get("version_demand") or options.version_demand,
            mark=facts.get("mark"),
            fails_on_absent=demanded.fails_on_absent,
            expiry_before=self.expiry,
            raise_in_doubt=options.in_doubt == "raise",
            returning=options.returning,
            stored=facts.get("stored"),
            changes=changes,
        )


_STAND_IN_OCCASION = Occasion(Moment(float(SECONDS), float(SECONDS), 0.0), "")


def is_expired_at(attribute_name: str, seconds: int) -> ConditionTree:
    """The time to live lies before ``seconds`` since 1970. Where none is stored, or something else than a number, this does not hold, and its negation does."""
    return Compare("<", attribute(attribute_name), Value({"N": str(seconds)}))


def version_is(attribute_name: str, version: int | None) -> ConditionTree:
    """The item carries this version; ``None``: it carries none."""
    name = attribute(attribute_name)
    return reads_as_none(name) if version is None else equals(name, {"N": str(version)})


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


def changes_beside(names: Names, version: int | None, stamp: str | None) -> tuple[ChangeTree, ...]:
    """What an update changes beside its caller: the version, stamp, and a birth where the item has none yet. An unknown version is raised by the service."""
    changes: list[ChangeTree] = []
    if names.version is not None:
        changes.append(raised_version(names.version) if version is None else SetTo(attribute(names.version), Value({"N": str(version)})))
    if names.stamp is not None and stamp is not None:
        changes.append(SetTo(attribute(names.stamp), Value({"S": stamp})))
        if names.birth is not None:
            birth = attribute(names.birth)
            changes.append(SetTo(birth, IfNotExists(birth, Value({"S": stamp}))))
    return tuple(changes)


def raised_version(attribute_name: str) -> ChangeTree:
    """The service adds one to whatever version is stored; a missing one counts as zero."""
    name = attribute(attribute_name)
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
