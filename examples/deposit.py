"""Deposits that race: several threads change one balance, and none is lost."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import surewrite as sw
from surewrite import Attribute, VersionedEntity

WRITERS = 4
DEPOSITS_OF_EACH = 5


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    """An account whose version every write raises and checks."""

    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    revision: Attribute[int | None] = sw.version()


ALICE = Account.key_of("alice")


def main(target: str = "memory:") -> None:
    """Let four writers make five deposits of ten each."""
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(Account, exist_ok=True)
        accounts = shop.of(Account)
        accounts.try_create(Account(id="alice"))
        before = accounts.get(ALICE).balance

        def deposit_all(_: int) -> None:
            for _ in range(DEPOSITS_OF_EACH):
                accounts.modify(ALICE, lambda account: account.replace(balance=account.balance + 10), attempts=100)

        with ThreadPoolExecutor(WRITERS) as threads:
            list(threads.map(deposit_all, range(WRITERS)))
        print(f"deposited: {accounts.get(ALICE).balance - before}")


if __name__ == "__main__":
    main(*sys.argv[1:])
