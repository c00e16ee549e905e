"""Belongs here: what the blocking client does with many items, one method per operation. Must not be here: decisions, request building.

``EntityTable`` and ``Table`` are derived from the classes of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from surewrite.core import batches, bulk, queries
from surewrite.core.bulk import PARALLEL, BulkResult, Progress
from surewrite.core.conditions import Condition
from surewrite.core.contention import Statistics
from surewrite.core.entities import EntityBase, TableLayout
from surewrite.core.environment import Environment
from surewrite.core.keys import Key, Partition, Target
from surewrite.core.plans import InDoubt
from surewrite.core.queries import OnUndecodable, Others, Page, Pages, Reading, Wanted
from surewrite.core.scopes import Options, Scope
from surewrite.core.sort_conditions import SortCondition
from surewrite.core.table_scopes import TableScopes
from surewrite.drivers.blocking import BlockingDriver

E = TypeVar("E", bound=EntityBase)
E1 = TypeVar("E1", bound=EntityBase)
E2 = TypeVar("E2", bound=EntityBase)
E3 = TypeVar("E3", bound=EntityBase)


def each_of(driver: BlockingDriver, reading: Reading, limit: int | None) -> Iterator[Any]:
    """The entities one by one, each page read when the one before is used up."""
    pages: Pages[Any] = Pages(reading, queries.checked_limit(reading, limit))
    return _each_of(driver, pages)


def _each_of(driver: BlockingDriver, pages: Pages[Any]) -> Iterator[Any]:
    while not pages.done:
        yield from driver.run(pages.next_page())


class ManyOfOneType(Generic[E]):
    """Many items of one entity type in one table."""

    __slots__ = ("_driver", "_scope")

    def __init__(self, driver: BlockingDriver, scope: Scope) -> None:
        self._driver = driver
        self._scope = scope

    def statistics(self) -> Statistics:
        """What became of the writes of this type in this table, by this connection: attempts, conflicts, recovered and unknown ones. Sends nothing."""
        return self._scope.environment.contention.statistics(self._scope.table, self._scope.entity)

    def query(
        self,
        partition: Partition[E],
        *,
        sort_key: SortCondition | None = None,
        filter: Condition[E] | None = None,  # noqa: A002 - the service's word
        index: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E]:
        """The entities of a partition in the order of the sort key, read page by page as they are asked for.

        ``sort_key`` is a condition such as ``sw.begins_with("2026-11")``; ``filter`` drops items after they were read and
        paid for; ``limit`` counts entities returned. Items of other types and expired ones are left out. The partition of a
        global index is made by ``index_partition_of``; ``index`` names a local one. Types with a version are read
        consistently unless told otherwise, global indexes never. Half a read unit per started 4 KB of a page, a whole one
        where consistent. Raises ``InvalidRequest`` before anything is sent. An item that does not fit raises ``UndecodableItem``
        when its turn comes; with ``on_undecodable``, such as ``problems.append``, that is called with the error and the item left out.
        """
        wanted = Wanted(filter, index, consistent, sort_key, descending, on_undecodable=on_undecodable)
        return each_of(self._driver, queries.query((self._scope,), partition, wanted), limit)

    def query_page(
        self,
        partition: Partition[E],
        *,
        sort_key: SortCondition | None = None,
        filter: Condition[E] | None = None,  # noqa: A002
        index: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool | None = None,
        on_undecodable: OnUndecodable | None = None,
        cursor: str | None = None,
    ) -> Page[E]:
        """A part of the same: at most ``limit`` entities, without a limit what one request reads, up to 1 MB.

        ``cursor`` is that of the page before; one of another query raises ``InvalidRequest``. A cursor holds the key of an
        item, which is readable. A page may have few entities, or none, and a cursor: only ``cursor is None`` says the end.
        """
        reading = queries.query((self._scope,), partition, Wanted(filter, index, consistent, sort_key, descending, on_undecodable=on_undecodable))
        page: Page[E] = self._driver.run(queries.page(reading, cursor, limit))
        return page

    def scan(
        self,
        *,
        filter: Condition[E] | None = None,  # noqa: A002
        index: str | None = None,
        segment: tuple[int, int] | None = None,
        limit: int | None = None,
        consistent: bool | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E]:
        """All entities of the type in the table, in no order, read page by page as they are asked for.

        The whole table is read and paid for, items of other types too. ``segment=(0, 4)`` is the first of four parts, which
        as many threads can read side by side. Otherwise as ``query``.
        """
        return each_of(self._driver, queries.scan((self._scope,), Wanted(filter, index, consistent, segment=segment, on_undecodable=on_undecodable)), limit)

    def scan_page(
        self,
        *,
        filter: Condition[E] | None = None,  # noqa: A002
        index: str | None = None,
        segment: tuple[int, int] | None = None,
        limit: int | None = None,
        consistent: bool | None = None,
        on_undecodable: OnUndecodable | None = None,
        cursor: str | None = None,
    ) -> Page[E]:
        """A part of the same, as ``query_page``: a long scan goes on from its last cursor after a restart."""
        reading = queries.scan((self._scope,), Wanted(filter, index, consistent, segment=segment, on_undecodable=on_undecodable))
        page: Page[E] = self._driver.run(queries.page(reading, cursor, limit))
        return page

    def get_many(self, keys: Iterable[Key[E]], *, consistent: bool | None = None, progress: Progress | None = None) -> list[E | None]:
        """The entity under each key, ``None`` where there is none or an expired one, in the order of the keys.

        A hundred keys a request; what the service leaves unprocessed is asked for again, and a key named twice is read once.
        Not a moment in time: see ``transact_get``. ``progress`` is called with the keys done and those there are. Half a read
        unit per started 4 KB of each item, a whole one where consistent. Raises ``Throttled`` at the deadline.
        """
        scope = self._scope
        found: list[E | None] = self._driver.run(batches.get_many(scope.environment, [(scope, key) for key in keys], consistent=consistent, progress=progress))
        return found

    def put_many(
        self,
        entities: Iterable[E],
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        parallel: int = PARALLEL,
        progress: Progress | None = None,
    ) -> list[BulkResult[E]]:
        """A put of each entity, ``parallel`` at a time in threads: the conditional write that ``put`` makes, with its own deadline.

        There is a result for each entity, in their order; nothing that befalls one stops the others or is raised. Of several
        entities with one key the last is written, and the results of the others say so. ``progress`` is called with the
        items done and those there are, one call at a time; what it raises ends the call. One write unit per started KB of each.
        """
        options = Options(condition, if_unchanged, in_doubt)
        results: list[BulkResult[E]] = self._driver.run(bulk.put_many(self._scope, entities, options, parallel, progress))
        return results

    def delete_many(
        self,
        targets: Iterable[E | Target[E]],
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        parallel: int = PARALLEL,
        progress: Progress | None = None,
    ) -> list[BulkResult[E | None]]:
        """A delete of each entity or key, as ``put_many``: each is the conditional write that ``delete`` makes."""
        options = Options(condition, if_unchanged, in_doubt)
        results: list[BulkResult[E | None]] = self._driver.run(bulk.delete_many(self._scope, targets, options, parallel, progress))
        return results

    def unsafe_batch_put(self, entities: Iterable[E], *, progress: Progress | None = None) -> list[BulkResult[E]]:
        """Store entities over whatever is there, 25 a request: fewer requests than ``put_many``, the same cost in units, and no condition at all.

        A type with a version is refused with ``InvalidRequest``. In doubt an item is sent again, and may then undo a write of
        another that came between: ``once`` is false there. One whose fate nothing shows has ``OutcomeUnknown`` as its result.
        """
        results: list[BulkResult[E]] = self._driver.run(batches.batch_put(self._scope, entities, progress))
        return results

    def unsafe_batch_delete(self, targets: Iterable[E | Key[E]], *, progress: Progress | None = None) -> list[BulkResult[None]]:
        """Remove what is stored under the keys, of whatever type, as ``unsafe_batch_put``. A missing item counts as removed."""
        results: list[BulkResult[None]] = self._driver.run(batches.batch_delete(self._scope, targets, progress))
        return results


class ManyOfAnyType(TableScopes):
    """Many items of several entity types in one table."""

    __slots__ = ("_driver",)

    def __init__(self, driver: BlockingDriver, environment: Environment, name: str, layout: TableLayout) -> None:
        super().__init__(environment, name, layout)
        self._driver = driver

    @overload
    def query(
        self, partition: Partition[Any], *, types: tuple[type[E1], type[E2]], sort_key: SortCondition | None = None, filter: Condition[Any] | None = None,
        index: str | None = None, descending: bool = False, limit: int | None = None, consistent: bool | None = None,
        others: Others = "skip", on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E1 | E2]: ...  # fmt: skip
    @overload
    def query(
        self, partition: Partition[Any], *, types: tuple[type[E1], type[E2], type[E3]], sort_key: SortCondition | None = None,
        filter: Condition[Any] | None = None, index: str | None = None, descending: bool = False, limit: int | None = None, consistent: bool | None = None,
        others: Others = "skip", on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E1 | E2 | E3]: ...  # fmt: skip
    @overload
    def query(
        self, partition: Partition[Any], *, types: Sequence[type[E]], sort_key: SortCondition | None = None, filter: Condition[Any] | None = None,
        index: str | None = None, descending: bool = False, limit: int | None = None, consistent: bool | None = None,
        others: Others = "skip", on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E]: ...  # fmt: skip
    def query(
        self,
        partition: Partition[Any],
        *,
        types: Sequence[type[Any]],
        sort_key: SortCondition | None = None,
        filter: Condition[Any] | None = None,  # noqa: A002
        index: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool | None = None,
        others: Others = "skip",
        on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[Any]:
        """The entities of several types in one partition, in the order of the sort key: ``shop.query(key, types=(Customer, Order))``.

        Only the types named are asked for; with ``others="raise"`` an item of another one raises ``WrongEntityType``. An item
        without a discriminator is of the first type whose templates make its key. Otherwise as the query of one type.
        """
        return each_of(
            self._driver,
            self._query(partition, types, Wanted(filter, index, consistent, sort_key, descending, others=others, on_undecodable=on_undecodable)),
            limit,
        )

    def query_page(
        self,
        partition: Partition[Any],
        *,
        types: Sequence[type[E]],
        sort_key: SortCondition | None = None,
        filter: Condition[Any] | None = None,  # noqa: A002
        index: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool | None = None,
        others: Others = "skip",
        on_undecodable: OnUndecodable | None = None,
        cursor: str | None = None,
    ) -> Page[E]:
        """A part of the same, as the page of a query of one type."""
        reading = self._query(partition, types, Wanted(filter, index, consistent, sort_key, descending, others=others, on_undecodable=on_undecodable))
        page: Page[E] = self._driver.run(queries.page(reading, cursor, limit))
        return page

    def _query(self, partition: Partition[Any], types: Sequence[type[Any]], wanted: Wanted) -> Reading:
        return queries.query(self._scopes_of(types), partition, wanted)

    def scan(
        self,
        *,
        types: Sequence[type[E]],
        filter: Condition[Any] | None = None,  # noqa: A002
        index: str | None = None,
        segment: tuple[int, int] | None = None,
        limit: int | None = None,
        consistent: bool | None = None,
        others: Others = "skip",
        on_undecodable: OnUndecodable | None = None,
    ) -> Iterator[E]:
        """All entities of several types in the table, in no order; as the scan of one type."""
        wanted = Wanted(filter, index, consistent, segment=segment, others=others, on_undecodable=on_undecodable)
        return each_of(self._driver, queries.scan(self._scopes_of(types), wanted), limit)

    @overload
    def get_many(self, keys: Iterable[Key[E]], *, consistent: bool | None = None, progress: Progress | None = None) -> list[E | None]: ...
    @overload
    def get_many(self, keys: Iterable[Key[Any]], *, consistent: bool | None = None, progress: Progress | None = None) -> list[Any]: ...
    def get_many(self, keys: Iterable[Key[Any]], *, consistent: bool | None = None, progress: Progress | None = None) -> list[Any]:
        """The entity under each key, of whatever types, ``None`` where there is none; as ``get_many`` of one type."""
        scoped = [(self.scope_for(key), key) for key in keys]
        return self._driver.run(batches.get_many(self._environment, scoped, consistent=consistent, progress=progress))
