"""Belongs here: invoices numbered without a gap, one for each order. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.sequences import Gapless


class Invoice(Entity, discriminator="INVOICE", partition_key="INVOICE#{number}", sort_key="INVOICE"):
    number: Attribute[int]
    order: Attribute[str]


class GaplessInvoices:
    name = "invoices"
    title = "invoice numbers without gaps"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Invoice, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            counter = naive.read(db, table, "COUNTER#invoices", "COUNTER") or naive.key("COUNTER#invoices", "COUNTER")
            number = naive.number(counter, "last") + 1
            naive.put(db, table, counter | {"last": {"N": str(number)}})
            naive.put(db, table, naive.key(f"INVOICE#{number}", "INVOICE") | {"order": {"S": f"{stage.name}-{current}"}})

    def sure(self, stage: Stage) -> None:
        invoices: Gapless[Invoice] = Gapless(stage.db.table(stage.table), "invoices", tries=1000)
        for current in range(1, stage.plan.rounds + 1):
            # A restarted writer asks for every order again: those that have a number get the same one.
            order = f"{stage.name}-{current}"
            until_known(lambda order=order: stage.db.run(invoices.issue(order, lambda number, order=order: Invoice(number=number, order=order))))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        wanted = {f"w{writer}-{current}" for writer in range(plan.writers) for current in range(1, plan.rounds + 1)}
        orders: list[str] = []
        for number in range(1, 2 * len(wanted) + 1):
            invoice = naive.read(db, table, f"INVOICE#{number}", "INVOICE")
            if invoice:
                orders.append(invoice["order"]["S"])
            elif number <= len(wanted):
                orders.append("")
        gaps, lost, twice = orders.count(""), len(wanted - set(orders)), len(orders) - len(set(orders))
        words = [f"{gaps} gap(s)"] if gaps else []
        words += [f"{lost} order(s) without an invoice"] if lost else []
        words += [f"{twice} too many"] if twice and not gaps else []
        return Measured(len(set(orders) & wanted), "; ".join(words), consistent=not words)
