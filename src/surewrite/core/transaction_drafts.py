"""Belongs here: the actions of a transaction as they are collected, and their compilation into one request. Must not be here: sending, what an answer means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from surewrite.core import limits
from surewrite.core.answers import Reason
from surewrite.core.codecs import STR, Unstorable
from surewrite.core.conditions import Change, Condition
from surewrite.core.environment import Environment
from surewrite.core.keys import Key, is_key
from surewrite.core.outcomes import Canceled, Committed, Marker
from surewrite.core.planning import options_of_check, plan_check, plan_create, plan_delete, plan_put, plan_update, plan_upsert, plan_upsert_over_expired
from surewrite.core.plans import Expected, Plan, replaces_expired, state_of
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Options, Scope, ScopedTable
from surewrite.core.values import Item, encode_binary
from surewrite.errors import InvalidRequest

_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """What an action on a claim is for: the unique field, the type of the item, and, where the value is taken, the marker of the write that takes it."""

    field: str
    scope: Scope
    taker: Marker[Any] | None


@dataclass(frozen=True, slots=True)
class Intent:
    """One action as the caller said it. ``plan`` makes it of an occasion and options that may hold merged checks."""

    marker: Marker[Any]
    scope: Scope
    verb: str
    key: Item
    subject: Any
    options: Options
    plan: Callable[[Occasion, Options], Plan]
    asks_again: bool = False
    """A conflict on this action outranks refusals of others: its item says what the whole transaction is about."""
    replace_expired: Callable[[Expected, Occasion], Plan] | None = None
    """Of an upsert: the replacement of exactly the expired item that refused it."""
    changes: tuple[Change[Any], ...] = ()
    """Of an update or upsert, as the caller said them."""
    planned: bool = False
    """The plan was made beforehand and takes no further condition."""
    claim: ClaimPart | None = None
    """Of an action on a claim, which the library adds."""
    before: Item | None = None
    """The item as it was read, where its write demands exactly it and is to tell what it left; of one that was absent the key alone."""

    @property
    def named_key(self) -> Key[Any] | None:
        """The key, for errors."""
        return self.scope.schema.key_from(self.key)

    @property
    def place(self) -> tuple[str, str]:
        """Names the item, so that two actions on one are found."""
        return self.scope.table, json.dumps(self.key, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Action:
    """One compiled action and every intent that it serves."""

    plan: Plan
    intents: tuple[Intent, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """An action in another process: what is sent. Intents hold functions, and markers that nobody has there."""
        return Action, (self.plan, ())


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """A transaction ready to be sent: the actions, and the body that stays the same for every attempt."""

    actions: tuple[Action, ...]
    body: Mapping[str, Any]
    token: str
    name: str | None
    fence: Request

    def __repr__(self) -> str:
        """The actions, without keys and contents: errors carry plans into logs."""
        return f"<TransactionPlan: {', '.join(f'{action.plan.verb} {action.plan.entity}' for action in self.actions)}>"

    def request(self) -> Request:
        return Request("TransactWriteItems", {**self.body, "ClientRequestToken": self.token})

    def with_token(self, token: str) -> TransactionPlan:
        return replace(self, token=token, fence=_fence(self.actions[0].intents[0].scope, token))

    def with_actions(self, actions: Sequence[Action], token: str) -> TransactionPlan:
        """Another transaction for the same intents. Another content needs another token."""
        return _plan_of(tuple(actions), token, self.name)


@dataclass(slots=True)
class TransactionDraft:
    """The actions that were asked for, in order. ``name`` is the caller's name of the operation, where there is one."""

    environment: Environment
    name: str | None = None
    intents: list[Intent] = field(default_factory=list[Intent])
    committed: bool = False
    result: Committed | Canceled | None = None
    tells_items: bool = False
    """Writes that move claims tell what they left, which takes a read where it is not known."""
    lent: bool = False
    """A recipe commits it together with actions of its own, once the function that it was lent to has returned."""
    _turns: list[None] = field(default_factory=lambda: [None])
    """Its one commit. Taken out in one step, so that of two threads or tasks that commit it one only does."""

    def __post_init__(self) -> None:
        if self.name is None:
            return
        try:
            named = STR.accept(self.name)
        except Unstorable as error:
            raise InvalidRequest(f"the token of a transaction {error}") from None
        if not named:
            # Two operations without a name would have the same one.
            raise InvalidRequest("the token of a transaction is the name of its operation, and must not be empty: leave token= out for one without a name")

    def begin_commit(self) -> None:
        """Take the commit. Raises ``InvalidRequest`` where another one has it, or had."""
        try:
            self._turns.pop()
        except IndexError:
            raise _closed() from None

    def end_commit(self) -> None:
        """One that ended before anything of it was sent may be made again."""
        if not self.committed:
            self._turns.append(None)

    def told_result(self) -> Committed:
        """What the commit gave. Raises ``InvalidRequest`` where there was none yet, and ``TransactionCanceled``."""
        if self.result is None:
            raise InvalidRequest("this transaction has no result: it was not committed yet, or its commit raised")
        if isinstance(self.result, Canceled):
            raise self.result.error()
        return self.result

    def require_own(self, environment: Environment, table: str) -> None:
        """Refuse a table of another connection: what is meant for it would be written to one of its name over this one."""
        if environment is not self.environment:
            raise InvalidRequest(f"the table {table!r} is of another connection, and a transaction is sent over one: take db.table() of its own")

    def create(self, scope: Scope, entity: Any) -> Marker[Any]:
        return self._add(scope, "create", entity, scope.schema.key_of_entity(entity), Options(), lambda o, p: plan_create(scope, entity, o, p))

    def create_completed(self, scope: Scope, entity: Any, complete: Callable[[Any, Occasion], Any]) -> Marker[Any]:
        """A create of what ``complete`` makes of the entity and the time of the commit; under a name, whose bytes hold no time, of the entity itself."""

        def plan(occasion: Occasion, options: Options) -> Plan:
            return plan_create(scope, entity if self.name is not None else complete(entity, occasion), occasion, options)

        return self._add(scope, "create", entity, scope.schema.key_of_entity(entity), Options(), plan)

    def put(self, scope: Scope, entity: Any, options: Options) -> Marker[Any]:
        return self._add(scope, "put", entity, scope.schema.key_of_entity(entity), options, lambda o, p: plan_put(scope, entity, o, p))

    def put_planned(self, scope: Scope, entity: Any, plan: Plan) -> Marker[Any]:
        """A put whose plan was made beforehand, and demands that what it replaces claims nothing."""
        marker = self._add(scope, "put", entity, scope.schema.key_of_entity(entity), Options(), lambda _o, _p: plan)
        self.intents[-1] = replace(self.intents[-1], planned=True)
        return marker

    def update(self, scope: Scope, target: Any, changes: Sequence[Change[Any]], options: Options) -> Marker[Any]:
        def plan(occasion: Occasion, merged: Options) -> Plan:
            return plan_update(scope, target, changes, occasion, merged)

        return self._add(scope, "update", target, _key(scope, target), options, plan, tuple(changes))

    def upsert(self, scope: Scope, target: Any, changes: Sequence[Change[Any]], options: Options) -> Marker[Any]:
        def replace_expired(expired: Expected, occasion: Occasion) -> Plan:
            return plan_upsert_over_expired(scope, target, changes, expired, occasion)

        def plan(occasion: Occasion, merged: Options) -> Plan:
            return plan_upsert(scope, target, changes, occasion, merged)

        marker = self._add(scope, "upsert", target, _key(scope, target), options, plan, tuple(changes))
        self.intents[-1] = replace(self.intents[-1], replace_expired=replace_expired)
        return marker

    def delete(self, scope: Scope, target: Any, options: Options) -> Marker[Any]:
        return self._add(scope, "delete", target, _key(scope, target), options, lambda o, p: plan_delete(scope, target, o, p))

    def check(self, scope: Scope, key: Key[Any], condition: Condition[Any]) -> Marker[Any]:
        # What the checker knows is not what every caller has checked.
        if condition is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidRequest(f"{scope.entity}: a check demands a condition, such as {scope.entity}.field.exists()")

        options = options_of_check(scope, key, condition)
        return self._add(scope, "check", key, scope.schema.key_item(key), options, lambda o, p: plan_check(scope, key, o, p))

    def outrank(self, marker: Marker[Any]) -> None:
        """A conflict on this marker's item is asked again before any other refusal counts: for the guard row of a recipe."""
        self.intents = [replace(intent, asks_again=True) if intent.marker is marker else intent for intent in self.intents]

    def _add(
        self,
        scope: Scope,
        verb: str,
        subject: Any,
        key: Item,
        options: Options,
        plan: Callable[[Occasion, Options], Plan],
        changes: tuple[Change[Any], ...] = (),
    ) -> Marker[Any]:
        if not self._turns:
            raise _closed()
        marker: Marker[Any] = Marker(f"{verb} {scope.entity} (action {len(self.intents) + 1})")
        self.intents.append(Intent(marker, scope, verb, key, subject, options, plan, changes=changes))
        return marker


