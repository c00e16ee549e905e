"""Belongs here: rules about the stored items and what callers are handed of them: versions, births, stamps, reads.

Must not be here: how often a write took effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surewrite.core.entities import stored_state
from surewrite.core.keys import Key
from surewrite.core.outcomes import Applied, Canceled, RefusalReason, Refused
from surewrite.core.scopes import Scope
from surewrite.core.values import Item
from surewrite.errors import TransactionCanceled, WriteRefused
from surewrite.testing.ledger import READ_VERBS, Call, Commit
from surewrite.testing.simulator import World
from surewrite.testing.states import is_expired, key_of, number_at, scope_of_commit, scopes_of, stamp_name, text_at
from surewrite.testing.violations import Violation

CLOCK_TOLERANCE_SECONDS = 2.0
"""Clients know the service's time to about a second, and a time to live is in whole seconds."""

_CHANGES_ONLY = frozenset({"update", "modify", "delete"})


def item_violations(world: World) -> Iterator[Violation]:
    """What is wrong with the items that were stored, or with what callers were handed."""
    tolerance = CLOCK_TOLERANCE_SECONDS + world.settings.skew_seconds_most
    for commit in world.ledger.commits:
        scope = scope_of_commit(commit)
        if scope is not None:
            yield from _judge_commit(commit, scope, world.settings.begins_at_seconds + commit.at + tolerance)
    for call in world.ledger.calls:
        if call.verb in READ_VERBS and call.word == "read":
            yield from _judge_read(world, call)
        elif call.ended is not None and "scope" in call.arguments:
            yield from _judge_handed_out(world, call)
        elif call.verb == "commit" and call.arguments["draft"].name is None:
            yield from _judge_cancellation(world, call)


def _judge_commit(commit: Commit, scope: Scope, latest: float) -> Iterator[Violation]:
    assert commit.attempt is not None
    call, before, after = commit.attempt.call, commit.before, commit.after
    if after is None:
        return
    starts_life = before is None or is_expired(before, scope, latest)
    if before is None and call.verb in _CHANGES_ONLY:
        yield _violation("made an item", call, f"made an item at {commit.at:.3f}, and a {call.verb} never makes one")
    if before is not None and call.verb == "create" and not starts_life:
        yield _violation("create overwrote", call, f"wrote over an item at {commit.at:.3f}, and a create demands that there is none")
    version = number_at(after, scope.names.version)
    if scope.names.version is not None:
        expected = 1 if before is None else (number_at(before, scope.names.version) or 0) + 1
        if version != expected and not (starts_life and version == 1):
            yield _violation("version", call, f"left version {version} at {commit.at:.3f}, and the next one was {expected}")
    birth = scope.names.birth
    keeps = call.verb in _CHANGES_ONLY or (call.verb == "put" and stored_state(call.subject) is not None and scope.names.version is not None)
    if birth is not None and before is not None and keeps and not starts_life and text_at(before, birth) not in (None, text_at(after, birth)):
        yield _violation("birth", call, f"changed the birth of an item at {commit.at:.3f}, and its life went on")
    if call.verb == "put" and before is not None and stored_state(call.subject) is not None and scope.names.version is not None:
        yield from _judge_unknown_attributes(call, before, after)


def _judge_unknown_attributes(call: Call, before: Item, after: Item) -> Iterator[Violation]:
    lost = sorted(name for name in stored_state(call.subject).unknown if name in before and name not in after)  # type: ignore[union-attr]
    if lost:
        yield _violation("dropped attributes", call, f"dropped attributes that it had read and does not know: {', '.join(lost)}")


