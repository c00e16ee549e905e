"""Belongs here: the arguments and the table of `surewrite race`. Must not be here: library code, the scenarios themselves."""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from surewrite.cli.progress import Progress
from surewrite.cli.racing.catalogue import SCENARIOS, scenario_named
from surewrite.cli.racing.runner import Race, Verdict, run_scenario
from surewrite.cli.racing.scenario import RacePlan, Scenario
from surewrite.errors import InvalidRequest

DESCRIPTION = """\
Several writers write at once, answers and requests are lost, and one writer is killed in the middle and started again with
nothing but its own number and what the table holds. Each scenario runs once as people write it with a plain client (read,
change, put; send again what was not answered) and once with Surewrite. The exit code is 0 only if every Surewrite result is right.
"""

WRITERS_MAX = 64
LOSS_MAX = 0.4
"""With the lost requests and server errors that come with it four of five requests fail; at half, none would pass."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the race."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "--backend",
        metavar="TARGET",
        help='where to write: "memory:" (writers are threads), "file:PATH" or a URL (writers are processes); default: a file in a temporary folder',
    )
    parser.add_argument("--writers", type=int, default=4, metavar="N", help="writers at once (default 4)")
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help="operations of each writer in each scenario (default 25)")
    parser.add_argument("--loss", type=float, default=0.1, metavar="RATE", help=f"share of answers that are lost, from 0 to {LOSS_MAX} (default 0.1)")
    parser.add_argument("--seed", type=int, metavar="N", help="decides the faults and the order of events; default: drawn, and printed")
    parser.add_argument("--scenario", action="append", choices=[scenario.name for scenario in SCENARIOS], help="run only this one; may be given several times")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Race, print the table, and return 0 only if every Surewrite result is right."""
    plan = _plan(arguments)
    scenarios: Sequence[Scenario] = [scenario_named(name) for name in arguments.scenario] if arguments.scenario else SCENARIOS
    with tempfile.TemporaryDirectory(prefix="surewrite-race-") as folder:
        target = f"file:{Path(folder) / 'race.db'}" if arguments.backend is None else arguments.backend
        run_name = secrets.token_hex(4)
        race = Race(f"memory:race-{run_name}" if target == "memory:" else target, plan, arguments.loss, run_name)
        verdicts = _run_all(race, scenarios)
    right = all(verdict.right for verdict in verdicts)
    print(_json(verdicts, plan) if arguments.json else _table(verdicts, plan, target if arguments.backend else "a file in a temporary folder"))
    return 0 if right else 1


def _plan(arguments: argparse.Namespace) -> RacePlan:
    if not 1 <= arguments.writers <= WRITERS_MAX:
        raise InvalidRequest(f"--writers is from 1 to {WRITERS_MAX}, not {arguments.writers}")
    if arguments.rounds < 1:
        raise InvalidRequest(f"--rounds is at least 1, not {arguments.rounds}")
    if not 0 <= arguments.loss <= LOSS_MAX:
        raise InvalidRequest(f"--loss is from 0 to {LOSS_MAX}, not {arguments.loss}")
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    return RacePlan(arguments.writers, arguments.rounds, seed)


def _run_all(race: Race, scenarios: Sequence[Scenario]) -> list[Verdict]:
    total = sum(2 * scenario.operations(race.plan) for scenario in scenarios)
    progress = Progress(total)
    verdicts: list[Verdict] = []
    before = 0
    try:
        for scenario in scenarios:
            verdicts.append(run_scenario(race, scenario, lambda done, label, before=before: progress.show(before + done, label)))  # type: ignore[misc]
            before += 2 * scenario.operations(race.plan)
    finally:
        progress.clear()
    return verdicts


def _json(verdicts: Sequence[Verdict], plan: RacePlan) -> str:
    rows = [
        {
            "name": verdict.scenario.name,
            "expected": verdict.expected,
            "naive": verdict.naive.value,
            "surewrite": verdict.sure.value,
            "right": verdict.right,
            "naive_right": verdict.naive_right,
            "naive_words": verdict.naive.words,
            "surewrite_words": verdict.sure.words,
        }
        for verdict in verdicts
    ]
    return json.dumps({"scenarios": rows, "seed": plan.seed, "writers": plan.writers, "rounds": plan.rounds}, indent=2)


def _table(verdicts: Sequence[Verdict], plan: RacePlan, where: str) -> str:
    rows = [("scenario", "expected", "naive", "Surewrite", "what the naive writers lost or doubled")]
    for verdict in verdicts:
        words = verdict.naive.words or ("nothing this time" if verdict.naive_right else "")
        if not verdict.right:
            words += f" | SUREWRITE IS WRONG: {verdict.sure.words or verdict.sure.value}"
        rows.append((verdict.scenario.title, str(verdict.expected), str(verdict.naive.value), str(verdict.sure.value), words))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]]).rstrip() for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    right = sum(verdict.right for verdict in verdicts)
    naive = sum(verdict.naive_right for verdict in verdicts)
    lines.append("")
    lines.append(f"Right: naive {naive} of {len(verdicts)}, Surewrite {right} of {len(verdicts)}.")
    lines.append(f"{plan.writers} writers, {plan.rounds} rounds each, one killed and restarted, on {where}; seed {plan.seed}.")
    return "\n".join(lines)
