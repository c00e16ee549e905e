"""Belongs here: settling a transaction that is in doubt by another one under its token. Must not be here: how the transaction got into doubt.

The fence is a harmless transaction under the same token. If it succeeds, the token belongs to it, and every late copy of
the write is turned away for longer than a signed request lives: refused, for good. If it meets a mismatch, the token
belongs to the write: ask with the write's own bytes. Success: applied. Cancelled: fence once more; success then is
refused, and a mismatch again is refused too, for then the service remembers the cancelled original and nothing under this
token can run. Shown for both treatments of cancelled originals by the explorer.

Only a cancellation says that the service judged the write's own bytes: any other definite error (rights, no such table)
says nothing of what is stored under the token. And the write's own bytes may be sent no longer than the write itself, for a
late copy of them must not outlive the token.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from surewrite.core.answers import Answer, Rejection
from surewrite.core.asking import backoff_seconds
from surewrite.core.decisions import PASSING, AnswerClass
from surewrite.core.effects import Steps, now, pause, send
from surewrite.core.environment import Environment
from surewrite.core.token_life import TokenLife
from surewrite.core.transaction_drafts import TransactionPlan

FENCE_ATTEMPTS_MAX = 32


class FenceWord(Enum):
    APPLIED = "applied"
    REFUSED = "refused"
    OTHER_CONTENT = "the name was used with other content"
    UNKNOWN = "unknown"


class _Phase(Enum):
    FENCE = "send the fence"
    ASK = "send the write's own bytes"
    FENCE_AFTER_CANCEL = "send the fence after the write's own bytes were cancelled"


Next = _Phase | FenceWord


def _after_fence(phase: _Phase, answer: AnswerClass) -> Next:
    if answer is AnswerClass.DONE:
        return FenceWord.REFUSED
    if answer is AnswerClass.MISMATCH:
        return FenceWord.REFUSED if phase is _Phase.FENCE_AFTER_CANCEL else _Phase.ASK
    return phase if answer in PASSING else FenceWord.UNKNOWN


def _after_ask(answer: AnswerClass, *, cancelled: bool, named: bool) -> Next:
    if answer in (AnswerClass.DONE, AnswerClass.OWN):
        return FenceWord.APPLIED
    if answer is AnswerClass.MISMATCH:
        # Neither the write nor the fence: a late fence of ours took the token meanwhile, or, under a name, a third content did.
        return FenceWord.OTHER_CONTENT if named else FenceWord.REFUSED
    if cancelled and answer not in PASSING:
        return _Phase.FENCE_AFTER_CANCEL
    # Nobody knows yet which of the two holds the token, so the fence is asked first again. Turned away for rights or the
    # like is no cancellation: a write that took effect is turned away as well.
    return _Phase.FENCE if answer in PASSING else FenceWord.UNKNOWN


def settle_by_fence(environment: Environment, plan: TransactionPlan, life: TokenLife, classify: Callable[[Answer], AnswerClass]) -> Steps[FenceWord]:
    """Prove that the transaction took effect, or that it never can. May take as long again as the operation's deadline."""
    started = yield from now()
    phase: Next = _Phase.FENCE
    for number in range(1, FENCE_ATTEMPTS_MAX + 1):
        moment = yield from now()
        if isinstance(phase, FenceWord):
            return phase
        asking = phase is _Phase.ASK
        if moment.monotonic - started.monotonic >= environment.deadline_seconds or not life.fence_proves(moment):
            return FenceWord.UNKNOWN
        if asking and not life.may_send(moment):
            return FenceWord.UNKNOWN
        reply = yield from send(environment, plan.request() if asking else plan.fence, environment.timeout_seconds)
        answer = classify(reply)
        answered = yield from now()
        if not life.fence_proves(answered):
            return FenceWord.UNKNOWN
        cancelled = isinstance(reply, Rejection) and reply.code == "TransactionCanceledException"
        phase = _after_ask(answer, cancelled=cancelled, named=plan.name is not None) if asking else _after_fence(phase, answer)
        if answer in PASSING:
            yield from pause((yield from backoff_seconds(number)))
    return phase if isinstance(phase, FenceWord) else FenceWord.UNKNOWN