def _judge_read(world: World, call: Call) -> Iterator[Violation]:
    """What a read hands out was stored while it ran; a while before, too, where it need not be consistent."""
    scope: Scope = call.arguments["scope"]
    if call.result is not None and scope.names.time_to_live is not None:
        tolerance = CLOCK_TOLERANCE_SECONDS + world.settings.skew_seconds_most
        if is_expired(scope.schema.to_item(call.result), scope, world.settings.begins_at_seconds + call.began - tolerance):
            yield _violation("expired", call, "handed out an item that had expired before it began")
    asked = call.arguments.get("consistent")
    consistent = scope.schema.version is not None if asked is None else asked
    states = _states_during(world, call, 0.0 if consistent else world.settings.stale_seconds_most)
    if not _is_among(call.result, states, scope, world, call):
        yield _violation("read", call, "handed out a state that was not stored while it ran" + ("" if consistent else ", nor shortly before"))


def _judge_handed_out(world: World, call: Call) -> Iterator[Violation]:
    """The entity that a write hands out is what it stored; the one that refused it was stored while it ran."""
    scope: Scope = call.arguments["scope"]
    applied, refused, error = call.applied, call.refused, call.error
    if applied is not None:
        yield from _judge_applied(world, call, scope, applied)
    elif refused is not None:
        yield from _judge_refusal(world, call, scope, refused)
    elif isinstance(error, WriteRefused) and error.item is not None and call.verb == "modify":
        yield from _judge_refusing_item(world, call, scope, error.item)


def _judge_applied(world: World, call: Call, scope: Scope, applied: Applied[Any]) -> Iterator[Violation]:
    if applied.gone:
        birth = getattr(stored_state(call.subject), "birth", None) if not isinstance(call.subject, Key) else None
        states = _states_during(world, call, 0.0)
        if not any(
            _is_absent(state, scope, world, call) or (birth is not None and state is not None and text_at(state, scope.names.birth) != birth)
            for state in states
        ):
            yield _violation("gone", call, "was told that the item is gone, and it was there all the time")
    elif applied.item is not None and call.verb != "delete":
        options = call.arguments.get("options")
        old = getattr(options, "returning", "new") == "old"
        key = key_of(call)
        # The claims of unique values are written with the item, and are nothing that is handed out.
        place = None if key is None else world.network.place_of(scope.table, key)
        states = [change.before if old else change.after for effect in call.effects() for change in effect.changes if place in (None, change.place)]
        if applied.recovered:
            states = [*states, *_states_during(world, call, 0.0)]
        if not any(state is not None and _is_state(applied.item, state, scope) for state in states):
            yield _violation("handed out", call, "handed out an entity that is not what it stored")


def _judge_cancellation(world: World, call: Call) -> Iterator[Violation]:
    """Each action that a cancelled transaction names as refused was so by what was stored under its own key while it ran.

    Not of a named one: what the service tells of it may be the answer to an earlier process.
    """
    told = call.result if isinstance(call.result, Canceled) else call.error
    if not isinstance(told, (Canceled, TransactionCanceled)):
        return
    for intent in call.arguments["draft"].intents:
        refusal = told.refusal_of(intent.marker)
        if refusal is None:
            continue
        scope: Scope = intent.scope
        states = world.ledger.states_between(world.network.place_of(scope.table, intent.key), call.began_position, call.ended_position)
        if refusal.item is not None and not _is_among(refusal.item, states, scope, world, call):
            yield _violation("refusing item", call, f"was told that an item refused its {intent.verb} that was not stored under that key while it ran")
        if refusal.reason is RefusalReason.ITEM_NOT_FOUND and not any(_is_absent(state, scope, world, call) for state in states):
            yield _violation("not found", call, f"was told that no item is stored for its {intent.verb}, and one was all the time")
        if refusal.reason is RefusalReason.ALREADY_EXISTS and not any(states):
            yield _violation("already exists", call, f"was told that an item is stored for its {intent.verb}, and none was at any time")


def _judge_refusing_item(world: World, call: Call, scope: Scope, item: Any) -> Iterator[Violation]:
    if not _is_among(item, _states_during(world, call, 0.0), scope, world, call):
        yield _violation("refusing item", call, "was refused by an item that was not stored while it ran")


