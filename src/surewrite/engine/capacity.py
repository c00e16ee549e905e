"""Belongs here: how many capacity units a request is charged, and the shape in which that is told. Must not be here: throttling.

Developer Guide, page "DynamoDB read and write operations"; transactions count double there, index entries aside (measured).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from surewrite.core import limits
from surewrite.core.values import item_size
from surewrite.engine.indexes import entry_item
from surewrite.engine.schemas import Index, Table
from surewrite.engine.streams import Change

Direction = Literal["Read", "Write"]
TRANSACTION_FACTOR: Final = 2


def read_units(size: int, *, consistent: bool) -> float:
    """Units of one read of ``size`` bytes."""
    whole = max(1, -(-size // limits.READ_UNIT_BYTES))
    return float(whole) if consistent else whole / 2


def write_units(size: int) -> float:
    """Units of writing ``size`` bytes once."""
    return float(max(1, -(-size // limits.WRITE_UNIT_BYTES)))


@dataclass(slots=True)
class Charge:
    """What one table and its indexes were charged by one request."""

    table: Table
    units: float = 0.0
    by_index: dict[Index, float] = field(default_factory=dict[Index, float])

    def add_write(self, change: Change, factor: int = 1) -> None:
        """The units of one applied change: the larger of both states, and what it changes in each index.

        ``factor`` counts for the table alone: a transaction doubles the write of the item, not those of its index entries.
        """
        self.units += factor * write_units(change.size)
        for index in change.table.indexes:
            self.add_index(index, _index_units(change, index))

    def add_index(self, index: Index, units: float) -> None:
        if units:
            self.by_index[index] = self.by_index.get(index, 0.0) + units

    def told(self, wanted: str, direction: Direction | None = None) -> dict[str, Any]:
        """The ConsumedCapacity structure; ``direction`` is given for transactions, which alone tell it."""
        answer = {"TableName": self.table.name, **_units(self.units + sum(self.by_index.values()), direction)}
        if wanted != "INDEXES":
            return answer
        answer["Table"] = _units(self.units, direction)
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            touched = {index.name: _units(units, direction) for index, units in self.by_index.items() if index.is_global is is_global}
            if touched:
                answer[member] = touched
        return answer


class Charges:
    """The charges of a request that touches several tables, in the order in which it first touched them."""

    __slots__ = ("_by_table",)

    def __init__(self) -> None:
        self._by_table: dict[str, Charge] = {}

    def of(self, table: Table) -> Charge:
        found = self._by_table.get(table.name)
        if found is None:
            found = self._by_table[table.name] = Charge(table)
        return found

    def told(self, wanted: str, direction: Direction | None = None) -> list[dict[str, Any]]:
        return [charge.told(wanted, direction) for charge in self._by_table.values()]


def wanted_capacity(body: Mapping[str, Any]) -> str | None:
    """``"TOTAL"`` or ``"INDEXES"`` where the request asks for its charge, else None."""
    wanted = body.get("ReturnConsumedCapacity")
    return wanted if wanted in ("TOTAL", "INDEXES") else None


def collection_metrics(body: Mapping[str, Any], changes: Iterable[Change]) -> list[tuple[Table, dict[str, Any]]]:
    """The ItemCollectionMetrics of changes in tables with local indexes, where asked for; collections here are always told as small."""
    if body.get("ReturnItemCollectionMetrics") != "SIZE":
        return []
    told: list[tuple[Table, dict[str, Any]]] = []
    for change in changes:
        present = change.new if change.new is not None else change.old
        if change.table.has_local_indexes and present is not None:
            name = change.table.key.partition.name
            told.append((change.table, {"ItemCollectionKey": {name: present[name].copy()}, "SizeEstimateRangeGB": [0.0, 1.0]}))
    return told


def _units(units: float, direction: Direction | None) -> dict[str, Any]:
    return {"CapacityUnits": units} if direction is None else {"CapacityUnits": units, f"{direction}CapacityUnits": units}


def _index_units(change: Change, index: Index) -> float:
    old = entry_item(change.table, index, change.old)
    new = entry_item(change.table, index, change.new)
    if old == new:
        return 0.0
    if old is None or new is None:
        present = new if new is not None else old
        return write_units(item_size(present)) if present is not None else 0.0
    if index.key.of(old) != index.key.of(new):
        return write_units(item_size(old)) + write_units(item_size(new))
    return write_units(max(item_size(old), item_size(new)))
