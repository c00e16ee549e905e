"""Belongs here: what SQLite's errors mean for a store, in words that say what to do. Must not be here: sessions, statements of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from surewrite.engine.stores.store import StoreBusy, StoreError, StoreFull, StoreUnusable


@contextmanager
def translated(path: Path, *, committing: bool = False) -> Generator[None]:
    """Raise SQLite's errors in the block as ``StoreError``; after an input or output error while ``committing`` it is open whether it was kept."""
    try:
        yield
    except sqlite3.Error as failed:
        raise translation(path, failed, committing=committing) from failed


def translation(path: Path, failed: sqlite3.Error, *, committing: bool) -> StoreError:
    """The store's error for one of SQLite's. SQLite documentation, page "Result and Error Codes"."""
    # The lower byte is the primary code; errors that Python's module raises by itself have none.
    code = getattr(failed, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"no room for {path}: free space on its disk, then send the request again; nothing was written")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"another process kept {path} locked; send the request again; nothing was written")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return unwritable(path, str(failed))
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(failed))
        case sqlite3.SQLITE_IOERR:
            applied = None if committing else False
            return StoreError(f"the disk of {path} failed ({failed}); check the disk, then whether the last write is there", applied=applied)
        case _ if "decode" in str(failed):
            return damaged(path, str(failed))
        case _:
            return StoreError(f"SQLite refused the work on {path}: {failed}", applied=None if committing else False)


def damaged(path: Path, detail: str) -> StoreUnusable:
    """The error of a file whose content contradicts itself."""
    return StoreUnusable(f"{path} is damaged ({detail}); it was left as it is: restore it from a copy, or move it away to begin a new one")


def foreign(path: Path) -> StoreUnusable:
    """The error of a file that another program made."""
    return StoreUnusable(f"{path} was not made by this engine and was left as it was; give the path of another file")


def unwritable(path: Path, detail: str) -> StoreUnusable:
    """The error of a file or directory that this process may not write."""
    return StoreUnusable(f"{path} cannot be opened for writing ({detail}); give this process write permission on the file and on its directory")


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Raise ``StoreUnusable`` where SQLite's own check of the whole file finds damage. Reads every page."""
    found: str = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, found.splitlines()[-1])
