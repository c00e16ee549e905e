"""Belongs here: one attempt's bytes: head, fresh date, signature, body; the server's clock. Must not be here: sockets, finding keys, how to sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surewrite.backends.endpoints import Endpoint
from surewrite.backends.signing import Credentials, Scope, Signer, signing_key, time_stamp
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.wire import request_body
from surewrite.errors import InvalidRequest

_TARGET = "DynamoDB_20120810"
_CONTENT_TYPE = "application/x-amz-json-1.0"
_SERVICE = "dynamodb"
_NOISE_SECONDS = 1.0
"""A Date header tells whole seconds, so a smaller difference of the clocks is none."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What the heads of one operation share in one second: the bytes before the signature, and its signer."""

    before: bytes
    signer: Signer


@dataclass(frozen=True, slots=True)
class _Heads:
    """The heads of one second, so that they are never many."""

    second: int
    credentials: Credentials
    by_operation: dict[str, _Head]


class SignedRequests:
    """Makes the bytes of each attempt for one endpoint. Safe for several threads: what it keeps is replaced, or added to, never changed.

    ``clock_offset`` is how many seconds the server's clock is ahead of ours, by its last answer.
    """

    def __init__(self, endpoint: Endpoint, wall_clock: Callable[[], float]) -> None:
        self.clock_offset = 0.0
        self._endpoint = endpoint
        self._host = endpoint.host_header
        self._wall_clock = wall_clock
        self._heads: _Heads | None = None
        self._key: tuple[Credentials, bytes, Scope] | None = None

    def body(self, request: Request) -> bytes:
        """The body, the same for each attempt.

        Raises:
            InvalidRequest: The operation is no name of one, or the body cannot be written as JSON.
        """
        if not (request.operation.isascii() and request.operation.isalnum()):
            raise InvalidRequest(f"{request.operation!r} is no operation of the service")
        return request_body(request)

    def signed(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """Head and body, signed for the server's present time. About 5 µs."""
        second = int(self._wall_clock() + self.clock_offset)
        heads = self._heads
        if heads is None or heads.second != second or heads.credentials is not credentials:
            self._heads = heads = _Heads(second, credentials, {})
        head = heads.by_operation.get(operation)
        if head is None:
            head = heads.by_operation[operation] = self._head(operation, credentials, second)
        return b"%b%b\r\naccept-encoding: identity\r\nuser-agent: surewrite\r\ncontent-length: %d\r\n\r\n%b" % (
            head.before,
            head.signer.authorization(body),
            len(body),
            body,
        )

    def learn(self, answer: Answer) -> None:
        """Take the server's clock from an answer of the service itself; a proxy's page is no witness."""
        if isinstance(answer, (Success, Rejection)) and answer.server_time is not None:
            difference = answer.server_time - self._wall_clock()
            self.clock_offset = difference if abs(difference) > _NOISE_SECONDS else 0.0

    def _head(self, operation: str, credentials: Credentials, second: int) -> _Head:
        path, stamp, token = self._endpoint.path, time_stamp(second), credentials.session_token
        key, scope = self._signing_key(credentials, stamp[:8])
        headers = [("content-type", _CONTENT_TYPE), ("host", self._host), ("x-amz-date", stamp), ("x-amz-target", f"{_TARGET}.{operation}")]
        if token is not None:
            headers.insert(3, ("x-amz-security-token", token))
        signer = Signer("POST", path, "", headers, access_key_id=credentials.access_key_id, key=key, stamp=stamp, scope=scope)
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        return _Head(f"POST {path} HTTP/1.1\r\n{lines}authorization: ".encode("ascii"), signer)

    def _signing_key(self, credentials: Credentials, day: str) -> tuple[bytes, Scope]:
        known = self._key
        if known is None or known[0] is not credentials or known[2].day != day:
            scope = Scope(day, self._endpoint.region, _SERVICE)
            self._key = known = (credentials, signing_key(credentials.secret_access_key, scope), scope)
        return known[1], known[2]
