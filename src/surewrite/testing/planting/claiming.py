"""Belongs here: planted bugs in claims of unique values: what is demanded, released, repaired. Must not be here: bugs in transactions themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from surewrite.core import claim_rounds, transactions, uniqueness
from surewrite.core.conditions import Condition
from surewrite.core.effects import Steps, now
from surewrite.core.expressions import any_of, attribute, exists, not_exists
from surewrite.core.outcomes import Canceled, Committed
from surewrite.core.scopes import Scope
from surewrite.core.transaction_drafts import Intent, TransactionDraft
from surewrite.core.uniqueness import Movement
from surewrite.core.values import Item
from surewrite.recipes import claim_repair
from surewrite.testing.planting.bug import PlantedBug, replaced, together

Plant = AbstractContextManager[None]


def _nothing_is_demanded_where_no_value_was() -> Plant:
    """The demand on what was read is left out where the old value was unset, or the item missing: claims of nobody stay."""
    real = uniqueness.demanding

    def lenient(intent: Intent, found: Item | None, *, by_stamp: bool) -> Intent:
        if found is None or not intent.scope.schema.claims_of(found):
            return replace(intent, replace_expired=None)
        return real(intent, found, by_stamp=by_stamp)

    return replaced(uniqueness, demanding=lenient)


def _nothing_read_is_demanded() -> Plant:
    def lenient(intent: Intent, found: Item | None, *, by_stamp: bool) -> Intent:  # noqa: ARG001
        return replace(intent, replace_expired=None)

    return replaced(uniqueness, demanding=lenient)


def _old_claims_are_kept() -> Plant:
    real = uniqueness.claim_intents

    def hoarding(movements: Sequence[Movement], foreign: frozenset[str]) -> dict[str, Intent]:
        return real([replace(movement, before={}) for movement in movements], foreign)

    return replaced(claim_rounds, claim_intents=hoarding)


def _a_delete_releases_nothing() -> Plant:
    real = uniqueness.movement

    def forgetful(intent: Intent, state: Any, occasion: Any) -> Movement:
        found = real(intent, state, occasion)
        return replace(found, before={}) if intent.verb == "delete" else found

    return replaced(claim_rounds, movement=forgetful)


def _claims_are_taken_whoever_has_them() -> Plant:
    def anybody(scope: Scope, owners: Sequence[str]) -> Condition[Any]:  # noqa: ARG001
        return _always(scope)

    return replaced(uniqueness, claim_is_free=anybody)


def _claims_are_committed_apart() -> Plant:
    """First the claims, then the item: a crash, a refusal or another writer comes between."""

    def apart(draft: TransactionDraft, commit_once: Callable[[TransactionDraft], Steps[Committed | Canceled]]) -> Steps[Committed | Canceled]:
        moving = [intent for intent in draft.intents if uniqueness.moves_claims(intent)]
        states = yield from claim_rounds.read_states(draft, moving, (yield from now()))
        inner, claims = yield from claim_rounds.with_claims(draft, moving, states, frozenset())
        ours = list(claims.values())
        if ours:
            result = yield from commit_once(TransactionDraft(draft.environment, draft.name, ours))
            if isinstance(result, Canceled):
                return result
        return (yield from commit_once(TransactionDraft(draft.environment, draft.name, inner.intents[: len(draft.intents)])))

    return replaced(transactions, commit_with_claims=apart)


def _repairs_believe_the_scan() -> Plant:
    """What a scan shows is deleted and made without looking again and without a demand: it sees an item before a write and its claim after it."""

    def seen(check: Any, item: Item | None) -> Condition[Any]:  # noqa: ARG001
        return _always(check._scope)  # noqa: SLF001

    def stamped(scope: Scope, stamp: str | None) -> Condition[Any]:  # noqa: ARG001
        return _always(scope)

    def look_at_claims(check: Any, page: tuple[Any, ...]) -> Steps[None]:
        read: Callable[[Any], Steps[Any]] = check._item  # noqa: SLF001
        for claim in page:
            owner = uniqueness.owner_key(check._scope, claim.owner)  # noqa: SLF001
            item: Any = None if owner is None else (yield from read(owner))
            if item is None or claim.claimed not in check._scope.schema.claims_of(item):  # noqa: SLF001
                yield from check._found_stray(claim, owner, item)  # noqa: SLF001

    return together(replaced(claim_repair.ClaimCheck, _as_seen=seen, _look_at_claims=look_at_claims), replaced(claim_repair, _has_stamp=stamped))


def _always(scope: Scope) -> Condition[Any]:
    key = attribute(scope.schema.key_names[0])
    return Condition(scope.schema.entity, any_of(exists(key), not_exists(key)))


_VALUES = ("unique values", "unique values without versions")

BUGS = (
    PlantedBug("no demand where the old value was unset", _nothing_is_demanded_where_no_value_was, _VALUES, 1000),
    PlantedBug("no demand on what was read", _nothing_read_is_demanded, _VALUES, 1000),
    PlantedBug("the claim of the old value is kept", _old_claims_are_kept, _VALUES, 200),
    PlantedBug("a delete releases no claim", _a_delete_releases_nothing, _VALUES, 200),
    PlantedBug("claims are taken whoever has them", _claims_are_taken_whoever_has_them, _VALUES, 400),
    PlantedBug("claims are committed apart from the item", _claims_are_committed_apart, _VALUES, 400),
    PlantedBug("repairs believe the scan", _repairs_believe_the_scan, ("unique values repaired",), 200),
)
