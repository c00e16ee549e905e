"""Belongs here: running the sides of a scenario, with one writer killed and restarted. Must not be here: what a writer does, text for people."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from surewrite.backends.targets import backend_for
from surewrite.cli.racing.scenario import Measured, RacePlan, Scenario
from surewrite.cli.racing.writers import Side, WriterTask, write_in_process, write_in_thread
from surewrite.client import connect
from surewrite.errors import SurewriteError

POLL_SECONDS = 0.05


class WriterFailed(SurewriteError):
    """A writer ended by something else than the kill that was meant for it."""


@dataclass(frozen=True, slots=True)
class Race:
    """Where and how hard is raced. ``run`` keeps the tables of several runs on one backend apart."""

    target: str
    plan: RacePlan
    loss: float
    run: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one scenario came to."""

    scenario: Scenario
    expected: Any
    naive: Measured
    sure: Measured

    @property
    def right(self) -> bool:
        """Whether Surewrite left exactly what was expected."""
        return bool(self.sure.value == self.expected) and self.sure.consistent

    @property
    def naive_right(self) -> bool:
        return bool(self.naive.value == self.expected) and self.naive.consistent


def run_scenario(race: Race, scenario: Scenario, report: Callable[[int, str], None]) -> Verdict:
    """Run both sides, each on a table of its own, and measure what they left. ``report`` is told operations done and what is running."""
    naive = _run_side(race, scenario, "naive", lambda done: report(done, f"{scenario.name}: as people write it"))
    before = scenario.operations(race.plan)
    sure = _run_side(race, scenario, "sure", lambda done: report(before + done, f"{scenario.name}: with Surewrite"))
    return Verdict(scenario, scenario.expected(race.plan), naive, sure)


def _run_side(race: Race, scenario: Scenario, side: Side, report: Callable[[int], None]) -> Measured:
    table = f"race-{race.run}-{scenario.name}-{side}"
    with connect(backend_for(race.target)) as db:
        scenario.prepare(db, table, race.plan)
        tasks = [WriterTask(race.target, table, scenario.name, side, writer, race.plan, race.loss, life=0) for writer in range(race.plan.writers)]
        # In the middle of the first writer's work, and not always between the same two requests of an operation.
        tasks[0] = replace(tasks[0], requests_to_live=max(2, race.plan.rounds // 2) + race.plan.seed % 3)
        (_in_threads if race.target.startswith("memory:") else _in_processes)(tasks, report)
        measured = scenario.measure(db, table, race.plan)
        db.execute("DeleteTable", {"TableName": table})
        return measured


def reborn(task: WriterTask) -> WriterTask:
    """The same writer after its death: with nothing but its own number and what the table holds."""
    return replace(task, life=task.life + 1, requests_to_live=None)


def _in_threads(tasks: list[WriterTask], report: Callable[[int], None]) -> None:
    done = _Counter()
    failures: list[BaseException] = []

    def work(task: WriterTask) -> None:
        try:
            if not write_in_thread(task, done.add):
                write_in_thread(reborn(task), done.add)
        except BaseException as failure:  # noqa: BLE001 - raised below, in the thread that measures
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(task,), name=f"writer-{task.writer}", daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            report(done.value)
    if failures:
        raise failures[0]


class _Counter:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add(self) -> None:
        with self._lock:
            self.value += 1


def _in_processes(tasks: list[WriterTask], report: Callable[[int], None]) -> None:
    context = _context()
    ticks = context.Value("q", 0)
    running = [(task, _started(context, task, ticks)) for task in tasks]
    try:
        while running:
            still: list[tuple[WriterTask, Any]] = []
            for task, process in running:
                if process.is_alive():
                    still.append((task, process))
                elif process.exitcode != 0:
                    if task.requests_to_live is None:
                        raise WriterFailed(
                            f"writer {task.writer} of {task.scenario} ({task.side}) ended with exit code {process.exitcode}; its error stands above"
                        )
                    still.append((reborn(task), _started(context, reborn(task), ticks)))
            running = still
            report(ticks.value)
            time.sleep(POLL_SECONDS)
    finally:
        for _, process in running:
            process.kill()
        for _, process in running:
            # One that still has the file open would be in the way of removing its folder.
            process.join()


def _context() -> Any:
    """Processes that inherit nothing of this one, as on machines of their own; where the system can, from a server that has loaded the code once."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["surewrite.cli.racing.writers"])
    return context


def _started(context: Any, task: WriterTask, ticks: object) -> Any:
    process = context.Process(target=write_in_process, args=(task, ticks), name=f"writer-{task.writer}")
    process.start()
    return process
