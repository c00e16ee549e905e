"""Which address and region requests go to, and which are refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from surewrite.backends.endpoints import Endpoint, endpoint_at, find_endpoint, session_endpoint, tls_context, unused_proxy
from surewrite.backends.targets import backend_for
from surewrite.errors import InvalidRequest

needs_botocore = pytest.mark.skipif(importlib.util.find_spec("botocore") is None, reason="needs the extra `aws`")


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """AWS's configuration file of the test: none yet. botocore reads the environment itself, so that is set too."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


@pytest.mark.parametrize(
    ("url", "expected", "host_header"),
    [
        ("http://127.0.0.1:8000", Endpoint(False, "127.0.0.1", 8000, "/", "us-east-1"), "127.0.0.1:8000"),
        ("http://LOCALHOST", Endpoint(False, "localhost", 80, "/", "us-east-1"), "localhost"),
        ("https://[::1]:443/a/b", Endpoint(True, "::1", 443, "/a/b", "us-east-1"), "[::1]"),
        ("http://[::1]:8000/", Endpoint(False, "::1", 8000, "/", "us-east-1"), "[::1]:8000"),
        ("https://dynamodb_local:8443", Endpoint(True, "dynamodb_local", 8443, "/", "us-east-1"), "dynamodb_local:8443"),
        (
            "https://dynamodb.eu-west-1.amazonaws.com",
            Endpoint(True, "dynamodb.eu-west-1.amazonaws.com", 443, "/", "eu-west-1"),
            "dynamodb.eu-west-1.amazonaws.com",
        ),
        (
            "https://1234.ddb.eu-west-1.amazonaws.com",
            Endpoint(True, "1234.ddb.eu-west-1.amazonaws.com", 443, "/", "eu-west-1"),
            "1234.ddb.eu-west-1.amazonaws.com",
        ),
    ],
)
def test_an_address_is_read(url, expected, host_header):
    endpoint = endpoint_at(url, environ={})
    assert endpoint == expected
    assert endpoint.host_header == host_header


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000",
        "localhost:8000",
        "ftp://host",
        "file:shop.db",
        "http://",
        "http:///path",
        "http://host:port",
        "http://host:99999",
        "http://host:0",
        "http://host:-1",
        "http://[::1",
        "http://[::1%25eth0]:8000",
        "http://[zz]:8000",
        "http://ho st",
        "http://host\r\nx: y",
        "http://host/\x00",
        "http://höst",
        "http://-host",
        "http://ho..st",
        "http://" + "a" * 64,
        "http://" + ".".join(["a" * 60] * 5),
        "http://host?x=y",
        "http://host#x",
        "http://host/a//b",
        "http://host/../b",
        "http://host/a%20b",
    ],
)
def test_what_is_no_address_is_refused_with_the_address_in_the_text(url):
    with pytest.raises(InvalidRequest) as caught:
        endpoint_at(url, environ={})
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize("url", ["http://me:hush@host", "http://me:hush\u00e9@host", "ftp://me:hush@host", "http://me:hush@host:99999", " http://me:hush@host"])
def test_an_address_with_a_password_is_refused_without_showing_it(url):
    for refuse in (lambda: endpoint_at(url, environ={}), lambda: backend_for(url)):
        with pytest.raises(InvalidRequest) as caught:
            refuse()
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.9.9.9", True),
        ("http://[::1]", True),
        ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://10.0.0.1", False),
        ("http://db", False),
    ],
)
def test_only_this_machine_is_loopback(url, loopback):
    assert endpoint_at(url, environ={}).is_loopback is loopback


def test_the_region_of_the_host_goes_before_the_given_one_and_that_before_the_environment():
    environ = {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}
    assert endpoint_at("https://dynamodb.us-west-2.amazonaws.com", region="eu-west-3", environ=environ).region == "us-west-2"
    assert endpoint_at("http://127.0.0.1", region="eu-west-3", environ=environ).region == "eu-west-3"
    assert endpoint_at("http://127.0.0.1", environ=environ).region == "eu-west-1"
    assert endpoint_at("http://127.0.0.1", environ={"AWS_DEFAULT_REGION": "eu-west-2"}).region == "eu-west-2"


def test_a_host_that_only_looks_like_one_of_aws_says_no_region():
    assert endpoint_at("http://dynamodb.us-west-2.example.com", environ={}).region == "us-east-1"


def test_what_the_service_keeps_to_is_known_for_aws_and_unknown_elsewhere():
    aws = endpoint_at("https://dynamodb.eu-west-1.amazonaws.com", environ={}).traits
    assert (aws.name, aws.tokens, aws.transactions, aws.old_item, aws.cancelled_items) == ("https://dynamodb.eu-west-1.amazonaws.com/", True, True, True, True)
    local = endpoint_at("http://127.0.0.1:8000", environ={}).traits
    assert (local.name, local.tokens, local.transactions, local.old_item) == ("http://127.0.0.1:8000/", None, None, None)


