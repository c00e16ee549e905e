"""Belongs here: every public exception, facts as attributes. Must not be here: wire codes, retry rules, item contents in messages.

Each class says what happened to the data::

    SurewriteError
    ├─ DefinitionError (TypeError)     an entity is declared wrongly: nothing can be sent before that is fixed
    ├─ InvalidRequest (ValueError)     not sent, or refused as malformed: fix the call
    ├─ UndecodableItem (ValueError)    a stored item does not fit its entity: see the attributes
    ├─ WriteRefused                    did not take effect, and no attempt of it can any more
    │  ├─ ConditionFailed              a condition of the caller did not hold
    │  ├─ AlreadyExists                create, and an item was there
    │  ├─ ItemNotFound (LookupError)   no item, or an expired one
    │  ├─ VersionConflict              somebody else wrote since the item was read
    │  ├─ WrongEntityType              an item of another type is stored under the key
    │  ├─ ValueTaken                   another item has the value of a unique field
    │  ├─ TransactionConflict          still contended when the deadline came
    │  └─ TransactionCanceled          ask it for the refusal of a marker
    ├─ Throttled                       did not take effect: slow down
    ├─ OldItemLost                     applied, but the old item that was asked for went with a lost answer
    ├─ OutcomeUnknown                  may have taken effect, now or up to five minutes later
    ├─ ConnectionFailed                a read without an answer, or a write of which nothing was sent
    └─ ServiceFault                    db.execute only: the service's own error, uninterpreted
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from surewrite.core.answers import Reason
    from surewrite.core.effects import Operation
    from surewrite.core.keys import Key
    from surewrite.core.outcomes import Marker, Refusal, TakenValue

T = TypeVar("T")


class SurewriteError(Exception):
    """The base of all errors of this library.

    ``key`` names the item: ``get(error.key)`` reads it (``None`` where the error is about no one item). ``attempts`` counts the
    requests that were made. The key is an attribute because it may hold personal data: the text of an error names the entity type only.
    """

    def __init__(self, message: str, *, key: Key[Any] | None = None, attempts: int = 0) -> None:
        super().__init__(message)
        self.key = key
        self.attempts = attempts


class SurewriteWarning(UserWarning):
    """Advice on a design that works and costs more than it has to. Told once; nothing was refused for it."""


class InvalidRequest(SurewriteError, ValueError):
    """The call is wrong: nothing was sent, or the service refused it as malformed, and nothing was written. Fix the call.

    ``code`` is the service's error code where it came from the service.
    """

    def __init__(self, message: str, *, key: Key[Any] | None = None, attempts: int = 0, code: str | None = None) -> None:
        super().__init__(message, key=key, attempts=attempts)
        self.code = code


class DefinitionError(SurewriteError, TypeError):
    """An entity or a codec is declared in a way that cannot work. The text says what to write instead."""


class UndecodableItem(SurewriteError, ValueError):
    """A stored item does not fit the entity that it is read as. Reading changed nothing; where the text says that a write was applied, it was.

    ``entity`` is the type that was asked for, ``field`` the field that does not fit (or ``None``), ``stored_type`` the
    letters of the type stored in its place, such as ``"S"``, or ``None`` where nothing is stored.
    """

    def __init__(
        self, message: str, *, key: Key[Any] | None = None, entity: type | None = None, field: str | None = None, stored_type: str | None = None
    ) -> None:
        super().__init__(message, key=key)
        self.entity = entity
        self.field = field
        self.stored_type = stored_type


class WriteRefused(SurewriteError):
    """The write did not take effect, and no attempt of it can any more.

    ``item`` is the stored entity that refused it, decoded, or ``None`` (none is stored, or it is expired).
    ``own_earlier_write`` is true where that item was written by an earlier call of this process whose outcome was in doubt.
    """

    def __init__(self, message: str, *, key: Key[Any] | None = None, attempts: int = 0, item: Any = None, own_earlier_write: bool = False) -> None:
        super().__init__(message, key=key, attempts=attempts)
        self.item = item
        self.own_earlier_write = own_earlier_write


class ConditionFailed(WriteRefused):
    """A condition that the caller gave did not hold. It is an answer: asking again gives the same one until the item changes."""


class AlreadyExists(WriteRefused):
    """Create, or a put of a new entity, and an item is stored under the key."""


class ItemNotFound(WriteRefused, LookupError):
    """No item is stored under the key, or it has expired."""


class ValueTaken(WriteRefused):
    """Another item has the value of a unique field.

    ``field`` names the field and ``owner`` is the key of the item that has the value (``None`` where no answer showed it); where several
    values are taken, those of the first, and ``taken`` has all of them.
    """

    def __init__(self, message: str, *, key: Key[Any] | None = None, attempts: int = 0, taken: tuple[TakenValue, ...] = ()) -> None:
        super().__init__(message, key=key, attempts=attempts)
        self.taken = taken

    @property
    def field(self) -> str:
        return self.taken[0].field

    @property
    def owner(self) -> Key[Any] | None:
        return self.taken[0].owner


class VersionConflict(WriteRefused):
    """Another writer changed the item since it was read. Read again, decide again, write again."""


class WrongEntityType(WriteRefused):
    """The item stored under the key is of another type. ``stored_type`` is the discriminator that it carries."""

    def __init__(self, message: str, *, key: Key[Any] | None = None, attempts: int = 0, item: Any = None, stored_type: str | None = None) -> None:
        super().__init__(message, key=key, attempts=attempts, item=item)
        self.stored_type = stored_type


class TransactionConflict(WriteRefused):
    """A running transaction held the item until the deadline. Nothing was written; trying again is safe."""


class TransactionCanceled(WriteRefused):
    """The transaction was cancelled, nothing of it was written. Ask it about the markers of its actions."""

    def __init__(self, message: str, *, attempts: int = 0, refusals: dict[Any, Any] | None = None, reasons: dict[Any, Any] | None = None) -> None:
        super().__init__(message, attempts=attempts)
        self._refusals = refusals or {}
        self._reasons = reasons or {}

    def refusal_of(self, marker: Marker[T]) -> Refusal[T] | None:
        """The refusal of that action, with the item that refused it; ``None`` if that action did not fail by its condition."""
        found: Refusal[T] | None = self._refusals.get(marker)
        return found

    def refusals(self) -> tuple[Refusal[Any], ...]:
        """All refusals, in the order of the actions."""
        return tuple(self._refusals.values())

    def reason_for(self, marker: Marker[Any]) -> Reason | None:
        """The service's own reason for that action."""
        found: Reason | None = self._reasons.get(marker)
        return found


