"""Runs every check of this repository: ``python tools/check.py``. With ``--fast`` the slow ones are left out.

Belongs here: which checks there are, and their order. Must not be here: settings of a tool, which stand in pyproject.toml.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# The interpreter that runs this script has the tools installed beside it, so no environment needs to be activated.
PROGRAMS = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, its command, and the command of the fast run, or None if the fast run leaves it out."""

    name: str
    command: tuple[str, ...]
    fast_command: tuple[str, ...] | None


def program(name: str) -> str:
    """The tool of this environment, by path."""
    return str(PROGRAMS / name)


def all_checks() -> tuple[Check, ...]:
    """The checks, cheapest first."""
    lint = (program("ruff"), "check")
    layout = (program("ruff"), "format", "--check")
    # Its cache misses a module that was added after the modules that import it were read.
    contracts = (program("lint-imports"), "--no-logo", "--no-cache")
    types = (program("mypy"),)
    tests = (sys.executable, "-m", "pytest", "-n", "2")
    return (
        Check("lint", lint, lint),
        Check("format", layout, layout),
        Check("contracts", contracts, contracts),
        Check("mypy", types, types),
        Check("pyright", (program("pyright"), "--pythonpath", sys.executable), None),
        Check("tests", tests, (*tests, "-m", "not slow")),
    )


def run(command: tuple[str, ...]) -> tuple[bool, float]:
    """Run one command in the repository; tell whether it passed and how many seconds it took."""
    shown = " ".join(Path(word).name if word.startswith(str(PROGRAMS)) else word for word in command)
    print(f"\n$ {shown}", flush=True)
    begin = time.monotonic()
    # Otherwise pyright asks a package index for a newer version of itself at every start.
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    try:
        passed = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode == 0
    except FileNotFoundError:
        print(f"{command[0]} is not installed: pip install -e '.[dev]'", flush=True)
        passed = False
    return passed, time.monotonic() - begin


def main() -> int:
    """Run the checks asked for and print a summary. The exit code is 0 only if all of them passed."""
    checks = all_checks()
    parser = argparse.ArgumentParser(description="Run every check of this repository.")
    parser.add_argument("--fast", action="store_true", help="leave out what is slow: pyright, and tests marked slow")
    parser.add_argument("names", nargs="*", metavar="CHECK", help=f"only these: {', '.join(check.name for check in checks)}")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {check.name for check in checks}
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    wanted = [check for check in checks if not arguments.names or check.name in arguments.names]
    summary: list[str] = []
    failed = False
    for check in wanted:
        command = check.fast_command if arguments.fast else check.command
        if command is None:
            summary.append(f"{check.name:<10} left out")
            continue
        passed, seconds = run(command)
        failed = failed or not passed
        summary.append(f"{check.name:<10} {'passed' if passed else 'FAILED'}   {seconds:6.1f} s")
    print("\n" + "\n".join(summary), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
