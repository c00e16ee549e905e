"""Belongs here: what a world did that it must not, as a value. Must not be here: finding it."""

from __future__ import annotations

from typing import Any


class Violation(Exception):
    """A promise that did not hold. ``rule`` names it in a few words that stay the same from run to run, ``text`` says what happened.

    ``client`` and ``call`` are whose it was, where it was somebody's.
    """

    def __init__(self, rule: str, text: str, *, client: str | None = None, call: Any = None) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule
        self.text = text
        self.client = client
        self.call = call
