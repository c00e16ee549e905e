"""Belongs here: scenarios of results that a queue delivers again and again: as items, as lists, in batches. Must not be here: events with an order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.append import Append
from surewrite.recipes.queue_batches import handle_queue_batch
from surewrite.recipes.small_lists import ListedMessage, ListOutcome, ListPart, SmallList
from surewrite.testing.clients import AsyncClient
from surewrite.testing.feeds import Delivery, MessageQueue
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World


class Result(Entity, discriminator="RESULT", partition_key="RESULTS#{test}", sort_key="MESSAGE#{message}"):
    """One result as an item."""

    test: Attribute[str]
    message: Attribute[str]
    text: Attribute[str]


class ResultPart(ListPart, Entity, discriminator="RESULT_PART", partition_key="RESULT_LIST#{test}", sort_key="PART#{part:04d}"):
    """A part of a list of results."""

    test: Attribute[str]
    entries: Attribute[list[str]] = sw.attribute(default_factory=list)


LIST = ResultPart.partition_of("t")
PART_BYTES = {True: 70, False: 84}
"""So small that a part holds about three results, with rows and with ids."""


def appended_results(world: World) -> None:
    """Batches of messages are handled, in part failed and delivered again: each result is stored, and as what it was sent."""
    queue = world.queue("results")
    sent = [queue.send(f"text {number}") for number in range(3 + world.choices.index(("results", 0, "count"), 4))]

    async def consumer(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(4)):
            batch = [delivery for _ in range(1 + client.choose(3)) if (delivery := queue.receive()) is not None]
            await client.tried(_handle(client, queue, batch))
            await client.think()

    async def last_consumer(client: AsyncClient) -> None:
        while (delivery := queue.receive()) is not None:
            await _handle(client, queue, [delivery])

    def all_stored(world: World) -> str | None:
        found = {number: world.stored(Result.key_of("t", str(number))) for number in sent}
        wrong = [number for number, result in found.items() if result is None or result.text != f"text {number - 1}"]
        return f"results {wrong} are lost, or stored as others" if wrong else None

    world.table(Result)
    world.client("alice", consumer)
    world.client("bob", consumer)
    world.finally_client("carol", last_consumer)
    world.check(all_stored)


async def _handle(client: AsyncClient, queue: MessageQueue, batch: list[Delivery]) -> None:
    """What Lambda does: acknowledge the messages that are not reported as failed."""
    results = Append(client.table(), Result)
    event = {"Records": [{"messageId": str(delivery.number), "body": delivery.body} for delivery in batch]}

    def handle(record: Any) -> Any:
        return results.add(Result(test="t", message=record["messageId"], text=record["body"]))

    answer = await client.db.run(handle_queue_batch(event, handle, on_error=lambda _record, _error: None))
    failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
    for delivery in batch:
        if str(delivery.number) not in failed:
            queue.acknowledge(delivery)


def lists_in_parts(world: World) -> None:
    """Messages are appended to a list that spills into parts, again and late: each stands in it once, and sealed parts never change."""
    queue = world.queue("entries")
    sent = [queue.send(None) for _ in range(4 + world.choices.index(("entries", 0, "count"), 5))]
    rows = world.choices.index(("entries", 0, "rows"), 2) == 1

    async def consumer(client: AsyncClient) -> None:
        for _ in range(2 + client.choose(5)):
            delivery = queue.receive()
            if delivery is None:
                return
            if isinstance(await client.tried(_append(client, delivery, rows=rows)), ListOutcome):
                queue.acknowledge(delivery)
            await client.think()

    async def last_consumer(client: AsyncClient) -> None:
        while (delivery := queue.receive()) is not None:
            await _append(client, delivery, rows=rows)
            queue.acknowledge(delivery)

    def each_once(world: World) -> str | None:
        parts = [part for number in range(1, len(sent) + 2) if (part := world.stored(ResultPart.key_of(test="t", part=number))) is not None]
        found = Counter(entry for part in parts for entry in part.entries)
        wanted = Counter(str(number) for number in sent)
        return None if found == wanted else f"the list holds {dict(found)}, and {sorted(wanted)} were sent"

    world.table(ResultPart, ListedMessage)
    world.client("alice", consumer)
    world.client("bob", consumer)
    world.finally_client("carol", last_consumer)
    world.check(each_once)
    world.check(sealed_parts_stay)


async def _append(client: AsyncClient, delivery: Delivery, *, rows: bool) -> ListOutcome:
    results = SmallList(client.table(), ResultPart, ResultPart.entries, duplicates="rows" if rows else "part", part_bytes_most=PART_BYTES[rows])
    return await client.db.run(results.add(LIST, str(delivery.number), str(delivery.number)))


def sealed_parts_stay(world: World) -> str | None:
    """No entry is put into a part after its seal."""
    for commit in world.ledger.commits:
        before, after = commit.before, commit.after
        if before is not None and "sealed" in before and (after is None or after["entries"] != before["entries"]):
            return f"a sealed part was changed: {before} to {after}"
    return None


SCENARIOS = (Scenario("appended results", appended_results), Scenario("lists in parts", lists_in_parts))
