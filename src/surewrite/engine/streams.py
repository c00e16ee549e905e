"""Belongs here: records of the changes of a table, in commit order. Must not be here: the streams API, storage access."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal

from surewrite.core.values import Item, equal, item_size
from surewrite.engine.copies import copied
from surewrite.engine.schemas import StreamView, Table

EventName = Literal["INSERT", "MODIFY", "REMOVE"]
RETENTION_SECONDS: Final = 24 * 3600.0
"""Developer Guide, page "Change data capture for DynamoDB Streams": records are kept for 24 hours."""

SWEEP_IDENTITY: Final = (("principalId", "dynamodb.amazonaws.com"), ("type", "Service"))
"""Developer Guide, page "DynamoDB Streams and Time to Live": who deletes an expired item."""


@dataclass(frozen=True, slots=True)
class Change:
    """One item's state before and after a write; ``old`` or ``new`` is None where there is no item."""

    table: Table
    place: tuple[bytes, bytes]
    old: Item | None
    new: Item | None
    user_identity: tuple[tuple[str, str], ...] | None = None

    @property
    def size(self) -> int:
        """Bytes of the larger of both states, by which a write is charged."""
        return max(item_size(item) if item is not None else 0 for item in (self.old, self.new))


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One change as a stream tells it. ``sequence`` rises by commit order within a service; ``created_at`` is in seconds since 1970.

    Images are there as the table's StreamViewType says. ``user_identity`` is set for deletions by the time-to-live sweep.
    """

    sequence: int
    event_name: EventName
    keys: Item
    new_image: Item | None
    old_image: Item | None
    view: StreamView
    created_at: float
    user_identity: tuple[tuple[str, str], ...] | None = None


class StreamLog:
    """The records of all tables of one service, in memory, each kept for 24 hours of the service's clock."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sequence = 0
        self._records: dict[str, deque[StreamRecord]] = {}

    def append(self, changes: Iterable[Change], now: float) -> None:
        """Add the committed changes of tables with a stream; one that changed nothing leaves no record."""
        for change in changes:
            view = change.table.stream
            if view is not None and not _is_same(change.old, change.new):
                self._add(change, view, now)

    def records(self, space: str, after: int) -> list[StreamRecord]:
        """Copies of a table's records with a higher sequence number than ``after``, in commit order."""
        with self._lock:
            kept = list(self._records.get(space, ()))
        return [_copied_record(record) for record in kept if record.sequence > after]

    def drop(self, space: str) -> None:
        """Forget the records of a table that is no more."""
        with self._lock:
            self._records.pop(space, None)

    def _add(self, change: Change, view: StreamView, now: float) -> None:
        present = change.new if change.new is not None else change.old
        if present is None:
            return
        event: EventName = "INSERT" if change.old is None else "REMOVE" if change.new is None else "MODIFY"
        with self._lock:
            self._sequence += 1
            records = self._records.setdefault(change.table.space, deque())
            while records and records[0].created_at < now - RETENTION_SECONDS:
                records.popleft()
            records.append(
                StreamRecord(
                    sequence=self._sequence,
                    event_name=event,
                    keys=change.table.key.of(present),
                    new_image=change.new if view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else None,
                    old_image=change.old if view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else None,
                    view=view,
                    created_at=now,
                    user_identity=change.user_identity,
                )
            )


def _is_same(old: Item | None, new: Item | None) -> bool:
    if old is None or new is None:
        return old is new
    return equal({"M": old}, {"M": new})


def _copied_record(record: StreamRecord) -> StreamRecord:
    return StreamRecord(
        record.sequence,
        record.event_name,
        copied(record.keys),
        copied(record.new_image) if record.new_image is not None else None,
        copied(record.old_image) if record.old_image is not None else None,
        record.view,
        record.created_at,
        record.user_identity,
    )
