"""Belongs here: what all operations of one database share. Must not be here: a clock, a connection, a decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from surewrite.core.contention import Contention
from surewrite.core.forks import FORKS, Forks
from surewrite.core.observation import Observation, Observer
from surewrite.core.registry import DoubtRegistry
from surewrite.core.traits import EndpointTraits


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

    def learn(self, *, tokens: bool | None = None, transactions: bool | None = None, old_item: bool | None = None) -> None:
        """Keep what was found out of the endpoint, so that it is asked once."""
        known = self.traits
        self.traits = replace(
            known,
            tokens=known.tokens if tokens is None else tokens,
            transactions=known.transactions if transactions is None else transactions,
            old_item=known.old_item if old_item is None else old_item,
        )

    def observe(self, observation: Observation) -> None:
        if self.observer is not None:
            self.observer(observation)
