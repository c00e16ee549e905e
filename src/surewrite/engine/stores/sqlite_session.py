"""Belongs here: one transaction on a SQLite file: its statements and its end. Must not be here: opening files, forks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import Any, Final, Protocol, Self

from surewrite.core.values import Item
from surewrite.engine.stores.sqlite_faults import check_whole, damaged, translated, translation
from surewrite.engine.stores.store import Position, TokenRecord, slot_of

_GET: Final = "SELECT item FROM entry WHERE space = ? AND slot = ? AND partition = ? AND sort = ?"
_PUT: Final = "INSERT OR REPLACE INTO entry (space, slot, partition, sort, item) VALUES (?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM entry WHERE space = ? AND slot = ? AND partition = ? AND sort = ?"
_ROWS: Final = "SELECT item FROM entry WHERE space = ? AND slot = ? AND partition = ? AND sort >= ?"
_SCAN: Final = "SELECT item FROM entry WHERE space = ? AND slot >= ? AND slot < ? ORDER BY slot, partition, sort"
_SCAN_ON: Final = "SELECT item FROM entry WHERE space = ? AND (slot, partition, sort) > (?, ?, ?) AND slot < ? ORDER BY slot, partition, sort"


class Connections(Protocol):
    """Where a session takes its connection from."""

    def begin(self, session: SqliteSession, *, write: bool) -> sqlite3.Connection: ...

    def end(self, session: SqliteSession, *, write: bool, usable: bool) -> None: ...

    def require_same_file(self) -> None: ...


class SqliteSession:
    """One transaction, to be used as a context manager once. ``thread`` is the one that it belongs to."""

    __slots__ = ("_acts", "_connection", "_connections", "_cursors", "_path", "_write", "thread")

    def __init__(self, connections: Connections, path: Path, *, write: bool) -> None:
        self._connections = connections
        self._path = path
        self._write = write
        self._acts: list[Callable[[], object]] = []
        self._cursors: list[sqlite3.Cursor] = []
        self._connection: sqlite3.Connection | None = None
        self.thread = get_ident()

    def __enter__(self) -> Self:
        with translated(self._path):
            self._connection = self._connections.begin(self, write=self._write)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        connection = self._open()
        self._connection = None
        usable = False
        try:
            for cursor in self._cursors:
                cursor.close()
            if kind is None:
                with translated(self._path, committing=True):
                    if self._write:
                        # Again, since the session may have waited for the lock of another process.
                        self._connections.require_same_file()
                    connection.execute("COMMIT")
                for act in self._acts:
                    act()
            elif connection.in_transaction:
                # SQLite itself ends the transaction of some errors, such as a full disk.
                with translated(self._path):
                    connection.execute("ROLLBACK")
            usable = not (isinstance(error, sqlite3.Error) or connection.in_transaction)
        finally:
            # A connection that is closed within a transaction takes it back.
            self._connections.end(self, write=self._write, usable=usable)
        if isinstance(error, sqlite3.Error):
            raise translation(self._path, error, committing=False) from error

    def after_commit(self, act: Callable[[], object]) -> None:
        self._acts.append(act)

    def get(self, space: str, partition: bytes, sort: bytes) -> Item | None:
        row = self._open().execute(_GET, (space, slot_of(partition), partition, sort)).fetchone()
        return None if row is None else self._item(row[0])

    def put(self, space: str, partition: bytes, sort: bytes, item: Item) -> None:
        self._open().execute(_PUT, (space, slot_of(partition), partition, sort, json.dumps(item, separators=(",", ":"))))

    def delete(self, space: str, partition: bytes, sort: bytes) -> None:
        self._open().execute(_DELETE, (space, slot_of(partition), partition, sort))

    def rows(self, space: str, partition: bytes, low: bytes, high: bytes | None, *, descending: bool) -> Iterator[Item]:
        order = "DESC" if descending else "ASC"
        key = (space, slot_of(partition), partition, low)
        if high is None:
            return self._items(f"{_ROWS} ORDER BY sort {order}", key)
        return self._items(f"{_ROWS} AND sort < ? ORDER BY sort {order}", (*key, high))

    def scan(self, space: str, first_slot: int, end_slot: int, after: Position | None) -> Iterator[Item]:
        if after is None:
            return self._items(_SCAN, (space, first_slot, end_slot))
        return self._items(_SCAN_ON, (space, after.slot, after.partition, after.sort, end_slot))

    def drop_space(self, space: str) -> None:
        self._open().execute("DELETE FROM entry WHERE space = ?", (space,))

    def size(self, space: str) -> int:
        size: int = self._open().execute("SELECT count(*) FROM entry WHERE space = ?", (space,)).fetchone()[0]
        return size

    def definition(self, table: str) -> str | None:
        row = self._open().execute("SELECT text FROM definition WHERE name = ?", (table,)).fetchone()
        return None if row is None else row[0]

    def put_definition(self, table: str, text: str) -> None:
        self._open().execute("INSERT OR REPLACE INTO definition (name, text) VALUES (?, ?)", (table, text))

    def delete_definition(self, table: str) -> None:
        self._open().execute("DELETE FROM definition WHERE name = ?", (table,))

    def table_names(self) -> list[str]:
        return [row[0] for row in self._open().execute("SELECT name FROM definition ORDER BY name")]

    def token(self, token: str) -> TokenRecord | None:
        row = self._open().execute("SELECT digest, completed_at, outcome FROM token WHERE token = ?", (token,)).fetchone()
        return None if row is None else TokenRecord(*row)

    def put_token(self, token: str, record: TokenRecord) -> None:
        values = (token, record.digest, record.completed_at, record.outcome)
        self._open().execute("INSERT OR REPLACE INTO token (token, digest, completed_at, outcome) VALUES (?, ?, ?, ?)", values)

    def forget_tokens(self, completed_before: float) -> None:
        self._open().execute("DELETE FROM token WHERE completed_at < ?", (completed_before,))

    def verify(self) -> None:
        """Raise ``StoreUnusable`` where the file is damaged. Reads every page."""
        check_whole(self._open(), self._path)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise AssertionError("a session is used within its with block")
        return self._connection

    def _items(self, statement: str, parameters: Sequence[Any]) -> Iterator[Item]:
        cursor = self._open().execute(statement, parameters)
        self._cursors.append(cursor)
        return map(self._row_item, cursor)

    def _row_item(self, row: tuple[str]) -> Item:
        return self._item(row[0])

    def _item(self, text: str) -> Item:
        try:
            item: Item = json.loads(text)
        except ValueError as failed:
            raise damaged(self._path, "an item is not readable") from failed
        return item
