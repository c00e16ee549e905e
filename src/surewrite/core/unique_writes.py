"""Belongs here: single writes that move claims: a transaction of one write and its claims, told as the write. Must not be here: the claims.

A transaction returns no item, so what the write left follows from the item that it was made over, which was read for its claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surewrite.core.conditions import Change
from surewrite.core.effects import Operation, Steps
from surewrite.core.keys import Key
from surewrite.core.outcomes import Applied, Canceled, Committed, Marker, Refusal, RefusalReason, Refused, refused_for
from surewrite.core.plans import Plan
from surewrite.core.scopes import Options, Scope
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.errors import OutcomeUnknown, SurewriteError

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
    for number in range(1, EXPLANATIONS_MAX + 1):
        draft = TransactionDraft(scope.environment, tells_items=True)
        told = _Told(scope, add(draft), draft.intents[0].named_key, attempts)
        result = yield from told.ended(commit(draft))
        attempts += result.attempts
        outcome = told.outcome_of(result)
        if outcome is not None or number == EXPLANATIONS_MAX:
            return told.unexplained(attempts) if outcome is None else outcome
    raise AssertionError("the last transaction is told")


@dataclass(frozen=True, slots=True)
class _Told:
    """One write, in whose words its transaction is told. ``before`` are the attempts of transactions before this one."""

    scope: Scope
    marker: Marker[Any]
    key: Key[Any] | None
    before: int

    def ended(self, steps: Steps[Committed | Canceled]) -> Steps[Committed | Canceled]:
        """How the transaction ended. An error is about the item of the write, and an outcome that stays unknown is that of the write, with what settles it."""
        try:
            return (yield from steps)
        except OutcomeUnknown as error:
            settling = error.settle()
            attempts = self.before + error.attempts
            unknown = OutcomeUnknown(
                f"{self.scope.entity}: {error}", key=self.key, attempts=attempts, plan=error.plan, settlement=Operation(lambda: self._settled(settling))
            )
            raise unknown from error.__cause__
        except SurewriteError as error:
            error.key = self.key
            error.attempts += self.before
            raise

    def outcome_of(self, result: Committed | Canceled) -> Outcome | None:
        """The outcome of the write; ``None`` where a fence proved that it was refused and nothing tells why."""
        attempts = self.before + result.attempts
        if isinstance(result, Committed):
            return Applied(result.item_for(self.marker), recovered=result.recovered, attempts=attempts)
        refusal = result.refusal_of(self.marker)
        return None if refusal is None else refused_for(refusal)

    def unexplained(self, attempts: int) -> Outcome:
        """A refusal that only a fence has shown."""
        return refused_for(Refusal(RefusalReason.CONDITION_FAILED, self.scope.entity, key=self.key, attempts=attempts))

    def _settled(self, settling: Operation[Any]) -> Steps[Outcome]:
        result = yield from self.ended(settling.steps())
        outcome = self.outcome_of(result)
        return self.unexplained(self.before + result.attempts) if outcome is None else outcome
