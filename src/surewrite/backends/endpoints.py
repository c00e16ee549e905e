"""Belongs here: region or address to URL, TLS options. Must not be here: credentials.

What boto3 would use is used: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html for addresses,
feature-region.html beside it for regions.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from surewrite.core.traits import EndpointTraits
from surewrite.errors import InvalidRequest

LOCAL_REGION = "us-east-1"
"""The region that signatures name where the address is no address of AWS and no region is set: emulators take any."""

_PORTS = {"http": 80, "https": 443}
# The partitions whose names do not end in amazonaws.com, by the beginning of their regions (botocore's partitions.json, November 2026).
_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}
_AWS_SUFFIX = "amazonaws.com"
_AWS_SUFFIXES = (_AWS_SUFFIX, "api.aws", *_SUFFIXES.values())
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+", re.ASCII)
_REGION_IN_HOST = re.compile(r"(?:^|\.)(?:dynamodb|dynamodb-fips|ddb)\.([a-z]{2,}(?:-[a-z0-9]+)+)\.", re.ASCII)
# One label: RFC 1123, 2.1, and the underscore that names of containers use.
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_HOST_LENGTH_MAX = 253
# Letters that stand for themselves in a path, so that the path that is signed is the path that is sent.
_PATH = re.compile(r"(/[A-Za-z0-9_.~-]+)*/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. ``host`` is in lower case, an IPv6 address without brackets; ``path`` begins with a slash; ``region`` is signed.

    ``authorities`` is the file of trusted certificates that the profile names, if it names one.
    """

    secure: bool
    host: str
    port: int
    path: str
    region: str
    authorities: str | None = None

    @property
    def host_header(self) -> str:
        """The Host header: the port stands in it unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self._scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host_header}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether the address is this machine's own, without asking a resolver."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        address = _address(self.host)
        return address is not None and address.is_loopback

    @property
    def is_aws(self) -> bool:
        return _is_of_aws(self.host)

    @property
    def traits(self) -> EndpointTraits:
        return traits_of(self.url)

    @property
    def _scheme(self) -> str:
        return "https" if self.secure else "http"


def traits_of(url: str) -> EndpointTraits:
    """What the service keeps to is known; of any other address it is found out when it matters."""
    known = True if _is_of_aws(urlsplit(url).hostname or "") else None
    return EndpointTraits(url, tokens=known, transactions=known, old_item=known, cancelled_items=known)


def endpoint_at(url: str, *, region: str | None = None, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint at an address that is given, for instance ``http://127.0.0.1:8000``.

    The region that requests are signed for is, in this order: the one that a host name of AWS says, ``region``,
    ``AWS_REGION``, ``AWS_DEFAULT_REGION``, ``us-east-1``.

    Raises:
        InvalidRequest: The address is none that requests can be sent to; the text says why.
    """
    if "@" in url:
        raise InvalidRequest("an address of an endpoint cannot hold a name and password: keys come from the environment or from AWS's configuration")
    # A control character would be dropped without a word by the parser of the standard library.
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _bad(url, "it holds a blank, a control character or a letter outside ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from None
    if parts.scheme not in _PORTS:
        raise _bad(url, "it must begin with http:// or https://")
    if parts.query or parts.fragment:
        raise _bad(url, "it cannot have a query or a fragment")
    host = _host(url, parts.hostname)
    if port == 0:
        raise _bad(url, "no request can be sent to port 0")
    if _PATH.fullmatch(parts.path) is None or "/." in parts.path:
        raise _bad(url, "its path may hold letters, digits, '-', '_' and '~', and single slashes")
    named = _REGION_IN_HOST.search(host)
    secure = parts.scheme == "https"
    endpoint = Endpoint(secure, host, port or _PORTS[parts.scheme], parts.path or "/", LOCAL_REGION)
    if endpoint.is_aws and named is not None:
        signed = named[1]
    else:
        signed = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or LOCAL_REGION
    return Endpoint(secure, endpoint.host, endpoint.port, endpoint.path, _checked_region(signed))


def find_endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint that the environment and, where botocore is installed, AWS's configuration file name.

    In this order: ``AWS_ENDPOINT_URL_DYNAMODB``, ``AWS_ENDPOINT_URL``, the profile's own address, the service in
    ``AWS_REGION`` or ``AWS_DEFAULT_REGION``, the service in the profile's region. An address is signed for in the same region.
    Reads at most that one file.

    Raises:
        InvalidRequest: No region is named, two different ones are, or something is asked for that cannot be done.
    """
    url, region = _environment(environ)
    profile = _Profile()
    needed = url is None and region is None
    complete = url is not None and region is not None and not url.startswith("https:")
    if needed or (not complete and (_configuration_file(environ).exists() or "AWS_PROFILE" in environ)):
        profile = _profile_of_installed_botocore(environ, needed=needed, addressed=url is not None)
    return replace(_chosen(url or profile.url, region or profile.region, environ), authorities=profile.authorities)


def session_endpoint(session: Any, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint that a ``boto3.Session`` (or botocore's) would use for DynamoDB. Its region goes before the environment's.

    Raises:
        InvalidRequest: As ``find_endpoint``.
    """
    # boto3's session keeps botocore's in this attribute; botocore's own session is taken as it is.
    inner = getattr(session, "_session", session)
    region = getattr(session, "region_name", None) or inner.get_config_variable("region")
    url = environ_url(environ)
    profile = _read_profile(inner, addressed=url is not None)
    return replace(_chosen(url or profile.url, region or _environment(environ)[1], environ), authorities=profile.authorities)


def environ_url(environ: Mapping[str, str]) -> str | None:
    """The address that the environment names for DynamoDB, or ``None``."""
    if _is_true(environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")):
        return None
    return environ.get("AWS_ENDPOINT_URL_DYNAMODB") or environ.get("AWS_ENDPOINT_URL") or None


def tls_context(authorities: str | None = None, environ: Mapping[str, str] = os.environ) -> ssl.SSLContext:
    """TLS with the system's trust, or with that of a file in PEM form: ``AWS_CA_BUNDLE``, else ``authorities``. Reads those files.

    Raises:
        InvalidRequest: The file cannot be read.
    """
    named = environ.get("AWS_CA_BUNDLE")
    bundle = named or authorities or None
    try:
        context = ssl.create_default_context(cafile=bundle)
    except OSError as error:
        raise InvalidRequest(f"{'AWS_CA_BUNDLE' if named else 'the profile'} names {bundle!r}, which cannot be read as certificates: {error}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def unused_proxy(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str | None:
    """The variable that names a proxy for such an address, where boto3 would go through one. The wire does not, which a failure to connect has to say."""
    if endpoint.is_loopback:
        return None
    exempt = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").replace(" ", "").split(",")
    if any(name == "*" or (name and f".{endpoint.host}".endswith(f".{name.lstrip('.')}")) for name in exempt):
        return None
    name = "https_proxy" if endpoint.secure else "http_proxy"
    return next((each for each in (name, name.upper()) if environ.get(each)), None)


@dataclass(frozen=True, slots=True)
class _Profile:
    region: str | None = None
    url: str | None = None
    authorities: str | None = None


def _environment(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    url = environ_url(environ)
    ours, boto = environ.get("AWS_REGION") or None, environ.get("AWS_DEFAULT_REGION") or None
    if url is None and ours is not None and boto is not None and ours != boto:
        # boto3 reads only the second, other kits only the first: a guess would write into a region that nobody reads.
        raise InvalidRequest(f"AWS_REGION says {ours} and AWS_DEFAULT_REGION says {boto}: unset one of them")
    return url, ours or boto


def _chosen(url: str | None, region: str | None, environ: Mapping[str, str]) -> Endpoint:
    if url is not None:
        return endpoint_at(url, region=region, environ=environ)
    for name in ("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"):
        if _is_true(environ.get(name)):
            raise _kind_of_address(name)
    if region is None:
        raise InvalidRequest("no region: set AWS_REGION, or name an endpoint, for instance http://127.0.0.1:8000")
    suffix = next((suffix for beginning, suffix in _SUFFIXES.items() if _checked_region(region).startswith(beginning)), _AWS_SUFFIX)
    return Endpoint(secure=True, host=f"dynamodb.{region}.{suffix}", port=443, path="/", region=region)


def _profile_of_installed_botocore(environ: Mapping[str, str], *, needed: bool, addressed: bool) -> _Profile:
    try:
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra, and slow to load: only where a profile is read
        from botocore.session import Session  # noqa: PLC0415
    except ImportError:
        if needed:
            raise InvalidRequest("no region: set AWS_REGION, or install surewrite[aws] to take it from AWS's configuration file") from None
        return _Profile()
    session: Any = Session(profile=environ.get("AWS_PROFILE"))
    try:
        return _read_profile(session, addressed=addressed)
    except BotoCoreError as error:
        raise InvalidRequest(f"AWS's configuration cannot be used: {error}") from None


def _read_profile(session: Any, *, addressed: bool) -> _Profile:
    """``addressed`` is whether the environment names an address, beside which the profile's own and its kinds play no part."""
    region = session.get_config_variable("region")
    settings: Mapping[str, Any] = session.get_scoped_config()
    authorities = settings.get("ca_bundle")
    if addressed:
        return _Profile(region, None, authorities)
    services: Mapping[str, Any] = session.full_config.get("services", {}).get(settings.get("services"), {})
    url = services.get("dynamodb", {}).get("endpoint_url") or settings.get("endpoint_url")
    if _is_true(settings.get("ignore_configured_endpoint_urls")) or _is_true(os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")):
        url = None
    for name in ("use_fips_endpoint", "use_dualstack_endpoint"):
        if url is None and _is_true(settings.get(name)):
            raise _kind_of_address(f"{name} of the profile")
    return _Profile(region, url, authorities)


def _configuration_file(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("AWS_CONFIG_FILE") or "~/.aws/config").expanduser()


def _is_of_aws(host: str) -> bool:
    return host.endswith(tuple(f".{suffix}" for suffix in _AWS_SUFFIXES))


def _host(url: str, host: str | None) -> str:
    if not host:
        raise _bad(url, "it names no host")
    if "%" not in host and _address(host) is not None:
        return host
    labels = host.removesuffix(".").split(".")
    if ":" in host or len(host) > _HOST_LENGTH_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad(url, f"{host!r} is no name of a host")
    return host


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _checked_region(region: str) -> str:
    if _REGION.fullmatch(region) is None and region not in {"local", "localhost"}:
        raise InvalidRequest(f"{region!r} is no region")
    return region


def _is_true(text: object) -> bool:
    return isinstance(text, str) and text.lower() == "true"


def _kind_of_address(setting: str) -> InvalidRequest:
    return InvalidRequest(f"{setting} is not supported: name the address itself in AWS_ENDPOINT_URL_DYNAMODB")


def _bad(url: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{url!r} is no address of an endpoint: {why}")
