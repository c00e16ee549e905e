"""What a program pays before its first call, over an empty interpreter, with other clients beside ours.

    python -m benchmarks.import_time [--runs 10] [--json]

Milliseconds of processor time, user and system, of a whole process: the least of the runs, less the least of an empty interpreter.
The compiled form of the modules is kept from run to run, as an installed package has it. `import surewrite` alone loads the list of
names; the row with an entity loads what declares it, the one with a client all that a program needs before it sends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

EMPTY = "an empty interpreter"
ENTITY = (
    "import surewrite as sw\n"
    "class Note(sw.VersionedEntity, discriminator='NOTE', partition_key='NOTE#{id}', sort_key='TEXT'):\n"
    "    id: sw.Attribute[str]\n"
    "    version: sw.Attribute[int | None] = sw.version()\n"
)
PROGRAMS = {
    EMPTY: "",
    "import surewrite": "import surewrite",
    "surewrite, an entity": ENTITY,
    "surewrite, an entity and a client": ENTITY + "notes = sw.connect('http://127.0.0.1:8000').table('notes').of(Note)\n",
    "import dataclasses, decimal, datetime": "import dataclasses, decimal, datetime",
    "import asyncio": "import asyncio",
    "import boto3": "import boto3",
    "boto3, a client": "import boto3; boto3.client('dynamodb', region_name='eu-west-1', aws_access_key_id='a', aws_secret_access_key='b')",
    "import pynamodb.models": "import pynamodb.models",
    "import aiodynamo.client": "import aiodynamo.client",
    "import pydynox": "import pydynox",
    "import dynamoxy": "import dynamoxy",
}


def milliseconds(program: str, environment: dict[str, str]) -> float | None:
    """Processor time of one process that runs the program; ``None`` where it fails, as for a client that is not installed."""
    quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", program], environment, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    return (used.ru_utime + used.ru_stime) * 1000 if status == 0 else None


def measure(runs: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        programs = {name: program for name, program in PROGRAMS.items() if milliseconds(program, environment) is not None}
        least: dict[str, float] = {}
        for _ in range(runs):
            for name, program in programs.items():
                used = milliseconds(program, environment)
                assert used is not None
                least[name] = min(used, least.get(name, used))
    return {name: used - least[EMPTY] for name, used in least.items() if name != EMPTY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    rows = measure(chosen.runs)
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return
    print("| program | ms over an empty interpreter |\n|---|---|")
    for name, used in rows.items():
        print(f"| `{name}` | {used:.1f} |")


if __name__ == "__main__":
    main()
