"""The contracts of pyproject.toml are kept, and each kind of breach makes them fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surewrite

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path(surewrite.__file__).parent


def lint_imports(search_path: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "lint-imports"
    environment = os.environ | {"PYTHONPATH": str(search_path), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run([program, "--no-logo", "--no-cache"], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


def test_every_contract_is_kept() -> None:
    result = lint_imports(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


FORBIDDEN_IMPORTS = {
    "the core reads no clock": ("core.limits", "time"),
    "a recipe draws no chance": ("recipes.leases", "random"),
    "no import upwards in the core": ("core.limits", "surewrite.core.answers"),
    "no import upwards in the package": ("errors", "surewrite.cli.main"),
    "the engine is apart from the client": ("engine.faults", "surewrite.core.answers"),
    "a store knows keys only": ("engine.stores.store", "surewrite.engine.faults"),
    "recipes are apart": ("recipes.ordered", "surewrite.recipes.append"),
    "another package is imported at its place only": ("drivers.backend", "orjson"),
}
UNDECLARED_MODULES = ("undeclared", "core.undeclared", "engine.undeclared", "recipes.undeclared")


def copy_with(place: Path, module: str, text: str) -> None:
    """Copy the package, with a recipe that others may not import, and add the text to one module."""
    copy = place / "surewrite"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "recipes" / "append.py").touch()
    with copy.joinpath(*module.split(".")).with_suffix(".py").open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")


@pytest.mark.parametrize(("module", "imported"), FORBIDDEN_IMPORTS.values(), ids=FORBIDDEN_IMPORTS)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, imported: str) -> None:
    copy_with(tmp_path, module, f"import {imported}")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"surewrite.{module} -> {imported}" in result.stdout


@pytest.mark.parametrize("module", UNDECLARED_MODULES)
def test_an_undeclared_module_is_found(tmp_path: Path, module: str) -> None:
    copy_with(tmp_path, module, "")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"- surewrite.{module}\n" in result.stdout
