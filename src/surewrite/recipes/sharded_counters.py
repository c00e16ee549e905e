"""Belongs here: a counter spread over several items, for more additions a second than one item takes. Must not be here: counters of one item.

Each shard is an item in a partition of its own, since a partition takes no more writes a second than an item does; the number of shards
stands in one row. Reading a sum is a choice: cheap, or exact.
Rows are never to be deleted or given a time to live. Source: outcomes C4, sharded; R8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from surewrite.core import limits
from surewrite.core.batches import get_many
from surewrite.core.effects import Operation, Steps, random_number
from surewrite.core.entities import Attribute, Entity, EntityBase, attribute
from surewrite.core.keys import Key, Target
from surewrite.core.outcomes import Canceled, Marker
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Options, Scope, ScopedTable
from surewrite.core.transaction_drafts import DraftedTransaction, TransactionDraft
from surewrite.core.transactional_reads import transact_get
from surewrite.core.transactions import commit
from surewrite.core.writes import NO_OPTIONS, update, upsert
from surewrite.errors import InvalidRequest, OutcomeUnknown, TransactionConflict
from surewrite.recipes.key_parts import bucket_of
from surewrite.recipes.settings import whole_number

SHARDS: Final = 10

SHARDS_MAX: Final = limits.TRANSACTION_ACTIONS - 1
"""An exact sum reads all shards and their number in one transactional get, which takes 100 items. Source: API Reference, TransactGetItems."""

TRIES: Final = 3


class CounterShards(Entity, discriminator="SUREWRITE_COUNTER_SHARDS", partition_key="SHARDED_COUNTER#{name}", sort_key="SHARDS"):
    """How many shards writers choose from, and how many readers sum over. The second is never lowered."""

    name: Attribute[str]
    written: Attribute[int]
    read: Attribute[int]


class CounterShard(Entity, discriminator="SUREWRITE_COUNTER_SHARD", partition_key="SHARDED_COUNTER#{shard:02d}#{name}", sort_key="SHARD"):
    """A part of the count."""

    name: Attribute[str]
    shard: Attribute[int]
    count: Attribute[int] = attribute(default=0)


class ShardedCounter:
    """A counter over up to 99 items, each of which takes about 1,000 additions a second.

    With ``exact=True`` each addition is a transaction: it counts exactly once, for two write units. Otherwise it costs one and
    counts at most once, so that the sum may come out under: an addition whose answer is lost raises ``OutcomeUnknown``. No addition
    gives the count after it.

    ``shards`` is how many this program asks for when the counter is new; later ``reshard`` says it for all programs. A
    program reads the number once, so one that has an old number writes to shards that are still summed.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (CounterShards, CounterShard)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, shards: int = SHARDS, exact: bool = False) -> None:
        self._environment = table.environment
        self._rows = table.scope_of(CounterShards)
        self._shards = table.scope_of(CounterShard)
        self._key = CounterShards.key_of(name)
        self._name = name
        self._wished = _checked(shards)
        self._exact = exact
        self._written: int | None = None

    def add(self, amount: int = 1) -> Operation[None]:
        """Add to a shard drawn by chance. One write unit, or two with ``exact``; the first addition also one of each to learn the number of shards.

        Raises ``OutcomeUnknown`` where an answer is lost, with ``exact`` only where no fence could settle it.
        """
        return Operation(lambda: self._add(amount))

    def add_to(self, tx: DraftedTransaction, amount: int = 1) -> Operation[Marker[CounterShard]]:
        """Put an addition into a transaction of yours: it counts once if the rest of it takes effect, and not at all if not, exactly.

        So what is counted may be what makes sure that it counts once, also after a crash: a create of the like itself, or the record of
        ``Idempotency``. One action and two write units; the first addition also reads the number of shards. The shard of a named
        transaction follows from its name, as long as the number of shards stays the same.
        """
        return Operation(lambda: self._add_to(tx.draft, amount))

    def sum(self) -> Operation[int]:
        """The cheap sum: one consistent batch get, one read unit a shard and one for their number.

        The shards are read one after another. While there are additions only, the result lies between the counts at its start
        and at its end. With subtractions it may be a count that never was: take ``exact_sum``.
        """
        return Operation(self._sum)

    def exact_sum(self, *, tries: int = TRIES) -> Operation[int]:
        """The count at one moment, by a transactional get: two read units a shard and two for their number.

        Additions under way cancel it. It is tried again, for ``tries`` deadlines of the client at most, and then raises
        ``TransactionConflict``: a counter that is hot enough to be sharded may starve it.
        """
        checked = whole_number(tries, "tries is how often an exact sum is tried")
        return Operation(lambda: self._exact_sum(checked))

    def reshard(self, shards: int) -> Operation[None]:
        """Let programs that start from now on write to so many shards. Readers go on to sum over the most that there ever were. Three write units."""
        checked = _checked(shards)
        return Operation(lambda: self._reshard(checked))

    def _add(self, amount: int) -> Steps[None]:
        if self._exact:
            draft = TransactionDraft(self._environment)
            yield from self._add_to(draft, amount)
            result = yield from commit(draft)
            if isinstance(result, Canceled):
                raise result.error()
            return
        written = yield from self._learn()
        share = yield from random_number()
        key = self._shard(int(share * written))
        outcome = yield from upsert(self._shards, key, (CounterShard.count.add(amount),), Options(in_doubt="raise"))
        if not outcome:
            raise outcome.error()

    def _add_to(self, draft: TransactionDraft, amount: int) -> Steps[Marker[CounterShard]]:
        written = yield from self._learn()
        if draft.name is None:
            share = yield from random_number()
            first = int(share * written)
        else:
            first = bucket_of(draft.name, written)
        used = [intent.subject for intent in draft.intents]
        shards = (self._shard((first + step) % written) for step in range(written))
        key = next((key for key in shards if key not in used), None)
        if key is None:
            raise InvalidRequest(f"the counter {self._name!r}: the transaction adds to each of its {written} shards already: add the amounts up")
        return draft.upsert(self._shards, key, (CounterShard.count.add(amount),), NO_OPTIONS)

    def _learn(self) -> Steps[int]:
        """The number of shards that writers choose from. Stored before a shard is written, so that no reader can miss one."""
        if self._written is None:
            row: CounterShards | None = yield from get_or_none(self._rows, self._key, consistent=True)
            if row is None:
                row = yield from self._upsert_row()
            self._written = row.written
        return self._written

    def _upsert_row(self) -> Steps[CounterShards]:
        """Make the row where there is none; whoever was first has said the numbers. Setting what is missing may be done any number of times."""
        row = CounterShards
        changes = (row.written.set(row.written.if_not_exists(self._wished)), row.read.set(row.read.if_not_exists(self._wished)))
        outcome = yield from upsert(self._rows, self._key, changes, NO_OPTIONS)
        if not outcome:
            raise outcome.error()
        made: CounterShards = outcome.item
        return made

    def _reshard(self, shards: int) -> Steps[None]:
        """First readers, then writers. Each step only raises what is read or sets a constant, so that a late one does no harm."""
        yield from self._upsert_row()
        try:
            wider = yield from update(self._rows, self._key, (CounterShards.read.set(shards),), Options(CounterShards.read < shards))
            if not wider and (wider.item is None or wider.item.read < shards):
                raise wider.error()
        except OutcomeUnknown as error:
            if not error.superseded:
                raise
        # A late attempt that brings back an older number of writers stays within what readers sum over.
        outcome = yield from update(self._rows, self._key, (CounterShards.written.set(shards),), Options(CounterShards.read >= shards))
        if not outcome:
            raise outcome.error()
        self._written = shards

    def _sum(self) -> Steps[int]:
        row: CounterShards | None = yield from get_or_none(self._rows, self._key, consistent=True)
        # Shards that are added from now on hold additions that were made from now on: the sum may have them or not.
        keys = [(self._shards, self._shard(number)) for number in range(0 if row is None else row.read)]
        found: list[CounterShard | None] = yield from get_many(self._environment, keys, consistent=True, progress=None)
        return _total(found)

    def _exact_sum(self, tries: int) -> Steps[int]:
        row: CounterShards | None = yield from get_or_none(self._rows, self._key, consistent=True)
        read = 0 if row is None else row.read
        for number in range(1, tries + 1):
            try:
                now_row, *shards = yield from self._read_at_one_moment(read)
            except TransactionConflict:
                if number == tries:
                    raise
                continue
            if now_row is None or now_row.read <= read:
                return _total(shards)
            # There are more shards than were asked for: that moment's sum cannot be told.
            read = now_row.read
        raise TransactionConflict(f"the counter {self._name!r} was resharded in each of {tries} tries to sum it; trying again is safe", key=self._key)

    def _read_at_one_moment(self, read: int) -> Steps[Sequence[Any]]:
        scoped: list[tuple[Scope, Key[Any]]] = [(self._rows, self._key)]
        scoped += ((self._shards, self._shard(number)) for number in range(read))
        return (yield from transact_get(self._environment, scoped))

    def _shard(self, number: int) -> Target[CounterShard]:
        return CounterShard.key_of(number, self._name)


def _total(shards: Iterable[CounterShard | None]) -> int:
    """A shard that nobody has added to is not stored."""
    return sum(shard.count for shard in shards if shard is not None)


def _checked(shards: int) -> int:
    return whole_number(shards, "shards is how many items a counter has", most=SHARDS_MAX)
