"""Belongs here: a boto3 client whose own resends are off, as a backend; a boto3 session's settings for our wire. Must not be here: retries.

What the service answered is read from the HTTP reply by ``core.wire``, as on our own wire: botocore takes a page of a proxy,
or half a document, with status 200 for an empty answer.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any, cast

from surewrite.backends.awaiting import future_done
from surewrite.backends.background import in_background
from surewrite.backends.credentials import CredentialSource, session_credentials
from surewrite.backends.endpoints import Endpoint, session_endpoint, traits_of
from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits
from surewrite.core.wire import read_answer
from surewrite.errors import InvalidRequest

_ONE_ATTEMPT = (
    'the boto3 client sends again by itself, so that its answers do not tell what was written. Write: boto3.client("dynamodb", '
    'config=Config(retries={"total_max_attempts": 1, "mode": "standard"})), or give the boto3.Session() itself'
)
_NO_RESOURCE = 'this client belongs to boto3.resource(...) and rewrites values: give boto3.client("dynamodb", ...) or the boto3.Session() itself'
_PROBE = {"TableName": "probe", "Item": {"probe": {"S": "probe"}}}
_TOO_LATE = "the boto3 client did not answer within the time limit"
_SENDS, _REPLY = "before-send.dynamodb", "response-received.dynamodb"
_HANDLER = "surewrite"


def is_boto3_session(target: object) -> bool:
    """Whether this is a ``boto3.Session``, asked without importing boto3."""
    return any(kind.__module__ == "boto3.session" and kind.__name__ == "Session" for kind in type(target).__mro__)


def is_boto3_client(target: object) -> bool:
    """Whether this is a client of boto3 or botocore, asked without importing either."""
    return any(kind.__module__ == "botocore.client" and kind.__name__ == "BaseClient" for kind in type(target).__mro__)


def boto3_session_settings(session: Any) -> tuple[Endpoint, CredentialSource]:
    """Endpoint and credentials of a ``boto3.Session``, for ``HttpAttempts``. Reads AWS's configuration file.

    Raises:
        InvalidRequest: The session has no region.
    """
    return session_endpoint(session), session_credentials(session)


@dataclass(slots=True)
class _Seen:
    """What one call of the client showed: whether a request was about to leave, and its replies."""

    begun: bool = False
    replies: list[Mapping[str, Any] | None] = field(default_factory=list[Mapping[str, Any] | None])


class Boto3ClientBackend:
    """A client of boto3 as a backend. Its connections, signatures and certificates are the client's own.

    Each attempt runs in a thread of its own, because a client takes no time limit for one call: an attempt that is given up
    may still be executed, which is what its ``NoAnswer`` says. Two handlers are added to the client, which only look on: at
    requests that are about to leave, and at replies.

    Raises:
        InvalidRequest: The client is not one for DynamoDB, sends again by itself, or belongs to a ``boto3.resource``.
    """

    def __init__(self, client: Any) -> None:
        _check_client(client)
        self._client = client
        self._methods: dict[str, str] = {operation: method for method, operation in client.meta.method_to_api_mapping.items()}
        self._seen = threading.local()
        client.meta.events.register(_SENDS, self._see_request, unique_id=f"{_HANDLER}-sends-{id(self)}")
        client.meta.events.register(_REPLY, self._see_reply, unique_id=f"{_HANDLER}-reply-{id(self)}")
        self._closed = False

    @property
    def traits(self) -> EndpointTraits:
        return traits_of(str(self._client.meta.endpoint_url))

    def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt; wait at most ``timeout`` seconds for its answer.

        Raises:
            InvalidRequest: The backend is closed, the client has no such operation or no credentials, or refuses the parameters.
        """
        try:
            return self.start(request).result(timeout)
        except FutureTimeoutError:
            return NoAnswer(_TOO_LATE)

    def start(self, request: Request) -> Future[Answer]:
        """Send one attempt in a thread of its own; the future holds its answer."""
        if self._closed:
            raise InvalidRequest("this connection to the service was closed")
        method = self._methods.get(request.operation)
        if method is None:
            raise InvalidRequest(f"the boto3 client has no operation {request.operation}")
        shape = self._client.meta.service_model.operation_model(request.operation).input_shape
        parameters = _with_bytes(shape, request.body)
        return in_background(lambda: self._call(request, method, parameters), "surewrite-boto3")

    def close(self) -> None:
        """Send nothing more. The client itself stays open: it belongs to who made it."""
        self._closed = True
        self._client.meta.events.unregister(_SENDS, unique_id=f"{_HANDLER}-sends-{id(self)}")
        self._client.meta.events.unregister(_REPLY, unique_id=f"{_HANDLER}-reply-{id(self)}")

    # Both are called once for each attempt of the client, in the thread of the call.

    def _see_request(self, **_: object) -> None:
        seen: _Seen | None = getattr(self._seen, "call", None)
        if seen is not None:
            seen.begun = True

    def _see_reply(self, response_dict: Mapping[str, Any] | None = None, **_: object) -> None:
        # Without a reply when the attempt failed.
        seen: _Seen | None = getattr(self._seen, "call", None)
        if seen is not None:
            seen.replies.append(response_dict)

    def _call(self, request: Request, method: str, parameters: Mapping[str, Any]) -> Answer:
        from botocore.exceptions import ClientError, NoCredentialsError, ParamValidationError  # noqa: PLC0415 - an extra

        self._seen.call = seen = _Seen()
        try:
            getattr(self._client, method)(**parameters)
        except ParamValidationError:
            # Its text quotes values.
            raise InvalidRequest(f"the boto3 client refused the parameters of {request.operation}") from None
        except NoCredentialsError as error:
            raise InvalidRequest(f"the boto3 client has no credentials: {error}") from None
        except ClientError as error:
            # The service said no; in which words is read below. Before a request it was another service, which was asked for keys.
            if not seen.begun:
                return _failed(error, seen)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it is told by what may have left
            return _failed(error, seen)
        if not seen.replies or seen.replies[-1] is None:
            return NoAnswer("the boto3 client showed no reply")
        return _read(request, seen.replies[-1], resent=len(seen.replies) > 1)


