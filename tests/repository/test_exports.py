"""The public names of the package are those that docs/reference.md lists, no more and no less."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import surewrite

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"
# A row of the table: the name in the first column, what it is in the second.
ROW = re.compile(r"^\| `(?P<name>\w+)` \|", re.MULTILINE)


def exported() -> list[str]:
    return list(getattr(surewrite, "__all__", ()))


def test_exports_are_the_documented_names() -> None:
    documented = ROW.findall(REFERENCE.read_text(encoding="utf-8"))
    assert sorted(exported()) == sorted(documented)


def test_every_export_exists() -> None:
    assert [name for name in exported() if not hasattr(surewrite, name)] == []


def test_no_public_name_is_outside_the_list() -> None:
    ours = {name for name, value in vars(surewrite).items() if not name.startswith("_") and getattr(value, "__module__", "").startswith("surewrite")}
    assert ours <= set(exported())


def imports_for_checkers() -> dict[str, str]:
    """Where type checkers find each name: the imports under TYPE_CHECKING."""
    module = ast.parse(Path(surewrite.__file__).read_text(encoding="utf-8"))
    block = next(node for node in module.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) and node.module is not None for alias in node.names}


def test_a_name_is_loaded_from_where_checkers_find_it() -> None:
    assert imports_for_checkers() == {**surewrite._HOMES, "recipes": "surewrite"}


def test_every_export_has_a_home() -> None:
    assert sorted((*surewrite._HOMES, "recipes")) == sorted(exported())


def test_dir_lists_names_that_are_not_loaded_yet() -> None:
    assert set(exported()) <= set(dir(surewrite))
