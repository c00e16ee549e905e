"""Belongs here: all scenarios by name. Must not be here: any of them."""

from __future__ import annotations

from collections.abc import Iterable

from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios import accounts, claims, expiry, foreign, items, matrix, transfers

SCENARIOS: tuple[Scenario, ...] = (
    *accounts.SCENARIOS,
    *items.SCENARIOS,
    *transfers.SCENARIOS,
    *claims.SCENARIOS,
    *expiry.SCENARIOS,
    *foreign.SCENARIOS,
    *matrix.SCENARIOS,
)


def scenarios_named(names: Iterable[str]) -> tuple[Scenario, ...]:
    """The scenarios of these names, all of them where none is given. Raises ``KeyError`` with the names that there are."""
    wanted = tuple(names)
    known = {scenario.name: scenario for scenario in SCENARIOS}
    strange = [name for name in wanted if name not in known]
    if strange:
        raise KeyError(f"no scenario {', '.join(strange)}; there are: {', '.join(sorted(known))}")
    return tuple(known[name] for name in wanted) if wanted else SCENARIOS
