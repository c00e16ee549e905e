"""Belongs here: what becomes of an attempt between a simulated client and the engine: fates, delays, executions, answers.

Must not be here: stepping clients, judging outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from surewrite.backends.embedded import rejection_of
from surewrite.core.answers import Answer, NoAnswer, NotSent, Reason, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.values import Item
from surewrite.engine.faults import ServiceError
from surewrite.engine.schemas import Table, table_of
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.testing.altered_answers import marked_as_resent, without_items
from surewrite.testing.choices import Choices
from surewrite.testing.faults import (
    ApplyLate,
    Conflict,
    DamageAnswer,
    Deliver,
    Fault,
    FaultPlan,
    HideItem,
    HoldOpen,
    InProgress,
    LoseAnswer,
    LoseRequest,
    Mishap,
    NotSentAtAll,
    PlanProgress,
    ReadInParts,
    ReadStale,
    Reject,
    SendTwice,
    ServerError,
    Step,
    Throttle,
)
from surewrite.testing.ledger import Attempt, Execution, Ledger
from surewrite.testing.watched_store import Place, WatchedStore
from surewrite.testing.world_settings import READ_FATES, RESENT_BELOW, TRANSACTION_FATES, WRITE_FATES, SwarmRates, WorldSettings

USUAL_LATENCY_SECONDS = 0.005
RESET_SHARE_OF_LATENCY = 2.0
HOLD_SECONDS = (0.05, 1.0, 8.0)
"""How long a held commit may take: unseen, as long as an attempt, or beyond the time limit of one."""

PARTS_APART_SECONDS = (0.05, 0.5, 1.5)
"""How long after its first rows a query may read the others."""

_SINGLE_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_STALE_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})
_OTHER_REFUSALS = ("AccessDeniedException", "ResourceNotFoundException", "ExpiredTokenException", "ValidationException")
_THROTTLES = ("ThrottlingException", "ProvisionedThroughputExceededException")

Receive = Callable[[Attempt, Answer], None]


class Timeline(Protocol):
    """What the network needs of its world."""

    now: float
    faulty: bool

    def tick(self) -> int: ...

    def after(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None: ...


class Network:
    """Carries attempts to the engine and answers back, and decides what goes wrong on the way."""

    def __init__(
        self,
        timeline: Timeline,
        service: Service,
        store: WatchedStore,
        ledger: Ledger,
        choices: Choices,
        settings: WorldSettings,
        rates: SwarmRates,
        plan: FaultPlan,
        actions: Mapping[str, Callable[[], None]],
    ) -> None:
        self.timeline = timeline
        self.service = service
        self.store = store
        self.ledger = ledger
        self.choices = choices
        self.settings = settings
        never: frozenset[str] = frozenset() if settings.transport_resends else frozenset({RESENT_BELOW})
        self._write_rates = rates.of(WRITE_FATES, without=never)
        self._transaction_rates = rates.of(TRANSACTION_FATES, without=never)
        self._query_rates = rates.of(READ_FATES)
        self._read_rates = rates.of(READ_FATES, without=frozenset({"read in parts"}))
        self._tables: dict[str, Table] = {}
        self._progress = PlanProgress(plan) if plan.steps else None
        self._actions = actions

    def send(self, attempt: Attempt, timeout_seconds: float, signed_at: float, deliver: Receive) -> Mishap | None:
        """Set off one attempt; ``deliver`` is called once, when its answer or its time limit comes. Gives what befalls the client by plan."""
        step = self._progress.step_for(attempt.request) if self._progress is not None else None
        attempt.fate = fate_of(step.fault) if step is not None else self._fate(attempt)
        there = self.delay(attempt, "there")
        _Journey(self, attempt, timeout_seconds, signed_at, deliver, step).begin(there)
        return None if step is None else step.befalls

    def execute(self, attempt: Attempt, signed_at: float) -> Answer:
        """Let the engine carry the attempt out, now."""
        answer = answer_of(self.service, attempt.request, signed_at)
        if isinstance(answer, Rejection) and (attempt.fate == "item hidden" or not self.settings.refusals_show_items):
            answer = without_items(answer)
        self.record(attempt, answer)
        return answer

    def act(self, names: Sequence[str]) -> None:
        """Run the actions of others that a plan names."""
        for name in names:
            self._actions[name]()

    def record(self, attempt: Attempt, answer: Answer) -> None:
        at, tick = self.timeline.now, self.timeline.tick()
        commits = self.ledger.add_commits(self.store.take(), at, tick, "attempt", attempt)
        attempt.executions.append(Execution(attempt, at, tick, answer, commits))

    def table(self, name: str) -> Table:
        """A table as the engine knows it. Raises ``KeyError`` where there is none."""
        with self.store.session(write=False) as session:
            text = session.definition(name)
        if text is None:
            raise KeyError(name)
        if text not in self._tables:
            self._tables[text] = table_of(text)
        return self._tables[text]

    def place_of(self, name: str, key: Mapping[str, Any]) -> Place:
        """Where a table keeps the item of a key, given in the service's own shape."""
        table = self.table(name)
        return (table.space, *table.key.place(dict(key)))

    def _fate(self, attempt: Attempt) -> str:
        if not self.timeline.faulty:
            return ""
        operation = attempt.request.operation
        if operation in _SINGLE_WRITES:
            rates, total = self._write_rates
        elif operation == "TransactWriteItems":
            rates, total = self._transaction_rates
        elif operation == "Query":
            rates, total = self._query_rates
        else:
            rates, total = self._read_rates
        return self.choices.happens((attempt.call.client, attempt.number, "fate"), rates, total) if total or self.choices.replays else ""

    def delay(self, attempt: Attempt, what: str) -> float:
        if not self.timeline.faulty:
            return USUAL_LATENCY_SECONDS
        return self.choices.seconds((attempt.call.client, attempt.number, what), self.settings.latency_seconds_most, USUAL_LATENCY_SECONDS)

    def scaled(self, attempt: Attempt, what: str, scales: Sequence[float], usual: float) -> float:
        return self.choices.scaled_seconds((attempt.call.client, attempt.number, what), scales, usual)

    def conflict(self, attempt: Attempt) -> Answer:
        """What a request meets whose item is part of a running transaction: of several actions one conflicts, and the others are judged."""
        request = attempt.request
        if request.operation != "TransactWriteItems":
            return Rejection("TransactionConflictException", "Transaction is ongoing for the item")
        reasons = [Reason("None")] * len(request.body["TransactItems"])
        if len(attempt.call.attempts) == 1:
            # A later attempt may be known to the service by its token, and is not judged then.
            judged = answer_of(self._service_as_of(self.timeline.now), request, self.service.clock())
            if isinstance(judged, Rejection) and len(judged.reasons) == len(reasons):
                reasons = list(judged.reasons)
        reasons[self.choices.index((attempt.call.client, attempt.number, "conflicting"), len(reasons))] = Reason("TransactionConflict")
        answer = Rejection("TransactionCanceledException", "Transaction cancelled", reasons=tuple(reasons))
        return answer if self.settings.refusals_show_items else without_items(answer)

    def stale(self, attempt: Attempt, seconds: float | None) -> Answer:
        """What an eventually consistent read may see: the tables as they were a while ago. Index queries are such reads too."""
        request = attempt.request
        if request.operation not in _STALE_READS or _is_consistent(request.body):
            return self.execute(attempt, self.service.clock())
        age = seconds
        if age is None:
            age = self.choices.seconds((attempt.call.client, attempt.number, "age"), self.settings.stale_seconds_most, 1.0)
        answer = answer_of(self._service_as_of(self.timeline.now - age), request, self.service.clock())
        self.record(attempt, answer)
        return answer

    def rows_in_order(self, request: Request, answer: Answer) -> list[tuple[bytes, Item]] | None:
        """The rows of a whole page of a table's partition with the bytes that they are ordered by; ``None`` for any other answer."""
        body = request.body
        if request.operation != "Query" or not isinstance(answer, Success) or body.keys() & {"IndexName", "Limit"} or "LastEvaluatedKey" in answer.body:
            return None
        table, items = self.table(body["TableName"]), answer.body.get("Items")
        if items is None or any(name not in item for item in items for name in table.key.names):
            return None
        return [(table.key.place(item)[1], item) for item in items]

    def _service_as_of(self, moment: float) -> Service:
        """A service that holds what this one held then."""
        earlier = Service(MemoryStore(), clock=self.service.clock)
        with self.store.session(write=False) as session:
            names = {self.table(name).space: name for name in session.table_names()}
            definitions = {name: session.definition(name) for name in session.table_names()}
        with earlier.store.session(write=True) as session:
            for name, text in definitions.items():
                assert text is not None
                session.put_definition(name, text)
        for place in self.ledger.by_place:
            item = self.ledger.state_before(place, moment)
            if item is not None:
                earlier.execute("PutItem", {"TableName": names[place[0]], "Item": item})
        return earlier


