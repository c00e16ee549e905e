"""Belongs here: the claims that go with the writes of a transaction: which write moves which, and the actions on them. Must not be here: effects, declarations.

A claim is an item of its own that says whose a value is. It is taken where it is free or mine, released where it is mine,
and the item's own write demands the state that was read, by its stamp. A demand on the old value alone would not do: a late
attempt passes it once the value has gone there and back, and a demand on nothing leaves claims that nobody holds. Source: outcomes C1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from surewrite.core.conditions import Change, Condition
from surewrite.core.decisions import Guard
from surewrite.core.entities import Attribute, Entity, Fields, attribute, schema_of, stored_state
from surewrite.core.expressions import (
    Compare,
    ConditionTree,
    Remove,
    SetTo,
    Value,
    all_of,
    any_of,
    equals,
    exists,
    not_exists,
)
from surewrite.core.expressions import attribute as named
from surewrite.core.keys import Key, is_key
from surewrite.core.outcomes import Marker, TakenValue
from surewrite.core.plan_drafts import Draft
from surewrite.core.planning import plan_put
from surewrite.core.plans import Plan, expired_before, replaces_expired, state_of, stored_text
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.stored import Stored
from surewrite.core.transaction_drafts import ClaimPart, Intent
from surewrite.core.values import AttributeValue, Item, canonical_number
from surewrite.errors import InvalidRequest, SurewriteError

_NUMBER: Final = 0
_BYTES: Final = b"CLAIM"
"""What stands in the sort key of a claim where that is no text."""


class _ClaimFields(Fields):
    claimed: Attribute[str] = attribute(stored_as="_claimed")
    """Type, field, scope and value, joined by ``#``."""
    entity: Attribute[str] = attribute(stored_as="_entity")
    """The discriminator of the owner."""
    field: Attribute[str] = attribute(stored_as="_field")
    """The name of the unique field."""
    owner: Attribute[str] = attribute(stored_as="_owner")
    """The values of the owner's key attributes, as a JSON list."""


class UniqueClaim(_ClaimFields, Entity, discriminator="SUREWRITE_CLAIM", partition_key="UNIQUE#{claimed}", sort_key="CLAIM"):
    """Says whose a unique value is."""


class NumberedUniqueClaim(_ClaimFields, Entity, discriminator="SUREWRITE_CLAIM", partition_key="UNIQUE#{claimed}", sort_key="{position}"):
    """The same in a table whose sort key is a number."""

    position: Attribute[int] = attribute(default=_NUMBER, stored_as="_position")


class BinaryUniqueClaim(_ClaimFields, Entity, discriminator="SUREWRITE_CLAIM", partition_key="UNIQUE#{claimed}", sort_key="{position}"):
    """The same in a table whose sort key is binary."""

    position: Attribute[bytes] = attribute(default=_BYTES, stored_as="_position")


_CLAIMS: Final[Mapping[str, type[Any]]] = {"S": UniqueClaim, "N": NumberedUniqueClaim, "B": BinaryUniqueClaim}
_POSITIONS: Final[Mapping[type[Any], int | bytes]] = {NumberedUniqueClaim: _NUMBER, BinaryUniqueClaim: _BYTES}


@dataclass(frozen=True, slots=True)
class ReadState:
    """An item as it was read, consistently; ``item`` is ``None`` where none was stored."""

    item: Item | None

    def same(self, other: ReadState, scope: Scope) -> bool:
        """Whether nobody wrote in between, as far as what is read can tell."""
        if self.item is None or other.item is None:
            return self.item is other.item
        stamp = scope.names.stamp
        return stored_text(self.item, stamp) == stored_text(other.item, stamp) and scope.schema.held(self.item) == scope.schema.held(other.item)


@dataclass(frozen=True, slots=True)
class Movement:
    """What one write does to claims: those of the item before and after, and what it rests on."""

    intent: Intent
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def owner(self) -> str:
        return owner_text(self.intent.scope, self.intent.key)


# ------------------------------------------------------------------------------------------------ which writes move claims


def create_moves_claims(scope: Scope, entity: Any) -> bool:
    """Whether a new item of this entity claims something."""
    return type(entity) is scope.schema.entity and bool(scope.schema.claims_of_values(entity.__dict__))


def put_moves_claims(scope: Scope, entity: Any, options: Options) -> bool:
    """Whether a put claims or releases something, or may, because what it replaces is not known."""
    if type(entity) is not scope.schema.entity:
        return False
    stored = stored_state(entity)
    if stored is None and (scope.schema.version is not None or options.if_unchanged):
        return create_moves_claims(scope, entity)
    if stored is None or not _demands_loaded_state(scope, options):
        return True
    return not stored.partial and _loaded_claims(scope, entity, stored) != scope.schema.claims_of_values(entity.__dict__)


