"""Fixtures of the wire tests: both wires behind one blocking face, certificates, real peers."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services import Service

from surewrite.backends.credentials import FixedCredentials
from surewrite.backends.endpoints import endpoint_at
from surewrite.backends.http_attempts import HttpAttempts
from surewrite.backends.signing import Credentials
from surewrite.backends.wire_asynchronous import AsynchronousWire
from surewrite.backends.wire_blocking import BlockingWire
from surewrite.core.answers import Answer
from surewrite.core.requests import Request

KEYS = FixedCredentials(Credentials("AKIDEXAMPLE", "secret"))


class Client:
    """One wire of either form. Each call of the asynchronous one runs on an event loop of its own, so its pool meets many loops."""

    def __init__(self, form: str, url: str, *, credentials: Any = KEYS, **options: Any) -> None:
        endpoint = endpoint_at(url, environ={})
        self.form = form
        wire = BlockingWire if form == "blocking" else AsynchronousWire
        self.wire: Any = wire(HttpAttempts(endpoint, credentials, **options))

    @property
    def attempts(self) -> HttpAttempts:
        attempts: HttpAttempts = self.wire._attempts
        return attempts

    def send(self, request: Request, timeout: float = 5.0) -> Answer:
        sent = self.wire.send(request, timeout)
        answer: Answer = sent if self.form == "blocking" else asyncio.run(sent)
        return answer

    def put(self, table: str = "shop", timeout: float = 5.0) -> Answer:
        return self.send(Request("PutItem", {"TableName": table, "Item": {"pk": {"S": "a"}}}), timeout)

    def close(self) -> None:
        closed = self.wire.close()
        if closed is not None:
            asyncio.run(closed)


@pytest.fixture(params=["blocking", "asynchronous"])
def client(request: pytest.FixtureRequest) -> Iterator[Callable[..., Client]]:
    """Makes wires of one form; they are closed at the end."""
    made: list[Client] = []

    def make(url: str, **options: Any) -> Client:
        made.append(Client(request.param, url, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``trusted.pem``, a certificate for 127.0.0.1 that is its own authority, and its ``key.pem``."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("certificates")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "trusted.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return folder


@pytest.fixture(scope="session")
def server_tls(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "trusted.pem", certificates / "key.pem")
    return context


@pytest.fixture(scope="session")
def moto(services: Callable[[str], Service]) -> Service:
    pytest.importorskip("moto")
    return services("moto")


@pytest.fixture(scope="session")
def ministack(services: Callable[[str], Service]) -> Service:
    pytest.importorskip("ministack")
    return services("ministack")
