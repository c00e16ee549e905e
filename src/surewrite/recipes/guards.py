"""Belongs here: writes that hold only in a state: create only, a transition, taking from a stock. Must not be here: soft deletes, retrying an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, TypeVar, overload

from surewrite.core import transactions, writes
from surewrite.core.conditions import Change, Condition
from surewrite.core.effects import Operation, Steps
from surewrite.core.entities import EntityBase
from surewrite.core.expressions import reads_as_none
from surewrite.core.fields import FieldInfo
from surewrite.core.keys import Key, VersionedKey, refuse_demand
from surewrite.core.outcomes import Applied, Canceled, Outcome, Refusal, RefusalReason
from surewrite.core.paths import NumberPath, Path
from surewrite.core.reads import get_or_none
from surewrite.core.retries import RUNS, check_runs, pause_before_run
from surewrite.core.scopes import Options, ScopedTable
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.writes import applied_item
from surewrite.errors import ConditionFailed, InvalidRequest, ItemNotFound, VersionConflict, WriteRefused

E = TypeVar("E", bound=EntityBase)
V = TypeVar("V")
Item_co = TypeVar("Item_co", covariant=True)


class FailedGuard(Enum):
    """Which condition of a guarded write did not hold. An item that is missing comes first, then its version, then the rest."""

    ITEM = "no item is stored"
    VERSION = "another writer changed the item since it was read"
    STATE = "the item is in another state"
    STOCK = "less is left than was to be taken"


@dataclass(frozen=True, slots=True)
class Kept(Generic[Item_co]):
    """A guarded write took effect. ``item`` is as it left the item, ``None`` after a transaction, which returns none."""

    item: Item_co

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class Stopped(Generic[E]):
    """A guarded write was refused, nothing was written. ``item`` is the stored item that refused it, ``None`` where none is stored."""

    failed: FailedGuard
    entity: str
    key: Key[E]
    item: E | None = None

    def __bool__(self) -> Literal[False]:
        return False

    def error(self) -> WriteRefused:
        """The refusal as an exception of the verb without ``try_``."""
        message = f"{self.entity}: {self.failed.value}; nothing was written"
        match self.failed:
            case FailedGuard.ITEM:
                return ItemNotFound(message, key=self.key)
            case FailedGuard.VERSION:
                return VersionConflict(message, key=self.key, item=self.item)
            case FailedGuard.STATE | FailedGuard.STOCK:
                return ConditionFailed(message, key=self.key, item=self.item)


Guarded = Kept[E] | Stopped[E]
"""The answer of compare and set, which knows the item."""

MaybeGuarded = Kept[E | None] | Stopped[E]
"""The answer of a write that may be a transaction, which returns no item."""


@dataclass(frozen=True, slots=True)
class _Guard(Generic[E]):
    """What must hold of the item: as the service judges it, as it is judged here on what was read, and its name if it fails."""

    condition: Condition[E]
    holds: Callable[[E], bool]
    name: FailedGuard


class Guards(Generic[E]):
    """Writes to items of one type that hold only in the state that they are meant for.

    Contract (schedules of C8): by default each is compare and set, that is read the item, decide, write if nobody wrote since,
    and again on what refused it. So it takes effect at most once, also where a state comes back or a stock is filled up
    again in between; what the service answers in doubt is settled by version and stamp. ``exactly_once=True`` makes it a transaction
    of one action instead: no version is compared, so other writers do not disturb it, and it returns no item. A refusal
    names the condition that failed, and has the item that failed it.

    Compare and set needs a version, or the stamps of the table. Cost: one read unit per started 4 KB and one write unit
    per started KB a try; a transaction twice the write, no read. Limits: with n writers at once a try loses at most n - 1
    times; where more keep coming give a transaction, or split the stock over several items.
    Raises ``OutcomeUnknown`` where nothing proves what became of the write; it is not tried again by itself.
    """

    def __init__(self, table: ScopedTable, entity: type[E], *, attempts: int = RUNS) -> None:
        self._scope = table.scope_of(entity)
        self._attempts = check_runs(attempts)

    def create(self, entity: E) -> Operation[E]:
        """Store a new item. Raises ``AlreadyExists`` where one is stored.

        In doubt it is sent again; if somebody deletes the item in between, that makes it once more: where it matters, see ``SoftDeletes``.
        """
        return Operation(lambda: self._create(entity))

    def try_create(self, entity: E) -> Operation[Outcome[E]]:
        """The same, with a refusal as an answer that holds the stored item."""
        return Operation(lambda: writes.create(self._scope, entity))

    @overload
    def transition(
        self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: Literal[False] = False
    ) -> Operation[E]: ...
    @overload
    def transition(self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: bool) -> Operation[E | None]: ...
    def transition(self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: bool = False) -> Operation[Any]:
        """Bring an item from one state to another, with other changes; ``None`` is no state.

        An item without the attribute is in the state that the field has by default. Raises ``ItemNotFound``, ``ConditionFailed``,
        ``VersionConflict``.
        """
        return Operation(lambda: self._told(self._transition(key, state, before, after, changes, exactly_once=exactly_once)))

    @overload
    def try_transition(
        self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: Literal[False] = False
    ) -> Operation[Guarded[E]]: ...
    @overload
    def try_transition(
        self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: bool
    ) -> Operation[MaybeGuarded[E]]: ...
    def try_transition(
        self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, *changes: Change[E], exactly_once: bool = False
    ) -> Operation[Any]:
        """The same, with a refusal as an answer: ``Kept`` or ``Stopped``."""
        return Operation(lambda: self._transition(key, state, before, after, changes, exactly_once=exactly_once))

    @overload
    def take(
        self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: Literal[False] = False
    ) -> Operation[E]: ...
    @overload
    def take(self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: bool) -> Operation[E | None]: ...
    def take(self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: bool = False) -> Operation[Any]:
        """Take from a stock, which never falls below zero. Raises ``ItemNotFound``, ``ConditionFailed``, ``VersionConflict``.

        Given a loaded entity it is one try, at exactly that version; given a key the item is read, and read again on a conflict.
        """
        return Operation(lambda: self._told(self._take(of, stock, amount, changes, exactly_once=exactly_once)))

    @overload
    def try_take(
        self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: Literal[False] = False
    ) -> Operation[Guarded[E]]: ...
    @overload
    def try_take(
        self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: bool
    ) -> Operation[MaybeGuarded[E]]: ...
    def try_take(self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, *changes: Change[E], exactly_once: bool = False) -> Operation[Any]:
        """The same, with a refusal as an answer: ``Stopped.failed`` tells a short stock from a version that moved on."""
        return Operation(lambda: self._take(of, stock, amount, changes, exactly_once=exactly_once))

    def _create(self, entity: E) -> Steps[E]:
        outcome = yield from writes.create(self._scope, entity)
        created: E = applied_item(outcome)
        return created

    def _told(self, steps: Steps[MaybeGuarded[E]]) -> Steps[E | None]:
        result = yield from steps
        if isinstance(result, Stopped):
            raise result.error()
        return result.item

    def _transition(
        self, key: Key[E], state: Path[E, V], before: V | None, after: V | None, changes: tuple[Change[E], ...], *, exactly_once: bool
    ) -> Steps[MaybeGuarded[E]]:
        field = self._field(state)
        without: Condition[E] = Condition(state.owner, reads_as_none(state.name))
        condition = without if before is None else state == before
        if before is not None and field.has_default and field.when_absent() == before:
            condition |= without
        guard: _Guard[E] = _Guard(condition, lambda item: getattr(item, field.name) == before, FailedGuard.STATE)
        change = state.remove() if after is None else state.set(after)
        return (yield from self._guarded(key, guard, (change, *changes), exactly_once=exactly_once))

    def _take(
        self, of: E | Key[E], stock: NumberPath[E, Any], amount: int | Decimal, changes: tuple[Change[E], ...], *, exactly_once: bool
    ) -> Steps[MaybeGuarded[E]]:
        if not isinstance(amount, (int, float, Decimal)) or Decimal(amount).is_nan():  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(f"{self._scope.entity}: {amount!r} is no number that could be taken")
        if amount <= 0:
            raise InvalidRequest(f"{self._scope.entity}: {amount} cannot be taken: to fill the stock up use update with add")
        field = self._field(stock)

        def enough(item: E) -> bool:
            left = getattr(item, field.name)
            return left is not None and left >= amount

        guard: _Guard[E] = _Guard(stock >= amount, enough, FailedGuard.STOCK)
        return (yield from self._guarded(of, guard, (stock.set(stock - amount), *changes), exactly_once=exactly_once))

    def _guarded(self, of: E | Key[E], guard: _Guard[E], changes: tuple[Change[E], ...], *, exactly_once: bool) -> Steps[MaybeGuarded[E]]:
        if isinstance(of, Key):
            if exactly_once:
                return (yield from self._in_transaction(of, guard, changes))
            return (yield from self._compare_and_set(of, guard, changes))
        if exactly_once:
            raise InvalidRequest(f"{self._scope.entity}: a loaded entity is compared and set; for a transaction give its key")
        return (yield from self._write_once(of, guard, changes))

    def _compare_and_set(self, key: Key[E], guard: _Guard[E], changes: tuple[Change[E], ...]) -> Steps[Guarded[E]]:
        refuse_demand(key, "a guard")
        item: E | None = yield from get_or_none(self._scope, key, consistent=True)
        for number in range(1, self._attempts + 1):
            if item is None:
                return Stopped(FailedGuard.ITEM, self._scope.entity, key)
            if not guard.holds(item):
                return Stopped(guard.name, self._scope.entity, key, item)
            result = yield from self._write_once(item, guard, changes)
            if isinstance(result, Kept) or result.failed is not FailedGuard.VERSION or result.item is None or number == self._attempts:
                return result
            item = result.item
            yield from pause_before_run(number)
        raise AssertionError("the last try returns")

    def _write_once(self, item: E, guard: _Guard[E], changes: tuple[Change[E], ...]) -> Steps[Guarded[E]]:
        """Write if nobody wrote since the item was read. The condition is sent too, so that a wrong reading of it here could not break it."""
        outcome = yield from writes.update(self._scope, item, changes, Options(condition=guard.condition, if_unchanged=True))
        if isinstance(outcome, Applied):
            return Kept(outcome.item)
        return self._stopped(self._key_of(item), guard, outcome)

    def _in_transaction(self, key: Key[E], guard: _Guard[E], changes: tuple[Change[E], ...]) -> Steps[Kept[None] | Stopped[E]]:
        draft = TransactionDraft(self._scope.environment)
        target = key.ignore_version() if isinstance(key, VersionedKey) else key
        marker = draft.update(self._scope, target, changes, Options(condition=guard.condition))
        result = yield from transactions.commit(draft)
        if not isinstance(result, Canceled):
            return Kept(None)
        refusal = result.refusal_of(marker)
        if refusal is None:
            # A fence proved that nothing was written, and no answer showed the item: what is stored now tells why.
            item: E | None = yield from get_or_none(self._scope, key, consistent=True)
            if item is None:
                return Stopped(FailedGuard.ITEM, self._scope.entity, key)
            if guard.holds(item):
                raise result.error()
            return Stopped(guard.name, self._scope.entity, key, item)
        return self._stopped(key, guard, refusal)

    def _stopped(self, key: Key[E], guard: _Guard[E], refusal: Refusal[Any]) -> Stopped[E]:
        item: E | None = refusal.item
        match refusal.reason:
            case RefusalReason.ITEM_NOT_FOUND:
                failed = FailedGuard.ITEM
            case RefusalReason.VERSION_CONFLICT:
                failed = FailedGuard.VERSION
            case RefusalReason.WRONG_ENTITY_TYPE | RefusalReason.VALUE_TAKEN:
                raise refusal.error()
            case RefusalReason.CONDITION_FAILED | RefusalReason.ALREADY_EXISTS:
                failed = guard.name
        return Stopped(failed, self._scope.entity, key, item)

    def _field(self, path: Path[E, Any]) -> FieldInfo:
        """The field that a path leads to; only a whole field can be judged on an item that was read."""
        fields = [field for field in self._scope.schema.fields if path.name.parts == (field.stored_name,)]
        if not fields:
            raise InvalidRequest(f"{self._scope.entity}: {path!r} is no field of its own, so a guard cannot be judged on it")
        return fields[0]

    def _key_of(self, item: E) -> Key[E]:
        key: Key[E] = self._scope.schema.entity.key_of(item)
        return key
