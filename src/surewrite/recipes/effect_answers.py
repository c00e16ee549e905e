"""Belongs here: what calls of leased effects are told: the claim, the words and the errors. Must not be here: taking a claim, records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from surewrite.core.effects import Moment
from surewrite.errors import OutcomeUnknown, SurewriteError
from surewrite.recipes.idempotency_records import IdempotencyRecord


class LeaseLost(SurewriteError):
    """The effect ran, but its claim was taken or ended before that could be recorded: another call may have run it too.

    ``answer`` is what the effect gave.
    """

    def __init__(self, message: str, *, key: Any = None, answer: Any = None) -> None:
        super().__init__(message, key=key)
        self.answer = answer


class EffectStillRunning(SurewriteError):
    """Another call with this key is under way. Nothing was run; trying again later is safe. ``seconds_left`` is what its lease has left."""

    def __init__(self, message: str, *, key: Any = None, seconds_left: float = 0.0) -> None:
        super().__init__(message, key=key)
        self.seconds_left = seconds_left


class EffectUnknown(OutcomeUnknown):
    """An earlier call with this key ran, or began to run, and its end was never recorded. Nothing was run by this one.

    Look whether the effect took place, then say ``record_done(key, answer)`` or ``allow_again(key)``.
    """


@dataclass(frozen=True, slots=True)
class EffectRunning:
    """Another call holds the claim. False. ``seconds_left`` is what its lease has left, by the service's clock."""

    seconds_left: float

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class EffectNotKnown:
    """An earlier call began, and whether its effect took place is not known; under *refuse* it is not run again. False."""

    attempt: int
    owner: str

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(slots=True)
class EffectClaim:
    """The right of one call to run the effect of a key. ``attempt`` rises with each claim of the key: hand it on as a fencing number."""

    key: str
    record: IdempotencyRecord

    @property
    def attempt(self) -> int:
        return self.record.attempt

    @property
    def owner(self) -> str:
        return self.record.owner

    def seconds_left(self, moment: Moment) -> float:
        """What the lease has left at that moment, by the service's clock."""
        return (self.record.lease_until or 0.0) - moment.server

    def __bool__(self) -> Literal[True]:
        return True
