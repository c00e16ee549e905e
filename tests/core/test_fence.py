"""What the answers to a fence, and to the write's own bytes, prove together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from surewrite.core.answers import Answer, NoAnswer, Reason, Rejection, Success
from surewrite.core.decisions import AnswerClass
from surewrite.core.effects import DrawRandom, Moment, Pause, ReadClock, Send
from surewrite.core.environment import Environment
from surewrite.core.fence import FenceWord, settle_by_fence
from surewrite.core.requests import Request
from surewrite.core.token_life import TokenLife
from surewrite.core.traits import EndpointTraits
from surewrite.core.transaction_drafts import TransactionPlan

START = Moment(1_000.0, 1_000.0, 0.0)
FENCE = Request("TransactWriteItems", {"TransactItems": ["fence"]})
PLAN = TransactionPlan((), {"TransactItems": ["write"]}, "token", None, FENCE)
DONE, MISMATCH, OTHER, REJECTED, NONE = AnswerClass.DONE, AnswerClass.MISMATCH, AnswerClass.OTHER, AnswerClass.REJECTED, AnswerClass.NO_ANSWER
REPLIES: dict[AnswerClass, Answer] = {
    DONE: Success({}),
    MISMATCH: Rejection("IdempotentParameterMismatchException"),
    OTHER: Rejection("TransactionCanceledException", reasons=(Reason("ConditionalCheckFailed"),)),
    REJECTED: Rejection("AccessDeniedException"),
    NONE: NoAnswer("no answer"),
}


def settle(answers: Sequence[AnswerClass]) -> FenceWord:
    """The word after these answers, and no answer to anything later; every pause takes a second."""
    environment = Environment(EndpointTraits("test"))
    left = iter(answers)
    classes = {id(reply): answer for answer, reply in REPLIES.items()}
    steps = settle_by_fence(environment, PLAN, TokenLife(START), lambda reply: classes[id(reply)])
    seconds = 0.0
    reply: object = None
    while True:
        try:
            effect = steps.send(reply)
        except StopIteration as stop:
            return stop.value
        match effect:
            case ReadClock():
                reply = Moment(1_000.0 + seconds, 1_000.0 + seconds, seconds)
            case DrawRandom():
                reply = 1.0
            case Pause():
                seconds += 1.0
                reply = None
            case Send():
                reply = REPLIES[next(left, NONE)]


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ([DONE], FenceWord.REFUSED),
        ([MISMATCH, DONE], FenceWord.APPLIED),
        ([MISMATCH, OTHER, DONE], FenceWord.REFUSED),
        ([MISMATCH, OTHER, MISMATCH], FenceWord.REFUSED),
        ([MISMATCH, OTHER, NONE, MISMATCH], FenceWord.REFUSED),
        ([MISMATCH, NONE, MISMATCH, DONE], FenceWord.APPLIED),
        ([MISMATCH, MISMATCH], FenceWord.REFUSED),
        ([REJECTED], FenceWord.UNKNOWN),
        ([NONE, NONE], FenceWord.UNKNOWN),
    ],
)
def test_the_word_follows_from_the_answers(answers: list[AnswerClass], word: FenceWord) -> None:
    assert settle(answers) is word


def test_rights_lost_while_asking_prove_nothing() -> None:
    # The write holds its token because it took effect; being turned away from asking is no cancellation.
    assert settle([MISMATCH, REJECTED, MISMATCH]) is FenceWord.UNKNOWN
