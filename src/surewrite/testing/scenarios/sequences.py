"""Belongs here: scenarios of numbers that are given out once: in blocks, and without gaps. Must not be here: counters."""

from __future__ import annotations

from functools import partial

from surewrite import Attribute, Entity
from surewrite.core.values import Item
from surewrite.recipes.sequences import Gapless, GaplessCounter, GaplessIssue, HiLo, HiLoRow, Issued
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World


class Invoice(Entity, discriminator="INVOICE", partition_key="INVOICE#{number}", sort_key="{order}"):
    """A row that has to have the next number. Its key forbids neither one number for two orders nor two for one: the recipe has to."""

    number: Attribute[int]
    order: Attribute[str]


def _invoice(order: str, number: int) -> Invoice:
    return Invoice(number=number, order=order)


def blocks(world: World) -> None:
    """Two clients draw numbers from blocks, several at once, and crash in between: no number comes twice."""
    drawn: list[int] = []

    async def drawer(client: AsyncClient) -> None:
        numbers = HiLo(client.table(), "orders", block_size=1 + client.choose(3))
        for _ in range(2 + client.choose(4)):
            if client.choose(2):
                await client.tried(client.db.run(numbers.prefetch()))
            number = await client.tried(client.db.run(numbers.next()))
            if isinstance(number, int):
                drawn.append(number)
            await client.think()

    def no_number_twice(world: World) -> str | None:
        row = world.stored(HiLoRow.key_of("orders"))
        above = [number for number in drawn if row is None or not 1 <= number <= row.hi]
        twice = sorted(number for number in set(drawn) if drawn.count(number) > 1)
        if twice:
            return f"numbers were given out twice: {twice}"
        return f"numbers were given out that nobody claimed: {above}" if above else None

    world.table(HiLoRow)
    world.client("alice", drawer)
    world.client("bob", drawer)
    world.check(no_number_twice)


def invoices(world: World) -> None:
    """Two clients issue invoices without gaps, and again after a crash: each order has one, and no number is left out or used twice."""
    told: dict[str, set[int]] = {}

    async def issuer(client: AsyncClient) -> None:
        sequence = Gapless[Invoice](client.table(), "invoices")
        for number in range(1 + client.choose(2)):
            order = client.one_of((f"{client.name} {number}", f"shared {number}"))
            issued = await client.tried(client.db.run(sequence.issue(order, partial(_invoice, order))))
            if isinstance(issued, Issued):
                told.setdefault(order, set()).add(issued.number)
            await client.think()

    def no_gap(world: World) -> str | None:
        items: list[Item] = world.service.execute("Scan", {"TableName": "shop", "ConsistentRead": True})["Items"]
        rows = [(int(item["number"]["N"]), item["order"]["S"]) for item in items if item["_type"]["S"] == "INVOICE"]
        issues = {item["business_id"]["S"]: int(item["number"]["N"]) for item in items if item["_type"]["S"] == "SUREWRITE_GAPLESS_ISSUE"}
        counter = world.stored(GaplessCounter.key_of("invoices"))
        last = 0 if counter is None else counter.last
        if sorted(number for number, _ in rows) != list(range(1, last + 1)):
            return f"the counter stands at {last}, and there are invoices {sorted(rows)}"
        if sorted(issues.items()) != sorted((order, number) for number, order in rows):
            return f"the invoices are {rows}, and the numbers of the orders {issues}"
        wrong = {order: numbers for order, numbers in told.items() if numbers != {issues.get(order)}}
        return f"numbers were told that are not stored: {wrong}" if wrong else None

    world.table(GaplessCounter, GaplessIssue, Invoice)
    world.client("alice", issuer)
    world.client("bob", issuer)
    world.check(no_gap)


SCENARIOS = (Scenario("blocks", blocks), Scenario("invoices", invoices))
