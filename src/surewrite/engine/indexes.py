"""Belongs here: entries of secondary indexes: which there are, where they stand, what they hold. Must not be here: queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from surewrite.core.values import AttributeValue, Item, key_bytes
from surewrite.engine.key_conditions import SortRange
from surewrite.engine.key_validation import fits_index_key
from surewrite.engine.schemas import Index, Table
from surewrite.engine.stores.store import SLOTS, Session
from surewrite.engine.streams import Change

_END: Final = b"\x00\x00"
_BEHIND_END: Final = b"\x00\x01"


def escaped(content: bytes) -> bytes:
    """``content`` so that a closing mark can follow it and order by bytes stays: a zero byte becomes zero and 255."""
    return content.replace(b"\x00", b"\x00\xff")


def after_equal(content: bytes) -> bytes:
    """The sort bytes right behind all entries whose index sort key is ``content``."""
    return escaped(content) + _BEHIND_END


def before_equal(content: bytes) -> bytes:
    """The sort bytes right before all entries whose index sort key is ``content``."""
    return escaped(content) + _END


def entry_place(table: Table, index: Index, item: Item) -> tuple[bytes, bytes]:
    """Partition and sort bytes of an entry: the index's own key, then the table's key, so that equal index keys stay apart."""
    partition = partition_bytes([item[attribute.name] for attribute in index.key.partitions])
    sort = _closed(item[attribute.name] for attribute in index.key.sorts) or _END
    base_partition, base_sort = table.key.place(item)
    return partition, sort + escaped(base_partition) + _END + base_sort


def partition_bytes(values: Sequence[AttributeValue]) -> bytes:
    """The partition bytes of a key of one attribute or of several."""
    return key_bytes(values[0]) if len(values) == 1 else _closed(values)


def _closed(values: Iterable[AttributeValue]) -> bytes:
    """The bytes of values one after the other, each with a closing mark."""
    return b"".join([escaped(key_bytes(value)) + _END for value in values])


def has_entry(index: Index, item: Item | None) -> bool:
    """Whether an item appears in an index: only with all attributes of the index's key.

    One that is there but fits no key leaves the item out too: it is older than the index, or its write would have been refused.
    """
    if item is None:
        return False
    for attributes, is_partition in ((index.key.partitions, True), (index.key.sorts, False)):
        for attribute in attributes:
            value = item.get(attribute.name)
            if value is None or not fits_index_key(value, attribute, is_partition=is_partition):
                return False
    return True


def entry_item(table: Table, index: Index, item: Item | None) -> Item | None:
    """What an index holds of an item, sharing its values; None where the item does not appear in it."""
    if item is None or not has_entry(index, item):
        return None
    if index.projection == "ALL":
        return item
    kept = {*table.key.names, *index.key.names, *index.included}
    return {name: value for name, value in item.items() if name in kept}


def fill(session: Session, table: Table, index: Index) -> None:
    """Make the entries of an index that a table gets while it has items. Reads every item."""
    for item in list(session.scan(table.space, 0, SLOTS, None)):
        entry = entry_item(table, index, item)
        if entry is not None:
            session.put(index.space, *entry_place(table, index, entry), entry)


def maintain(session: Session, change: Change) -> None:
    """Bring the entries of all indexes of a table in line with a change of one item."""
    for index in change.table.indexes:
        old_place = entry_place(change.table, index, change.old) if change.old is not None and has_entry(index, change.old) else None
        new = entry_item(change.table, index, change.new)
        new_place = entry_place(change.table, index, new) if new is not None else None
        if old_place is not None and old_place != new_place:
            session.delete(index.space, *old_place)
        if new is not None and new_place is not None:
            session.put(index.space, *new_place, new)


def index_bounds(leading: Sequence[AttributeValue], sort: SortRange | None) -> tuple[bytes, bytes | None]:
    """The same for an index whose sort key begins with these values, and goes on with one in the range."""
    low, high = sort_bounds(sort, in_index=True)
    if not leading:
        return low, high
    begin = _closed(leading)
    return begin + low, begin + high if high is not None else begin[: -len(_END)] + _BEHIND_END


def sort_bounds(sort: SortRange | None, *, in_index: bool) -> tuple[bytes, bytes | None]:
    """The half-open range of stored sort bytes that holds the sort keys of a range; no upper end is None."""
    if sort is None:
        return b"", None
    low, high = sort.low_bytes(), sort.high_bytes()
    if not in_index:
        return (b"" if low is None else low if sort.low_included else low + b"\x00"), (None if high is None else high + b"\x00" if sort.high_included else high)
    if sort.prefix is not None:
        begin = escaped(low or b"")
        raised = begin.rstrip(b"\xff")
        return begin, raised[:-1] + bytes([raised[-1] + 1]) if raised else None
    start = b"" if low is None else before_equal(low) if sort.low_included else after_equal(low)
    return start, (None if high is None else after_equal(high) if sort.high_included else before_equal(high))
