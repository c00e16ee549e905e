"""A class that is quickly made differs from a plain frozen dataclass in nothing but time."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from surewrite.core.frozen import quickly_made


@dataclass(frozen=True, slots=True)
class Plain:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list[int])
    hidden: int = field(default=0, compare=False, repr=False)
    named: bool = field(default=False, kw_only=True)


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list[int])
    hidden: int = field(default=0, compare=False, repr=False)
    named: bool = field(default=False, kw_only=True)


@quickly_made
@dataclass(frozen=True, slots=True)
class Narrower(Quick):
    fourth: int = 4


ARGUMENTS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((1,), {}),
    ((1, "c"), {"named": True}),
    ((1, "c", [7], 9), {}),
    ((), {"first": 1, "third": [2], "hidden": 3}),
)


@pytest.mark.parametrize(("positional", "named"), ARGUMENTS)
def test_it_takes_what_the_plain_one_takes_and_holds_the_same(positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    plain, quick = Plain(*positional, **named), Quick(*positional, **named)
    assert [getattr(quick, name) for name in Plain.__slots__] == [getattr(plain, name) for name in Plain.__slots__]
    assert repr(quick) == repr(plain).replace("Plain", "Quick")
    assert quick == Quick(*positional, **named)


@pytest.mark.parametrize(("positional", "named"), [((), {}), ((1,), {"first": 2}), ((1, "b", [], 0, True), {}), ((1,), {"unknown": 1})])
def test_it_refuses_what_the_plain_one_refuses(positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Plain, Quick):
        with pytest.raises(TypeError):
            kind(*positional, **named)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick(1).first = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_each_one_has_a_list_of_its_own() -> None:
    assert Quick(1).third is not Quick(1).third


def test_it_is_copied_pickled_and_replaced() -> None:
    one = Quick(1, "c", [5], 6, named=True)
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert replace(one, first=2) == Quick(2, "c", [5], 6, named=True)


def test_a_class_that_inherits_fields_fills_them_too() -> None:
    assert Narrower(1, fourth=5) == Narrower(1, "b", [], fourth=5)
    assert (Narrower(1).first, Narrower(1).fourth) == (1, 4)


def test_its_signature_is_that_of_the_plain_one() -> None:
    assert str(inspect.signature(Quick)) == str(inspect.signature(Plain))
