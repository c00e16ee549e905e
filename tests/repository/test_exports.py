"""The public names of the package and of its recipes are those that docs/reference.md lists, no more and no less."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_args, get_origin, get_type_hints

import pytest

import surewrite
from surewrite import recipes
from surewrite.core.entities import EntityBase

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"
# A row of the table: the name in the first column, what it is in the second.
ROW = re.compile(r"^\| `(?P<name>\w+)` \|", re.MULTILINE)


def exported() -> list[str]:
    return list(getattr(surewrite, "__all__", ()))


@pytest.mark.parametrize("package", [surewrite, recipes], ids=lambda package: package.__name__)
def test_exports_are_the_documented_names(package: ModuleType) -> None:
    section = REFERENCE.read_text(encoding="utf-8").partition(f"## `{package.__name__}`\n")[2].partition("\n## ")[0]
    names = exported() if package is surewrite else dir(package)
    assert sorted(names) == sorted(ROW.findall(section))


def test_every_export_exists() -> None:
    assert [name for name in exported() if not hasattr(surewrite, name)] == []


def test_no_public_name_is_outside_the_list() -> None:
    ours = {name for name, value in vars(surewrite).items() if not name.startswith("_") and getattr(value, "__module__", "").startswith("surewrite")}
    assert ours <= set(exported())


def imports_for_checkers(package: ModuleType) -> dict[str, str]:
    """Where type checkers find each name: the imports under TYPE_CHECKING."""
    module = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in module.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) and node.module is not None for alias in node.names}


def test_a_name_is_loaded_from_where_checkers_find_it() -> None:
    assert imports_for_checkers(surewrite) == {**surewrite._HOMES, "recipes": "surewrite"}


def test_every_export_has_a_home() -> None:
    assert sorted((*surewrite._HOMES, "recipes")) == sorted(exported())


def test_dir_lists_names_that_are_not_loaded_yet() -> None:
    assert set(exported()) <= set(dir(surewrite))


def recipe_types() -> set[type]:
    return {value for value in map(recipes.__getattr__, dir(recipes)) if isinstance(value, type)}


def recipe_functions() -> Iterator[Callable[..., object]]:
    """The public functions of the recipes, the getters of properties among them."""
    for value in map(recipes.__getattr__, dir(recipes)):
        members = [member for name, member in vars(value).items() if not name.startswith("_") or name == "__init__"] if isinstance(value, type) else [value]
        for member in members:
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function):
                yield function


def types_in(hint: object) -> Iterator[type]:
    for each in (hint, get_origin(hint)):
        if isinstance(each, type):
            yield each
    for argument in get_args(hint):
        for each in argument if isinstance(argument, list) else [argument]:
            yield from types_in(each)


def own_rows() -> set[type]:
    """The entities that a recipe stores beside those of the user."""
    modules = [import_module(f"surewrite.recipes.{module}") for module in set(recipes._MODULES.values())]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, EntityBase) and value.__module__ == module.__name__ and value is not recipes.ListPart
    }


def test_a_recipe_is_loaded_from_where_checkers_find_it() -> None:
    assert imports_for_checkers(recipes) == {name: f"surewrite.recipes.{module}" for name, module in recipes._MODULES.items()}


def test_what_recipes_take_and_give_can_be_named_without_their_modules() -> None:
    found = {each for function in recipe_functions() for hint in get_type_hints(function).values() for each in types_in(hint)}
    ours = {each for each in found if each.__module__.startswith("surewrite.recipes") and not getattr(each, "_is_protocol", False)}
    assert {each.__name__ for each in ours - recipe_types()} == set()


def test_a_recipe_tells_create_table_the_rows_that_it_stores() -> None:
    told = {row for each in recipe_types() for row in getattr(each, "entities", ())}
    assert {each.__name__ for each in own_rows() - told} == set()