def _closed() -> InvalidRequest:
    return InvalidRequest("this transaction was committed, or is about to be; begin another one")


class DraftedTransaction(Protocol):
    """A transaction of either client, as a recipe sees it."""

    @property
    def draft(self) -> TransactionDraft: ...


TX_co = TypeVar("TX_co", bound=DraftedTransaction, covariant=True)


class TransactingTable(ScopedTable, Protocol[TX_co]):
    """What a recipe needs of its table that lets the user collect actions: the transactions of the table's own client."""

    def transaction(self, *, token: str | None = None) -> TX_co: ...


def _key(scope: Scope, target: Any) -> Item:
    return scope.schema.key_item(target) if is_key(target) else scope.schema.key_of_entity(target)


def compile_transaction(draft: TransactionDraft, occasion: Occasion, token: str) -> TransactionPlan:
    """The request of a draft. Raises ``InvalidRequest`` before anything is sent: no action, too many, too large, two writes of one item.

    Under a name its stamps follow from name and content alone, whatever id the occasion has.
    Limits: 100 actions and 4 MB of request. Source: the API reference of TransactWriteItems.
    """
    if not draft.intents:
        raise InvalidRequest("the transaction has no action")
    grouped = _by_item(draft.intents)
    actions = _actions_of(grouped, occasion if draft.name is None else replace(occasion, unique=""))
    if len(actions) > limits.TRANSACTION_ACTIONS:
        raise InvalidRequest(
            f"the transaction has {len(actions)} actions, claims of unique values among them, and the service takes {limits.TRANSACTION_ACTIONS};"
            " it is not split, since half of it could fail"
        )
    if draft.name is not None:
        _require_timeless(actions)
        actions = _actions_of(grouped, replace(occasion, unique=_unique_of_content(draft.name, actions)))
    return _plan_of(actions, token, draft.name)


