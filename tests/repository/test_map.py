"""The map of the architecture names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import surewrite

PACKAGE = Path(surewrite.__file__).parent
MAP = (Path(__file__).resolve().parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The rules")[0]


def modules_of(directory: Path) -> set[str]:
    return {module.stem for module in directory.glob("*.py")} - {"__init__"}


def test_the_map_names_each_module_of_the_core_and_no_other() -> None:
    rows = MAP.partition("Inside `core`")[2]
    named = {name for row in rows.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == modules_of(PACKAGE / "core")


def test_the_map_names_each_part_of_the_package() -> None:
    parts = modules_of(PACKAGE) | {part.name for part in PACKAGE.iterdir() if (part / "__init__.py").exists()}
    assert parts <= set(re.findall(r"`(\w+)`", MAP.partition("Inside `core`")[0]))