def update_moves_claims(scope: Scope, changes: Sequence[Change[Any]]) -> bool:
    """Whether an update names a field that decides what the item claims."""
    return bool(_touched(changes) & scope.schema.claim_names)


def upsert_moves_claims(scope: Scope, changes: Sequence[Change[Any]]) -> bool:
    """The same for an upsert, which may make a whole item: with defaults, and the fields of its key."""
    schema, touched = scope.schema, _touched(changes)
    return any(
        field.stored_name in touched or field.name in schema.definition.key_fields or (field.has_default and field.make_default() is not None)
        for field in schema.claim_fields
    )


def _touched(changes: Sequence[Change[Any]]) -> set[str]:
    # What is no change is refused by the planning, which says what to write.
    return {str(change.tree.target.parts[0]) for change in changes if isinstance(change, Change)}  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]


def _demands_loaded_state(scope: Scope, options: Options) -> bool:
    return scope.schema.version is not None or options.if_unchanged


def moves_claims(intent: Intent) -> bool:
    """Whether an action of a transaction claims or releases something, or may."""
    scope = intent.scope
    if not scope.schema.uniques or intent.claim is not None:
        return False
    match intent.verb:
        case "create":
            return create_moves_claims(scope, intent.subject)
        case "put":
            return create_moves_claims(scope, intent.subject) if intent.planned else put_moves_claims(scope, intent.subject, intent.options)
        case "update":
            return update_moves_claims(scope, intent.changes)
        case "upsert":
            return upsert_moves_claims(scope, intent.changes)
        case _:
            return intent.verb == "delete"


def rests_on_read(intent: Intent, *, tells_items: bool) -> bool:
    """Whether what the write releases is known only by reading the item; ``tells_items`` reads too where what is left is to be told."""
    if intent.verb == "create" or intent.planned:
        return False
    loaded = _loaded(intent)
    known = _demands_loaded_state(intent.scope, intent.options) and (loaded is not None or intent.verb == "put")
    if intent.verb == "put":
        return not known or (tells_items and intent.options.returning == "old")
    return not known or tells_items


# --------------------------------------------------------------------------------------------------- what a write moves


def _loaded(intent: Intent) -> Stored | None:
    """The state that the entity of a write was read in; ``None`` for a new one, and for a key."""
    subject: Any = intent.subject
    return None if is_key(subject) else stored_state(subject)


def movement(intent: Intent, state: ReadState | None, occasion: Occasion) -> Movement:
    """The claims before and after a write, and the write with the demand that it finds what that rests on.

    Raises ``InvalidRequest`` for a change of a deciding field that is no constant, and what planning raises.
    """
    scope = intent.scope
    _require_constants(scope, intent.changes)
    if intent.verb == "create" or intent.planned:
        return Movement(intent, {}, _claims_of(scope, intent.subject))
    loaded = _loaded(intent)
    if state is not None:
        found = state.item
        if intent.verb == "upsert" and found is not None and _starting_point(intent, found, occasion) is None:
            over = _over_expired(intent, found)
            return Movement(over, scope.schema.claims_of(found), _claims_after(over, None, occasion))
        resting = demanding(intent, found, by_stamp=not (loaded is not None and _demands_loaded_state(scope, intent.options)))
    elif loaded is None:
        return Movement(intent, {}, _claims_of(scope, intent.subject))
    else:
        found = _loaded_item(scope, intent.subject, loaded)
        resting = demanding(intent, found, by_stamp=False)
    if found is not None and _is_foreign(scope, found):
        # It refuses whatever does not overwrite it.
        return Movement(resting, {}, _claims_of(scope, intent.subject) if intent.verb == "put" else {})
    before = {} if found is None else scope.schema.claims_of(found)
    return Movement(resting, before, _claims_after(resting, found, occasion))


def _claims_of(scope: Scope, entity: Any) -> dict[str, str]:
    return scope.schema.claims_of_values(entity.__dict__)


def _is_foreign(scope: Scope, found: Item) -> bool:
    stored = stored_text(found, scope.names.discriminator)
    return stored is not None and stored != scope.schema.discriminator_value


def _starting_point(intent: Intent, found: Item | None, occasion: Occasion) -> Item | None:
    """What the changes are made of: an upsert replaces an expired item by a whole new one."""
    if intent.verb == "upsert" and found is not None and expired_before(found, intent.scope.names.time_to_live, occasion.seconds):
        return None
    return found


def item_before(intent: Intent, found: Item | None, occasion: Occasion) -> Item:
    """What a write that demands the item as it was read makes its item of; the key alone where it makes a new one."""
    started = _starting_point(intent, found, occasion)
    return dict(intent.key) if started is None else started


