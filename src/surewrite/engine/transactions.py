"""Belongs here: transactions: their request checks, tokens, commit and reasons of cancellation. Must not be here: the steps of one write."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from surewrite.core import limits
from surewrite.core.values import Item, item_size
from surewrite.engine.capacity import TRANSACTION_FACTOR, Charges, collection_metrics, read_units, wanted_capacity, write_units
from surewrite.engine.context import Context, Place
from surewrite.engine.faults import CancellationReason, ServiceError, validation
from surewrite.engine.item_operations import CONFLICT, read_projection, shown
from surewrite.engine.key_validation import check_key_filled, check_key_length, check_key_paths, check_key_shape
from surewrite.engine.members import (
    CAPACITY,
    COLLECTION_METRICS,
    KEY,
    NAMES,
    RETURN_ON_FAILURE,
    TABLE,
    VALUES,
    Member,
    Shapes,
    expression,
    require_map,
    require_none,
    table_name,
)
from surewrite.engine.schemas import Table
from surewrite.engine.stores.store import Session, TokenRecord
from surewrite.engine.streams import Change
from surewrite.engine.syntax import ProjectionNode
from surewrite.engine.validation import check_item
from surewrite.engine.writes import (
    ActionKind,
    Made,
    WriteAction,
    check_against_schema,
    check_content,
    check_index_content,
    check_shape,
    check_update_depth,
    failed_condition,
    make,
    read_action,
)

_NO_REASON: Final = CancellationReason("None")
_CONFLICT: Final = CancellationReason("TransactionConflict", CONFLICT)
_DUPLICATE: Final = "Transaction request cannot include multiple operations on one item"
_ONE_ACTION: Final = "TransactItems can only contain one of Check, Put, Update or Delete"

_ITEMS: Final = Member("TransactItems", "list", required=True, least=1, most=limits.TRANSACTION_ACTIONS)
_TOKEN: Final = Member("ClientRequestToken", "string", least=1, most=limits.TRANSACTION_TOKEN_CHARACTERS)
_WRITE_REQUEST: Final = Shapes("TransactWriteItems", (CAPACITY, COLLECTION_METRICS, _TOKEN, _ITEMS))
_GET_REQUEST: Final = Shapes("TransactGetItems", (CAPACITY, _ITEMS))

_ACTION: Final = (TABLE, NAMES, VALUES, RETURN_ON_FAILURE)
_KINDS: Final[Mapping[ActionKind, Shapes]] = {
    "Put": Shapes("Put", (*_ACTION, Member("Item", "map", required=True), expression("ConditionExpression"))),
    "Update": Shapes("Update", (*_ACTION, KEY, Member("UpdateExpression", "string", required=True), expression("ConditionExpression"))),
    "Delete": Shapes("Delete", (*_ACTION, KEY, expression("ConditionExpression"))),
    "ConditionCheck": Shapes("ConditionCheck", (*_ACTION, KEY, Member("ConditionExpression", "string", required=True))),
}
_GET: Final = Shapes("Get", (TABLE, KEY, expression("ProjectionExpression"), NAMES))


@dataclass(frozen=True, slots=True)
class _Request:
    """A TransactWriteItems request that passed every check that needs no table."""

    body: Mapping[str, Any]
    actions: tuple[WriteAction, ...]
    token: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class _Target:
    """One action with its table, and its place in it where its key has the right shape."""

    action: WriteAction
    table: Table
    place: Place | None


def transact_write_items(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """TransactWriteItems: all actions or none. Raises TransactionCanceledException with a reason for each action."""
    request = _read(context, body)
    return _run(context, request, owner=None)


class HeldTransaction:
    """A transaction that was checked and holds its items. End it once, by ``commit`` or ``cancel``."""

    __slots__ = ("_context", "_ended", "_request")

    def __init__(self, context: Context, request: _Request) -> None:
        self._context = context
        self._request = request
        self._ended = False

    def commit(self) -> dict[str, Any]:
        """Carry the transaction out and return its answer. Raises ``ServiceError`` where another process came between."""
        self._end()
        return _run(self._context, self._request, owner=self)

    def cancel(self) -> None:
        """Give the items and the token free; nothing is written."""
        self._end()
        self._context.locks.release(self)

    def _end(self) -> None:
        if self._ended:
            raise RuntimeError("this held transaction was already committed or cancelled")
        self._ended = True


def hold(context: Context, body: Mapping[str, Any]) -> HeldTransaction:
    """Check a transaction against the present state and lock its items and its token."""
    request = _read(context, body)
    held = HeldTransaction(context, request)
    with context.store.session(write=True) as session:
        if _replay(context, session, request) is None:
            targets = _targets(context, session, request.actions)
            _prepare(context, session, targets)
            items = [(target.table, target.place) for target in targets if target.place is not None]
            session.after_commit(partial(context.locks.acquire, held, items, request.token))
    return held


def transact_get_items(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """TransactGetItems: all items from one point in time."""
    reads = _read_gets(body)
    with context.store.session(write=False) as session:
        tables = [context.catalogue.table(session, name) for name, _, _ in reads]
        places = _get_places(context, reads, tables)
        items = [session.get(table.space, *place) for table, place in zip(tables, places, strict=True)]
    if sum(item_size(item) for item in items if item is not None) > limits.TRANSACTION_BYTES:
        raise validation(f"The items of a TransactGetItems request cannot exceed {limits.TRANSACTION_BYTES} bytes in all")
    answer: dict[str, Any] = {
        "Responses": [_response(item, projection) for item, (_, _, projection) in zip(items, reads, strict=True)],
    }
    wanted = wanted_capacity(body)
    if wanted is not None:
        charges = Charges()
        for table, item in zip(tables, items, strict=True):
            charges.of(table).units += TRANSACTION_FACTOR * read_units(item_size(item) if item is not None else 0, consistent=True)
        answer["ConsumedCapacity"] = charges.told(wanted, "Read")
    return answer


def _response(item: Item | None, projection: ProjectionNode | None) -> dict[str, Any]:
    """One of the answers; unlike GetItem's, it leaves out an item of which nothing is to be shown (measured)."""
    present = None if item is None else shown(item, projection)
    return {"Item": present} if present else {}