class AsyncBoto3ClientBackend:
    """The same for asyncio: the thread of each attempt is awaited. A cancelled attempt runs on in its thread, on the client's connection."""

    def __init__(self, client: Any) -> None:
        self._blocking = Boto3ClientBackend(client)

    @property
    def traits(self) -> EndpointTraits:
        return self._blocking.traits

    async def send(self, request: Request, timeout: float) -> Answer:
        """Send one attempt; wait at most ``timeout`` seconds for its answer. Raises as ``Boto3ClientBackend.send``."""
        future = self._blocking.start(request)
        return future.result() if await future_done(future, timeout) else NoAnswer(_TOO_LATE)

    async def close(self) -> None:
        """Send nothing more. The client itself stays open."""
        self._blocking.close()


def _check_client(client: Any) -> None:
    if not is_boto3_client(client) or client.meta.service_model.service_name != "dynamodb":
        raise InvalidRequest(f'{type(client).__name__} is no client of boto3 for DynamoDB: give boto3.client("dynamodb", ...) or a boto3.Session()')
    retries: dict[str, Any] = client.meta.config.retries or {}
    if retries.get("total_max_attempts") != 1:
        raise InvalidRequest(_ONE_ATTEMPT)
    # A resource adds handlers that take {"S": "a"} for a map and encode it once more. They are asked whether they would.
    model = client.meta.service_model.operation_model("PutItem")
    parameters = {"TableName": _PROBE["TableName"], "Item": {"probe": {"S": "probe"}}}
    client.meta.events.emit("before-parameter-build.dynamodb.PutItem", params=parameters, model=model, context={})
    if parameters["Item"] != _PROBE["Item"]:
        raise InvalidRequest(_NO_RESOURCE)


def _failed(error: Exception, seen: _Seen) -> Answer:
    from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError  # noqa: PLC0415 - an extra

    # Each of these is raised before a connection exists. An error of TLS is not among them: it may come after the request.
    early = isinstance(error, (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError)) and len(seen.replies) <= 1
    detail = f"boto3: {type(error).__name__}: {error}"
    return NotSent(detail) if early or not seen.begun else NoAnswer(detail)


def _read(request: Request, reply: Mapping[str, Any], *, resent: bool) -> Answer:
    status, body = cast("int", reply["status_code"]), cast("bytes", reply["body"])
    # Names are compared without case: botocore keeps them as they came.
    headers = {name.lower(): str(value) for name, value in reply["headers"].items()}
    length = headers.get("content-length")
    # botocore does not compare the two. Not for a body in chunks, where the length is void.
    if length is not None and "transfer-encoding" not in headers and length != str(len(body)):
        return NoAnswer(f"HTTP status {status}, the body is not as long as it says")
    checksum, encoding, date = headers.get("x-amz-crc32"), headers.get("content-encoding"), headers.get("date")
    answer = read_answer(request, status, body, checksum=checksum, encoding=encoding, date=date, resent=resent)
    assert isinstance(answer, (Success, Rejection, NoAnswer))
    return answer


def _with_bytes(shape: Any, value: Any) -> Any:
    """The same parameters with binary as bytes, which is how a client takes them. ``shape`` is botocore's model of the value."""
    kind = shape.type_name
    if kind == "structure" and isinstance(value, Mapping):
        members = shape.members
        given = cast("Mapping[str, Any]", value)
        return {name: _with_bytes(members[name], member) if name in members else member for name, member in given.items()}
    if kind == "map" and isinstance(value, Mapping):
        return {name: _with_bytes(shape.value, member) for name, member in cast("Mapping[str, Any]", value).items()}
    if kind == "list" and isinstance(value, list):
        return [_with_bytes(shape.member, member) for member in cast("Iterable[Any]", value)]
    if kind == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            raise InvalidRequest("a binary value is not base64 text") from None
    return value
