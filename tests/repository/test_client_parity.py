"""The two clients offer the same: each class, method, parameter and default of one is in the other, in the same order."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

PREFIX = "Async"
# The asynchronous form of a special method has another name by the language's own rules.
SPECIAL = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__", "__anext__": "__next__"}
COMPARED_SPECIAL = frozenset(SPECIAL.values()) | {"__call__", "__init__"}


def public_classes(module: ModuleType) -> dict[str, type]:
    """The public classes that the module defines, by the name that both clients share."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def public_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions that the module defines, by the name that both clients share."""
    return {
        name.removesuffix("_async"): value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def parameters(function: Callable[..., Any]) -> list[tuple[str, str, str]]:
    return [(each.name, each.kind.name, repr(each.default)) for each in inspect.signature(function).parameters.values()]


def methods(owner: type) -> dict[str, list[tuple[str, str, str]] | None]:
    """The public methods and properties, inherited ones included, each with its parameters; a property has none."""
    found: dict[str, list[tuple[str, str, str]] | None] = {}
    for name in dir(owner):
        shared = SPECIAL.get(name, name)
        value = inspect.getattr_static(owner, name)
        if name.startswith("_") and (shared not in COMPARED_SPECIAL or value is inspect.getattr_static(object, name, None)):
            continue
        if isinstance(value, property):
            found[shared] = None
        elif callable(getattr(owner, name)):
            found[shared] = parameters(value.__func__ if isinstance(value, (classmethod, staticmethod)) else value)
    return found


def differences(blocking: ModuleType, asynchronous: ModuleType) -> list[str]:
    """What one client has and the other has not, a line each."""
    lines: list[str] = []
    ours, theirs = public_classes(blocking), public_classes(asynchronous)
    lines += [f"class {name} is in one client only" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        lines += compare(f"{name}.", methods(ours[name]), methods(theirs[name]))
    functions = [{name: parameters(function) for name, function in public_functions(module).items()} for module in (blocking, asynchronous)]
    return lines + compare("", functions[0], functions[1])


def compare(owner: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    lines = [f"{owner}{name} is in one client only" for name in sorted(ours.keys() ^ theirs.keys())]
    return lines + [f"{owner}{name}: {ours[name]} and {theirs[name]}" for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]


def test_the_clients_offer_the_same() -> None:
    names = ("surewrite.client", "surewrite.async_client")
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not in this version: {', '.join(missing)}")
    blocking, asynchronous = (importlib.import_module(name) for name in names)
    assert public_classes(blocking) != {}
    assert differences(blocking, asynchronous) == []


def module_of(name: str, source: str) -> ModuleType:
    module = ModuleType(name)
    exec(source, module.__dict__)
    return module


BLOCKING = """
class Table:
    def __enter__(self): ...
    def __exit__(self, *details): ...
    def get(self, key, *, consistent=True): ...
    @property
    def name(self): ...
def connect(target=None): ...
"""
EQUAL = """
class AsyncTable:
    async def __aenter__(self): ...
    async def __aexit__(self, *details): ...
    async def get(self, key, *, consistent=True): ...
    @property
    def name(self): ...
def connect_async(target=None): ...
"""
ANOTHER_DEFAULT = EQUAL.replace("consistent=True", "consistent=False")
NO_PROPERTY = EQUAL.replace("    @property\n    def name(self): ...\n", "")
NO_PARAMETER = EQUAL.replace("target=None", "")
OTHER_CLASS = EQUAL.replace("AsyncTable", "AsyncOther")


@pytest.mark.parametrize(
    ("asynchronous", "complaints"),
    [
        pytest.param(EQUAL, [], id="equal"),
        pytest.param(ANOTHER_DEFAULT, ["Table.get: "], id="another default"),
        pytest.param(NO_PROPERTY, ["Table.name is in one client only"], id="no property"),
        pytest.param(NO_PARAMETER, ["connect: "], id="no parameter"),
        pytest.param(OTHER_CLASS, ["class Other is in one client only", "class Table is in one client only"], id="another class"),
    ],
)
def test_a_difference_is_found(asynchronous: str, complaints: list[str]) -> None:
    found = differences(module_of("blocking", BLOCKING), module_of("asynchronous", asynchronous))
    assert len(found) == len(complaints)
    for line, complaint in zip(found, complaints, strict=True):
        assert line.startswith(complaint)
