"""Belongs here: a schedule in words that a person follows. Must not be here: finding it."""

from __future__ import annotations

from surewrite.core.answers import Answer, NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.values import AttributeValue, Item
from surewrite.testing.explorer.search import Schedule, Search, State, Step
from surewrite.testing.explorer.stage import KEY

_STATE = {"revision": "version", "_s": "stamp", "_b": "birth"}


def story(search: Search, schedule: Schedule) -> tuple[str, ...]:
    """One line a step, then what is untrue. A is the client under test."""
    lines = [f"A sends {search.client.first.sending}."]
    lines += [_line(search, step, state) for step, state in schedule.steps]
    return (*lines, f"Untrue: {schedule.untrue}.")


def _line(search: Search, step: Step, state: State) -> str:
    kind, number, answer = step
    stored = _stored(search, state)
    match kind:
        case "carried out" | "carried out late" | "carried out again":
            late = {"carried out": "", "carried out late": ", late", "carried out again": ", as the transport sent it a second time"}[kind]
            return f"The service carries out {search.client.points[number].sending}{late}: {_answered(search.stage.answers[answer])}. {stored}"
        case "answered without effect":
            return f"The service does not carry out {search.client.points[number].sending}: {_answered(search.stage.answers[answer])}. {_then(search, state)}"
        case "told":
            return f"A receives the answer to {search.client.points[number].sending}: {_answered(search.stage.answers[answer])}. {_then(search, state)}"
        case "no answer":
            return f"A gets no answer to {search.client.points[number].sending}. {_then(search, state)}"
        case "frozen":
            return f"A is frozen for 14 minutes; the connection is gone, and so is the service's memory of the token. {_then(search, state)}"
        case "forgotten":
            return "Ten minutes pass: the service forgets the token."
        case _:
            return f"Another: {search.world.others[number].name}. {stored}"


def _then(search: Search, state: State) -> str:
    point = search.client.points[state.point]
    return f"A is told {point.told.text}." if point.told is not None else f"A sends {point.sending}."


def _answered(answer: Answer) -> str:
    match answer:
        case Success():
            return "done"
        case NoAnswer() | NotSent():
            return answer.detail
        case Rejection(code="ConditionalCheckFailedException", item=item):
            return f"refused by {describe(item)}"
        case Rejection(code="TransactionCanceledException", reasons=reasons):
            return f"cancelled: {', '.join(_reason(reason) for reason in reasons if reason.code != 'None')}"
        case Rejection(code=code):
            return f"turned away with {code}"


def _reason(reason: Reason) -> str:
    return f"refused by {describe(reason.item)}" if reason.code == "ConditionalCheckFailed" else reason.code


def _stored(search: Search, state: State) -> str:
    items = search.stage.items(state.database)
    return f"Stored now: {'; '.join(describe(item) for item in items) or 'nothing'}."


def describe(item: Item | None) -> str:
    """The item's attributes but its key, and those that hold nothing."""
    if item is None:
        return "no item"
    shown = [f"{_STATE.get(name, name)} {_text(value)}" for name, value in sorted(item.items()) if name not in (KEY, "id") and value != {"M": {}}]
    return f"{item[KEY]['S']} ({', '.join(shown)})" if shown else str(item[KEY]["S"])


def _text(value: AttributeValue) -> str:
    kind, content = next(iter(value.items()))
    match kind:
        case "M":
            return "{" + ", ".join(f"{name}: {_text(member)}" for name, member in content.items()) + "}"
        case "SS" | "NS":
            return "{" + ", ".join(content) + "}"
        case _:
            return str(content)
