"""Belongs here: a small list inside an item, with duplicates kept out and parts that are sealed and spill. Must not be here: one item a result, queues."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from surewrite.core import queries, transactions, writes
from surewrite.core.conditions import Change, Condition
from surewrite.core.effects import Operation, Steps, now
from surewrite.core.entities import Attribute, Entity, EntityBase, Fields, attribute, time_to_live
from surewrite.core.keys import Partition, Target
from surewrite.core.outcomes import Applied, Canceled
from surewrite.core.paths import ListPath
from surewrite.core.queries import Pages, Wanted
from surewrite.core.scopes import Options, ScopedTable
from surewrite.core.templates import KeyTemplate
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.values import compare, item_size, value_size
from surewrite.errors import InvalidRequest, OutcomeUnknown, Throttled
from surewrite.recipes.settings import time_span, whole_number

T = TypeVar("T")

PARTS_MAX: Final = 1_000
"""Bounds the walk over the parts of one list; a longer one is not small."""

DIGITS_BEGIN: Final = (1, 9, 10, 99, 100, 999, PARTS_MAX)
"""Part numbers on both sides of another digit: there keys that are not padded leave the order."""

PART_BYTES: Final = 16_384
"""An append is billed by the whole item, one write unit per started KB: so large a part costs 16 units an append."""

ROUNDS_MAX: Final = 8
"""How often a list is read again whose parts do not fit together."""

SIZE_CODES: Final = frozenset({"ValidationException", "ValidationError"})
"""What the service answers, alone and in a transaction, to an update that makes an item larger than 400 KB."""


class ListPart(Fields):
    """The fields that a part of a list has beside its entries.

    Derive from it, and give the entries a field of your own::

    class Results(sw.recipes.ListPart, Entity, discriminator="RESULTS", partition_key="RESULTS#{id}", sort_key="PART#{part:06d}"):
        id: Attribute[str]
        entries: Attribute[list[Result]] = sw.attribute(default_factory=list)
    """

    part: Attribute[int]
    message_ids: Attribute[frozenset[str]] = attribute(default=frozenset[str]())
    """Each behind the stored name of the list that it is in: one type may have several."""
    sealed: Attribute[bool | None] = attribute(default=None)


class ListedMessage(Entity, discriminator="SW_LISTED_MESSAGE", partition_key="SW_LISTED#{list_key}", sort_key="MESSAGE#{message_id}"):
    """Says that a message is in a list, for lists that keep no ids in their parts."""

    list_key: Attribute[str]
    message_id: Attribute[str]
    expires: Attribute[datetime | None] = time_to_live(default=None, stored_as="ttl")


class ListOutcome(Enum):
    """What became of an entry. Both mean that it stands in the list once."""

    APPENDED = "appended"
    ALREADY_STORED = "already stored"


P = TypeVar("P", bound=ListPart)


class SmallList(Generic[P, T]):
    """A list in one item, in the order in which entries came, which spills into further parts when it grows.

    Contract: no entry is lost and none stands twice, also where its message is delivered again after the list spilled
    (schedules of C7), while nobody removes entries or parts. A full part is sealed, and the condition of every append holds
    the seal: what is sealed never changes, so that a message looked for in it once is looked for for good.

    ``duplicates`` says where message ids are kept. ``"part"``: in the part beside the entries; an add reads all parts and
    costs one write. ``"rows"``: as an item a message, written in one transaction with the entry; for longer lists, on
    endpoints with transactions, and with ``remember_seconds`` forgotten later. All writers of one list must say the same.

    Cost: an append is billed by the whole part, one write unit per started KB of it, so up to 16 with the default size,
    twice that and two more with rows. Reading before an add costs one read unit per started 4 KB of all parts, of the
    last one only with rows. Limits: one item's speed. Where appends are many, one item a result (``Append``) is cheaper.
    """

    entities: ClassVar[tuple[type[EntityBase], ...]] = (ListedMessage,)
    """For ``create_table``, which turns the time to live of remembered messages on. Needed for ``duplicates="rows"`` only."""

    def __init__(
        self,
        table: ScopedTable,
        entity: type[P],
        entries: ListPath[P, T],
        *,
        duplicates: Literal["part", "rows"] = "part",
        part_bytes_most: int = PART_BYTES,
        remember_seconds: float | None = None,
    ) -> None:
        if duplicates not in ("part", "rows"):
            raise InvalidRequest('duplicates is "part", message ids in the parts, or "rows", as items')
        if remember_seconds is not None and duplicates == "part":
            raise InvalidRequest('remember_seconds is how long rows are kept: give it with duplicates="rows"')
        whole_number(part_bytes_most, "part_bytes_most")
        self._scope = table.scope_of(entity)
        self._rows = table.scope_of(ListedMessage) if duplicates == "rows" else None
        self._entity: Any = entity
        self._entries = entries
        self._part_bytes_most = part_bytes_most
        self._remember_seconds = None if remember_seconds is None else time_span(remember_seconds, "remember_seconds")
        self._name = str(entries.name.parts[0])
        self._open: Condition[Any] = self._entity.sealed.not_exists()
        if len(self._scope.schema.key_names) < 2:
            raise InvalidRequest(f"{self._scope.entity}: the parts of a list are one partition, so the table needs a sort key")
        if self._scope.schema.version is not None or self._scope.schema.time_to_live is not None:
            raise InvalidRequest(
                f"{self._scope.entity}: a part of a list has no version and does not expire: appends need none, and a part must not be missing"
            )
        sort = self._scope.schema.definition.sort
        if sort is None or "part" not in sort.field_names or not _keeps_order(sort):
            raise InvalidRequest(
                f"{self._scope.entity}: parts are read in the order of their keys, so the sort key holds the part with all its digits: {{part:06d}}"
            )

    def add(self, partition: Partition[P], message_id: str, entry: T) -> Operation[ListOutcome]:
        """Put an entry at the end of the list, once for its message id.

        Raises ``OutcomeUnknown`` where nothing shows it, and ``Throttled`` where others append too fast: deliver the message again.
        """
        return Operation(lambda: self._add(partition, message_id, entry))

    def read(self, partition: Partition[P]) -> Operation[tuple[T, ...]]:
        """All entries, in the order in which they came."""
        return Operation(lambda: self._read(partition))

    def _read(self, partition: Partition[P]) -> Steps[tuple[T, ...]]:
        field = next(field for field in self._scope.schema.fields if field.stored_name == self._name)
        found: tuple[T, ...] = ()
        for part in (yield from self._all_parts(partition)):
            found += tuple(getattr(part, field.name))
        return found

    def _all_parts(self, partition: Partition[P]) -> Steps[list[P]]:
        """The parts as they were at one moment, as far as it matters.

        A query reads each part at its own moment: it may show one before a message came into it, and miss the next one, together
        with one that was begun after both were full. A later query shows both as they stay; what it does not was removed by somebody.
        """
        seen: frozenset[int] = frozenset()
        for _ in range(ROUNDS_MAX):
            parts = yield from self._parts(partition)
            unfit = _unfit(parts)
            if unfit <= seen:
                return parts
            seen = unfit
        raise Throttled(f"{self._scope.entity}: the list went on in each of {ROUNDS_MAX} readings of it, so that none shows it whole: try again")

    def _parts(self, partition: Partition[P], *, last_only: bool = False) -> Steps[list[P]]:
        reading = queries.query((self._scope,), partition, Wanted(consistent=True, descending=last_only))
        pages: Pages[P] = Pages(reading, 1 if last_only else None)
        found: list[P] = []
        for _ in range(PARTS_MAX):
            found.extend((yield from pages.next_page()))
            if pages.done:
                return found
        raise InvalidRequest(f"{self._scope.entity}: the list has more than {PARTS_MAX} parts")

    def _add(self, partition: Partition[P], message_id: str, entry: T) -> Steps[ListOutcome]:
        if not isinstance(message_id, str) or not message_id:  # type: ignore[redundant-expr]  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(f"{self._scope.entity}: a message without an id, a text, cannot be told from another one")
        append = self._entries.append(entry)
        parts = yield from (self._all_parts(partition) if self._rows is None else self._parts(partition, last_only=True))
        if any(self._holds(part, message_id) for part in parts):
            return ListOutcome.ALREADY_STORED
        last = parts[-1] if parts else None
        for _ in range(PARTS_MAX):
            if last is not None and last.sealed is None and self._is_full(last, entry):
                last = yield from self._seal(partition, last.part)
                if self._holds(last, message_id):
                    return ListOutcome.ALREADY_STORED
            number = 1 if last is None else last.part + (1 if last.sealed else 0)
            found = yield from self._append(partition, number, message_id, append)
            if isinstance(found, ListOutcome):
                return found
            last = found
        raise Throttled(f"{self._scope.entity}: the list was sealed under each of {PARTS_MAX} tries to append; nothing was appended")

    def _mark(self, message_id: str) -> str:
        return f"{self._name}#{message_id}"

    def _holds(self, part: P, message_id: str) -> bool:
        return self._mark(message_id) in part.message_ids

    def _is_full(self, part: P, entry: T) -> bool:
        element = self._entries.codec.element
        assert element is not None
        size = item_size(self._scope.schema.to_item(part)) + value_size(element.store(element.accept(entry)))
        return size > self._part_bytes_most

    def _seal(self, partition: Partition[P], number: int) -> Steps[P]:
        """Close a part for good; nobody opens it again, so to do so twice changes nothing. Gives it as it stays."""
        outcome = yield from writes.update(self._scope, self._key(partition, number), (self._entity.sealed.set(True),), Options())
        sealed: P = writes.applied_item(outcome)
        return sealed

    def _append(self, partition: Partition[P], number: int, message_id: str, append: Change[P]) -> Steps[ListOutcome | P]:
        """The outcome, or the part that refused the entry, to be looked at again."""
        try:
            if self._rows is not None:
                return (yield from self._append_with_row(partition, number, message_id, append))
            return (yield from self._append_with_id(partition, number, message_id, append))
        except InvalidRequest as error:
            # Larger than an item may be: what was read of the part was old, or the entry alone is too large.
            if error.code not in SIZE_CODES or "size" not in str(error):
                raise
            grown = [part for part in (yield from self._parts(partition, last_only=True)) if part.part == number]
            if not grown:
                raise
            return (yield from self._seal(partition, number))

    def _append_with_id(self, partition: Partition[P], number: int, message_id: str, append: Change[P]) -> Steps[ListOutcome | P]:
        ids = self._entity.message_ids
        changes = (append, ids.add(self._mark(message_id)))
        options = Options(condition=self._open & ~ids.contains(self._mark(message_id)))
        unknown: OutcomeUnknown | None = None
        try:
            outcome = yield from writes.upsert(self._scope, self._key(partition, number), changes, options)
        except OutcomeUnknown as error:
            outcome, unknown = None, error
        if isinstance(outcome, Applied):
            return ListOutcome.APPENDED
        part: P | None = unknown.item if unknown is not None else outcome.item if outcome is not None else None
        if part is not None and self._holds(part, message_id):
            return ListOutcome.ALREADY_STORED
        if part is not None and (unknown is None or part.sealed):
            # Sealed without the entry: no attempt of this append was made, and none ever can be.
            return part
        if unknown is not None:
            raise unknown
        assert outcome is not None
        raise outcome.error()

    def _append_with_row(self, partition: Partition[P], number: int, message_id: str, append: Change[P]) -> Steps[ListOutcome | P]:
        assert self._rows is not None
        moment = yield from now()
        seconds = self._remember_seconds
        expires = None if seconds is None else datetime.fromtimestamp(moment.server, UTC) + timedelta(seconds=seconds)
        draft = TransactionDraft(self._scope.environment)
        row = draft.create(self._rows, ListedMessage(list_key=self._list_key(partition), message_id=message_id, expires=expires))
        # A conflict on the row is another delivery of the same message under way: its end is the answer.
        draft.outrank(row)
        part = draft.upsert(self._scope, self._key(partition, number), (append,), Options(condition=self._open))
        result = yield from transactions.commit(draft)
        if not isinstance(result, Canceled):
            return ListOutcome.APPENDED
        if result.refusal_of(row) is not None:
            return ListOutcome.ALREADY_STORED
        refusal = result.refusal_of(part)
        if refusal is None or refusal.item is None:
            raise result.error()
        refusing: P = refusal.item
        return refusing

    def _list_key(self, partition: Partition[P]) -> str:
        """Lists of several types and fields may share a partition, and a message may be for each of them."""
        name = self._scope.schema.discriminator_value or self._scope.entity
        return f"{name}/{self._name}/{partition.partition[1]}"

    def _key(self, partition: Partition[P], number: int) -> Target[P]:
        key: Target[P] = self._entity.key_of(**dict(partition.values), part=number)
        return key


def _unfit(parts: Sequence[ListPart]) -> frozenset[int]:
    """The numbers of parts that are missing, or open, although a later one is there."""
    closed = {part.part for part in parts if part.sealed}
    return frozenset(range(1, parts[-1].part)) - closed if parts else frozenset()


def _keeps_order(sort: KeyTemplate) -> bool:
    """Whether parts stand in the order of their numbers. Of a key with other fields too nobody knows before it is made."""
    if sort.field_names != ("part",):
        return True
    keys = (dict((sort.render({"part": number}),)) for number in DIGITS_BEGIN)
    return all(compare(lower, upper) == -1 for lower, upper in pairwise(keys))
