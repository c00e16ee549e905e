"""Every program of examples/ runs, in memory and on a file, and prints what it should; the page of the examples lists them all."""

from __future__ import annotations

import random
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "counted_once": "first run: 3 counted\nafter a restart: 0 counted\nstored: 3\n",
    "deposit": "deposited: 200\n",
    "deposit_async": "deposited: 40\n",
    "idempotent_charge": "the same answer: True; another request: True\n",
    "ordered_events": ("1:0 of minute 10: applied\n2:1 of minute 50: applied\n1:1 of minute 30: superseded\n2:1 of minute 50: already stored\nstored: 2:1\n"),
    "outbox_write": "paid at version 2\nthe cancellation was refused, with its event\nevents: new, paid\n",
    "registration": "bob: done\neve: email taken\nmallory: handle taken\nbob: done before\n",
}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@contextmanager
def chance_of_a_program() -> Iterator[None]:
    """Writers that meet pause for a moment of random length: a program draws it from the global generator, which tests must leave alone."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


@pytest.mark.real_time
@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("name", NAMES)
def test_the_example_prints_what_it_should(name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [name] if place == "memory" else [name, f"file:{tmp_path / 'shop.db'}"])
    with chance_of_a_program():
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out == PRINTED[name]


def test_the_page_of_the_examples_lists_every_one() -> None:
    listed = re.findall(r"^\| \[(?P<name>\w+)\.py\]\(\w+\.py\) \|", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == NAMES
