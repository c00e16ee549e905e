"""The canonical text of payloads: published vectors, and what must and must not be the same payload."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite.recipes.fingerprints import canonical_text, fingerprint

VECTORS = [
    (None, "null", "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
    (True, "true", "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b"),
    ("abc", '"abc"', "6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25"),
    (1, "1", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"),
    (1.0, "1", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"),
    (Decimal("1.50"), "1.5", "9f29a130438b81170b92a42650f9a94291ecad60bd47af2a3886e75f7f728725"),
    ({"b": [1, 2], "a": None}, '{"a":null,"b":[1,2]}', "ee743f2fa2570a1b5e3270cc405d0456b983ba03ab9cb27552fc6c1a720183c7"),
    (b"\x00\xff", 'b"AP8="', "ee54e0430cb1059fbfa9f9671f7088cbdaef024c6dede57862ecaa68642c7159"),
    (
        datetime(2026, 11, 29, 19, 45, tzinfo=timezone(timedelta(hours=1))),
        'd"2026-11-29T18:45:00.000000+00:00"',
        "b92a3e806bb361135adf0893b4315ac085bf46d4149566e0fd3489b7d5a735e8",
    ),
    (date(2026, 11, 29), 'D"2026-11-29"', "d4b7e8049898702b0d50ea7150903c69f71a968cd5da3589ef92d65972db4c5b"),
    (UUID(int=1), 'u"00000000-0000-0000-0000-000000000001"', "68c735b77ebfbfec8e4615489ecc77d459e5871fad4e780600704595002e2a9b"),
    ({"y", "x"}, '<"x","y">', "fcc6665013df6fd2c043b55bd29b970af7070a87ab1536d2a9e977f111160f57"),
    ({"ü": "é"}, '{"ü":"é"}', "fbb071c9b15e6c310aaf49a21ca407805f69d1e005ca3ba0540751f8c19948bb"),
]


@pytest.mark.parametrize(("payload", "text", "digest"), VECTORS, ids=[text for _, text, _ in VECTORS])
def test_the_published_vectors_hold(payload: object, text: str, digest: str) -> None:
    assert canonical_text(payload) == text
    assert fingerprint(payload) == digest


def test_the_order_of_names_does_not_matter_and_that_of_a_list_does() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint([1, 2]) != fingerprint([2, 1])
    assert fingerprint((1, 2)) == fingerprint([1, 2])


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1, True), (0, False), (None, "null"), ("", None), (b"a", "a"), ([], {}), (set(), []), ("d", date(2026, 1, 1))]
)
def test_values_of_different_types_are_different_payloads(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_one_moment_in_two_time_zones_is_one_payload() -> None:
    assert fingerprint(datetime(2026, 1, 1, 12, tzinfo=UTC)) == fingerprint(datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=1))))


WEST, EAST = timezone(timedelta(hours=-5)), timezone(timedelta(hours=5))


@pytest.mark.parametrize("payload", [datetime.max.replace(tzinfo=WEST), datetime.min.replace(tzinfo=EAST)])
def test_a_moment_beyond_the_years_of_utc_is_refused(payload: datetime) -> None:
    with pytest.raises(sw.InvalidRequest, match="outside of the years"):
        fingerprint(payload)


@pytest.mark.parametrize("payload", [object(), {1: 2}, float("nan"), Decimal("1e200"), datetime(2026, 1, 1), [complex(1)], "\ud800"])  # noqa: DTZ001 - the naive one is to be refused
def test_what_has_no_canonical_form_is_refused(payload: object) -> None:
    with pytest.raises(sw.InvalidRequest):
        fingerprint(payload)


SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.binary(max_size=8)
PAYLOADS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab$", max_size=3), inner, max_size=4), max_leaves=12)


@given(PAYLOADS, PAYLOADS)
def test_two_payloads_share_a_text_only_if_they_are_equal(one: object, other: object) -> None:
    def typed(value: object) -> object:
        match value:
            case list():
                return ["list", *(typed(element) for element in value)]
            case dict():
                return {name: typed(element) for name, element in value.items()}
            case _:
                return (type(value).__name__, value)

    assert (canonical_text(one) == canonical_text(other)) == (typed(one) == typed(other))
