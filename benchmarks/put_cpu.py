"""What a typed conditional put costs its client in processor time, with other clients beside ours.

    python -m benchmarks.put_cpu [--rounds 20] [--puts 200] [--json]

The put of one versioned item of six attributes, saved again and again, against a server that answers without looking. Microseconds of
processor time of the client's process, all its threads together: the least of the rounds, which go through the clients in turn, since
whatever else the machine does can only add to a round. The raw socket sends ready bytes and reads the answer: what no client can be below.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from benchmarks.answering_server import answering_server
from benchmarks.contenders import Surewrite, SurewriteAsync, installed_peers

WARM_UP_PUTS = 50


class RawSocket:
    """The bytes of a put as our client sends them, written and read without a library."""

    name = "raw socket"

    def __init__(self, url: str, table: str) -> None:
        self._address = urlsplit(url)
        item = '{"pk":{"S":"PAGE#home"},"sk":{"S":"PAGE"},"title":{"S":"a page with a title of some length"},"version":{"N":"2"}}'
        body = f'{{"TableName":"{table}","Item":{item},"ConditionExpression":"attribute_exists(#0)","ExpressionAttributeNames":{{"#0":"pk"}}}}'
        head = f"POST / HTTP/1.1\r\nHost: {self._address.netloc}\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: {len(body)}\r\n"
        self._request = (head + f"Authorization: {'A' * 200}\r\n\r\n" + body).encode()

    async def open(self) -> None:
        self._stream = socket.create_connection((str(self._address.hostname), self._address.port))
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def save(self) -> str:
        self._stream.sendall(self._request)
        return "applied" if self._stream.recv(65_536).endswith(b"{}") else "failed"

    async def close(self) -> None:
        self._stream.close()


async def microseconds(client: Any, puts: int) -> float:
    begun = time.process_time()
    for _ in range(puts):
        word = await client.save()
        if word != "applied":
            raise RuntimeError(f"{client.name}: {word}")
    return (time.process_time() - begun) / puts * 1e6


async def measure(url: str, *, rounds: int, puts: int) -> list[dict[str, Any]]:
    clients = [kind(url, "bench") for kind in (RawSocket, Surewrite, SurewriteAsync, *installed_peers())]
    found: dict[str, list[float]] = {client.name: [] for client in clients}
    for client in clients:
        await client.open()
        await microseconds(client, WARM_UP_PUTS)
    for _ in range(rounds):
        for client in clients:
            found[client.name].append(await microseconds(client, puts))
    for client in clients:
        await client.close()
    raw = min(found[RawSocket.name])
    return [{"client": name, "microseconds": min(times), "times_raw": min(times) / raw} for name, times in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--puts", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    with answering_server() as url:
        rows = asyncio.run(measure(url, rounds=chosen.rounds, puts=chosen.puts))
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return
    print("| client | µs a put | times the raw socket |\n|---|---|---|")
    for row in rows:
        print(f"| {row['client']} | {row['microseconds']:.0f} | {row['times_raw']:.1f} |")


if __name__ == "__main__":
    main()
