"""Belongs here: the parameters of a simulated world and which faults exist in it, as data. Must not be here: making a fault happen."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal

Sweep = Literal["never", "early", "late"]

BEGINS_AT_SECONDS: Final = 1_800_000_000.0
"""2027-01-15T08:00:00Z. Never the real date: a run that failed once must fail in the same way on every other day."""

Fate = Literal[
    "request lost",
    "answer lost",
    "late",
    "error before",
    "error after",
    "answer damaged",
    "throttled",
    "conflict",
    "held open",
    "in progress",
    "item hidden",
    "refused otherwise",
    "not sent",
    "resent by the transport",
    "stale",
    "read in parts",
]
"""What may become of one attempt, besides being executed and answered.

``request lost``: never executed, no answer. ``answer lost``: executed, no answer. ``late``: no answer, executed up to the
horizon later. ``error before`` and ``error after``: status 500 instead of, or after, being executed. ``answer damaged``:
executed, and the answer cannot be read. ``throttled``, ``conflict``: a definite no that another attempt may pass. ``held
open``: a transaction whose commit takes its time; meanwhile others conflict and its token is in progress. ``in progress``: the same answer, for a
copy of it that nobody sees. ``item hidden``, by plan only: a refusal without the item that refused,
from an endpoint that else shows it. ``refused
otherwise``: a definite no of another kind (rights, no such table). ``not sent``: proven by the transport. ``resent by the
transport``: executed twice, and only the second answer comes. ``stale``: an eventually consistent read sees an older state. ``read
in parts``: a query reads its first rows at one moment and the others later.
"""

Interrupt = Literal["cancelled", "crashed", "frozen"]
"""What may befall a client while it waits: its call is cancelled, its process ends and is started again, its process stands still."""

WRITE_FATES: Final[tuple[Fate, ...]] = (
    "request lost",
    "answer lost",
    "late",
    "error before",
    "error after",
    "answer damaged",
    "throttled",
    "conflict",
    "refused otherwise",
    "not sent",
    "resent by the transport",
)
TRANSACTION_FATES: Final[tuple[Fate, ...]] = (*WRITE_FATES, "held open", "in progress")
READ_FATES: Final[tuple[Fate, ...]] = ("request lost", "answer lost", "error before", "throttled", "not sent", "stale", "read in parts")
RESENT_BELOW: Final = "resent by the transport"
INTERRUPTS: Final[tuple[Interrupt, ...]] = ("cancelled", "crashed", "frozen")

FAULT_NAMES: Final[tuple[str, ...]] = (*dict.fromkeys((*TRANSACTION_FATES, *READ_FATES)), *INTERRUPTS)


def all_faults_but(*names: str) -> frozenset[str]:
    """Every fault that chance may bring, without some."""
    return frozenset(FAULT_NAMES) - frozenset(names)


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """The parameters of a world; times in seconds.

    ``horizon_seconds``: how long after it was sent an attempt may be executed. ``token_life_seconds`` and
    ``signature_life_seconds``: as the service keeps them. ``tokens_ignored``: the endpoint knows no client request tokens.
    ``tokens_known``: clients know beforehand whether it does. ``cancelled_originals_remembered``: what the service does not
    document. ``refusals_show_items``: a refusal carries the item that refused, if asked. ``transport_resends``: the
    transport below the clients sends by itself again. ``skew_seconds_most``: how far apart clocks are. ``freeze_seconds_most``:
    how long a process may stand still. ``stale_seconds_most``: how old an eventually consistent read may be. ``sweep``: when
    expired items are deleted. ``latency_seconds_most``: of one way of a message. ``begins_at_seconds``: what the world's clock
    shows when it begins, in seconds since 1970.
    """

    horizon_seconds: float = 300.0
    token_life_seconds: float = 600.0
    signature_life_seconds: float = 300.0
    tokens_ignored: bool = False
    tokens_known: bool = True
    cancelled_originals_remembered: bool = False
    refusals_show_items: bool = True
    transport_resends: bool = False
    skew_seconds_most: float = 0.0
    freeze_seconds_most: float = 900.0
    stale_seconds_most: float = 2.0
    sweep: Sweep = "never"
    latency_seconds_most: float = 0.02
    timeout_seconds: float = 2.0
    deadline_seconds: float = 10.0
    begins_at_seconds: float = BEGINS_AT_SECONDS

    def to_json(self) -> dict[str, Any]:
        """What differs from a plain world."""
        plain = WorldSettings()
        return {name: value for name, value in asdict(self).items() if value != getattr(plain, name)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> WorldSettings:
        """Raises ``ValueError`` for a parameter that does not exist."""
        known = {field.name for field in fields(cls)}
        strange = sorted(set(content) - known)
        if strange:
            raise ValueError(f"a world has no parameter {', '.join(strange)}")
        return cls(**content)


@dataclass(frozen=True, slots=True)
class SwarmRates:
    """How often each fault happens, out of 1 at each point where it can. Absent means never."""

    rates: Mapping[str, float]

    def of(self, names: tuple[str, ...], *, without: frozenset[str] = frozenset()) -> tuple[tuple[tuple[str, float], ...], float]:
        """The rates of some faults, in the order of their names, and their sum."""
        found = tuple((name, self.rates[name]) for name in names if self.rates.get(name, 0.0) > 0.0 and name not in without)
        return found, sum(rate for _, rate in found)


NOTHING_BY_CHANCE: Final = SwarmRates({})


MOST_OF_ALL_FAULTS: Final = (0.1, 0.3, 0.6)
"""The share of attempts that meet a fault: seldom, often, or more often than not."""

INTERRUPT_SHARE: Final = 0.15


def draw_rates(chance: random.Random, *, allowed: frozenset[str] | None = None) -> SwarmRates:
    """Swarm style: which faults exist in a run, and how often, is drawn for the run as a whole.

    Runs in which everything may happen seldom go deep into one thing; leaving faults out lets others show what they do alone.
    """
    names = [name for name in FAULT_NAMES if allowed is None or name in allowed]
    existing = [name for name in names if chance.random() < 0.4]
    fates = [name for name in existing if name not in INTERRUPTS]
    total = chance.choice(MOST_OF_ALL_FAULTS)
    weights = {name: chance.random() for name in fates}
    whole = sum(weights.values()) or 1.0
    rates = {name: total * weight / whole for name, weight in weights.items()}
    for name in existing:
        if name in INTERRUPTS:
            rates[name] = INTERRUPT_SHARE * chance.random()
    return SwarmRates(rates)


def draw_settings(chance: random.Random, base: WorldSettings) -> WorldSettings:
    """What nobody documents, and what differs between endpoints, is drawn for the run; what ``base`` sets apart from a plain world stays."""
    plain = WorldSettings()
    drawn = replace(
        base,
        cancelled_originals_remembered=chance.random() < 0.5,
        refusals_show_items=chance.random() < 0.9,
        transport_resends=chance.random() < 0.1,
        skew_seconds_most=chance.choice((0.0, 0.5, 120.0)),
        sweep=chance.choice(("never", "early", "late")),
        latency_seconds_most=chance.choice((0.02, 0.2, 1.0)),
    )
    changed = {field.name: getattr(base, field.name) for field in fields(base) if getattr(base, field.name) != getattr(plain, field.name)}
    return replace(drawn, **changed)
