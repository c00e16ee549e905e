"""The examples of the pages as a reader with a type checker pastes them: mypy accepts every line that is not meant to be wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from documentation import examples_of

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
CHECKER_SECONDS = 300

WRONG_ON_PURPOSE = {
    ("docs/entities-and-keys.md", "tags: Attribute[list[str]] = []"),
}
"""Lines of the pages that show what a checker refuses."""

AWAITED_AT_THE_TOP = "outside async function"
"""A page shows what stands in an async function without the function."""

OPTIONS = ("--check-untyped-defs", "--allow-redefinition", "--disable-error-code", "no-redef", "--disable-error-code", "top-level-await")
ERROR = re.compile(r"^(?P<file>.+?):(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)


def module_of(page: Path) -> str:
    return re.sub(r"\W", "_", page.relative_to(REPOSITORY).as_posix())


def source_of(page: Path) -> str:
    """The examples of a page as one module, each on the lines where the page has it."""
    lines: list[str] = []
    for example in examples_of(page.read_text(encoding="utf-8")):
        lines += [""] * (example.line - 1 - len(lines))
        lines += example.source.splitlines()
    return "\n".join(lines) + "\n"


def test_a_type_checker_accepts_the_examples_of_the_pages(tmp_path: Path) -> None:
    pages = {module_of(page): page for page in PAGES}
    for module, page in pages.items():
        (tmp_path / f"{module}.py").write_text(source_of(page), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache"), *OPTIONS]
    done = subprocess.run([*command, *(f"{module}.py" for module in pages)], cwd=tmp_path, capture_output=True, text=True, timeout=CHECKER_SECONDS, check=False)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    found: dict[str, str] = {}
    for match in ERROR.finditer(done.stdout):
        page = pages[Path(match["file"]).stem]
        name, line = page.relative_to(REPOSITORY).as_posix(), page.read_text(encoding="utf-8").splitlines()[int(match["line"]) - 1].strip()
        if (name, line) not in WRONG_ON_PURPOSE and AWAITED_AT_THE_TOP not in match["text"]:
            found[f"{name}:{match['line']}: {line}"] = match["text"]
    assert not found, "\n".join(f"{place}  {text}" for place, text in found.items())
