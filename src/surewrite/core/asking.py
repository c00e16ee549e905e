"""Belongs here: sending what may be sent any number of times until it is answered, the pauses between attempts, and errors about what was answered.

Must not be here: writes that need a guard, and what an answer means beside yes, no and not yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.decisions import BUSY_CODES, BUSY_REASONS, CONFLICT_CODES, PASSING, brings_doubt, class_of_answer, is_misdated
from surewrite.core.effects import Moment, Steps, now, pause, random_number, send
from surewrite.core.environment import Environment
from surewrite.core.frozen import quickly_made
from surewrite.core.requests import Request
from surewrite.errors import ConnectionFailed, InvalidRequest, SurewriteError, Throttled, TransactionConflict

ATTEMPTS_MAX = 64
"""The deadline ends the attempts long before; this bounds the loop where clocks are injected."""

PAUSE_SECONDS_FIRST = 0.05
PAUSE_SECONDS_MAX = 1.0
"""Pauses are drawn from [0, min(max, first * 2 ** n)): full jitter.

Source: AWS Architecture Blog, exponential backoff and jitter; the first pause by the Developer Guide.
"""

DOUBLINGS_MAX = 64
"""No pause grows that long; a float ends at 1,024 doublings, and a body may be run again more often."""

TIMEOUT_SECONDS_MIN = 0.001
"""Past its deadline an operation still makes its attempt, and waits no longer than this for the answer."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Reply:
    """The last answer, and how many attempts it took. ``in_doubt`` says that an attempt before it may have been carried out."""

    answer: Answer
    attempts: int
    in_doubt: bool


def until_answered(environment: Environment, request: Request, moment: Moment, deadline: float, *, by_any_answer: bool = False) -> Steps[Reply]:
    """Send a request that changes nothing, or that may be made any number of times, until it is done or refused or the deadline comes.

    ``moment`` is now, and ``deadline`` in seconds of the monotonic clock. ``by_any_answer`` ends with whatever the service says, for callers
    that only need to have heard of it.
    """
    in_doubt = False
    for number in range(1, ATTEMPTS_MAX + 1):
        answer = yield from send(environment, request, timeout_seconds(environment, moment, deadline))
        environment.learn_of_time(answer)
        if isinstance(answer, Success):
            return Reply(answer, number, in_doubt or answer.resent)
        in_doubt = in_doubt or (isinstance(answer, Rejection) and answer.resent)
        settled = not will_pass(answer) or (by_any_answer and isinstance(answer, Rejection))
        next_moment = None if settled else (yield from pause_before_next(number, deadline))
        if next_moment is None or number == ATTEMPTS_MAX:
            return Reply(answer, number, in_doubt)
        moment = next_moment
        in_doubt = in_doubt or _brings_doubt(answer)
    raise AssertionError("the last attempt is returned")


def ask(environment: Environment, request: Request, what: str, key: Any, started: Moment) -> Steps[Success]:
    """The same with the deadline of an operation that ``started`` then, for callers that go on with a success alone. Raises what ``failure`` makes."""
    reply = yield from until_answered(environment, request, started, started.monotonic + environment.deadline_seconds)
    if isinstance(reply.answer, Success):
        return reply.answer
    raise failure(environment, request, reply, what, key)


def timeout_seconds(environment: Environment, moment: Moment, deadline: float) -> float:
    """How long an attempt that begins at the moment may wait for its answer."""
    return max(TIMEOUT_SECONDS_MIN, min(environment.timeout_seconds, deadline - moment.monotonic))


def pause_before_next(number: int, deadline: float, *, first: float = PAUSE_SECONDS_FIRST, most: float = PAUSE_SECONDS_MAX) -> Steps[Moment | None]:
    """Wait after the attempt of that number, counted from one, and give the time then; ``None``, at once, where the deadline would come first."""
    seconds = yield from backoff_seconds(number, first=first, most=most)
    moment = yield from now()
    if moment.monotonic + seconds >= deadline:
        return None
    yield from pause(seconds)
    return (yield from now())


def backoff_seconds(number: int, *, first: float = PAUSE_SECONDS_FIRST, most: float = PAUSE_SECONDS_MAX) -> Steps[float]:
    """How long to wait after the attempt of that number, counted from one."""
    share = yield from random_number()
    return share * min(most, first * 2.0 ** min(number - 1, DOUBLINGS_MAX))


def will_pass(answer: Answer) -> bool:
    """Whether the answer settles nothing, so that the same request may be answered otherwise later."""
    if isinstance(answer, Rejection) and answer.code == "TransactionCanceledException":
        return all(reason.code in BUSY_REASONS or reason.code == "None" for reason in answer.reasons)
    return class_of_answer(answer) in PASSING


def _brings_doubt(answer: Answer) -> bool:
    found = class_of_answer(answer)
    return found is not None and brings_doubt(found)


def failure(environment: Environment, request: Request, reply: Reply, what: str, key: Any, *, advice: str = "trying again is safe") -> SurewriteError:
    """The error of ``what`` was not done. ``advice`` is for the case that the request was not answered."""
    answer, attempts = reply.answer, reply.attempts
    if isinstance(answer, Rejection):
        codes: set[str] = {answer.code, *(reason.code for reason in answer.reasons)} if will_pass(answer) else set()
        # A cancellation of which nothing tells why is taken for a conflict, by far the likeliest cause.
        unexplained = bool(codes) and codes <= {"TransactionCanceledException", "None"}
        if "TransactionConflict" in codes or unexplained or not codes.isdisjoint(CONFLICT_CODES):
            return TransactionConflict(f"{what} met writes in flight until the deadline; trying again is safe", key=key, attempts=attempts)
        if not codes.isdisjoint(BUSY_CODES | BUSY_REASONS):
            return Throttled(f"{what} was throttled until the deadline: slow down, then try again", key=key, attempts=attempts)
        if not codes or is_misdated(answer):
            reason = explain_rejection(environment, answer, _tables_of(request))
            return InvalidRequest(f"{what} failed: {reason}", key=key, attempts=attempts, code=answer.code)
    detail = answer.detail if isinstance(answer, NotSent) else describe_answer(answer)
    return ConnectionFailed(f"{what} was not answered: {detail}; {advice}", key=key, attempts=attempts)


def _tables_of(request: Request) -> list[str]:
    """The names of the tables that a request asks for."""
    body = request.body
    if "TransactItems" in body:
        return [action["TableName"] for item in body["TransactItems"] for action in item.values()]
    return list(body["RequestItems"]) if "RequestItems" in body else [body["TableName"]]


def explain_rejection(environment: Environment, answer: Rejection, tables: Iterable[str]) -> str:
    """Why the service refused a request to ``tables``, for an error's text; of a missing table its name, and where to look."""
    if answer.code != "ResourceNotFoundException":
        return f"{describe_answer(answer)}: {answer.message}"
    names = [repr(name) for name in dict.fromkeys(tables)]
    missing = f"no table {names[0]}" if len(names) == 1 else f"not all of the tables {', '.join(names)}"
    return (
        f"there is {missing} at {environment.traits.name!r}: make it with db.table(name).create_table(Entity), wait until it is active,"
        " or connect to another region, account or endpoint"
    )


def describe_answer(answer: Answer) -> str:
    """The answer for an error's text: codes and causes, never contents."""
    match answer:
        case Success():
            return "the service answered"
        case Rejection(code=code, status=status):
            return f"the service answered {code} (status {status})"
        case NoAnswer(detail=detail) | NotSent(detail=detail):
            return detail
