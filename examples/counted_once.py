"""A counter that counts every operation once: its id is stored with the count, so that asking again changes nothing."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime

import surewrite as sw
from surewrite import Attribute, Entity


class DailyTally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="DAY#{day}"):
    """The count of one day. The ids of a day lie in the item, so that each day is an item of its own."""

    name: Attribute[str]
    day: Attribute[date]
    count: Attribute[int] = sw.attribute(default=0)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


def count(tallies: sw.EntityTable[DailyTally], name: str, at: datetime, operation: str) -> bool:
    """Count the operation on the day of its own time, however often it is asked for. False if it was counted before."""
    counted = tallies.try_upsert(
        DailyTally.key_of(name, at.date()),
        DailyTally.count.add(1),
        DailyTally.seen.add(operation),
        condition=~DailyTally.seen.contains(operation),
    )
    return bool(counted)


def main(target: str = "memory:") -> None:
    """Count three sign-ups, and again after a restart that does not know how far it had come."""
    at = datetime(2026, 11, 29, 12, tzinfo=UTC)
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(DailyTally, exist_ok=True)
        tallies = shop.of(DailyTally)
        for run in ("first run", "after a restart"):
            new = sum(count(tallies, "signups", at, f"signup-{number}") for number in range(3))
            print(f"{run}: {new} counted")
        print(f"stored: {tallies.get(DailyTally.key_of('signups', at.date()), consistent=True).count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
