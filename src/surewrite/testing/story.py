"""Belongs here: what happened in a world as text that a person follows. Must not be here: judging it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.keys import Key
from surewrite.core.values import Item
from surewrite.testing.ledger import Call, Commit, Execution
from surewrite.testing.simulator import World
from surewrite.testing.violations import Violation

Line = tuple[float, int, str, str]

_HIDDEN = ("_type",)
_QUIET = frozenset({"pause_before_run"})


def story_of(world: World, violation: Violation | None, remark: str = "") -> str:
    """One line for each thing that happened: the time in seconds, who, what. The violation stands above, and a remark on the run."""
    lines = sorted(_lines(world), key=lambda line: (line[0], line[1]))
    width = max((len(who) for _, _, who, _ in lines), default=0)
    told = [f"{at:9.3f}  {who:<{width}}  {text}" for at, _, who, text in lines]
    head = [] if violation is None else [f"{violation.rule}: {violation.text}", ""]
    if remark:
        head += [remark, ""]
    return "\n".join([*head, *told])


def _lines(world: World) -> Iterator[Line]:
    ledger = world.ledger
    for note in ledger.notes:
        yield note.at, note.tick, note.who, note.text
    for commit in ledger.commits:
        if commit.cause == "setup":
            yield commit.at, commit.tick, "setup", _changed(commit)
    for call in ledger.calls:
        if call.verb in _QUIET:
            continue
        yield call.began, call.began_tick, call.client, f"[{call.number}] {describe_call(call)}"
        for number, attempt in enumerate(call.attempts, 1):
            yield from _attempt_lines(call, number, attempt)
        if call.ended is not None:
            yield call.ended, call.ended_tick, call.client, f"[{call.number}] is told: {describe_word(call)}"


def _attempt_lines(call: Call, number: int, attempt: Any) -> Iterator[Line]:
    name = f"[{call.number}] attempt {number}"
    fate = f" ({attempt.fate})" if attempt.fate else ""
    yield attempt.sent_at, attempt.tick, call.client, f"{name}: {attempt.request.operation} sent{fate}"
    for execution in attempt.executions:
        yield execution.at, execution.tick, "service", f"{name} of {call.client} executed: {_executed(execution)}"
    if attempt.answered_at is not None and not isinstance(attempt.answer, Success):
        yield attempt.answered_at, attempt.answered_tick, call.client, f"{name}: {_answered(attempt.answer)}"


def describe_call(call: Call) -> str:
    """The operation and what it is about."""
    scope = call.arguments.get("scope")
    draft = call.arguments.get("draft")
    if draft is not None:
        name = f" named {draft.name!r}" if draft.name is not None else ""
        return f"commit of a transaction{name}: " + "; ".join(f"{intent.verb} {intent.scope.entity} {_key_text(intent.key)}" for intent in draft.intents)
    if call.verb == "execute":
        return f"{call.arguments.get('operation')} of its own"
    parts = [call.verb]
    if scope is not None:
        parts.append(scope.entity)
    subject = call.subject
    if subject is not None:
        parts.append(_subject_text(scope, subject))
    changes = call.arguments.get("changes")
    if changes:
        parts.append(f"({len(changes)} change(s))")
    return " ".join(parts)


def describe_word(call: Call) -> str:
    """What the caller was told."""
    if call.error is not None:
        return f"{call.word}: {type(call.error).__name__}"
    result = call.result
    match call.word:
        case "applied":
            extras = [name for name in ("recovered", "gone") if getattr(result, name, False)]
            if getattr(result, "once", True) is False:
                extras.append("perhaps more than once")
            return ", ".join(["applied", *extras])
        case "refused":
            reason = getattr(result, "reason", None)
            return f"refused: {reason.value}" if reason is not None else "refused: the transaction was cancelled"
        case "read":
            return "no item" if result is None else _entity_text(result)
        case _:
            return call.word


def _subject_text(scope: Any, subject: Any) -> str:
    if scope is None:
        return ""
    key = scope.schema.key_item(subject) if isinstance(subject, Key) else scope.schema.key_of_entity(subject)
    version = getattr(subject, scope.schema.version.name, None) if scope.schema.version is not None and not isinstance(subject, Key) else None
    return _key_text(key) + (f" read at version {version}" if version is not None else "")


def _entity_text(entity: object) -> str:
    stored: dict[str, Any] = entity.__dict__
    shown = ", ".join(f"{name}={value!r}" for name, value in stored.items() if not name.startswith("_"))
    return f"{type(entity).__name__} {shown}"


def _key_text(key: Item) -> str:
    return "/".join(str(next(iter(value.values()))) for value in key.values())


def _executed(execution: Execution) -> str:
    if not execution.changes:
        return "nothing changed" if isinstance(execution.answer, Success) else _answered(execution.answer)
    return "; ".join(_changed(commit) for commit in execution.changes)


def _changed(commit: Commit) -> str:
    if commit.after is None:
        return f"the item is deleted (it was {_item_text(commit.before)})"
    if commit.before is None:
        return f"stored {_item_text(commit.after)}"
    changed = {name: value for name, value in commit.after.items() if commit.before.get(name) != value}
    gone = [f"no {name}" for name in commit.before if name not in commit.after]
    return "now " + ", ".join([f"{name}={_value_text(value)}" for name, value in changed.items()] + gone) if changed or gone else "written as it was"


def _item_text(item: Item | None) -> str:
    return ", ".join(f"{name}={_value_text(value)}" for name, value in (item or {}).items() if name not in _HIDDEN)


def _value_text(value: Any) -> str:
    return str(next(iter(value.values())))


def _answered(answer: Answer | None) -> str:
    match answer:
        case None:
            return "not answered"
        case Success():
            return "answered"
        case Rejection(code=code, reasons=reasons):
            inner = f" [{', '.join(reason.code for reason in reasons)}]" if reasons else ""
            return f"{code}{inner}" + (", after a resend by the transport" if answer.resent else "")
        case NoAnswer(detail=detail) | NotSent(detail=detail):
            return detail
