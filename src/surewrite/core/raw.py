"""Belongs here: the service's own request, sent once, with no promise. Must not be here: planning, retries, the meaning of an answer for a write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surewrite.core.answers import NoAnswer, NotSent, Rejection, Success
from surewrite.core.effects import Steps, send
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.errors import ConnectionFailed, OutcomeUnknown, ServiceFault


def execute(environment: Environment, operation: str, body: Mapping[str, Any]) -> Steps[Mapping[str, Any]]:
    """Make one attempt and give the answer's body as it is. Nothing is sent again, nothing is recognised."""
    answer = yield from send(Request(operation, body), environment.timeout_seconds)
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
