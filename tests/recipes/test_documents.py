"""Values of users come back from their text as they were."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite.recipes.documents import document_of, document_text

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.binary(max_size=8)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
    | st.dates()
    | st.datetimes(timezones=st.just(UTC))
)
NAMES = st.sampled_from(["a", "b", "$decimal", "$$decimal", "$", "$x"])
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=10)


@given(DOCUMENTS)
def test_a_document_comes_back_as_it_was(value: object) -> None:
    found = document_of(document_text(value, "it"))
    assert found == value
    assert type(found) is type(value)


def test_the_text_is_json_with_marked_values() -> None:
    text = document_text({"amount": Decimal("1.50"), "at": datetime(2026, 1, 2, tzinfo=UTC), "day": date(2026, 1, 2), "id": UUID(int=1), "raw": b"a"}, "it")
    assert json.loads(text) == {
        "amount": {"$decimal": "1.50"},
        "at": {"$datetime": "2026-01-02T00:00:00+00:00"},
        "day": {"$date": "2026-01-02"},
        "id": {"$uuid": "00000000-0000-0000-0000-000000000001"},
        "raw": {"$bytes": "YQ=="},
    }


@pytest.mark.parametrize("value", [object(), {1: 2}, float("nan"), {"a": {1, 2}}])
def test_what_cannot_be_kept_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(sw.InvalidRequest, match="the answer cannot be kept"):
        document_text(value, "the answer")
