"""Belongs here: the interface between the service's rules and what keeps its rows. Must not be here: expressions, limits, an implementation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Protocol

from surewrite.core.values import Item

SLOTS: Final = 1 << 62
"""Partitions are laid out on slots 0 to 2**62 - 1, so that a slot and its end fit a signed 64-bit column."""


def slot_of(partition: bytes) -> int:
    """Where a partition stands in the order of a scan: a hash, so that segments of a scan are of about equal size."""
    return int.from_bytes(blake2b(partition, digest_size=8).digest(), "big") >> 2


@dataclass(frozen=True, slots=True)
class Position:
    """The place of one row in the order of a scan."""

    slot: int
    partition: bytes
    sort: bytes


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is kept of a finished transaction under its client request token.

    ``digest`` stands for its content, ``completed_at`` is in seconds since 1970, ``outcome`` is the JSON text of what a
    repeat is answered with.
    """

    digest: str
    completed_at: float
    outcome: str


class Session(Protocol):
    """One atomic look at, or change of, the rows. A space is a table or an index; within it rows are ordered by partition, then sort bytes.

    Items handed in belong to the store from then on, and items handed out are never changed by either side.
    """

    def get(self, space: str, partition: bytes, sort: bytes) -> Item | None: ...

    def put(self, space: str, partition: bytes, sort: bytes, item: Item) -> None: ...

    def delete(self, space: str, partition: bytes, sort: bytes) -> None: ...

    def rows(self, space: str, partition: bytes, low: bytes, high: bytes | None, *, descending: bool) -> Iterator[Item]:
        """Items of one partition with ``low <= sort < high``, in the order of sort; no upper end where ``high`` is None."""
        ...

    def scan(self, space: str, first_slot: int, end_slot: int, after: Position | None) -> Iterator[Item]:
        """Items with ``first_slot <= slot < end_slot`` in the order of slot, partition, sort, behind ``after``."""
        ...

    def drop_space(self, space: str) -> None: ...

    def size(self, space: str) -> int:
        """Number of rows; the cost grows with it on a store on disk."""
        ...

    def definition(self, table: str) -> str | None:
        """The text kept for a table. Equal text means that the table was not changed."""
        ...

    def put_definition(self, table: str, text: str) -> None: ...

    def delete_definition(self, table: str) -> None: ...

    def table_names(self) -> list[str]:
        """All tables, ascending by the bytes of their names."""
        ...

    def after_commit(self, act: Callable[[], object]) -> None:
        """Call ``act`` once the session's changes are kept, before the next writing session of this process begins; never if they are not."""
        ...

    def token(self, token: str) -> TokenRecord | None: ...

    def put_token(self, token: str, record: TokenRecord) -> None: ...

    def forget_tokens(self, completed_before: float) -> None: ...


class Store(Protocol):
    """Keeps tables, rows and tokens. Safe between threads."""

    @property
    def waits(self) -> bool:
        """Whether a session may wait for a disk or another process."""
        ...

    def session(self, *, write: bool) -> AbstractContextManager[Session]:
        """One session. When the block ends, all its changes are kept; when it raises, none. Raises ``StoreError``."""
        ...

    def abandon(self) -> None:
        """End what an interrupt left open in this thread: its changes are taken back and its locks are free again.

        An interrupt, or whatever a signal handler raises, may come within the first or last step of a session, where no
        handler of the session itself can see it. Whoever ran the session calls this then; without open sessions it does nothing.
        """
        ...

    def close(self) -> None: ...


_patience: Final[ContextVar[float | None]] = ContextVar("patience", default=None)


@contextmanager
def waiting_at_most(seconds: float) -> Generator[None]:
    """Within the block, sessions of this thread wait no longer than this for a disk's lock; then they raise ``StoreBusy``."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def patience_seconds(longest: float) -> float:
    """How long a session may wait now: ``longest``, or less where the caller is in more of a hurry."""
    wanted = _patience.get()
    return longest if wanted is None else max(0.0, min(longest, wanted))


class StoreError(Exception):
    """The store could not do its work; the text says what to do. ``applied`` is False where it is certain that nothing was kept, else None."""

    def __init__(self, message: str, *, applied: bool | None = False) -> None:
        super().__init__(message)
        self.applied = applied


class StoreUnusable(StoreError):
    """The file is not one of this store's, is damaged, or may not be written. It was left as it was."""


class StoreFull(StoreError):
    """There was no room for the change. Nothing of it was kept."""


class StoreBusy(StoreError):
    """Another process held the store for longer than the limit. Nothing was kept."""
