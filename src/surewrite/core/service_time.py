"""Belongs here: the time by the service's clock, asked for where no answer told it yet. Must not be here: how clocks are compared, what expires.

A condition on a time to live holds the time. Made of a guess, by a process whose clock is ahead, it takes an item that
lives for an expired one and overwrites it; and it stays so however often the write is sent again.
"""

from __future__ import annotations

from surewrite.core.answers import Rejection, Success
from surewrite.core.asking import failure, until_answered
from surewrite.core.effects import Moment, Steps, now
from surewrite.core.environment import Environment
from surewrite.core.plans import Plan
from surewrite.core.requests import Request
from surewrite.core.scopes import Scope
from surewrite.core.values import Item


def is_guess(environment: Environment, moment: Moment) -> bool:
    """Whether no answer of the service has told its time yet, and one could."""
    return not moment.server_known and not environment.time_untold


def holds_guess(environment: Environment, plan: Plan, moment: Moment) -> bool:
    """Whether a plan made at this moment judges what has expired by a time that is a guess: in its condition, or of the old item that it tells."""
    judges = plan.body.get("ConditionExpression") is not None or plan.returning == "old"
    return plan.expiry_before is not None and judges and is_guess(environment, moment)


def told_moment(scope: Scope, key: Item, verb: str) -> Steps[Moment]:
    """Now, by the clock of the service, asked for where that is a guess: for what stores a time. Raises what ``service_moment`` does."""
    moment = yield from now()
    return (yield from service_moment(scope, key, verb)) if is_guess(scope.environment, moment) else moment


def service_moment(scope: Scope, key: Item, verb: str) -> Steps[Moment]:
    """Now, by the clock of the service: it is asked for the item of the key, for half a read unit per started 4 KB, and any answer tells the time.

    ``verb`` is for errors. Raises ``ConnectionFailed`` where there is no answer until the deadline. An endpoint whose answers tell no time is not asked again.
    """
    environment = scope.environment
    request = Request("GetItem", {"TableName": scope.table, "Key": key})
    moment = yield from now()
    reply = yield from until_answered(environment, request, moment, moment.monotonic + environment.deadline_seconds, by_any_answer=True)
    if not isinstance(reply.answer, (Success, Rejection)):
        raise failure(environment, request, reply, f"{scope.entity}: asking for the service's time before the {verb}", scope.schema.key_from(key))
    return (yield from now())


def moment_after(moment: Moment) -> Steps[Moment]:
    """The moment of a read that was answered since: read anew where the answer was the first to tell the service's clock."""
    return moment if moment.server_known else (yield from now())
