"""Belongs here: events written in the transaction of the change that they tell of, and where they wait. Must not be here: publishing them, the broker.

No event without its change and no change without its event. Events of one key are numbered by the version that the change
gives its item, in the same compare and set, so that the order of the numbers is the order of the changes: times of several
producers order nothing. The rows of a key lie side by side in one of several buckets, and only rows that were not
published yet are there. Source: outcomes C6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from surewrite.core.effects import Operation, Steps, now
from surewrite.core.entities import Attribute, Entity, EntityBase, attribute, stored_state
from surewrite.core.keys import Target
from surewrite.core.outcomes import Marker
from surewrite.core.queries import Pages, Wanted, query
from surewrite.core.scopes import Occasion, Scope, ScopedTable
from surewrite.core.transaction_drafts import DraftedTransaction, Intent
from surewrite.errors import InvalidRequest
from surewrite.recipes.documents import document_of, document_text
from surewrite.recipes.key_parts import RecipeKey, bucket_of, key_text, parts_of
from surewrite.recipes.settings import plain_name, whole_number

BUCKETS: Final = 16
BUCKETS_MOST: Final = 10_000

BODY_BYTES_MOST: Final = 400_000
"""An item of 400 KB less its keys, and less what a relay adds where it sets the event aside: one that cannot be, would hold up its bucket."""

COUNTED_MOST: Final = 1000
"""How many waiting events of a bucket are counted one by one."""


class OutboxRow(Entity, discriminator="SUREWRITE_OUTBOX", partition_key="OUTBOX#{outbox}#{epoch}#{bucket:04d}", sort_key="{ordering_key}#{number:020d}"):
    """An event that waits to be published. ``previous`` is the number of the event of its key before it, 0 for the first."""

    outbox: Attribute[str]
    epoch: Attribute[int]
    bucket: Attribute[int]
    ordering_key: Attribute[str]
    number: Attribute[int]
    previous: Attribute[int]
    body: Attribute[str]
    emitted_at: Attribute[datetime | None] = attribute(default=None)

    @property
    def id(self) -> str:
        """The event's name, the same in every delivery."""
        return f"{self.ordering_key}#{self.number}"

    @property
    def key_parts(self) -> tuple[str, ...]:
        """The ordering key as it was given, each part as a text."""
        return parts_of(self.ordering_key)

    @property
    def event(self) -> Any:
        """What was emitted."""
        return document_of(self.body)


