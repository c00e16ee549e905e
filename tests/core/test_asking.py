"""Requests that may be sent any number of times: when they are sent again, and what is told of the last answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.answers import Answer, NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.asking import ATTEMPTS_MAX, TIMEOUT_SECONDS_MIN, Reply, until_answered
from surewrite.core.effects import DrawRandom, Moment, Pause, ReadClock, Send, Steps
from surewrite.core.entities import TableLayout, schema_of
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.core.scopes import Scope
from surewrite.core.tables import create_table
from surewrite.core.token_probe import require_tokens
from surewrite.core.traits import EndpointTraits
from surewrite.core.transactional_reads import transact_get


class Note(Entity, partition_key="NOTE#{id}"):
    id: Attribute[str]


LAYOUT = TableLayout(("pk",), None, "_s", "_b")
NOTES = schema_of(Note).bind(LAYOUT)
START = Moment(1_000.0, 1_000.0, 100.0)
DEADLINE = 110.0
READ = Request("GetItem", {"TableName": "things", "Key": {}})
DONE, LOST, BUSY = Success({}), NoAnswer("lost"), Rejection("ThrottlingException")


def canceled(*codes: str) -> Rejection:
    return Rejection("TransactionCanceledException", reasons=tuple(Reason(code) for code in codes))


class Bench:
    """Answers in turn, the last one for ever. Every pause takes as long as it says, every attempt and clock no time."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.sent: list[Send] = []
        self.seconds = START.monotonic
        self.environment = Environment(EndpointTraits("the test"), timeout_seconds=2.0, deadline_seconds=DEADLINE - START.monotonic)

    def run(self, steps: Steps[Any]) -> Any:
        reply: object = None
        while True:
            try:
                effect = steps.send(reply)
            except StopIteration as stop:
                return stop.value
            match effect:
                case ReadClock():
                    reply = Moment(self.seconds + 900.0, self.seconds + 900.0, self.seconds)
                case DrawRandom():
                    reply = 0.9
                case Pause(seconds=seconds):
                    self.seconds += seconds
                    reply = None
                case Send():
                    self.sent.append(effect)
                    reply = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                case _:
                    reply = "an id"

    def ask(self) -> Reply:
        return self.run(until_answered(self.environment, READ, START, DEADLINE))

    def scope(self) -> Scope:
        return Scope(self.environment, "things", NOTES)


# ------------------------------------------------------------------------------------------------------------ the attempts


@pytest.mark.parametrize(
    "answer", [DONE, Rejection("AccessDeniedException"), canceled("ConditionalCheckFailed"), canceled("ThrottlingError", "ValidationError")]
)
def test_what_settles_the_request_is_asked_for_once(answer: Answer) -> None:
    assert Bench(answer).ask() == Reply(answer, 1, in_doubt=False)


@pytest.mark.parametrize(
    ("first", "in_doubt"),
    [
        (LOST, True),
        (Rejection("InternalServerError", status=500), True),
        (Rejection("TransactionInProgressException"), True),
        (NotSent("refused"), False),
        (BUSY, False),
        (Rejection("InvalidSignatureException", "Signature expired: 1 is now earlier than 2"), False),
        (canceled("None", "TransactionConflict"), False),
    ],
)
def test_what_settles_nothing_is_asked_again_and_doubt_is_told(first: Answer, in_doubt: bool) -> None:
    refused = Rejection("ResourceInUseException")
    assert Bench(first, refused).ask() == Reply(refused, 2, in_doubt)
    assert Bench(first, BUSY, DONE).ask() == Reply(DONE, 3, in_doubt)


@pytest.mark.parametrize("answer", [DONE, BUSY, Rejection("InternalServerError", status=500)])
def test_who_only_needs_to_hear_of_the_service_goes_on_with_any_answer(answer: Answer) -> None:
    bench = Bench(NotSent("refused"), LOST, answer, DONE)
    assert bench.run(until_answered(bench.environment, READ, START, DEADLINE, by_any_answer=True)) == Reply(answer, 3, in_doubt=True)


def test_an_answer_that_the_transport_sent_for_again_is_in_doubt() -> None:
    assert Bench(Rejection("ResourceInUseException", resent=True)).ask().in_doubt
    assert Bench(Success({}, resent=True)).ask().in_doubt


