"""Tools for the tests of users: fault plans, the simulator, histories and their checkers, fixtures for pytest.

Belongs here: the list of names that users import from here. Must not be here: logic. A name is loaded when it is first
asked for, since pytest loads this package wherever it is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite.testing.clients import AsyncClient, BlockingClient
    from surewrite.testing.fault_backend import AsyncFaultBackend, FaultBackend
    from surewrite.testing.faults import (
        ApplyLate,
        Cancel,
        Conflict,
        Crash,
        DamageAnswer,
        Deliver,
        FaultPlan,
        FaultRates,
        Freeze,
        HideItem,
        HoldOpen,
        InProgress,
        LoseAnswer,
        LoseRequest,
        NotSentAtAll,
        ReadInParts,
        ReadStale,
        Reject,
        SendTwice,
        ServerError,
        Step,
        Throttle,
        Where,
    )
    from surewrite.testing.proving import PromiseBroken, prove
    from surewrite.testing.pytest_plugin import SimulatedWorld
    from surewrite.testing.simulator import World
    from surewrite.testing.world_settings import FAULT_NAMES, WorldSettings, all_faults_but

_HOMES = {
    "FAULT_NAMES": "world_settings",
    "ApplyLate": "faults",
    "Cancel": "faults",
    "AsyncClient": "clients",
    "AsyncFaultBackend": "fault_backend",
    "BlockingClient": "clients",
    "Conflict": "faults",
    "Crash": "faults",
    "DamageAnswer": "faults",
    "Deliver": "faults",
    "FaultBackend": "fault_backend",
    "FaultPlan": "faults",
    "FaultRates": "faults",
    "Freeze": "faults",
    "HideItem": "faults",
    "HoldOpen": "faults",
    "InProgress": "faults",
    "LoseAnswer": "faults",
    "LoseRequest": "faults",
    "NotSentAtAll": "faults",
    "ReadInParts": "faults",
    "ReadStale": "faults",
    "PromiseBroken": "proving",
    "Reject": "faults",
    "SendTwice": "faults",
    "ServerError": "faults",
    "SimulatedWorld": "pytest_plugin",
    "Step": "faults",
    "Throttle": "faults",
    "Where": "faults",
    "World": "simulator",
    "WorldSettings": "world_settings",
    "all_faults_but": "world_settings",
    "prove": "proving",
}

__all__ = [
    "FAULT_NAMES",
    "ApplyLate",
    "AsyncClient",
    "AsyncFaultBackend",
    "BlockingClient",
    "Cancel",
    "Conflict",
    "Crash",
    "DamageAnswer",
    "Deliver",
    "FaultBackend",
    "FaultPlan",
    "FaultRates",
    "Freeze",
    "HideItem",
    "HoldOpen",
    "InProgress",
    "LoseAnswer",
    "LoseRequest",
    "NotSentAtAll",
    "PromiseBroken",
    "ReadInParts",
    "ReadStale",
    "Reject",
    "SendTwice",
    "ServerError",
    "SimulatedWorld",
    "Step",
    "Throttle",
    "Where",
    "World",
    "WorldSettings",
    "all_faults_but",
    "prove",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
