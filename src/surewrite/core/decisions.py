"""Belongs here: the one table that decides what an answer means for a write. Must not be here: yielding effects, drawing random numbers.

**In doubt** is the state of a write after an attempt was sent, whole or in part, and no well-formed answer of the service
to it was read. It is sticky: no answer to a later attempt clears it, except a proof. The key of the table is therefore
(guard of the write, is it in doubt, what came of the latest attempt). Read a table by column: `TABLES[guard][answer]`
is a pair, what to do without doubt and what to do in doubt.

`RESEND` and `FENCE` are things to do; the deadline ends them, and `AT_THE_DEADLINE` says with which word. Everything
else is final.
"""

from __future__ import annotations

from enum import Enum

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success

BUSY_CODES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "LimitExceededException",
        "TransactionConflictException",
        "ReplicatedWriteConflictException",
    }
)
"""Nothing was written by that attempt and the next may pass. Source: the Developer Guide, error handling with DynamoDB."""

CONFLICT_CODES = frozenset({"TransactionConflictException", "ReplicatedWriteConflictException"})

_MISDATED: tuple[str, ...] = ("Signature expired", "Signature not yet current")
"""How the text of an ``InvalidSignatureException`` begins whose cause is the date alone. Any other one speaks of the keys."""

BUSY_REASONS = frozenset({"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"})
"""Reasons of a cancelled transaction that do not speak of its content. Source: the API reference of TransactWriteItems."""


class Guard(Enum):
    """What keeps a resend, or an attempt that is executed late, from changing the item a second time."""

    STAMPED = "loaded version and stamp"
    STAMPED_DELETE = "delete of a loaded entity"
    VERSION = "a version number that the write raises"
    VERSION_DELETE = "delete by a version number"
    ORDER = "an order that the write raises"
    OPERATION_ID = "an operation id that the write adds"
    TOKEN = "the client request token of a transaction"
    IDEMPOTENT = "none, but a second time changes nothing unless somebody wrote in between"
    IDEMPOTENT_DELETE = "none, a delete by key"
    NOT_IDEMPOTENT = "none, and a second time counts twice"

    # Members are equal only to themselves. The hash of Enum is a function of Python, called twice for each look into the table.
    __hash__ = object.__hash__

    @property
    def once(self) -> bool:
        """Whether an applied write of this guard certainly took effect exactly once, whatever was in doubt."""
        return self not in _UNGUARDED

    @property
    def deletes(self) -> bool:
        return self in (Guard.STAMPED_DELETE, Guard.VERSION_DELETE, Guard.IDEMPOTENT_DELETE)


_UNGUARDED = frozenset({Guard.IDEMPOTENT, Guard.IDEMPOTENT_DELETE, Guard.NOT_IDEMPOTENT})


class AnswerClass(Enum):
    """What came of the latest attempt, as far as the table needs to know."""

    DONE = "the service did it"
    OWN = "refused by an item that carries the write's own stamp or birth"
    COUNTED = "refused by an item that holds the write's operation id"
    NEVER = "refused by an item which proves that no attempt took effect or ever can"
    NEWER = "refused by an item with the same or a newer order"
    REBORN = "refused by an item of another life than the loaded one"
    ABSENT = "refused, and no item is stored"
    OTHER = "refused by any other item"
    UNSEEN = "refused by an item that the answer does not show"
    BUSY = "throttled, held by a running transaction, or signed for another time than the service's"
    REJECTED = "refused for a cause that no resend mends: rights, no such table, malformed"
    NOT_SENT = "the last byte of the request never left"
    NO_ANSWER = "no well-formed answer, or a server error"
    IN_PROGRESS = "an earlier attempt under this token is still running"
    MISMATCH = "the token belongs to another content"

    # As that of a guard.
    __hash__ = object.__hash__


PASSING = frozenset({AnswerClass.BUSY, AnswerClass.NOT_SENT, AnswerClass.NO_ANSWER, AnswerClass.IN_PROGRESS})
"""Answers that settle nothing: the same request may be answered otherwise later."""


class Decision(Enum):
    """What to do, or the final word."""

    RESEND = "send the same request again after a pause"
    READ = "read the item once, consistently, and classify again"
    FENCE = "settle it by the fence"
    APPLIED = "applied"
    RECOVERED = "applied, recognised as an own earlier attempt"
    GONE = "applied, the item is not there, by whose hand cannot be known"
    REFUSED = "refused by the stored item"
    REJECTED = "refused by the service, not by the item"
    UNKNOWN = "unknown"
    SUPERSEDED = "unknown, and this order or a newer one is stored"


_A, _D = AnswerClass, Decision
Row = tuple[Decision, Decision]
"""(without doubt, in doubt)"""

