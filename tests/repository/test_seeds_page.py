"""The page of patterns names tests; each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "seeds.md"
NAMED = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<test>\w+)`")


def names_in(file: Path) -> set[str]:
    module = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in module.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_every_test_that_the_page_names_is_there() -> None:
    named = [(found["file"], found["test"]) for found in NAMED.finditer(PAGE.read_text(encoding="utf-8"))]
    assert len(named) > 50
    assert [(file, test) for file, test in named if test not in names_in(TESTS / file)] == []


def test_every_row_of_the_page_has_an_answer() -> None:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert [row for row in rows if len(row) != 2 or not all(cell.strip() for cell in row)] == []