class _Journey:
    """One attempt under way. Each method is a moment of it."""

    __slots__ = ("_attempt", "_deliver", "_delivered", "_network", "_sent_at", "_signed_at", "_step", "_timeline", "_timeout")

    def __init__(self, network: Network, attempt: Attempt, timeout: float, signed_at: float, deliver: Receive, step: Step | None) -> None:
        self._network = network
        self._timeline = network.timeline
        self._attempt = attempt
        self._timeout = timeout
        self._signed_at = signed_at
        self._deliver = deliver
        self._step = step
        self._sent_at = self._timeline.now
        self._delivered = False

    def begin(self, there: float) -> None:
        timeline, attempt = self._timeline, self._attempt
        match attempt.fate:
            case "not sent":
                self._answer_after(there, NotSent("the connection was refused"))
            case "request lost":
                self._answer_after(self._until_noticed(), NoAnswer("the connection was reset"))
            case "late":
                self._answer_after(self._until_noticed(), NoAnswer("no answer within the time limit"))
                timeline.after(self._lateness(), self._execute_unseen)
            case "error before":
                self._answer_after(2 * there, Rejection("InternalServerError", "Internal server error", 500))
            case "throttled":
                self._answer_after(2 * there, Rejection(self._drawn_code(_THROTTLES), "Rate exceeded", server_time=self._clock(2 * there)))
            case "refused otherwise":
                self._answer_after(2 * there, Rejection(self._drawn_code(_OTHER_REFUSALS), "injected", server_time=self._clock(2 * there)))
            case "conflict":
                timeline.after(there, self._meet_conflict)
            case "in progress":
                answer = Rejection("TransactionInProgressException", "The transaction with the given request token is already in progress")
                self._answer_after(2 * there, answer)
            case "resent by the transport":
                timeline.after(there, self._execute_unseen)
                timeline.after(there + self._network.delay(attempt, "again"), self._execute_resent)
            case "held open":
                timeline.after(there, self._hold)
            case "read in parts":
                timeline.after(there, self._read_first_part)
            case _:
                timeline.after(there, self._execute)

    def _execute(self) -> None:
        attempt, fate, step = self._attempt, self._attempt.fate, self._step
        if step is not None:
            self._network.act(step.before)
        answer = self._network.stale(attempt, self._planned_age()) if fate == "stale" else self._network.execute(attempt, self._signed_at)
        if step is not None:
            self._network.act(step.after)
        back = self._network.delay(attempt, "back")
        match fate:
            case "answer lost":
                self._answer_after(self._until_noticed(), NoAnswer("the connection was closed before an answer came"))
            case "error after":
                self._answer_after(back, Rejection("InternalServerError", "Internal server error", 500))
            case "answer damaged":
                self._answer_after(back, NoAnswer("the answer was damaged"))
            case _:
                self._answer_in_time(back, answer)

    def _execute_unseen(self) -> None:
        self._network.execute(self._attempt, self._signed_at)

    def _execute_resent(self) -> None:
        answer = self._network.execute(self._attempt, self._signed_at)
        self._answer_in_time(self._network.delay(self._attempt, "back"), marked_as_resent(answer))

    def _meet_conflict(self) -> None:
        self._answer_in_time(self._network.delay(self._attempt, "back"), self._network.conflict(self._attempt))

    def _hold(self) -> None:
        service = self._network.service
        try:
            held = service.hold_transaction(self._attempt.request.body)
        except ServiceError:
            # The refusal is the whole request's: made again as one, so that the service remembers what it would.
            self._execute()
            return
        fault = self._fault
        seconds = fault.seconds if isinstance(fault, HoldOpen) else self._network.scaled(self._attempt, "held", HOLD_SECONDS, 1.0)
        self._timeline.after(seconds, self._commit_held, held)
        self._answer_after(self._timeout_left(), NoAnswer("no answer within the time limit"))

    def _commit_held(self, held: Any) -> None:
        try:
            answer: Answer = Success(held.commit(), server_time=self._clock(0.0))
        except ServiceError as refused:
            answer = rejection_of(refused, self._clock(0.0))
        self._network.record(self._attempt, answer)
        self._answer_in_time(self._network.delay(self._attempt, "back"), answer)

    def _read_first_part(self) -> None:
        network, attempt, step = self._network, self._attempt, self._step
        if step is not None:
            network.act(step.before)
        answer = answer_of(network.service, attempt.request, self._signed_at)
        if step is not None:
            network.act(step.after)
        first = network.rows_in_order(attempt.request, answer)
        if first is None:
            self._read_rest([])
        else:
            self._timeline.after(network.scaled(attempt, "between", PARTS_APART_SECONDS, 0.1), self._read_rest, first)

    def _read_rest(self, first: list[tuple[bytes, Item]]) -> None:
        """The rows up to some place as they were a moment ago, and those after it as they are now: each row is read at its own moment."""
        network, attempt = self._network, self._attempt
        later = answer_of(network.service, attempt.request, self._signed_at)
        last = network.rows_in_order(attempt.request, later)
        if last is not None and (first or last):
            assert isinstance(later, Success)
            descending = attempt.request.body.get("ScanIndexForward") is False
            places = sorted({place for place, _ in (*first, *last)}, reverse=descending)
            border = self._border(places, {place for place, _ in first})
            passed = {place for place in places if (place >= border if descending else place <= border)}
            items = [item for place, item in first if place in passed] + [item for place, item in last if place not in passed]
            later = replace(later, body={**later.body, "Items": items, "Count": len(items)})
        network.record(attempt, later)
        self._answer_in_time(network.delay(attempt, "back"), later)

    def _border(self, places: list[bytes], passed: set[bytes]) -> bytes:
        """The place up to which rows were read at the first moment."""
        if isinstance(self._fault, ReadInParts):
            new = [place for place in places if place not in passed]
            return new[: self._fault.missed][-1] if new else places[-1]
        return places[self._network.choices.index((self._attempt.call.client, self._attempt.number, "border"), len(places))]

    @property
    def _fault(self) -> Fault | None:
        return None if self._step is None else self._step.fault

    def _planned_age(self) -> float | None:
        return self._fault.seconds if isinstance(self._fault, ReadStale) else None

    def _lateness(self) -> float:
        fault = self._fault
        if fault is not None:
            return fault.after_seconds or 1.0 if isinstance(fault, ApplyLate) else 1.0
        network = self._network
        horizon = network.settings.horizon_seconds
        return min(horizon, network.scaled(self._attempt, "late", (0.1, 3.0, horizon), 1.0))

    def _until_noticed(self) -> float:
        """A lost message is noticed by a reset soon after, or only by the time limit."""
        index = 0 if self._step is not None else self._network.choices.index((self._attempt.call.client, self._attempt.number, "noticed"), 2)
        soon = self._network.settings.latency_seconds_most * RESET_SHARE_OF_LATENCY
        return self._timeout_left() if index else min(soon, self._timeout_left())

    def _drawn_code(self, codes: Sequence[str]) -> str:
        fault = self._fault
        if isinstance(fault, (Reject, Throttle)):
            return fault.code
        return self._network.choices.one_of((self._attempt.call.client, self._attempt.number, "code"), codes)

    def _clock(self, later: float) -> float:
        return self._network.service.clock() + later

    def _timeout_left(self) -> float:
        return max(0.0, self._sent_at + self._timeout - self._timeline.now)

    def _answer_in_time(self, seconds: float, answer: Answer) -> None:
        left = self._timeout_left()
        if seconds > left:
            self._answer_after(left, NoAnswer("no answer within the time limit"))
        else:
            self._answer_after(seconds, answer)

    def _answer_after(self, seconds: float, answer: Answer) -> None:
        self._timeline.after(seconds, self._answer, answer)

    def _answer(self, answer: Answer) -> None:
        if not self._delivered:
            self._delivered = True
            self._deliver(self._attempt, answer)


