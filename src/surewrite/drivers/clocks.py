"""Belongs here: where a driver takes time, chance and ids from. Must not be here: who asks for them, or why."""

from __future__ import annotations

import os
import time
from binascii import b2a_base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.effects import Moment
from surewrite.core.forks import FORKS

# RFC 4648, 5: the letters that stand for + and / in addresses and file names.
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time in seconds: ``wall`` since 1970, ``monotonic`` from any fixed point, and how to let some pass.

    Give your own to ``connect(clock=...)`` in tests; a ``sleep`` that moves the other two on makes retries instant.
    ``async_sleep`` is for the async client, and ``None`` stands for ``asyncio.sleep``.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    async_sleep: Callable[[float], Awaitable[None]] | None = None


def id_from_the_system() -> str:
    """72 random bits as text. From the operating system: a private generator would repeat itself after a fork or a restored snapshot."""
    return b2a_base64(os.urandom(9), newline=False).translate(_URL_SAFE).decode("ascii")


def number_from_the_system() -> float:
    """A number in [0, 1) of 53 random bits, which is all that a float holds."""
    return (int.from_bytes(os.urandom(7), "big") >> 3) * 2.0**-53


@dataclass(frozen=True, slots=True)
class Chance:
    """Randomness: ``number`` in [0, 1) spreads retries, ``new_id`` names writes and must never repeat.

    Neither touches the global generator, whose state belongs to the program.
    """

    number: Callable[[], float] = number_from_the_system
    new_id: Callable[[], str] = id_from_the_system


class ServerOffset:
    """How far the service's clock is ahead of this machine's, in seconds, by the latest answer that told it.

    An answer was written at some moment between its request and its reading, so it tells a range, which is the wider the longer
    it lay unread. The service tells whole seconds, so a second more at either end is noise. While what was known lies in the
    range it stays. An answer that took very long tells nothing.
    """

    NOISE_SECONDS = 1.0
    ANSWER_SECONDS_MAX = 5.0

    __slots__ = ("known", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.known = False

    def learn(self, server_time: float, *, sent: float, read: float) -> bool:
        """Take the service's clock from an answer, if it tells it; ``sent`` and ``read`` are this machine's wall time before and after."""
        if not 0.0 <= read - sent <= self.ANSWER_SECONDS_MAX:
            return False
        self.known = True
        least, most = server_time - read, server_time - sent
        if not least - self.NOISE_SECONDS <= self.seconds <= most + self.NOISE_SECONDS:
            self.seconds = least
        return True


STEP_SECONDS: Final = 2.0
"""Where this machine's wall clock moved more than that against its monotonic one, it was set, and what was known of the service's is a guess again."""


class Instruments:
    """What both real drivers read and draw, the service's clock as its answers told it, and whose requests they send."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self.database: object = None
        self.offset = ServerOffset()
        self._apart_seconds = 0.0
        self._clock = clock
        self._chance = chance

    def moment(self) -> Moment:
        wall, monotonic = self._clock.wall(), self._clock.monotonic()
        known = self.offset.known and abs(wall - monotonic - self._apart_seconds) <= STEP_SECONDS
        return Moment(wall, wall + self.offset.seconds, monotonic, known)

    def draw(self) -> float:
        return self._chance.number()

    def new_id(self) -> str:
        return self._chance.new_id()

    def learn(self, answer: Answer, sent: float) -> None:
        """Take the service's clock from an answer that tells it; ``sent`` is this machine's wall time before the request."""
        if isinstance(answer, (Success, Rejection)) and answer.server_time is not None:
            read = self._clock.wall()
            if self.offset.learn(answer.server_time, sent=sent, read=read):
                self._apart_seconds = read - self._clock.monotonic()


# Not on systems without fork. Each driver takes its clock from this module, so no client is without it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=FORKS.count_one)