def _actions_of(grouped: Sequence[tuple[Intent, ...]], occasion: Occasion) -> tuple[Action, ...]:
    return tuple(Action(intents[0].plan(occasion, merged_options(intents)), intents) for intents in grouped)


def replace_expired_items(actions: Sequence[Action], reasons: Sequence[Reason], occasion: Occasion) -> tuple[Action, ...] | None:
    """The actions where each upsert that an expired item refused replaces exactly that item; ``None`` if there was none such."""
    if len(actions) != len(reasons):
        return None
    found = tuple(_replacing(action, reason, occasion) for action, reason in zip(actions, reasons, strict=True))
    return None if all(new is old for new, old in zip(found, actions, strict=True)) else found


def _replacing(action: Action, reason: Reason, occasion: Occasion) -> Action:
    intent, item = action.intents[0], reason.item
    if intent.replace_expired is None or reason.code != "ConditionalCheckFailed":
        return action
    if action.plan.verb != "upsert":
        # The expired item was swept or rescued since: it takes the upsert again.
        return replace(action, plan=intent.plan(occasion, merged_options(action.intents)))
    if item is None or not replaces_expired(action.plan, item):
        return action
    return replace(action, plan=intent.replace_expired(state_of(action.plan, item), occasion))


def _plan_of(actions: tuple[Action, ...], token: str, name: str | None) -> TransactionPlan:
    body = _body_of(actions)
    # As it is sent: text is not escaped, so that a letter outside ASCII counts two to four bytes and not six or twelve.
    size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))
    if size > limits.TRANSACTION_BYTES:
        raise InvalidRequest(f"the transaction has {size} bytes and the service takes {limits.TRANSACTION_BYTES}; it is not split, since half of it could fail")
    return TransactionPlan(actions, body, token, name, _fence(actions[0].intents[0].scope, token))


