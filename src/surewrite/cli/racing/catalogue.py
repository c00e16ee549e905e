"""Belongs here: the list of scenarios. Must not be here: running them."""

from __future__ import annotations

from surewrite.cli.racing.announcements import Announcements
from surewrite.cli.racing.appends import Appends
from surewrite.cli.racing.buffers import BufferedCounts
from surewrite.cli.racing.counter import ExactCounter
from surewrite.cli.racing.deletions import LateCreations
from surewrite.cli.racing.deposits import Deposits
from surewrite.cli.racing.events import OrderedEvents
from surewrite.cli.racing.handles import HandlesThatMove
from surewrite.cli.racing.ids import BlocksOfIds
from surewrite.cli.racing.invoices import GaplessInvoices
from surewrite.cli.racing.jobs import JobsTakenOnce
from surewrite.cli.racing.leases import TurnsUnderALease
from surewrite.cli.racing.payments import Payments
from surewrite.cli.racing.registration import Registration
from surewrite.cli.racing.results import QueuedResults
from surewrite.cli.racing.scenario import Scenario
from surewrite.cli.racing.shards import ShardedCount
from surewrite.cli.racing.stock import StockNotBelowZero
from surewrite.cli.racing.transfers import Transfers
from surewrite.cli.racing.windows import WindowedCounts

SCENARIOS: tuple[Scenario, ...] = (
    Deposits(),
    StockNotBelowZero(),
    Transfers(),
    Registration(),
    ExactCounter(),
    Appends(),
    OrderedEvents(),
    Payments(),
    Announcements(),
    GaplessInvoices(),
    BlocksOfIds(),
    QueuedResults(),
    JobsTakenOnce(),
    HandlesThatMove(),
    TurnsUnderALease(),
    ShardedCount(),
    WindowedCounts(),
    BufferedCounts(),
    LateCreations(),
)


def scenario_named(name: str) -> Scenario:
    """The scenario of that name."""
    return next(scenario for scenario in SCENARIOS if scenario.name == name)
