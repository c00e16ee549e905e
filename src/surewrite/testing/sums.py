"""Belongs here: the invariant of counting scenarios: what is stored is what was told, give or take what is unknown. Must not be here: scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surewrite.core.keys import Key
from surewrite.testing.ledger import WRITE_VERBS
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import RESENT_BELOW

_MAYBE = frozenset({"unknown", "interrupted", "unfinished"})


def sum_is_told(key: Key[Any], field: str, *, each: int = 1, start: int = 0) -> Callable[[World], str | None]:
    """Every applied write added ``each`` to a number that began at ``start``; writes in doubt may have, and refused ones have not."""

    def check(world: World) -> str | None:
        entity = world.stored(key)
        found = start if entity is None else int(getattr(entity, field))
        stored = (found - start) // each
        writes = [call for call in world.ledger.calls if call.verb in WRITE_VERBS]
        applied = sum(call.word == "applied" for call in writes)
        maybe = sum(call.word in _MAYBE for call in writes)
        # What was told "perhaps more than once", or was sent again by the transport, may have counted any number of times.
        resent = any(attempt.fate == RESENT_BELOW for call in writes for attempt in call.attempts)
        repeated = resent or any(call.applied is not None and not call.applied.once for call in writes)
        if applied <= stored and (repeated or stored <= applied + maybe):
            return None
        return f"{field} went from {start} to {found}: {applied} writes of {each} were told applied, and {maybe} are in doubt"

    return check
