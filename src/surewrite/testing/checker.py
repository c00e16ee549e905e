"""Belongs here: is this history of one item possible under that model: yes, no with the smallest explanation, or out of budget.

Must not be here: running anything, models.

Linearizability: each event takes effect at one moment between its call and its word, such that the results are those of
the model. An event in doubt may do so later, or never; an idempotent write in doubt may do so several times. The search
places one event after another and remembers which sets of placed events led to which state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite.testing.models import Model

BUDGET_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Event:
    """One call on one item.

    ``began`` and ``ended`` are its times; ``ended`` is infinite for a call without a word. ``required``: it took effect
    before it ended; otherwise at some moment up to ``until``, or never. ``repeats``: it may take effect again, up to ``until``.
    ``observes``: it changes nothing, so a history without it is weaker.
    """

    action: str
    began: float
    ended: float
    argument: Any = None
    result: Any = None
    required: bool = True
    repeats: bool = False
    until: float = math.inf
    observes: bool = False
    who: str = ""

    def __str__(self) -> str:
        argument = "" if self.argument is None else f" {self.argument!r}"
        result = f" = {self.result!r}" if self.observes and self.action == "read" else ""
        doubt = "" if self.required else " (in doubt)"
        end = "no end" if math.isinf(self.ended) else f"{self.ended:.3f}"
        return f"{self.began:.3f} to {end}  {self.who}  {self.action}{argument}{result}{doubt}"


@dataclass(frozen=True, slots=True)
class Possible:
    """The history is possible. ``order`` is one order of effects that explains it, as numbers of its events."""

    order: tuple[int, ...]

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class NotPossible:
    """No order explains the history. ``events`` is the smallest part that was found for which none does."""

    model: str
    events: tuple[Event, ...]

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        lines = "\n".join(f"  {event}" for event in self.events)
        return f"no order of these explains what was seen of the {self.model}:\n{lines}"


@dataclass(frozen=True, slots=True)
class OutOfBudget:
    """The search was given up after so many steps; nothing is known."""

    steps: int

    def __bool__(self) -> bool:
        return False


Verdict = Possible | NotPossible | OutOfBudget


def check_history(model: Model, events: Sequence[Event], *, budget: int = BUDGET_STEPS) -> Verdict:
    """Whether some order of effects explains the history. ``budget`` bounds the search in steps."""
    search = _Search(model, events, budget)
    order = search.explain()
    if order is not None:
        return Possible(order)
    if search.steps >= budget:
        return OutOfBudget(search.steps)
    return NotPossible(model.name, _smallest(model, events, budget))


class _Search:
    """Depth first over (which events took effect, state), each looked at once."""

    def __init__(self, model: Model, events: Sequence[Event], budget: int) -> None:
        self._model = model
        self._events = events
        self._budget = budget
        self.steps = 0

    def explain(self) -> tuple[int, ...] | None:
        required = sum(1 << index for index, event in enumerate(self._events) if event.required)
        seen: set[tuple[int, Any]] = set()
        waiting: list[tuple[int, Any, tuple[int, ...]]] = [(0, self._model.initial, ())]
        while waiting and self.steps < self._budget:
            done, state, order = waiting.pop()
            if done & required == required:
                return order
            if (done, state) in seen:
                continue
            seen.add((done, state))
            for index in self._next(done):
                self.steps += 1
                after = self._after(state, index)
                if after is not None:
                    waiting.append((done | 1 << index, after[0], (*order, index)))
        return None

    def _after(self, state: Any, index: int) -> tuple[Any] | None:
        after = self._model.step(state, self._events[index])
        return None if type(after).__name__ == "Impossible" else (after,)

    def _next(self, done: int) -> list[int]:
        """Events that may take effect now: none that had to come before them is left, and their time is not over."""
        events = self._events
        first_end = min((event.ended for index, event in enumerate(events) if event.required and not done >> index & 1), default=math.inf)
        latest = max((event.began for index, event in enumerate(events) if done >> index & 1), default=-math.inf)
        found: list[int] = []
        for index, event in enumerate(events):
            placed = bool(done >> index & 1)
            if event.began > first_end or (placed and not event.repeats):
                continue
            if latest > event.until and (placed or not event.required):
                continue
            found.append(index)
        # The event that ends first is looked at first: most histories are explained by the order of their words.
        return sorted(found, key=lambda index: -events[index].ended)


def _smallest(model: Model, events: Sequence[Event], budget: int) -> tuple[Event, ...]:
    """The shortest beginning of the history that no order explains, without the observations that it does not need."""
    part = list(events)
    for end in sorted(event.ended for event in events if event.required):
        beginning = [_as_seen_at(event, end) for event in events if event.began <= end]
        if not _explained(model, beginning, budget):
            part = beginning
            break
    for event in [event for event in part if event.observes]:
        without = [other for other in part if other is not event]
        if not _explained(model, without, budget):
            part = without
    return tuple(event for event in part if event.required or not event.observes)


def _as_seen_at(event: Event, moment: float) -> Event:
    """A call that has no word yet at that moment may have taken effect, or not."""
    return event if event.ended <= moment else replace(event, required=False)


def _explained(model: Model, events: Sequence[Event], budget: int) -> bool:
    search = _Search(model, events, budget)
    return search.explain() is not None or search.steps >= budget
