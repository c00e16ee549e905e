"""Belongs here: small sequential specifications: what one item does when one thing happens after another. Must not be here: engine code, histories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from surewrite.testing.checker import Event


class Impossible:
    """An event that cannot happen in a state."""


IMPOSSIBLE: Final = Impossible()

Step = Callable[[Any, Event], Any]


@dataclass(frozen=True, slots=True)
class Model:
    """A sequential specification: the state that it begins in, and the state after an event, or ``IMPOSSIBLE``. States are hashable."""

    name: str
    initial: Any
    step: Step


def register(initial: Any = None) -> Model:
    """One value that can be absent (``None``).

    Actions, with their argument: ``write`` and ``change`` (the new value; a change needs one to be there), ``create`` (needs
    none), ``delete``, ``swap`` ((expected, new)), ``read`` (checked against the result), and ``refused create``,
    ``refused change``, ``refused swap``, which show what was there.
    """
    return Model("register", initial, _register_step)


def counter(initial: int = 0) -> Model:
    """A number: ``add`` an amount, ``read`` returns the number."""
    return Model("counter", initial, _counter_step)


def _register_step(state: Any, event: Event) -> Any:
    argument = event.argument
    match event.action:
        case "write":
            return argument
        case "change":
            return IMPOSSIBLE if state is None else argument
        case "create":
            return argument if state is None else IMPOSSIBLE
        case "delete":
            return IMPOSSIBLE if state is None else None
        case "swap":
            return argument[1] if state == argument[0] else IMPOSSIBLE
        case "read":
            return state if state == event.result else IMPOSSIBLE
        case "refused create":
            return IMPOSSIBLE if state is None else state
        case "refused change":
            return state if state is None else IMPOSSIBLE
        case "refused swap":
            return IMPOSSIBLE if state == argument[0] else state
        case _:
            raise ValueError(f"a register has no action {event.action!r}")


def _counter_step(state: int, event: Event) -> Any:
    match event.action:
        case "add":
            return state + event.argument
        case "read":
            return state if state == event.result else IMPOSSIBLE
        case _:
            raise ValueError(f"a counter has no action {event.action!r}")
