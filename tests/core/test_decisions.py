"""The decision table: complete, true to its rules row by row, and never a word that nothing proves."""

from __future__ import annotations

import itertools

import pytest

from surewrite.core.answers import NoAnswer, NotSent, Rejection, Success
from surewrite.core.decisions import (
    AT_THE_DEADLINE,
    BUSY_CODES,
    TABLES,
    AnswerClass,
    Decision,
    Guard,
    brings_doubt,
    class_of_answer,
    decide,
    decide_at_deadline,
)

A, D = AnswerClass, Decision
TO_DO = frozenset({D.RESEND, D.READ, D.FENCE})
UNKNOWNS = frozenset({D.UNKNOWN, D.SUPERSEDED})
CELLS = tuple(itertools.product(Guard, AnswerClass, (False, True)))
SINGLE = tuple(guard for guard in Guard if guard is not Guard.TOKEN)
LOOKED_AT = (A.OWN, A.COUNTED, A.NEVER, A.NEWER, A.REBORN, A.ABSENT, A.OTHER)
"""What a refusal can be once its item was looked at."""


@pytest.mark.parametrize(("guard", "answer", "in_doubt"), CELLS)
def test_every_cell_has_a_decision(guard: Guard, answer: AnswerClass, in_doubt: bool) -> None:
    assert isinstance(decide(guard, in_doubt, answer), Decision)


def test_every_guard_has_a_column_of_every_answer_and_of_nothing_else() -> None:
    assert set(TABLES) == set(Guard)
    for column in TABLES.values():
        assert set(column) == set(AnswerClass)


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("answer", AnswerClass)
def test_unknown_is_never_said_without_doubt_except_of_what_must_not_be_sent_again(guard: Guard, answer: AnswerClass) -> None:
    said = decide(guard, False, answer)
    if guard is Guard.NOT_IDEMPOTENT and answer is A.NO_ANSWER:
        assert said is D.UNKNOWN
    else:
        assert said not in UNKNOWNS


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("answer", AnswerClass)
def test_rejected_is_never_said_in_doubt(guard: Guard, answer: AnswerClass) -> None:
    assert decide(guard, True, answer) is not D.REJECTED


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("answer", AnswerClass)
def test_refused_is_said_in_doubt_only_of_an_item_that_proves_it(guard: Guard, answer: AnswerClass) -> None:
    if decide(guard, True, answer) is D.REFUSED:
        assert answer is A.NEVER
        assert guard is not Guard.TOKEN


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("answer", LOOKED_AT)
def test_a_refusal_without_doubt_is_final(guard: Guard, answer: AnswerClass) -> None:
    assert decide(guard, False, answer) is (D.RECOVERED if answer is A.OWN else D.REFUSED)


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("in_doubt", [False, True])
def test_the_own_stamp_is_a_proof_for_every_guard(guard: Guard, in_doubt: bool) -> None:
    assert decide(guard, in_doubt, A.OWN) is D.RECOVERED


@pytest.mark.parametrize("guard", Guard)
@pytest.mark.parametrize("in_doubt", [False, True])
def test_success_is_applied_for_every_guard(guard: Guard, in_doubt: bool) -> None:
    assert decide(guard, in_doubt, A.DONE) is D.APPLIED


@pytest.mark.parametrize("guard", SINGLE)
@pytest.mark.parametrize("answer", [A.ABSENT, A.REBORN])
def test_gone_is_said_of_deletes_in_doubt_and_of_nothing_else(guard: Guard, answer: AnswerClass) -> None:
    gone = guard.deletes and (answer is A.ABSENT or guard is Guard.STAMPED_DELETE)
    assert decide(guard, True, answer) is (D.GONE if gone else D.UNKNOWN)
    assert decide(guard, False, answer) is D.REFUSED


@pytest.mark.parametrize("guard", SINGLE)
def test_a_newer_order_is_told_in_doubt_where_an_order_guards(guard: Guard) -> None:
    assert decide(guard, True, A.NEWER) is (D.SUPERSEDED if guard is Guard.ORDER else D.UNKNOWN)


@pytest.mark.parametrize("guard", SINGLE)
def test_the_operation_id_on_the_item_is_a_proof_in_doubt_and_a_refusal_without(guard: Guard) -> None:
    assert decide(guard, True, A.COUNTED) is D.RECOVERED
    assert decide(guard, False, A.COUNTED) is D.REFUSED


@pytest.mark.parametrize("guard", SINGLE)
@pytest.mark.parametrize("in_doubt", [False, True])
def test_an_item_that_is_not_shown_is_read(guard: Guard, in_doubt: bool) -> None:
    assert decide(guard, in_doubt, A.UNSEEN) is D.READ


