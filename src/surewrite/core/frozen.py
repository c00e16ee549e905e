"""Belongs here: a quicker constructor for frozen dataclasses of which each call makes new ones. Must not be here: any such class."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, TypeVar, cast

T = TypeVar("T")


def quickly_made(kind: type[T]) -> type[T]:
    """Give a frozen dataclass with slots another ``__init__``, of the same parameters and meaning and half the cost.

    The one that ``dataclass`` writes looks each attribute up by its name, past its own ``__setattr__``, which refuses every
    assignment. This one fills the slots by their descriptors. For classes without ``__post_init__`` and fields without ``init=False``.
    """
    made = cast("Any", kind)
    described: tuple[Field[Any], ...] = fields(made)
    # What the text of the function needs beside its parameters has names that no field has.
    around: dict[str, Any] = {"_missing_": MISSING}
    parameters: list[str] = []
    lines: list[str] = []
    for field in (*(each for each in described if not each.kw_only), *(each for each in described if each.kw_only)):
        name = field.name
        assert field.init
        around[f"_set_{name}_"] = getattr(made, name).__set__
        value, default = name, ""
        if field.default is not MISSING:
            around[f"_default_{name}_"] = field.default
            default = f"=_default_{name}_"
        elif field.default_factory is not MISSING:
            around[f"_make_{name}_"] = field.default_factory
            value, default = f"_make_{name}_() if {name} is _missing_ else {name}", "=_missing_"
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        parameters.append(f"{name}{default}")
        lines.append(f"    _set_{name}_(self, {value})")
    # As dataclass does it: a loop over the fields at each call would cost more than it saves.
    exec("\n".join((f"def __init__(self, {', '.join(parameters)}):", *lines)), around)  # noqa: S102
    made.__init__ = wraps(made.__init__)(around["__init__"])
    return kind
