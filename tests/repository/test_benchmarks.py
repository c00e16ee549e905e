"""The programs of benchmarks/ run where no peer is installed, and their page lists them all."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PROGRAMS = sorted(path.stem for path in BENCHMARKS.glob("*.py") if "argparse" in path.read_text(encoding="utf-8"))


def test_the_page_lists_every_program() -> None:
    listed = re.findall(r"^\| `\.bench/bin/python -m benchmarks\.(\w+)` \|", (BENCHMARKS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == PROGRAMS


def test_the_calls_in_the_process_are_timed() -> None:
    from benchmarks.in_process import measure

    assert {name: used > 0 for name, used in measure("memory:", 1, 5).items()} == {
        "get": True,
        "conditional put": True,
        "update, ADD 1": True,
        "raw conditional put": True,
    }


async def _saved(url: str) -> list[str]:
    from benchmarks.contenders import Surewrite, SurewriteAsync

    words: list[str] = []
    for kind in (Surewrite, SurewriteAsync):
        client = kind(url, "bench")
        await client.open()
        words += [await client.save() for _ in range(3)]
        await client.close()
    return words


def test_saves_against_the_answering_server_are_applied() -> None:
    from benchmarks.answering_server import answering_server

    with answering_server() as url:
        assert asyncio.run(_saved(url)) == ["applied"] * 6
