"""Belongs here: what a told word promises of the times that the write took effect, by class. Must not be here: schedules.

The classes are those of ``Guard``. A write that is guarded, or never resent, took effect at most once whatever it was
told; an idempotent write without a guard any number of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from surewrite.core.plans import stored_text
from surewrite.core.values import Item
from surewrite.testing.explorer.clients import Point, Told
from surewrite.testing.explorer.stage import LAYOUT

Kind = Literal["once", "any number", "operation"]


@dataclass(frozen=True, slots=True)
class Promise:
    """What must be true for ever from the moment that the caller was told.

    ``kind``: ``once``, at most once, and applied is exactly once; ``any number``, applied is at least once, and exactly
    once where the outcome says so; ``operation``, as ``once`` for all who carry the operation's id together.
    ``life``: a write of a loaded entity, whose word "gone" says that the loaded life of the item is over.
    ``order``: a write of this order in the amount, whose word "superseded" says that the order that is stored stays.
    ``settles``: unknown is told only where something sent to settle the write was not answered.
    """

    kind: Kind
    life: str | None = None
    order: int | None = None
    settles: bool = False


ONCE = Promise("once")
ANY_NUMBER = Promise("any number")
TRANSACTION = Promise("once", settles=True)


def breach(promise: Promise, point: Point, effects: int, item: Item | None) -> str | None:
    """What is untrue of the word at this point, or ``None``."""
    told = point.told
    if told is None:
        return None
    if promise.settles and told.word == "unknown" and not point.unsettled:
        return "told unknown, though everything that was sent to settle it was answered"
    if _counts_right(promise, told, effects):
        return _breach_of_finer_word(promise, told, item)
    times = {0: "never took effect", 1: "took effect", 2: "took effect twice"}.get(effects, f"took effect {effects} times")
    return f"told {told.text}, {times}"


def _breach_of_finer_word(promise: Promise, told: Told, item: Item | None) -> str | None:
    if told.gone and promise.life is not None and item is not None and stored_text(item, LAYOUT.birth) == promise.life:
        return "told gone, and the item that was loaded is still there"
    if told.superseded and promise.order is not None and (item is None or int(item["amount"]["N"]) < promise.order):
        return "told superseded, and no newer order is stored"
    return None


def _counts_right(promise: Promise, told: Told, effects: int) -> bool:
    many = promise.kind == "any number"
    match told.word:
        case "applied" if told.gone:
            return many or effects <= 1
        case "applied":
            return effects == 1 if told.once or not many else effects >= 1
        case "refused":
            return effects == 0 if promise.kind != "operation" else effects <= 1
        case "unknown":
            return many or effects <= 1
