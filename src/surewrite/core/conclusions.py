"""Belongs here: what a caller is told of a write that has ended: its outcome, its refusal, or the error in its place. Must not be here: sending, deciding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from surewrite.core.answers import NotSent, Rejection
from surewrite.core.asking import describe_answer, explain_rejection
from surewrite.core.attempts import Ending
from surewrite.core.decisions import BUSY_CODES, CONFLICT_CODES, Decision
from surewrite.core.effects import Moment
from surewrite.core.entities import Stored, stored_state, with_stored
from surewrite.core.environment import Environment
from surewrite.core.keys import Key
from surewrite.core.outcomes import Applied, Refusal, Refused, refused_for
from surewrite.core.plans import (
    Plan,
    adds_to_version,
    explain_refusal,
    explain_unseen_refusal,
    foreign_type,
    is_expired,
    own_stamp,
    stamp_of_write,
    stored_text,
)
from surewrite.core.scopes import Scope
from surewrite.core.values import AttributeValue, Item
from surewrite.errors import (
    ConnectionFailed,
    InvalidRequest,
    OldItemLost,
    OutcomeUnknown,
    SurewriteError,
    Throttled,
    TransactionConflict,
    UndecodableItem,
)

R = TypeVar("R")


def applied_item(outcome: Applied[R] | Refused[Any]) -> R:
    """The item of an applied write; raises the refusal of a refused one."""
    if isinstance(outcome, Refused):
        raise outcome.error()
    return outcome.item


def conclude(scope: Scope, plan: Plan, ending: Ending, started: Moment, entity: Any = None) -> Applied[Any] | Refused[Any]:
    """The outcome for the caller, or the error where the word is not one of the item's own.

    ``entity`` is what a put or create stores: where it was applied, the outcome has it in its new state.
    """
    match ending.decision:
        case Decision.APPLIED | Decision.RECOVERED | Decision.GONE:
            return Applied(
                _item_after(scope, plan, ending, entity),
                not ending.in_doubt or plan.once,
                ending.decision is Decision.RECOVERED,
                ending.decision is Decision.GONE,
                ending.attempts,
            )
        case Decision.REFUSED:
            return refused_for(refusal(scope, plan, ending.item, ending.attempts, started, seen=ending.seen))
        case Decision.UNKNOWN | Decision.SUPERSEDED:
            raise unknown(scope, plan, ending)
        case _:
            hint = about_version(plan, ending.answer.message) if isinstance(ending.answer, Rejection) else ""
            raise rejection(plan.entity, plan.verb, scope.schema.key_from(plan.key), ending, scope.environment, (plan.table,), hint)


def refusal(scope: Scope, plan: Plan, item: Item | None, attempts: int, started: Moment, *, seen: bool) -> Refusal[Any]:
    """The refusal of a plan by the stored item. An expired item is handed out as none, one of another type as that.

    ``seen`` is whether no item means that none is stored; otherwise nobody knows which demand was not met.
    """
    stamp = stored_text(item, plan.names.stamp) if item is not None else None
    entity, undecodable = _read_refusing(scope, plan, item)
    return Refusal(
        reason=explain_refusal(plan, item) if item is not None or seen else explain_unseen_refusal(plan),
        entity=plan.entity,
        item=entity,
        key=scope.schema.key_from(plan.key),
        attempts=attempts,
        own_earlier_write=stamp is not None and scope.environment.doubts.holds(stamp_of_write(stamp), started.monotonic),
        stored_type=foreign_type(plan, item) if item is not None else None,
        undecodable=undecodable,
    )


def _read_refusing(scope: Scope, plan: Plan, item: Item | None) -> tuple[Any, UndecodableItem | None]:
    """The refusing item as an entity, or why it is none. That it cannot be read must not hide how the write ended."""
    if item is None or is_expired(plan, item):
        return None, None
    try:
        return scope.schema.from_item(item), None
    except UndecodableItem as error:
        return None, error
    except Exception:  # noqa: BLE001 - a codec of the developer may raise anything
        return None, None


def unknown(scope: Scope, plan: Plan, ending: Ending) -> OutcomeUnknown:
    """The error of a plan whose outcome nothing shows."""
    superseded = ending.decision is Decision.SUPERSEDED
    seen = " This order or a newer one is stored: whatever became of this write, that state stays." if superseded else ""
    return OutcomeUnknown(
        f"{plan.entity}: the {plan.verb} may have taken effect, or may within five minutes: {describe_answer(ending.answer)}"
        f" after {ending.attempts} attempt(s), and nothing proves either.{seen} Read the item before deciding again",
        key=scope.schema.key_from(plan.key),
        attempts=ending.attempts,
        item=_read_refusing(scope, plan, ending.item)[0],
        plan=plan,
        superseded=superseded,
    )


def about_version(plan: Plan, message: str) -> str:
    """What to look at, where the service tells that an operand is of a wrong type and one of them was the stored version."""
    if not adds_to_version(plan) or "data type" not in message:
        return ""
    return (
        f"; the write adds 1 to the version, so look whether {plan.names.version!r} is stored as a number:"
        " NULL is adopted by key.if_version(None), anything else has to be mended"
    )


def rejection(entity: str, verb: str, key: Key[Any] | None, ending: Ending, environment: Environment, tables: Iterable[str], hint: str = "") -> SurewriteError:
    """The error of a write that did not take effect for a cause that is not the item's. ``hint`` follows what the service tells of a malformed one."""
    answer, attempts = ending.answer, ending.attempts
    if isinstance(answer, Rejection) and answer.code in CONFLICT_CODES:
        return TransactionConflict(
            f"{entity}: a running transaction held the item until the deadline; the {verb} was not made, trying again is safe", key=key, attempts=attempts
        )
    if isinstance(answer, Rejection) and answer.code in BUSY_CODES:
        return Throttled(
            f"{entity}: {describe_answer(answer)} until the deadline; the {verb} was not made: slow down, then try again", key=key, attempts=attempts
        )
    if isinstance(answer, Rejection):
        reason = explain_rejection(environment, answer, tables)
        return InvalidRequest(f"{entity}: the {verb} was not made: {reason}{hint}", key=key, attempts=attempts, code=answer.code)
    detail = answer.detail if isinstance(answer, NotSent) else describe_answer(answer)
    return ConnectionFailed(f"{entity}: the {verb} was not sent: {detail}; trying again is safe", key=key, attempts=attempts)


