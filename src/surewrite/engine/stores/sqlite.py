"""Belongs here: one SQLite file as a store, safe between threads, processes and forks. Must not be here: the statements of a session.

What a session kept is on the disk when the session ends: the journal is a write-ahead log, synchronised at each commit
(SQLite documentation, page "Write-Ahead Logging").
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from threading import Condition, Lock, RLock, get_ident
from typing import Final
from urllib.parse import quote

from surewrite.engine.stores.forks import rest_over_forks
from surewrite.engine.stores.sqlite_faults import check_whole, damaged, foreign, translated, unwritable
from surewrite.engine.stores.sqlite_session import SqliteSession
from surewrite.engine.stores.store import StoreBusy, StoreError, StoreUnusable, patience_seconds

APPLICATION_ID: Final = 0x53757277
"""The four letters Surw in the file's header tell whose file it is."""

FILE_VERSION: Final = 2

_BUSY_SECONDS: Final = 10.0
_LOOK_MILLISECONDS: Final = 2
"""How often the lock of another process is looked at: about the time that it is held for."""
_IDLE_CONNECTIONS: Final = 8
_CHECKED_BYTES: Final = 16 * 1024 * 1024
"""Files up to this size are checked whole when they are opened; in larger ones damage shows when it is read."""

_SCHEMA: Final = (
    "CREATE TABLE definition (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE entry (space TEXT NOT NULL, slot INTEGER NOT NULL, partition BLOB NOT NULL, sort BLOB NOT NULL, item TEXT NOT NULL,
    PRIMARY KEY (space, slot, partition, sort)) WITHOUT ROWID""",
    "CREATE TABLE token (token TEXT PRIMARY KEY, digest TEXT NOT NULL, completed_at REAL NOT NULL, outcome TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX token_by_completion ON token (completed_at)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FILE_VERSION}",
)


class SqliteStore:
    """Tables, rows and tokens in one file.

    ``path`` names the file; it is made when it does not exist. ``most_pages`` bounds its size in pages of 4,096 bytes;
    beyond it a write raises ``StoreFull``. A file that is not one of this store's, or is damaged, or may not be written,
    raises ``StoreUnusable`` and stays as it was; so does every session once the file was removed or replaced. One
    writing session costs a synchronised write of the log.
    """

    def __init__(self, path: str | os.PathLike[str], *, most_pages: int | None = None) -> None:
        # Whole, because connections are opened later too, and the program may change its directory.
        self._path = Path(path).absolute()
        self._most_pages = most_pages
        self._idle: list[sqlite3.Connection] = []
        self._open: dict[SqliteSession, sqlite3.Connection | None] = {}
        self._closed = False
        # The gate guards the three above. A fork passes through it, so that no child inherits a connection. Entered as a
        # bare lock, since an interrupt may come between the steps of a condition's own entering.
        self._gate = Lock()
        self._ended = Condition(self._gate)
        # Knows its thread, so that what an interrupt left locked can be told from what another thread has locked.
        self._writing = RLock()
        with translated(self._path):
            _require_own_file(self._path)
            self._idle.append(self._opened())
        self._identity = _identity(self._path)
        rest_over_forks(self)

    @property
    def waits(self) -> bool:
        return True

    @property
    def path(self) -> Path:
        return self._path

    def session(self, *, write: bool) -> SqliteSession:
        """One transaction of the file. A reading session sees one state; the writing sessions of all processes follow one another."""
        return SqliteSession(self, self._path, write=write)

    def verify(self) -> None:
        """Check the whole file; raises ``StoreUnusable`` where it is damaged. Reads every page."""
        with self.session(write=False) as session:
            session.verify()

    def close(self) -> None:
        """Close all connections that are not in use; the log is then merged into the file, if no other process uses it."""
        with self._gate:
            self._closed = True
            self._close_idle()

    def begin(self, session: SqliteSession, *, write: bool) -> sqlite3.Connection:
        """A connection on which the session's transaction has begun, to be given back by ``end``."""
        deadline = time.monotonic() + patience_seconds(_BUSY_SECONDS)
        try:
            with self._gate:
                if self._closed:
                    raise StoreUnusable(f"the store on {self._path} was closed; open it again")
                connection = self._open[session] = self._idle.pop() if self._idle else None
            # Threads of this process queue here, because SQLite's own queue polls.
            if write and not self._writing.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise StoreBusy(f"other threads kept {self._path} locked; send the request again; nothing was written")
            self.require_same_file()
            if connection is None:
                connection = self._open[session] = self._connect()
            if write:
                _lock(connection, deadline)
            else:
                _wait_until(connection, deadline)
                connection.execute("BEGIN")
            return connection
        except BaseException as failed:
            self.end(session, write=write, usable=isinstance(failed, StoreError))
            raise

    def end(self, session: SqliteSession, *, write: bool, usable: bool) -> None:
        """Take a session's connection back; one that is not ``usable`` is closed. Of one that has ended it does nothing."""
        connection = self._open.get(session)
        if connection is not None and not usable:
            connection.close()
        if write:
            # Not this thread's where the session never got it.
            with suppress(RuntimeError):
                self._writing.release()
        with self._gate:
            self._open.pop(session, None)
            self._ended.notify_all()
            if connection is None or not usable:
                return
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def require_same_file(self) -> None:
        """Raise ``StoreUnusable`` where the file was removed or replaced: what is written to one without a name is gone once it is closed."""
        if _identity(self._path) != self._identity:
            raise StoreUnusable(f"{self._path} was removed or replaced while it was open; nothing was written; open it again")

    def abandon(self) -> None:
        """End what an interrupt left open in this thread. A connection that is closed within a transaction takes it back."""
        thread = get_ident()
        for session in [each for each in self._open.copy() if each.thread == thread]:
            self.end(session, write=True, usable=False)

    def before_fork(self) -> None:
        """Wait for the sessions of other threads and close all connections: one that two processes share would lose SQLite's locks."""
        self._gate.acquire()
        self._ended.wait_for(lambda: not self._open, timeout=_BUSY_SECONDS)
        self._close_idle()

    def after_fork(self) -> None:
        """Let sessions begin again, in the parent and in the child."""
        self._gate.release()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _opened(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            if self._most_pages is not None:
                connection.execute(f"PRAGMA max_page_count = {self._most_pages}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if _pragma(connection, "application_id") != APPLICATION_ID:
            self._make(connection)
        version = _pragma(connection, "user_version")
        if version != FILE_VERSION:
            raise StoreUnusable(f"{self._path} has format {version}, and this program reads format {FILE_VERSION}; open it with the release that made it")
        if _pragma(connection, "page_count") * _pragma(connection, "page_size") <= _CHECKED_BYTES:
            check_whole(connection, self._path)
        _wait_until(connection, time.monotonic() + _BUSY_SECONDS)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise unwritable(self._path, "its file system has no write-ahead log")
        # A file that may only be read is refused now and not at the first write; the lock alone does not tell.
        _lock(connection, time.monotonic() + _BUSY_SECONDS)
        connection.execute(f"PRAGMA user_version = {FILE_VERSION}")
        connection.execute("ROLLBACK")

    def _make(self, connection: sqlite3.Connection) -> None:
        _lock(connection, time.monotonic() + _BUSY_SECONDS)
        try:
            # Looked at again under the lock: another process may have made the file in the meantime.
            owner = _pragma(connection, "application_id")
            if owner != APPLICATION_ID:
                if owner or connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                    raise foreign(self._path)
                for statement in _SCHEMA:
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _lock(connection: sqlite3.Connection, deadline: float) -> None:
    """Begin a writing transaction, by the deadline on the monotonic clock.

    Left to itself, SQLite looks again ten times a second, and hardly ever finds free what other processes write without a pause.
    """
    connection.execute(f"PRAGMA busy_timeout = {_LOOK_MILLISECONDS}")
    while time.monotonic() < deadline:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as failed:
            if failed.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        else:
            break
    else:
        connection.execute("BEGIN IMMEDIATE")
    _wait_until(connection, deadline)


def _wait_until(connection: sqlite3.Connection, deadline: float) -> None:
    """How long the next statements wait for a lock."""
    connection.execute(f"PRAGMA busy_timeout = {max(0, int((deadline - time.monotonic()) * 1000))}")


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells one file from another under the same name; ``None`` where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _require_own_file(path: Path) -> None:
    """Refuse a foreign file before it is opened for writing. A file that another process is making has a rollback journal beside it."""
    for _ in range(2):
        found = _application_id_in_place(path)
        if found in (None, APPLICATION_ID) or (found == 0 and path.with_name(path.name + "-journal").exists()):
            return
    raise foreign(path)


def _application_id_in_place(path: Path) -> int | None:
    """What the file says of itself, read without a lock or a change; ``None`` where there is none, or an empty one.

    Read by SQLite and not by ``open``: closing a file of one's own drops every lock that the process has on it
    (page "How To Corrupt An SQLite Database File", 2.2), those of other stores on the same file included.
    """
    try:
        if path.stat().st_size == 0:
            return None
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise unwritable(path, "its directory does not exist") from None
        return None
    except OSError as failed:
        raise unwritable(path, failed.strerror or str(failed)) from failed
    except ValueError as failed:
        # A path that the system has no form for, with a zero byte in it for instance.
        raise unwritable(path, str(failed)) from failed
    logged = path.with_name(path.name + "-wal").exists()
    try:
        return _application_id(path, "mode=ro&immutable=1", logged=logged)
    except sqlite3.OperationalError as failed:
        raise unwritable(path, str(failed)) from failed
    except sqlite3.DatabaseError as failed:
        raise (foreign(path) if failed.sqlite_errorcode == sqlite3.SQLITE_NOTADB else damaged(path, str(failed))) from failed


def _application_id(path: Path, mode: str, *, logged: bool) -> int:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as connection:
            return _pragma(connection, "application_id")
    except sqlite3.DatabaseError as failed:
        if not logged or failed.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:
            raise
        # Its log is being merged into it, or that was cut off by a kill or a full disk: the file is whole only together with its log.
        return _application_id(path, "mode=ro", logged=False)
