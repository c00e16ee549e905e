"""Belongs here: rows in this process's memory under one lock. Must not be here: expressions, limits of the service."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from threading import RLock
from types import TracebackType
from typing import Final, Self

from surewrite.core.values import Item
from surewrite.engine.stores.forks import rest_over_forks
from surewrite.engine.stores.store import Position, TokenRecord, slot_of

_SCAN_ORDER: Final = attrgetter("slot", "key")
_SLOT: Final = attrgetter("slot")
_DEPTH_MAX: Final = 64
"""More than the sessions that one thread ever has open within one another."""


class _Partition:
    """Rows with one partition key: a dict to find one, and the sort bytes in order to walk along them."""

    __slots__ = ("items", "key", "order", "slot")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.slot = slot_of(key)
        self.items: dict[bytes, Item] = {}
        self.order: list[bytes] = []


class _Space:
    """Partitions by key, and in the order of a scan once one was asked for."""

    __slots__ = ("_sorted", "partitions", "size")

    def __init__(self) -> None:
        self.partitions: dict[bytes, _Partition] = {}
        self.size = 0
        self._sorted: list[_Partition] | None = None

    def get(self, partition: bytes, sort: bytes) -> Item | None:
        found = self.partitions.get(partition)
        return found.items.get(sort) if found is not None else None

    # An interrupt comes when a call returns: in the next two methods what belongs together is changed without a call in between.

    def put(self, partition: bytes, sort: bytes, item: Item) -> None:
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = _Partition(partition)
            self._sorted = None
        old = found.items.get(sort)
        found.items[sort] = item
        if old is None:
            self.size += 1
            if found.order and sort < found.order[-1]:
                insort(found.order, sort)
            else:
                found.order.append(sort)

    def delete(self, partition: bytes, sort: bytes) -> None:
        found = self.partitions.get(partition)
        if found is None or sort not in found.items:
            return
        at = bisect_left(found.order, sort)
        del found.items[sort], found.order[at]
        self.size -= 1
        if not found.order:
            del self.partitions[partition]
            self._sorted = None

    def in_scan_order(self) -> list[_Partition]:
        if self._sorted is None:
            self._sorted = sorted(self.partitions.values(), key=_SCAN_ORDER)
        return self._sorted


@dataclass(frozen=True, slots=True)
class _Contents:
    """What one memory store holds."""

    spaces: dict[str, _Space] = field(default_factory=dict[str, _Space])
    definitions: dict[str, str] = field(default_factory=dict[str, str])
    tokens: dict[str, TokenRecord] = field(default_factory=dict[str, TokenRecord])
    writing: list[_MemorySession] = field(default_factory=list["_MemorySession"])
    """The writing session that is open, which holds the lock."""


class MemoryStore:
    """Tables, rows and tokens of one process; they end with it.

    After a fork parent and child each have them, and go on apart. Reading or writing a row costs a few dict accesses.
    The first scan after a partition came or went sorts the partitions.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._contents = _Contents()
        self._reading = _MemorySession(self._contents, self._lock, journal=None)
        rest_over_forks(self)

    @property
    def waits(self) -> bool:
        return False

    def session(self, *, write: bool) -> _MemorySession:
        """One session under the store's lock; the changes of a block that raises are taken back."""
        return _MemorySession(self._contents, self._lock, journal=[]) if write else self._reading

    def abandon(self) -> None:
        """Take back what an interrupt left open in this thread, and let go of the lock."""
        # Another thread's session keeps its lock, so with the lock at hand an open session is this thread's.
        if not self._lock.acquire(blocking=False):
            return
        for session in self._contents.writing:
            session.take_back()
        self._contents.writing.clear()
        with suppress(RuntimeError):
            for _ in range(_DEPTH_MAX):
                self._lock.release()

    def close(self) -> None:
        """Nothing to do: the rows live as long as the object."""

    def before_fork(self) -> None:
        """Wait for the sessions of other threads: the child has none that could end them, and would see half of a change."""
        self._lock.acquire()

    def after_fork(self) -> None:
        """Let sessions begin again, in the parent and in the child, which goes on with a copy of its own."""
        self._lock.release()