def token_of_name(name: str) -> str:
    """The token of an operation that the caller names: the same in every process, and short enough for any name."""
    return _digest("token", name)[:36]


def _unique_of_content(name: str, actions: Sequence[Action]) -> str:
    """What a named operation writes in place of a random id, so that a restarted process sends the same bytes.

    By its content too: once the service has forgotten the name, nothing but the stamp tells an item that another content left.
    """
    return _digest("stamp", f"{name}\0{json.dumps(_body_of(actions), sort_keys=True)}")[:12]


def _body_of(actions: Sequence[Action]) -> dict[str, Any]:
    return {"TransactItems": [action.plan.action() for action in actions]}


def _digest(purpose: str, name: str) -> str:
    return encode_binary(_sha256(f"surewrite {purpose}\0{name}")).translate(_URL_SAFE).rstrip("=")


def _sha256(text: str) -> bytes:
    from hashlib import sha256  # noqa: PLC0415 - loaded by the first transaction, since it loads the system's cryptography

    return sha256(text.encode()).digest()


def _by_item(intents: Sequence[Intent]) -> list[tuple[Intent, ...]]:
    """The intents of each item, the write first. Two writes of one item cannot both be made, and merging them would guess."""
    by_place: dict[tuple[str, str], list[Intent]] = {}
    for intent in intents:
        by_place.setdefault(intent.place, []).append(intent)
    grouped: list[tuple[Intent, ...]] = []
    for found in by_place.values():
        writes = [intent for intent in found if intent.verb != "check"]
        if len(writes) > 1:
            raise InvalidRequest(
                f"{writes[0].marker.description} and {writes[1].marker.description} write one item, and a transaction writes an item once:"
                " make one write of them",
                key=writes[0].named_key,
            )
        grouped.append((*writes, *(intent for intent in found if intent.verb == "check")))
    return grouped


def merged_options(intents: tuple[Intent, ...]) -> Options:
    """The options of the first intent, with what the checks demand that it serves too."""
    options = intents[0].options
    for other in intents[1:]:
        assert other.options.condition is not None
        joined = other.options.condition if options.condition is None else options.condition & other.options.condition
        options = replace(options, condition=joined, version_demand=options.version_demand or other.options.version_demand)
    return options


def _require_timeless(actions: Sequence[Action]) -> None:
    for action in actions:
        if action.plan.expiry_before is not None and action.plan.body.get("ConditionExpression") is not None:
            raise InvalidRequest(
                f"{action.plan.entity} has a time to live, so its condition holds the time, and a named transaction must be the same bytes whenever it is sent:"
                " leave token= out and keep the name in an item of the transaction"
            )


def _fence(scope: Scope, token: str) -> Request:
    """Another transaction under the same token, without effect: it deletes an item that nobody has. 2 write units."""
    numbers = _sha256(f"surewrite fence\0{token}")
    key: Item = {}
    for name, kind in scope.schema.key_attribute_types():
        match kind:
            case "N":
                key[name] = {"N": f"-{int.from_bytes(numbers[:12], 'big')}.{int.from_bytes(numbers[12:15], 'big') % 100000:05d}1"}
            case "B":
                key[name] = {"B": encode_binary(b"surewrite-fence " + numbers)}
            case _:
                key[name] = {"S": f"surewrite-fence {numbers.hex()}"}
    return Request("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": scope.table, "Key": key}}], "ClientRequestToken": token})
