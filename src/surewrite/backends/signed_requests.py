"""Belongs here: one attempt's bytes: head, fresh date, signature, body; the server's clock. Must not be here: sockets, finding keys, how to sign."""

from __future__ import annotations

from collections.abc import Callable

from surewrite.backends.endpoints import Endpoint
from surewrite.backends.signing import Credentials, Scope, authorization, signing_key, time_stamp
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.wire import request_body
from surewrite.errors import InvalidRequest

_TARGET = "DynamoDB_20120810"
_CONTENT_TYPE = "application/x-amz-json-1.0"
_SERVICE = "dynamodb"
_NOISE_SECONDS = 1.0
"""A Date header tells whole seconds, so a smaller difference of the clocks is none."""


class SignedRequests:
    """Makes the bytes of each attempt for one endpoint. Safe for several threads: what it keeps is replaced, never changed.

    ``clock_offset`` is how many seconds the server's clock is ahead of ours, by its last answer.
    """

    def __init__(self, endpoint: Endpoint, wall_clock: Callable[[], float]) -> None:
        self.clock_offset = 0.0
        self._endpoint = endpoint
        self._host = endpoint.host_header
        self._wall_clock = wall_clock
        self._stamp: tuple[int, str, Scope] | None = None
        self._key: tuple[Credentials, Scope, bytes] | None = None

    def body(self, request: Request) -> bytes:
        """The body, the same for each attempt.

        Raises:
            InvalidRequest: The operation is no name of one, or the body cannot be written as JSON.
        """
        if not (request.operation.isascii() and request.operation.isalnum()):
            raise InvalidRequest(f"{request.operation!r} is no operation of the service")
        return request_body(request)

    def signed(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """Head and body, signed for the server's present time. About 15 µs."""
        stamp, scope = self._now()
        token = credentials.session_token
        headers = [("content-type", _CONTENT_TYPE), ("host", self._host), ("x-amz-date", stamp), ("x-amz-target", f"{_TARGET}.{operation}")]
        if token is not None:
            headers.insert(3, ("x-amz-security-token", token))
        signature = authorization(
            "POST",
            self._endpoint.path,
            "",
            headers,
            body,
            access_key_id=credentials.access_key_id,
            key=self._signing_key(credentials, scope),
            stamp=stamp,
            scope=scope,
        )
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        head = (
            f"POST {self._endpoint.path} HTTP/1.1\r\n{lines}authorization: {signature}\r\n"
            f"accept-encoding: identity\r\nuser-agent: surewrite\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode("ascii") + body

    def learn(self, answer: Answer) -> None:
        """Take the server's clock from an answer of the service itself; a proxy's page is no witness."""
        if isinstance(answer, (Success, Rejection)) and answer.server_time is not None:
            difference = answer.server_time - self._wall_clock()
            self.clock_offset = difference if abs(difference) > _NOISE_SECONDS else 0.0

    def _now(self) -> tuple[str, Scope]:
        second = int(self._wall_clock() + self.clock_offset)
        known = self._stamp
        if known is None or known[0] != second:
            text = time_stamp(second)
            day = text[:8]
            scope = known[2] if known is not None and known[2].day == day else Scope(day, self._endpoint.region, _SERVICE)
            self._stamp = known = (second, text, scope)
        return known[1], known[2]

    def _signing_key(self, credentials: Credentials, scope: Scope) -> bytes:
        known = self._key
        if known is None or known[0] is not credentials or known[1] is not scope:
            self._key = known = (credentials, scope, signing_key(credentials.secret_access_key, scope))
        return known[2]
