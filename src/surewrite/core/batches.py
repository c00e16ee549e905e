"""Belongs here: the service's batches: reading many keys, and writing many items without conditions. Must not be here: bulk writes that keep the promise.

A batch is not atomic: each item is read or written on its own, and what the service leaves unprocessed is asked for again.
Source: API Reference, BatchGetItem and BatchWriteItem; Developer Guide, page "Error handling with DynamoDB", batch operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.answers import Answer, NotSent, Rejection, Success
from surewrite.core.asking import ATTEMPTS_MAX, ask, pause_before_next, timeout_seconds
from surewrite.core.attempts import Ending, count_applied
from surewrite.core.bulk import BulkResult, Progress, key_of, key_token, last_of_each_key
from surewrite.core.conclusions import conclude
from surewrite.core.decisions import AnswerClass, Decision, Guard, brings_doubt, class_of_answer
from surewrite.core.effects import Moment, Steps, call_user, new_id, now, send
from surewrite.core.environment import Environment
from surewrite.core.outcomes import Refused
from surewrite.core.plan_drafts import Draft
from surewrite.core.planning import plan_put
from surewrite.core.plans import Plan, expired_before
from surewrite.core.reads import require_key
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.service_time import moment_after
from surewrite.core.values import Item
from surewrite.core.writes import NO_OPTIONS
from surewrite.errors import InvalidRequest, SurewriteError, Throttled

_UNPROCESSED: Final = Rejection("ProvisionedThroughputExceededException", "left unprocessed in each answer")
"""What it means that the service leaves an entry unprocessed until the deadline."""

# ---------------------------------------------------------------------------------------------------------------- reading


def get_many(environment: Environment, scoped: Sequence[tuple[Scope, Any]], *, consistent: bool | None, progress: Progress | None) -> Steps[list[Any]]:
    """The entity under each key, ``None`` where there is none or an expired one, in the order of the keys. A key that is named twice is read once.

    Half a read unit per started 4 KB of each item, a whole one where consistent, which is the default where one of the
    types has a version. Each hundred keys have the deadline of a call; past it this raises ``Throttled``.
    """
    for scope, key in scoped:
        require_key(scope, key)
    if not scoped:
        return []
    scope = scoped[0][0]
    names = scope.schema.key_names
    wanted = any(each.schema.version is not None for each, _ in scoped) if consistent is None else consistent
    tokens = [key_token(each.schema.key_item(key), names) for each, key in scoped]
    keys = {token: each.schema.key_item(key) for token, (each, key) in zip(tokens, scoped, strict=True)}
    pending = list(keys.values())
    found: dict[tuple[Any, ...], tuple[Item, Moment]] = {}
    for start in range(0, len(pending), limits.BATCH_KEYS):
        chunk = pending[start : start + limits.BATCH_KEYS]
        for item, moment in (yield from _read_chunk(environment, scope.table, chunk, consistent=wanted)):
            found[key_token(item, names)] = (item, moment)
        if progress is not None:
            yield from call_user(progress, start + len(chunk), len(pending))
    return [_entity_of(each, found.get(token)) for (each, _), token in zip(scoped, tokens, strict=True)]


def _entity_of(scope: Scope, read: tuple[Item, Moment] | None) -> Any:
    if read is None:
        return None
    item, moment = read
    expired = expired_before(item, scope.names.time_to_live, Occasion(moment, "").seconds)
    return None if expired else scope.schema.from_item(item)


def _read_chunk(environment: Environment, table: str, keys: Sequence[Item], *, consistent: bool) -> Steps[list[tuple[Item, Moment]]]:
    started = moment = yield from now()
    found: list[tuple[Item, Moment]] = []
    asked: Mapping[str, Any] = {table: {"Keys": list(keys), "ConsistentRead": consistent}}
    for number in range(1, ATTEMPTS_MAX + 1):
        answer = yield from ask(environment, Request("BatchGetItem", {"RequestItems": asked}), "the batch get", None, started)
        moment = yield from moment_after(moment)
        found.extend((item, moment) for item in answer.body["Responses"].get(table, ()))
        asked = answer.body.get("UnprocessedKeys") or {}
        if not asked:
            return found
        next_moment = yield from pause_before_next(number, started.monotonic + environment.deadline_seconds)
        if next_moment is None:
            break
        moment = next_moment
    raise Throttled("the batch get was not answered whole until the deadline: slow down, then try again")


# ---------------------------------------------------------------------------------------------------------------- writing


@dataclass(slots=True)
class _Entry:
    """One write of a batch. ``in_doubt`` stays once an attempt with it was not answered."""

    index: int
    plan: Plan
    in_doubt: bool = False

    def asked(self, attempt: int) -> Mapping[str, Any]:
        """The write as an entry of a batch; like a write of its own, each attempt has a stamp of its own."""
        if self.plan.verb == "delete":
            return {"DeleteRequest": {"Key": self.plan.key}}
        return {"PutRequest": {"Item": self.plan.request(attempt).body["Item"]}}


def batch_put(scope: Scope, entities: Iterable[Any], progress: Progress | None) -> Steps[list[BulkResult[Any]]]:
    """Store each entity whole, whatever is stored under its key, 25 a request. The results are in the order of the entities."""
    _require_plain(scope, "put")
    given = list(entities)

    def entry(index: int, occasion: Occasion) -> _Entry:
        return _Entry(index, plan_put(scope, given[index], occasion, NO_OPTIONS))

    return (yield from _batch_write(scope, given, entry, progress))


def batch_delete(scope: Scope, targets: Iterable[Any], progress: Progress | None) -> Steps[list[BulkResult[Any]]]:
    """Remove what is stored under each key, of whatever type, 25 a request; a missing item counts as removed."""
    _require_plain(scope, "delete")
    given = list(targets)

    def entry(index: int, occasion: Occasion) -> _Entry:
        draft = Draft(scope, occasion, Options(), key_of(scope, given[index]))
        return _Entry(index, draft.plan("delete", None, guard=Guard.IDEMPOTENT_DELETE, stamp=None))

    return (yield from _batch_write(scope, given, entry, progress))


def _require_plain(scope: Scope, verb: str) -> None:
    if scope.schema.version is not None:
        raise InvalidRequest(
            f"{scope.entity} has a version, which a batch of the service can neither check nor raise: use {verb}_many, a conditional write for each item"
        )
    if scope.schema.uniques:
        raise InvalidRequest(
            f"{scope.entity}.{scope.schema.uniques[0].field.name} is unique, and a batch of the service neither claims nor releases values: use {verb}_many,"
            " a transaction for each item"
        )


def _batch_write(scope: Scope, given: Sequence[Any], entry: Any, progress: Progress | None) -> Steps[list[BulkResult[Any]]]:
    results = last_of_each_key(scope, given)
    waiting = [index for index, result in enumerate(results) if result is None]
    for start in range(0, len(waiting), limits.BATCH_WRITES):
        moment = yield from now()
        entries: list[_Entry] = []
        for index in waiting[start : start + limits.BATCH_WRITES]:
            unique = yield from new_id()
            try:
                entries.append(entry(index, Occasion(moment, unique)))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one item is the result of that item
                results[index] = BulkResult(given[index], error=error)
        for index, result in (yield from _write_chunk(scope, entries, given, moment)):
            results[index] = result
        if progress is not None:
            yield from call_user(progress, sum(result is not None for result in results), len(given))
    return [result for result in results if result is not None]


def _write_chunk(scope: Scope, entries: Sequence[_Entry], given: Sequence[Any], started: Moment) -> Steps[list[tuple[int, BulkResult[Any]]]]:
    """Send until each entry is done or the deadline comes."""
    pending = {key_token(entry.plan.key, scope.schema.key_names): entry for entry in entries}
    try:
        return (yield from _send_chunk(scope, pending, given, started))
    except BaseException:
        for entry in pending.values():
            if entry.in_doubt:
                _remember_doubt(scope.environment, entry, started)
        raise


def _send_chunk(scope: Scope, pending: dict[tuple[Any, ...], _Entry], given: Sequence[Any], started: Moment) -> Steps[list[tuple[int, BulkResult[Any]]]]:
    deadline = started.monotonic + scope.environment.deadline_seconds
    done: list[tuple[int, BulkResult[Any]]] = []
    moment = started
    answer: Answer = _UNPROCESSED
    number = 0
    while pending and number < ATTEMPTS_MAX:
        number += 1
        try:
            answer = yield from _attempt(scope, list(pending.values()), number, timeout_seconds(scope.environment, moment, deadline))
        except SurewriteError as error:
            # Nothing of it was sent, for a cause that no resend mends; what was sent before keeps its result.
            answer = NotSent(str(error))
            break
        kind = class_of_answer(answer)
        if isinstance(answer, Success):
            left = _left_over(scope, answer, pending)
            for token in [token for token in pending if token not in left]:
                entry = pending.pop(token)
                entry.in_doubt = entry.in_doubt or answer.resent
                done.append(_ended(scope, entry, given, Decision.APPLIED, answer, number, started))
        elif kind is None or kind is AnswerClass.REJECTED:
            break
        elif brings_doubt(kind):
            for entry in pending.values():
                entry.in_doubt = True
        next_moment = (yield from pause_before_next(number, deadline)) if pending else None
        if next_moment is None:
            break
        moment = next_moment
    for entry in pending.values():
        decision = Decision.UNKNOWN if entry.in_doubt else Decision.REJECTED
        if isinstance(answer, Success):
            answer = _UNPROCESSED
        done.append(_ended(scope, entry, given, decision, answer, number, started))
    return done


def _attempt(scope: Scope, entries: Sequence[_Entry], number: int, timeout: float) -> Steps[Answer]:
    request = Request("BatchWriteItem", {"RequestItems": {scope.table: [entry.asked(number) for entry in entries]}})
    try:
        return (yield from send(scope.environment, request, timeout))
    except SurewriteError:
        raise
    except BaseException:
        for entry in entries:
            entry.in_doubt = True
        raise


def _remember_doubt(environment: Environment, entry: _Entry, moment: Moment) -> None:
    count_applied()
    if entry.plan.stamp is not None:
        environment.doubts.add(entry.plan.stamp, moment.monotonic)


def _left_over(scope: Scope, answer: Success, pending: Mapping[tuple[Any, ...], _Entry]) -> set[tuple[Any, ...]]:
    left: set[tuple[Any, ...]] = set()
    unprocessed: Mapping[str, Any] = answer.body.get("UnprocessedItems") or {}
    for asked in unprocessed.get(scope.table, ()):
        item: Item = asked["PutRequest"]["Item"] if "PutRequest" in asked else asked["DeleteRequest"]["Key"]
        left.add(key_token(item, scope.schema.key_names))
    return left & pending.keys()


def _ended(scope: Scope, entry: _Entry, given: Sequence[Any], decision: Decision, answer: Answer, number: int, started: Moment) -> tuple[int, BulkResult[Any]]:
    ending = Ending(decision, answer, None, number, entry.in_doubt)
    plan = entry.plan
    try:
        outcome = conclude(scope, plan, ending, started, given[entry.index])
    except SurewriteError as error:
        if decision is Decision.UNKNOWN:
            _remember_doubt(scope.environment, entry, started)
        return entry.index, BulkResult(given[entry.index], error=error)
    assert not isinstance(outcome, Refused)
    count_applied()
    return entry.index, BulkResult(given[entry.index], outcome)
