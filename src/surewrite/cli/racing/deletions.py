"""Belongs here: articles that are made and deleted while copies of their creations arrive late. Must not be here: starting or killing writers."""

from __future__ import annotations

from datetime import datetime

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.soft_deletes import SoftDeletes

LATENESS_SECONDS_MOST = 86_400


class Article(VersionedEntity, discriminator="ARTICLE", partition_key="ARTICLE#{id}", sort_key="TEXT"):
    id: Attribute[str]
    text: Attribute[str]
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)
    revision: Attribute[int | None] = sw.version()


def is_deleted(current: int) -> bool:
    """Every other article is deleted by the writer that made it."""
    return current % 2 == 1


class LateCreations:
    """A writer makes an article a round, and deletes it or not. It also gets a copy of each creation of the writer before it: early, late or in between."""

    name = "deletions"
    title = "deletions against late copies of the creations"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:  # noqa: ARG002 - starts empty
        db.table(table).create_table(Article, exist_ok=True)

    def naive(self, stage: Stage) -> None:
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            own, copied = ids(stage, current)
            naive.put(db, table, naive.key(f"ARTICLE#{own}", "TEXT") | {"text": {"S": own}})
            if is_deleted(current):
                naive.call(db, "DeleteItem", {"TableName": table, "Key": naive.key(f"ARTICLE#{own}", "TEXT")})
            naive.put(db, table, naive.key(f"ARTICLE#{copied}", "TEXT") | {"text": {"S": copied}})

    def sure(self, stage: Stage) -> None:
        store = stage.db.table(stage.table)
        articles = store.of(Article)
        soft = SoftDeletes(store, Article, deleted_at=Article.deleted_at, expires=Article.ends_at, lateness_seconds_most=LATENESS_SECONDS_MOST, attempts=1000)
        for current in range(1, stage.plan.rounds + 1):
            own, copied = ids(stage, current)
            # Refused by the article or by its tombstone: made before. ``soft.create`` is for who decides to make it anew.
            until_known(lambda own=own: articles.try_create(Article(id=own, text=own)))  # type: ignore[misc]
            if is_deleted(current):
                until_known(lambda own=own: stage.db.run(soft.delete(Article.key_of(own))))  # type: ignore[misc]
            until_known(lambda copied=copied: articles.try_create(Article(id=copied, text=copied)))  # type: ignore[misc]
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.writers * sum(not is_deleted(current) for current in range(1, plan.rounds + 1))

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        living = [(writer, current) for writer in range(plan.writers) for current in range(1, plan.rounds + 1) if lives(db, table, writer, current)]
        back = sum(is_deleted(current) for _, current in living)
        lost = self.expected(plan) - (len(living) - back)
        words = [f"{back} deleted article(s) came back"] if back else []
        words += [f"{lost} article(s) lost"] if lost else []
        return Measured(len(living), "; ".join(words), consistent=not words)


def ids(stage: Stage, current: int) -> tuple[str, str]:
    """The article of the round, and the one whose copied creation comes to this writer."""
    return f"{stage.name}-{current}", f"w{(stage.writer - 1) % stage.plan.writers}-{current}"


def lives(db: Database, table: str, writer: int, current: int) -> bool:
    """Whether the article is stored and no tombstone: read plainly, since the naive side stores what is no ``Article`` under its key."""
    item = naive.read(db, table, f"ARTICLE#w{writer}-{current}", "TEXT")
    return bool(item) and "deleted_at" not in item