def test_the_address_for_the_service_goes_before_the_address_for_all():
    both = {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1", "AWS_ENDPOINT_URL": "http://127.0.0.1:2"}
    assert find_endpoint(both).port == 1
    assert find_endpoint({"AWS_ENDPOINT_URL": "http://127.0.0.1:2"}).port == 2


def test_configured_addresses_can_be_ignored(empty_home):
    environ = {"AWS_ENDPOINT_URL": "http://127.0.0.1:2", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true", "AWS_REGION": "eu-west-1"}
    assert find_endpoint(environ).host == "dynamodb.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "dynamodb.eu-central-1.amazonaws.com"),
        ("us-gov-west-1", "dynamodb.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "dynamodb.cn-north-1.amazonaws.com.cn"),
        ("us-iso-east-1", "dynamodb.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "dynamodb.us-isob-east-1.sc2s.sgov.gov"),
        ("eusc-de-east-1", "dynamodb.eusc-de-east-1.amazonaws.eu"),
    ],
)
@needs_botocore
def test_a_region_names_the_same_host_as_botocore_does(region, host, empty_home):
    endpoint = find_endpoint({"AWS_REGION": region, "AWS_CONFIG_FILE": str(empty_home / "config")})
    assert (endpoint.url, endpoint.region) == (f"https://{host}/", region)
    from botocore.session import Session

    client = Session().create_client("dynamodb", region_name=region, aws_access_key_id="a", aws_secret_access_key="b")
    assert client.meta.endpoint_url == f"https://{host}"
    client.close()


def test_two_regions_that_differ_are_refused_unless_an_address_is_named():
    regions = {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}
    with pytest.raises(InvalidRequest, match="eu-west-1 and AWS_DEFAULT_REGION says eu-west-2"):
        find_endpoint(regions)
    assert find_endpoint(regions | {"AWS_ENDPOINT_URL": "http://127.0.0.1:2"}).region == "eu-west-1"


@pytest.mark.parametrize("region", ["eu west", "EU-WEST-1", "eu-west-1.evil.example", "-", "eu/west-1"])
def test_what_is_no_region_is_refused(region, empty_home):
    with pytest.raises(InvalidRequest, match="no region"):
        find_endpoint({"AWS_REGION": region, "AWS_CONFIG_FILE": str(empty_home / "config")})


@pytest.mark.parametrize("name", ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])
def test_a_kind_of_address_that_cannot_be_made_is_refused_rather_than_ignored(name, empty_home):
    with pytest.raises(InvalidRequest, match=name):
        find_endpoint({"AWS_REGION": "eu-west-1", name: "true", "AWS_CONFIG_FILE": str(empty_home / "config")})


def test_no_region_anywhere_is_refused_with_what_to_set(empty_home):
    with pytest.raises(InvalidRequest, match="set AWS_REGION"):
        find_endpoint({"AWS_CONFIG_FILE": str(empty_home / "config")})


def test_without_botocore_a_missing_region_names_the_extra(empty_home, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    with pytest.raises(InvalidRequest, match=r"surewrite\[aws\]"):
        find_endpoint({"AWS_CONFIG_FILE": str(empty_home / "config")})


@needs_botocore
class TestProfiles:
    CONFIG = (
        "[default]\nregion = eu-west-1\n"
        "[profile local]\nregion = eu-west-2\nservices = mine\n"
        "[services mine]\ndynamodb =\n  endpoint_url = http://127.0.0.1:7\n"
        "[profile all]\nregion = eu-west-3\nendpoint_url = http://127.0.0.1:9\n"
        "[profile ignoring]\nregion = eu-west-3\nendpoint_url = http://127.0.0.1:9\nignore_configured_endpoint_urls = true\n"
    )

    def find(self, home: Path, monkeypatch: pytest.MonkeyPatch, **environ: str) -> Endpoint:
        (home / "config").write_text(self.CONFIG)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return find_endpoint()

    def test_the_region_of_the_profile(self, empty_home, monkeypatch):
        assert self.find(empty_home, monkeypatch).host == "dynamodb.eu-west-1.amazonaws.com"

    def test_the_environments_region_goes_before_the_profiles(self, empty_home, monkeypatch):
        assert self.find(empty_home, monkeypatch, AWS_REGION="eu-north-1").host == "dynamodb.eu-north-1.amazonaws.com"

    def test_the_profiles_address_for_the_service_and_for_all(self, empty_home, monkeypatch):
        assert self.find(empty_home, monkeypatch, AWS_PROFILE="local") == Endpoint(False, "127.0.0.1", 7, "/", "eu-west-2")
        assert self.find(empty_home, monkeypatch, AWS_PROFILE="all") == Endpoint(False, "127.0.0.1", 9, "/", "eu-west-3")

    def test_a_profile_may_ignore_its_address(self, empty_home, monkeypatch):
        assert self.find(empty_home, monkeypatch, AWS_PROFILE="ignoring").host == "dynamodb.eu-west-3.amazonaws.com"

    def test_the_environments_address_is_signed_for_in_the_profiles_region_as_boto3_does(self, empty_home, monkeypatch):
        assert self.find(empty_home, monkeypatch, AWS_ENDPOINT_URL="http://127.0.0.1:3") == Endpoint(False, "127.0.0.1", 3, "/", "eu-west-1")
        boto3 = pytest.importorskip("boto3")
        assert boto3.Session().client("dynamodb").meta.region_name == "eu-west-1"
        assert session_endpoint(boto3.Session(), {"AWS_ENDPOINT_URL": "http://127.0.0.1:3"}).region == "eu-west-1"
        assert self.find(empty_home, monkeypatch, AWS_REGION="eu-north-1").region == "eu-north-1"

    @pytest.mark.parametrize("setting", ["use_fips_endpoint", "use_dualstack_endpoint"])
    def test_a_kind_of_address_is_refused_where_the_profiles_address_is_ignored_and_plays_no_part_beside_one_of_the_environment(self, empty_home, setting):
        content = f"[default]\nregion = eu-west-1\nendpoint_url = http://127.0.0.1:9\nignore_configured_endpoint_urls = true\n{setting} = true\n"
        (empty_home / "config").write_text(content)
        with pytest.raises(InvalidRequest, match=setting):
            find_endpoint()
        environ = {"AWS_ENDPOINT_URL": "http://127.0.0.1:3", "AWS_CONFIG_FILE": str(empty_home / "config")}
        assert find_endpoint(environ) == Endpoint(False, "127.0.0.1", 3, "/", "eu-west-1")

    @pytest.mark.parametrize("setting", ["use_fips_endpoint", "use_dualstack_endpoint"])
    def test_a_profiles_kind_of_address_that_cannot_be_made_is_refused(self, empty_home, setting):
        (empty_home / "config").write_text(f"[default]\nregion = eu-west-1\n{setting} = true\n")
        with pytest.raises(InvalidRequest, match=setting):
            find_endpoint()
        boto3 = pytest.importorskip("boto3")
        with pytest.raises(InvalidRequest, match=setting):
            session_endpoint(boto3.Session(), {})

    def test_the_certificates_that_a_profile_trusts_are_trusted(self, empty_home, monkeypatch):
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        (empty_home / "config").write_text("[default]\nregion = eu-west-1\nca_bundle = /nowhere/trusted.pem\n")
        assert find_endpoint().authorities == "/nowhere/trusted.pem"
        addressed = {"AWS_ENDPOINT_URL": "https://db.example", "AWS_REGION": "eu-north-1", "AWS_CONFIG_FILE": str(empty_home / "config")}
        assert find_endpoint(addressed) == Endpoint(True, "db.example", 443, "/", "eu-north-1", "/nowhere/trusted.pem")
        boto3 = pytest.importorskip("boto3")
        for target in (None, boto3.Session()):
            with pytest.raises(InvalidRequest, match=r"the profile names '/nowhere/trusted\.pem', which cannot be read"):
                backend_for(target)

    def test_the_environments_certificates_go_before_those_of_the_profile(self):
        with pytest.raises(InvalidRequest, match=r"AWS_CA_BUNDLE names '/nowhere/mine\.pem'"):
            tls_context("/nowhere/trusted.pem", {"AWS_CA_BUNDLE": "/nowhere/mine.pem"})

    def test_a_profile_that_does_not_exist_is_told(self, empty_home, monkeypatch):
        with pytest.raises(InvalidRequest, match="nobody"):
            self.find(empty_home, monkeypatch, AWS_PROFILE="nobody")

    def test_a_session_of_boto3_gives_its_region_and_its_profiles_address(self, empty_home):
        boto3 = pytest.importorskip("boto3")
        (empty_home / "config").write_text(self.CONFIG)
        assert session_endpoint(boto3.Session(region_name="sa-east-1"), {}).host == "dynamodb.sa-east-1.amazonaws.com"
        assert session_endpoint(boto3.Session(profile_name="local"), {}) == Endpoint(False, "127.0.0.1", 7, "/", "eu-west-2")
        assert session_endpoint(boto3.Session(profile_name="local"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:3"}).port == 3


@pytest.mark.parametrize(
    ("url", "environ", "named"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", {}, None),
        ("https://dynamodb.eu-west-1.amazonaws.com", {"HTTPS_PROXY": "http://proxy:3128"}, "HTTPS_PROXY"),
        ("https://dynamodb.eu-west-1.amazonaws.com", {"https_proxy": "http://proxy:3128"}, "https_proxy"),
        ("https://dynamodb.eu-west-1.amazonaws.com", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("http://db.example:8000", {"HTTP_PROXY": "http://proxy:3128"}, "HTTP_PROXY"),
        ("http://127.0.0.1:8000", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("http://db.example:8000", {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, None),
        ("http://db.example:8000", {"HTTP_PROXY": "http://proxy:3128", "no_proxy": "other, .example"}, None),
        ("http://db.example:8000", {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "db.example"}, None),
        ("http://db.example:8000", {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "b.example"}, "HTTP_PROXY"),
    ],
)
def test_a_proxy_that_is_not_used_is_known_by_its_variable(url, environ, named):
    assert unused_proxy(endpoint_at(url, environ={}), environ) == named
