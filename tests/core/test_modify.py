"""What modify takes for a change."""

from __future__ import annotations

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
