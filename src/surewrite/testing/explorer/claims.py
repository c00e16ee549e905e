"""Belongs here: all schedules of clients that move unique values between items, by the library's own plans. Must not be here: which worlds are looked at.

Each client reads the item that it is to write and sends one transaction of the item and its claims, again if it is
cancelled. What was committed may be carried out once more at any later moment: the service has forgotten the token, or
knows none. Every item with a value must have the claim of it, every claim its item, and no late copy may take effect again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from surewrite.core.entities import Attribute, Entity, TableLayout, schema_of
from surewrite.core.entities import unique as unique_field
from surewrite.core.requests import Request
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.transaction_drafts import Intent, TransactionDraft, compile_transaction
from surewrite.core.uniqueness import Movement, ReadState, claim_intents, movement, moves_claims
from surewrite.core.values import Item
from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore
from surewrite.testing.explorer.stage import environment, occasion

TABLE: Final = "claims"
LAYOUT: Final = TableLayout(("pk", "sk"))
STATES_MAX: Final = 500_000


class Holder(Entity, discriminator="HOLDER", partition_key="{id}", sort_key="HOLDER"):
    """An item that may have the value."""

    id: Attribute[str]
    value: Attribute[str | None] = unique_field(default=None)


Verb = Literal["update", "upsert", "put", "delete"]
Act = tuple[Verb, str, str | None]
"""What a client does: the verb, which item, and the value that it is to have."""

Plan = Callable[[Intent, ReadState | None, Occasion], Movement]
"""How a write is made of what was read; the library's own is ``movement``."""


@dataclass(frozen=True, slots=True)
class ClaimWorld:
    """Items with their values at the start, what each client does one after another, and whether copies of what was committed fly on."""

    start: tuple[tuple[str, str | None], ...]
    clients: tuple[tuple[Act, ...], ...]
    late: bool = True
    plan: Plan = movement


class _State(NamedTuple):
    """``clients``: the act that each is at, and the item that it read for it ("" where it has not read). ``made`` counts commits, and names the next."""

    database: str
    clients: tuple[tuple[int, str], ...]
    late: tuple[str, ...]
    made: int


@dataclass(slots=True)
class ClaimsFound:
    """What a search came to; ``untrue`` and ``story`` of the shortest schedule that goes wrong, if one does."""

    states: int = 0
    words: set[str] = field(default_factory=set[str])
    untrue: str | None = None
    story: tuple[str, ...] = ()
    complete: bool = True


class ClaimSearch:
    """One world, breadth first."""

    def __init__(self, world: ClaimWorld) -> None:
        self._world = world
        self._scope = Scope(environment(), TABLE, schema_of(Holder).bind(LAYOUT))
        self._executed: dict[tuple[str, str], str | None] = {}

    def run(self) -> ClaimsFound:
        """Go through all schedules until something is untrue."""
        first = _State(self._start(), tuple((0, "") for _ in self._world.clients), (), 0)
        before: dict[_State, tuple[_State, str] | None] = {first: None}
        waiting = deque([first])
        found = ClaimsFound()
        while waiting:
            state = waiting.popleft()
            found.states += 1
            if found.states > STATES_MAX:
                found.complete = False
                return found
            for word, line, after in self._next(state):
                found.words.add(word)
                if after in before:
                    continue
                before[after] = (state, line)
                waiting.append(after)
                untrue = "an update took effect twice" if word == "again" else disagreement(after.database)
                if untrue is not None:
                    found.untrue, found.story = untrue, (*_way(before, after), f"Untrue: {untrue}.")
                    return found
        return found

    def _next(self, state: _State) -> Iterator[tuple[str, str, _State]]:
        for number, (at, read) in enumerate(state.clients):
            acts = self._world.clients[number]
            if at == len(acts):
                continue
            if not read:
                item = _item(state.database, acts[at][1])
                yield "", f"{_NAMES[number]} reads {acts[at][1]}: {_shown(item)}.", _with_client(state, number, (at, json.dumps(item)))
                continue
            actions = self._actions(acts[at], json.loads(read), state.made)
            after = self._carry_out(actions, state.database)
            did = f"{_NAMES[number]}: {_described(acts[at])}"
            if after is None:
                yield "refused", f"{did} is cancelled, and reads again.", _with_client(state, number, (at, ""))
            else:
                late = (*state.late, actions) if self._world.late else state.late
                moved = _with_client(state, number, (at + 1, ""))
                yield "applied", f"{did} is committed.", moved._replace(database=after, late=late, made=state.made + 1)
        for number, actions in enumerate(state.late):
            after = self._carry_out(actions, state.database)
            if after is not None and after != state.database:
                yield "again", "A late copy of a commit is carried out again.", state._replace(database=after, late=state.late[:number])

    def _actions(self, act: Act, read: Item | None, made: int) -> str:
        """The transaction of one act, as it is sent."""
        draft = TransactionDraft(self._scope.environment)
        verb, name, value = act
        key = Holder.key_of(name)
        change = Holder.value.remove() if value is None else Holder.value.set(value)
        match verb:
            case "update":
                draft.update(self._scope, key, [change], Options())
            case "upsert":
                draft.upsert(self._scope, key, [change], Options())
            case "put":
                draft.put(self._scope, Holder(id=name, value=value), Options())
            case "delete":
                draft.delete(self._scope, key, Options())
        now = occasion(f"t{made:011}")
        intents = [self._world.plan(intent, ReadState(read), now) for intent in draft.intents if moves_claims(intent)]
        whole = TransactionDraft(self._scope.environment, None, [*(moved.intent for moved in intents), *claim_intents(intents, frozenset()).values()])
        return json.dumps(compile_transaction(whole, now, "token").body, sort_keys=True)

    # --------------------------------------------------------------------------------------------------------- the service

    def _start(self) -> str:
        database = json.dumps([])
        for number, (name, value) in enumerate(self._world.start, 1):
            after = self._carry_out(self._actions(("upsert", name, value), None, 10_000 + number), database)
            assert after is not None
            database = after
        return database

    def _carry_out(self, actions: str, database: str) -> str | None:
        """The database after the transaction; ``None`` if it is cancelled."""
        if (actions, database) not in self._executed:
            self._executed[actions, database] = _evaluate(Request("TransactWriteItems", json.loads(actions)), json.loads(database))
        return self._executed[actions, database]


