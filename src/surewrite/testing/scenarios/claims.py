"""Belongs here: scenarios of uniqueness with claims made by hand: taken, moved and released with the item.

Must not be here: uniqueness that the library declares.
"""

from __future__ import annotations

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.testing.clients import AsyncClient
from surewrite.testing.scenario import Scenario
from surewrite.testing.simulator import World


class User(VersionedEntity, discriminator="USER", partition_key="USER#{id}", sort_key="PROFILE"):
    """Somebody with an address that nobody else may have."""

    id: Attribute[str]
    mail: Attribute[str | None] = sw.attribute(default=None)
    revision: Attribute[int | None] = sw.version()


class MailClaim(Entity, discriminator="CLAIM", partition_key="MAIL#{address}", sort_key="CLAIM"):
    """Says whose an address is."""

    address: Attribute[str]
    owner: Attribute[str]


ADDRESSES = ("x", "y")


def claims(world: World) -> None:
    """Two users take, change and give up addresses: no address has two owners, and none stays taken by nobody."""

    async def user(client: AsyncClient) -> None:
        users = client.of(User)
        key = User.key_of(client.name)
        for _ in range(1 + client.choose(3)):
            found = await client.tried(users.get_or_none(key))
            wanted = client.one_of((*ADDRESSES, None))
            if found is None and wanted is not None:
                await client.tried(_sign_up(client, wanted))
            elif isinstance(found, User) and client.choose(4) == 3:
                await client.tried(_leave(client, found))
            elif isinstance(found, User) and found.mail != wanted:
                await client.tried(_change(client, found, wanted))
            await client.think()

    world.table(User, MailClaim)
    world.client("alice", user)
    world.client("bob", user)
    world.check(claims_agree)


async def _sign_up(client: AsyncClient, address: str) -> object:
    transaction = client.table().transaction()
    transaction.create(MailClaim(address=address, owner=client.name))
    transaction.create(User(id=client.name, mail=address))
    return await transaction.try_commit()


async def _change(client: AsyncClient, user: User, address: str | None) -> object:
    transaction = client.table().transaction()
    if user.mail is not None:
        transaction.delete(MailClaim.key_of(user.mail), condition=MailClaim.owner == client.name)
    if address is not None:
        transaction.create(MailClaim(address=address, owner=client.name))
    transaction.put(user.replace(mail=address))
    return await transaction.try_commit()


async def _leave(client: AsyncClient, user: User) -> object:
    transaction = client.table().transaction()
    if user.mail is not None:
        transaction.delete(MailClaim.key_of(user.mail), condition=MailClaim.owner == client.name)
    transaction.delete(user)
    return await transaction.try_commit()


def claims_agree(world: World) -> str | None:
    """Each stored address has its claim, and each claim its owner with that address."""
    held = {name: user.mail for name in ("alice", "bob") if (user := world.stored(User.key_of(name))) is not None and user.mail is not None}
    claimed = {claim.address: claim.owner for address in ADDRESSES if (claim := world.stored(MailClaim.key_of(address))) is not None}
    if claimed == {address: owner for owner, address in held.items()} and len(set(held.values())) == len(held):
        return None
    return f"users hold {held}, and the claims say {claimed}"


SCENARIOS = (Scenario("claims", claims),)
