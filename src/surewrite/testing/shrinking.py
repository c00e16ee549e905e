"""Belongs here: a smaller run with the same failure, and runs as readable files. Must not be here: changing the code under test, judging a run.

A run is made of its kept decisions. One that is left out falls back to its usual value: no fault, the first option, the
usual latency. So decisions are left out, in halves and then one by one, as long as the same rule is broken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surewrite.testing.choices import Decided, Label, label_of, label_text
from surewrite.testing.runs import Run, run_again
from surewrite.testing.scenario import Scenario
from surewrite.testing.world_settings import WorldSettings

RUNS_MAX = 600
"""How many runs shrinking may take: about a second."""


def shrink(run: Run, *, runs: int = RUNS_MAX) -> Run:
    """The smallest failing run that was found with the same scenario and the same broken rule. The run itself, if nothing can be left out."""
    if run.violation is None:
        raise ValueError("only a failing run can be made smaller")
    return _Shrinking(run, runs).smallest()


class _Shrinking:
    """Tries smaller sets of decisions until the budget is used up."""

    def __init__(self, run: Run, budget: int) -> None:
        assert run.violation is not None
        self._rule = run.violation.rule
        self._best = run
        self._left = budget

    def smallest(self) -> Run:
        # A run by decisions alone may differ from the run by seed only if a decision was not kept; then the seed stays the way to make it.
        if not self._try(dict(self._best.decisions), self._best.settings):
            return self._best
        self._leave_out_settings()
        before = -1
        while self._left > 0 and len(self._best.decisions) != before:
            before = len(self._best.decisions)
            self._leave_out_in_parts()
        self._round_off()
        return self._best

    def _try(self, decisions: Mapping[Label, Decided], settings: WorldSettings) -> bool:
        """Run with these decisions; keep the run if it breaks the same rule."""
        if self._left <= 0:
            return False
        self._left -= 1
        run = run_again(self._best.scenario, self._best.seed, settings, decisions)
        if run.violation is None or run.violation.rule != self._rule:
            return False
        self._best = replace(run, remark=self._best.remark)
        return True

    def _leave_out_settings(self) -> None:
        plain = WorldSettings()
        for name in self._best.settings.to_json():
            fixed = getattr(self._best.scenario.settings, name) != getattr(plain, name)
            if not fixed:
                self._try(self._best.decisions, replace(self._best.settings, **{name: getattr(plain, name)}))

    def _leave_out_in_parts(self) -> None:
        size = max(1, len(self._best.decisions) // 2)
        while size >= 1 and self._left > 0:
            labels = list(self._best.decisions)
            for start in range(0, len(labels), size):
                part = set(labels[start : start + size])
                kept = {label: value for label, value in self._best.decisions.items() if label not in part}
                if len(kept) < len(self._best.decisions):
                    self._try(kept, self._best.settings)
            size //= 2

    def _round_off(self) -> None:
        for label, value in list(self._best.decisions.items()):
            rounded = round(value, 1) if isinstance(value, float) else value
            if rounded != value and rounded:
                self._try({**self._best.decisions, label: rounded}, self._best.settings)


def run_to_json(run: Run) -> dict[str, Any]:
    """A failing run as a file's content: what makes it again, and its story."""
    violation = run.violation
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        "rule": None if violation is None else violation.rule,
        "world": run.settings.to_json(),
        "decisions": {label_text(label): value for label, value in sorted(run.decisions.items())},
        "story": run.story.split("\n"),
    }


def save_run(run: Run, path: Path) -> None:
    """Write a run to a file."""
    path.write_text(json.dumps(run_to_json(run), indent=2) + "\n", encoding="utf-8")


def load_run(path: Path, scenarios: Sequence[Scenario]) -> Run:
    """Make the run of a file again. Raises ``KeyError`` for a scenario that is not among ``scenarios``, ``ValueError`` for a damaged file."""
    named = {scenario.name: scenario for scenario in scenarios}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        name, seed, settings = str(content["scenario"]), str(content["seed"]), WorldSettings.from_json(content["world"])
        decisions = {label_of(text): value for text, value in content["decisions"].items()}
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as damage:
        raise ValueError(f"{path.name} is no file of a run: {type(damage).__name__}: {damage}") from None
    if name not in named:
        raise KeyError(f"{path.name} is about a scenario {name!r} that is not among: {', '.join(sorted(named))}")
    return run_again(named[name], seed, settings, decisions)
