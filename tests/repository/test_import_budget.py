"""What `import surewrite` loads, which is nothing but the list of names, and what a program loads that asks for some of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Parts of the package that a program with entities and a blocking client loads; engine, backends, commands and test tools come with what needs them.
CLIENT_PARTS = ("core", "drivers", "backends", "errors", "client", "many_items")
MOST_MODULES_OF_A_CLIENT = 77
ENTITY_PARTS = ("core", "errors")
MOST_MODULES_OF_AN_ENTITY = 23
LATE_PACKAGES = (
    "asyncio",
    "boto3",
    "botocore",
    "concurrent.futures",
    "difflib",
    "greenlet",
    "hashlib",
    "http",
    "httptools",
    "logging",
    "multiprocessing",
    "opentelemetry",
    "orjson",
    "pytest",
    "random",
    "secrets",
    "sqlite3",
    "ssl",
    "unittest",
    "uuid",
)


def loaded_by(statement: str) -> frozenset[str]:
    """The modules that a statement adds to those of an empty interpreter."""
    program = f"import sys; before = set(sys.modules); {statement}; names = sorted(set(sys.modules) - before); import json; print(json.dumps(names))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(json.loads(result.stdout))


def ours(loaded: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in loaded if name.partition(".")[0] == "surewrite")


def parts(loaded: frozenset[str]) -> set[str]:
    return {name.split(".")[1] for name in ours(loaded) if "." in name}


@pytest.fixture(scope="module")
def entity() -> frozenset[str]:
    return loaded_by("from surewrite import Attribute, Entity, VersionedEntity, attribute, version")


@pytest.fixture(scope="module")
def client() -> frozenset[str]:
    return loaded_by("from surewrite import VersionedEntity, connect, VersionConflict")


def test_importing_the_package_loads_the_list_of_names_alone() -> None:
    loaded = loaded_by("import surewrite")
    assert ours(loaded) == {"surewrite"}
    assert "dataclasses" not in loaded


@pytest.mark.parametrize("package", LATE_PACKAGES)
def test_a_client_does_not_load(package: str, client: frozenset[str]) -> None:
    assert package not in client


def test_an_entity_loads_what_it_is_declared_with(entity: frozenset[str]) -> None:
    assert parts(entity) <= set(ENTITY_PARTS)
    assert len(ours(entity)) <= MOST_MODULES_OF_AN_ENTITY


def test_a_client_loads_the_surface_and_what_it_stands_on(client: frozenset[str]) -> None:
    assert parts(client) <= set(CLIENT_PARTS)
    assert len(ours(client)) <= MOST_MODULES_OF_A_CLIENT
