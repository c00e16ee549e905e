"""Belongs here: the engine's memory store with an eye on every committed change. Must not be here: what the changes mean."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from surewrite.core.values import Item
from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.store import Session

Place = tuple[str, bytes, bytes]
"""The table's space, and the partition and sort bytes of an item."""

Stored = tuple[Place, Item | None, Item | None]
"""An item's place, and its state before and after. Items are never changed in place, so they are kept as they are."""


class WatchedStore:
    """A memory store that keeps the changes of the sessions since they were last taken. Index entries are left out."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.changes: list[Stored] = []

    @property
    def waits(self) -> bool:
        return False

    def session(self, *, write: bool) -> Any:
        """A session of the memory store; a writing one is watched."""
        inner = self._store.session(write=write)
        return WatchedSession(inner, self.changes) if write else inner

    def abandon(self) -> None:
        self._store.abandon()

    def take(self) -> list[Stored]:
        """The changes since the last call, in commit order."""
        found = self.changes.copy()
        self.changes.clear()
        return found

    def close(self) -> None:
        self._store.close()


class WatchedSession:
    """Hands everything on, and keeps the changes of a session that ends well."""

    __slots__ = (
        "_changes",
        "_inner",
        "_kept",
        "after_commit",
        "definition",
        "delete_definition",
        "drop_space",
        "forget_tokens",
        "get",
        "put_definition",
        "put_token",
        "rows",
        "scan",
        "size",
        "table_names",
        "token",
    )

    def __init__(self, inner: Any, changes: list[Stored]) -> None:
        session: Session = inner
        self._inner = inner
        self._changes: list[Stored] = []
        self._kept = changes
        self.get = session.get
        self.rows = session.rows
        self.scan = session.scan
        self.drop_space = session.drop_space
        self.size = session.size
        self.definition = session.definition
        self.put_definition = session.put_definition
        self.delete_definition = session.delete_definition
        self.table_names = session.table_names
        self.token = session.token
        self.after_commit = session.after_commit
        self.forget_tokens = session.forget_tokens
        self.put_token = session.put_token

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._inner.__exit__(kind, error, trace)
        if kind is None:
            self._kept.extend(self._changes)

    def put(self, space: str, partition: bytes, sort: bytes, item: Item) -> None:
        if "/" not in space:
            self._changes.append(((space, partition, sort), self.get(space, partition, sort), item))
        self._inner.put(space, partition, sort, item)

    def delete(self, space: str, partition: bytes, sort: bytes) -> None:
        if "/" not in space:
            self._changes.append(((space, partition, sort), self.get(space, partition, sort), None))
        self._inner.delete(space, partition, sort)
