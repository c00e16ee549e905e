"""Belongs here: what can come back for one attempt to send one request. Must not be here: what it means for a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surewrite.core.frozen import quickly_made
from surewrite.core.values import Item


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one action of a cancelled transaction failed, in the service's words; ``code`` is ``"None"`` if it did not."""

    code: str
    message: str | None = None
    item: Item | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Success:
    """The service answered that it did what was asked.

    ``resent`` is true when the transport below sent the request more than once by itself.
    ``server_time`` is the service's own clock in seconds since 1970, where the answer told it.
    """

    body: Mapping[str, Any]
    resent: bool = False
    server_time: float | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Rejection:
    """A well-formed error of the service. Whether it proves that nothing was written depends on ``code`` and ``status``."""

    code: str
    message: str = ""
    status: int = 400
    item: Item | None = None
    reasons: tuple[Reason, ...] = ()
    resent: bool = False
    server_time: float | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """At least one byte may have left, and no well-formed answer was read: the request may take effect, now or later."""

    detail: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """The transport proves that the last byte of the request was never handed over, so it cannot take effect."""

    detail: str


Answer = Success | Rejection | NoAnswer | NotSent
