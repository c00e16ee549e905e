"""Belongs here: planted bugs of leases, sequences and counters. Must not be here: bugs of the core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from surewrite.core.conditions import Condition
from surewrite.core.effects import Moment, Steps, new_id, now
from surewrite.core.expressions import And, Compare
from surewrite.core.keys import Key
from surewrite.core.outcomes import Applied
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options
from surewrite.core.writes import NO_OPTIONS, put, upsert
from surewrite.recipes import buffered_counters, counters, sequences, sharded_counters
from surewrite.recipes.buffered_counters import BufferedCounter
from surewrite.recipes.counters import Counted, CounterWindow, Counting, ExactCounter, WindowedCounter
from surewrite.recipes.leases import Hold, Lease, LeaseRecord, LeaseState
from surewrite.recipes.sequences import Gapless, HiLo, HiLoRow
from surewrite.testing.planting.bug import PlantedBug, replaced

Plant = AbstractContextManager[None]


def _original(owner: type, name: str) -> Callable[..., Steps[Any]]:
    found: Callable[..., Steps[Any]] = vars(owner)[name]
    return found


# ------------------------------------------------------------------------------------------------------------------ leases


def _waiter_counts_from_its_first_look() -> Plant:
    first: dict[int, float] = {}

    def is_free(self: Lease, record: LeaseRecord, moment: Moment) -> bool:
        began = first.setdefault(id(self), moment.monotonic)
        return record.owner is None or moment.monotonic - began >= record.duration_seconds

    return replaced(Lease, _is_free=is_free)


def _number_stays_with_a_new_owner() -> Plant:
    def take(self: Lease, record: LeaseRecord | None, owner: str) -> Steps[tuple[LeaseRecord | None, bool]]:
        lowered = None if record is None else record.replace(fence=record.fence - 1)
        taken: tuple[LeaseRecord | None, bool] = yield from taking(self, lowered, owner)
        return taken

    taking = _original(Lease, "_take")
    return replaced(Lease, _take=take)


def _write_under_a_lease_without_its_number() -> Plant:
    def condition(hold: Hold) -> Condition[LeaseRecord]:  # noqa: ARG001
        return LeaseRecord.fence.exists()

    return replaced(Hold, condition=property(condition))


def _owner_counts_from_the_answer() -> Plant:
    def renew(self: Lease, hold: Hold) -> Steps[Hold | LeaseState]:
        found: Hold | LeaseState = yield from renewing(self, hold)
        moment = yield from now()
        return replace(found, began=moment) if isinstance(found, Hold) else found

    renewing = _original(Lease, "_renew")
    return replaced(Lease, _renew=renew)


# --------------------------------------------------------------------------------------------------------------- sequences


def _block_claimed_by_read_and_put() -> Plant:
    def claim(self: Any) -> Steps[int]:
        row = yield from get_or_none(self._scope, self._key, consistent=True)
        hi: int = self._block_size + (0 if row is None else row.hi)
        yield from put(self._scope, HiLoRow(name="orders", hi=hi), NO_OPTIONS)
        return hi

    return replaced(HiLo, _claim=claim)


def _number_without_compare_and_set() -> Plant:
    def without_condition(condition: Any = None, **named: Any) -> Options:  # noqa: ARG001
        return Options(**named)

    return replaced(sequences, Options=without_condition)


def _number_for_each_call() -> Plant:
    def issue(self: Any, business_id: str, make_row: Any) -> Steps[Any]:
        unique = yield from new_id()
        return (yield from issuing(self, f"{business_id} {unique}", make_row))

    issuing = _original(Gapless, "_issue")
    return replaced(Gapless, _issue=issue)


# ---------------------------------------------------------------------------------------------------------------- counters


def _addition_sent_again_in_doubt() -> Plant:
    def resend(*arguments: Any, **named: Any) -> Options:
        return Options(*arguments, **(named | {"in_doubt": "resend"}))

    return replaced(counters, Options=resend)


def _ids_trimmed_at_once() -> Plant:
    def all_others(self: Any, begun: int, operation: str) -> list[str]:
        names = [name for name, time in self._times.items() if time < begun and name != operation]
        return sorted(names, key=self._times.__getitem__)

    return replaced(ExactCounter, _to_trim=all_others)


def _value_read_after_the_addition() -> Plant:
    def add(self: Any, amount: int, name: str | None) -> Steps[Counted]:
        counted: Counted = yield from adding(self, amount, name)
        row = yield from get_or_none(self._scope, self._key, consistent=True)
        return Counted(row.count, before=counted.before)

    adding = _original(ExactCounter, "_add")
    return replaced(ExactCounter, _add=add)


def _window_of_the_call() -> Plant:
    def add(self: Any, key: Key[Any], amount: int, event_id: str) -> Steps[Counting]:
        moment = yield from now()
        changes = (CounterWindow.count.add(amount), CounterWindow.seen.add(event_id))
        day = key.entity.key_of(self._name, self._window_seconds, self.window_of(datetime.fromtimestamp(moment.server, tz=UTC)))
        outcome = yield from upsert(self._scope, day, changes, Options(~CounterWindow.seen.contains(event_id)))
        return Counting.COUNTED if isinstance(outcome, Applied) else Counting.COUNTED_BEFORE

    return replaced(WindowedCounter, _add=add)


def _readers_sum_over_fewer_shards() -> Plant:
    def without_condition(condition: Any = None, **named: Any) -> Options:  # noqa: ARG001
        return Options(**named)

    return replaced(sharded_counters, Options=without_condition)


def _exact_sum_of_single_gets() -> Plant:
    def one_by_one(environment: Any, scoped: Any) -> Steps[Any]:  # noqa: ARG001
        found: list[Any] = []
        for scope, key in scoped:
            found.append((yield from get_or_none(scope, key, consistent=True)))
        return tuple(found)

    return replaced(sharded_counters, transact_get=one_by_one)


def _unknown_flush_merged_into_the_next() -> Plant:
    def flush(self: Any, writer: Any) -> Steps[int]:
        if writer.outstanding is not None:
            writer.pending.append(writer.outstanding.amount)
            writer.outstanding = None
        flushed: int = yield from flushing(self, writer)
        return flushed

    flushing = _original(BufferedCounter, "_flush_alone")
    return replaced(BufferedCounter, _flush_alone=flush)


def _unknown_flush_dropped() -> Plant:
    def flush(self: Any, writer: Any) -> Steps[int]:
        writer.outstanding = None
        flushed: int = yield from flushing(self, writer)
        return flushed

    flushing = _original(BufferedCounter, "_flush_alone")
    return replaced(BufferedCounter, _flush_alone=flush)


def _forgotten_writer_flushes_again() -> Plant:
    def without_mark(condition: Condition[Any]) -> Options:
        # The condition of a flush is the writer's own number and the mark of what was forgotten; the second part is left out.
        match condition.tree:
            case And(parts=(own, Compare())):
                return Options(Condition(condition.owner, own))
            case _:
                return Options(condition)

    return replaced(buffered_counters, Options=without_mark)


BUGS = (
    PlantedBug("a waiter counts from its first look, whatever changed since", _waiter_counts_from_its_first_look, ("leases",), 100),
    PlantedBug("a new owner has the number of the one before", _number_stays_with_a_new_owner, ("leases",), 100),
    PlantedBug("a write under a lease does not check its number", _write_under_a_lease_without_its_number, ("leases",), 400),
    PlantedBug("an owner counts from the answer to its renewal", _owner_counts_from_the_answer, ("leases in frozen processes",), 400),
    PlantedBug("a block is claimed by reading and putting", _block_claimed_by_read_and_put, ("blocks",), 50),
    PlantedBug("a number is issued without compare and set", _number_without_compare_and_set, ("invoices",), 100),
    PlantedBug("each call issues a number", _number_for_each_call, ("invoices",), 100),
    PlantedBug("an addition at most once is sent again", _addition_sent_again_in_doubt, ("additions at most once",), 100),
    PlantedBug("ids are trimmed before their horizon", _ids_trimmed_at_once, ("exact additions with values",), 400),
    PlantedBug("the value of an addition is read after it", _value_read_after_the_addition, ("exact additions with values",), 100),
    PlantedBug("the window is that of the call", _window_of_the_call, ("windows",), 50),
    PlantedBug("readers sum over fewer shards than there were", _readers_sum_over_fewer_shards, ("sums",), 100),
    PlantedBug("an exact sum reads one shard after another", _exact_sum_of_single_gets, ("sums",), 500),
    PlantedBug("an unknown flush is merged into the next", _unknown_flush_merged_into_the_next, ("buffers",), 100),
    PlantedBug("an unknown flush is dropped", _unknown_flush_dropped, ("buffers",), 100),
    PlantedBug("a forgotten writer sends its flush again", _forgotten_writer_flushes_again, ("buffers",), 4_000),
)
