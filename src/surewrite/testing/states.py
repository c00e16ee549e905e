"""Belongs here: reading versions, stamps, births and lives off stored items and off calls. Must not be here: judging them."""

from __future__ import annotations

from typing import Any

from surewrite.core.keys import Key
from surewrite.core.scopes import Scope
from surewrite.core.values import Item
from surewrite.testing.ledger import Call, Commit


def scopes_of(call: Call) -> list[Scope]:
    """The entity types that a call is about."""
    scope = call.arguments.get("scope")
    if scope is not None:
        return [scope]
    draft = call.arguments.get("draft")
    return [intent.scope for intent in draft.intents] if draft is not None else []


def scope_of_commit(commit: Commit) -> Scope | None:
    """The entity type that a commit stored or removed, by its discriminator; ``None`` for a write that this library did not plan."""
    if commit.attempt is None:
        return None
    item = commit.after if commit.after is not None else commit.before
    scopes = scopes_of(commit.attempt.call)
    for scope in scopes:
        name = scope.names.discriminator
        if name is None or item is None or text_at(item, name) in (None, scope.schema.discriminator_value):
            return scope
    return None


def text_at(item: Item, attribute: str | None) -> str | None:
    """A stored text."""
    value = item.get(attribute) if attribute is not None else None
    return value.get("S") if value is not None else None


def number_at(item: Item, attribute: str | None) -> int | None:
    """A stored whole number."""
    value = item.get(attribute) if attribute is not None else None
    text = value.get("N") if value is not None else None
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def stamp_name(call: Call) -> str | None:
    """Under which name the table of a call keeps stamps."""
    return next((scope.names.stamp for scope in scopes_of(call)), None)


def birth_name(call: Call) -> str | None:
    """Under which name the table of a call keeps births."""
    return next((scope.names.birth for scope in scopes_of(call)), None)


def is_expired(item: Item, scope: Scope, seconds: float) -> bool:
    """Whether an item's time to live lies before that moment, in seconds since 1970."""
    expiry = number_at(item, scope.names.time_to_live)
    return expiry is not None and expiry < seconds


def key_of(call: Call) -> Item | None:
    """The key that a single-item call is about, in the service's own shape."""
    scope = call.arguments.get("scope")
    subject: Any = call.subject
    if scope is None or subject is None:
        return None
    found: Item = scope.schema.key_item(subject) if isinstance(subject, Key) else scope.schema.key_of_entity(subject)
    return found