class PoisonRow(Entity, discriminator="SUREWRITE_POISON", partition_key="OUTBOX_POISON#{outbox}#{epoch}#{bucket:04d}", sort_key="{ordering_key}#{number:020d}"):
    """An event that could not be published and was set aside, so that later ones of its key pass it."""

    outbox: Attribute[str]
    epoch: Attribute[int]
    bucket: Attribute[int]
    ordering_key: Attribute[str]
    number: Attribute[int]
    previous: Attribute[int]
    body: Attribute[str]
    emitted_at: Attribute[datetime | None] = attribute(default=None)
    error: Attribute[str] = attribute(default="")


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """A partition of the outbox. The epoch says by which number of buckets keys were spread when it was written to."""

    epoch: int
    number: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits in an outbox. ``oldest_at`` is the emission of the oldest event that was seen, ``lag_seconds`` how long ago that was.

    Both are ``None`` where nothing waits, or only events of named transactions, which hold no time. Where ``complete`` is
    false there are more events than were counted.
    """

    events: int
    oldest_at: datetime | None
    lag_seconds: float | None
    complete: bool = True


class Outbox:
    """An outbox by its name. ``outbox.emit(tx, event, change=marker)`` adds an event to a transaction.

    ``buckets`` spreads the keys over so many partitions, each good for about 1000 writes a second; a relay reads each of
    them. To change the number, give epochs instead, ``{1: 16, 2: 64}``: events go to the last one, relays serve all. First
    give both to the relays, then to those who emit, and leave the first out once it is empty. The order of a key holds
    throughout.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (OutboxRow, PoisonRow)
    """For ``create_table``."""

    def __init__(self, table: ScopedTable, name: str, *, buckets: int | Mapping[int, int] = BUCKETS) -> None:
        self.name: str = plain_name(name, "an outbox")
        self.table = table
        counts = buckets if isinstance(buckets, Mapping) else {1: buckets}
        self.counts: Mapping[int, int] = {
            epoch: whole_number(count, "buckets is over how many partitions an outbox is spread", most=BUCKETS_MOST) for epoch, count in counts.items()
        }
        if not self.counts or min(self.counts) < 0:
            raise InvalidRequest(f"an outbox has epochs from 0 on, not {buckets!r}")
        self.scope: Scope = table.scope_of(OutboxRow)
        self.poison_scope: Scope = table.scope_of(PoisonRow)

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """All buckets of all epochs, the oldest epoch first."""
        return tuple(Bucket(epoch, number) for epoch in sorted(self.counts) for number in range(self.counts[epoch]))

    def emit(
        self, tx: DraftedTransaction, event: object, *, change: Marker[Any], key: RecipeKey | None = None, previous: int | None = None
    ) -> Marker[OutboxRow]:
        """Add an event to the transaction of its change.

        ``change`` is the marker of the action on the entity whose events are ordered, such as ``tx.put(payment)``: the version
        that this action gives it numbers the event. ``key`` names the order, by default the item's key, with its table where that
        is not the outbox's; all events of one key must be numbered by one item. ``event`` is what ``publish`` gets: texts,
        numbers, moments, lists and maps. Where a version of the item came without an event, ``previous`` is the number of the
        event before: otherwise a relay may, in rare moments, publish this event before that one. The item must not be deleted and
        made again, since its versions begin again: delete it softly. Two write units per started KB. Raises ``InvalidRequest`` where the version that the
        change makes is not known, as for ``ignore_version`` and types without one.
        """
        intent = next((found for found in tx.draft.intents if found.marker is change), None)
        if intent is None:
            raise InvalidRequest("change= is the marker of an action of this transaction, such as change = tx.put(payment)")
        number = _version_after(intent)
        if previous is not None and not 0 <= previous < number:
            raise InvalidRequest(f"previous is the number of an earlier event of the key, below {number}, not {previous!r}")
        ordering_key = key_text(self._item_key(intent) if key is None else key, f"the outbox {self.name!r}")
        body = document_text(event, "the event")
        if len(body.encode()) > BODY_BYTES_MOST:
            raise InvalidRequest(f"an event is at most {BODY_BYTES_MOST} bytes as text: store it elsewhere, and emit where it is")
        epoch = max(self.counts)
        row = OutboxRow(
            outbox=self.name,
            epoch=epoch,
            bucket=bucket_of(ordering_key, self.counts[epoch]),
            ordering_key=ordering_key,
            number=number,
            previous=number - 1 if previous is None else previous,
            body=body,
        )
        return tx.draft.create_completed(self.scope, row, _with_time)

    def places_of(self, ordering_key: str, number: int) -> tuple[Target[OutboxRow], ...]:
        """Where an event of that key and number may wait: one place an epoch."""
        return tuple(OutboxRow.key_of(self.name, epoch, bucket_of(ordering_key, count), ordering_key, number) for epoch, count in sorted(self.counts.items()))

    def waiting_in(self, bucket: Bucket, *, limit: int | None = None) -> Pages[OutboxRow]:
        """The events of a bucket, page by page, each key's in the order of their numbers. Read consistently, but at no one moment."""
        partition = OutboxRow.partition_of(self.name, bucket.epoch, bucket.number)
        return Pages(query([self.scope], partition, Wanted(consistent=True)), limit)

    def backlog(self) -> Operation[Backlog]:
        """Count what waits, at most a thousand events a bucket. One read unit per started 4 KB of events."""
        return Operation(self._backlog)

    def set_aside(self) -> Operation[tuple[PoisonRow, ...]]:
        """The events that relays skipped, at most a thousand a bucket."""
        return Operation(self._set_aside)

    def _item_key(self, intent: Intent) -> tuple[str, ...]:
        """The item's key, and its table where that is another one: two tables may have items of one key, each with versions of its own."""
        key = tuple(next(iter(value.values())) for value in intent.key.values())
        return key if intent.scope.table == self.table.name else (intent.scope.table, *key)

    def _backlog(self) -> Steps[Backlog]:
        events, complete = 0, True
        oldest: datetime | None = None
        for bucket in self.buckets:
            pages = self.waiting_in(bucket, limit=COUNTED_MOST)
            while not pages.done:
                for row in (yield from pages.next_page()):
                    events += 1
                    if row.emitted_at is not None and (oldest is None or row.emitted_at < oldest):
                        oldest = row.emitted_at
            complete = complete and pages.position is None
        moment = yield from now()
        return Backlog(events, oldest, None if oldest is None else moment.server - oldest.timestamp(), complete)

    def _set_aside(self) -> Steps[tuple[PoisonRow, ...]]:
        found: list[PoisonRow] = []
        for bucket in self.buckets:
            partition = PoisonRow.partition_of(self.name, bucket.epoch, bucket.number)
            pages: Pages[PoisonRow] = Pages(query([self.poison_scope], partition, Wanted(consistent=True)), COUNTED_MOST)
            while not pages.done:
                found.extend((yield from pages.next_page()))
        return tuple(found)


def _with_time(row: OutboxRow, occasion: Occasion) -> OutboxRow:
    return row.replace(emitted_at=datetime.fromtimestamp(occasion.moment.server, UTC))


def _version_after(intent: Intent) -> int:
    """The version that an action gives its item."""
    subject = intent.subject
    if intent.scope.schema.version is None or intent.verb == "check":
        raise InvalidRequest(
            f"{intent.scope.entity}: an event is numbered by the version that a write gives its item; give the type a version, and a write as change="
        )
    if intent.verb == "create":
        return 1
    if not isinstance(subject, Target):
        stored = stored_state(subject)
        return 1 if stored is None else (stored.version or 0) + 1
    if subject.demand is None or not subject.demand.checked:
        raise InvalidRequest(
            f"{intent.scope.entity}: with ignore_version the service raises a version that is not known here: use a loaded entity, or key.if_version(n)"
        )
    return (subject.demand.version or 0) + 1
