"""Belongs here: one writer of one side, in a process or thread of its own. Must not be here: starting or restarting writers, measuring."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surewrite.backends.targets import backend_for
from surewrite.cli.racing.catalogue import scenario_named
from surewrite.cli.racing.mortality import Abandoned, MortalBackend, abandon_this_thread, kill_this_process
from surewrite.cli.racing.network import DelayedBackend
from surewrite.cli.racing.scenario import RacePlan, Stage
from surewrite.client import connect
from surewrite.drivers.backend import Backend
from surewrite.testing.fault_backend import FaultBackend
from surewrite.testing.faults import FaultRates

Side = Literal["naive", "sure"]


@dataclass(frozen=True, slots=True)
class WriterTask:
    """All that a writer is told when it is started, or started again."""

    target: str
    table: str
    scenario: str
    side: Side
    writer: int
    plan: RacePlan
    loss: float
    life: int
    """How often this writer was started before: each life meets other faults."""
    requests_to_live: int | None = None


def write(task: WriterTask, tick: Callable[[], None], die: Callable[[], None]) -> None:
    """Run the writer to its end, or to the request that it does not survive."""
    delayed = DelayedBackend(backend_for(task.target), _seed(task))
    backend: Backend = FaultBackend(delayed, rates=_rates(task.loss), seed=_seed(task))
    if task.requests_to_live is not None:
        backend = MortalBackend(backend, task.requests_to_live, die)
    scenario = scenario_named(task.scenario)
    with connect(backend, deadline=20.0) as db:
        stage = Stage(db, task.table, task.writer, task.plan, tick)
        (scenario.naive if task.side == "naive" else scenario.sure)(stage)


def write_in_thread(task: WriterTask, tick: Callable[[], None]) -> bool:
    """The writer in this thread. False if it was abandoned in the middle."""
    try:
        write(task, tick, abandon_this_thread)
    except Abandoned:
        return False
    return True


def write_in_process(task: WriterTask, ticks: object) -> None:
    """The entry of a writer's process. ``ticks`` is a counter shared with the parent, without which it does not go on."""
    # An interrupt from the keyboard reaches the parent too, which ends its writers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def tick() -> None:
        with ticks.get_lock():  # type: ignore[attr-defined]
            ticks.value += 1  # type: ignore[attr-defined]

    write(task, tick, kill_this_process)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        kill_this_process()


def _rates(loss: float) -> FaultRates:
    """Answers are lost at the given rate, requests and a server error after the effect at half of it."""
    return FaultRates(lose_answer=loss, lose_request=loss / 2, error_after=loss / 2)


def _seed(task: WriterTask) -> int:
    side = 0 if task.side == "naive" else 1
    return ((task.plan.seed * 1000 + task.writer) * 10 + task.life) * 2 + side
