"""Belongs here: the arguments and the output of `surewrite simulate`. Must not be here: its own scheduler, scenarios, the rules that are checked."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surewrite.cli.progress import Progress
from surewrite.errors import InvalidRequest
from surewrite.testing.explorer import Verdict, case_names, explore
from surewrite.testing.planting.bug import PlantedBug
from surewrite.testing.planting.planted import BUGS, Finding, look_for_all
from surewrite.testing.runs import Run
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.catalogue import SCENARIOS, scenarios_left_out, scenarios_named
from surewrite.testing.search import SearchResult, search
from surewrite.testing.shrinking import load_run, save_run, shrink

DESCRIPTION = """\
Runs the clients of this library against a simulated service that loses, delays and repeats messages, with processes that
crash, stand still and are cancelled, and checks every told word against what really took effect. Each schedule follows from
its seed alone. The exit code is 0 only if no promise was broken, 1 if one was, and 2 for options that make no sense.
"""

SCHEDULES = 2_000
SCHEDULES_SHOWN_EVERY = 50
SEEDS_OF_PLANTED = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = DESCRIPTION
    parser.add_argument("--schedules", type=int, metavar="N", help=f"schedules to run, over all scenarios (default {SCHEDULES}, about ten seconds)")
    parser.add_argument("--seed", metavar="TEXT", help="decides every schedule; default: drawn, and printed")
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this one; may be given several times; `--scenario list` shows them")
    parser.add_argument("--save", metavar="FOLDER", help="write each failing schedule, made as small as possible, to a file there")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--replay", metavar="FILE", help="run the schedule of such a file again and tell its story")
    what.add_argument(
        "--planted",
        action="store_true",
        help="put known bugs into the library, one at a time, and see that each is found with five seeds; about half a minute, less with --scenario",
    )
    what.add_argument("--explore", action="store_true", help="search small worlds exhaustively instead, without chance; about half a minute")
    parser.add_argument("--full", action="store_true", help="with --explore: more attempts and more actions of others; many minutes")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for; 0 only without violations."""
    _refuse_idle_options(arguments)
    if arguments.replay is not None:
        return _replay(Path(arguments.replay), as_json=arguments.json)
    if arguments.scenario == ["list"]:
        print(_listed(as_json=arguments.json))
        return 0
    schedules = SCHEDULES if arguments.schedules is None else arguments.schedules
    if schedules < 1:
        raise InvalidRequest(f"--schedules is at least 1, not {schedules}")
    seed = secrets.token_hex(4) if arguments.seed is None else arguments.seed
    began = time.perf_counter()
    if arguments.planted:
        return _planted(seed, began, arguments.scenario or (), as_json=arguments.json)
    if arguments.explore:
        return _explore(began, full=arguments.full, as_json=arguments.json)
    return _search(arguments, seed, schedules, began)


def _listed(*, as_json: bool) -> str:
    if as_json:
        return json.dumps({"scenarios": [{"name": scenario.name, "summary": scenario.summary} for scenario in SCENARIOS]}, indent=2)
    width = max(len(scenario.name) for scenario in SCENARIOS)
    return "\n".join(f"{scenario.name:<{width}}  {scenario.summary}" for scenario in SCENARIOS)


_IDLE = (
    ("--replay", ("seed", "schedules", "scenario", "save", "full")),
    ("--planted", ("schedules", "save", "full")),
    ("--explore", ("seed", "schedules", "scenario", "save")),
)


def _refuse_idle_options(arguments: argparse.Namespace) -> None:
    """An option that would change nothing is an error: whoever gave it expects something of it."""
    for what, idle in _IDLE:
        if getattr(arguments, what[2:]):
            given = [f"--{name}" for name in idle if getattr(arguments, name) not in (None, False)]
            if given:
                raise InvalidRequest(f"{what} takes no {' and no '.join(given)}")
            return
    if arguments.full:
        raise InvalidRequest("--full is an option of --explore")


def _scenarios(names: Sequence[str]) -> tuple[Scenario, ...]:
    try:
        return scenarios_named(names)
    except KeyError as strange:
        raise InvalidRequest(str(strange.args[0])) from None


def _search(arguments: argparse.Namespace, seed: str, schedules: int, began: float) -> int:
    scenarios = _scenarios(arguments.scenario or ())
    left_out = [] if arguments.scenario else [scenario.name for scenario in scenarios_left_out()]
    if left_out:
        print(f"left out, because blocking clients need greenlet (pip install 'surewrite[testing]'): {', '.join(left_out)}", file=sys.stderr)
    folder = None if arguments.save is None else _made(arguments.save)
    progress = Progress(schedules)

    def show(done: int) -> None:
        if done % SCHEDULES_SHOWN_EVERY == 0:
            progress.show(done, f"{done:,} schedules")

    try:
        result = search(scenarios, seed, schedules, progress=show)
        failures = _smallest(result.failures)
    finally:
        progress.clear()
    saved = [] if folder is None else _save(failures, folder)
    seconds = time.perf_counter() - began
    print(_search_json(result, failures, seed, seconds, left_out) if arguments.json else _search_text(result, failures, saved, seed, seconds))
    return 1 if result.violations else 0


def _smallest(failures: Sequence[Run]) -> list[Run]:
    """One failing run for each scenario and rule, made as small as possible."""
    kept: dict[tuple[str, str], Run] = {}
    for run_ in failures:
        assert run_.violation is not None
        kept.setdefault((run_.scenario.name, run_.violation.rule), run_)
    return [shrink(run_) for run_ in kept.values()]


