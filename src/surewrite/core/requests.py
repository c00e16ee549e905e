"""Belongs here: one frozen request to the service. Must not be here: HTTP, JSON, retry information."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surewrite.core.frozen import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One call of the service: the operation's name and its body in the service's own shape.

    The body holds typed attribute values (``{"S": "text"}``, ``{"N": "1"}``, binary as base64 text) and is never
    changed after the request is made: an attempt that is sent again sends the same content.
    """

    operation: str
    body: Mapping[str, Any]
