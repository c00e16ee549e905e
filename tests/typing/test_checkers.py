"""What both type checkers must accept and refuse: `accepted/` passes whole, in `refused/` each marked line fails and no other.

Each checker runs once over all files. Lines that neither can refuse are errors at run time and are tested beside the code.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ACCEPTED = sorted((HERE / "accepted").glob("*.py"))
REFUSED = sorted((HERE / "refused").glob("*.py"))
CHECKER_SECONDS = 300
MARK = re.compile(r"# (W\d\d)\b")
MYPY_ERROR = re.compile(r"^(?P<file>.+?):(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)

# A checker's findings: file name and line, with the first text found there.
Findings = dict[tuple[str, int], str]


def run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=HERE, env={**os.environ, **environment}, capture_output=True, text=True, timeout=CHECKER_SECONDS, check=False
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def mypy_findings(cache: Path) -> Findings:
    files = [str(path.relative_to(HERE)) for path in (*ACCEPTED, *REFUSED)]
    output = run(["mypy", "--strict", "--no-error-summary", "--config-file", os.devnull, "--cache-dir", str(cache), *files], MYPYPATH="accepted")
    found: Findings = {}
    for match in MYPY_ERROR.finditer(output):
        found.setdefault((Path(match["file"]).name, int(match["line"])), match["text"])
    return found


def pyright_findings(cache: Path) -> Findings:
    del cache
    output = run(["pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(HERE / "pyrightconfig.json")])
    found: Findings = {}
    for finding in json.loads(output)["generalDiagnostics"]:
        found.setdefault((Path(finding["file"]).name, finding["range"]["start"]["line"] + 1), finding["message"])
    return found


def marked_lines() -> dict[tuple[str, int], str]:
    return {
        (path.name, number): match[1]
        for path in REFUSED
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := MARK.search(line))
    }


def test_every_wrong_use_is_marked_once() -> None:
    marks = sorted(marked_lines().values())
    assert marks == [f"W{number:02d}" for number in range(1, len(marks) + 1)]
    assert len(marks) >= 37


@pytest.mark.slow
@pytest.mark.parametrize("findings_of", [mypy_findings, pyright_findings])
def test_the_checker_refuses_every_marked_line_and_no_other(findings_of: Callable[[Path], Findings], tmp_path: Path) -> None:
    found = findings_of(tmp_path)
    wrong = marked_lines()
    assert {place: text for place, text in found.items() if place not in wrong} == {}
    assert {mark for place, mark in wrong.items() if place not in found} == set()
