"""Belongs here: scenarios of transactions: transfers, exactly-once additions, named operations across crashes, checks.

Must not be here: claims of uniqueness.
"""

from __future__ import annotations

from surewrite.errors import InvalidRequest, OutcomeUnknown
from surewrite.testing.clients import AsyncClient
from surewrite.testing.faults import FaultPlan, Freeze, LoseAnswer, Step, Where
from surewrite.testing.scenario import Scenario
from surewrite.testing.scenarios.accounts import Account
from surewrite.testing.simulator import World
from surewrite.testing.sums import sum_is_told
from surewrite.testing.world_settings import WorldSettings

A, B = Account.key_of("a"), Account.key_of("b")


def transfers(world: World) -> None:
    """Two clients move money between two accounts, one transaction each: no money comes or goes."""

    async def mover(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(2)):
            one, other = client.one_of(((A, B), (B, A)))
            transaction = client.table().transaction()
            transaction.update(one.ignore_version(), Account.balance.add(-1))
            transaction.update(other.ignore_version(), Account.balance.add(1))
            await client.tried(transaction.try_commit())
            await client.think()

    def nothing_is_lost(world: World) -> str | None:
        found = [world.stored(key) for key in (A, B)]
        total = sum(account.balance for account in found if account is not None)
        return None if total == 20 else f"the accounts hold {total}, and they held 20"

    _with_accounts(world)
    world.client("alice", mover)
    world.client("bob", mover)
    world.check(nothing_is_lost)


def exact_additions(world: World) -> None:
    """Additions as transactions of one action, beside plain writers of the same item: each told word is true, and unknown ones are settled."""

    async def adder(client: AsyncClient) -> None:
        for _ in range(1 + client.choose(2)):
            transaction = client.table().transaction()
            transaction.update(A.ignore_version(), Account.balance.add(1), condition=Account.balance < 12)
            outcome = await client.tried(transaction.try_commit())
            if isinstance(outcome, OutcomeUnknown) and client.choose(2):
                await client.tried(client.db.run(outcome.settle()))
            await client.think()

    async def other(client: AsyncClient) -> None:
        accounts = client.of(Account)
        await client.think(1.0)
        await client.tried(accounts.update(A.ignore_version(), Account.balance.set(12)))
        await client.think(1.0)
        await client.tried(accounts.update(A.ignore_version(), Account.balance.set(10)))

    _with_accounts(world)
    world.client("alice", adder)
    world.client("bob", other)


def refusals_in_doubt(world: World) -> None:
    """A take from a stock that another empties and fills again: whoever was told that there is none has taken nothing, now and later."""

    async def taker(client: AsyncClient) -> None:
        transaction = client.table().transaction()
        transaction.update(A.ignore_version(), Account.balance.add(-1), condition=Account.balance >= 1)
        await client.tried(transaction.try_commit())

    async def keeper(client: AsyncClient) -> None:
        accounts = client.of(Account)
        await client.tried(accounts.update(A.ignore_version(), Account.balance.set(0)))
        await client.think(3.0)
        await client.tried(accounts.update(A.ignore_version(), Account.balance.set(10)))

    _with_accounts(world)
    world.client("alice", taker)
    world.client("bob", keeper)


async def _add_one(client: AsyncClient) -> None:
    transaction = client.table().transaction()
    transaction.update(A.ignore_version(), Account.balance.add(1))
    await client.tried(transaction.try_commit())


def additions_over_long_times(world: World) -> None:
    """The same by one client whose process stands still for minutes: a token is not used beyond its life."""
    _with_accounts(world, balance=0)
    world.client("alice", _add_one)
    world.client("bob", _add_one)
    world.check(sum_is_told(A, "balance"))


def additions_by_a_process_that_stands_still(world: World) -> None:
    """One addition whose process stands still after each of its attempts: they are counted from the first, so that none outlives the token."""
    _with_accounts(world, balance=0)
    world.client("alice", _add_one)
    world.check(sum_is_told(A, "balance"))


def named_operations(world: World) -> None:
    """Each payment has a name that its process wrote down first; after a crash the same name is sent again, within its time."""

    async def payer(client: AsyncClient) -> None:
        for number in range(1 + client.choose(2)):
            begun = client.disk.setdefault(f"payment {number} begun", client.now)
            if client.disk.get(f"payment {number} done") or client.now - begun > 200:
                continue
            transaction = client.table().transaction(token=f"{client.name} payment {number}")
            transaction.update(A.ignore_version(), Account.balance.add(1))
            outcome = await client.tried(transaction.try_commit())
            if isinstance(outcome, InvalidRequest) and "other content" in str(outcome):
                raise AssertionError("the same name and content was told to be other content")
            client.disk[f"payment {number} done"] = True
            await client.think()

    def each_once(world: World) -> str | None:
        account = world.stored(A)
        assert account is not None
        names = {call.arguments["draft"].name for call in world.ledger.calls if call.verb == "commit"}
        applied = {call.arguments["draft"].name for call in world.ledger.calls if call.verb == "commit" and call.word == "applied"}
        if len(applied) <= account.balance <= len(names):
            return None
        return f"{len(names)} payments were begun, {len(applied)} told applied, and {account.balance} counted"

    _with_accounts(world, balance=0)
    world.client("alice", payer)
    world.client("bob", payer)
    world.check(each_once)


def on_call(world: World) -> None:
    """Two doctors go off call, each on condition that the other stays: one of them always stays."""

    async def doctor(client: AsyncClient) -> None:
        own, other = (A, B) if client.name == "alice" else (B, A)
        transaction = client.table().transaction()
        transaction.update(own.ignore_version(), Account.balance.set(0))
        transaction.check(other, Account.balance > 0)
        await client.tried(transaction.try_commit())

    def one_stays(world: World) -> str | None:
        found = [world.stored(key) for key in (A, B)]
        return None if any(account is not None and account.balance > 0 for account in found) else "both went off call"

    _with_accounts(world)
    world.client("alice", doctor)
    world.client("bob", doctor)
    world.check(one_stays)


def _with_accounts(world: World, balance: int = 10) -> None:
    world.table(Account)
    for name in ("a", "b"):
        item = {"pk": {"S": f"ACCOUNT#{name}"}, "sk": {"S": "BALANCE"}, "_type": {"S": "ACCOUNT"}, "id": {"S": name}, "balance": {"N": str(balance)}}
        world.put_item({**item, "revision": {"N": "1"}, "_s": {"S": "1:setup"}, "_b": {"S": "1:setup"}})


_ATTEMPTS = Where(operations=("TransactWriteItems",))

STANDS_STILL = FaultPlan(tuple(Step(LoseAnswer(), _ATTEMPTS, nth=number, befalls=Freeze(220.0, after_seconds=0.1)) for number in (1, 2, 3)))
"""Each of the first attempts is executed and not answered; the last of them more than a token's life before the next one could be."""

SCENARIOS = (
    Scenario("transfers", transfers),
    Scenario("exact additions", exact_additions),
    Scenario("refusals in doubt", refusals_in_doubt, faults=frozenset({"late", "answer lost", "request lost", "held open"})),
    Scenario("additions over long times", additions_over_long_times, faults=frozenset({"answer lost", "request lost", "late", "error after", "frozen"})),
    Scenario("additions by a process that stands still", additions_by_a_process_that_stands_still, faults=frozenset({"answer lost"}), plan=STANDS_STILL),
    Scenario("named operations", named_operations),
    Scenario("on call", on_call),
    Scenario("tokens found out", transfers, WorldSettings(tokens_known=False)),
)