def stored_entity(scope: Scope, plan: Plan, entity: Any, ending: Ending | None = None) -> Any:
    """The entity as the plan stored it, ready for the next write. ``ending`` is that of a plan whose attempts have stamps of their own."""
    assert plan.stored is not None
    stamp = plan.stamp if ending is None else _stamp_stored(plan, ending)
    before = stored_state(entity)
    birth = stored_text(plan.stored, plan.names.birth)
    undeclared: Mapping[str, AttributeValue] = before.unknown if before is not None else {}
    state = Stored(plan.version, stamp, stamp if birth == plan.stamp else birth, undeclared, held=scope.schema.held(plan.stored))
    return with_stored(entity, state)


def _stamp_stored(plan: Plan, ending: Ending) -> str | None:
    """The stamp of the attempt that took effect: the one that was answered, or the one that the refusing item shows."""
    shown = own_stamp(plan, ending.item) if ending.decision is Decision.RECOVERED and ending.item is not None else None
    return shown if shown is not None else plan.stamp_of(ending.attempts)


def _item_after(scope: Scope, plan: Plan, ending: Ending, entity: Any) -> Any:
    if ending.decision is Decision.GONE:
        return None
    if plan.returning == "old" and plan.verb != "delete":
        if ending.in_doubt and not (plan.once and ending.decision is Decision.APPLIED):
            raise OldItemLost(
                f"{plan.entity}: the {plan.verb} was applied, but the old item was in an answer that never came;"
                " to be sure of it, get the item and put it if unchanged",
                key=scope.schema.key_from(plan.key),
                attempts=ending.attempts,
            )
        return None if ending.item is None or is_expired(plan, ending.item) else read_after(scope, plan, ending.item)
    if plan.verb in ("create", "put"):
        return None if entity is None else stored_entity(scope, plan, entity, ending)
    if ending.item is None:
        return None
    return read_after(scope, plan, ending.item)


def read_after(scope: Scope, plan: Plan, item: Item) -> Any:
    """The item that came with an applied write. That it cannot be read must not be told as if nothing was written."""
    try:
        return scope.schema.from_item(item)
    except Exception as error:
        # A codec of the developer may raise anything, and its text may hold contents of the item.
        why = str(error) if isinstance(error, SurewriteError) else type(error).__name__
        raise UndecodableItem(
            f"{plan.entity}: the {plan.verb} was applied, and the item that it answered with cannot be read: {why}",
            key=scope.schema.key_from(plan.key),
            entity=scope.schema.entity,
            field=error.field if isinstance(error, UndecodableItem) else None,
            stored_type=error.stored_type if isinstance(error, UndecodableItem) else None,
        ) from error
