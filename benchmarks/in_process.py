"""What the client and its engine in the process cost together: no network, no other process.

    python -m benchmarks.in_process [--rounds 10] [--calls 1000] [--json]

Microseconds of processor time a call, the least of the rounds, since whatever else the machine does can only add to one: reading one
versioned item, saving it under its version, counting up on the server, and the same put handed to the engine without a client. On a
file each commit is synchronised, so its time is the disk's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contenders import VISITS, Page, Tally

import surewrite as sw


class Calls:
    """The calls that are timed, on one database."""

    def __init__(self, database: sw.Database) -> None:
        self._database = database
        table = database.table("bench")
        table.create_table(Page, Tally)
        self._pages, self._tallies = table.of(Page), table.of(Tally)
        self._page = self._pages.create(Page(id="home"))
        self._tallies.create(Tally(id="visits"))
        item = database.execute("GetItem", {"TableName": "bench", "Key": {"pk": {"S": "PAGE#home"}, "sk": {"S": "PAGE"}}})["Item"]
        self._put = {"TableName": "bench", "Item": {**item, "pk": {"S": "raw"}}, "ConditionExpression": "attribute_not_exists(nothing)"}

    def get(self) -> object:
        return self._pages.get(Page.key_of("home"))

    def conditional_put(self) -> object:
        self._page = self._pages.put(self._page.replace(reads=self._page.reads + 1))
        return self._page

    def update(self) -> object:
        return self._tallies.update(VISITS, Tally.n.add(1))

    def put_without_client(self) -> object:
        return self._database.execute("PutItem", self._put)


def microseconds(call: Callable[[], object], calls: int) -> float:
    begun = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begun) / calls * 1e6


def measure(target: str, rounds: int, calls: int) -> dict[str, float]:
    with sw.connect(target) as database:
        timed = Calls(database)
        calls_by_name = {
            "get": timed.get,
            "conditional put": timed.conditional_put,
            "update, ADD 1": timed.update,
            "raw conditional put": timed.put_without_client,
        }
        found: dict[str, list[float]] = {name: [] for name in calls_by_name}
        for number in range(rounds + 1):
            for name, call in calls_by_name.items():
                used = microseconds(call, calls)
                if number:  # the first round warms up
                    found[name].append(used)
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows: dict[str, Any] = {
            "memory:": measure("memory:", chosen.rounds, chosen.calls),
            "file:": measure(f"file:{Path(folder) / 'bench.db'}", chosen.rounds, max(1, chosen.calls // 10)),
        }
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return
    print("| call | memory: µs | file: µs |\n|---|---|---|")
    for name in rows["memory:"]:
        print(f"| {name} | {rows['memory:'][name]:.0f} | {rows['file:'][name]:.0f} |")


if __name__ == "__main__":
    main()