class Throttled(SurewriteError):
    """The service throttled the call until its deadline. Nothing was written: slow down, then try again."""


class OutcomeUnknown(SurewriteError):
    """The write may have taken effect, now or up to five minutes after it was sent, and nothing proves either.

    ``item`` is the entity last seen, if any answer showed one, ``plan`` what was sent. ``superseded`` is true where
    that item carries the write's own order or a newer one: whatever became of the write, nothing is left to do. A write that is
    guarded or not idempotent took effect at most once; an idempotent one any number of times.
    """

    def __init__(
        self,
        message: str,
        *,
        key: Key[Any] | None = None,
        attempts: int = 0,
        item: Any = None,
        plan: Any = None,
        superseded: bool = False,
        settlement: Any = None,
    ) -> None:
        super().__init__(message, key=key, attempts=attempts)
        self.item = item
        self.plan = plan
        self.superseded = superseded
        self._settlement = settlement

    def __reduce__(self) -> tuple[Any, ...]:
        """The error in another process. What settles it stays where the connection is."""
        return type(self), self.args, {**self.__dict__, "_settlement": None}

    def settle(self) -> Operation[Any]:
        """An operation that settles a transaction after all: ``db.run(error.settle())`` gives its result, or raises this error again.

        The result is what ``try_commit`` gives. A single write that moved unique values was a transaction too; its result is an
        ``Applied`` or ``Refused``, as its ``try_`` form gives it.
        It settles either way within four minutes of the first attempt; until nine it can still prove that nothing was written.
        Raises ``InvalidRequest`` for any other single write, which nothing but a read can settle, and in another process than the one that sent it.
        """
        if self._settlement is None:
            raise InvalidRequest("only a transaction can be settled later, in the process that sent it; read what this write was for", key=self.key)
        settlement: Operation[Any] = self._settlement
        return settlement


class ConnectionFailed(SurewriteError):
    """No answer to a read, or a write of which nothing was sent. Nothing was written; trying again is safe."""


class OldItemLost(SurewriteError):
    """The write was applied, but the old item that ``returning="old"`` asks for was in an answer that never came."""


class ServiceFault(SurewriteError):
    """The service's own error to a raw request, as it came. Whether it proves that nothing was written is for the caller to tell.

    ``code`` and ``status`` are the service's, ``item`` the typed item of a failed condition, ``reasons`` those of a cancelled transaction.
    """

    def __init__(
        self,
        message: str,
        *,
        attempts: int = 0,
        code: str = "",
        status: int = 0,
        item: Any = None,
        reasons: tuple[Reason, ...] = (),
    ) -> None:
        super().__init__(message, attempts=attempts)
        self.code = code
        self.status = status
        self.item = item
        self.reasons = reasons
