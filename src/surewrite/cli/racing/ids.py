"""Belongs here: ids from blocks that processes claim and hand out from memory. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.sequences import HiLo

BLOCK_SIZE = 4


class Numbered(Entity, discriminator="NUMBERED", partition_key="NUMBERED#{operation}", sort_key="ID"):
    """What got an id: its key is the operation, so that a restarted writer finds it."""

    operation: Attribute[str]
    number: Attribute[int]


class BlocksOfIds:
    name = "ids"
    title = "ids from claimed blocks (hi/lo)"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Numbered, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        db, table = stage.db, stage.table
        block: list[int] = []
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            if not block:
                row = naive.read(db, table, "BLOCKS#ids", "HI") or naive.key("BLOCKS#ids", "HI")
                high = naive.number(row, "hi") + BLOCK_SIZE
                naive.put(db, table, row | {"hi": {"N": str(high)}})
                block = list(range(high - BLOCK_SIZE + 1, high + 1))
            number = {"N": str(block.pop(0))}
            naive.put(db, table, naive.key(f"NUMBERED#{stage.name}-{current}", "ID") | {"number": number})

    def sure(self, stage: Stage) -> None:
        table = stage.db.table(stage.table)
        ids = HiLo(table, "ids", block_size=BLOCK_SIZE)
        for current in range(1, stage.plan.rounds + 1):
            number = until_known(lambda: stage.db.run(ids.next()))
            row = Numbered(operation=f"{stage.name}-{current}", number=number)
            # Refused: the operation has its id since before the writer was restarted; this number is a gap.
            until_known(lambda row=row: table.of(Numbered).try_create(row))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        names = [f"w{writer}-{current}" for writer in range(plan.writers) for current in range(1, plan.rounds + 1)]
        numbers = {naive.number(naive.read(db, table, f"NUMBERED#{name}", "ID"), "number") for name in names}
        return Measured(len(numbers), "" if len(numbers) == len(names) else f"{len(names) - len(numbers)} id(s) given twice")
