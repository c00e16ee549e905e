"""Belongs here: taking numbered events that come again or late, by the last number of each key. Must not be here: where events come from.

Whoever delivers at least once and in the order of first deliveries, as the relay of an outbox does, delivers again what
was delivered, and also after newer events of its key. A consumer keeps the last number of each key and drops what is
not above it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Final, Generic, TypeVar

from surewrite.core import writes
from surewrite.core.effects import Operation, Steps, call_user
from surewrite.core.entities import Attribute, Entity, EntityBase
from surewrite.core.outcomes import Applied
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options
from surewrite.core.transaction_drafts import DraftedTransaction, TransactingTable
from surewrite.core.transactions import commit
from surewrite.errors import OutcomeUnknown, SurewriteError
from surewrite.recipes.settings import plain_name
from surewrite.recipes.user_work import require_begun

TX = TypeVar("TX", bound=DraftedTransaction)

ROUNDS_MAX: Final = 5


class LastConsumed(Entity, discriminator="SUREWRITE_CONSUMED", partition_key="CONSUMED#{consumer}#{key}", sort_key="LAST"):
    """How far a consumer has come with one key."""

    consumer: Attribute[str]
    key: Attribute[str]
    number: Attribute[int]


class Consumed(Enum):
    """What became of a delivery. Both are to be acknowledged."""

    APPLIED = "applied"
    """Its effect is there, once."""
    DROPPED = "dropped"
    """Its number is not above the last one of its key: a repeat, or an event that a newer one has passed, as no first delivery of a relay does."""


class Consumer(Generic[TX]):
    """A consumer by its name, which keeps the last number of each key in the table.

    ``apply`` makes writes of the same database once per event. For an effect elsewhere ask ``is_new`` before and say
    ``advance`` after it: at least once. The rows must not be deleted or expire while an event may come again.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (LastConsumed,)
    """For ``create_table``."""

    def __init__(self, table: TransactingTable[TX], name: str) -> None:
        self._table = table
        self._name = plain_name(name, "a consumer")
        self._scope = table.scope_of(LastConsumed)

    def apply(self, key: str, number: int, effect: Callable[[TX], Any]) -> Operation[Consumed]:
        """Take a delivery: the actions that ``effect`` adds to a transaction and the new last number, together or not at all.

        ``effect`` may be called more than once, and is not called for a number that is known to be dropped. Raises
        ``TransactionCanceled`` where the effect's own conditions refuse it: then the event counts as not taken. One read unit, and
        two write units beside those of the effect.
        """
        return Operation(lambda: self._apply(key, number, effect))

    def is_new(self, key: str, number: int) -> Operation[bool]:
        """Whether the number is above the last one of its key. One read unit."""
        return Operation(lambda: self._is_new(key, number))

    def advance(self, key: str, number: int) -> Operation[bool]:
        """Raise the last number of a key to this one. False where it is as high already. One write unit."""
        return Operation(lambda: self._advance(key, number))

    def _key(self, key: str) -> Any:
        return LastConsumed.key_of(self._name, key)

    def _is_new(self, key: str, number: int) -> Steps[bool]:
        last = yield from self._last(key)
        return last is None or last < number

    def _last(self, key: str) -> Steps[int | None]:
        last: LastConsumed | None = yield from get_or_none(self._scope, self._key(key), consistent=True)
        return None if last is None else last.number

    def _apply(self, key: str, number: int, effect: Callable[[TX], Any]) -> Steps[Consumed]:
        if not (yield from self._is_new(key, number)):
            return Consumed.DROPPED
        for current in range(1, ROUNDS_MAX + 1):
            transaction = self._table.transaction()
            draft = transaction.draft
            draft.lent = True
            require_begun((yield from call_user(effect, transaction)))
            draft.lent = False
            changes = (LastConsumed.number.set(number),)
            marker = draft.upsert(self._scope, self._key(key), changes, Options(condition=LastConsumed.number.not_exists_or_lt(number)))
            draft.outrank(marker)
            try:
                result = yield from commit(draft)
            except OutcomeUnknown as error:
                # An attempt that is under way and one of a later round exclude each other by the number.
                last = yield from self._last_after(error, key)
                if last is not None and last >= number:
                    # Behind a newer number nobody can tell whether this one was first.
                    return Consumed.APPLIED if last == number else Consumed.DROPPED
                if current == ROUNDS_MAX:
                    raise
                continue
            if result:
                return Consumed.APPLIED
            if result.refusal_of(marker) is not None:
                return Consumed.DROPPED
            if result.reason_for(marker) is not None or current == ROUNDS_MAX:
                raise result.error()
            if not (yield from self._is_new(key, number)):
                return Consumed.DROPPED
        raise AssertionError("the last round returns or raises")

    def _last_after(self, error: OutcomeUnknown, key: str) -> Steps[int | None]:
        try:
            return (yield from self._last(key))
        except SurewriteError:
            raise error from None

    def _advance(self, key: str, number: int) -> Steps[bool]:
        condition = LastConsumed.number.not_exists_or_lt(number)
        try:
            outcome = yield from writes.upsert(self._scope, self._key(key), (LastConsumed.number.set(number),), Options(condition=condition))
        except OutcomeUnknown as error:
            if error.superseded:
                return False
            raise
        return isinstance(outcome, Applied)
