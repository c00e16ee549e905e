"""A registration whose address and handle nobody else may have: a claim for each, in the transaction of the record."""

from __future__ import annotations

import sys
from enum import Enum

import surewrite as sw
from surewrite import Attribute, ConflictKind, Entity


class Registrant(Entity, discriminator="REGISTRANT", partition_key="USER#{id}", sort_key="REGISTRATION"):
    """Who registered."""

    id: Attribute[str]
    email: Attribute[str]
    handle: Attribute[str]


class MailClaim(Entity, discriminator="MAIL_CLAIM", partition_key="MAIL#{address}", sort_key="CLAIM"):
    """Who has the address."""

    address: Attribute[str]
    owner: Attribute[str]


class HandleClaim(Entity, discriminator="HANDLE_CLAIM", partition_key="HANDLE#{handle}", sort_key="CLAIM"):
    """Who has the handle."""

    handle: Attribute[str]
    owner: Attribute[str]


class Registration(Enum):
    """How a registration ended."""

    DONE = "done"
    DONE_BEFORE = "done before"
    EMAIL_TAKEN = "email taken"
    HANDLE_TAKEN = "handle taken"


def register(db: sw.Database, shop: sw.Table, user: Registrant) -> Registration:
    """Register, or say which value is taken. A registration of the same value that is in flight is waited for."""

    @db.retry_on_conflict(on=ConflictKind.TRANSACTION)
    def once() -> Registration:
        tx = shop.transaction()
        mail = tx.create(MailClaim(address=user.email, owner=user.id))
        handle = tx.create(HandleClaim(handle=user.handle, owner=user.id))
        tx.create(user)
        result = tx.try_commit()
        if result:
            return Registration.DONE
        mail_refusal, handle_refusal = result.refusal_of(mail), result.refusal_of(handle)
        if mail_refusal and mail_refusal.existing.owner != user.id:
            return Registration.EMAIL_TAKEN
        if handle_refusal and handle_refusal.existing.owner != user.id:
            return Registration.HANDLE_TAKEN
        if mail_refusal and handle_refusal:
            return Registration.DONE_BEFORE
        raise result.error()

    return once()


def main(target: str = "memory:") -> None:
    """Register three users, two of whom want what the first has, and the first again."""
    with sw.connect(target) as db:
        shop = db.table("shop")
        shop.create_table(Registrant, exist_ok=True)
        bob = Registrant(id="bob", email="bob@example.ch", handle="bobby")
        for user in (bob, bob.replace(id="eve", handle="eve"), bob.replace(id="mallory", email="mallory@example.ch"), bob):
            print(f"{user.id}: {register(db, shop, user).value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
