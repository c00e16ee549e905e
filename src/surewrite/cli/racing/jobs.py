"""Belongs here: jobs that every writer wants and one may have. Must not be here: how writers are started, killed or measured."""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.cli.racing import naive
from surewrite.cli.racing.scenario import Measured, RacePlan, Stage
from surewrite.cli.racing.sure import until_known
from surewrite.client import Database
from surewrite.recipes.guards import Guards


class Job(VersionedEntity, discriminator="JOB", partition_key="JOB#{number}", sort_key="STATE"):
    number: Attribute[int]
    state: Attribute[str] = sw.attribute(default="queued")
    worker: Attribute[str] = sw.attribute(default="nobody")
    revision: Attribute[int | None] = sw.version()


class JobsTakenOnce:
    name = "jobs"
    title = "jobs that one writer may take"

    def operations(self, plan: RacePlan) -> int:
        return plan.writers * plan.rounds

    def prepare(self, db: Database, table: str, plan: RacePlan) -> None:
        db.table(table).create_table(Job, exist_ok=True)
        for number in range(1, plan.rounds + 1):
            db.table(table).of(Job).create(Job(number=number))

    def naive(self, stage: Stage) -> None:
        """Look whether the job is free, take it, note that it was run."""
        db, table = stage.db, stage.table
        for current in naive.remaining_rounds(stage, stage.plan.rounds):
            job = naive.read(db, table, f"JOB#{current}", "STATE")
            if job["state"]["S"] == "queued":
                naive.put(db, table, job | {"state": {"S": "running"}, "worker": {"S": stage.name}})
                naive.put(db, table, naive.key(f"RUN#{current}", stage.name))

    def sure(self, stage: Stage) -> None:
        jobs = Guards(stage.db.table(stage.table), Job, attempts=1000)
        for current in range(1, stage.plan.rounds + 1):
            key = Job.key_of(current)
            taken = until_known(lambda key=key: stage.db.run(jobs.try_transition(key, Job.state, "queued", "running", Job.worker.set(stage.name))))  # type: ignore[misc]
            # Refused by a job of one's own: taken before the writer was killed, or by an attempt whose answer was lost.
            if taken or (taken.item is not None and taken.item.worker == stage.name):
                naive.put(stage.db, stage.table, naive.key(f"RUN#{current}", stage.name))
            stage.tick()

    def expected(self, plan: RacePlan) -> int:
        return plan.rounds

    def measure(self, db: Database, table: str, plan: RacePlan) -> Measured:
        runs = [sum(bool(naive.read(db, table, f"RUN#{current}", f"w{writer}")) for writer in range(plan.writers)) for current in range(1, plan.rounds + 1)]
        twice, never = sum(count > 1 for count in runs), runs.count(0)
        words = [f"{twice} job(s) run by several writers"] if twice else []
        words += [f"{never} never run"] if never else []
        return Measured(sum(runs), "; ".join(words), consistent=not words)
