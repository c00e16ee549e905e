"""Belongs here: generators for single-item writes: plan, send until decided, tell the caller. Must not be here: multi-item writes, recipe logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from surewrite.core import unique_writes
from surewrite.core.answers import Rejection
from surewrite.core.attempts import Ending, attempt_until_decided
from surewrite.core.conclusions import applied_item as applied_item
from surewrite.core.conclusions import conclude, stored_entity, unknown
from surewrite.core.conditions import Change
from surewrite.core.decisions import Decision
from surewrite.core.effects import Moment, Steps, new_id, now
from surewrite.core.keys import Target
from surewrite.core.outcomes import Applied, Refused
from surewrite.core.planning import OVER_EXPIRED_ATTEMPTS_MAX, plan_create, plan_delete, plan_put, plan_update, plan_upsert, plan_upsert_over_expired
from surewrite.core.plans import Expected, Plan, replaces_expired, state_of
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.service_time import holds_guess, service_moment
from surewrite.core.uniqueness import create_moves_claims, put_moves_claims, update_moves_claims, upsert_moves_claims
from surewrite.errors import Throttled

NO_OPTIONS = Options()


def create(scope: Scope, entity: Any) -> Steps[Applied[Any] | Refused[Any]]:
    """Store a new item; refused where one is stored. One write unit per started KB, as every write here."""
    if scope.schema.uniques and create_moves_claims(scope, entity):
        return (yield from unique_writes.create(scope, entity))
    plan, occasion = yield from _planned(scope, lambda made: plan_create(scope, entity, made, NO_OPTIONS))
    ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment)
    return conclude(scope, plan, ending, occasion.moment, entity)


def put(scope: Scope, entity: Any, options: Options) -> Steps[Applied[Any] | Refused[Any]]:
    """Store an entity whole."""
    if scope.schema.uniques and put_moves_claims(scope, entity, options):
        return (yield from unique_writes.put(scope, entity, options))
    plan, occasion = yield from _planned(scope, lambda made: plan_put(scope, entity, made, options))
    ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment)
    return conclude(scope, plan, ending, occasion.moment, entity)


def update(scope: Scope, target: Any, changes: Sequence[Change[Any]], options: Options) -> Steps[Applied[Any] | Refused[Any]]:
    """Change a stored item."""
    if scope.schema.uniques and update_moves_claims(scope, changes):
        return (yield from unique_writes.update(scope, target, changes, options))
    plan, occasion = yield from _planned(scope, lambda made: plan_update(scope, target, changes, made, options))
    ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment)
    return conclude(scope, plan, ending, occasion.moment)


def upsert(scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], options: Options) -> Steps[Applied[Any] | Refused[Any]]:
    """Change a stored item, or make a whole one; over an expired item a whole new one, which takes a second request."""
    if scope.schema.uniques and upsert_moves_claims(scope, changes):
        return (yield from unique_writes.upsert(scope, target, changes, options))
    in_doubt = False
    for _ in range(OVER_EXPIRED_ATTEMPTS_MAX):
        plan, occasion = yield from _planned(scope, lambda made: plan_upsert(scope, target, changes, made, options))
        ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment, in_doubt=in_doubt)
        if ending.item is None or not _may_replace(plan, ending) or not replaces_expired(plan, ending.item):
            return conclude(scope, plan, ending, occasion.moment)
        # Sticky over all rounds: an upsert of an earlier one may still be carried out.
        in_doubt = ending.in_doubt
        outcome = yield from _replace_expired(scope, target, changes, state_of(plan, ending.item), options, in_doubt=in_doubt)
        if outcome is not None:
            return replace(outcome, once=outcome.once and not in_doubt)
        if in_doubt:
            raise unknown(scope, plan, ending)
    raise Throttled(
        f"{scope.entity}: an expired item under this key was not replaced in {OVER_EXPIRED_ATTEMPTS_MAX} tries, and nothing was written:"
        " others changed it in each, or its version or stamp is stored as another type, and then create takes its place",
        key=target,
    )


def delete(scope: Scope, target: Any, options: Options) -> Steps[Applied[Any] | Refused[Any]]:
    """Remove a stored item; the outcome's item is the entity that was removed, where an answer told it."""
    if scope.schema.uniques:
        return (yield from unique_writes.delete(scope, target, options))
    plan, occasion = yield from _planned(scope, lambda made: plan_delete(scope, target, made, options))
    ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment)
    return conclude(scope, plan, ending, occasion.moment)


def _planned(scope: Scope, make: Callable[[Occasion], Plan]) -> Steps[tuple[Plan, Occasion]]:
    """The plan and what it was made of; made again where it would hold a guess of the service's time."""
    moment = yield from now()
    unique = yield from new_id()
    occasion = Occasion(moment, unique)
    plan = make(occasion)
    if not holds_guess(scope.environment, plan, moment):
        return plan, occasion
    moment = yield from service_moment(scope, plan.key, plan.verb)
    occasion = Occasion(moment, unique)
    return make(occasion), occasion


def put_planned(scope: Scope, entity: Any, plan: Plan, started: Moment) -> Steps[Applied[Any] | Refused[Any]]:
    """Send a plan that stores ``entity`` whole, made at ``started``. It must demand that what it replaces, if anything, claims nothing."""
    if scope.schema.uniques and create_moves_claims(scope, entity):
        return (yield from unique_writes.put_planned(scope, entity, plan))
    ending = yield from attempt_until_decided(scope.environment, plan, started)
    return conclude(scope, plan, ending, started, entity)


def _may_replace(plan: Plan, ending: Ending) -> bool:
    """In doubt too: a late attempt of the upsert is turned away by its guard, or makes the same change once more."""
    return ending.decision is Decision.REFUSED or (ending.decision is Decision.UNKNOWN and not plan.raise_in_doubt and isinstance(ending.answer, Rejection))


def _replace_expired(
    scope: Scope, target: Target[Any], changes: Sequence[Change[Any]], expired: Expected, options: Options, *, in_doubt: bool
) -> Steps[Applied[Any] | None]:
    """Put a whole new item over exactly the expired one. ``None`` if that was swept or rescued in between."""
    plan, occasion = yield from _planned(scope, lambda made: plan_upsert_over_expired(scope, target, changes, expired, made, in_doubt=options.in_doubt))
    ending = yield from attempt_until_decided(scope.environment, plan, occasion.moment, in_doubt=in_doubt)
    if ending.decision is Decision.REFUSED:
        return None
    outcome = conclude(scope, plan, ending, occasion.moment)
    assert isinstance(outcome, Applied)
    assert plan.stored is not None
    return replace(outcome, item=stored_entity(scope, plan, scope.schema.from_item(plan.stored), ending))
