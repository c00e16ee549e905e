"""Belongs here: adding the actions on one table to a transaction. Must not be here: sending it, what a transaction may hold."""

from __future__ import annotations

from typing import TypeVar

from surewrite.core.conditions import Change, Condition
from surewrite.core.entities import EntityBase
from surewrite.core.keys import Key, Target
from surewrite.core.outcomes import Marker
from surewrite.core.scopes import Options
from surewrite.core.table_scopes import TableScopes
from surewrite.core.transaction_drafts import TransactionDraft

E = TypeVar("E", bound=EntityBase)


class TableActions:
    """What the transactions of both clients are, before they can be committed."""

    __slots__ = ("_draft", "_table")

    def __init__(self, table: TableScopes, draft: TransactionDraft) -> None:
        self._table = table
        self._draft = draft

    @property
    def draft(self) -> TransactionDraft:
        """The actions as they were collected. For recipes, which add their own."""
        return self._draft

    def create(self, entity: E) -> Marker[E]:
        """Store a new item where none is."""
        return self._draft.create(self._table.scope_of(type(entity)), entity)

    def put(self, entity: E, *, condition: Condition[E] | None = None, if_unchanged: bool = False) -> Marker[E]:
        """Store an entity whole."""
        return self._draft.put(self._table.scope_of(type(entity)), entity, Options(condition, if_unchanged))

    def update(self, target: E | Target[E], *changes: Change[E], condition: Condition[E] | None = None, if_unchanged: bool = False) -> Marker[E]:
        """Change a stored item."""
        return self._draft.update(self._table.scope_for(target), target, changes, Options(condition, if_unchanged))

    def upsert(self, target: Target[E], *changes: Change[E], condition: Condition[E] | None = None) -> Marker[E]:
        """Change a stored item, or make a whole one."""
        return self._draft.upsert(self._table.scope_for(target), target, changes, Options(condition))

    def delete(self, target: E | Target[E], *, condition: Condition[E] | None = None, if_unchanged: bool = False) -> Marker[E]:
        """Remove a stored item."""
        return self._draft.delete(self._table.scope_for(target), target, Options(condition, if_unchanged))

    def check(self, key: Key[E], condition: Condition[E]) -> Marker[E]:
        """Demand a condition of an item, and the version that the key says. A check of an item that the transaction also writes becomes part of that write."""
        return self._draft.check(self._table.scope_for(key), key, condition)
