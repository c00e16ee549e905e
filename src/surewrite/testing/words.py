"""Belongs here: the word that a call's result or error stands for. Must not be here: whether the word is true."""

from __future__ import annotations

from typing import Any

from surewrite.core.outcomes import Canceled, Refused
from surewrite.errors import ConnectionFailed, InvalidRequest, OldItemLost, OutcomeUnknown, Throttled, WriteRefused
from surewrite.testing.ledger import READ_VERBS, WRITE_VERBS, Call, Word


def word_of(call: Call, result: Any, error: BaseException | None) -> Word:
    """What the caller was told. Errors that say nothing about the data, such as those of the user's own code, are ``failed``."""
    writes = call.verb in WRITE_VERBS
    match error:
        case None:
            if not writes:
                return "read" if call.verb in READ_VERBS else "done"
            if isinstance(result, (Refused, Canceled)):
                return "refused"
            return "applied" if call.write_attempts() else "read"
        case OutcomeUnknown():
            return "unknown"
        case OldItemLost():
            return "applied"
        case WriteRefused() | Throttled() | ConnectionFailed() | InvalidRequest() if writes:
            return "refused"
        case Exception():
            return "failed"
        case _:
            return "interrupted"
