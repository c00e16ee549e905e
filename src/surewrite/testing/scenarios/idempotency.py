"""Belongs here: scenarios of calls with a key: effects that are writes, and effects elsewhere under a claim. Must not be here: other recipes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.recipes.effect_answers import EffectClaim, EffectNotKnown
from surewrite.recipes.idempotency import EffectRefused, Idempotency
from surewrite.recipes.idempotency_leases import AfterLost, LeasedEffects
from surewrite.recipes.idempotency_records import EffectDone, IdempotencyRecord
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World
from surewrite.testing.world_settings import WorldSettings

KEYS = ("r1", "r2")
LEASE_SECONDS = 20.0


class Purse(Entity, discriminator="PURSE", partition_key="PURSE#{request}", sort_key="COINS"):
    """One coin for each request, which its effect takes."""

    request: Attribute[str]
    coins: Attribute[int] = sw.attribute(default=1)
    takers: Attribute[list[str]] = sw.attribute(default_factory=list)


def idempotent_effects(world: World) -> None:
    """Clients charge the same requests, again and again: each is charged once, and every call of it gets one answer."""
    told: dict[str, set[str]] = {key: set() for key in KEYS}

    async def caller(client: AsyncClient) -> None:
        keys = Idempotency(client.table(), "charge", wait_seconds=5.0)
        for _ in range(1 + client.choose(3)):
            await _charge(client, keys, client.one_of(KEYS), told)
            await client.think(1.0)

    async def last(client: AsyncClient) -> None:
        keys = Idempotency(client.table(), "charge")
        for key in KEYS:
            await _charge(client, keys, key, told)

    world.table(Purse, *Idempotency.entities)
    for key in KEYS:
        world.put_item(
            {"pk": {"S": f"PURSE#{key}"}, "sk": {"S": "COINS"}, "_type": {"S": "PURSE"}, "request": {"S": key}, "coins": {"N": "1"}, "takers": {"L": []}}
        )
    for name in ("alice", "bob", "carol"):
        world.client(name, caller)
    world.finally_client("dora", last)
    world.check(lambda world: _charged_once(world, told))


async def _charge(client: AsyncClient, keys: Idempotency[Any], key: str, told: dict[str, set[str]]) -> None:
    def effect(tx: Any) -> str:
        answer = f"{client.name} {client.restarts} {client.now:.6f}"
        purse = Purse.key_of(key)
        tx.update(purse, Purse.coins.add(-1), Purse.takers.append(answer), condition=Purse.coins > 0)
        return answer

    outcome = await client.tried(client.db.run(keys.once(key, effect, payload={"request": key})))
    if isinstance(outcome, EffectRefused):
        raise AssertionError(f"{client.name} is told that {key} is refused, and nobody but {key} itself takes its coin")
    if isinstance(outcome, EffectDone):
        told[key].add(str(outcome.answer))


def _charged_once(world: World, told: dict[str, set[str]]) -> str | None:
    for key in KEYS:
        purse = world.stored(Purse.key_of(key))
        if purse is None or purse.coins != 0 or len(purse.takers) != 1 or told[key] != set(purse.takers):
            return f"{key} was charged by {None if purse is None else purse.takers}, and its callers were told {sorted(told[key])}"
    return None


class _Elsewhere:
    """What no transaction reaches: which effects took place, and whose end nobody can be sure of."""

    def __init__(self) -> None:
        self.took_place: Counter[str] = Counter()
        self.told: dict[str, set[str]] = {key: set() for key in KEYS}
        self.broken_off = 0


def _effects_elsewhere(world: World, after_lost: AfterLost) -> _Elsewhere:
    elsewhere = _Elsewhere()

    async def caller(client: AsyncClient) -> None:
        effects = LeasedEffects(client.table(), "send", after_lost=after_lost, lease_seconds=LEASE_SECONDS, wait_seconds=3.0, not_done=(ConnectionError,))
        for _ in range(1 + client.choose(3)):
            await _send(client, effects, client.one_of(KEYS), elsewhere)
            await client.think(2 * LEASE_SECONDS)

    async def last(client: AsyncClient) -> None:
        effects = LeasedEffects(client.table(), "send", after_lost=after_lost, lease_seconds=LEASE_SECONDS, wait_seconds=3 * LEASE_SECONDS)
        for key in KEYS:
            outcome = await client.db.run(effects.run(key, partial(_dispatch, client, key, elsewhere)))
            if isinstance(outcome, EffectDone):
                if not outcome.kept:
                    continue
                elsewhere.told[key].add(str(outcome.answer))
            elif not isinstance(outcome, EffectNotKnown) or after_lost == "retake":
                raise AssertionError(f"{key} is neither done nor can it be done: {outcome}")
            elif not elsewhere.broken_off:
                raise AssertionError(f"every call came to its end, and it is not known whether {key} is done")

    world.table(IdempotencyRecord)
    world.client("alice", caller)
    world.client("bob", caller)
    world.finally_client("dora", last)
    return elsewhere


async def _send(client: AsyncClient, effects: LeasedEffects, key: str, elsewhere: _Elsewhere) -> None:
    async def effect(_claim: EffectClaim) -> str:
        await client.think(LEASE_SECONDS / 4)
        if client.choose(3) == 2:
            raise ConnectionError("refused before anything was done")
        return _take_place(client, key, elsewhere)

    elsewhere.broken_off += 1
    try:
        outcome = await client.tried(client.db.run(effects.run(key, effect)))
    except ConnectionError as error:
        elsewhere.broken_off -= not hasattr(error, "__notes__")
        return
    if not isinstance(outcome, BaseException):
        elsewhere.broken_off -= 1
    if isinstance(outcome, EffectDone) and outcome.kept:
        elsewhere.told[key].add(str(outcome.answer))


def _dispatch(client: AsyncClient, key: str, elsewhere: _Elsewhere, _claim: EffectClaim) -> str:
    return _take_place(client, key, elsewhere)


def _take_place(client: AsyncClient, key: str, elsewhere: _Elsewhere) -> str:
    elsewhere.took_place[key] += 1
    return f"{client.name} {client.restarts} {client.now:.6f}"


def effects_refused_after_a_loss(world: World) -> None:
    """Effects elsewhere under "refuse": each takes place at most once, and a key whose calls all came to their end is not stuck."""
    elsewhere = _effects_elsewhere(world, "refuse")

    def at_most_once(_world: World) -> str | None:
        for key in KEYS:
            if elsewhere.took_place[key] > 1 or len(elsewhere.told[key]) > 1 or len(elsewhere.told[key]) > elsewhere.took_place[key]:
                return f"{key} took place {elsewhere.took_place[key]} times, and its callers were told {sorted(elsewhere.told[key])}"
        return None

    world.check(at_most_once)


def effects_retaken_after_a_loss(world: World) -> None:
    """Effects elsewhere under "retake": each takes place at least once in the end, and all calls that are told it is done get one answer."""
    elsewhere = _effects_elsewhere(world, "retake")

    def at_least_once(_world: World) -> str | None:
        for key in KEYS:
            if not elsewhere.took_place[key] or len(elsewhere.told[key]) > 1:
                return f"{key} took place {elsewhere.took_place[key]} times, and its callers were told {sorted(elsewhere.told[key])}"
        return None

    world.check(at_least_once)


APART = WorldSettings(skew_seconds_most=30.0, freeze_seconds_most=60.0)

SCENARIOS = (
    Scenario("idempotent effects", idempotent_effects),
    Scenario("idempotent effects side by side", idempotent_effects, faults=frozenset({"held open", "conflict", "answer lost", "late"})),
    Scenario("effects refused after a loss", effects_refused_after_a_loss, APART),
    Scenario("effects refused after a late claim", effects_refused_after_a_loss, faults=frozenset({"late", "answer lost"})),
    Scenario("effects retaken after a loss", effects_retaken_after_a_loss, APART),
    Scenario("effects retaken from frozen processes", effects_retaken_after_a_loss, APART, faults=frozenset({"frozen", "answer lost"})),
)
