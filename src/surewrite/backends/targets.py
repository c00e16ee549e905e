"""Belongs here: from what ``connect`` was given to a backend. Must not be here: sending, credentials, retries."""

from __future__ import annotations

from surewrite.backends.embedded import AsyncEmbeddedBackend, EmbeddedBackend, open_embedded
from surewrite.drivers.backend import AsyncBackend, Backend
from surewrite.errors import InvalidRequest


def backend_for(target: str | object | None) -> Backend:
    """The blocking backend of a target."""
    if isinstance(target, str) and target.startswith(("memory:", "file:")):
        return EmbeddedBackend(open_embedded(target), name=target)
    raise InvalidRequest(f"cannot connect to {target!r}")


def async_backend_for(target: str | object | None) -> AsyncBackend:
    """The awaited backend of a target."""
    if isinstance(target, str) and target.startswith(("memory:", "file:")):
        return AsyncEmbeddedBackend(open_embedded(target), name=target)
    raise InvalidRequest(f"cannot connect to {target!r}")