def _evaluate(request: Request, items: list[Item]) -> str | None:
    service = Service(MemoryStore(), clock=lambda: 0.0)
    keys = [{"AttributeName": name, "AttributeType": "S"} for name in LAYOUT.key]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in zip(LAYOUT.key, ("HASH", "RANGE"), strict=False)]
    service.execute("CreateTable", {"TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": keys, "KeySchema": schema})
    for item in items:
        service.execute("PutItem", {"TableName": TABLE, "Item": item})
    try:
        service.execute(request.operation, request.body)
    except ServiceError:
        return None
    after: list[Item] = service.execute("Scan", {"TableName": TABLE, "ConsistentRead": True})["Items"]
    return json.dumps(sorted(after, key=lambda item: str(item["pk"]["S"])), sort_keys=True)


# ------------------------------------------------------------------------------------------------------------- in words

_NAMES: Final = ("A", "B", "C")


def disagreement(database: str) -> str | None:
    """What is wrong with the items and the claims that are stored."""
    items: list[Item] = json.loads(database)
    held = {item["id"]["S"]: item["value"]["S"] for item in items if "value" in item}
    claimed = {item["_claimed"]["S"].rpartition("#")[2]: json.loads(item["_owner"]["S"])[0] for item in items if "_claimed" in item}
    for name, value in held.items():
        if claimed.get(value) != name:
            return f"item {name} has {value}, and its claim is of {claimed.get(value, 'nobody')}"
    for value, owner in claimed.items():
        if held.get(owner) != value:
            return f"{value} is claimed for {owner}, which has {held.get(owner, 'nothing')}: it stays taken"
    return None


def _item(database: str, name: str) -> Item | None:
    items: list[Item] = json.loads(database)
    return next((item for item in items if item["pk"]["S"] == name), None)


def _with_client(state: _State, number: int, client: tuple[int, str]) -> _State:
    return state._replace(clients=(*state.clients[:number], client, *state.clients[number + 1 :]))


def _way(before: dict[_State, tuple[_State, str] | None], last: _State) -> tuple[str, ...]:
    lines: list[str] = []
    state = last
    while (link := before[state]) is not None:
        lines.append(link[1])
        state = link[0]
    return tuple(reversed(lines))


def _described(act: Act) -> str:
    verb, name, value = act
    return f"{verb} {name}" if verb == "delete" else f"{verb} {name} to {value}"


def _shown(item: Any) -> str:
    if item is None:
        return "no item"
    value: Item = item.get("value", {})
    return f"value {value.get('S', 'none')}, stamp {item['_s']['S']}"