def _loaded_item(scope: Scope, entity: Any, loaded: Stored) -> Item:
    """As much of the item that an entity was read from as decides what it claims."""
    if loaded.partial:
        scope.schema.claims_of_values(entity.__dict__)
    return {**scope.schema.key_of_entity(entity), **loaded.held}


def _loaded_claims(scope: Scope, entity: Any, loaded: Stored) -> dict[str, str]:
    return scope.schema.claims_of(_loaded_item(scope, entity, loaded))


def _claims_after(intent: Intent, found: Item | None, occasion: Occasion) -> dict[str, str]:
    schema = intent.scope.schema
    if intent.verb == "delete" or (intent.verb == "update" and found is None):
        return {}
    if intent.verb == "put":
        return _claims_of(intent.scope, intent.subject)
    plan = intent.plan(occasion, intent.options)
    after: Item = {**intent.key, **schema.held(found if plan.stored is None and found is not None else plan.stored or {})}
    for change in plan.changes:
        name = str(change.target.parts[0])
        if name not in schema.claim_names:
            continue
        match change:
            case SetTo(operand=Value(value=value)):
                after[name] = value
            case SetTo(operand=operand) if name not in after:
                # A default of an upsert, which is set only where nothing is stored.
                after[name] = operand.default.value  # type: ignore[union-attr]
            case Remove():
                after.pop(name, None)
            case _:
                pass
    return schema.claims_of(after)


def _require_constants(scope: Scope, changes: Sequence[Change[Any]]) -> None:
    for change in changes:
        tree = change.tree
        name = str(tree.target.parts[0])
        if name not in scope.schema.claim_names:
            continue
        constant = isinstance(tree, Remove) or (isinstance(tree, SetTo) and isinstance(tree.operand, Value))
        if not constant or len(tree.target.parts) > 1:
            raise InvalidRequest(
                f"{scope.entity}: {name!r} decides what the item claims, so the value that a change gives it must be known before it is made:"
                " set a constant or remove it"
            )


def demanding(intent: Intent, found: Item | None, *, by_stamp: bool) -> Intent:
    """The write with the demand that it finds the item as it was read. ``by_stamp`` is false where it demands its stamp by itself."""
    scope = intent.scope
    schema = scope.schema
    if found is None:
        return _with_condition(intent, not_exists(named(schema.key_names[0])), {})
    rests_on = {name: found.get(name) for name in sorted(schema.claim_names) if name not in schema.key_names}
    parts = [not_exists(named(name)) if value is None else equals(named(name), value) for name, value in rests_on.items()]
    if by_stamp:
        assert scope.names.stamp is not None
        stamp = stored_text(found, scope.names.stamp)
        parts.append(not_exists(named(scope.names.stamp)) if stamp is None else equals(named(scope.names.stamp), {"S": stamp}))
    return _with_condition(intent, all_of(exists(named(schema.key_names[0])), *parts), rests_on)


def _over_expired(intent: Intent, found: Item) -> Intent:
    """An upsert that met an expired item: a whole new one over exactly that, if all that the upsert demands holds where none is stored."""
    upsert, over = intent.plan, intent.replace_expired
    assert over is not None

    def plan(occasion: Occasion, options: Options) -> Plan:
        planned = upsert(occasion, options)
        return over(state_of(planned, found), occasion) if replaces_expired(planned, found) else planned

    return replace(intent, plan=plan, replace_expired=None)


def _with_condition(intent: Intent, tree: ConditionTree | None, rests_on: Mapping[str, AttributeValue | None]) -> Intent:
    assert tree is not None
    condition: Condition[Any] = Condition(intent.scope.schema.entity, tree)
    said = intent.options.condition
    plan = intent.plan

    def resting(occasion: Occasion, options: Options) -> Plan:
        return replace(plan(occasion, options), rests_on=rests_on)

    options = replace(intent.options, condition=condition if said is None else said & condition)
    # An expired item is met when it is read, so that what replaces it is known before its claims are.
    return replace(intent, options=options, plan=resting, replace_expired=None)


# ------------------------------------------------------------------------------------------------- actions on the claims


def claim_scope(scope: Scope) -> Scope:
    """Where the claims of an entity type are: beside its items."""
    letters = scope.schema.key_attribute_types()[1][1]
    return Scope(scope.environment, scope.table, schema_of(_CLAIMS[letters]).bind(scope.schema.layout))


def claim_key(claims: Scope, claimed: str) -> Key[Any]:
    """The key of a claim."""
    entity: Any = claims.schema.entity
    key: Key[Any] = entity.key_of(claimed) if entity is UniqueClaim else entity.key_of(claimed, _POSITIONS[entity])
    return key


