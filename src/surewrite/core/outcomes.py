"""Belongs here: how a write ended, as the caller sees it. Must not be here: exceptions being raised, policies, what one attempt was answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as described
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from surewrite.core.frozen import quickly_made
from surewrite.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidRequest,
    ItemNotFound,
    TransactionCanceled,
    UndecodableItem,
    ValueTaken,
    VersionConflict,
    WriteRefused,
    WrongEntityType,
)

if TYPE_CHECKING:
    from surewrite.core.answers import Reason
    from surewrite.core.keys import Key

E = TypeVar("E")
T = TypeVar("T")
E_co = TypeVar("E_co", covariant=True)


class RefusalReason(Enum):
    """Which demand of the write the stored item did not meet."""

    ALREADY_EXISTS = "already exists"
    ITEM_NOT_FOUND = "item not found"
    VERSION_CONFLICT = "version conflict"
    CONDITION_FAILED = "condition failed"
    WRONG_ENTITY_TYPE = "wrong entity type"
    VALUE_TAKEN = "value taken"


_ERRORS: dict[RefusalReason, type[WriteRefused]] = {
    RefusalReason.ALREADY_EXISTS: AlreadyExists,
    RefusalReason.ITEM_NOT_FOUND: ItemNotFound,
    RefusalReason.VERSION_CONFLICT: VersionConflict,
    RefusalReason.CONDITION_FAILED: ConditionFailed,
}

_SENTENCES: dict[RefusalReason, str] = {
    RefusalReason.ALREADY_EXISTS: "an item is stored under this key; to change it use the entity that create or get returned",
    RefusalReason.ITEM_NOT_FOUND: "no item is stored under this key, or it has expired; nothing was written",
    RefusalReason.VERSION_CONFLICT: "another writer changed the item since it was read; nothing was written: read it again, decide again, write again",
    RefusalReason.CONDITION_FAILED: "the condition did not hold; nothing was written",
    RefusalReason.WRONG_ENTITY_TYPE: "an item of another type is stored under this key; nothing was written",
    RefusalReason.VALUE_TAKEN: "another item has this value, and only one may; nothing was written",
}


@dataclass(frozen=True, slots=True)
class TakenValue:
    """A value that another item has: the unique field, and the key of that item; ``None`` where no answer showed it."""

    field: str
    owner: Key[Any] | None = described(repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Applied(Generic[E]):
    """The write took effect.

    ``once`` is true when it certainly did so exactly once: it was guarded, or nothing was in doubt. A version number, an
    order or an operation id guards one life of the item: after a delete and recreate a resend may count in the new one too.
    ``recovered`` is true when a refusal was recognised as the write's own earlier attempt. ``gone`` is said of a delete whose
    resend found nothing: the item is not there, by whose hand cannot be known.
    """

    item: E
    once: bool = True
    recovered: bool = False
    gone: bool = False
    attempts: int = 1

    @property
    def applied(self) -> Literal[True]:
        return True

    def __bool__(self) -> Literal[True]:
        return True


@quickly_made
@dataclass(frozen=True, slots=True)
class Refusal(Generic[E]):
    """Why a write, or one action of a transaction, was refused. It is true, so that ``if refusal := result.refusal_of(marker)`` asks whether there is one.

    ``item`` is the stored entity that refused it: ``None`` where none is stored, or only an expired one, or one of another type,
    or one that cannot be read: ``undecodable`` then says why. ``key`` names that item, also where ``item`` is ``None``. ``taken``
    are the values that other items have, with their owners.
    """

    reason: RefusalReason
    entity: str
    item: E | None = None
    key: Key[Any] | None = described(default=None, repr=False)
    attempts: int = 1
    own_earlier_write: bool = False
    stored_type: str | None = None
    taken: tuple[TakenValue, ...] = ()
    undecodable: UndecodableItem | None = described(default=None, repr=False, compare=False)

    @property
    def existing(self) -> E:
        """The stored entity that refused the write. Raises ``ItemNotFound``, ``WrongEntityType`` or ``UndecodableItem`` where there is none to hand out."""
        if self.item is None:
            if self.undecodable is not None:
                raise self.undecodable
            if self.stored_type is not None:
                message = f"{self.entity}: {_SENTENCES[RefusalReason.WRONG_ENTITY_TYPE]}"
                raise WrongEntityType(message, key=self.key, attempts=self.attempts, stored_type=self.stored_type)
            raise ItemNotFound(f"{self.entity}: no item came with the refusal ({self.reason.value})", key=self.key, attempts=self.attempts)
        return self.item

    def error(self) -> WriteRefused:
        """The refusal as the exception that the verb without ``try_`` raises."""
        message = f"{self.entity}: {_SENTENCES[self.reason]}"
        if self.own_earlier_write:
            message += ". The stored item was written by an earlier call of this process whose outcome was in doubt"
        if self.undecodable is not None:
            message += f". The stored item cannot be read: {self.undecodable}"
        if self.reason is RefusalReason.WRONG_ENTITY_TYPE:
            return WrongEntityType(message, key=self.key, attempts=self.attempts, stored_type=self.stored_type)
        if self.reason is RefusalReason.VALUE_TAKEN:
            message = f"{self.entity}.{', '.join(value.field for value in self.taken)}: {_SENTENCES[self.reason]}"
            return ValueTaken(message, key=self.key, attempts=self.attempts, taken=self.taken)
        return _ERRORS[self.reason](message, key=self.key, attempts=self.attempts, item=self.item, own_earlier_write=self.own_earlier_write)


@quickly_made
@dataclass(frozen=True, slots=True)
class Refused(Refusal[E]):
    """The write did not take effect, and no attempt of it can any more. As an outcome it is false."""

    @property
    def applied(self) -> Literal[False]:
        return False

    def __bool__(self) -> Literal[False]:
        return False


Outcome = Applied[E] | Refused[E]


def refused_for(refusal: Refusal[E]) -> Refused[E]:
    """The outcome of a write that has this refusal."""
    return Refused(**{name: getattr(refusal, name) for name in refusal.__dataclass_fields__})


class Marker(Generic[E_co]):
    """Names one action of a transaction. Ask the transaction's result about it."""

    __slots__ = ("description",)

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<Marker {self.description}>"


