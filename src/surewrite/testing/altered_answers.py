"""Belongs here: what an endpoint or a transport below makes of an answer. Must not be here: when that happens, answers of its own."""

from __future__ import annotations

from dataclasses import replace

from surewrite.core.answers import Answer, Rejection, Success


def without_items(answer: Answer) -> Answer:
    """The same from an endpoint that does not send the refusing item along."""
    if not isinstance(answer, Rejection):
        return answer
    return replace(answer, item=None, reasons=tuple(replace(reason, item=None) for reason in answer.reasons))


def marked_as_resent(answer: Answer) -> Answer:
    """The same from a transport that sent the request more than once and says so, where there is an answer to say it with."""
    return replace(answer, resent=True) if isinstance(answer, (Success, Rejection)) else answer
