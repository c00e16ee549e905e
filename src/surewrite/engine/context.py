"""Belongs here: what the operations of one service share: its tables as read, locked items, stream records, settings. Must not be here: operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from surewrite.core import limits
from surewrite.engine.faults import ServiceError
from surewrite.engine.indexes import maintain
from surewrite.engine.schemas import Table, table_of
from surewrite.engine.stores.store import Session, Store
from surewrite.engine.streams import Change, StreamLog

Place = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How a service treats what the real one does not document, or what other endpoints do otherwise.

    ``token_life_seconds``: how long after its completion a transaction's token is known. ``cancelled_originals_remembered``:
    whether the token of a cancelled transaction answers repeats with the same cancellation, instead of running them.
    ``tokens_ignored``: tokens have no effect, as on endpoints that do not know them. ``signed_request_life_seconds`` and
    ``signed_request_ahead_seconds``: how old, and how far ahead of the service's clock, the date of a request may be.
    """

    token_life_seconds: float = float(limits.TRANSACTION_TOKEN_SECONDS)
    cancelled_originals_remembered: bool = False
    tokens_ignored: bool = False
    signed_request_life_seconds: float = 300.0
    signed_request_ahead_seconds: float = 900.0


class Catalogue:
    """The tables of a store as the rules need them, each read from its definition once as long as that stays the same."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Table]] = {}

    def table(self, session: Session, name: str) -> Table:
        """The table, or the service's ResourceNotFoundException of the data plane."""
        found = self.find(session, name)
        if found is None:
            raise ServiceError("ResourceNotFoundException", "Requested resource not found")
        return found

    def find(self, session: Session, name: str) -> Table | None:
        text = session.definition(name)
        if text is None:
            self._known.pop(name, None)
            return None
        known = self._known.get(name)
        if known is None or known[0] != text:
            known = (text, table_of(text))
            self._known[name] = known
        return known[1]


class Locks:
    """Items and tokens of transactions that are held open. Asked and acquired within a session of the store, so that no write comes between."""

    __slots__ = ("_changing", "_owners", "_tokens")

    def __init__(self) -> None:
        self._changing = Lock()
        self._owners: dict[tuple[str, Place], object] = {}
        self._tokens: dict[str, object] = {}

    def is_locked(self, table: Table, place: Place) -> bool:
        return bool(self._owners) and (table.space, place) in self._owners

    def has_token(self, token: str) -> bool:
        return token in self._tokens

    def acquire(self, owner: object, items: Iterable[tuple[Table, Place]], token: str | None) -> None:
        with self._changing:
            for table, place in items:
                self._owners[table.space, place] = owner
            if token is not None:
                self._tokens[token] = owner

    def release(self, owner: object) -> None:
        with self._changing:
            self._owners = {item: holder for item, holder in self._owners.items() if holder is not owner}
            self._tokens = {token: holder for token, holder in self._tokens.items() if holder is not owner}


@dataclass(frozen=True, slots=True)
class Context:
    """One service's parts. ``clock`` tells seconds since 1970."""

    store: Store
    clock: Callable[[], float]
    settings: ServiceSettings
    catalogue: Catalogue = field(default_factory=Catalogue)
    locks: Locks = field(default_factory=Locks)
    streams: StreamLog = field(default_factory=StreamLog)

    def apply(self, session: Session, changes: Sequence[Change]) -> None:
        """Store changes with their index entries, and their stream records once they are kept."""
        streamed = False
        for change in changes:
            table = change.table
            if change.new is change.old:
                continue
            if change.new is None:
                session.delete(table.space, *change.place)
            else:
                session.put(table.space, *change.place, change.new)
            if table.indexes:
                maintain(session, change)
            streamed = streamed or table.stream is not None
        if streamed:
            session.after_commit(partial(self._record, changes))

    def _record(self, changes: Sequence[Change]) -> None:
        self.streams.append(changes, self.clock())
