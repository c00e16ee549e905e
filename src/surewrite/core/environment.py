"""Belongs here: what all operations of one database share. Must not be here: a clock, a connection, a decision."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace

from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.contention import Contention
from surewrite.core.forks import FORKS, Forks
from surewrite.core.frames import Frame
from surewrite.core.observation import Observation, Observer
from surewrite.core.registry import DoubtRegistry
from surewrite.core.traits import EndpointTraits
from surewrite.errors import InvalidRequest, SurewriteWarning


@dataclass(slots=True)
class Environment:
    """Settings and shared memory of one database. Times are in seconds."""

    traits: EndpointTraits
    timeout_seconds: float = 2.0
    deadline_seconds: float = 10.0
    observer: Observer | None = None
    doubts: DoubtRegistry = field(default_factory=DoubtRegistry)
    contention: Contention = field(default_factory=Contention)
    forks: Forks = FORKS
    frames: dict[tuple[object, ...], Frame] = field(default_factory=dict[tuple[object, ...], Frame], repr=False, compare=False)
    """What was compiled of the writes of this database, by what tells their kinds apart."""

    time_untold: bool = False
    """The service answered without telling its time, so that there is none but this machine's."""

    def __post_init__(self) -> None:
        """Raises ``InvalidRequest`` for limits that are no time."""
        _check_seconds("timeout", self.timeout_seconds)
        _check_seconds("deadline", self.deadline_seconds)

    def learn(self, *, tokens: bool | None = None, transactions: bool | None = None, old_item: bool | None = None, cancelled_items: bool | None = None) -> None:
        """Keep what was found out of the endpoint, so that it is asked once."""
        known = self.traits
        self.traits = replace(
            known,
            tokens=known.tokens if tokens is None else tokens,
            transactions=known.transactions if transactions is None else transactions,
            old_item=known.old_item if old_item is None else old_item,
            cancelled_items=known.cancelled_items if cancelled_items is None else cancelled_items,
        )

    def learn_of_time(self, answer: Answer) -> None:
        """Keep whether the service's answers tell its time."""
        if isinstance(answer, (Success, Rejection)):
            self.time_untold = answer.server_time is None

    def observe(self, observation: Observation) -> None:
        """Tell the observer. What it raises is told as a warning: the word of a write outranks it."""
        if self.observer is None:
            return
        try:
            self.observer(observation)
        except Exception as error:  # noqa: BLE001 - the observer is code of the developer
            # Where warnings are errors there is nobody left to tell.
            with suppress(SurewriteWarning):
                warnings.warn(f"the observer raised {type(error).__name__} on {observation.kind!r}: {error}", SurewriteWarning, stacklevel=2)


def _check_seconds(name: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise InvalidRequest(f"{name} is a number of seconds above 0, not {seconds!r}")