def _judge_refusal(world: World, call: Call, scope: Scope, refused: Refused[Any]) -> Iterator[Violation]:
    states = _states_during(world, call, 0.0)
    if refused.item is not None:
        yield from _judge_refusing_item(world, call, scope, refused.item)
    if refused.reason is RefusalReason.ITEM_NOT_FOUND and not any(_is_absent(state, scope, world, call) for state in states):
        yield _violation("not found", call, "was told that no item is stored, and one was all the time")
    if refused.reason is RefusalReason.ALREADY_EXISTS and not any(states):
        yield _violation("already exists", call, "was told that an item is stored, and none was at any time")
    if refused.item is not None:
        stamp = getattr(stored_state(refused.item), "stamp", None)
        if refused.own_earlier_write and stamp not in _own_stamps(world, call):
            yield _violation("own earlier write", call, "was told that an own earlier write in doubt refused it, and it was another's")
        if not refused.own_earlier_write and stamp in _own_doubts(world, call):
            yield _violation("own earlier write", call, "was refused by an own earlier write in doubt, and was not told so")


def _own_doubts(world: World, call: Call) -> set[str | None]:
    """Stamps of this process's earlier writes that nobody knows the outcome of, and that are remembered when the call begins."""
    horizon = world.settings.horizon_seconds
    return _stamps_of(call, [other for other in _own_calls(world, call) if scopes_of(other) and _in_doubt(other) and call.began - other.began < horizon])


def _own_stamps(world: World, call: Call) -> set[str | None]:
    """Stamps of all writes of this process that may have been in doubt, however long ago.

    They are remembered by a clock that stands still with the process, so some for longer by that of the world. An operation of
    several writes, such as one of a recipe, may have come to an end that is known with a write that was in doubt.
    """
    return _stamps_of(call, [other for other in _own_calls(world, call) if _in_doubt(other) or not scopes_of(other)])


def _own_calls(world: World, call: Call) -> Iterator[Call]:
    return (other for other in world.ledger.calls[: call.number] if other.client == call.client and other.incarnation == call.incarnation)


def _in_doubt(call: Call) -> bool:
    return call.word in ("unknown", "interrupted")


def _stamps_of(call: Call, others: list[Call]) -> set[str | None]:
    """The stamps that the others stored, as the table of the call names them."""
    name = stamp_name(call)
    changes = (change for other in others for effect in other.effects() for change in effect.changes)
    return {text_at(change.after, name) for change in changes if change.after is not None} - {None}


def _states_during(world: World, call: Call, earlier_seconds: float) -> list[Item | None]:
    key = key_of(call)
    assert key is not None
    place = world.network.place_of(call.arguments["scope"].table, key)
    ledger = world.ledger
    first = call.began_position
    if earlier_seconds:
        began = call.began - earlier_seconds
        first = next((commit.position for commit in ledger.commits if commit.at > began), first)
        first = min(first, call.began_position)
    return ledger.states_between(place, first, call.ended_position)


def _is_among(entity: Any, states: list[Item | None], scope: Scope, world: World, call: Call) -> bool:
    if entity is None:
        return any(_is_absent(state, scope, world, call) for state in states)
    return any(state is not None and _is_state(entity, state, scope) for state in states)


def _is_absent(state: Item | None, scope: Scope, world: World, call: Call) -> bool:
    tolerance = CLOCK_TOLERANCE_SECONDS + world.settings.skew_seconds_most
    return state is None or is_expired(state, scope, world.settings.begins_at_seconds + (call.ended or call.began) + tolerance)


def _is_state(entity: Any, state: Item, scope: Scope) -> bool:
    found = stored_state(entity)
    if found is not None and scope.names.stamp is not None and text_at(state, scope.names.stamp) != found.stamp:
        return False
    decoded: bool = scope.schema.from_item(state) == entity
    return decoded


def _violation(rule: str, call: Call, text: str) -> Violation:
    return Violation(rule, f"the {call.verb} {call.number} of {call.client} {text}", client=call.client, call=call)
