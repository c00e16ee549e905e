"""Belongs here: one table of one database and what is known of the entity types in it. Must not be here: operations, a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surewrite.core.entities import TableLayout, schema_of
from surewrite.core.environment import Environment
from surewrite.core.keys import is_key
from surewrite.core.scopes import Scope


class TableScopes:
    """What the tables of both clients are, before they can send. Each entity type is bound to the table once."""

    __slots__ = ("_environment", "_layout", "_name", "_scopes")

    def __init__(self, environment: Environment, name: str, layout: TableLayout) -> None:
        self._environment = environment
        self._name = name
        self._layout = layout
        self._scopes: dict[type[Any], Scope] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def environment(self) -> Environment:
        """What all operations of the database share. For recipes."""
        return self._environment

    def scope_of(self, entity: type[Any]) -> Scope:
        """What the planning of writes needs to know of an entity type in this table. For recipes."""
        found = self._scopes.get(entity)
        if found is None:
            found = self._scopes[entity] = Scope(self._environment, self._name, schema_of(entity).bind(self._layout))
        return found

    def scope_for(self, target: object) -> Scope:
        """The scope of the type of an entity or key. For recipes."""
        if is_key(target):
            return self.scope_of(target.entity)
        return self.scope_of(type(target))

    def _scopes_of(self, types: Sequence[type[Any]]) -> list[Scope]:
        return [self.scope_of(entity) for entity in types]