def _read(context: Context, body: Mapping[str, Any]) -> _Request:
    _WRITE_REQUEST.check_shapes(body)
    faults = _WRITE_REQUEST.faults(body)
    named: list[tuple[ActionKind, Mapping[str, Any]]] = []
    for at, element in enumerate(body.get("TransactItems") or (), start=1):
        kind, action = _only_action(element)
        _KINDS[kind].check_shapes(action)
        faults += _KINDS[kind].faults(action, f"transactItems.{at}.member.{kind[0].lower()}{kind[1:]}.")
        named.append((kind, action))
    require_none(faults)
    actions = tuple(read_action(kind, action, transactional=True) for kind, action in named)
    if _payload_bytes(body) > limits.TRANSACTION_BYTES:
        raise validation(f"Transaction request size cannot exceed {limits.TRANSACTION_BYTES} bytes")
    token = None if context.settings.tokens_ignored else body.get("ClientRequestToken")
    return _Request(body, actions, token, _digest(named, actions) if token is not None else "")


def _only_action(element: object) -> tuple[ActionKind, Mapping[str, Any]]:
    present = {name: content for name, content in require_map(element, "an element of TransactItems").items() if content is not None}
    for kind in _KINDS:
        content = present.get(kind)
        if content is not None and len(present) == 1:
            return kind, require_map(content, kind)
    raise validation(_ONE_ACTION)


def _payload_bytes(body: Mapping[str, Any]) -> int:
    return len(json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict).encode())


def _digest(named: Sequence[tuple[ActionKind, Mapping[str, Any]]], actions: Sequence[WriteAction]) -> str:
    """What stands for the content of a transaction: equal for requests that mean the same, however their values are written."""
    content = [
        {
            **{name: part for name, part in body.items() if name not in ("Item", "Key", "ExpressionAttributeValues") and part is not None},
            "TableName": action.table,
            "kind": kind,
            "subject": action.subject,
            "values": action.constants,
        }
        for (kind, body), action in zip(named, actions, strict=True)
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=dict).encode()).hexdigest()


