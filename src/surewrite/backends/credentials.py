"""Belongs here: finding and refreshing credentials. Must not be here: signing, requests to DynamoDB.

The environment is read here. All else (profiles, single sign-on, roles, containers, instances) is botocore's, where it is
installed: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from surewrite.backends.endpoints import Endpoint
from surewrite.backends.signing import Credentials
from surewrite.errors import InvalidRequest

LOCAL_CREDENTIALS = Credentials("surewrite", "surewrite")
"""What signs requests to this machine where nothing else is set: emulators check no signature."""

KEPT_SECONDS = 60.0
"""How long keys from botocore are used before it is asked again. It renews keys ten minutes before they expire, so a minute is safe."""


class CredentialSource(Protocol):
    """Where the keys of the next request come from. May be used by several threads."""

    def current(self) -> Credentials | None:
        """The keys, at once and without any waiting; ``None`` if they must be fetched first."""
        ...

    def fetch(self) -> Credentials:
        """The keys; may wait for files and other services. Raises what the source raises."""
        ...


class FixedCredentials:
    """Keys that never change."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = checked(credentials)

    def current(self) -> Credentials | None:
        return self._credentials

    def fetch(self) -> Credentials:
        return self._credentials


class RefreshedCredentials:
    """Keys that botocore finds and renews. ``find`` returns botocore's credentials object, or ``None`` if there are none.

    Of what it raises, ``faults`` become ``InvalidRequest``: a configuration that has to be fixed.
    """

    def __init__(self, find: Callable[[], Any], *, wall_clock: Callable[[], float] = time.time, faults: tuple[type[Exception], ...] = ()) -> None:
        self._find = find
        self._faults = faults
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._source: Any = None
        self._kept: tuple[Credentials, float] | None = None

    def current(self) -> Credentials | None:
        kept = self._kept
        # A clock that was set back counts as time gone by.
        return kept[0] if kept is not None and 0 <= self._wall_clock() - kept[1] < KEPT_SECONDS else None

    def fetch(self) -> Credentials:
        if self._owner != os.getpid():
            # After a fork nobody is left who could release the parent's lock.
            self._lock, self._owner = threading.Lock(), os.getpid()
        with self._lock:
            known = self.current()
            if known is not None:
                return known
            try:
                if self._source is None:
                    self._source = self._find()
                if self._source is None:
                    raise _missing("botocore found none: configure a profile or a role, or set")
                frozen = self._source.get_frozen_credentials()
            except self._faults as error:
                raise InvalidRequest(f"no credentials: {error}") from None
            # An empty token, as of a profile that names one without a value, is none.
            credentials = checked(Credentials(frozen.access_key, frozen.secret_key, frozen.token or None))
            self._kept = (credentials, self._wall_clock())
            return credentials


def find_credentials(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> CredentialSource:
    """The keys that the environment gives, else made-up ones for an endpoint on this machine, else botocore's. Does no input or output.

    Raises:
        InvalidRequest: There are none in the environment and botocore is not installed, or half of a pair is set.
    """
    key, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        # The older name of the token is read by botocore too.
        return FixedCredentials(Credentials(key, secret, environ.get("AWS_SESSION_TOKEN") or environ.get("AWS_SECURITY_TOKEN") or None))
    if key or secret:
        raise InvalidRequest("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both")
    if endpoint.is_loopback:
        return FixedCredentials(LOCAL_CREDENTIALS)
    try:
        from botocore.session import Session  # noqa: PLC0415 - an extra, and slow to load: only where it is needed
    except ImportError:
        raise _missing("install surewrite[aws] to use profiles, roles and single sign-on, or set") from None
    session: Any = Session(profile=environ.get("AWS_PROFILE"))
    return session_credentials(session)


def session_credentials(session: Any) -> CredentialSource:
    """The keys of a ``boto3.Session`` (or botocore's), renewed by it. Does no input or output yet.

    Where a configuration or a login is at fault, which no further try mends, ``fetch`` raises ``InvalidRequest``.
    """
    from botocore import exceptions  # noqa: PLC0415 - an extra, and slow to load: only where it is needed

    faults = (
        exceptions.ConfigParseError,
        exceptions.InfiniteLoopConfigError,
        exceptions.InvalidConfigError,
        exceptions.PartialCredentialsError,
        exceptions.ProfileNotFound,
        exceptions.SSOTokenLoadError,
        exceptions.UnauthorizedSSOTokenError,
        exceptions.UnknownCredentialError,
    )
    return RefreshedCredentials(session.get_credentials, faults=faults)


def checked(credentials: Credentials) -> Credentials:
    """The same keys, if they can stand in a header.

    Raises:
        InvalidRequest: A key is empty or holds a letter that no key has, a line end for instance. The text does not show it.
    """
    texts = (credentials.access_key_id, credentials.secret_access_key, credentials.session_token or "-")
    if not all(text and text.isascii() and text.isprintable() and " " not in text for text in texts):
        raise InvalidRequest("the credentials are empty, or hold a blank or a line end")
    return credentials


def _missing(why: str) -> InvalidRequest:
    return InvalidRequest(f"no credentials: {why} AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
