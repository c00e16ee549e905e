"""Belongs here: modify, and rerunning a body on conflict, as generators over the verbs. Must not be here: what one write does about doubt."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from enum import Flag, auto
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from types import TracebackType
from typing import Any, Self

from surewrite.core.asking import backoff_seconds
from surewrite.core.attempts import AppliedWrites, applied_in_this_run
from surewrite.core.effects import Steps, call_user, pause
from surewrite.core.entities import stored_state
from surewrite.core.keys import Key, refuse_demand
from surewrite.core.outcomes import Applied, RefusalReason
from surewrite.core.reads import get
from surewrite.core.scopes import Options, Scope
from surewrite.core.writes import put
from surewrite.errors import AlreadyExists, ConditionFailed, InvalidRequest, TransactionCanceled, TransactionConflict, ValueTaken, VersionConflict

RUNS = 5
"""With n writers that each write once a run loses at most n - 1 times; a hotter item needs more, or another design."""

RUN_PAUSE_SECONDS_FIRST = 0.01
RUN_PAUSE_SECONDS_MAX = 0.5

_IF_UNCHANGED = Options(if_unchanged=True)


class ConflictKind(Flag):
    """Which refusals a retry runs the body again for."""

    VERSION = auto()
    """Another writer changed the item since it was read."""
    TRANSACTION = auto()
    """A running transaction held an item until the deadline."""
    CONDITION = auto()
    """A condition of the caller, the existence that a create demands, or a value that another item has: usually an answer, not a conflict."""


DEFAULT_KINDS = ConflictKind.VERSION | ConflictKind.TRANSACTION


def kind_of(error: BaseException) -> ConflictKind | None:
    """Which kinds of conflict an error is; ``None`` if running the body again would not help, or could do harm."""
    match error:
        case VersionConflict():
            return ConflictKind.VERSION
        case TransactionConflict():
            return ConflictKind.TRANSACTION
        case ConditionFailed() | AlreadyExists() | ValueTaken():
            return ConflictKind.CONDITION
        case TransactionCanceled():
            return _kind_of_cancellation(error)
        case _:
            return None


def _kind_of_cancellation(error: TransactionCanceled) -> ConflictKind | None:
    reasons = {refusal.reason for refusal in error.refusals()}
    if not reasons or RefusalReason.ITEM_NOT_FOUND in reasons or RefusalReason.WRONG_ENTITY_TYPE in reasons:
        return None
    if RefusalReason.VERSION_CONFLICT not in reasons:
        return ConflictKind.CONDITION
    # The body decided on what is gone, so what else was refused is to be judged anew.
    return ConflictKind.VERSION if len(reasons) == 1 else ConflictKind.VERSION | ConflictKind.CONDITION


def may_run_again(error: BaseException, number: int, runs: int, on: ConflictKind, applied: AppliedWrites) -> bool:
    """Whether the body may be run again. Never after a write inside it was applied: that one would be made twice."""
    kind = kind_of(error)
    if kind is None or not kind & on:
        return False
    if applied.count:
        error.add_note(
            f"surewrite: not run again, because {applied.count} write(s) of the body had been applied, or may have been,"
            " and would be made twice; put them into one transaction"
        )
        return False
    return number < runs


def pause_before_run(number: int) -> Steps[None]:
    """Wait after the run of that number, counted from one: full jitter."""
    yield from pause((yield from backoff_seconds(number, first=RUN_PAUSE_SECONDS_FIRST, most=RUN_PAUSE_SECONDS_MAX)))


def rerun(body: Callable[[], Any], runs: int, on: ConflictKind) -> Steps[Any]:
    """Call the body, and again on a conflict of the given kinds, at most ``runs`` times in all."""
    for number in range(1, runs + 1):
        attempt = Attempt(number, runs, on)
        with attempt:
            return (yield from call_user(body))
        yield from pause_before_run(number)
    raise AssertionError("the last run returns or raises")


class Attempt:
    """One run of a body: ``with attempt:`` swallows a conflict that the next run of the loop answers, and nothing else."""

    __slots__ = ("_applied", "_on", "_outer", "_runs", "_token", "done", "number")

    def __init__(self, number: int, runs: int, on: ConflictKind) -> None:
        self.number = number
        self.done = False
        self._runs = runs
        self._on = on
        self._applied = AppliedWrites()
        self._outer: AppliedWrites | None = None
        self._token: Token[AppliedWrites | None] | None = None

    def __enter__(self) -> Self:
        self._outer = applied_in_this_run.get()
        self._token = applied_in_this_run.set(self._applied)
        return self

    def require_entered(self) -> None:
        """Raise ``InvalidRequest`` where the loop came to the end of a run that nothing was told of: it would go on after a run that held."""
        if self._token is None:
            raise InvalidRequest("each run of the loop is written in a block: for attempt in db.retry_on_conflict(): with attempt: ...")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        assert self._token is not None
        try:
            applied_in_this_run.reset(self._token)
        except ValueError:
            # It ends in another context than it began in, as generators of some frameworks do: one of its writes may not have been seen.
            self._applied.count += 1
        if self._outer is not None:
            self._outer.count += self._applied.count
        if error is not None and may_run_again(error, self.number, self._runs, self._on, self._applied):
            return True
        self.done = True
        return False


def check_kinds(on: Any) -> ConflictKind:
    """Refuse what names no kind of conflict."""
    if not isinstance(on, ConflictKind) or not on:
        raise InvalidRequest(f"on is one or more kinds of conflict, such as ConflictKind.VERSION | ConflictKind.CONDITION, not {on!r}")
    return on


def check_runs(runs: Any, body: Any = None) -> int:
    """Refuse a number of runs that makes no sense, and a body that a decorator without parentheses hands over."""
    if body is not None:
        raise InvalidRequest("write the parentheses: @db.retry_on_conflict(), with attempts= inside if need be")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise InvalidRequest(f"attempts is how often the body runs at most, a whole number from 1, not {runs!r}")
    return runs


def check_body(function: Any, *, awaited: bool) -> None:
    """Refuse a function whose call runs nothing of it yet: the retry would be over before the body began."""
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise InvalidRequest("the function is a generator, which runs while its values are taken: give @db.retry_on_conflict() one that returns")
    if not awaited and iscoroutinefunction(function):
        raise InvalidRequest("the function is async, and this client is blocking: use connect_async, or a plain function")


def modify(scope: Scope, key: Key[Any], change: Callable[[Any], Any], *, runs: int = RUNS) -> Steps[Any]:
    """Read consistently, let ``change`` make the new entity, write it if nobody wrote since; on a conflict again.

    The item that refused a write feeds the next run, so a conflict costs no read. An entity returned unchanged is not
    written. One read unit per started 4 KB, and one write unit per started KB for each run.
    Raises ``ItemNotFound``, ``VersionConflict`` after the last run, and ``OutcomeUnknown``, which is never run again.
    """
    check_runs(runs)
    refuse_demand(key, "modify")
    if scope.schema.version is None and scope.schema.layout.stamp is None:
        raise InvalidRequest(f"{scope.entity}: modify compares a version or a stamp; give the type a version, or the table its stamp")
    entity = yield from get(scope, key, consistent=True)
    for number in range(1, runs + 1):
        # As stored, because a list inside the entity may be changed in place, and then the two are equal.
        before = scope.schema.to_item(entity)
        changed = yield from call_user(change, entity)
        _check_changed(scope, entity, changed)
        if scope.schema.to_item(changed) == before:
            return changed
        outcome = yield from put(scope, changed, _IF_UNCHANGED)
        if isinstance(outcome, Applied):
            return outcome.item
        if outcome.reason is not RefusalReason.VERSION_CONFLICT or outcome.item is None or number == runs:
            raise outcome.error()
        entity = outcome.item
        yield from pause_before_run(number)
    raise AssertionError("the last run returns or raises")


def _check_changed(scope: Scope, entity: Any, changed: Any) -> None:
    if not isinstance(changed, scope.schema.entity):
        raise InvalidRequest(f"{scope.entity}: the function given to modify returns the new {scope.entity}, and it returned {type(changed).__name__}")
    if stored_state(changed) is None or scope.schema.key_of_entity(changed) != scope.schema.key_of_entity(entity):
        raise InvalidRequest(
            f"{scope.entity}: modify keeps the key, and the function returned an entity under another one, or a new one: use entity.replace(...)"
        )
