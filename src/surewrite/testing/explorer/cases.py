"""Belongs here: what a case is. Must not be here: the cases, which stand by topic in modules of their own."""

from __future__ import annotations

from dataclasses import dataclass

from surewrite.testing.explorer.clients import Patience, Start
from surewrite.testing.explorer.promises import Promise
from surewrite.testing.explorer.search import World


@dataclass(frozen=True, slots=True)
class Case:
    """One world, one client, one promise, and what the search must come to.

    ``breaks`` is what the counter-schedule ends with, for a client that is wrong on purpose or a limit that the pages
    state; ``None`` where the promise holds. ``patience`` is less where one operation makes several writes.
    """

    name: str
    claim: str
    start: Start
    world: World
    promise: Promise
    breaks: str | None = None
    patience: Patience = Patience()  # noqa: RUF009 - a frozen value
