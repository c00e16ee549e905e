"""Belongs here: registration with two values that must be unique, which every writer tries to take. Must not be here: starting or killing writers."""

from __future__ import annotations

from surewrite import Attribute, Entity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database


class Registrant(Entity, discriminator="REGISTRANT", partition_key="USER#{id}", sort_key="REGISTRATION"):
    id: Attribute[str]
    mail: Attribute[str]
    handle: Attribute[str]


class MailClaim(Entity, discriminator="MAIL_CLAIM", partition_key="MAIL#{mail}", sort_key="CLAIM"):
    mail: Attribute[str]
    owner: Attribute[str]


class HandleClaim(Entity, discriminator="HANDLE_CLAIM", partition_key="HANDLE#{handle}", sort_key="CLAIM"):
    handle: Attribute[str]
    owner: Attribute[str]


class Registration:
    name = "registration"
    title = "registration with two unique values (transaction)"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Registrant, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            user = f"{stage.name}-{current}"
            if naive.read(db, table, f"MAIL#m{current}", "CLAIM") or naive.read(db, table, f"HANDLE#h{current}", "CLAIM"):
                continue
            naive.put(db, table, naive.key(f"MAIL#m{current}", "CLAIM") | {"owner": {"S": user}})
            naive.put(db, table, naive.key(f"HANDLE#h{current}", "CLAIM") | {"owner": {"S": user}})
            naive.put(db, table, naive.key(f"USER#{user}", "REGISTRATION") | {"id": {"S": user}})

    def sure(self, stage: Stage) -> None:
        shop = stage.db.table(stage.table)
        for current in range(1, stage.plan.rounds + 1):
            user = Registrant(id=f"{stage.name}-{current}", mail=f"m{current}", handle=f"h{current}")

            def register(user: Registrant = user) -> bool:
                tx = shop.transaction()
                tx.create(MailClaim(mail=user.mail, owner=user.id))
                tx.create(HandleClaim(handle=user.handle, owner=user.id))
                tx.create(user)
                # Refused: somebody else has the values, or this user has them since before the writer was restarted.
                return bool(tx.try_commit())

            until_known(register)
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        registered, twice, torn = 0, 0, 0
        for current in range(1, plan.rounds + 1):
            users = [f"w{writer}-{current}" for writer in range(plan.writers)]
            stored = [user for user in users if naive.read(db, table, f"USER#{user}", "REGISTRATION")]
            owners = {naive.read(db, table, f"{kind}{current}", "CLAIM").get("owner", {}).get("S", "") for kind in ("MAIL#m", "HANDLE#h")}
            registered += len(stored)
            twice += len(stored) > 1
            torn += len(stored) <= 1 and owners != ({*stored} if stored else {""})
        words: list[str] = []
        if twice:
            words.append(f"{twice} value(s) with two owners")
        if torn:
            words.append(f"{torn} value(s) claimed without a registration, or for another one")
        return Measured(registered, "; ".join(words), consistent=not words)
