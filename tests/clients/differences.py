"""Where a third party does not do what DynamoDB does. Each is an expectation: the suite asserts the wrong behaviour, and fails when it is mended.

Belongs here: what is known, and why. Must not be here: tests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """``why`` says what the third party does. Where the client refuses because of it, ``error`` is a part of the message of its ``InvalidRequest``."""

    why: str
    error: str | None = None


DIFFERENCES: dict[tuple[str, str], Difference] = {
    ("moto", "transactions honour tokens"): Difference(
        "moto executes a repeated ClientRequestToken again, so no transaction could be promised to happen once, and the client makes none there",
        "ignores the tokens",
    ),
    ("moto", "an item may have 409,600 bytes"): Difference("moto refuses items of about 405,000 bytes and more", "Item size has exceeded"),
    ("moto", "requests side by side do not disturb each other"): Difference(
        "moto reads and writes an item in steps that requests of other threads come between, so which updates are lost is chance;"
        " there the suite asks one after another"
    ),
    ("ministack", "a page has at most 1 MB"): Difference("ministack answers a query with all items in one page, however large"),
    ("moto", "a transactional get reads a hundred items"): Difference("moto takes 25 items", "less than or equal to 25"),
    ("moto", "a name in a map is not empty"): Difference("moto stores a member without a name, in a form that cannot be read"),
    ("ministack", "a name in a map is not empty"): Difference("ministack stores a member without a name"),
    ("moto", "the name of a table has three characters or more"): Difference("moto makes a table of any name"),
    ("moto", "a condition may be negated twice"): Difference("moto answers 500 to NOT before NOT"),
}


def difference(place: str, rule: str) -> Difference | None:
    """What is known to be different there; ``None`` where the rule holds. A rule that no entry names is a mistake of the test."""
    if all(known != rule for _, known in DIFFERENCES):
        raise AssertionError(f"no difference is known by the name {rule!r}")
    return DIFFERENCES.get((place, rule))
