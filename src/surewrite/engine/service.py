"""Belongs here: the one entry point: operation name and body in, answer out. Must not be here: HTTP, threads, the operations themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from surewrite.engine import batches, item_operations, queries, tables, tags, transactions
from surewrite.engine.context import Context
from surewrite.engine.context import ServiceSettings as ServiceSettings
from surewrite.engine.faults import ServiceError
from surewrite.engine.members import require_map
from surewrite.engine.stores.store import Store
from surewrite.engine.streams import StreamRecord
from surewrite.engine.transactions import HeldTransaction

Operation = Callable[[Context, Mapping[str, Any]], dict[str, Any]]

OPERATIONS: Final[Mapping[str, Operation]] = {
    "GetItem": item_operations.get_item,
    "PutItem": item_operations.put_item,
    "UpdateItem": item_operations.update_item,
    "DeleteItem": item_operations.delete_item,
    "TransactWriteItems": transactions.transact_write_items,
    "TransactGetItems": transactions.transact_get_items,
    "BatchGetItem": batches.batch_get_item,
    "BatchWriteItem": batches.batch_write_item,
    "Query": queries.query,
    "Scan": queries.scan,
    "CreateTable": tables.create_table,
    "DescribeTable": tables.describe_table,
    "DeleteTable": tables.delete_table,
    "ListTables": tables.list_tables,
    "UpdateTable": tables.update_table,
    "DescribeLimits": tables.describe_limits,
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "ListTagsOfResource": tags.list_tags_of_resource,
    "UpdateTimeToLive": tables.update_time_to_live,
    "DescribeTimeToLive": tables.describe_time_to_live,
}
"""Every operation that this engine carries out. Another one is refused as unknown."""


class Service:
    """A DynamoDB of its own over one store.

    Safe between threads. ``clock`` tells seconds since 1970; nothing else here reads the time. Nothing that is handed in
    or out shares anything mutable with what is stored.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time, settings: ServiceSettings = ServiceSettings()) -> None:  # noqa: B008
        self._context = Context(store, clock, settings)

    @property
    def store(self) -> Store:
        return self._context.store

    @property
    def settings(self) -> ServiceSettings:
        return self._context.settings

    @property
    def clock(self) -> Callable[[], float]:
        """What tells the service's time, in seconds since 1970."""
        return self._context.clock

    def execute(self, operation: str, body: Mapping[str, Any], *, signed_at: float | None = None) -> dict[str, Any]:
        """Carry out one request in the service's own shape and return its answer's body.

        ``signed_at`` is the date of the request's signature in seconds since 1970, where it has one: a request that is
        too old, or too far ahead, is refused. Raises ``ServiceError`` for every error answer of the service, and
        ``StoreError`` where the store failed.
        """
        if signed_at is not None:
            self._check_date(signed_at)
        perform = OPERATIONS.get(operation)
        if perform is None:
            raise ServiceError("UnknownOperationException", f"The operation {operation} is not supported by this engine")
        try:
            return perform(self._context, require_map(body, "the request"))
        except ServiceError:
            raise
        except BaseException:
            self._context.store.abandon()
            raise

    def hold_transaction(self, body: Mapping[str, Any]) -> HeldTransaction:
        """Begin a TransactWriteItems and leave its commit to the caller.

        The transaction is checked against the present state and holds its items until ``commit`` or ``cancel``: other
        writes on them conflict, reads see the state before, and its token is in progress. Raises ``ServiceError`` as
        the whole request would. Seen by this service only, not by other processes on the same file.
        """
        return transactions.hold(self._context, require_map(body, "the request"))

    def sweep_expired(self) -> int:
        """Delete the items that have expired by now, as the service does at times of its own; returns how many. Reads every item."""
        return tables.sweep_expired(self._context)

    def stream_records(self, table: str, after: int = 0) -> list[StreamRecord]:
        """The changes of a table with a stream, in commit order, with a higher sequence number than ``after``.

        They are kept in memory for 24 hours and tell the changes made through this service. Raises ``ServiceError`` for
        a table that does not exist; empty for one without a stream.
        """
        with self._context.store.session(write=False) as session:
            space = self._context.catalogue.table(session, table).space
        return self._context.streams.records(space, after)

    def close(self) -> None:
        """Close the store. What was answered stays."""
        self._context.store.close()

    def _check_date(self, signed_at: float) -> None:
        age = self._context.clock() - signed_at
        if age > self._context.settings.signed_request_life_seconds:
            raise ServiceError("InvalidSignatureException", f"Signature expired: the request was signed {age:.0f} seconds ago")
        if -age > self._context.settings.signed_request_ahead_seconds:
            raise ServiceError("InvalidSignatureException", f"Signature not yet current: the request is dated {-age:.0f} seconds ahead")
