"""Where keys come from, and when they are asked for again."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from surewrite.backends.credentials import KEPT_SECONDS, LOCAL_CREDENTIALS, FixedCredentials, RefreshedCredentials, find_credentials, session_credentials
from surewrite.backends.endpoints import endpoint_at
from surewrite.backends.signing import Credentials
from surewrite.errors import InvalidRequest

AWS = endpoint_at("https://dynamodb.eu-west-1.amazonaws.com", environ={})
LOCAL = endpoint_at("http://127.0.0.1:8000", environ={})
PAIR = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}

needs_botocore = pytest.mark.skipif(importlib.util.find_spec("botocore") is None, reason="needs the extra `aws`")


class Source:
    """Stands for botocore's credentials object: new keys at each question."""

    def __init__(self) -> None:
        self.asked = 0

    def get_frozen_credentials(self) -> SimpleNamespace:
        self.asked += 1
        return SimpleNamespace(access_key=f"AKID{self.asked}", secret_key="secret", token=f"token{self.asked}")


@pytest.mark.parametrize("endpoint", [AWS, LOCAL])
def test_the_environment_goes_first_with_its_token(endpoint):
    assert find_credentials(endpoint, PAIR).current() == Credentials("AKID", "secret")
    assert find_credentials(endpoint, PAIR | {"AWS_SESSION_TOKEN": "t"}).current() == Credentials("AKID", "secret", "t")
    assert find_credentials(endpoint, PAIR | {"AWS_SECURITY_TOKEN": "old"}).fetch() == Credentials("AKID", "secret", "old")


@pytest.mark.parametrize("name", list(PAIR))
def test_half_a_pair_is_refused(name):
    with pytest.raises(InvalidRequest, match="set both"):
        find_credentials(AWS, {name: "x"})


def test_this_machine_needs_no_keys():
    assert find_credentials(LOCAL, {}).current() == LOCAL_CREDENTIALS


def test_without_botocore_the_text_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(InvalidRequest, match=r"surewrite\[aws\].*AWS_ACCESS_KEY_ID"):
        find_credentials(AWS, {})


@pytest.mark.parametrize("bad", [("", "s", None), ("a", "", None), ("a b", "s", None), ("a", "s\n", None), ("a", "s", "t\r\nx: y"), ("ä", "s", None)])
def test_keys_that_cannot_stand_in_a_header_are_refused_and_not_shown(bad):
    with pytest.raises(InvalidRequest) as caught:
        FixedCredentials(Credentials(*bad))
    assert "x: y" not in str(caught.value)


def test_keys_are_kept_for_a_while_and_then_asked_for_again():
    now, source = [1000.0], Source()
    keys = RefreshedCredentials(lambda: source, wall_clock=lambda: now[0])
    assert keys.current() is None
    assert keys.fetch() == Credentials("AKID1", "secret", "token1")
    now[0] += KEPT_SECONDS - 1
    assert keys.current() == keys.fetch() == Credentials("AKID1", "secret", "token1")
    now[0] += 1
    assert keys.current() is None
    assert keys.fetch() == Credentials("AKID2", "secret", "token2")


def test_a_clock_that_was_set_back_does_not_keep_old_keys():
    now, source = [1000.0], Source()
    keys = RefreshedCredentials(lambda: source, wall_clock=lambda: now[0])
    keys.fetch()
    now[0] -= 1
    assert keys.current() is None


def test_threads_that_need_keys_at_once_ask_once():
    source, gate = Source(), threading.Barrier(8)
    keys = RefreshedCredentials(lambda: source, wall_clock=lambda: 1000.0)

    def fetch(_: int) -> Credentials:
        gate.wait(10)
        return keys.fetch()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fetch, range(8))) == {Credentials("AKID1", "secret", "token1")}
    assert source.asked == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_does_not_wait_for_a_lock_that_its_parent_held():
    keys = RefreshedCredentials(Source, wall_clock=lambda: 1000.0)
    with keys._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if keys.fetch().access_key_id == "AKID1" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_chain_that_finds_nothing_is_refused_with_what_to_set():
    with pytest.raises(InvalidRequest, match="AWS_ACCESS_KEY_ID"):
        RefreshedCredentials(lambda: None).fetch()


@needs_botocore
def test_the_keys_of_a_profile_and_of_a_session(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = A1\naws_secret_access_key = s1\n[two]\naws_access_key_id = A2\naws_secret_access_key = s2\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    keys = find_credentials(AWS, {})
    assert keys.current() is None
    assert keys.fetch() == keys.current() == Credentials("A1", "s1")
    assert find_credentials(AWS, {"AWS_PROFILE": "two"}).fetch() == Credentials("A2", "s2")
    boto3 = pytest.importorskip("boto3")
    assert session_credentials(boto3.Session(profile_name="two")).fetch() == Credentials("A2", "s2")


@needs_botocore
def test_an_empty_token_of_a_profile_is_none(tmp_path, monkeypatch):
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = A1\naws_secret_access_key = s1\naws_session_token =\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert find_credentials(AWS, {}).fetch() == Credentials("A1", "s1", None)


@needs_botocore
@pytest.mark.parametrize(
    ("content", "profile", "text"),
    [
        ("", "missing", "could not be found"),
        ("[profile half]\naws_access_key_id = A1\n", "half", "Partial credentials"),
        ("[profile role]\nrole_arn = arn:aws:iam::123456789012:role/x\nsource_profile = nobody\n", "role", "nobody"),
        (
            "[profile login]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n[sso-session s]\nsso_start_url = https://l\nsso_region = l\n",
            "login",
            "SSO Token",
        ),
    ],
)
def test_a_configuration_or_login_at_fault_is_an_error_to_fix_and_nothing_to_try_again(content, profile, text, tmp_path, monkeypatch):
    (tmp_path / "config").write_text(content)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidRequest, match=text):
        find_credentials(AWS, {"AWS_PROFILE": profile}).fetch()
