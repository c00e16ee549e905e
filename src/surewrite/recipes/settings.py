"""Belongs here: checks of settings that several recipes share. Must not be here: keys, settings of one recipe."""

from __future__ import annotations

import math

from surewrite.errors import InvalidRequest


def whole_number(value: object, what: str, *, most: int | None = None) -> int:
    """A setting that is a whole number from 1 on. Raises ``InvalidRequest``, which names ``what`` it is."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        raise InvalidRequest(f"{what}: a whole number from 1 {'on' if most is None else f'to {most}'}, not {value!r}")
    return value


def time_span(seconds: object, what: str, *, least: float | None = None) -> float:
    """A setting that is a time in seconds, above 0 or from ``least`` on, and not for ever. Raises ``InvalidRequest``, which names ``what`` it is."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not (seconds > 0.0 if least is None else least <= seconds) or seconds == math.inf:
        raise InvalidRequest(f"{what}: a number of seconds {'above 0' if least is None else f'from {least:g} on'} and not for ever, not {seconds!r}")
    return seconds


def time_to_wait(seconds: object, what: str) -> float:
    """A setting that is how long is waited at most, in seconds from 0 on, also for ever. Raises ``InvalidRequest``, which names ``what`` it is."""
    return math.inf if seconds == math.inf else time_span(seconds, what, least=0.0)


def plain_name(name: object, what: str) -> str:
    """A name that ends at the "#" of a key template. Raises ``InvalidRequest``, which names ``what`` has it."""
    if not isinstance(name, str) or not name or "#" in name:
        raise InvalidRequest(f'{what} has a name, a text that is not empty and without "#", not {name!r}')
    return name