class _MemorySession:
    """The contents while the lock is held. ``journal`` holds how to take back each change; a reading session has none."""

    __slots__ = ("_acts", "_contents", "_journal", "_lock")

    def __init__(self, contents: _Contents, lock: RLock, journal: list[Callable[[], object]] | None) -> None:
        self._contents = contents
        self._lock = lock
        self._journal = journal
        self._acts: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        self._lock.acquire()
        if self._journal is not None:
            self._contents.writing.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is not None:
                self.take_back()
            if self._journal is not None:
                self._contents.writing.clear()
            if kind is None:
                for act in self._acts:
                    act()
        finally:
            self._lock.release()

    def take_back(self) -> None:
        """Undo the changes, the last one first."""
        while self._journal:
            self._journal.pop()()

    def _undo_with(self, undo: Callable[[], object]) -> None:
        """Keep how to take a change back. Called before the change, so that an interrupt in between finds it; undoing what was not done does nothing."""
        if self._journal is None:
            raise AssertionError("a reading session was asked to write")
        self._journal.append(undo)

    def after_commit(self, act: Callable[[], object]) -> None:
        if self._journal is None:
            raise AssertionError("a reading session commits nothing")
        self._acts.append(act)

    def get(self, space: str, partition: bytes, sort: bytes) -> Item | None:
        found = self._contents.spaces.get(space)
        return found.get(partition, sort) if found is not None else None

    def put(self, space: str, partition: bytes, sort: bytes, item: Item) -> None:
        target = self._contents.spaces.get(space)
        if target is None:
            target = self._contents.spaces[space] = _Space()
        old = target.get(partition, sort)
        self._undo_with(partial(target.delete, partition, sort) if old is None else partial(target.put, partition, sort, old))
        target.put(partition, sort, item)

    def delete(self, space: str, partition: bytes, sort: bytes) -> None:
        target = self._contents.spaces.get(space)
        old = target.get(partition, sort) if target is not None else None
        if target is not None and old is not None:
            self._undo_with(partial(target.put, partition, sort, old))
            target.delete(partition, sort)

    def rows(self, space: str, partition: bytes, low: bytes, high: bytes | None, *, descending: bool) -> Iterator[Item]:
        target = self._contents.spaces.get(space)
        found = target.partitions.get(partition) if target is not None else None
        if found is None:
            return
        first = bisect_left(found.order, low)
        end = len(found.order) if high is None else bisect_left(found.order, high)
        for at in range(end - 1, first - 1, -1) if descending else range(first, end):
            yield found.items[found.order[at]]

    def scan(self, space: str, first_slot: int, end_slot: int, after: Position | None) -> Iterator[Item]:
        target = self._contents.spaces.get(space)
        if target is None:
            return
        partitions = target.in_scan_order()
        start = (after.slot, after.partition) if after is not None else None
        begin = bisect_left(partitions, first_slot, key=_SLOT) if start is None else bisect_left(partitions, start, key=_SCAN_ORDER)
        for at in range(begin, bisect_left(partitions, end_slot, key=_SLOT)):
            found = partitions[at]
            resumed = after is not None and found.key == after.partition
            for index in range(bisect_right(found.order, after.sort) if after is not None and resumed else 0, len(found.order)):
                yield found.items[found.order[index]]

    def drop_space(self, space: str) -> None:
        dropped = self._contents.spaces.get(space)
        if dropped is not None:
            self._undo_with(partial(self._contents.spaces.__setitem__, space, dropped))
            del self._contents.spaces[space]

    def size(self, space: str) -> int:
        found = self._contents.spaces.get(space)
        return found.size if found is not None else 0

    def definition(self, table: str) -> str | None:
        return self._contents.definitions.get(table)

    def put_definition(self, table: str, text: str) -> None:
        definitions = self._contents.definitions
        old = definitions.get(table)
        self._undo_with(partial(definitions.pop, table, None) if old is None else partial(definitions.__setitem__, table, old))
        definitions[table] = text

    def delete_definition(self, table: str) -> None:
        definitions = self._contents.definitions
        old = definitions.get(table)
        if old is not None:
            self._undo_with(partial(definitions.__setitem__, table, old))
            del definitions[table]

    def table_names(self) -> list[str]:
        return sorted(self._contents.definitions)

    def token(self, token: str) -> TokenRecord | None:
        return self._contents.tokens.get(token)

    def put_token(self, token: str, record: TokenRecord) -> None:
        tokens = self._contents.tokens
        old = tokens.get(token)
        self._undo_with(partial(tokens.pop, token, None) if old is None else partial(tokens.__setitem__, token, old))
        # Taken out first, so that tokens stand in the order in which they completed.
        tokens.pop(token, None)
        tokens[token] = record

    def forget_tokens(self, completed_before: float) -> None:
        tokens = self._contents.tokens
        # For the same order the walk ends at the first young one.
        for token, record in list(_first_while(tokens, completed_before)):
            self._undo_with(partial(tokens.__setitem__, token, record))
            del tokens[token]


def _first_while(tokens: dict[str, TokenRecord], completed_before: float) -> Iterator[tuple[str, TokenRecord]]:
    for token, record in tokens.items():
        if record.completed_at >= completed_before:
            return
        yield token, record
