"""Belongs here: what other writers may do to the item, each at once and answered. Must not be here: when they do it, the client under test.

Writers of this library plan their writes as it does; foreign ones send what their programs would. Ids are the first that
the database does not hold: no client compares the ids of others with each other, so worlds that differ in them only are one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surewrite.core.conditions import Change
from surewrite.core.entities import EntityBase, TableLayout
from surewrite.core.planning import plan_create, plan_delete, plan_put, plan_update, plan_upsert
from surewrite.core.requests import Request
from surewrite.core.scopes import Options
from surewrite.core.values import Item
from surewrite.testing.explorer.stage import ITEM_ID, KEY, LAYOUT, TABLE, Price, Session, Stage, Stock, environment, occasion, scope_of

IDS_MAX = 16


@dataclass(frozen=True, slots=True)
class Other:
    """One thing that others do: the request for the item that is stored, with an id of its own, or ``None`` where it does not apply.

    ``same_operation``: it carries the operation's id, so its effect counts as one of the operation. ``by_count``: it
    needs to know how often others have acted.
    """

    name: str
    request: Callable[[Item | None, str, int], Request | None]
    same_operation: bool = False
    by_count: bool = False


def unused_id(stage: Stage, database: int) -> str:
    """The first id that no stored item holds."""
    text = json.dumps(stage.items(database))
    return next(f"x{number}" for number in range(IDS_MAX) if f':x{number}"' not in text)


def save(entity: type[EntityBase] = Stock, layout: TableLayout = LAYOUT) -> Other:
    """Reads the item and puts it back."""

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is None:
            return None
        scope = scope_of(entity, environment(), layout)
        return plan_put(scope, scope.schema.from_item(item), occasion(unique), Options()).request()

    return Other("reads the item and saves it", request)


def change(name: str, entity: type[EntityBase], *changes: Change[Any], when: Callable[[Any], bool] = lambda _: True, layout: TableLayout = LAYOUT) -> Other:
    """Changes the item as a program of this library does that has just read it."""

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is None:
            return None
        scope = scope_of(entity, environment(), layout)
        loaded = scope.schema.from_item(item)
        if not when(loaded):
            return None
        return plan_update(scope, loaded, changes, occasion(unique), Options()).request()

    return Other(name, request)


def delete(entity: type[EntityBase] = Stock, layout: TableLayout = LAYOUT) -> Other:
    """Deletes the item that it has just read."""

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is None:
            return None
        scope = scope_of(entity, environment(), layout)
        loaded = scope.schema.from_item(item)
        return plan_delete(scope, loaded, occasion(unique), Options()).request()

    return Other("deletes the item", request)


def create(entity: EntityBase | None = None, layout: TableLayout = LAYOUT) -> Other:
    """Makes the item anew: a stock, if not another entity."""
    made = entity if entity is not None else Stock(id=ITEM_ID)

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is not None:
            return None
        return plan_create(scope_of(type(made), environment(), layout), made, occasion(unique), Options()).request()

    return Other("makes the item anew", request)


def put(name: str, entity: EntityBase) -> Other:
    """Puts an entity, whatever is stored."""

    def request(_item: Item | None, unique: str, _acted: int) -> Request:
        return plan_put(scope_of(type(entity), environment()), entity, occasion(unique), Options()).request()

    return Other(name, request)


def apply_if_newer(order: int) -> Other:
    """Brings a state of another order."""

    def request(_item: Item | None, unique: str, _acted: int) -> Request:
        options = Options(condition=Price.amount.not_exists_or_lt(order))
        return plan_upsert(scope_of(Price, environment()), Price.key_of(ITEM_ID), [Price.amount.set(order)], occasion(unique), options).request()

    return Other(f"brings the state of order {order}", request)


def same_operation(name: str, *changes: Change[Any], condition: Any) -> Other:
    """Another worker that was given the same operation."""

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is None:
            return None
        return plan_update(scope_of(Price, environment()), Price.key_of(ITEM_ID), changes, occasion(unique), Options(condition=condition)).request()

    return Other(name, request, same_operation=True)


def commits(name: str, transaction: Callable[[], Request], *, same_operation: bool = False) -> Other:
    """Another process that commits a transaction, under the token that its request carries."""
    return Other(name, lambda _item, _unique, _acted: transaction(), same_operation=same_operation)


def bury(expires: Callable[[int], int]) -> Other:
    """Deletes softly: the item stays, with a time to live that says it counts as none."""

    def request(item: Item | None, unique: str, acted: int) -> Request | None:
        if item is None or "expires" in item:
            return None
        scope = scope_of(Session, environment())
        return plan_update(scope, Session.key_of(ITEM_ID), [Session.expires.set(expires(acted))], occasion(unique), Options()).request()

    return Other("buries the item: it stays, and counts as none", request, by_count=True)


# --------------------------------------------------------------------------------------------------------- foreign writers


def foreign(name: str, update: str, names: dict[str, str], values: dict[str, Any] | None = None, *, stamps: bool = False) -> Other:
    """A program that does not use this library, or an older release of the type that does; it changes items, and makes none."""

    def request(item: Item | None, unique: str, _acted: int) -> Request | None:
        if item is None:
            return None
        given = dict(values or {})
        if stamps:
            given[":stamp"] = {"S": f"-:{unique}"}
        body = {
            "TableName": TABLE,
            "Key": {KEY: {"S": ITEM_ID}},
            "UpdateExpression": update,
            "ConditionExpression": "attribute_exists(#key)",
            "ExpressionAttributeNames": {"#key": KEY, **names},
            "ExpressionAttributeValues": given,
        }
        return Request("UpdateItem", body)

    return Other(name, request)


OLDER_RELEASE = foreign("an older release without a version writes its stamp", "SET #stamp = :stamp", {"#stamp": "_s"}, stamps=True)
FOREIGN_BUMP = foreign("a foreign program adds 1 to the version, without a stamp", "SET #v = #v + :one", {"#v": "revision"}, {":one": {"N": "1"}})
FOREIGN_RESET = foreign("a foreign program sets the version back to 1", "SET #v = :one", {"#v": "revision"}, {":one": {"N": "1"}})


def stale_put(copy: Item) -> Other:
    """A foreign program that puts back the copy it once read, with the version that it counted itself."""

    def request(item: Item | None, _unique: str, _acted: int) -> Request | None:
        return None if item is None else Request("PutItem", {"TableName": TABLE, "Item": {**copy, "revision": {"N": "2"}}})

    return Other("a foreign program puts back an old copy", request)
