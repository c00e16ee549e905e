"""House rules that no linter has: sizes, what a module says of itself, and nothing left unfinished."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import surewrite

PACKAGE = Path(surewrite.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES_OF_A_MODULE = 500
MOST_LINES_OF_A_FUNCTION = 70
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\braise NotImplementedError\b")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def long_functions(source: str) -> list[str]:
    """The functions over the limit; decorators and the docstring are not counted."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring_lines = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines
            if lines > MOST_LINES_OF_A_FUNCTION:
                found.append(f"{node.name} has {lines} lines")
    return found


def states_its_place(source: str) -> bool:
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return "elongs here: " in docstring and "ust not be here: " in docstring


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_fits_its_limit(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_A_MODULE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_function_fits_a_screen(path: Path) -> None:
    assert long_functions(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=name_of)
def test_a_module_says_what_belongs_in_it_and_what_does_not(path: Path) -> None:
    assert states_its_place(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_is_left_unfinished(path: Path) -> None:
    assert UNFINISHED.search(path.read_text(encoding="utf-8")) is None


def test_a_function_over_the_limit_is_found() -> None:
    body = "    x = 1\n" * MOST_LINES_OF_A_FUNCTION
    assert long_functions(f"def fits():\n{body[: -len('    x = 1' + chr(10))]}") == []
    assert long_functions(f"def grown():\n{body}") == [f"grown has {MOST_LINES_OF_A_FUNCTION + 1} lines"]


def test_catching_the_error_of_another_is_not_unfinished() -> None:
    assert UNFINISHED.search("    except NotImplementedError:\n") is None
    assert UNFINISHED.search("    raise NotImplementedError(x)\n") is not None


def test_a_docstring_that_says_only_what_belongs_is_not_enough() -> None:
    assert states_its_place('"""Belongs here: a. Must not be here: b."""')
    assert not states_its_place('"""Belongs here: a."""')
