"""Belongs here: all scenarios by name. Must not be here: any of them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios import (
    accounts,
    appends,
    claims,
    counters,
    expiry,
    foreign,
    guarded,
    idempotency,
    items,
    leases,
    matrix,
    ordered,
    outbox,
    sequences,
    transfers,
    uniqueness,
)
from surewrite.testing.simulator import require_greenlet

SCENARIOS: tuple[Scenario, ...] = (
    *accounts.SCENARIOS,
    *items.SCENARIOS,
    *transfers.SCENARIOS,
    *claims.SCENARIOS,
    *expiry.SCENARIOS,
    *foreign.SCENARIOS,
    *matrix.SCENARIOS,
    *leases.SCENARIOS,
    *sequences.SCENARIOS,
    *counters.SCENARIOS,
    *idempotency.SCENARIOS,
    *outbox.SCENARIOS,
    *ordered.SCENARIOS,
    *appends.SCENARIOS,
    *guarded.SCENARIOS,
    *uniqueness.SCENARIOS,
)


def scenarios_named(names: Iterable[str]) -> tuple[Scenario, ...]:
    """The scenarios of these names; all that can run here where none is given.

    Raises ``KeyError`` with the names that there are, and ``InvalidRequest`` for one with blocking clients where greenlet is missing.
    """
    wanted = tuple(names)
    known = {scenario.name: scenario for scenario in SCENARIOS}
    strange = [name for name in wanted if name not in known]
    if strange:
        raise KeyError(f"no scenario {', '.join(strange)}; there are: {', '.join(sorted(known))}")
    if wanted:
        for name in wanted:
            if known[name].blocking:
                require_greenlet(f"the scenario {name!r} has blocking clients")
        return tuple(known[name] for name in wanted)
    left_out = scenarios_left_out()
    return tuple(scenario for scenario in SCENARIOS if scenario not in left_out)


def scenarios_left_out() -> tuple[Scenario, ...]:
    """Those that cannot run here, because their clients are blocking ones and greenlet is not installed."""
    return () if find_spec("greenlet") is not None else tuple(scenario for scenario in SCENARIOS if scenario.blocking)
