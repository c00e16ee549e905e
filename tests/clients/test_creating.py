"""create and try_create."""

from __future__ import annotations

import pytest

import surewrite as sw
from tests.typing.entities import Account, PageViews


async def test_create_stores_version_one_and_returns_it(shop) -> None:
    accounts = shop.of(Account)
    alice = await accounts.create(Account(id="alice"))
    assert alice.revision == 1
    assert await accounts.get(Account.key_of("alice")) == alice


async def test_create_over_an_item_is_refused_with_that_item(shop) -> None:
    views = shop.of(PageViews)
    first = await views.create(PageViews(path="/", count=3))
    with pytest.raises(sw.AlreadyExists, match="use the entity that create or get returned") as refused:
        await views.create(PageViews(path="/"))
    assert refused.value.item == first
    assert refused.value.attempts == 1
    assert not refused.value.own_earlier_write
