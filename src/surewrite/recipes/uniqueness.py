"""Belongs here: claims on values made by hand, as actions of the user's own transactions. Must not be here: ``sw.unique()``, finding claims that went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from surewrite.core.effects import Operation, Steps
from surewrite.core.entities import Attribute, Entity, EntityBase
from surewrite.core.outcomes import Marker
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options, ScopedTable
from surewrite.core.transaction_drafts import DraftedTransaction
from surewrite.errors import InvalidRequest
from surewrite.recipes.key_parts import RecipeKey, key_text


class ValueClaim(Entity, discriminator="SUREWRITE_VALUE_CLAIM", partition_key="VALUE_CLAIM#{name}#{value}", sort_key="CLAIM"):
    """Says whose a value is."""

    name: Attribute[str]
    value: Attribute[str]
    owner: Attribute[str]


class Claims:
    """Values that one owner only may have, where what has them is no field of one entity: a seat of a flight, a slot of a day, a name that two types share.

    ``name`` tells one set of values from another; ``normalise`` makes of a text the one that is claimed. Each method adds an action
    to a transaction and gives its marker: the claim takes effect with the rest of it or not at all::

        seats = sw.recipes.Claims(shop, "flight LX 318")
        tx = shop.transaction()
        seat = seats.claim(tx, "12A", owner=booking.id)
        tx.create(booking)
        if refusal := tx.try_commit().refusal_of(seat):
            print(refusal.existing.owner)

    Contract (schedules of C1): two owners never have one value; a claim of the owner's own is no collision. What has the value must
    be written in the same transaction, and must demand the state that was read: its version, or ``if_unchanged``. A demand on
    the old value alone lets a late attempt through after the value has gone there and back, and leaves claims of nobody. For a field of one entity
    ``sw.unique()`` does all of that by itself.

    Cost: two write units per started KB of each claim, beside the transaction's other actions, and each counts toward its 100. A
    claim is not to have a time to live unless its owner ends with it.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (ValueClaim,)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: RecipeKey, *, normalise: Callable[[str], str] | None = None) -> None:
        self._scope = table.scope_of(ValueClaim)
        self._name = key_text(name, "claims")
        self._normalise = normalise

    def claim(self, tx: DraftedTransaction, value: str, *, owner: str) -> Marker[ValueClaim]:
        """Take a value that is free or the owner's own. The refusal of the marker holds the claim of the other owner."""
        claim = ValueClaim(name=self._name, value=self._text(value), owner=_owner(owner))
        free = ValueClaim.owner.not_exists() | (ValueClaim.owner == claim.owner)
        return tx.draft.put(self._scope, claim, Options(condition=free))

    def release(self, tx: DraftedTransaction, value: str, *, owner: str) -> Marker[ValueClaim]:
        """Give a value up. Refused where the owner has not claimed it."""
        key = ValueClaim.key_of(self._name, self._text(value))
        return tx.draft.delete(self._scope, key, Options(condition=ValueClaim.owner == _owner(owner)))

    def move(self, tx: DraftedTransaction, before: str | None, after: str | None, *, owner: str) -> tuple[Marker[ValueClaim], ...]:
        """Give one value up and take another; ``None`` is no value. Nothing is added where both are claimed by one text."""
        if before is not None and after is not None and self._text(before) == self._text(after):
            return ()
        markers = [] if before is None else [self.release(tx, before, owner=owner)]
        if after is not None:
            markers.append(self.claim(tx, after, owner=owner))
        return tuple(markers)

    def owner_of(self, value: str) -> Operation[str | None]:
        """Who has the value now, ``None`` if nobody. One read unit."""
        return Operation(lambda: self._owner_of(value))

    def _owner_of(self, value: str) -> Steps[str | None]:
        claim: ValueClaim | None = yield from get_or_none(self._scope, ValueClaim.key_of(self._name, self._text(value)), consistent=True)
        return None if claim is None else claim.owner

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise InvalidRequest(f"claims of {self._name!r}: a value is text, not {type(value).__name__}")
        return value if self._normalise is None else self._normalise(value)


def _owner(owner: Any) -> str:
    if not isinstance(owner, str) or not owner:
        raise InvalidRequest("the owner of a claim is a text that is not empty: without one, what everybody claims would be nobody's")
    return owner
