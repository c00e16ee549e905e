"""Belongs here: what is stored, and what the engine makes of one request; each computed once. Must not be here: schedules, tokens, clients.

A database, a request and an answer are named by small numbers, so that a state of the search is a tuple of numbers. The
engine that evaluates requests is the whole one, validation included: what is explored are the compiled expressions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from surewrite.backends.embedded import EmbeddedBackend
from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.effects import Moment
from surewrite.core.entities import Attribute, Entity, EntityBase, TableLayout, VersionedEntity, attribute, schema_of, time_to_live, version
from surewrite.core.environment import Environment
from surewrite.core.planning import plan_create
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.traits import EndpointTraits
from surewrite.core.values import Item
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore

TABLE: Final = "world"
KEY: Final = "pk"
LAYOUT: Final = TableLayout((KEY,), discriminator=None)
UNSTAMPED: Final = TableLayout((KEY,), discriminator=None, stamp=None, birth=None)

NOW_SECONDS: Final = 1_000
"""The time of the service and of the plan, since 1970. A late attempt carries it as it was."""

LOADED: Final = "L"
"""The id in the stamp and birth of the item that was read before the write began."""

T = TypeVar("T")


class Stock(VersionedEntity, partition_key="{id}"):
    """What is written where the type has a version."""

    id: Attribute[str]
    amount: Attribute[int] = attribute(default=10)
    status: Attribute[str] = attribute(default="paid")
    operations: Attribute[frozenset[str]] = attribute(default_factory=frozenset)
    flushes: Attribute[dict[str, int]] = attribute(default_factory=dict)
    revision: Attribute[int | None] = version()


class Price(Entity, partition_key="{id}"):
    """What is written where the type has no version."""

    id: Attribute[str]
    amount: Attribute[int] = attribute(default=10)
    status: Attribute[str] = attribute(default="paid")
    operations: Attribute[frozenset[str]] = attribute(default_factory=frozenset)
    flushes: Attribute[dict[str, int]] = attribute(default_factory=dict)


class Session(Entity, partition_key="{id}"):
    """What is written where the type has a time to live; an expired item stands for a tombstone too."""

    id: Attribute[str]
    amount: Attribute[int] = attribute(default=10)
    expires: Attribute[int | None] = time_to_live(default=None)


class OperationRow(Entity, partition_key="{id}"):
    """Says that an operation was made."""

    id: Attribute[str]


ITEM_ID: Final = "x"
"""The key of the one item that a world is about."""

ROW_ID: Final = "operation"


class Numbered(Generic[T]):
    """Values by number, and the number of each by what tells it apart."""

    def __init__(self) -> None:
        self._values: list[T] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str, value: T) -> int:
        found = self._numbers.setdefault(name, len(self._values))
        if found == len(self._values):
            self._values.append(value)
        return found

    def __getitem__(self, number: int) -> T:
        return self._values[number]


@dataclass(frozen=True, slots=True)
class Executed:
    """What the service answered, and what is stored after that."""

    answer: int
    database: int
    applied: bool


class Stage:
    """All databases, requests and answers that were met, and what came of each request on each database."""

    def __init__(self) -> None:
        self.requests: Numbered[Request] = Numbered()
        self.answers: Numbered[Answer] = Numbered()
        self._databases: Numbered[tuple[Item, ...]] = Numbered()
        self._executed: dict[tuple[int, int], Executed] = {}
        self._backend = EmbeddedBackend(Service(MemoryStore(), clock=lambda: float(NOW_SECONDS)))
        self._send(
            "CreateTable",
            {
                "TableName": TABLE,
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": KEY, "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": KEY, "KeyType": "HASH"}],
            },
        )
        self._present: set[str] = set()

    def database(self, items: tuple[Item, ...]) -> int:
        ordered = tuple(sorted(items, key=lambda item: str(item[KEY]["S"])))
        return self._databases.number(json.dumps(ordered, sort_keys=True), ordered)

    def items(self, database: int) -> tuple[Item, ...]:
        return self._databases[database]

    def item(self, database: int, name: str = ITEM_ID) -> Item | None:
        return next((item for item in self._databases[database] if item[KEY]["S"] == name), None)

    def request(self, request: Request) -> int:
        return self.requests.number(json.dumps((request.operation, request.body), sort_keys=True), request)

    def answer(self, answer: Answer) -> int:
        return self.answers.number(repr(answer), answer)

    def execute(self, request: int, database: int) -> Executed:
        """Evaluate a request; tokens are left to the caller, for they belong to the state that is searched."""
        found = self._executed.get((request, database))
        if found is None:
            found = self._executed[request, database] = self._evaluate(self.requests[request], database)
        return found

    def _evaluate(self, request: Request, database: int) -> Executed:
        for name in self._present - {str(item[KEY]["S"]) for item in self.items(database)}:
            self._send("DeleteItem", {"TableName": TABLE, "Key": {KEY: {"S": name}}})
        for item in self.items(database):
            self._send("PutItem", {"TableName": TABLE, "Item": item})
        body = {name: member for name, member in request.body.items() if name != "ClientRequestToken"}
        answer = self._backend.send(Request(request.operation, body), 1.0)
        after = self._send("Scan", {"TableName": TABLE, "ConsistentRead": True})["Items"]
        self._present = {str(item[KEY]["S"]) for item in after}
        assert isinstance(answer, (Success, Rejection))
        return Executed(self.answer(replace(answer, server_time=None)), self.database(tuple(after)), isinstance(answer, Success))

    def _send(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._backend.send(Request(operation, body), 1.0)
        assert isinstance(answer, Success), answer
        return answer.body


def environment(*, old_item: bool | None = True) -> Environment:
    """A new one for each run, for it keeps what it learns."""
    return Environment(
        EndpointTraits("world", tokens=True, transactions=True, old_item=old_item, cancelled_items=old_item), timeout_seconds=1.0, deadline_seconds=10.0
    )


def scope_of(entity: type[EntityBase], around: Environment, layout: TableLayout = LAYOUT) -> Scope:
    """The entity type in the table of the world."""
    return Scope(around, TABLE, schema_of(entity).bind(layout))


def occasion(unique: str) -> Occasion:
    """The one moment at which everybody plans, with this id."""
    return Occasion(Moment(float(NOW_SECONDS), float(NOW_SECONDS), 0.0), unique)


def item_of(entity: EntityBase, unique: str, layout: TableLayout = LAYOUT) -> Item:
    """The item as a create of this library with that id stores it."""
    plan = plan_create(scope_of(type(entity), environment(), layout), entity, occasion(unique), Options())
    assert plan.stored is not None
    return plan.stored
