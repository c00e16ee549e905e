"""Belongs here: fault plans as data: which request meets which fault, and how that reads. Must not be here: random choice at run time, applying the fault.

A plan is a tuple of steps. A step waits for the nth request that fits its place, and the first step that is due says what
becomes of the request. ``PlanProgress`` counts; whoever applies a plan asks it about each request, in the order in which
they are made::

    FaultPlan((
        Step(LoseAnswer(), Where(operations=("UpdateItem",)), nth=1),
        Step(Deliver(), Where(operations=("UpdateItem",)), nth=2, before=("another writer",)),
    ))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

from surewrite.core.requests import Request

WRITES: Final = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
READS: Final = ("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems")
ITEM_OPERATIONS: Final = (*WRITES, "BatchWriteItem", *READS)


@dataclass(frozen=True, slots=True)
class Deliver:
    """No fault: the request is executed and answered. For steps that only count, or that let others act."""


@dataclass(frozen=True, slots=True)
class NotSentAtAll:
    """The connection fails before the last byte of the request is handed over, and the client can tell."""


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """The request was sent and never arrives. The client gets no answer."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The request is executed, its answer never arrives."""


@dataclass(frozen=True, slots=True)
class DamageAnswer:
    """The request is executed, its answer arrives damaged: cut short, of a wrong checksum, or by a proxy."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """The service answers with a server error, after the request was executed or instead."""

    applied: bool
    status: int = 500


@dataclass(frozen=True, slots=True)
class ApplyLate:
    """The client gets no answer, and the request is kept and executed later: when the test says so, or once ``after_seconds`` have passed."""

    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Throttle:
    """The service refuses for want of capacity; nothing is executed."""

    code: str = "ProvisionedThroughputExceededException"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A running transaction holds the item; nothing is executed. A transaction is cancelled for it."""


@dataclass(frozen=True, slots=True)
class InProgress:
    """The service says that the transaction of this token is still running; nothing is executed by this request."""


@dataclass(frozen=True, slots=True)
class Reject:
    """The service refuses with a definite error, such as ``AccessDeniedException``; nothing is executed."""

    code: str
    message: str = "refused by a fault plan"
    status: int = 400


@dataclass(frozen=True, slots=True)
class SendTwice:
    """The transport below loses the first answer and sends the request again by itself; it says so in the answer that it returns.

    ``applied`` is whether the first of the two is executed. ``then`` is a definite error that answers the second, if any.
    """

    applied: bool = True
    then: Reject | Throttle | Conflict | None = None


@dataclass(frozen=True, slots=True)
class HideItem:
    """The request is executed and answered, but a refusal comes without the item that refused it."""


@dataclass(frozen=True, slots=True)
class HoldOpen:
    """A transaction whose commit takes so many seconds: meanwhile others meet it as a conflict, and its token is in progress. In a simulated world only."""

    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class ReadStale:
    """An eventually consistent read sees the tables as they were so many seconds before. In a simulated world only."""

    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class ReadInParts:
    """A query that reads its first rows at one moment and those after them later, as the service may. In a simulated world only.

    Of the rows that were stored in between it misses the first ``missed`` and shows those after them. Actions that a step names as
    ``after`` run between the two moments.
    """

    missed: int = 1


@dataclass(frozen=True, slots=True)
class Crash:
    """The process of the client that sent the request ends, so many seconds after it was sent, and starts again later."""

    after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Cancel:
    """The call that sent the request is cancelled, so many seconds after it was sent, wherever it is then."""

    after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Freeze:
    """The process of the client that sent the request stands still for so many seconds, from ``after_seconds`` after it was sent."""

    seconds: float
    after_seconds: float = 0.0


Mishap = Crash | Cancel | Freeze
"""What may befall a client. In a simulated world only."""


