"""Belongs here: what is known of an endpoint. Must not be here: how it is found out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EndpointTraits:
    """What is known beforehand of an endpoint. ``None`` means unknown: it is found out when it first matters.

    ``tokens``: transactions honour client request tokens. ``transactions``: TransactWriteItems exists.
    ``old_item``: a refusal carries the item that refused it, if asked. ``cancelled_items``: so do the reasons of a cancelled
    transaction, which services showed long before the refusals of single writes did. ``name`` is shown in errors.
    """

    name: str
    tokens: bool | None = None
    transactions: bool | None = None
    old_item: bool | None = None
    cancelled_items: bool | None = None