def _run(context: Context, request: _Request, owner: HeldTransaction | None) -> dict[str, Any]:
    cancelled: ServiceError | None = None
    answer: dict[str, Any] = {}
    outcome: dict[str, Any] = {}
    try:
        with context.store.session(write=True) as session:
            if owner is not None:
                context.locks.release(owner)
            replayed = _replay(context, session, request)
            if replayed is not None:
                return replayed
            targets = _targets(context, session, request.actions)
            try:
                made = _prepare(context, session, targets)
            except ServiceError as refused:
                if request.token is None or not context.settings.cancelled_originals_remembered:
                    raise
                cancelled = refused
                outcome = _told_reasons(refused)
            else:
                context.apply(session, [each.change for each in made])
                answer = _write_answer(request.body, targets, made)
                outcome = {"sizes": [each.change.size for each in made]} if request.token is not None else {}
            _remember(context, session, request, outcome)
    finally:
        if owner is not None:
            context.locks.release(owner)
    if cancelled is not None:
        raise cancelled
    return answer


def _replay(context: Context, session: Session, request: _Request) -> dict[str, Any] | None:
    """The answer that a token's finished transaction gives to a repeat; None where the request is to be carried out."""
    token = request.token
    if token is None:
        return None
    if context.locks.has_token(token):
        raise ServiceError("TransactionInProgressException", "Transaction from previous request is still in progress")
    session.forget_tokens(context.clock() - context.settings.token_life_seconds)
    record = session.token(token)
    if record is None:
        return None
    if record.digest != request.digest:
        raise ServiceError("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request")
    outcome = json.loads(record.outcome)
    if "reasons" in outcome:
        raise _cancelled([CancellationReason(**reason) for reason in outcome["reasons"]])
    wanted = wanted_capacity(request.body)
    if wanted is None:
        return {}
    # A repeat is charged for reading what the original was sized on.
    charges = Charges()
    for action, size in zip(request.actions, outcome["sizes"], strict=True):
        charges.of(context.catalogue.table(session, action.table)).units += TRANSACTION_FACTOR * read_units(size, consistent=True)
    return {"ConsumedCapacity": charges.told(wanted, "Read")}


def _remember(context: Context, session: Session, request: _Request, outcome: Mapping[str, Any]) -> None:
    if request.token is not None:
        session.put_token(request.token, TokenRecord(request.digest, context.clock(), json.dumps(outcome)))


def _told_reasons(cancelled: ServiceError) -> dict[str, Any]:
    return {"reasons": [{"code": reason.code, "message": reason.message, "item": reason.item} for reason in cancelled.reasons]}


def _targets(context: Context, session: Session, actions: Sequence[WriteAction]) -> list[_Target]:
    """The actions with their tables and places; raises what concerns the request as a whole."""
    tables = [context.catalogue.table(session, action.table) for action in actions]
    targets: list[_Target] = []
    seen: set[tuple[str, Place]] = set()
    for action, table in zip(actions, tables, strict=True):
        if _shape_fault(action, table) is not None:
            targets.append(_Target(action, table, None))
            continue
        check_content(action, table)
        check_index_content(action, table)
        place = table.key.place(action.subject)
        if (table.space, place) in seen:
            raise validation(_DUPLICATE)
        seen.add((table.space, place))
        targets.append(_Target(action, table, place))
    return targets


def _shape_fault(action: WriteAction, table: Table) -> ServiceError | None:
    try:
        check_shape(action, table)
    except ServiceError as fault:
        return fault
    return None


