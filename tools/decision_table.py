"""Writes docs/decision-table.md from the table in the package: ``python tools/decision_table.py``. With ``--check`` it only compares.

Belongs here: the layout of that page. Must not be here: any rule of the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from surewrite.core.decisions import AT_THE_DEADLINE, TABLES, AnswerClass, Decision, Guard, Row, brings_doubt

PAGE = Path(__file__).resolve().parent.parent / "docs" / "decision-table.md"

INTRODUCTION = """\
# Decision table

Every write, single or in a transaction, asks one table what an answer means. Its key is what guards the write, whether
the write was in doubt before this answer, and what came of the latest attempt. This page is written from the table in
the package, by `tools/decision_table.py`; the explorer checks the table against every schedule of small worlds.

**In doubt** is a write after an attempt was sent, whole or in part, and no well-formed answer to it was read. It is
sticky: only a proof clears it, never a later answer.
"""


def page() -> str:
    """The whole page."""
    return "\n".join((INTRODUCTION, *_guards(), *_decisions(), *_common(), *_differences(), *_deadline()))


def _guards() -> Iterator[str]:
    yield "## What guards a write\n"
    yield "An applied write was applied exactly once, whatever was in doubt, if its guard says so, for one life of the item.\n"
    yield from _table(("guard", "what it is", "exactly once"), ((_name(guard), guard.value, "yes" if guard.once else "no") for guard in Guard))


def _decisions() -> Iterator[str]:
    yield "## What is done, or told\n"
    yield from _table(("decision", "what it is"), ((_name(decision), decision.value) for decision in Decision))


def common_rows() -> dict[AnswerClass, Row]:
    """For each answer the row that most guards have."""
    rows = {answer: [TABLES[guard][answer] for guard in Guard] for answer in AnswerClass}
    return {answer: max(found, key=found.count) for answer, found in rows.items()}


def _common() -> Iterator[str]:
    yield "## For every guard\n"
    yield 'Where a guard decides otherwise, the next section says so. With `in_doubt="raise"` the first missing answer is unknown, whatever the guard.\n'
    common = common_rows()
    rows = ((answer.value, _name(common[answer][0]), _name(common[answer][1]), "yes" if brings_doubt(answer) else "") for answer in AnswerClass)
    yield from _table(("what came of the attempt", "without doubt", "in doubt", "brings doubt"), rows)


def _differences() -> Iterator[str]:
    yield "## Where a guard decides otherwise\n"
    common = common_rows()
    rows = ((_name(guard), answer.value, _name(row[0]), _name(row[1])) for guard in Guard for answer, row in TABLES[guard].items() if row != common[answer])
    yield from _table(("guard", "what came of the attempt", "without doubt", "in doubt"), rows)


def _deadline() -> Iterator[str]:
    yield "## At the deadline\n"
    yield "What is told where no time is left for what the table says to do.\n"
    rows = ((_name(pending), _name(row[0]), _name(row[1])) for pending, row in AT_THE_DEADLINE.items())
    yield from _table(("still to be done", "without doubt", "in doubt"), rows)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' for _ in head)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _name(member: Guard | Decision) -> str:
    return member.name.replace("_", " ").lower()


def main() -> int:
    """Write the page, or compare it. The exit code of a comparison is 1 if the page is not current."""
    parser = argparse.ArgumentParser(description="Write the page of the decision table.")
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    if not current:
        print(f"{PAGE.name} is not what the table says: run python tools/decision_table.py")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
