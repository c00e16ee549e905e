"""Belongs here: unique handles that writers take, change and give up. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.core.outcomes import Outcome


class Player(VersionedEntity, discriminator="PLAYER", partition_key="PLAYER#{id}", sort_key="PLAYER"):
    id: Attribute[str]
    handle: Attribute[str] = sw.unique()
    revision: Attribute[int | None] = sw.version()


class HandlesThatMove:
    name = "handles"
    title = "handles that change owners, wrong ones"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Player, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        """Look whether the handle is free, claim it, give the old one back, change the player."""
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            handle = handle_of(stage, current)
            if naive.read(db, table, f"CLAIM#{handle}", "CLAIM"):
                continue
            player = naive.read(db, table, f"PLAYER#{stage.name}", "PLAYER")
            naive.put(db, table, naive.key(f"CLAIM#{handle}", "CLAIM") | {"owner": {"S": stage.name}})
            if player:
                naive.call(db, "DeleteItem", {"TableName": table, "Key": naive.key(f"CLAIM#{player['handle']['S']}", "CLAIM")})
            naive.put(db, table, naive.key(f"PLAYER#{stage.name}", "PLAYER") | {"id": {"S": stage.name}, "handle": {"S": handle}})

    def sure(self, stage: Stage) -> None:
        players = stage.db.table(stage.table).of(Player)
        for current in range(1, stage.plan.rounds + 1):
            handle = handle_of(stage, current)

            def move(handle: str = handle) -> Outcome[Player]:
                player = players.get_or_none(Player.key_of(stage.name))
                # Refused: somebody else has the handle.
                return players.try_create(Player(id=stage.name, handle=handle)) if player is None else players.try_put(player.replace(handle=handle))

            until_known(move)
            stage.tick()

    def expected(self, plan: RacePlan) -> int:  # noqa: ARG002 - none is wrong, however large the race is
        return 0

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        held = [naive.read(db, table, f"PLAYER#w{writer}", "PLAYER").get("handle", {}).get("S") for writer in range(plan.writers)]
        shared = burnt = 0
        for number in range(handles(plan)):
            handle = f"h{number}"
            shared += held.count(handle) > 1
            if handle not in held:
                free = db.table(table).of(Player).try_create(Player(id=f"probe-{number}", handle=handle))
                burnt += not free or bool(naive.read(db, table, f"CLAIM#{handle}", "CLAIM"))
        words = [f"{shared} handle(s) with several owners"] if shared else []
        words += [f"{burnt} that nobody has and nobody can take"] if burnt else []
        return Measured(shared + burnt, "; ".join(words))


def handles(plan: RacePlan) -> int:
    """A few more than writers, so that most moves meet somebody."""
    return plan.writers + 2


def handle_of(stage: Stage, current: int) -> str:
    """Where a writer moves to: over all handles, at a pace of its own."""
    return f"h{(stage.writer + current * (stage.writer % 3 + 1)) % handles(stage.plan)}"
