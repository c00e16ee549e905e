"""Belongs here: deletion that leaves a timed tombstone, and creation over one. Must not be here: deletion by an ordered event, claims on unique values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final, Generic, TypeVar

from surewrite.core import writes
from surewrite.core.conditions import Condition
from surewrite.core.decisions import Guard
from surewrite.core.effects import Moment, Operation, Steps, new_id, now
from surewrite.core.entities import EntityBase, stored_state
from surewrite.core.expressions import all_of, reads_as_none
from surewrite.core.keys import Key, refuse_demand
from surewrite.core.outcomes import Applied, Outcome, RefusalReason
from surewrite.core.paths import OrderedPath
from surewrite.core.plan_drafts import Draft, checked_size, write_state
from surewrite.core.plans import Expected, Plan
from surewrite.core.reads import get_or_none
from surewrite.core.retries import RUNS, check_runs, pause_before_run
from surewrite.core.scopes import Occasion, Options, ScopedTable
from surewrite.core.service_time import told_moment
from surewrite.core.writes import applied_item
from surewrite.errors import InvalidRequest, OutcomeUnknown, Throttled
from surewrite.recipes.settings import time_span

E = TypeVar("E", bound=EntityBase)

HORIZON_SECONDS: Final = 300
"""A request may be executed so long after it was sent: the life of a signature."""

CLOCK_SECONDS: Final = 2
"""Answers tell the service's time in whole seconds, so the corrected times of two clients may differ by so much."""

ROUNDS_MAX: Final = 8
"""A tombstone that was seen may be taken, swept or made again before it is replaced: each round is a fresh decision."""


class DeletionOutcome(Enum):
    """What became of a soft deletion."""

    DELETED = "deleted"
    ALREADY_DELETED = "already deleted"
    NOT_FOUND = "not found"
    CHANGED = "changed"
    """Another writer changed the item since it was loaded, or, given its key, in each of the tries."""


@dataclass(frozen=True, slots=True)
class Deletion(Generic[E]):
    """The outcome of a soft deletion, and the item as it is stored then: the tombstone, or what was changed; ``None`` where there is none."""

    outcome: DeletionOutcome
    item: E | None = None

    @property
    def deleted(self) -> bool:
        """The item does not live now, by this call or an earlier one."""
        return self.outcome in (DeletionOutcome.DELETED, DeletionOutcome.ALREADY_DELETED, DeletionOutcome.NOT_FOUND)


