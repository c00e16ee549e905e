"""Belongs here: one item a result: each result of a list is an item of its own, keyed by its message id. Must not be here: lists inside an item, queues."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from surewrite.core import queries, writes
from surewrite.core.effects import Operation, Steps
from surewrite.core.entities import EntityBase
from surewrite.core.keys import Partition
from surewrite.core.outcomes import Applied, RefusalReason
from surewrite.core.queries import Pages, Wanted
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import ScopedTable
from surewrite.core.sort_conditions import SortCondition
from surewrite.errors import InvalidRequest, OutcomeUnknown, SurewriteError

E = TypeVar("E", bound=EntityBase)

PAGES_MAX: Final = 10_000
"""Bounds the reading of a list; a page holds 1 MB."""


class AppendOutcome(Enum):
    """What became of a result. All but ``OTHER_CONTENT`` mean that it is stored once."""

    APPENDED = "appended"
    ALREADY_STORED = "already stored"
    """The message was delivered before."""
    OTHER_CONTENT = "other content"
    """A result with other content is stored under the same message id, and stays: two messages share an id, or one changed between deliveries."""


@dataclass(frozen=True, slots=True)
class Appended(Generic[E]):
    """The outcome of one result, and what is stored under its message id. False where that is another result."""

    outcome: AppendOutcome
    item: E

    @property
    def stored(self) -> bool:
        """The result is stored, by this call or an earlier one, so the message can be acknowledged."""
        return self.outcome is not AppendOutcome.OTHER_CONTENT

    def __bool__(self) -> bool:
        return self.stored


class Append(Generic[E]):
    """Keeps a list as one item a result, of an entity of your own.

    The list is its partition, the message id its sort key::

        class TestResult(Entity, discriminator="RESULT", partition_key="RESULTS#{test_id}", sort_key="MESSAGE#{message_id}"): ...

    Contract: no result is lost and none is stored twice, however often and late its message is delivered (schedules of
    C7), while nobody deletes results. A list has no end: no item grows. It is read in the order of the sort key, so message
    ids that sort by time give a list by time.

    Cost: one write unit per started KB of the result alone, whether it is new or not. Reading takes half a read unit per
    started 4 KB, a whole one where consistent. Limit: all results of a list are one partition, about 1000 writes a second.
    """

    def __init__(self, table: ScopedTable, entity: type[E]) -> None:
        self._scope = table.scope_of(entity)
        if len(self._scope.schema.key_names) < 2:
            raise InvalidRequest(f"{self._scope.entity}: a list is a partition and a result an item in it, so the table needs a sort key")

    def add(self, result: E) -> Operation[Appended[E]]:
        """Store a result, once. Raises ``OutcomeUnknown`` where nothing is seen under its message id: deliver the message again."""
        return Operation(lambda: self._add(result))

    def add_all(self, results: Iterable[E]) -> Operation[tuple[Appended[E], ...]]:
        """Store results one after another, and give the outcome of each in their order. Of those under one message id the first one counts.

        It stops at the first error; what it has stored by then is told as already stored by the next call.
        """
        wanted = tuple(results)
        return Operation(lambda: self._add_all(wanted))

    def read(self, partition: Partition[E], *, sort_key: SortCondition | None = None, consistent: bool = True) -> Operation[tuple[E, ...]]:
        """All results of a list, in the order of the sort key."""
        return Operation(lambda: self._read(partition, sort_key, consistent=consistent))

    def _add(self, result: E) -> Steps[Appended[E]]:
        # In doubt a stored result settles it: whoever stored it, this message id is stored once.
        try:
            outcome = yield from writes.create(self._scope, result)
        except OutcomeUnknown as unknown:
            return self._found(result, (yield from self._stored(result, unknown)))
        if isinstance(outcome, Applied):
            return Appended(AppendOutcome.APPENDED, outcome.item)
        if outcome.reason is not RefusalReason.ALREADY_EXISTS or outcome.item is None:
            raise outcome.error()
        return self._found(result, outcome.item)

    def _stored(self, result: E, unknown: OutcomeUnknown) -> Steps[E]:
        """What is stored under the message id of a result in doubt. Whatever keeps it from being seen, the doubt is what is told."""
        found: E | None = unknown.item
        if found is None:
            try:
                found = yield from get_or_none(self._scope, self._scope.schema.entity.key_of(result), consistent=True)
            except SurewriteError as error:
                raise unknown from error
        if found is None:
            raise unknown
        return found

    def _found(self, result: E, stored: E) -> Appended[E]:
        fields = (field for field in self._scope.schema.fields if field.role == "plain")
        same = all(getattr(result, field.name) == getattr(stored, field.name) for field in fields)
        return Appended(AppendOutcome.ALREADY_STORED if same else AppendOutcome.OTHER_CONTENT, stored)

    def _add_all(self, results: tuple[E, ...]) -> Steps[tuple[Appended[E], ...]]:
        first: dict[str, Appended[E]] = {}
        found: tuple[Appended[E], ...] = ()
        for result in results:
            key = repr(self._scope.schema.key_of_entity(result))
            if key in first:
                found += (self._found(result, first[key].item),)
                continue
            first[key] = yield from self._add(result)
            found += (first[key],)
        return found

    def _read(self, partition: Partition[E], sort_key: SortCondition | None, *, consistent: bool) -> Steps[tuple[E, ...]]:
        wanted = Wanted(sort_key=sort_key, consistent=consistent)
        pages: Pages[Any] = Pages(queries.query((self._scope,), partition, wanted), None)
        found: list[E] = []
        for _ in range(PAGES_MAX):
            found.extend((yield from pages.next_page()))
            if pages.done:
                return tuple(found)
        raise InvalidRequest(f"{self._scope.entity}: the list has more than {PAGES_MAX} pages; read it by table.of(...).query, page by page")
