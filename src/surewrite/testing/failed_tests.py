"""Belongs here: a broken promise as the failure of a test of pytest. Must not be here: the plugin, which is loaded where nothing is simulated."""

from __future__ import annotations

import pytest

from surewrite.testing.proving import PromiseBroken


class TestFailed(PromiseBroken, pytest.fail.Exception):  # type: ignore[name-defined, misc]  # mypy takes pytest.fail.Exception for a value
    """A ``PromiseBroken``, so that a test can expect one; pytest tells its text alone, without the traceback of the library's code."""

    __test__ = False
    # As pytest does for its own outcomes: its summary shows the name without a module.
    __module__ = "builtins"

    def __init__(self, broken: PromiseBroken, again: str) -> None:
        super().__init__(broken.run, broken.seed, broken.schedule)
        self.msg = f"a promise is broken; again with {again}\n{broken}"
        self.pytrace = False