def new_claim(scope: Scope, claims: Scope, claimed: str, field: str, owner: Item) -> Any:
    """A claim for the item that has this key, or is this one."""
    discriminator = scope.schema.definition.discriminator
    return claims.schema.entity(claimed=claimed, entity=discriminator, field=field, owner=owner_text(scope, owner))


def owner_text(scope: Scope, key: Item) -> str:
    """An item's key as a claim holds it."""
    values = [canonical_number(key[name][letters]) if letters == "N" else key[name][letters] for name, letters in scope.schema.key_attribute_types()]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def owner_key(scope: Scope, text: str) -> Key[Any] | None:
    """The key that a claim names; ``None`` if it names none of this type."""
    try:
        key: Key[Any] = scope.schema.entity.key_of(**scope.schema.key_fields_of(json.loads(text)))
    except (SurewriteError, ValueError):
        return None
    return key


def taken_value(part: ClaimPart, item: Item | None) -> TakenValue:
    """What is told of a claim that another item has."""
    owner = None if item is None else stored_text(item, "_owner")
    return TakenValue(part.field, None if owner is None else owner_key(part.scope, owner))


@dataclass(slots=True)
class _Claim:
    """All that the writes of one transaction do to one claim."""

    scope: Scope
    claimed: str
    field: str
    leaving: list[str]
    taker: Movement | None = None


def claim_intents(movements: Sequence[Movement], foreign: frozenset[str]) -> dict[str, Intent]:
    """One action for each claim that the writes move, by table and claim; ``foreign`` are claims that were found in the hands of others than those who leave.

    Raises ``InvalidRequest`` where two writes of the transaction take one value.
    """
    claims: dict[str, _Claim] = {}

    def claim(each: Movement, claimed: str, field: str) -> _Claim:
        return claims.setdefault(f"{each.intent.scope.table}/{claimed}", _Claim(each.intent.scope, claimed, field, []))

    for each in movements:
        for claimed, field in each.before.items():
            if claimed not in each.after:
                claim(each, claimed, field).leaving.append(each.owner)
    for each in movements:
        for claimed, field in each.after.items():
            if claimed in each.before:
                continue
            taken = claim(each, claimed, field)
            if taken.taker is not None:
                first, second = taken.taker.intent.marker.description, each.intent.marker.description
                raise InvalidRequest(f"{first} and {second} take one value of {each.intent.scope.entity}.{field}, and one item only may have it")
            taken.taker = each
    return {place: _claim_intent(moved, foreign=place in foreign) for place, moved in claims.items()}


def _claim_intent(moved: _Claim, *, foreign: bool) -> Intent:
    scope = claim_scope(moved.scope)
    claims = scope.schema.entity
    part = ClaimPart(moved.field, moved.scope, None if moved.taker is None else moved.taker.intent.marker)
    key = claim_key(scope, moved.claimed)
    marker: Marker[Any] = Marker(f"the claim of a value of {moved.scope.entity}.{moved.field}")
    place = scope.schema.key_item(key)
    if moved.taker is not None:
        claim = new_claim(moved.scope, scope, moved.claimed, moved.field, moved.taker.intent.key)
        free = claim_is_free(scope, (claim.owner, *moved.leaving))
        return Intent(marker, scope, "put", place, claim, Options(condition=free), lambda o, p: plan_put(scope, claim, o, p), claim=part)
    if foreign:
        others = Condition[Any](claims, all_of(exists(_owner()), *(Compare("<>", _owner(), Value({"S": owner})) for owner in moved.leaving)))  # type: ignore[arg-type]
        return Intent(marker, scope, "check", place, key, Options(condition=others), lambda o, p: _unsent(scope, key, o, p, "check"), claim=part)
    free = claim_is_free(scope, moved.leaving)
    return Intent(marker, scope, "delete", place, key, Options(condition=free), lambda o, p: _unsent(scope, key, o, p, "delete"), claim=part)


def _owner() -> Any:
    return named("_owner")


def claim_is_free(scope: Scope, owners: Sequence[str]) -> Condition[Any]:
    """No claim is stored, or one of these owners."""
    missing = not_exists(named(scope.schema.key_names[0]))
    return Condition(scope.schema.entity, any_of(missing, *(equals(_owner(), {"S": owner}) for owner in dict.fromkeys(owners))))


def _unsent(scope: Scope, key: Any, occasion: Occasion, options: Options, verb: Any) -> Plan:
    """A delete that a missing claim does not refuse, or a check."""
    draft = Draft(scope, occasion, options, scope.schema.key_item(key))
    return draft.plan(verb, draft.condition, guard=Guard.TOKEN, stamp=None)