Fault = (
    Deliver
    | NotSentAtAll
    | LoseRequest
    | LoseAnswer
    | DamageAnswer
    | ServerError
    | ApplyLate
    | Throttle
    | Conflict
    | InProgress
    | Reject
    | SendTwice
    | HideItem
    | HoldOpen
    | ReadStale
    | ReadInParts
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which requests a step is about; what is left out fits any.

    ``key`` holds attributes of the item's key as (name, text of the value): ``(("pk", "ACCOUNT#alice"),)``. A
    transaction fits if one of its actions does. ``mentions`` is a text that stands somewhere in the body, such as a value.
    """

    operations: tuple[str, ...] = ()
    table: str | None = None
    key: tuple[tuple[str, str], ...] = ()
    mentions: str | None = None

    def fits(self, request: Request) -> bool:
        """Whether the request is one of them."""
        if self.operations and request.operation not in self.operations:
            return False
        if (self.table is not None or self.key) and not any(self._fits_action(action) for action in actions_of(request)):
            return False
        return self.mentions is None or any(self.mentions in text for text in _texts(request.body))

    def _fits_action(self, action: Mapping[str, Any]) -> bool:
        if self.table is not None and action.get("TableName") != self.table:
            return False
        item: Mapping[str, Mapping[str, Any]] = action.get("Key") or action.get("Item") or {}
        return all(text in item.get(name, {}).values() for name, text in self.key)

    def __str__(self) -> str:
        parts = [" or ".join(self.operations) or "request"]
        if self.key:
            parts.append("on " + ", ".join(f"{name}={text}" for name, text in self.key))
        if self.table is not None:
            parts.append(f"in {self.table}")
        if self.mentions is not None:
            parts.append(f"that mentions {self.mentions!r}")
        return " ".join(parts)


ANYWHERE: Final = Where()


@dataclass(frozen=True, slots=True)
class Step:
    """One fault at its place: the ``nth`` fitting request, counted from one, and the ``times - 1`` fitting ones after it.

    ``times=None`` means all of them from there on. ``before`` and ``after`` name actions of others, run just before the
    request is executed and just after, whether its answer is lost or not: what they do is known to whoever applies the plan.
    ``befalls`` is what becomes of the client that sent the request.
    """

    fault: Fault
    where: Where = ANYWHERE
    nth: int = 1
    times: int | None = 1
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    befalls: Mishap | None = None

    @property
    def needs_world(self) -> bool:
        """Whether only a simulated world can do it: no backend reaches into the service or into the process of its client."""
        return self.befalls is not None or isinstance(self.fault, (HoldOpen, ReadStale, ReadInParts))

    def is_due(self, number: int) -> bool:
        """Whether the step is about the fitting request of that number."""
        return number >= self.nth and (self.times is None or number < self.nth + self.times)

    def __str__(self) -> str:
        if self.times is None:
            which = f"every {self.where}" if self.nth == 1 else f"{self.where} {self.nth} and later"
        elif self.times == 1:
            which = f"{self.where} {self.nth}"
        else:
            which = f"{self.where} {self.nth} to {self.nth + self.times - 1}"
        told = describe_fault(self.fault)
        acts = [f"before it: {', '.join(self.before)}"] * bool(self.before) + [f"after it: {', '.join(self.after)}"] * bool(self.after)
        mishaps = [] if self.befalls is None else [f"its client {_describe_mishap(self.befalls)}"]
        return "; ".join((f"{which}: {told}", *acts, *mishaps))


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Steps; where several are due for one request, the first of them is taken and all of them count it."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """One line a step; ``no faults`` for an empty plan."""
        return "\n".join(map(str, self.steps)) or "no faults"


NO_FAULTS: Final = FaultPlan()


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Faults by chance: the share of requests, each from 0 to 1, that meet one. Together at most 1; the rest are delivered."""

    lose_request: float = 0.0
    lose_answer: float = 0.0
    error_after: float = 0.0
    throttle: float = 0.0
    where: Where = field(default=Where(operations=ITEM_OPERATIONS))

    def __post_init__(self) -> None:
        shares = (self.lose_request, self.lose_answer, self.error_after, self.throttle)
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError(f"the rates of faults are shares of all requests, from 0 to 1 and together at most 1, not {shares}")

    def fault_for(self, number: float) -> Fault:
        """The fault that a number drawn from [0, 1) stands for."""
        limit = 0.0
        shares: tuple[tuple[float, Fault], ...] = (
            (self.lose_request, LoseRequest()),
            (self.lose_answer, LoseAnswer()),
            (self.error_after, ServerError(applied=True)),
            (self.throttle, Throttle()),
        )
        for share, fault in shares:
            limit += share
            if number < limit:
                return fault
        return Deliver()


class PlanProgress:
    """How far a plan has come: counts the requests that fit each step. Ask it once for each request, in their order."""

    __slots__ = ("_counts", "plan")

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self._counts = [0] * len(plan.steps)

    def step_for(self, request: Request) -> Step | None:
        """The step that says what becomes of the request; ``None`` if no step is due."""
        due: Step | None = None
        for at, step in enumerate(self.plan.steps):
            if not step.where.fits(request):
                continue
            self._counts[at] += 1
            if due is None and step.is_due(self._counts[at]):
                due = step
        return due


def describe_fault(fault: Fault) -> str:
    """What happens, in words."""
    match fault:
        case Deliver():
            return "is delivered"
        case NotSentAtAll():
            return "is not sent"
        case LoseRequest():
            return "is lost"
        case LoseAnswer():
            return "is executed, its answer is lost"
        case DamageAnswer():
            return "is executed, its answer is damaged"
        case ServerError(applied=applied, status=status):
            return f"is {'executed' if applied else 'not executed'} and answered {status}"
        case ApplyLate(after_seconds=seconds):
            return "is executed late, on demand" if seconds is None else f"is executed {seconds:g} seconds late"
        case Throttle():
            return "is throttled"
        case Conflict():
            return "meets a running transaction"
        case InProgress():
            return "finds its token in progress"
        case Reject(code=code):
            return f"is refused with {code}"
        case SendTwice(applied=applied, then=then):
            first = "executed" if applied else "lost"
            second = "answered" if then is None else describe_fault(then)
            return f"is sent twice by the transport: the first is {first}, the second {second}"
        case HideItem():
            return "is answered without the item that refused it"
        case HoldOpen(seconds=seconds):
            return f"is held open for {seconds:g} seconds"
        case ReadStale(seconds=seconds):
            return f"sees what was {seconds:g} seconds before"
        case ReadInParts(missed=missed):
            return f"misses the first {missed} of the rows that are stored while it reads"
        case _:
            assert_never(fault)


def _describe_mishap(mishap: Mishap) -> str:
    when = f" after {mishap.after_seconds:g} seconds" if mishap.after_seconds else ""
    match mishap:
        case Crash():
            return f"crashes{when}"
        case Cancel():
            return f"is cancelled{when}"
        case Freeze(seconds=seconds):
            return f"stands still for {seconds:g} seconds{when}"
        case _:
            assert_never(mishap)


def actions_of(request: Request) -> Iterable[Mapping[str, Any]]:
    """The bodies of the single actions of a request: itself, or each action of a transaction."""
    actions = request.body.get("TransactItems")
    if actions is None:
        return (request.body,)
    return tuple(body for action in actions for body in action.values())


def _texts(value: Any) -> Iterator[str]:
    """Every text in a request's body, names and values alike."""
    waiting: list[Any] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            waiting.extend(found.keys())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            waiting.extend(found.values())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        elif isinstance(found, (list, tuple)):
            waiting.extend(found)  # pyright: ignore[reportUnknownArgumentType]
