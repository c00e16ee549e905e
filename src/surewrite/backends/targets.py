"""Belongs here: from what ``connect`` was given to a backend. Must not be here: sending, credentials, retries.

Each kind of backend is loaded when it is first asked for, so that a program pays for none but its own.
"""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from surewrite.errors import InvalidRequest

if TYPE_CHECKING:
    from surewrite.backends.credentials import CredentialSource
    from surewrite.backends.endpoints import Endpoint
    from surewrite.backends.http_attempts import HttpAttempts
    from surewrite.drivers.backend import AsyncBackend, Backend

_EMBEDDED = ("memory:", "file:")
# Each connection opens a file for itself; a memory that has a name is shared in the process.
_OWN = "file:"
_URL = ("http://", "https://")


def backend_for(target: object | None) -> Backend:
    """The blocking backend of a target. Raises ``InvalidRequest`` for what is none."""
    if isinstance(target, str) and target.startswith(_EMBEDDED):
        from surewrite.backends.embedded import EmbeddedBackend, open_embedded

        return EmbeddedBackend(open_embedded(target), name=target, owns=target.startswith(_OWN))
    if is_backend(target):
        return cast("Backend", target)
    if _is_boto3_client(target):
        from surewrite.backends.boto3_client import Boto3ClientBackend

        return Boto3ClientBackend(target)
    from surewrite.backends.wire_blocking import BlockingWire

    return BlockingWire(_attempts_at(target))


def async_backend_for(target: object | None) -> AsyncBackend:
    """The awaited backend of a target. Raises ``InvalidRequest`` for what is none."""
    if isinstance(target, str) and target.startswith(_EMBEDDED):
        from surewrite.backends.embedded import AsyncEmbeddedBackend, open_embedded

        return AsyncEmbeddedBackend(open_embedded(target), name=target, owns=target.startswith(_OWN))
    if is_backend(target):
        return cast("AsyncBackend", target)
    if _is_boto3_client(target):
        from surewrite.backends.boto3_client import AsyncBoto3ClientBackend

        return AsyncBoto3ClientBackend(target)
    from surewrite.backends.wire_asynchronous import AsynchronousWire

    return AsynchronousWire(_attempts_at(target))


def is_backend(target: object) -> bool:
    """Whether the object fulfils the protocol of a backend: one of the caller's own, such as one that injects faults."""
    return callable(getattr(target, "send", None)) and hasattr(target, "traits")


def _is_boto3_client(target: object) -> bool:
    if target is None or isinstance(target, str):
        return False
    from surewrite.backends.boto3_client import is_boto3_client

    return is_boto3_client(target)


def _attempts_at(target: object | None) -> HttpAttempts:
    from surewrite.backends.http_attempts import HttpAttempts

    return HttpAttempts(*_wire_settings(target))


def _wire_settings(target: object | None) -> tuple[Endpoint, CredentialSource]:
    from surewrite.backends.credentials import find_credentials
    from surewrite.backends.endpoints import endpoint_at, find_endpoint

    if target is None:
        endpoint = find_endpoint()
    elif isinstance(target, str) and target.startswith(_URL):
        endpoint = endpoint_at(target)
    else:
        return _session_settings(target)
    return endpoint, find_credentials(endpoint)


def _session_settings(target: object) -> tuple[Endpoint, CredentialSource]:
    from surewrite.backends.boto3_client import boto3_session_settings, is_boto3_session

    if is_boto3_session(target):
        return boto3_session_settings(target)
    # What stands before an "@" in an address may be a password.
    shown = repr(target.rpartition("@")[2]) if isinstance(target, str) else type(target).__name__
    raise InvalidRequest(
        f'cannot connect to {shown}: give "memory:", "memory:NAME", "file:PATH", a URL such as "http://127.0.0.1:8000", a boto3.Session(),'
        " a boto3 client whose own resends are off, or nothing for DynamoDB itself"
    )
