"""What `import surewrite` loads: the typed surface and the pure core, and nothing that a backend, a server or a test needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# The surface and what it stands on. Engine, backends, commands and test tools are loaded by the call that needs them.
LOADED_PARTS = ("core", "recipes", "drivers", "errors", "client", "async_client", "many_items")
MOST_MODULES = 66
LATE_PACKAGES = (
    "asyncio",
    "boto3",
    "botocore",
    "concurrent.futures",
    "greenlet",
    "http",
    "httptools",
    "logging",
    "multiprocessing",
    "opentelemetry",
    "orjson",
    "pytest",
    "sqlite3",
    "ssl",
    "unittest",
)


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """The modules that importing the package adds to those of an empty interpreter."""
    program = "import sys; before = set(sys.modules); import surewrite, json; print(json.dumps(sorted(set(sys.modules) - before)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(json.loads(result.stdout))


def test_the_package_itself_is_loaded(loaded: frozenset[str]) -> None:
    assert "surewrite" in loaded


@pytest.mark.parametrize("package", LATE_PACKAGES)
def test_importing_the_package_does_not_load(package: str, loaded: frozenset[str]) -> None:
    assert package not in loaded


def test_only_the_surface_and_the_core_are_loaded(loaded: frozenset[str]) -> None:
    ours = {name.split(".")[1] for name in loaded if name.startswith("surewrite.")}
    assert ours <= set(LOADED_PARTS)


def test_the_number_of_loaded_modules_is_bounded(loaded: frozenset[str]) -> None:
    assert len([name for name in loaded if name.partition(".")[0] == "surewrite"]) <= MOST_MODULES
