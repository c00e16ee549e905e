"""Belongs here: what happened in a simulated world, as the world saw it: calls, attempts, commits. Must not be here: judging it, its text form.

The world does not ask clients what took effect: it keeps every committed change of the engine with the attempt that made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.effects import Lock
from surewrite.core.outcomes import Applied, Refused
from surewrite.core.requests import Request
from surewrite.core.values import Item
from surewrite.testing.watched_store import Place, Stored

Cause = Literal["attempt", "setup", "sweep"]
Word = Literal["applied", "refused", "unknown", "read", "done", "failed", "interrupted", "unfinished"]

WRITE_VERBS = frozenset({"create", "put", "update", "upsert", "delete", "commit", "modify"})
"""Operations whose word this library answers for, named as their generators are."""

READ_VERBS = frozenset({"get", "get_or_none"})


@dataclass(slots=True, eq=False)
class Attempt:
    """One request as it left a client, and what became of it. Times are virtual seconds; ``tick`` orders what happens at one time."""

    call: Call
    number: int
    request: Request
    sent_at: float
    tick: int
    fate: str = ""
    answer: Answer | None = None
    answered_at: float | None = None
    answered_tick: int = 0
    executions: list[Execution] = field(default_factory=list["Execution"])

    @property
    def doubtful(self) -> bool:
        """Whether the client read no well-formed answer of the service to it, or learnt that the transport sent it twice."""
        answer = self.answer
        match answer:
            case Success(resent=resent):
                return resent
            case Rejection(resent=resent, status=status, code=code):
                return resent or status >= 500 or code == "TransactionInProgressException"
            case NoAnswer() | None:
                return True
            case NotSent():
                return False


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """The service carried out an attempt: when, what it answered, which changes were committed."""

    attempt: Attempt
    at: float
    tick: int
    answer: Answer
    changes: tuple[Commit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """One item's change. ``position`` counts all commits of the world from 0; ``after`` is None where no item is stored any more."""

    position: int
    at: float
    tick: int
    cause: Cause
    place: Place
    before: Item | None
    after: Item | None
    attempt: Attempt | None


@dataclass(slots=True, eq=False)
class Call:
    """One operation that a client ran, from its first step to its word."""

    number: int
    client: str
    incarnation: int
    verb: str
    arguments: Mapping[str, Any]
    began: float
    began_tick: int
    began_position: int
    parent: Call | None = None
    word: Word = "unfinished"
    result: Any = None
    error: BaseException | None = None
    ended: float | None = None
    ended_tick: int = 0
    ended_position: int = 0
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    held: list[Lock] = field(default_factory=list[Lock])
    sides: list[Any] = field(default_factory=list[Any])
    allows_repeats: bool = False
    """The caller said that a write which is not idempotent may be sent again in doubt."""

    @property
    def entity(self) -> str:
        """The name of the entity type, or an empty text where the operation has none."""
        scope = self.arguments.get("scope")
        return scope.entity if scope is not None else ""

    @property
    def subject(self) -> Any:
        """The entity or key that the operation was given."""
        for name in ("entity", "target", "key"):
            if name in self.arguments:
                return self.arguments[name]
        return None

    @property
    def applied(self) -> Applied[Any] | None:
        """The outcome, if the call had one that says applied."""
        return self.result if _is_applied(self.result) else None

    @property
    def refused(self) -> Refused[Any] | None:
        """The outcome, if the call had one that says refused."""
        return self.result if _is_refused(self.result) else None

    @property
    def was_in_doubt(self) -> bool:
        """Whether some attempt was not answered by the service, or was sent again by the transport."""
        return any(attempt.doubtful for attempt in self.write_attempts())

    def write_attempts(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.request.operation not in _READS]

    def effects(self) -> list[Execution]:
        """The executions that changed something, in the order in which they were committed."""
        found = [execution for attempt in self.attempts for execution in attempt.executions if execution.changes]
        return sorted(found, key=lambda execution: execution.tick)


_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems", "DescribeTable", "DescribeTimeToLive"})


@dataclass(frozen=True, slots=True)
class Note:
    """Something that befell the world or a client: a crash, a sweep, the end of the faults."""

    at: float
    tick: int
    who: str
    text: str


@dataclass(slots=True)
class Ledger:
    """All that happened in one world."""

    calls: list[Call] = field(default_factory=list[Call])
    commits: list[Commit] = field(default_factory=list[Commit])
    notes: list[Note] = field(default_factory=list[Note])
    by_place: dict[Place, list[Commit]] = field(default_factory=dict[Place, list[Commit]])

    def add_commits(self, changes: Sequence[Stored], at: float, tick: int, cause: Cause, attempt: Attempt | None) -> tuple[Commit, ...]:
        """Keep changes that were committed together."""
        made: list[Commit] = []
        for place, before, after in changes:
            commit = Commit(len(self.commits), at, tick, cause, place, before, after, attempt)
            self.commits.append(commit)
            self.by_place.setdefault(place, []).append(commit)
            made.append(commit)
        return tuple(made)

    def state_at(self, place: Place, position: int) -> Item | None:
        """What was stored at a place after the first ``position`` commits of the world."""
        found: Item | None = None
        for commit in self.by_place.get(place, ()):
            if commit.position >= position:
                break
            found = commit.after
        return found

    def state_before(self, place: Place, moment: float) -> Item | None:
        """What was stored at a place at a time."""
        found: Item | None = None
        for commit in self.by_place.get(place, ()):
            if commit.at > moment:
                break
            found = commit.after
        return found

    def states_between(self, place: Place, first_position: int, end_position: int) -> list[Item | None]:
        """Every state of a place from the one after ``first_position`` commits to the one after ``end_position``."""
        states: list[Item | None] = [self.state_at(place, first_position)]
        states.extend(commit.after for commit in self.by_place.get(place, ()) if first_position <= commit.position < end_position)
        return states


def _is_applied(result: object) -> TypeGuard[Applied[Any]]:
    return isinstance(result, Applied)


def _is_refused(result: object) -> TypeGuard[Refused[Any]]:
    return isinstance(result, Refused)