@pytest.mark.parametrize("answer", [A.COUNTED, A.NEVER, A.NEWER, A.REBORN, A.ABSENT, A.OTHER, A.UNSEEN, A.REJECTED, A.MISMATCH])
def test_a_transaction_refused_in_doubt_is_settled_by_the_fence(answer: AnswerClass) -> None:
    assert decide(Guard.TOKEN, True, answer) is D.FENCE


def test_a_token_that_belongs_to_other_content_is_settled_by_the_fence_even_without_doubt() -> None:
    assert decide(Guard.TOKEN, False, A.MISMATCH) is D.FENCE


@pytest.mark.parametrize("guard", SINGLE)
@pytest.mark.parametrize("answer", AnswerClass)
@pytest.mark.parametrize("in_doubt", [False, True])
def test_only_transactions_are_fenced(guard: Guard, answer: AnswerClass, in_doubt: bool) -> None:
    assert decide(guard, in_doubt, answer) is not D.FENCE


@pytest.mark.parametrize("answer", AnswerClass)
def test_a_write_that_is_not_idempotent_is_never_sent_again_in_doubt(answer: AnswerClass) -> None:
    assert decide(Guard.NOT_IDEMPOTENT, True, answer) is not D.RESEND
    if brings_doubt(answer) and answer is not A.IN_PROGRESS:
        assert decide(Guard.NOT_IDEMPOTENT, False, answer) is D.UNKNOWN


@pytest.mark.parametrize(("guard", "answer", "in_doubt"), CELLS)
def test_who_prefers_unknown_is_never_sent_again_in_doubt(guard: Guard, answer: AnswerClass, in_doubt: bool) -> None:
    chosen = decide(guard, in_doubt, answer, raise_in_doubt=True)
    if in_doubt or brings_doubt(answer):
        assert chosen is not D.RESEND
    else:
        assert chosen is decide(guard, in_doubt, answer)


@pytest.mark.parametrize("guard", [guard for guard in SINGLE if guard is not Guard.NOT_IDEMPOTENT])
@pytest.mark.parametrize("answer", [A.BUSY, A.NOT_SENT, A.NO_ANSWER])
@pytest.mark.parametrize("in_doubt", [False, True])
def test_other_writes_are_sent_again_where_that_can_help(guard: Guard, answer: AnswerClass, in_doubt: bool) -> None:
    assert decide(guard, in_doubt, answer) is D.RESEND


def test_every_thing_to_do_has_a_word_at_the_deadline_and_that_word_is_final() -> None:
    assert set(AT_THE_DEADLINE) == TO_DO
    for pending in TO_DO:
        assert decide_at_deadline(pending, in_doubt=True) is D.UNKNOWN
        assert decide_at_deadline(pending, in_doubt=False) in (D.REJECTED, D.REFUSED)


@pytest.mark.parametrize("answer", AnswerClass)
def test_only_a_missing_answer_and_a_running_attempt_bring_doubt(answer: AnswerClass) -> None:
    assert brings_doubt(answer) is (answer in (A.NO_ANSWER, A.IN_PROGRESS))


@pytest.mark.parametrize("code", sorted(BUSY_CODES))
def test_throttling_and_conflict_are_busy(code: str) -> None:
    assert class_of_answer(Rejection(code)) is A.BUSY


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Success({}), A.DONE),
        (NoAnswer("cut"), A.NO_ANSWER),
        (NotSent("refused"), A.NOT_SENT),
        (Rejection("ConditionalCheckFailedException"), None),
        (Rejection("TransactionCanceledException"), None),
        (Rejection("TransactionInProgressException"), A.IN_PROGRESS),
        (Rejection("IdempotentParameterMismatchException"), A.MISMATCH),
        (Rejection("InternalServerError", status=500), A.NO_ANSWER),
        (Rejection("ServiceUnavailable", status=503), A.NO_ANSWER),
        (Rejection("AccessDeniedException"), A.REJECTED),
        (Rejection("ExpiredTokenException"), A.REJECTED),
        (Rejection("InvalidSignatureException", "Signature expired: 20261129T100000Z is now earlier than 20261129T125500Z"), A.BUSY),
        (Rejection("InvalidSignatureException", "Signature not yet current: 20261129T100000Z is still later than 20261129T065500Z"), A.BUSY),
        (Rejection("InvalidSignatureException", "The request signature we calculated does not match the signature you provided."), A.REJECTED),
        (Rejection("ResourceNotFoundException"), A.REJECTED),
        (Rejection("ValidationException"), A.REJECTED),
    ],
)
def test_an_answer_has_its_class(answer: Success | Rejection | NoAnswer | NotSent, expected: AnswerClass | None) -> None:
    assert class_of_answer(answer) is expected


def test_guarded_writes_are_once_and_the_others_are_not() -> None:
    assert {guard for guard in Guard if not guard.once} == {Guard.IDEMPOTENT, Guard.IDEMPOTENT_DELETE, Guard.NOT_IDEMPOTENT}
