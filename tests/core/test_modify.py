"""What modify takes for a change."""

from __future__ import annotations

import pytest

import surewrite as sw
from surewrite import Attribute, VersionedEntity


class Order(VersionedEntity, partition_key="{id}"):
    id: Attribute[str]
    lines: Attribute[list[int]] = sw.attribute(default_factory=list)
    revision: Attribute[int | None] = sw.version()


def test_a_list_that_is_changed_in_place_is_a_change_and_is_stored() -> None:
    db = sw.connect("memory:")
    table = db.table("orders", key=("id",), discriminator=None)
    table.create_table(Order)
    orders = table.of(Order)
    orders.create(Order(id="o1"))

    def append(order: Order) -> Order:
        order.lines.append(1)
        return order

    assert orders.modify(Order.key_of("o1"), append).lines == [1]
    assert orders.get(Order.key_of("o1")).lines == [1]
    assert orders.get(Order.key_of("o1")).revision == 2


def test_the_entity_of_another_item_is_no_change_of_this_one() -> None:
    """It is loaded, so it could be put under its own key, and the item that was asked for would stay as it was."""
    db = sw.connect("memory:")
    table = db.table("orders", key=("id",), discriminator=None)
    table.create_table(Order)
    orders = table.of(Order)
    other = orders.create(Order(id="o1"))
    orders.create(Order(id="o2"))
    with pytest.raises(sw.InvalidRequest, match="modify keeps the key"):
        orders.modify(Order.key_of("o2"), lambda _: other.replace(lines=[1]))
    assert orders.get(Order.key_of("o1")).revision == 1
