"""The explorer: every promise holds on every schedule of its small world, and every wrong rule is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surewrite.core.decisions import TABLES, AnswerClass, Decision, Guard
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest
from surewrite.testing.explorer import Verdict, case_names, explore
from surewrite.testing.explorer.clients import Patience, Point, Told
from surewrite.testing.explorer.exploration import CASES
from surewrite.testing.explorer.promises import Promise, breach
from surewrite.testing.explorer.search import Search
from surewrite.testing.explorer.stage import Stage

SHORT = {
    "applied (exactly once)": "once",
    "applied": "applied",
    "applied (gone)": "gone",
    "refused": "refused",
    "unknown": "unknown",
    "unknown (superseded)": "superseded",
}

# How many states each world has at least, and every word that is told in it: a promise must not hold for want of schedules.
HOLDS = {
    "create": (593, "once applied refused unknown"),
    "create-by-definite-answers": (707, "once applied refused unknown"),
    "create-while-nobody-deletes": (171, "once applied refused unknown"),
    "create-without-late-copies": (407, "once applied refused unknown"),
    "create-never-resent": (137, "once refused unknown"),
    "create-refused-without-item": (4926, "once applied refused unknown"),
    "create-over-told-resends": (1195, "applied unknown"),
    "create-over-a-grave": (451, "once applied unknown"),
    "upsert-over-an-expired-item": (4224, "once applied unknown"),
    "upsert-over-an-expired-item-by-definite-answers": (3190, "once applied refused unknown"),
    "upsert-over-an-expired-item-with-a-condition": (8175, "once applied refused unknown"),
    "create-with-stamps-off": (464, "once applied refused unknown"),
    "create-over-unseen-resends-while-nobody-deletes": (342, "once applied refused unknown"),
    "put": (265, "once applied unknown"),
    "put-alone": (15, "applied unknown"),
    "put-never-resent": (96, "once unknown"),
    "update-of-constants": (823, "once applied refused unknown"),
    "update-of-constants-by-definite-answers": (866, "once applied refused unknown"),
    "transition-that-never-comes-back": (42, "once applied refused unknown"),
    "upsert": (409, "once applied unknown"),
    "upsert-of-the-first-version": (171, "once applied refused unknown"),
    "delete-by-key": (501, "once applied gone refused unknown"),
    "delete-by-key-refused-without-item": (4287, "once applied gone refused unknown"),
    "delete-by-key-by-definite-answers": (722, "once applied gone refused unknown"),
    "delete-by-key-never-resent": (136, "once refused unknown"),
    "add": (150, "once refused unknown"),
    "add-resent-on-request": (621, "once applied refused unknown"),
    "add-by-definite-answers": (412, "once refused unknown"),
    "take": (150, "once refused unknown"),
    "update-that-ignores-the-version": (190, "once refused unknown"),
    "take-alone": (15, "applied unknown"),
    "add-over-told-resends-by-its-word": (452, "applied unknown"),
    "save": (10255, "once refused unknown"),
    "save-while-nobody-deletes": (230, "once refused unknown"),
    "save-by-definite-answers": (831, "once refused unknown"),
    "save-refused-without-item": (19120, "once refused unknown"),
    "save-over-told-resends": (1813, "once refused unknown"),
    "save-among-old-copies": (5942, "once refused unknown"),
    "update-of-the-loaded": (10255, "once refused unknown"),
    "update-of-the-loaded-with-a-condition": (3174, "refused unknown"),
    "delete-of-the-loaded": (8269, "once gone refused unknown"),
    "delete-of-the-loaded-refused-without-item": (18601, "once gone refused unknown"),
    "put-if-unchanged": (1393, "once refused unknown"),
    "delete-if-unchanged": (1198, "once gone refused unknown"),
    "update-by-version-while-nobody-deletes": (230, "once refused unknown"),
    "update-by-version-among-deletes": (546, "once refused unknown"),
    "update-by-version-refused-without-item": (3506, "once refused unknown"),
    "delete-by-version-while-nobody-makes-anew": (384, "once gone refused unknown"),
    "save-with-stamps-off-while-nobody-deletes": (171, "once refused unknown"),
    "save-by-version-and-birth": (10131, "once refused unknown"),
    "apply-if-newer": (84, "once applied refused unknown superseded"),
    "apply-if-newer-to-nothing": (84, "once applied refused unknown superseded"),
    "update-if-newer": (1269, "once refused unknown superseded"),
    "operation-id-among-deletes": (542, "once refused unknown"),
    "operation-id": (183, "once unknown"),
    "operation-id-shared": (223, "once refused unknown"),
    "sequence-of-a-writer": (373, "once unknown superseded"),
    "transaction-take-forgotten": (10574, "once refused unknown"),
    "transaction-take-remembered": (17454, "once refused unknown"),
    "transaction-add-forgotten": (11152, "once refused unknown"),
    "transaction-add-remembered": (14014, "once refused unknown"),
    "transaction-create-forgotten": (8623, "once refused unknown"),
    "transaction-create-remembered": (14141, "once refused unknown"),
    "transaction-delete-forgotten": (7532, "once refused unknown"),
    "transaction-delete-remembered": (10670, "once refused unknown"),
    "transaction-put-forgotten": (8020, "once refused unknown"),
    "transaction-put-remembered": (8020, "once refused unknown"),
    "transaction-save": (9224, "once refused unknown"),
    "transaction-busy": (173505, "once refused unknown"),
    "transaction-busy-remembered": (207557, "once refused unknown"),
    "transaction-named": (11354, "once refused unknown"),
    "transaction-over-an-expired-item": (19719, "once refused unknown"),
    "transaction-over-told-resends": (24219, "once refused unknown"),
    "transaction-of-two": (5962, "once refused unknown"),
    "transaction-refused-without-item": (5583, "once refused unknown"),
    "transaction-named-twice": (7563, "once refused unknown"),
    "transaction-named-restarted": (6482, "once refused unknown"),
    "transaction-frozen": (1655, "once refused unknown"),
    "transaction-without-late-copies": (801, "once refused unknown"),
    "transaction-refused-in-doubt": (133, "applied refused unknown"),
    "operation-row": (575, "applied refused unknown"),
    "claims-update": (12, "applied refused"),
    "claims-update-on-the-old-value": (12, "applied refused"),
    "claims-there-and-back": (13, "applied refused"),
    "claims-upsert": (12, "applied refused"),
    "claims-put": (7, "applied refused"),
    "claims-delete": (56, "applied refused"),
    "claims-unset": (25, "applied refused"),
}

# What the last state of the shortest counter-schedule shows, for rules that are wrong and limits that the pages state.
BREAKS = {
    "create-resurrects": ("told unknown, took effect twice", 7),
    "create-resurrects-without-late-copies": ("told applied, took effect twice", 7),
    "create-naive-refusal": ("told refused, took effect", 8),
    "create-naive-definite-answers": ("told refused, took effect", 5),
    "create-over-unseen-resends": ("told applied (exactly once), took effect twice", 6),
    "create-naive-grave": ("told unknown, took effect twice", 7),
    "put-naive-stamp-guard": ("told unknown, took effect twice", 7),
    "transition-that-comes-back": ("told unknown, took effect twice", 7),
    "transition-naive-stamp-guard": ("told unknown, took effect twice", 7),
    "update-naive-not-found": ("told refused, took effect", 7),
    "delete-hits-a-new-life": ("told unknown, took effect twice", 7),
    "delete-naive-absence": ("told applied, never took effect", 6),
    "take-naive-stamp-guard": ("told unknown, took effect twice", 7),
    "add-over-unseen-resends": ("told applied (exactly once), took effect twice", 5),
    "add-over-told-resends": ("told applied, took effect twice", 5),
    "update-by-version-hits-a-new-life": ("told unknown, took effect twice", 8),
    "delete-by-version-hits-a-new-life": ("told unknown, took effect twice", 7),
    "save-with-stamps-off": ("told unknown, took effect twice", 8),
    "save-among-resets": ("told refused, took effect", 8),
    "save-by-version-and-birth-among-resets": ("told unknown, took effect twice", 7),
    "save-by-stamp-among-resets": ("told refused, took effect", 8),
    "save-over-unseen-resends": ("told refused, took effect", 6),
    "save-naive": ("told refused, took effect", 6),
    "save-naive-refusal": ("told refused, took effect", 7),
    "save-naive-number": ("told unknown, took effect twice", 8),
    "save-naive-without-birth": ("told refused, took effect", 9),
    "save-naive-plain-stamp": ("told refused, took effect", 7),
    "save-naive-old-copy": ("told refused, took effect", 7),
    "apply-if-newer-after-a-delete": ("told unknown, took effect twice", 7),
    "operation-id-after-a-delete": ("told unknown, took effect twice", 8),
    "operation-id-naive-role": ("told unknown, took effect twice", 7),
    "token-outlived": ("told applied (exactly once), took effect twice", 7),
    "token-ignored": ("told applied (exactly once), took effect twice", 6),
    "token-naive-refusal": ("told refused, took effect", 8),
    "token-naive-refusal-of-a-create": ("told refused, took effect", 8),
    "token-naive-fresh": ("told applied, took effect twice", 6),
    "token-naive-fence": ("told refused, took effect", 6),
    "token-naive-thaw": ("told applied, took effect twice", 6),
    "claims-naive-update": ("m3 is claimed for a, which has m4: it stays taken", 5),
    "claims-naive-upsert": ("m3 is claimed for a, which has m4: it stays taken", 5),
    "claims-naive-there-and-back": ("an update took effect twice", 6),
}


# A world of so many states takes seconds.
SLOW_STATES = 100_000


def look(name: str) -> Verdict:
    return explore([name]).verdicts[0]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if states > SLOW_STATES else name for name, (states, _) in HOLDS.items()])
def test_the_promise_holds_on_every_schedule(name: str) -> None:
    verdict = look(name)
    states, words = HOLDS[name]
    assert verdict.untrue is None, verdict.text
    assert {SHORT[word] for word in verdict.words} == set(words.split())
    assert verdict.states >= states


@pytest.mark.parametrize("name", BREAKS)
def test_the_shortest_counter_schedule_is_found(name: str) -> None:
    verdict = look(name)
    untrue, lines = BREAKS[name]
    assert (verdict.untrue, len(verdict.story), verdict.as_expected) == (untrue, lines, True), verdict.text


def test_every_case_stands_in_one_of_the_two_tables() -> None:
    assert sorted([*HOLDS, *BREAKS]) == sorted(case_names())


# One cell of the table told more boldly, and a case that must find it.
MUTANTS = [
    (Guard.IDEMPOTENT, False, AnswerClass.ABSENT, Decision.APPLIED, "add-resent-on-request"),
    (Guard.IDEMPOTENT, True, AnswerClass.ABSENT, Decision.REFUSED, "add-resent-on-request"),
    (Guard.IDEMPOTENT, False, AnswerClass.BUSY, Decision.APPLIED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, True, AnswerClass.BUSY, Decision.REJECTED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, False, AnswerClass.DONE, Decision.REFUSED, "put-alone"),
    (Guard.IDEMPOTENT, True, AnswerClass.DONE, Decision.REFUSED, "put-alone"),
    (Guard.IDEMPOTENT, False, AnswerClass.NOT_SENT, Decision.APPLIED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, True, AnswerClass.NOT_SENT, Decision.REJECTED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "put-alone"),
    (Guard.IDEMPOTENT, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "put-alone"),
    (Guard.IDEMPOTENT, False, AnswerClass.OTHER, Decision.APPLIED, "transition-that-never-comes-back"),
    (Guard.IDEMPOTENT, True, AnswerClass.OTHER, Decision.REFUSED, "transition-that-never-comes-back"),
    (Guard.IDEMPOTENT, False, AnswerClass.OWN, Decision.REFUSED, "create-over-unseen-resends-while-nobody-deletes"),
    (Guard.IDEMPOTENT, True, AnswerClass.OWN, Decision.REFUSED, "put-alone"),
    (Guard.IDEMPOTENT, False, AnswerClass.REJECTED, Decision.APPLIED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, True, AnswerClass.REJECTED, Decision.REFUSED, "create-by-definite-answers"),
    (Guard.IDEMPOTENT, False, AnswerClass.UNSEEN, Decision.APPLIED, "create-refused-without-item"),
    (Guard.IDEMPOTENT, True, AnswerClass.UNSEEN, Decision.REFUSED, "create-refused-without-item"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.ABSENT, Decision.APPLIED, "delete-by-key-never-resent"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.ABSENT, Decision.REFUSED, "delete-by-key"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.BUSY, Decision.APPLIED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.BUSY, Decision.REJECTED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.DONE, Decision.REFUSED, "delete-by-key-never-resent"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.DONE, Decision.REFUSED, "delete-by-key"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.NOT_SENT, Decision.APPLIED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.NOT_SENT, Decision.REJECTED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-by-key-never-resent"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-by-key"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.REJECTED, Decision.APPLIED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.REJECTED, Decision.REFUSED, "delete-by-key-by-definite-answers"),
    (Guard.IDEMPOTENT_DELETE, False, AnswerClass.UNSEEN, Decision.APPLIED, "delete-by-key-refused-without-item"),
    (Guard.IDEMPOTENT_DELETE, True, AnswerClass.UNSEEN, Decision.REFUSED, "delete-by-key-refused-without-item"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.ABSENT, Decision.APPLIED, "add"),
    (Guard.NOT_IDEMPOTENT, True, AnswerClass.ABSENT, Decision.REFUSED, "add-over-told-resends-by-its-word"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.BUSY, Decision.APPLIED, "add-by-definite-answers"),
    (Guard.NOT_IDEMPOTENT, True, AnswerClass.BUSY, Decision.REFUSED, "add-over-told-resends-by-its-word"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.DONE, Decision.REFUSED, "add"),
    (Guard.NOT_IDEMPOTENT, True, AnswerClass.DONE, Decision.REFUSED, "add-over-told-resends-by-its-word"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.NOT_SENT, Decision.APPLIED, "add-by-definite-answers"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.NO_ANSWER, Decision.REFUSED, "add"),
    (Guard.NOT_IDEMPOTENT, False, AnswerClass.REJECTED, Decision.APPLIED, "add-by-definite-answers"),
    (Guard.NOT_IDEMPOTENT, True, AnswerClass.REJECTED, Decision.REFUSED, "add-over-told-resends-by-its-word"),
    (Guard.OPERATION_ID, False, AnswerClass.ABSENT, Decision.APPLIED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, True, AnswerClass.ABSENT, Decision.REFUSED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, False, AnswerClass.BUSY, Decision.APPLIED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, True, AnswerClass.BUSY, Decision.REJECTED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, True, AnswerClass.COUNTED, Decision.REFUSED, "operation-id"),
    (Guard.OPERATION_ID, False, AnswerClass.DONE, Decision.REFUSED, "operation-id"),
    (Guard.OPERATION_ID, True, AnswerClass.DONE, Decision.REFUSED, "operation-id"),
    (Guard.OPERATION_ID, False, AnswerClass.NOT_SENT, Decision.APPLIED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, True, AnswerClass.NOT_SENT, Decision.REJECTED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "operation-id"),
    (Guard.OPERATION_ID, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "operation-id"),
    (Guard.OPERATION_ID, True, AnswerClass.OWN, Decision.REFUSED, "operation-id"),
    (Guard.OPERATION_ID, False, AnswerClass.REJECTED, Decision.APPLIED, "operation-id-among-deletes"),
    (Guard.OPERATION_ID, True, AnswerClass.REJECTED, Decision.REFUSED, "operation-id-among-deletes"),
    (Guard.ORDER, False, AnswerClass.ABSENT, Decision.APPLIED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.ABSENT, Decision.REFUSED, "update-if-newer"),
    (Guard.ORDER, False, AnswerClass.BUSY, Decision.APPLIED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.BUSY, Decision.REJECTED, "update-if-newer"),
    (Guard.ORDER, False, AnswerClass.DONE, Decision.REFUSED, "apply-if-newer"),
    (Guard.ORDER, True, AnswerClass.DONE, Decision.REFUSED, "apply-if-newer"),
    (Guard.ORDER, False, AnswerClass.NEWER, Decision.APPLIED, "apply-if-newer"),
    (Guard.ORDER, True, AnswerClass.NEWER, Decision.REFUSED, "apply-if-newer"),
    (Guard.ORDER, False, AnswerClass.NOT_SENT, Decision.APPLIED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.NOT_SENT, Decision.REJECTED, "update-if-newer"),
    (Guard.ORDER, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "apply-if-newer"),
    (Guard.ORDER, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "apply-if-newer"),
    (Guard.ORDER, False, AnswerClass.OTHER, Decision.APPLIED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.OTHER, Decision.REFUSED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.OWN, Decision.REFUSED, "apply-if-newer"),
    (Guard.ORDER, False, AnswerClass.REJECTED, Decision.APPLIED, "update-if-newer"),
    (Guard.ORDER, True, AnswerClass.REJECTED, Decision.REFUSED, "update-if-newer"),
    (Guard.STAMPED, False, AnswerClass.ABSENT, Decision.APPLIED, "save-by-definite-answers"),
    (Guard.STAMPED, True, AnswerClass.ABSENT, Decision.REFUSED, "save-by-definite-answers"),
    (Guard.STAMPED, False, AnswerClass.BUSY, Decision.APPLIED, "save-by-definite-answers"),
    (Guard.STAMPED, True, AnswerClass.BUSY, Decision.REJECTED, "save-by-definite-answers"),
    (Guard.STAMPED, False, AnswerClass.DONE, Decision.REFUSED, "save-while-nobody-deletes"),
    (Guard.STAMPED, True, AnswerClass.DONE, Decision.REFUSED, "save-while-nobody-deletes"),
    (Guard.STAMPED, False, AnswerClass.NEVER, Decision.APPLIED, "save-while-nobody-deletes"),
    (Guard.STAMPED, True, AnswerClass.NEVER, Decision.APPLIED, "save-while-nobody-deletes"),
    (Guard.STAMPED, False, AnswerClass.NOT_SENT, Decision.APPLIED, "save-by-definite-answers"),
    (Guard.STAMPED, True, AnswerClass.NOT_SENT, Decision.REJECTED, "save-by-definite-answers"),
    (Guard.STAMPED, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "save-while-nobody-deletes"),
    (Guard.STAMPED, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "save-while-nobody-deletes"),
    (Guard.STAMPED, False, AnswerClass.OTHER, Decision.APPLIED, "save-while-nobody-deletes"),
    (Guard.STAMPED, True, AnswerClass.OTHER, Decision.REFUSED, "save-while-nobody-deletes"),
    (Guard.STAMPED, True, AnswerClass.OWN, Decision.REFUSED, "save-while-nobody-deletes"),
    (Guard.STAMPED, False, AnswerClass.REBORN, Decision.APPLIED, "save-by-definite-answers"),
    (Guard.STAMPED, True, AnswerClass.REBORN, Decision.REFUSED, "save-by-definite-answers"),
    (Guard.STAMPED, False, AnswerClass.REJECTED, Decision.APPLIED, "save-by-definite-answers"),
    (Guard.STAMPED, True, AnswerClass.REJECTED, Decision.REFUSED, "save-by-definite-answers"),
    (Guard.STAMPED, False, AnswerClass.UNSEEN, Decision.APPLIED, "save-refused-without-item"),
    (Guard.STAMPED, True, AnswerClass.UNSEEN, Decision.REFUSED, "save-refused-without-item"),
    (Guard.STAMPED_DELETE, False, AnswerClass.ABSENT, Decision.APPLIED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, True, AnswerClass.ABSENT, Decision.REFUSED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, False, AnswerClass.DONE, Decision.REFUSED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, True, AnswerClass.DONE, Decision.REFUSED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, False, AnswerClass.NEVER, Decision.APPLIED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, True, AnswerClass.NEVER, Decision.APPLIED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, False, AnswerClass.REBORN, Decision.APPLIED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, True, AnswerClass.REBORN, Decision.REFUSED, "delete-of-the-loaded"),
    (Guard.STAMPED_DELETE, False, AnswerClass.UNSEEN, Decision.APPLIED, "delete-of-the-loaded-refused-without-item"),
    (Guard.STAMPED_DELETE, True, AnswerClass.UNSEEN, Decision.REFUSED, "delete-of-the-loaded-refused-without-item"),
    (Guard.TOKEN, False, AnswerClass.BUSY, Decision.APPLIED, "transaction-busy"),
    (Guard.TOKEN, True, AnswerClass.BUSY, Decision.REJECTED, "transaction-busy"),
    (Guard.TOKEN, False, AnswerClass.DONE, Decision.REFUSED, "transaction-without-late-copies"),
    (Guard.TOKEN, True, AnswerClass.DONE, Decision.REFUSED, "transaction-without-late-copies"),
    (Guard.TOKEN, False, AnswerClass.IN_PROGRESS, Decision.APPLIED, "transaction-busy"),
    (Guard.TOKEN, True, AnswerClass.IN_PROGRESS, Decision.REJECTED, "transaction-busy"),
    (Guard.TOKEN, True, AnswerClass.MISMATCH, Decision.APPLIED, "transaction-named-twice"),
    (Guard.TOKEN, False, AnswerClass.NOT_SENT, Decision.APPLIED, "transaction-busy"),
    (Guard.TOKEN, True, AnswerClass.NOT_SENT, Decision.REJECTED, "transaction-busy"),
    (Guard.TOKEN, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "transaction-without-late-copies"),
    (Guard.TOKEN, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "transaction-without-late-copies"),
    (Guard.TOKEN, False, AnswerClass.OTHER, Decision.APPLIED, "transaction-without-late-copies"),
    (Guard.TOKEN, True, AnswerClass.OTHER, Decision.REFUSED, "transaction-refused-without-item"),
    (Guard.TOKEN, False, AnswerClass.REJECTED, Decision.APPLIED, "transaction-busy"),
    (Guard.TOKEN, True, AnswerClass.REJECTED, Decision.REFUSED, "transaction-busy"),
    (Guard.VERSION, False, AnswerClass.ABSENT, Decision.APPLIED, "update-by-version-among-deletes"),
    (Guard.VERSION, True, AnswerClass.ABSENT, Decision.REFUSED, "update-by-version-among-deletes"),
    (Guard.VERSION, False, AnswerClass.BUSY, Decision.APPLIED, "update-by-version-among-deletes"),
    (Guard.VERSION, True, AnswerClass.BUSY, Decision.REJECTED, "update-by-version-among-deletes"),
    (Guard.VERSION, False, AnswerClass.DONE, Decision.REFUSED, "upsert-of-the-first-version"),
    (Guard.VERSION, True, AnswerClass.DONE, Decision.REFUSED, "upsert-of-the-first-version"),
    (Guard.VERSION, False, AnswerClass.NOT_SENT, Decision.APPLIED, "update-by-version-among-deletes"),
    (Guard.VERSION, True, AnswerClass.NOT_SENT, Decision.REJECTED, "update-by-version-among-deletes"),
    (Guard.VERSION, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "upsert-of-the-first-version"),
    (Guard.VERSION, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "upsert-of-the-first-version"),
    (Guard.VERSION, False, AnswerClass.OTHER, Decision.APPLIED, "upsert-of-the-first-version"),
    (Guard.VERSION, True, AnswerClass.OTHER, Decision.REFUSED, "save-with-stamps-off-while-nobody-deletes"),
    (Guard.VERSION, True, AnswerClass.OWN, Decision.REFUSED, "upsert-of-the-first-version"),
    (Guard.VERSION, False, AnswerClass.REJECTED, Decision.APPLIED, "update-by-version-among-deletes"),
    (Guard.VERSION, True, AnswerClass.REJECTED, Decision.REFUSED, "update-by-version-among-deletes"),
    (Guard.VERSION, False, AnswerClass.UNSEEN, Decision.APPLIED, "update-by-version-refused-without-item"),
    (Guard.VERSION, True, AnswerClass.UNSEEN, Decision.REFUSED, "update-by-version-refused-without-item"),
    (Guard.VERSION_DELETE, False, AnswerClass.ABSENT, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.ABSENT, Decision.REFUSED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.BUSY, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.BUSY, Decision.REJECTED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.DONE, Decision.REFUSED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.DONE, Decision.REFUSED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.NOT_SENT, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.NOT_SENT, Decision.REJECTED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.NO_ANSWER, Decision.REJECTED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.OTHER, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.OTHER, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, False, AnswerClass.REJECTED, Decision.APPLIED, "delete-by-version-while-nobody-makes-anew"),
    (Guard.VERSION_DELETE, True, AnswerClass.REJECTED, Decision.REFUSED, "delete-by-version-while-nobody-makes-anew"),
]


@pytest.mark.parametrize(("guard", "in_doubt", "answer", "wrong", "name"), MUTANTS)
def test_a_bolder_cell_of_the_table_is_found(
    guard: Guard, in_doubt: bool, answer: AnswerClass, wrong: Decision, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = list(TABLES[guard][answer])
    row[in_doubt] = wrong
    monkeypatch.setitem(TABLES, guard, TABLES[guard] | {answer: (row[0], row[1])})
    assert look(name).untrue is not None


def test_a_double_take_is_told_in_words_that_a_person_follows() -> None:
    assert look("take-naive-stamp-guard").story == (
        "A sends attempt 1.",
        "The service carries out attempt 1: done. Stored now: x (birth -:L, stamp -:A, amount 7, status paid).",
        "A gets no answer to attempt 1. A sends attempt 2.",
        "A gets no answer to attempt 2. A is told unknown.",
        "Another: reads the item and saves it. Stored now: x (birth -:L, stamp -:x0, amount 7, status paid).",
        "The service carries out attempt 2, late: done. Stored now: x (birth -:L, stamp -:A, amount 4, status paid).",
        "Untrue: told unknown, took effect twice.",
    )


def test_a_refusal_by_token_is_told_with_the_item_that_refused() -> None:
    refused = "refused by x (birth -:L, stamp -:x0, amount 0, status paid)"
    assert f"A receives the answer to attempt 2: cancelled: {refused}. A is told refused." in look("token-naive-refusal").story


def test_a_definite_answer_to_a_resend_is_told_as_not_carried_out() -> None:
    assert "The service does not carry out attempt 2: turned away with AccessDeniedException. A is told refused." in look("create-naive-definite-answers").story


def test_a_resend_of_the_transport_is_told_as_such() -> None:
    assert any("as the transport sent it a second time: done" in line for line in look("add-over-told-resends").story)


def test_a_frozen_client_is_told_as_such() -> None:
    assert any(line.startswith("A is frozen for 14 minutes") for line in look("token-naive-thaw").story)


def test_a_forgotten_token_is_told_as_such() -> None:
    assert "Ten minutes pass: the service forgets the token." in look("token-outlived").story


@pytest.mark.parametrize(
    ("told", "promise", "item", "untrue"),
    [
        (Told("applied", gone=True), Promise("once", life="1:L"), {"_b": {"S": "1:L"}}, "told gone, and the item that was loaded is still there"),
        (Told("applied", gone=True), Promise("once", life="1:L"), {"_b": {"S": "1:x0"}}, None),
        (Told("unknown", superseded=True), Promise("once", order=20), {"amount": {"N": "15"}}, "told superseded, and no newer order is stored"),
        (Told("unknown", superseded=True), Promise("once", order=20), None, "told superseded, and no newer order is stored"),
        (Told("unknown", superseded=True), Promise("once", order=20), {"amount": {"N": "20"}}, None),
        (Told("unknown"), Promise("once", settles=True), None, "told unknown, though everything that was sent to settle it was answered"),
        (Told("applied", once=True), Promise("any number"), None, "told applied (exactly once), never took effect"),
        (Told("refused"), Promise("operation"), None, None),
    ],
)
def test_a_finer_word_promises_more(told: Told, promise: Promise, item: Item | None, untrue: str | None) -> None:
    point = Point(0, -1, "", "write", told, unsettled=False, answers=())
    assert breach(promise, point, 0, item) == untrue


def test_a_search_that_runs_out_of_budget_shows_nothing() -> None:
    case = next(case for case in CASES if case.name == "save")
    found = Search(Stage(), case.world, case.start, case.promise, Patience(), states_max=100).run()
    assert (found.complete, found.schedule) == (False, None)
    verdict = replace(look("save"), complete=False)
    assert not verdict.as_expected
    assert "out of budget; expected that it holds" in verdict.text


def test_the_text_of_a_verdict_has_claim_count_and_schedule() -> None:
    lines = look("save-naive").text.splitlines()
    assert lines[0] == "save-naive: a conflict that is one's own earlier attempt"
    assert lines[1].startswith("  breaks: told refused, took effect (")
    assert lines[2] == "  1. A sends attempt 1."


def test_an_unexpected_verdict_says_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, Guard.STAMPED, TABLES[Guard.STAMPED] | {AnswerClass.OTHER: (Decision.REFUSED, Decision.REFUSED)})
    report = explore(["save"])
    assert not report.as_expected
    assert [verdict.name for verdict in report.surprises] == ["save"]
    assert "expected that it holds" in report.surprises[0].text


def test_verdicts_are_told_as_they_are_found_and_in_order() -> None:
    told: list[str] = []
    report = explore(["put", "add"], progress=lambda verdict: told.append(verdict.name))
    assert told == ["put", "add"] == [verdict.name for verdict in report.verdicts]
    assert report.states == sum(verdict.states for verdict in report.verdicts)


def test_a_full_search_looks_at_more_schedules() -> None:
    assert explore(["create"], full=True).states > explore(["create"]).states


def test_a_search_finds_the_same_each_time() -> None:
    assert explore(["save-naive-without-birth"]) == explore(["save-naive-without-birth"])


def test_a_name_that_no_case_has_is_an_error() -> None:
    with pytest.raises(InvalidRequest, match="no such case: nothing"):
        explore(["nothing"])
