"""Runs the examples of the pages. Belongs here: finding fenced blocks and running them. Must not be here: which pages exist.

The ``python`` blocks of one page run in order and share one namespace, as a reader would paste them. A block that
awaits at its top level runs inside ``asyncio.run``. A ``text`` block that follows with nothing but blank lines between
is what the block prints; ``...`` in it stands for any text. ``<!-- not run: reason -->`` before a block leaves it out.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\w*)\s*$")
_NOT_RUN = re.compile(r"^\s*<!-- not run: (?P<reason>\S.*?) -->\s*$")


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block: its language, its text, the lines of the page it begins and ends on, and why it is not run."""

    language: str
    text: str
    first_line: int
    last_line: int
    not_run: str | None


@dataclass(frozen=True, slots=True)
class Example:
    """One block to run: its source, the line of the page where the source begins, and what it must print, if told."""

    source: str
    line: int
    expected: str | None


class PageError(Exception):
    """A page is not well formed, or an example of it printed something else than the page says."""


def fences_of(page: str) -> Iterator[Fence]:
    """Every fenced block of a page, in order.

    Raises:
        PageError: a fence is never closed.
    """
    lines = page.splitlines()
    marker: str | None = None
    opened: re.Match[str] | None = None
    start = 0
    for number, line in enumerate(lines, start=1):
        found = _FENCE.match(line)
        if opened is None and found is not None:
            opened, start = found, number
        elif opened is not None and line.strip() == opened["ticks"]:
            indent = len(opened["indent"])
            text = "".join(f"{inner[indent:]}\n" for inner in lines[start : number - 1])
            yield Fence(opened["language"], text, start, number, marker)
            opened, marker = None, None
        elif opened is None and line.strip():
            reason = _NOT_RUN.match(line)
            marker = reason["reason"] if reason is not None else None
    if opened is not None:
        raise PageError(f"line {start}: the block is never closed")


def examples_of(page: str) -> list[Example]:
    """The blocks of a page that are to be run."""
    lines = page.splitlines()
    fences = list(fences_of(page))
    examples: list[Example] = []
    for index, fence in enumerate(fences):
        if fence.language != "python" or fence.not_run is not None:
            continue
        following = fences[index + 1] if index + 1 < len(fences) else None
        touches = following is not None and not any(line.strip() for line in lines[fence.last_line : following.first_line - 1])
        expected = following.text if following is not None and touches and following.language == "text" else None
        examples.append(Example(fence.text, fence.first_line + 1, expected))
    return examples


def run_page(path: Path) -> int:
    """Run the examples of one page and return how many there were.

    Raises:
        PageError: an example printed something else than the page says. What an example raises is passed on.
    """
    examples = examples_of(path.read_text(encoding="utf-8"))
    # Classes of the examples look up their annotations in the module that they name.
    module = ModuleType("__page__")
    sys.modules[module.__name__] = module
    try:
        for example in examples:
            _run(example, path, module)
    finally:
        del sys.modules[module.__name__]
    return len(examples)


def _run(example: Example, path: Path, module: ModuleType) -> None:
    # The blank lines make the lines of a traceback those of the page.
    source = "\n" * (example.line - 1) + example.source
    code = compile(source, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = eval(code, module.__dict__)  # noqa: S307 - the examples are this repository's own
        if inspect.iscoroutine(result):
            asyncio.run(result)
    if example.expected is not None and not doctest.OutputChecker().check_output(example.expected, printed.getvalue(), doctest.ELLIPSIS):
        raise PageError(f"{path.name}, line {example.line}: expected\n{example.expected}\nprinted\n{printed.getvalue()}")