class SoftDeletes(Generic[E]):
    """Deletes items of a type by marking them, and creates over what is so marked.

    ``deleted_at`` is the field that marks a tombstone, ``expires`` the time to live of the type, which removes it later.
    ``lateness_seconds_most`` is how long after the deletion an older request, message or event may still come; the tombstone
    stays for that and five minutes more, the life of a request.

    Contract (schedules of C9), while the tombstone is stored: a creation that was sent before the deletion, its resends
    and late copies among them, does not bring the item back. A creation that was decided after it does: the item gets a new birth,
    and its version goes on from the tombstone's, so that no holder of the old life passes. After the tombstone has expired the
    key is free and versions start over. Other writes see a tombstone as an item: give them ``condition=soft.alive``,
    or the entity that was loaded.

    Cost: a deletion is one read unit per started 4 KB and one write unit per started KB of the item, a creation one write unit
    per started KB, twice that over a tombstone. Raises ``OutcomeUnknown`` where nothing proves what became of a write.
    """

    def __init__(
        self,
        table: ScopedTable,
        entity: type[E],
        *,
        deleted_at: OrderedPath[E, datetime],
        expires: OrderedPath[E, datetime],
        lateness_seconds_most: float,
        attempts: int = RUNS,
    ) -> None:
        self._scope = table.scope_of(entity)
        self._deleted_at = deleted_at
        self._expires = expires
        self._kept_seconds = time_span(lateness_seconds_most, "lateness_seconds_most", least=0.0) + HORIZON_SECONDS
        self._attempts = check_runs(attempts)
        schema, names = self._scope.schema, self._scope.names
        if names.stamp is None or names.birth is None:
            raise InvalidRequest(f"{self._scope.entity}: soft deletes tell lives apart by stamp and birth, and this table has them switched off")
        if schema.time_to_live is None or expires.name.parts != (schema.time_to_live.stored_name,):
            raise InvalidRequest(f"{self._scope.entity}: tombstones expire by the time to live of the type: declare the field by sw.time_to_live()")
        if deleted_at.name.parts == expires.name.parts:
            raise InvalidRequest(f"{self._scope.entity}: deleted_at and expires are two fields: since when an item is deleted, and when its tombstone ends")
        self._field = next(field.name for field in schema.fields if deleted_at.name.parts == (field.stored_name,))

    @property
    def alive(self) -> Condition[E]:
        """The item is no tombstone: for conditions and filters."""
        return Condition(self._deleted_at.owner, reads_as_none(self._deleted_at.name))

    def get_or_none(self, key: Key[E]) -> Operation[E | None]:
        """The living item under the key, read consistently; ``None`` where there is none, or a tombstone."""
        return Operation(lambda: self._get_or_none(key))

    def delete(self, of: E | Key[E]) -> Operation[Deletion[E]]:
        """Make the item a tombstone. A loaded entity demands that nobody wrote since; with a key it is read, and read again on a conflict."""
        return Operation(lambda: self._delete(of))

    def create(self, entity: E) -> Operation[E]:
        """Store a new item where none lives. Raises ``AlreadyExists`` where one does."""
        return Operation(lambda: self._created(entity))

    def try_create(self, entity: E) -> Operation[Outcome[E]]:
        """The same, with a refusal as an answer that holds the living item."""
        return Operation(lambda: self._create(entity))

    def _is_deleted(self, item: E) -> bool:
        return getattr(item, self._field) is not None

    def _get_or_none(self, key: Key[E]) -> Steps[E | None]:
        item: E | None = yield from get_or_none(self._scope, key, consistent=True)
        return None if item is None or self._is_deleted(item) else item

    def _delete(self, of: E | Key[E]) -> Steps[Deletion[E]]:
        loaded = not isinstance(of, Key)
        item: E | None
        if isinstance(of, Key):
            refuse_demand(of, "a soft deletion")
            item = yield from get_or_none(self._scope, of, consistent=True)
        else:
            item = of
        for number in range(1, self._attempts + 1):
            if item is None or self._is_deleted(item):
                break
            moment = yield from told_moment(self._scope, self._scope.schema.key_of_entity(item), "deletion")
            at = datetime.fromtimestamp(moment.server, UTC)
            changes = (self._deleted_at.set(at), self._expires.set(at + timedelta(seconds=self._kept_seconds)))
            outcome = yield from writes.update(self._scope, item, changes, Options(condition=self.alive, if_unchanged=True))
            if isinstance(outcome, Applied):
                return Deletion(DeletionOutcome.DELETED, outcome.item)
            if outcome.reason is RefusalReason.WRONG_ENTITY_TYPE:
                raise outcome.error()
            item = outcome.item
            if loaded or number == self._attempts:
                break
            yield from pause_before_run(number)
        if item is None:
            return Deletion(DeletionOutcome.NOT_FOUND)
        return Deletion(DeletionOutcome.ALREADY_DELETED if self._is_deleted(item) else DeletionOutcome.CHANGED, item)

    def _created(self, entity: E) -> Steps[E]:
        outcome = yield from self._create(entity)
        created: E = applied_item(outcome)
        return created

    def _create(self, entity: E) -> Steps[Outcome[E]]:
        if isinstance(entity, self._scope.schema.entity) and self._is_deleted(entity):
            raise InvalidRequest(f"{self._scope.entity}: an entity to be created is not deleted: leave {self._field} out")
        began = yield from now()
        for _ in range(ROUNDS_MAX):
            outcome = yield from self._tried(entity)
            if isinstance(outcome, Applied):
                return outcome
            tombstone: E | None = outcome.item
            if tombstone is None or not self._is_deleted(tombstone):
                if isinstance(outcome, OutcomeUnknown):
                    raise outcome
                return outcome
            if isinstance(outcome, OutcomeUnknown) and not (yield from self._is_older(tombstone, began)):
                raise outcome
            replaced = yield from self._replace(tombstone, entity)
            if isinstance(replaced, Applied) or replaced.reason is RefusalReason.VALUE_TAKEN:
                return replaced
        raise Throttled(f"{self._scope.entity}: the tombstone under this key changed in each of {ROUNDS_MAX} tries to replace it; nothing was created")

    def _tried(self, entity: E) -> Steps[Outcome[E] | OutcomeUnknown]:
        """Create; an unknown outcome is looked at before it is raised."""
        try:
            outcome: Outcome[E] = yield from writes.create(self._scope, entity)
        except OutcomeUnknown as unknown:
            return unknown
        return outcome

    def _is_older(self, tombstone: E, began: Moment) -> Steps[bool]:
        """Whether the item was deleted before the creation began, and so was there under each attempt of it: then none was made.

        A creation in doubt that is not proven older may have been made, deleted, made again by another and deleted again.
        """
        moment = yield from now()
        # The service's clock may have been told by the very answers to this creation. In a frozen process the monotonic
        # clock stands still, and the wall clock may be set: the earlier of the two is safe.
        elapsed_seconds = max(moment.monotonic - began.monotonic, moment.wall - began.wall)
        began_by_server = moment.server - elapsed_seconds
        deleted_at: datetime = getattr(tombstone, self._field)
        return deleted_at.timestamp() < began_by_server - CLOCK_SECONDS

    def _replace(self, tombstone: E, entity: E) -> Steps[Outcome[E]]:
        """Put a whole new life over exactly this tombstone."""
        moment = yield from now()
        unique = yield from new_id()
        plan = self._plan_over(tombstone, entity, Occasion(moment, unique))
        outcome: Outcome[E] = yield from writes.put_planned(self._scope, entity, plan, moment)
        return outcome

    def _plan_over(self, tombstone: E, entity: E, occasion: Occasion) -> Plan:
        scope = self._scope
        state = stored_state(tombstone)
        assert state is not None
        draft = Draft(scope, occasion, Options(), scope.schema.key_of_entity(entity))
        version = None if scope.schema.version is None else (state.version or 0) + 1
        stamp = draft.stamp(version)
        item = scope.schema.to_item(entity)
        # A new birth: a resend finds its own life also after later writes, and no holder of the old one passes.
        write_state(draft, item, version, stamp, stamp)
        same_version = draft.has_version(state.version) if scope.schema.version is not None else None
        condition = all_of(draft.present(), same_version, draft.has_stamp(state.stamp))
        expected = Expected(state.version, state.stamp, state.birth)
        guard = Guard.STAMPED if state.stamp is not None else Guard.VERSION
        return draft.plan("put", condition, guard=guard, stamp=stamp, version=version, expected=expected, stored=checked_size(scope, item))
