"""The verbs that schedules are played with, and what other writers do in between.

Belongs here: how to call each verb, and its word in each cell of the guarantee table. Must not be here: faults, checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.schedules.world import Account, Note, World

import surewrite as sw

BETWEEN = ("nothing", "another write", "a delete", "delete and recreate")
ACCOUNT, NOTE = Account.key_of("a"), Note.key_of("a")


def _account(world: World) -> Any:
    return world.of(Account).create(Account(id="a"))


def _note(world: World) -> Any:
    return world.of(Note).put(Note(id="a", order=3))


def _nothing(world: World) -> Any:
    return None


@dataclass(frozen=True, slots=True)
class Verb:
    """``words`` are what the verb ends with after an attempt that took effect, then after one that did not, for each of ``BETWEEN``.

    ``applied`` stands for applied with ``once`` false, ``once`` for applied with ``once`` true.
    """

    name: str
    entity: type
    prepare: Callable[[World], Any]
    act: Callable[[Any, Any], Any]
    words: tuple[str, str]
    at_most_once: bool = False
    """Whether an unknown write of it took effect at most once in one life of the item."""

    def call(self, world: World, loaded: Any) -> str:
        """Do it, and say the word that it ended with."""
        try:
            return word_of(self.act(world.of(self.entity) if self.name != "transaction" else world.table, loaded))
        except sw.OutcomeUnknown as unknown:
            return "superseded" if unknown.superseded else "unknown"

    def word(self, took_effect: bool, between: str) -> str:
        return self.words[0 if took_effect else 1].split()[BETWEEN.index(between)]

    @property
    def key(self) -> sw.Key[Any]:
        return ACCOUNT if self.entity is Account else NOTE


def word_of(outcome: Any) -> str:
    """The word of an outcome in one text."""
    match outcome:
        case sw.Applied(gone=True):
            return "gone"
        case sw.Applied(once=once):
            return "once" if once else "applied"
        case sw.Refused(reason=reason):
            return reason.name
        case sw.Committed():
            return "once"
        case sw.Canceled():
            return "canceled"
        case _:
            return "modified"


def _transaction(table: Any, loaded: Any) -> Any:
    tx = table.transaction()
    tx.update(NOTE, Note.count.add(1))
    return tx.try_commit()


def _modify(accounts: Any, loaded: Any) -> Any:
    return accounts.modify(ACCOUNT, lambda a: a.replace(balance=a.balance + 10))


_SAVE = ("once unknown unknown unknown", "once VERSION_CONFLICT unknown unknown")
_CONSTANTS = ("applied applied unknown applied", "applied applied unknown applied")
_ONE_LIFE = ("once unknown unknown once", "once unknown unknown once")
_NEVER_AGAIN = ("unknown unknown unknown unknown", "unknown unknown unknown unknown")
_ALWAYS = ("applied applied applied applied", "applied applied applied applied")

VERBS = (
    Verb(
        "create",
        Account,
        _nothing,
        lambda t, _: t.try_create(Account(id="a")),
        ("applied applied applied unknown", "applied unknown applied unknown"),
    ),
    Verb(
        "put of a new versioned entity",
        Account,
        _nothing,
        lambda t, _: t.try_put(Account(id="a")),
        ("applied applied applied unknown", "applied unknown applied unknown"),
    ),
    Verb("put blind", Note, _note, lambda t, _: t.try_put(Note(id="a", text="mine")), _ALWAYS),
    Verb("put of a loaded versioned entity", Account, _account, lambda t, a: t.try_put(a.replace(balance=10)), _SAVE, at_most_once=True),
    Verb(
        "put if unchanged",
        Note,
        _note,
        lambda t, n: t.try_put(n.replace(text="mine"), if_unchanged=True),
        ("once unknown unknown unknown", "once unknown unknown unknown"),
        at_most_once=True,
    ),
    Verb("update of a loaded entity", Account, _account, lambda t, a: t.try_update(a, Account.balance.add(10)), _SAVE, at_most_once=True),
    Verb("update if_version", Account, _account, lambda t, _: t.try_update(ACCOUNT.if_version(1), Account.balance.add(10)), _ONE_LIFE, at_most_once=True),
    Verb(
        "update ignore_version",
        Account,
        _account,
        lambda t, _: t.try_update(ACCOUNT.ignore_version(), Account.owner.set("me")),
        _NEVER_AGAIN,
        at_most_once=True,
    ),
    Verb("update of constants", Note, _note, lambda t, _: t.try_update(NOTE, Note.text.set("mine")), _CONSTANTS),
    Verb("update with a set union", Note, _note, lambda t, _: t.try_update(NOTE, Note.tags.add("mine")), _CONSTANTS),
    Verb("update with add", Note, _note, lambda t, _: t.try_update(NOTE, Note.count.add(1)), _NEVER_AGAIN, at_most_once=True),
    Verb("update with append", Note, _note, lambda t, _: t.try_update(NOTE, Note.lines.append("mine")), _NEVER_AGAIN, at_most_once=True),
    Verb(
        "update with an operation id",
        Note,
        _note,
        lambda t, _: t.try_update(NOTE, Note.count.add(1), Note.tags.add("op"), condition=~Note.tags.contains("op")),
        ("once once unknown once", "once once unknown once"),
        at_most_once=True,
    ),
    Verb("upsert of constants", Note, _note, lambda t, _: t.try_upsert(NOTE, Note.text.set("mine")), _ALWAYS),
    Verb(
        "upsert with an order",
        Note,
        _note,
        lambda t, _: t.try_upsert(NOTE, Note.order.set(5), Note.text.set("mine"), condition=Note.order.not_exists_or_lt(5)),
        ("applied superseded applied applied", "applied superseded applied applied"),
        at_most_once=True,
    ),
    Verb(
        "delete of a loaded versioned entity",
        Account,
        _account,
        lambda t, a: t.try_delete(a),
        ("gone gone gone gone", "once VERSION_CONFLICT gone gone"),
        at_most_once=True,
    ),
    Verb(
        "delete if unchanged",
        Note,
        _note,
        lambda t, n: t.try_delete(n, if_unchanged=True),
        # Without a version an item that others wrote may have been put back, birth and all, by who had loaded it before.
        ("gone gone gone gone", "once unknown gone gone"),
        at_most_once=True,
    ),
    Verb("delete by key", Note, _note, lambda t, _: t.try_delete(NOTE), ("gone applied gone applied", "applied applied gone applied")),
    Verb(
        "delete if_version",
        Account,
        _account,
        lambda t, _: t.try_delete(ACCOUNT.if_version(1)),
        ("gone once gone once", "once unknown gone once"),
        at_most_once=True,
    ),
    Verb("modify", Account, _account, _modify, ("modified unknown unknown unknown", "modified modified unknown unknown"), at_most_once=True),
    Verb("transaction", Note, _note, _transaction, ("once once once once", "once once canceled once"), at_most_once=True),
)


def between_action(world: World, entity: type, between: str) -> Callable[[], object]:
    """What another writer does to the item of the verb, whatever it finds."""
    table: Any = world.other.of(entity)
    key: Any = ACCOUNT if entity is Account else NOTE

    def write() -> None:
        stored = table.get_or_none(key)
        if stored is None:
            recreate()
        elif entity is Account:
            table.put(stored.replace(owner="other"))
        else:
            table.put(stored.replace(order=7, text="other"), if_unchanged=True)

    def remove() -> None:
        table.try_delete(key.ignore_version() if entity is Account else key)

    def recreate() -> None:
        remove()
        table.create(Account(id="a", owner="other") if entity is Account else Note(id="a", text="other", order=1 if between != "another write" else 7))

    return {"nothing": lambda: None, "another write": write, "a delete": remove, "delete and recreate": recreate}[between]
