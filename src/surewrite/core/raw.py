"""Belongs here: the service's own request, sent once, with no promise. Must not be here: planning, retries, the meaning of an answer for a write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.attempts import count_applied
from surewrite.core.decisions import AnswerClass, brings_doubt, class_of_answer
from surewrite.core.effects import Steps, send
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.errors import ConnectionFailed, InvalidRequest, OutcomeUnknown, ServiceFault, SurewriteError

_READS: Final = ("BatchGet", "Describe", "Get", "List", "Query", "Scan", "TransactGet")
"""How the names of operations begin that change nothing."""

LEVELS_MAX: Final = 200
"""How deep a body may nest: values nest 32 levels, two of the body's for each, and what is around them takes less than the rest."""


def execute(environment: Environment, operation: str, body: Mapping[str, Any]) -> Steps[Mapping[str, Any]]:
    """Make one attempt and give the answer's body as it is. Nothing is sent again, nothing is recognised.

    Raises ``InvalidRequest``, and sends nothing, for a body that JSON cannot say.
    """
    _require_json(operation, body, LEVELS_MAX)
    answer = yield from _counted(operation, send(environment, Request(operation, body), environment.timeout_seconds))
    match answer:
        case Success(body=found):
            return found
        case Rejection():
            raise ServiceFault(
                f"{operation}: {answer.code}: {answer.message}", attempts=1, code=answer.code, status=answer.status, item=answer.item, reasons=answer.reasons
            )
        case NotSent(detail=detail):
            raise ConnectionFailed(f"{operation} was not sent: {detail}", attempts=1)
        case NoAnswer(detail=detail):
            raise OutcomeUnknown(f"{operation} was not answered, and a write may have taken effect: {detail}", attempts=1)


def _counted(operation: str, sending: Steps[Answer]) -> Steps[Answer]:
    """The answer; a write that was made, or may have been, counts in the run of a body that this is part of."""
    if operation.startswith(_READS):
        return (yield from sending)
    try:
        answer = yield from sending
    except SurewriteError:
        raise
    except BaseException:
        count_applied()
        raise
    found = class_of_answer(answer)
    if found is AnswerClass.DONE or (found is not None and brings_doubt(found)):
        count_applied()
    return answer


def _require_json(operation: str, value: object, levels_left: int) -> None:
    """Refuse names that are no text, text with half a surrogate pair, and a value that contains itself. Other values are the service's to judge."""
    if levels_left == 0:
        raise InvalidRequest(f"the body of {operation} is nested more than {LEVELS_MAX} levels deep")
    if isinstance(value, str):
        _require_text(operation, value)
    elif isinstance(value, Mapping):
        for name, member in cast("Mapping[object, object]", value).items():
            if not isinstance(name, str):
                raise InvalidRequest(f"the body of {operation} cannot be written as JSON: a name in it is {type(name).__name__}, and names are text")
            _require_text(operation, name)
            _require_json(operation, member, levels_left - 1)
    elif isinstance(value, (list, tuple)):
        for element in cast("Sequence[object]", value):
            _require_json(operation, element, levels_left - 1)


def _require_text(operation: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"the body of {operation} cannot be written as JSON: a text in it holds half a surrogate pair") from None
