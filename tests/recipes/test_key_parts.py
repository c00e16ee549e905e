"""Keys of users: one text for one key, and no key for nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite.recipes.key_parts import key_text, parts_of

PARTS = st.lists(st.text("a#%/2F ", min_size=1, max_size=4).filter(str.strip), min_size=1, max_size=3)


@given(PARTS, PARTS)
def test_different_keys_make_different_texts(one: list[str], other: list[str]) -> None:
    assert (key_text(one, "it") == key_text(other, "it")) == (one == other)
    assert parts_of(key_text(one, "it")) == tuple(one)


def test_a_key_of_one_part_is_that_part() -> None:
    assert key_text("request-1", "it") == key_text(("request-1",), "it") == "request-1"
    assert key_text(("tenant", 7, "a#b"), "it") == "tenant/7/a%23b"


@pytest.mark.parametrize("key", [None, "", " ", (), [], ("a", None), ("a", ""), ("a", " "), True, 1.5, object(), (("a",),), "\ud800"])
def test_a_missing_key_or_part_is_refused(key: Any) -> None:
    with pytest.raises(sw.InvalidRequest):
        key_text(key, "it")