def test_the_deadline_ends_the_attempts_with_the_last_answer() -> None:
    bench = Bench(BUSY, LOST)
    reply = bench.ask()
    assert reply == Reply(LOST, len(bench.sent), in_doubt=True)
    assert DEADLINE - 1.0 < bench.seconds < DEADLINE
    assert len(bench.sent) < ATTEMPTS_MAX


def test_an_attempt_waits_no_longer_than_the_deadline_and_one_is_made_past_it() -> None:
    bench = Bench(LOST)
    bench.ask()
    assert bench.sent[0].timeout_seconds == 2.0
    assert bench.sent[-1].timeout_seconds == pytest.approx(DEADLINE - bench.seconds)
    late = Bench(LOST)
    late.seconds = DEADLINE + 1.0
    assert late.run(until_answered(late.environment, READ, Moment(0.0, 0.0, late.seconds), DEADLINE)).attempts == 1
    assert [each.timeout_seconds for each in late.sent] == [TIMEOUT_SECONDS_MIN]


# -------------------------------------------------------------------------------------------------------- what callers tell


def test_a_creation_that_the_transport_sent_twice_does_not_blame_a_table_that_was_there() -> None:
    described = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
    bench = Bench(Rejection("ResourceInUseException", resent=True), Success({"Table": described}))
    bench.run(create_table(bench.environment, "things", LAYOUT, [NOTES], exist_ok=False))
    assert [each.request.operation for each in bench.sent] == ["CreateTable", "DescribeTable"]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (Rejection("LimitExceededException"), sw.Throttled, "creation of the table 'things' was throttled"),
        (LOST, sw.ConnectionFailed, "not answered: lost; trying again with exist_ok=True is safe"),
        (Rejection("AccessDeniedException", "no rights"), sw.InvalidRequest, "creation of the table 'things' failed: .*AccessDeniedException.*no rights"),
    ],
)
def test_a_creation_that_fails_tells_why(answer: Answer, error: type[Exception], text: str) -> None:
    bench = Bench(answer)
    with pytest.raises(error, match=text):
        bench.run(create_table(bench.environment, "things", LAYOUT, [NOTES], exist_ok=True))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (canceled("None", "TransactionConflict", "ThrottlingError"), sw.TransactionConflict),
        (canceled(), sw.TransactionConflict),
        (canceled("ThrottlingError"), sw.Throttled),
        (canceled("ProvisionedThroughputExceeded", "None"), sw.Throttled),
        (BUSY, sw.Throttled),
        (Rejection("TransactionInProgressException"), sw.ConnectionFailed),
        (canceled("ValidationError"), sw.InvalidRequest),
    ],
)
def test_a_transactional_get_tells_what_kept_it_from_its_items(answer: Answer, error: type[sw.SurewriteError]) -> None:
    bench = Bench(answer)
    with pytest.raises(error) as raised:
        bench.run(transact_get(bench.environment, [(bench.scope(), Note.key_of("a"))]))
    assert raised.value.attempts == len(bench.sent)


def harmless() -> Request:
    return Request("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": "things", "Key": {"pk": {"S": "fence"}}}}]})


MISMATCH = Rejection("IdempotentParameterMismatchException")


@pytest.mark.parametrize("answers", [[canceled("ThrottlingError"), DONE, MISMATCH], [DONE, canceled("TransactionConflict"), MISMATCH]])
def test_a_throttled_probe_is_made_again_and_says_nothing_of_tokens(answers: Sequence[Answer]) -> None:
    bench = Bench(*answers)
    bench.run(require_tokens(bench.environment, harmless(), named=False))
    assert (bench.environment.traits.transactions, bench.environment.traits.tokens) == (True, True)


@pytest.mark.parametrize("answers", [[canceled("ThrottlingError")], [DONE, canceled("ThrottlingError")]])
def test_a_probe_that_is_throttled_to_the_end_leaves_the_question_open(answers: Sequence[Answer]) -> None:
    bench = Bench(*answers)
    with pytest.raises(sw.Throttled, match="honours the tokens"):
        bench.run(require_tokens(bench.environment, harmless(), named=False))
    assert bench.environment.traits.tokens is None
