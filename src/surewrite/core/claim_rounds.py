"""Belongs here: committing a transaction with its claims: read, add them, commit, again where an item moved. Must not be here: claims, sending.

A write by key does not know what it releases, so the item is read and the write demands that it is still so. Where another
writer came between, nothing was written and nothing the caller asked for was refused: it is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from surewrite.core.asking import ask, pause_before_next
from surewrite.core.effects import Moment, Steps, new_id, now
from surewrite.core.outcomes import Canceled, Committed, Marker, RefusalReason
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion
from surewrite.core.transaction_drafts import Intent, TransactionDraft
from surewrite.core.uniqueness import Movement, ReadState, claim_intents, item_before, movement, moves_claims, rests_on_read
from surewrite.errors import InvalidRequest, TransactionConflict

ROUNDS_MAX = 64
"""The deadline ends the rounds long before; this bounds the loop where clocks are injected."""

States = Mapping[Marker[Any], ReadState]


def commit_with_claims(draft: TransactionDraft, commit_once: Callable[[TransactionDraft], Steps[Committed | Canceled]]) -> Steps[Committed | Canceled]:
    """Commit the draft with the claims that its writes take and release, until its own demands are judged.

    One consistent read for each write that rests on what it finds, in each round. Raises ``TransactionConflict`` where other
    writers changed an item in each round until the deadline, and what the commit raises.
    """
    moving = [intent for intent in draft.intents if moves_claims(intent)]
    reading = [intent for intent in moving if rests_on_read(intent, tells_items=draft.tells_items)]
    if draft.name is not None and reading:
        raise InvalidRequest(
            f"{reading[0].marker.description}: what it releases is known only by reading, and a named transaction must be the same bytes whenever it is sent:"
            " give it the loaded entity, or leave token= out"
        )
    began = yield from now()
    states = yield from read_states(draft, reading, began)
    foreign: frozenset[str] = frozenset()
    for number in range(1, ROUNDS_MAX + 1):
        inner, claims = yield from with_claims(draft, moving, states, foreign)
        try:
            result = yield from commit_once(inner)
        finally:
            draft.committed = inner.committed
        if isinstance(result, Committed) or draft.name is not None:
            return result
        in_other_hands = _foreign_after(result, claims, foreign)
        if in_other_hands == foreign and not _may_have_moved(result, reading):
            return result
        found = yield from read_states(draft, reading, began)
        if in_other_hands == foreign and all(found[marker].same(state, _scope(reading, marker)) for marker, state in states.items()):
            return result
        states, foreign = found, in_other_hands
        if (yield from pause_before_next(number, began.monotonic + draft.environment.deadline_seconds)) is None:
            break
    raise TransactionConflict(
        "other writers changed what the write rests on in each round until the deadline; nothing was written, trying again is safe", key=moving[0].named_key
    )


def _scope(reading: list[Intent], marker: Marker[Any]) -> Any:
    return next(intent.scope for intent in reading if intent.marker is marker)


def read_states(draft: TransactionDraft, reading: list[Intent], began: Moment) -> Steps[States]:
    """Each item as it is now, read consistently."""
    found: dict[Marker[Any], ReadState] = {}
    for intent in reading:
        request = Request("GetItem", {"TableName": intent.scope.table, "Key": intent.key, "ConsistentRead": True})
        answer = yield from ask(draft.environment, request, f"{intent.scope.entity}: the read before the {intent.verb}", intent.named_key, began)
        found[intent.marker] = ReadState(answer.body.get("Item"))
    return found


def with_claims(draft: TransactionDraft, moving: list[Intent], states: States, foreign: frozenset[str]) -> Steps[tuple[TransactionDraft, dict[str, Intent]]]:
    """The transaction of this round, and its actions on claims by what they claim."""
    moment = yield from now()
    unique = yield from new_id()
    occasion = Occasion(moment, unique)
    movements: dict[Marker[Any], Movement] = {intent.marker: movement(intent, states.get(intent.marker), occasion) for intent in moving}
    intents: list[Intent] = []
    for intent in draft.intents:
        moved = movements.get(intent.marker)
        if moved is None:
            intents.append(intent)
            continue
        state = states.get(intent.marker)
        before = item_before(intent, state.item, occasion) if state is not None and draft.tells_items else None
        intents.append(replace(moved.intent, before=before))
    claims = claim_intents(list(movements.values()), foreign)
    return TransactionDraft(draft.environment, draft.name, [*intents, *claims.values()]), claims


def _foreign_after(result: Canceled, claims: Mapping[str, Intent], foreign: frozenset[str]) -> frozenset[str]:
    """The claims that turned out to be in other hands than of those who leave them, and those no longer that turned out not to be."""
    refused = {claimed for claimed, intent in claims.items() if _refused(result, intent)}
    released = {claimed for claimed in refused if claims[claimed].verb == "delete"}
    checked = {claimed for claimed in refused if claims[claimed].verb == "check"}
    return (foreign | released) - checked


def _refused(result: Canceled, intent: Intent) -> bool:
    reason = result.reason_for(intent.marker)
    return reason is not None and reason.code == "ConditionalCheckFailed"


def _may_have_moved(result: Canceled, reading: list[Intent]) -> bool:
    """Whether an item that was read refused its write, or a fence proved the cancellation and nobody knows what refused it."""
    if not reading:
        return False
    refusals = [result.refusal_of(intent.marker) for intent in reading]
    unexplained = all(result.reason_for(intent.marker) is None for intent in reading)
    return unexplained or any(refusal is not None and refusal.reason is not RefusalReason.VALUE_TAKEN for refusal in refusals)