class Committed:
    """All actions of the transaction took effect, exactly once where the endpoint honours tokens."""

    __slots__ = ("_items", "attempts", "recovered")

    def __init__(self, items: dict[Marker[Any], Callable[[], Any]], *, attempts: int = 1, recovered: bool = False) -> None:
        self._items = items
        self.attempts = attempts
        self.recovered = recovered

    @property
    def applied(self) -> Literal[True]:
        return True

    def __bool__(self) -> Literal[True]:
        return True

    def __repr__(self) -> str:
        """The actions, without contents of items."""
        recovered = ", recovered" if self.recovered else ""
        return f"<Committed {', '.join(marker.description for marker in self._items)}; {self.attempts} attempt(s){recovered}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """The word in another process, where nobody has a marker to ask it about."""
        return partial(Committed, attempts=self.attempts, recovered=self.recovered), ({},)

    def item_for(self, marker: Marker[T]) -> T:
        """The entity that a put or create stored, ready for the next versioned write.

        A transaction returns no item, so for every other action this raises ``InvalidRequest``: read the item instead. So
        does the marker of another transaction.
        """
        stored = self._items.get(marker)
        if stored is None:
            raise InvalidRequest(f"{marker.description} is no action of this transaction: its marker is that of another one")
        item: T = stored()
        return item

    def refusal_of(self, marker: Marker[Any]) -> None:
        """Nothing was refused."""


class Canceled:
    """The transaction was cancelled: nothing of it took effect, and no attempt of it can any more."""

    __slots__ = ("_reasons", "_refusals", "attempts")

    def __init__(self, refusals: dict[Marker[Any], Refusal[Any]], reasons: dict[Marker[Any], Reason], *, attempts: int = 1) -> None:
        self._refusals = refusals
        self._reasons = reasons
        self.attempts = attempts

    @property
    def applied(self) -> Literal[False]:
        return False

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        """The actions that were refused and why, without contents of items."""
        return f"<Canceled {self._described()}; {self.attempts} attempt(s)>"

    def _described(self) -> str:
        failed = ", ".join(f"{marker.description}: {refusal.reason.value}" for marker, refusal in self._refusals.items())
        return failed or ("see the reasons of its markers" if self._reasons else "a fence proved it, and no answer named the action that was refused")

    def refusal_of(self, marker: Marker[T]) -> Refusal[T] | None:
        """The refusal of that action, with the item that refused it; ``None`` if that action did not fail by its condition."""
        return self._refusals.get(marker)

    def reason_for(self, marker: Marker[Any]) -> Reason | None:
        """The service's own reason for that action."""
        return self._reasons.get(marker)

    def error(self) -> TransactionCanceled:
        """The cancellation as the exception that ``commit`` raises."""
        return TransactionCanceled(
            f"the transaction was cancelled and nothing of it was written: {self._described()}",
            attempts=self.attempts,
            refusals=dict(self._refusals),
            reasons=dict(self._reasons),
        )
