"""Belongs here: single writes that move claims: a transaction of one write and its claims, told as the write. Must not be here: the claims.

A transaction returns no item, so what the write left follows from the item that it was made over, which was read for its claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from surewrite.core.conditions import Change
from surewrite.core.effects import Steps
from surewrite.core.keys import Key
from surewrite.core.outcomes import Applied, Committed, Marker, Refusal, RefusalReason, Refused, refused_for
from surewrite.core.plans import Plan
from surewrite.core.scopes import Options, Scope
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.errors import OutcomeUnknown, WriteRefused

Outcome = Applied[Any] | Refused[Any]

EXPLANATIONS_MAX = 3
"""A cancellation that only a fence proved names no reason; the write may be made again, since no attempt of it can take effect any more."""


def create(scope: Scope, entity: Any) -> Steps[Outcome]:
    """Store a new item and claim its values. Two write units per started KB of the item and of each claim."""
    return (yield from _write(scope, lambda draft: draft.create(scope, entity)))


def put(scope: Scope, entity: Any, options: Options) -> Steps[Outcome]:
    """Store an entity whole, claim what is new and release what is no longer there."""
    return (yield from _write(scope, lambda draft: draft.put(scope, entity, options)))


def put_planned(scope: Scope, entity: Any, plan: Plan) -> Steps[Outcome]:
    """Store an entity whole by a plan that demands what it replaces, which claims nothing."""
    return (yield from _write(scope, lambda draft: draft.put_planned(scope, entity, plan)))


def update(scope: Scope, target: Any, changes: Sequence[Change[Any]], options: Options) -> Steps[Outcome]:
    """Change a stored item and move its claims."""
    return (yield from _write(scope, lambda draft: draft.update(scope, target, changes, options)))


def upsert(scope: Scope, target: Any, changes: Sequence[Change[Any]], options: Options) -> Steps[Outcome]:
    """Change a stored item or make a whole one, and move or take its claims."""
    return (yield from _write(scope, lambda draft: draft.upsert(scope, target, changes, options)))


def delete(scope: Scope, target: Any, options: Options) -> Steps[Outcome]:
    """Remove a stored item and release what it claims."""
    return (yield from _write(scope, lambda draft: draft.delete(scope, target, options)))


def _write(scope: Scope, add: Callable[[TransactionDraft], Marker[Any]]) -> Steps[Outcome]:
    attempts = 0
    key: Key[Any] | None = None
    for _ in range(EXPLANATIONS_MAX):
        draft = TransactionDraft(scope.environment, tells_items=True)
        marker = add(draft)
        key = draft.intents[0].named_key
        try:
            result = yield from commit(draft)
        except (OutcomeUnknown, WriteRefused) as error:
            error.key = key
            raise
        attempts += result.attempts
        if isinstance(result, Committed):
            return Applied(result.item_for(marker), recovered=result.recovered, attempts=attempts)
        refusal = result.refusal_of(marker)
        if refusal is not None:
            return refused_for(refusal)
    return refused_for(Refusal(RefusalReason.CONDITION_FAILED, scope.entity, key=key, attempts=attempts))
