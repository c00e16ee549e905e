"""Patterns over the core, written once and run by either client. They are pure, as the core is, and do not know each other.

Belongs here: the names of the recipes. Must not be here: a recipe. Each is loaded with its name: ``sw.recipes.HiLo``
loads the module of the sequences and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite.recipes.append import Append as Append
    from surewrite.recipes.append import Appended as Appended
    from surewrite.recipes.append import AppendOutcome as AppendOutcome
    from surewrite.recipes.buffered_counters import BufferedCounter as BufferedCounter
    from surewrite.recipes.claim_repair import ClaimFault as ClaimFault
    from surewrite.recipes.claim_repair import ClaimFinding as ClaimFinding
    from surewrite.recipes.claim_repair import ClaimsReport as ClaimsReport
    from surewrite.recipes.claim_repair import repair_claims as repair_claims
    from surewrite.recipes.claim_repair import verify_claims as verify_claims
    from surewrite.recipes.consumers import Consumed as Consumed
    from surewrite.recipes.consumers import Consumer as Consumer
    from surewrite.recipes.counters import AtMostOnceCounter as AtMostOnceCounter
    from surewrite.recipes.counters import Counted as Counted
    from surewrite.recipes.counters import CounterRow as CounterRow
    from surewrite.recipes.counters import Counting as Counting
    from surewrite.recipes.counters import ExactCounter as ExactCounter
    from surewrite.recipes.counters import TransactionalCounter as TransactionalCounter
    from surewrite.recipes.counters import WindowedCounter as WindowedCounter
    from surewrite.recipes.effect_answers import EffectClaim as EffectClaim
    from surewrite.recipes.effect_answers import EffectNotKnown as EffectNotKnown
    from surewrite.recipes.effect_answers import EffectRunning as EffectRunning
    from surewrite.recipes.effect_answers import EffectStillRunning as EffectStillRunning
    from surewrite.recipes.effect_answers import EffectUnknown as EffectUnknown
    from surewrite.recipes.effect_answers import LeaseLost as LeaseLost
    from surewrite.recipes.guards import FailedGuard as FailedGuard
    from surewrite.recipes.guards import Guards as Guards
    from surewrite.recipes.guards import Kept as Kept
    from surewrite.recipes.guards import Stopped as Stopped
    from surewrite.recipes.idempotency import EffectRefused as EffectRefused
    from surewrite.recipes.idempotency import Idempotency as Idempotency
    from surewrite.recipes.idempotency_leases import LeasedEffects as LeasedEffects
    from surewrite.recipes.idempotency_records import AnswerNotKept as AnswerNotKept
    from surewrite.recipes.idempotency_records import EffectDone as EffectDone
    from surewrite.recipes.idempotency_records import IdempotencyKeyReused as IdempotencyKeyReused
    from surewrite.recipes.idempotency_records import IdempotencyRecord as IdempotencyRecord
    from surewrite.recipes.leases import Hold as Hold
    from surewrite.recipes.leases import KeptHold as KeptHold
    from surewrite.recipes.leases import Lease as Lease
    from surewrite.recipes.leases import LeaseRecord as LeaseRecord
    from surewrite.recipes.leases import LeaseState as LeaseState
    from surewrite.recipes.leases import NotAcquired as NotAcquired
    from surewrite.recipes.leases import Ran as Ran
    from surewrite.recipes.ordered import Judged as Judged
    from surewrite.recipes.ordered import Ordered as Ordered
    from surewrite.recipes.ordered import OrderedState as OrderedState
    from surewrite.recipes.ordered import TieRule as TieRule
    from surewrite.recipes.ordered_events import EventOutcome as EventOutcome
    from surewrite.recipes.ordered_events import OrderedEvent as OrderedEvent
    from surewrite.recipes.ordered_events import OrderedGroup as OrderedGroup
    from surewrite.recipes.ordered_events import Tombstones as Tombstones
    from surewrite.recipes.outbox import Backlog as Backlog
    from surewrite.recipes.outbox import Bucket as Bucket
    from surewrite.recipes.outbox import Outbox as Outbox
    from surewrite.recipes.outbox import OutboxRow as OutboxRow
    from surewrite.recipes.outbox import PoisonRow as PoisonRow
    from surewrite.recipes.queue_batches import handle_queue_batch as handle_queue_batch
    from surewrite.recipes.queue_batches import queue_batch as queue_batch
    from surewrite.recipes.relays import Delivery as Delivery
    from surewrite.recipes.relays import Relay as Relay
    from surewrite.recipes.relays import RelayProgress as RelayProgress
    from surewrite.recipes.sequences import Gapless as Gapless
    from surewrite.recipes.sequences import HiLo as HiLo
    from surewrite.recipes.sequences import Issued as Issued
    from surewrite.recipes.sequences import RowRefused as RowRefused
    from surewrite.recipes.sharded_counters import CounterShard as CounterShard
    from surewrite.recipes.sharded_counters import ShardedCounter as ShardedCounter
    from surewrite.recipes.small_lists import ListOutcome as ListOutcome
    from surewrite.recipes.small_lists import ListPart as ListPart
    from surewrite.recipes.small_lists import SmallList as SmallList
    from surewrite.recipes.soft_deletes import Deletion as Deletion
    from surewrite.recipes.soft_deletes import DeletionOutcome as DeletionOutcome
    from surewrite.recipes.soft_deletes import SoftDeletes as SoftDeletes
    from surewrite.recipes.uniqueness import Claims as Claims
    from surewrite.recipes.uniqueness import ValueClaim as ValueClaim
    from surewrite.recipes.user_work import WorkRefused as WorkRefused

_MODULES = {
    "AnswerNotKept": "idempotency_records",
    "Append": "append",
    "AppendOutcome": "append",
    "Appended": "append",
    "AtMostOnceCounter": "counters",
    "Backlog": "outbox",
    "Bucket": "outbox",
    "BufferedCounter": "buffered_counters",
    "ClaimFault": "claim_repair",
    "ClaimFinding": "claim_repair",
    "Claims": "uniqueness",
    "ClaimsReport": "claim_repair",
    "Consumed": "consumers",
    "Consumer": "consumers",
    "Counted": "counters",
    "CounterRow": "counters",
    "CounterShard": "sharded_counters",
    "Counting": "counters",
    "Deletion": "soft_deletes",
    "DeletionOutcome": "soft_deletes",
    "Delivery": "relays",
    "EffectClaim": "effect_answers",
    "EffectDone": "idempotency_records",
    "EffectNotKnown": "effect_answers",
    "EffectRefused": "idempotency",
    "EffectRunning": "effect_answers",
    "EffectStillRunning": "effect_answers",
    "EffectUnknown": "effect_answers",
    "EventOutcome": "ordered_events",
    "ExactCounter": "counters",
    "FailedGuard": "guards",
    "Gapless": "sequences",
    "Guards": "guards",
    "HiLo": "sequences",
    "Hold": "leases",
    "Idempotency": "idempotency",
    "IdempotencyKeyReused": "idempotency_records",
    "IdempotencyRecord": "idempotency_records",
    "Issued": "sequences",
    "Judged": "ordered",
    "Kept": "guards",
    "KeptHold": "leases",
    "Lease": "leases",
    "LeaseLost": "effect_answers",
    "LeaseRecord": "leases",
    "LeaseState": "leases",
    "LeasedEffects": "idempotency_leases",
    "ListOutcome": "small_lists",
    "ListPart": "small_lists",
    "NotAcquired": "leases",
    "Ordered": "ordered",
    "OrderedEvent": "ordered_events",
    "OrderedGroup": "ordered_events",
    "OrderedState": "ordered",
    "Outbox": "outbox",
    "OutboxRow": "outbox",
    "PoisonRow": "outbox",
    "Ran": "leases",
    "Relay": "relays",
    "RelayProgress": "relays",
    "RowRefused": "sequences",
    "ShardedCounter": "sharded_counters",
    "SmallList": "small_lists",
    "SoftDeletes": "soft_deletes",
    "Stopped": "guards",
    "TieRule": "ordered",
    "Tombstones": "ordered_events",
    "TransactionalCounter": "counters",
    "ValueClaim": "uniqueness",
    "WindowedCounter": "counters",
    "WorkRefused": "user_work",
    "handle_queue_batch": "queue_batches",
    "queue_batch": "queue_batches",
    "repair_claims": "claim_repair",
    "verify_claims": "claim_repair",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - loaded with the first recipe that is asked for

    if name not in _MODULES:
        raise AttributeError(f"surewrite.recipes has no recipe {name!r}; there are: {', '.join(sorted(_MODULES))}")
    return getattr(import_module(f"surewrite.recipes.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
