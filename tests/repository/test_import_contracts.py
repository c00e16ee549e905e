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
    return subprocess.run(
        [program, "--no-logo", "--no-cache", REPOSITORY / "pyproject.toml"], cwd=search_path, env=environment, capture_output=True, text=True, check=False
    )


def test_every_contract_is_kept() -> None:
    result = lint_imports(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "text", "complaint"),
    [
        pytest.param("core/limits.py", "import time\n", "surewrite.core.limits -> time", id="the core reads no clock"),
        pytest.param("recipes/leases.py", "import random\n", "surewrite.recipes.leases -> random", id="a recipe draws no chance"),
        pytest.param("core/limits.py", "from surewrite.core import answers\n", "surewrite.core.limits -> surewrite.core.answers", id="no import upwards in the core"),
        pytest.param("errors.py", "import surewrite.cli.main\n", "surewrite.errors -> surewrite.cli.main", id="no import upwards in the package"),
        pytest.param("engine/faults.py", "import surewrite.core.answers\n", "surewrite.engine.faults -> surewrite.core.answers", id="the engine is apart"),
        pytest.param("recipes/ordered.py", "import surewrite.recipes.append\n", "surewrite.recipes.ordered -> surewrite.recipes.append", id="recipes are apart"),
        pytest.param("drivers/backend.py", "import orjson\n", "surewrite.drivers.backend -> orjson", id="a package is imported at its place only"),
        pytest.param("undeclared.py", "", "surewrite.undeclared", id="a top-level module must be declared"),
        pytest.param("core/undeclared.py", "", "surewrite.core.undeclared", id="a module of the core must be declared"),
        pytest.param("recipes/undeclared.py", "", "surewrite.recipes.undeclared", id="a recipe must be declared"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, module: str, text: str, complaint: str) -> None:
    copy = tmp_path / "surewrite"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "recipes" / "append.py").touch()
    with (copy / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{text}")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert complaint in result.stdout
