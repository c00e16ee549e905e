"""One write load behind a service that has a bad day, with other clients beside ours: what each tells, and what is stored.

    python -m benchmarks.losses [--writes 300] [--seed 1] [--json]

Three hundred writes each of one writer, with nobody else writing: an addition on the server, a creation of fresh keys, and saves
of one versioned item. The proxy of the tests before ministack loses 5 % of the answers and 3 % of the requests, answers 500 after
applying in 2 %, and throttles 5 %. A client that resends without a proof counts too much, and takes its own write for that of another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections import Counter
from typing import Any
from uuid import uuid4

from benchmarks.contenders import KEY_ID, OURS, REGION, SECRET, VISITS, Page, Tally, Word, installed_peers
from tests.proxies.faulty_proxy import BAD_DAY, faulty_proxy
from tests.services import start_ministack

import surewrite as sw


async def run_loads(contender: type[Any], service: str, *, writes: int, seed: int) -> dict[str, Any]:
    """The three loads of one client, each behind the same fates."""
    row: dict[str, Any] = {"client": contender.name}
    for load in ("add_one", "create", "save"):
        with sw.connect(service) as database:
            table = f"bench-{uuid4().hex}"
            database.table(table).create_table(Tally, Page)
            words = await _run_load(contender, service, table, load, writes=writes, seed=seed)
            row[load] = dict(words)
            if load == "add_one":
                row["stored"] = database.table(table).of(Tally).get(VISITS).n
            database.execute("DeleteTable", {"TableName": table})
    return row


async def _run_load(contender: type[Any], service: str, table: str, load: str, *, writes: int, seed: int) -> Counter[Word]:
    words: Counter[Word] = Counter()
    with faulty_proxy(service, BAD_DAY, seed=seed) as proxy:
        client = contender(proxy.url, table)
        proxy.faults = False
        await client.open()
        proxy.faults = True
        for number in range(writes):
            words[await (client.create(number) if load == "create" else getattr(client, load)())] += 1
        await client.close()
    return words


def printed(rows: list[dict[str, Any]], writes: int) -> str:
    lines = [
        f"| client | ADD 1: told applied / stored (of {writes}) | told unknown | errors | fresh keys told to exist | conflicts of a single writer |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        added, created, saved = (Counter(row[load]) for load in ("add_one", "create", "save"))
        lines.append(
            f"| {row['client']} | {added['applied']} / {row['stored']} | {added['unknown']} | {added['failed'] + created['failed'] + saved['failed']}"
            f" | {created['refused']} | {saved['refused']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    chosen = parser.parse_args()
    # The service keeps tables by region and key, so all clients use the same ones.
    os.environ.update({"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET})
    with start_ministack() as service:
        clients = [*installed_peers(), *OURS]
        rows = [asyncio.run(run_loads(client, service.url, writes=chosen.writes, seed=chosen.seed)) for client in clients]
    print(json.dumps(rows, indent=2) if chosen.json else printed(rows, chosen.writes))


if __name__ == "__main__":
    main()