def _made(name: str) -> Path:
    """The folder for failing schedules. Made before the search, whose findings a bad name would lose."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise InvalidRequest(f"--save {name!r} is no folder that can be written: {failed}") from None
    if not name or not os.access(folder, os.W_OK):
        raise InvalidRequest(f"--save {name!r} is no folder that can be written")
    return folder


def _save(failures: Sequence[Run], folder: Path) -> list[Path]:
    paths: list[Path] = []
    for run_ in failures:
        assert run_.violation is not None
        name = f"{run_.scenario.name} {run_.violation.rule}".replace(",", "").replace(" ", "-")
        path = folder / f"{name}.json"
        save_run(run_, path)
        paths.append(path)
    return paths


def _search_text(result: SearchResult, failures: Sequence[Run], saved: Sequence[Path], seed: str, seconds: float) -> str:
    lines: list[str] = []
    for run_ in failures:
        lines += [f"--- {run_.scenario.name}, seed {run_.seed}", run_.story, ""]
    lines += [f"written: {path}" for path in saved]
    rate = result.schedules / seconds if seconds else 0.0
    lines.append(
        f"{result.schedules:,} schedule(s) of {len(result.by_scenario)} scenario(s) in {seconds:.1f} s"
        f" ({rate:,.0f} a second), seed {seed}: {_count(result.violations)}"
    )
    return "\n".join(lines)


def _count(violations: int) -> str:
    return "no violation" if not violations else f"{violations} failed"


def _search_json(result: SearchResult, failures: Sequence[Run], seed: str, seconds: float, left_out: Sequence[str]) -> str:
    told: list[dict[str, Any]] = [
        {"scenario": run_.scenario.name, "seed": run_.seed, "rule": run_.violation.rule if run_.violation else None, "story": run_.story.split("\n")}
        for run_ in failures
    ]
    return _json(result.schedules, result.violations, None, seconds, seed=seed, failures=told, scenarios=result.by_scenario, left_out=list(left_out))


def _json(schedules: int, violations: int, planted: dict[str, Any] | None, seconds: float, **more: Any) -> str:
    shown = planted if planted is not None else {"found": 0, "of": 0}
    return json.dumps({"schedules": schedules, "violations": violations, "planted": shown, "seconds": round(seconds, 3), **more}, indent=2)


def _replay(path: Path, *, as_json: bool) -> int:
    began = time.perf_counter()
    try:
        run_ = load_run(path, SCENARIOS)
    except KeyError as strange:
        raise InvalidRequest(f"{path} cannot be replayed: {strange.args[0]}") from None
    except (OSError, ValueError) as failed:
        raise InvalidRequest(f"{path} cannot be replayed: {failed}") from None
    violations = 0 if run_.violation is None else 1
    if as_json:
        print(_json(1, violations, None, time.perf_counter() - began, story=run_.story.split("\n")))
    else:
        print(run_.story)
        print("\nno promise was broken" if run_.violation is None else "\nthe promise is broken still")
    return violations


def _planted(seed: str, began: float, names: Sequence[str], *, as_json: bool) -> int:
    wanted = {scenario.name for scenario in _scenarios(names)}
    bugs = [bug for bug in BUGS if wanted.intersection(bug.scenarios)]
    if not bugs:
        raise InvalidRequest(f"no planted bug is looked for by {', '.join(names)}")
    seeds = [f"{seed}{number}" for number in range(SEEDS_OF_PLANTED)]
    progress = Progress(len(bugs) * len(seeds))
    try:
        findings = look_for_all(seeds, bugs=bugs, progress=progress.show)
    finally:
        progress.clear()
    found = [bug for bug in bugs if all(finding.found for finding in findings if finding.bug is bug)]
    seconds = time.perf_counter() - began
    if as_json:
        rows = [{"bug": finding.bug.name, "seed": finding.seed, "schedule": finding.schedule, "rule": finding.rule} for finding in findings]
        schedules = sum(finding.schedule or finding.bug.within for finding in findings)
        print(_json(schedules, len(bugs) - len(found), {"found": len(found), "of": len(bugs)}, seconds, seed=seed, findings=rows))
    else:
        print(_planted_table(bugs, findings))
        print(f"\n{len(found)} of {len(bugs)} planted bugs found with each of {len(seeds)} seeds in {seconds:.1f} s, seed {seed}")
    return 0 if len(found) == len(bugs) else 1


def _planted_table(bugs: Sequence[PlantedBug], findings: Sequence[Finding]) -> str:
    width = max(len(bug.name) for bug in bugs)
    lines = [f"{'planted bug':<{width}}  {'within':>6}  found by schedule", ""]
    for bug in bugs:
        own = [finding for finding in findings if finding.bug is bug]
        numbers = " ".join(f"{finding.schedule if finding.found else 'not':>5}" for finding in own)
        rules = ", ".join(sorted({finding.rule for finding in own if finding.rule is not None}))
        lines.append(f"{bug.name:<{width}}  {bug.within:>6}  {numbers}  {rules}")
    return "\n".join(lines)


def _explore(began: float, *, full: bool, as_json: bool) -> int:
    progress = Progress(len(case_names()))
    done: list[Verdict] = []

    def show(verdict: Verdict) -> None:
        done.append(verdict)
        progress.show(len(done), verdict.name)

    try:
        report = explore(full=full, progress=show)
    finally:
        progress.clear()
    surprises = report.surprises
    seconds = time.perf_counter() - began
    if as_json:
        cases = [{"case": verdict.name, "text": verdict.text} for verdict in report.verdicts]
        print(_json(report.states, len(surprises), None, seconds, cases=cases))
    else:
        print("\n".join(verdict.text for verdict in report.verdicts))
        print(f"\n{len(report.verdicts)} cases, {report.states:,} states in {seconds:.1f} s: {len(surprises)} not as expected")
    return 1 if surprises else 0
