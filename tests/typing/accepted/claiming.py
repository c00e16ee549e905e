"""Unique fields and claims by hand, as users write them."""

from __future__ import annotations

from datetime import datetime

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes.claim_repair import ClaimsReport


class Member(VersionedEntity, discriminator="MEMBER", partition_key="MEMBER#{id}", sort_key="PROFILE"):
    id: Attribute[str]
    email: Attribute[str] = sw.unique(normalise=str.casefold)
    handle: Attribute[str | None] = sw.unique(default=None, scope="{site}", stored_as="h")
    site: Attribute[str] = sw.attribute(default="")
    number: Attribute[int] = sw.unique(default_factory=lambda: 7, released_by="deleted_at")
    code: Attribute[str] = sw.unique(normalise=lambda value: value.strip())
    deleted_at: Attribute[datetime | None] = sw.attribute(default=None)
    revision: Attribute[int | None] = sw.version()


db = sw.connect("memory:")
shop = db.table("shop")
members = shop.of(Member)
ann: Member = members.create(Member(id="ann", email="ann@example.ch", code="c"))
text: str = ann.email
perhaps: str | None = ann.handle
count: int = ann.number
members.update(ann, Member.email.set("ann@example.org"), Member.handle.remove())
outcome = members.try_put(ann.replace(handle="a"))
if not outcome:
    taken: tuple[sw.TakenValue, ...] = outcome.taken
try:
    members.create(ann)
except sw.ValueTaken as error:
    field: str = error.field

seats = sw.recipes.Claims(shop, "flight", normalise=str.upper)
tx = shop.transaction()
seat = seats.claim(tx, "12A", owner="ann")
moved = seats.move(tx, None, "13B", owner="ann")
if refusal := tx.try_commit().refusal_of(seat):
    owner: str = refusal.existing.owner
who: str | None = db.run(seats.owner_of("12A"))
report: ClaimsReport = db.run(sw.recipes.verify_claims(shop, Member))
mended: ClaimsReport = db.run(sw.recipes.repair_claims(shop, Member, dry_run=True, progress=lambda so_far: print(so_far.claims)))


async def awaited() -> None:
    async with sw.connect_async("memory:") as other:
        table = other.table("shop")
        transaction = table.transaction()
        claims = sw.recipes.Claims(table, ("flight", 318))
        claims.release(transaction, "12A", owner="ann")
        await transaction.commit()
        found: str | None = await other.run(claims.owner_of("12A"))
        await other.run(sw.recipes.repair_claims(table, Member))
        print(found)