def answer_of(service: Service, request: Request, signed_at: float) -> Answer:
    """The engine's answer to a request whose signature is dated ``signed_at``, in seconds since 1970."""
    try:
        body = service.execute(request.operation, request.body, signed_at=signed_at)
    except ServiceError as refused:
        return rejection_of(refused, service.clock())
    return Success(body, server_time=service.clock())


def _is_consistent(body: Mapping[str, Any]) -> bool:
    """Whether a read asks for the latest state, of any of its tables."""
    asked: Mapping[str, Mapping[str, Any]] = body.get("RequestItems", {"": body})
    return any(bool(part.get("ConsistentRead")) for part in asked.values())


_FATES: dict[type[Any], str] = {
    Deliver: "",
    NotSentAtAll: "not sent",
    LoseRequest: "request lost",
    LoseAnswer: "answer lost",
    DamageAnswer: "answer damaged",
    ApplyLate: "late",
    Throttle: "throttled",
    Conflict: "conflict",
    InProgress: "in progress",
    Reject: "refused otherwise",
    SendTwice: "resent by the transport",
    HideItem: "item hidden",
    HoldOpen: "held open",
    ReadStale: "stale",
    ReadInParts: "read in parts",
}


def fate_of(fault: Fault) -> str:
    """The fate that a fault of a plan is, in this world's words."""
    if isinstance(fault, ServerError):
        return "error after" if fault.applied else "error before"
    return _FATES[type(fault)]
