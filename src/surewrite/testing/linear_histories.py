"""Belongs here: the history of one item as its clients saw it, read off a world, for the checker. Must not be here: the checker, what the engine committed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from surewrite.core.entities import stored_state
from surewrite.core.keys import Key
from surewrite.core.outcomes import RefusalReason
from surewrite.testing.checker import Event, NotPossible, check_history
from surewrite.testing.ledger import READ_VERBS, WRITE_VERBS, Call
from surewrite.testing.models import register
from surewrite.testing.simulator import World
from surewrite.testing.states import key_of

_IN_DOUBT = frozenset({"unknown", "interrupted", "unfinished"})


def item_is_linearizable(key: Key[Any], field: str) -> Callable[[World], str | None]:
    """One field of one item behaves as a register, by what its clients were told. Every write must write a value of its own."""

    def check(world: World) -> str | None:
        verdict = check_history(register(), register_history(world, key, field))
        return str(verdict) if isinstance(verdict, NotPossible) else None

    return check


def register_history(world: World, key: Key[Any], field: str) -> list[Event]:
    """The calls on one item as events of a register. Eventually consistent reads are left out: they promise no order."""
    seen = _values_by_stamp(world, field)
    wanted: dict[str, Any] | None = None
    events: list[Event] = []
    for call in world.ledger.calls:
        scope = call.arguments.get("scope")
        if scope is None or scope.schema.entity is not key.entity:
            continue
        wanted = wanted if wanted is not None else scope.schema.key_item(key)
        if key_of(call) != wanted:
            continue
        event = _event(world, call, field, seen)
        if event is not None:
            events.append(event)
    return events


def _event(world: World, call: Call, field: str, seen: dict[str | None, Any]) -> Event | None:
    ended = call.ended if call.ended is not None else math.inf
    if call.verb in READ_VERBS:
        if call.word != "read" or not call.arguments.get("consistent"):
            return None
        value = None if call.result is None else getattr(call.result, field)
        return Event("read", call.began, ended, result=value, observes=True, who=call.client)
    if call.verb not in WRITE_VERBS:
        return None
    action, argument = _action(call, field, seen)
    if call.word == "refused":
        return _refusal(call, action, ended)
    applied = call.word == "applied"
    if not applied and call.word not in _IN_DOUBT:
        return None
    certain = applied and call.applied is not None and call.applied.once
    gone = applied and call.applied is not None and call.applied.gone
    last_sent = max((attempt.sent_at for attempt in call.attempts), default=call.began)
    return Event(
        action,
        call.began,
        ended if applied else math.inf,
        argument,
        required=applied and not gone,
        repeats=action != "swap" and not certain,
        until=last_sent + world.settings.horizon_seconds,
        who=call.client,
    )


def _action(call: Call, field: str, seen: dict[str | None, Any]) -> tuple[str, Any]:
    match call.verb:
        case "create":
            return "create", getattr(call.subject, field)
        case "put":
            value = getattr(call.subject, field)
            loaded = stored_state(call.subject)
            if call.arguments["options"].if_unchanged and loaded is not None:
                return "swap", (seen.get(loaded.stamp), value)
            return "write", value
        case "delete":
            return "delete", None
        case verb:
            change = call.arguments["changes"][0]
            value = change.tree.operand.value.get("S")
            return ("change" if verb == "update" else "write"), value


def _refusal(call: Call, action: str, ended: float) -> Event | None:
    """What a refusal shows of the item; nothing where the service was only busy."""
    result = call.refused
    if result is None:
        return None
    if action in ("change", "delete") and result.reason is RefusalReason.ITEM_NOT_FOUND:
        return Event("refused change", call.began, ended, observes=True, who=call.client)
    if action == "create":
        return Event("refused create", call.began, ended, observes=True, who=call.client)
    # A refused swap shows another stamp, and that may stand for the value that was expected: a write that was sent again.
    return None


def _values_by_stamp(world: World, field: str) -> dict[str | None, Any]:
    """Which value each stamp stood for, by what clients were handed."""
    found: dict[str | None, Any] = {}
    for call in world.ledger.calls:
        outcome = call.applied if call.applied is not None else call.refused
        entity: Any = call.result if outcome is None else outcome.item
        state = stored_state(entity) if hasattr(entity, field) else None
        if state is not None:
            found[state.stamp] = getattr(entity, field)
    return found