def _prepare(context: Context, session: Session, targets: Sequence[_Target]) -> list[Made]:
    """What each action makes; raises TransactionCanceledException. All conditions see the state before the transaction."""
    for at, target in enumerate(targets):
        try:
            check_shape(target.action, target.table)
            check_against_schema(target.action, target.table)
            check_update_depth(target.action)
        except ServiceError as fault:
            raise _one_fault(fault, at, len(targets)) from None
    made: list[Made] = []
    reasons: list[CancellationReason] = []
    for at, target in enumerate(targets):
        action, table, place = target.action, target.table, target.place
        if place is None:
            raise AssertionError("an action of the right shape has a place")
        if context.locks.is_locked(table, place):
            reasons.append(_CONFLICT)
            continue
        old = session.get(table.space, *place)
        refusal = failed_condition(action, old)
        if refusal is not None:
            reasons.append(CancellationReason("ConditionalCheckFailed", refusal.message, refusal.item))
            continue
        try:
            made.append(make(action, table, place, old))
        except ServiceError as fault:
            raise _one_fault(fault, at, len(targets)) from None
        reasons.append(_NO_REASON)
    if len(made) != len(targets):
        raise _cancelled(reasons)
    return made


def _one_fault(fault: ServiceError, at: int, count: int) -> ServiceError:
    return _cancelled([CancellationReason("ValidationError", fault.message) if index == at else _NO_REASON for index in range(count)])


def _cancelled(reasons: Sequence[CancellationReason]) -> ServiceError:
    codes = ", ".join(reason.code for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return ServiceError("TransactionCanceledException", message, reasons=tuple(reasons))


def _write_answer(body: Mapping[str, Any], targets: Sequence[_Target], made: Sequence[Made]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    wanted = wanted_capacity(body)
    if wanted is not None:
        charges = Charges()
        for target, each in zip(targets, made, strict=True):
            if target.action.kind == "ConditionCheck":
                charges.of(target.table).units += TRANSACTION_FACTOR * write_units(each.change.size)
            else:
                charges.of(target.table).add_write(each.change, TRANSACTION_FACTOR)
        answer["ConsumedCapacity"] = charges.told(wanted, "Write")
    written: list[Change] = [each.change for target, each in zip(targets, made, strict=True) if target.action.kind != "ConditionCheck"]
    for table, metrics in collection_metrics(body, written):
        answer.setdefault("ItemCollectionMetrics", {}).setdefault(table.name, []).append(metrics)
    return answer


def _read_gets(body: Mapping[str, Any]) -> list[tuple[str, Item, ProjectionNode | None]]:
    _GET_REQUEST.check_shapes(body)
    faults = _GET_REQUEST.faults(body)
    gets: list[Mapping[str, Any]] = []
    for at, element in enumerate(body.get("TransactItems") or (), start=1):
        content = require_map(element, "an element of TransactItems")
        get = content.get("Get")
        if get is None or len(content) != 1:
            faults.append(f"Value null at 'transactItems.{at}.member.get' failed to satisfy constraint: Member must not be null")
            continue
        _GET.check_shapes(require_map(get, "Get"))
        faults += _GET.faults(get, f"transactItems.{at}.member.get.")
        gets.append(get)
    require_none(faults)
    return [(table_name(get["TableName"]), check_item(get["Key"]), read_projection(get, transactional=True)) for get in gets]


def _get_places(context: Context, reads: Sequence[tuple[str, Item, ProjectionNode | None]], tables: Sequence[Table]) -> list[Place]:
    places: list[Place] = []
    seen: set[tuple[str, Place]] = set()
    fault: ServiceError | None = None
    for at, ((_, key, projection), table) in enumerate(zip(reads, tables, strict=True)):
        try:
            check_key_shape(key, table.key)
        except ServiceError as found:
            fault = fault or _one_fault(found, at, len(reads))
            continue
        check_key_filled(key, table.key)
        place = table.key.place(key)
        if (table.space, place) in seen:
            raise validation(_DUPLICATE)
        seen.add((table.space, place))
        places.append(place)
        try:
            check_key_length(key, table.key)
            check_key_paths(projection.paths if projection is not None else (), table.key, table.indexes)
        except ServiceError as found:
            fault = fault or _one_fault(found, at, len(reads))
    if fault is not None:
        raise fault
    locked = [context.locks.is_locked(table, place) for table, place in zip(tables, places, strict=True)]
    if any(locked):
        raise _cancelled([_CONFLICT if is_locked else _NO_REASON for is_locked in locked])
    return places