_COMMON: dict[AnswerClass, Row] = {
    _A.DONE: (_D.APPLIED, _D.APPLIED),
    _A.OWN: (_D.RECOVERED, _D.RECOVERED),
    _A.COUNTED: (_D.REFUSED, _D.RECOVERED),
    _A.NEVER: (_D.REFUSED, _D.REFUSED),
    _A.NEWER: (_D.REFUSED, _D.UNKNOWN),
    _A.REBORN: (_D.REFUSED, _D.UNKNOWN),
    _A.ABSENT: (_D.REFUSED, _D.UNKNOWN),
    _A.OTHER: (_D.REFUSED, _D.UNKNOWN),
    _A.UNSEEN: (_D.READ, _D.READ),
    _A.BUSY: (_D.RESEND, _D.RESEND),
    _A.REJECTED: (_D.REJECTED, _D.UNKNOWN),
    _A.NOT_SENT: (_D.RESEND, _D.RESEND),
    _A.NO_ANSWER: (_D.RESEND, _D.RESEND),
    _A.IN_PROGRESS: (_D.RESEND, _D.RESEND),
    _A.MISMATCH: (_D.REJECTED, _D.UNKNOWN),
}

TABLES: dict[Guard, dict[AnswerClass, Row]] = {
    Guard.STAMPED: _COMMON,
    Guard.STAMPED_DELETE: _COMMON | {_A.ABSENT: (_D.REFUSED, _D.GONE), _A.REBORN: (_D.REFUSED, _D.GONE)},
    Guard.VERSION: _COMMON,
    Guard.VERSION_DELETE: _COMMON | {_A.ABSENT: (_D.REFUSED, _D.GONE)},
    Guard.ORDER: _COMMON | {_A.NEWER: (_D.REFUSED, _D.SUPERSEDED)},
    Guard.OPERATION_ID: _COMMON,
    Guard.TOKEN: _COMMON
    | {
        _A.REBORN: (_D.REFUSED, _D.FENCE),
        _A.ABSENT: (_D.REFUSED, _D.FENCE),
        _A.OTHER: (_D.REFUSED, _D.FENCE),
        _A.NEVER: (_D.REFUSED, _D.FENCE),
        _A.NEWER: (_D.REFUSED, _D.FENCE),
        _A.COUNTED: (_D.REFUSED, _D.FENCE),
        _A.UNSEEN: (_D.REFUSED, _D.FENCE),
        _A.REJECTED: (_D.REJECTED, _D.FENCE),
        _A.MISMATCH: (_D.FENCE, _D.FENCE),
    },
    Guard.IDEMPOTENT: _COMMON,
    Guard.IDEMPOTENT_DELETE: _COMMON | {_A.ABSENT: (_D.REFUSED, _D.GONE)},
    Guard.NOT_IDEMPOTENT: _COMMON
    | {
        _A.BUSY: (_D.RESEND, _D.UNKNOWN),
        _A.NOT_SENT: (_D.RESEND, _D.UNKNOWN),
        _A.NO_ANSWER: (_D.UNKNOWN, _D.UNKNOWN),
        _A.IN_PROGRESS: (_D.RESEND, _D.UNKNOWN),
    },
}
"""One column per guard. `UNKNOWN` and `SUPERSEDED` never stand in a first place: without doubt every word can be shown,
but for the write that must not be sent again, whose first missing answer is the doubt."""

AT_THE_DEADLINE: dict[Decision, Row] = {
    _D.RESEND: (_D.REJECTED, _D.UNKNOWN),
    _D.READ: (_D.REFUSED, _D.UNKNOWN),
    _D.FENCE: (_D.REJECTED, _D.UNKNOWN),
}


def decide(guard: Guard, in_doubt: bool, answer: AnswerClass, *, raise_in_doubt: bool = False) -> Decision:  # noqa: FBT001 - the key of the table
    """The table, looked up. ``raise_in_doubt`` never sends again in doubt: the caller prefers unknown to "maybe twice"."""
    decision = TABLES[guard][answer][in_doubt]
    if raise_in_doubt and decision is Decision.RESEND and (in_doubt or brings_doubt(answer)):
        return Decision.UNKNOWN
    return decision


def decide_at_deadline(pending: Decision, in_doubt: bool) -> Decision:  # noqa: FBT001 - as above
    """The word where no time is left for what the table says to do."""
    return AT_THE_DEADLINE[pending][in_doubt]


def brings_doubt(answer: AnswerClass) -> bool:
    """Whether the attempt behind this answer may still take effect, so that the write is in doubt from now on."""
    return answer in (AnswerClass.NO_ANSWER, AnswerClass.IN_PROGRESS)


def class_of_answer(answer: Answer) -> AnswerClass | None:
    """The class of an answer that does not depend on the item; ``None`` where the condition failed and the item must be looked at."""
    match answer:
        case Success():
            return AnswerClass.DONE
        case NotSent():
            return AnswerClass.NOT_SENT
        case NoAnswer():
            return AnswerClass.NO_ANSWER
        case Rejection():
            return _class_of_rejection(answer)


def is_misdated(answer: Rejection) -> bool:
    """Whether the date of the request was refused, before anything else was looked at. The next attempt is signed for the time that this answer told."""
    return answer.code == "InvalidSignatureException" and answer.message.startswith(_MISDATED)


def _class_of_rejection(answer: Rejection) -> AnswerClass | None:
    if answer.code in ("ConditionalCheckFailedException", "TransactionCanceledException"):
        return None
    if answer.code == "TransactionInProgressException":
        return AnswerClass.IN_PROGRESS
    if answer.code == "IdempotentParameterMismatchException":
        return AnswerClass.MISMATCH
    if answer.code in BUSY_CODES or is_misdated(answer):
        return AnswerClass.BUSY
    return AnswerClass.NO_ANSWER if answer.status >= 500 else AnswerClass.REJECTED
