"""Belongs here: handling a batch of queue messages, and the report of those that failed. Must not be here: a queue client, what a message does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from surewrite.core.effects import Operation, Steps, call_user
from surewrite.errors import InvalidRequest
from surewrite.recipes.running import Runs
from surewrite.recipes.user_work import work_done

Record = Mapping[str, Any]
"""One message as Lambda gives it: ``messageId``, ``body``, ``attributes`` and others."""

OnError = Callable[[Record, Exception], Any]

W = TypeVar("W")


def handle_queue_batch(event: Mapping[str, Any], handle: Callable[[Record], Any], *, on_error: OnError) -> Operation[dict[str, Any]]:
    """Handle each message of an SQS event, and answer which ones failed in the form that Lambda reads.

    ``handle`` gets a record; it may be async where the client is, and what it returns is run if it is an Operation, such
    as ``results.add(...)``; an operation that is refused, such as a ``Stopped`` or an ``EffectRunning``, counts as failed
    (``WorkRefused``). A message that raises is reported in ``batchItemFailures`` and delivered again alone; ``on_error``
    gets it with its error, since Lambda gets its id only. An unknown outcome counts as failed: the next delivery settles it.

    Contract: every message is handled or reported, and no message of the batch is handled twice; of one id the first is
    taken. After a failure in a message group of a FIFO queue the rest of that group is reported unhandled, so that its order
    stays. A message may be handled again in a later batch, also after it succeeded: ``handle`` writes by message id
    (``Append``, ``SmallList``, an idempotency key), then a batch that is delivered again changes nothing.

    Needs ``ReportBatchItemFailures`` on the event source; without it Lambda takes any answer for success. Costs nothing itself.
    Raises ``InvalidRequest`` for an event that is no batch of SQS; Lambda then delivers all of it again.
    Source: AWS Lambda Developer Guide, page "Handling errors for an SQS event source in Lambda".
    """
    return Operation(lambda: _handle(_records_of(event), handle, on_error))


def queue_batch(db: Runs[W], *, on_error: OnError) -> Callable[[Callable[[Record], Any]], Callable[..., W]]:
    """The same as a decorator that makes a Lambda handler of a function of one message.

    With the blocking client the handler answers at once; with the asynchronous one it returns an awaitable::

        @sw.recipes.queue_batch(db, on_error=report)
        def handler(record):
            return results.add(TestResult(message_id=record["messageId"], ...))
    """

    def decorate(handle: Callable[[Record], Any]) -> Callable[..., W]:
        @wraps(handle)
        def handler(event: Mapping[str, Any], context: object = None) -> W:  # noqa: ARG001 - Lambda passes it
            return db.run(handle_queue_batch(event, handle, on_error=on_error))

        return handler

    return decorate


def _records_of(event: object) -> Sequence[Record]:
    """The records, each with an id. An answer with an empty or unknown id would make Lambda deliver the whole batch again."""
    records: Any = cast("Mapping[str, Any]", event).get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list) or not all(map(_has_id, cast("list[object]", records))):
        raise InvalidRequest('an SQS event has "Records", each with a "messageId": nothing of this one was handled')
    return cast("list[Record]", records)


def _has_id(record: object) -> bool:
    if not isinstance(record, Mapping):
        return False
    message_id = cast("Record", record).get("messageId")
    return isinstance(message_id, str) and bool(message_id)


def _handle(records: Sequence[Record], handle: Callable[[Record], Any], on_error: OnError) -> Steps[dict[str, Any]]:
    seen: set[str] = set()
    failed: list[str] = []
    stopped_groups: set[str] = set()
    for record in records:
        message_id: str = record["messageId"]
        if message_id in seen:
            continue
        seen.add(message_id)
        group = _group_of(record)
        if group in stopped_groups:
            failed.append(message_id)
            continue
        try:
            yield from work_done(handle, record)
        except Exception as error:  # noqa: BLE001 - whatever a message raises, the others are handled; it is reported and handed out
            failed.append(message_id)
            if group is not None:
                stopped_groups.add(group)
            yield from call_user(on_error, record, error)
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _group_of(record: Record) -> str | None:
    """The message group whose order is to be kept. Groups of standard queues share capacity fairly, and have no order."""
    source = record.get("eventSourceARN")
    attributes: Any = record.get("attributes")
    if not isinstance(attributes, Mapping) or (isinstance(source, str) and not source.endswith(".fifo")):
        return None
    group: str | None = cast("Mapping[str, Any]", attributes).get("MessageGroupId")
    return group
