"""Belongs here: the guarantee table, applied to what happened: is each word true, did each write take effect as often as its class allows.

Must not be here: running a world, invariants of one scenario.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from surewrite.core.answers import Rejection
from surewrite.testing.ledger import WRITE_VERBS, Call, Execution, Ledger
from surewrite.testing.states import birth_name, stamp_name, text_at
from surewrite.testing.violations import Violation
from surewrite.testing.world_settings import RESENT_BELOW
from surewrite.testing.write_classes import WriteClass, class_of_write

_STAMP = re.compile(r"(-|\d+):[A-Za-z0-9_-]{12}(\.\d+)?")


def violations_of(ledger: Ledger) -> Iterator[Violation]:
    """Every word that is not true, and every write that took effect too often. Nothing where all is as the table says."""
    for call in ledger.calls:
        if call.verb in WRITE_VERBS:
            effects = operation_effects(ledger, call)
            yield from _judge_word(call, effects)
            if len(effects) > 1 and effects[0].attempt.call is call:
                yield from _judge_repeats(ledger, call, effects)
            yield from _judge_recognition(call)
            yield from _judge_strangeness(call)


def operation_effects(ledger: Ledger, call: Call) -> list[Execution]:
    """What the call's attempts changed, or those of the same operation where it has a name of its own.

    A named transaction is the same one in whichever call; an update that adds an operation id is told applied where the id
    was counted before.
    """
    own = call.effects()
    draft = call.arguments.get("draft")
    if draft is not None and draft.name is not None:
        same = [other for other in ledger.calls if other.verb == "commit" and other.arguments["draft"].name == draft.name]
    elif not own and call.applied is not None and call.applied.recovered and call.verb == "update":
        trees = _change_trees(call)
        same = [other for other in ledger.calls if other.verb == "update" and _change_trees(other) == trees]
    else:
        return own
    return sorted((effect for other in same for effect in other.effects()), key=lambda effect: effect.tick)


def _change_trees(call: Call) -> list[Any]:
    return [change.tree for change in call.arguments["changes"]]


def _judge_word(call: Call, effects: list[Execution]) -> Iterator[Violation]:
    match call.word:
        case "applied":
            before = [effect for effect in effects if effect.tick < call.ended_tick]
            if not before and not _is_gone(call) and _writes_something(call):
                late = " (it did later)" if effects else ""
                yield _violation("told applied, without effect", call, f"was told applied, and had taken no effect{late}")
        case "refused":
            if effects:
                yield _violation("told refused, took effect", call, f"was told refused ({_told(call)}), and took effect {_times(effects)}")
        case "unknown":
            # A named operation may have been begun by an earlier process, so it is in doubt from the start.
            if not call.was_in_doubt and getattr(call.arguments.get("draft"), "name", None) is None:
                yield _violation("unknown without doubt", call, "was told unknown, and every attempt had been answered")
        case _:
            return


def _judge_repeats(ledger: Ledger, call: Call, effects: list[Execution]) -> Iterator[Violation]:
    """A write took effect more than once: its class must allow it, and its word must not say otherwise."""
    if len({_content(effect) for effect in effects}) > 1:
        yield _violation("two writes of one call", call, f"sent two different writes, and both took effect ({_times(effects)})")
        return
    request = effects[0].attempt.request
    kind = class_of_write(request, stamp_name(call) or "_s")
    said_once = call.applied is not None and call.applied.once
    same_life = _in_one_life(ledger, effects)
    # A transport that sends by itself again is beyond the library: it counts additions twice, and brings stamps back. What
    # the library must not do then is to say "once" of its own write that was sent again.
    repeated_below = call.allows_repeats or any(attempt.fate == RESENT_BELOW for attempt in call.attempts)
    brought_back = kind is WriteClass.STAMPED and any(attempt.fate == RESENT_BELOW for other in ledger.calls for attempt in other.attempts)
    allowed = (
        brought_back or kind is WriteClass.IDEMPOTENT or (kind is WriteClass.NOT_IDEMPOTENT and repeated_below) or (kind is WriteClass.LIFE and not same_life)
    )
    if not allowed:
        yield _violation("took effect twice", call, f"took effect {_times(effects)}, and may do so {kind.value}")
    elif said_once and kind is not WriteClass.LIFE and not brought_back:
        yield _violation("said once, took effect twice", call, f"was told that it took effect once, and took effect {_times(effects)}")


def _judge_recognition(call: Call) -> Iterator[Violation]:
    """The item that refused the last attempt carries a stamp of the call itself: the word can only be applied."""
    if call.word not in ("refused", "unknown") or not call.attempts or call.verb in ("modify", "commit"):
        return
    answer = call.attempts[-1].answer
    item = answer.item if isinstance(answer, Rejection) else None
    if item is None:
        return
    stamp, birth = stamp_name(call), birth_name(call)
    stamps = {text_at(change.after, stamp) for effect in call.effects() for change in effect.changes if change.after is not None}
    if {text_at(item, stamp), text_at(item, birth)} & (stamps - {None}):
        yield _violation("own write not recognised", call, f"was told {call.word}, and the item that refused it carries its own stamp")


def _judge_strangeness(call: Call) -> Iterator[Violation]:
    """The library itself failed: an error that is none of its own."""
    if call.word == "failed" and call.verb != "modify":
        yield _violation("the library failed", call, f"raised {type(call.error).__name__}: {call.error}")


def _content(effect: Execution) -> str:
    """What stays the same for every attempt of one write: all of it but stamps, and the token of a transaction."""
    body = effect.attempt.request.body
    return json.dumps(body.get("TransactItems") or {name: _without_stamps(value) for name, value in body.items()}, sort_keys=True)


def _without_stamps(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    return {name: member for name, member in members.items() if not _is_stamp(member)}


def _is_stamp(value: Any) -> bool:
    return isinstance(value, dict) and _STAMP.fullmatch(str(cast("dict[str, Any]", value).get("S"))) is not None


def _is_gone(call: Call) -> bool:
    return call.applied is not None and call.applied.gone


def _writes_something(call: Call) -> bool:
    draft = call.arguments.get("draft")
    return draft is None or any(intent.verb != "check" for intent in draft.intents)


def _in_one_life(ledger: Ledger, effects: list[Execution]) -> bool:
    """Whether two of the effects met the same life of the item: nobody deleted it in between, nor made it anew."""
    birth = birth_name(effects[0].attempt.call)
    for one, other in pairwise(effects):
        first, second = one.changes[0], other.changes[0]
        between = [commit for commit in ledger.by_place[first.place] if first.position < commit.position < second.position]
        ended = any(commit.after is None or (commit.before is not None and text_at(commit.before, birth) != text_at(commit.after, birth)) for commit in between)
        if not ended and first.after is not None:
            return True
    return False


def _times(effects: list[Execution]) -> str:
    return "at " + ", ".join(f"{effect.at:.3f}" for effect in effects)


def _told(call: Call) -> str:
    if call.error is not None:
        return type(call.error).__name__
    reason = getattr(call.result, "reason", None)
    return reason.value if reason is not None else "cancelled"


def _violation(rule: str, call: Call, text: str) -> Violation:
    return Violation(rule, f"the {call.verb} {call.number} of {call.client} {text}", client=call.client, call=call)
