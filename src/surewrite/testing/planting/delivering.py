"""Belongs here: planted bugs of idempotency, outbox and relay. Must not be here: bugs of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from surewrite.core import writes
from surewrite.core.bulk import delete_many
from surewrite.core.effects import Steps
from surewrite.core.outcomes import Marker
from surewrite.core.scopes import Options
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.writes import NO_OPTIONS
from surewrite.recipes.effect_answers import EffectClaim
from surewrite.recipes.idempotency_leases import LeasedEffects
from surewrite.recipes.idempotency_records import IdempotencyRecord, Records
from surewrite.recipes.outbox import Outbox, OutboxRow
from surewrite.recipes.relays import Relay
from surewrite.testing.planting.bug import PlantedBug, replaced

Plant = AbstractContextManager[None]


def _original(owner: type, name: str) -> Callable[..., Steps[Any]]:
    found: Callable[..., Steps[Any]] = vars(owner)[name]
    return found


# ------------------------------------------------------------------------------------------------------------- idempotency


def _record_is_put_whatever_is_stored() -> Plant:
    def create(self: TransactionDraft, scope: Any, entity: Any) -> Marker[Any]:
        if isinstance(entity, IdempotencyRecord):
            made: Marker[Any] = self.upsert(
                scope,
                IdempotencyRecord.key_of(entity.operation, entity.key).ignore_version(),
                (
                    IdempotencyRecord.owner.set(entity.owner),
                    IdempotencyRecord.state.set(entity.state),
                    IdempotencyRecord.answer.set(entity.answer or ""),
                    IdempotencyRecord.ends.set(entity.ends),
                ),
                NO_OPTIONS,
            )
            return made
        other: Marker[Any] = creating(self, scope, entity)
        return other

    creating: Callable[..., Marker[Any]] = vars(TransactionDraft)["create"]
    return replaced(TransactionDraft, create=create)


def _guard_ranks_below_the_effect() -> Plant:
    """A conflict on the row that guards an effect counts less than a refusal of the effect, which the call that has the row may have caused."""

    def outrank(self: TransactionDraft, marker: Marker[Any]) -> None: ...

    return replaced(TransactionDraft, outrank=outrank)


def _record_released_by_delete() -> Plant:
    def end(self: LeasedEffects, claim: EffectClaim, state: str) -> Steps[bool]:
        if state == "free":
            yield from writes.delete(_records(self).scope, claim.record, NO_OPTIONS)
            return True
        ended: bool = yield from ending(self, claim, state)
        return ended

    ending = _original(LeasedEffects, "_end")
    return replaced(LeasedEffects, _end=end)


def _claim_completed_by_anybody() -> Plant:
    def put(self: LeasedEffects, record: IdempotencyRecord) -> Steps[IdempotencyRecord | None]:
        if record.state != "done":
            kept: IdempotencyRecord | None = yield from putting(self, record)
            return kept
        key = IdempotencyRecord.key_of(record.operation, record.key).ignore_version()
        changes = (IdempotencyRecord.owner.set(record.owner), IdempotencyRecord.state.set("done"), IdempotencyRecord.answer.set(record.answer or ""))
        yield from writes.update(_records(self).scope, key, changes, Options(in_doubt="resend"))
        return record

    putting = _original(LeasedEffects, "_put")
    return replaced(LeasedEffects, _put=put)


def _lost_claim_retaken_under_refuse() -> Plant:
    def begin(self: LeasedEffects, table: Any, operation: str, **settings: Any) -> None:
        beginning(self, table, operation, **{**settings, "after_lost": "retake"})

    beginning: Callable[..., None] = vars(LeasedEffects)["__init__"]
    return replaced(LeasedEffects, __init__=begin)


def _records(effects: LeasedEffects) -> Records:
    found: Records = vars(effects)["_records"]
    return found


# ------------------------------------------------------------------------------------------------------------------ outbox


def _row_deleted_before_it_is_published() -> Plant:
    def publish_all(self: Relay, rows: Sequence[OutboxRow], *rest: Any) -> Steps[bool]:
        yield from delete_many(self.outbox.scope, rows, NO_OPTIONS, 8, None)
        going: bool = yield from publishing(self, rows, *rest)
        return going

    publishing = _original(Relay, "_publish_all")
    return replaced(Relay, _publish_all=publish_all)


def _events_of_a_blocked_key_pass() -> Plant:
    def give_up(self: Relay, row: OutboxRow, drain: Any, tally: Any, failure: Exception) -> Steps[bool]:
        going: bool = yield from giving_up(self, row, drain, tally, failure)
        drain.stuck.discard(row.ordering_key)
        drain.passed[row.ordering_key] = row.number
        return going

    giving_up = _original(Relay, "_give_up")
    return replaced(Relay, _give_up=give_up)


def _rows_sorted_from_the_newest() -> Plant:
    def publish_all(self: Relay, rows: Sequence[OutboxRow], drain: Any, *rest: Any) -> Steps[bool]:
        drain.passed.update({row.ordering_key: row.number for row in rows})
        going: bool = yield from publishing(self, tuple(reversed(rows)), drain, *rest)
        return going

    publishing = _original(Relay, "_publish_all")
    return replaced(Relay, _publish_all=publish_all)


def _ascending_scan_is_believed() -> Plant:
    """Whatever a query shows of a key is published in its order, though a query reads each row at its own moment."""

    def publish_all(self: Relay, rows: Sequence[OutboxRow], *rest: Any) -> Steps[bool]:
        going: bool = yield from publishing(self, tuple(row.replace(previous=0) for row in rows), *rest)
        return going

    publishing = _original(Relay, "_publish_all")
    return replaced(Relay, _publish_all=publish_all)


def _event_in_a_transaction_of_its_own() -> Plant:
    def emit(self: Outbox, tx: Any, event: object, **named: Any) -> Marker[Any]:
        marker: Marker[Any] = emitting(self, tx, event, **named)
        tx.draft.intents = [found for found in tx.draft.intents if found.marker is not named["change"]]
        return marker

    emitting: Callable[..., Marker[Any]] = vars(Outbox)["emit"]
    return replaced(Outbox, emit=emit)


EFFECTS = ("idempotent effects", "idempotent effects side by side")
REFUSED = ("effects refused after a loss", "effects refused after a late claim")

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug("an idempotency record put whatever is stored", _record_is_put_whatever_is_stored, EFFECTS, 200),
    PlantedBug("a conflict on the guard row ranks below a refusal elsewhere", _guard_ranks_below_the_effect, ("consumed events side by side",), 1000),
    PlantedBug("an idempotency record released by delete", _record_released_by_delete, REFUSED, 2000),
    PlantedBug("a claim completed by whoever comes", _claim_completed_by_anybody, ("effects retaken from frozen processes",), 3000),
    PlantedBug("a lost claim retaken under refuse", _lost_claim_retaken_under_refuse, REFUSED, 500),
    PlantedBug("an event deleted before it is published", _row_deleted_before_it_is_published, ("outbox",), 200),
    PlantedBug("events of a blocked key pass the blocked one", _events_of_a_blocked_key_pass, ("outbox",), 300),
    PlantedBug("an ascending scan of a relay is believed", _ascending_scan_is_believed, ("outbox under load",), 100),
    PlantedBug("a descending relay", _rows_sorted_from_the_newest, ("outbox",), 200),
    PlantedBug("an event without its change", _event_in_a_transaction_of_its_own, ("outbox",), 200),
)
