"""Belongs here: the writes that are explored, each as the library plans it. Must not be here: what happens around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from surewrite.core.conditions import Change, Condition
from surewrite.core.entities import EntityBase, TableLayout, schema_of
from surewrite.core.environment import Environment
from surewrite.core.keys import Target
from surewrite.core.planning import plan_create, plan_delete, plan_put, plan_update, plan_upsert
from surewrite.core.plans import InDoubt, Plan
from surewrite.core.scopes import Options, Scope
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.values import Item
from surewrite.testing.explorer.stage import ITEM_ID, LAYOUT, LOADED, NOW_SECONDS, UNSTAMPED, Price, Session, Stock, item_of, occasion, scope_of

Make = Callable[[Environment], tuple[Scope, Plan]]
Draft = Callable[[Environment], TransactionDraft]

STOCK: Item = item_of(Stock(id=ITEM_ID), LOADED)
STOCK_UNSTAMPED: Item = item_of(Stock(id=ITEM_ID), LOADED, UNSTAMPED)
PRICE: Item = item_of(Price(id=ITEM_ID), LOADED)
EXPIRED: Item = item_of(Session(id=ITEM_ID, amount=41, expires=NOW_SECONDS - 1), LOADED)

CLIENT: Final = "A"
"""The id in the stamps of the client under test."""

TAKEN = 3
SAVED = 99


def loaded_stock(layout: TableLayout = LAYOUT) -> Stock:
    """The stock as it was read before the write began."""
    return schema_of(Stock).bind(layout).from_item(STOCK if layout is LAYOUT else STOCK_UNSTAMPED)


def loaded_price() -> Price:
    """The price as it was read before the write began."""
    return schema_of(Price).bind(LAYOUT).from_item(PRICE)


def create(entity: EntityBase, in_doubt: InDoubt | None = None, layout: TableLayout = LAYOUT) -> Make:
    """A create of this entity."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(type(entity), around, layout)
        return scope, plan_create(scope, entity, occasion(CLIENT), Options(in_doubt=in_doubt))

    return make


def save(layout: TableLayout = LAYOUT, condition: Condition[Any] | None = None) -> Make:
    """A put of the loaded stock."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(Stock, around, layout)
        return scope, plan_put(scope, loaded_stock(layout).replace(amount=SAVED), occasion(CLIENT), Options(condition=condition))

    return make


def put_price(in_doubt: InDoubt | None = None, *, if_unchanged: bool = False) -> Make:
    """A put of a price: of a new object, or of the loaded one if it is unchanged."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(Price, around)
        price = loaded_price().replace(amount=SAVED) if if_unchanged else Price(id=ITEM_ID, amount=SAVED)
        return scope, plan_put(scope, price, occasion(CLIENT), Options(in_doubt=in_doubt, if_unchanged=if_unchanged))

    return make


def update_loaded(*changes: Change[Any], condition: Condition[Any] | None = None) -> Make:
    """An update of the loaded stock."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(Stock, around)
        return scope, plan_update(scope, loaded_stock(), changes, occasion(CLIENT), Options(condition=condition))

    return make


def update(target: Target[Any], *changes: Change[Any], condition: Condition[Any] | None = None, in_doubt: InDoubt | None = None) -> Make:
    """An update by key."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(target.entity, around)
        return scope, plan_update(scope, target, changes, occasion(CLIENT), Options(condition=condition, in_doubt=in_doubt))

    return make


def upsert(target: Target[Any], *changes: Change[Any], condition: Condition[Any] | None = None) -> Make:
    """An upsert by key."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(target.entity, around)
        return scope, plan_upsert(scope, target, changes, occasion(CLIENT), Options(condition=condition))

    return make


def delete_loaded() -> Make:
    """A delete of the loaded stock."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(Stock, around)
        return scope, plan_delete(scope, loaded_stock(), occasion(CLIENT), Options())

    return make


def delete_price() -> Make:
    """A delete of the loaded price if it is unchanged."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(Price, around)
        return scope, plan_delete(scope, loaded_price(), occasion(CLIENT), Options(if_unchanged=True))

    return make


def delete(target: Target[Any], in_doubt: InDoubt | None = None) -> Make:
    """A delete by key."""

    def make(around: Environment) -> tuple[Scope, Plan]:
        scope = scope_of(target.entity, around)
        return scope, plan_delete(scope, target, occasion(CLIENT), Options(in_doubt=in_doubt))

    return make


def drafted(add: Callable[[TransactionDraft, Callable[[type[EntityBase]], Scope]], object], name: str | None = None) -> Draft:
    """A transaction with the actions that ``add`` adds."""

    def make(around: Environment) -> TransactionDraft:
        draft = TransactionDraft(around, name)
        add(draft, lambda entity: scope_of(entity, around))
        return draft

    return make
