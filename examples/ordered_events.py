"""Events of one match that arrive late, twice and out of order: the item ends in the newest state and never moves back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

import surewrite as sw
from surewrite import Attribute, Entity


class LiveMatch(Entity, discriminator="LIVE_MATCH", partition_key="MATCH#{id}", sort_key="LIVE"):
    """The latest state. Score and status have a time of their own, so that a late score never undoes a newer status."""

    id: Attribute[str]
    home_goals: Attribute[int] = sw.attribute(default=0)
    away_goals: Attribute[int] = sw.attribute(default=0)
    score_at: Attribute[datetime | None] = sw.attribute(default=None)
    status: Attribute[str | None] = sw.attribute(default=None)
    status_at: Attribute[datetime | None] = sw.attribute(default=None)


@dataclass(frozen=True, slots=True)
class ScoreChanged:
    """An event as a queue delivers it."""

    match_id: str
    home: int
    away: int
    at: datetime


class EventOutcome(Enum):
    """What became of an event. All three can be acknowledged to the queue."""

    APPLIED = "applied"
    ALREADY_STORED = "already stored"
    SUPERSEDED = "superseded"


def apply(matches: sw.EntityTable[LiveMatch], change: ScoreChanged) -> EventOutcome:
    """Store the score if it is newer than what is stored."""
    outcome = matches.try_upsert(
        LiveMatch.key_of(change.match_id),
        LiveMatch.home_goals.set(change.home),
        LiveMatch.away_goals.set(change.away),
        LiveMatch.score_at.set(change.at),
        condition=LiveMatch.score_at.not_exists_or_lt(change.at),
    )
    if outcome:
        return EventOutcome.APPLIED
    return EventOutcome.ALREADY_STORED if outcome.existing.score_at == change.at else EventOutcome.SUPERSEDED


def main(target: str = "memory:") -> None:
    """Deliver four events, one of them late and one twice."""
    kick_off = datetime(2026, 11, 29, 18, tzinfo=UTC)
    scores = ((1, 0, 10), (2, 1, 50), (1, 1, 30), (2, 1, 50))
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(LiveMatch, exist_ok=True)
        matches = shop.of(LiveMatch)
        for home, away, minute in scores:
            outcome = apply(matches, ScoreChanged("m1", home, away, kick_off + timedelta(minutes=minute)))
            print(f"{home}:{away} of minute {minute}: {outcome.value}")
        match = matches.get(LiveMatch.key_of("m1"), consistent=True)
        print(f"stored: {match.home_goals}:{match.away_goals}")


if __name__ == "__main__":
    main(*sys.argv[1:])
