"""Deposits that race, with asyncio: the body is run again when another writer was first."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal

import surewrite as sw
from surewrite import Attribute, VersionedEntity

WRITERS = 4


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    """An account whose version every write raises and checks."""

    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    revision: Attribute[int | None] = sw.version()


ALICE = Account.key_of("alice")


async def main(target: str = "memory:") -> None:
    """Let four tasks deposit ten each."""
    async with sw.connect_async(target) as db:
        shop = db.table("shop")
        await shop.create_table(Account, exist_ok=True)
        accounts = shop.of(Account)
        await accounts.try_create(Account(id="alice"))
        before = (await accounts.get(ALICE)).balance

        @db.retry_on_conflict(attempts=100)
        async def deposit(amount: int) -> Account:
            account = await accounts.get(ALICE)
            await asyncio.sleep(0)  # let the others read the same version
            return await accounts.put(account.replace(balance=account.balance + amount))

        await asyncio.gather(*(deposit(10) for _ in range(WRITERS)))
        print(f"deposited: {(await accounts.get(ALICE)).balance - before}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
