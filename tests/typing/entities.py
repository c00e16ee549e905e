"""The entities of the documents that this library was asked for in, as a user declares them. The suites and the type checkers share them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    revision: Attribute[int | None] = sw.version()


class Registration(Enum):
    DONE = "done"
    EMAIL_TAKEN = "email taken"
    HANDLE_TAKEN = "handle taken"


class Registrant(Entity, discriminator="REGISTRANT", partition_key="USER#{id}", sort_key="REGISTRATION"):
    id: Attribute[str]
    email: Attribute[str]
    handle: Attribute[str]


class MailClaim(Entity, discriminator="MAIL_CLAIM", partition_key="MAIL#{address}", sort_key="CLAIM"):
    address: Attribute[str]
    owner: Attribute[str]


class HandleClaim(Entity, discriminator="HANDLE_CLAIM", partition_key="HANDLE#{handle}", sort_key="CLAIM"):
    handle: Attribute[str]
    owner: Attribute[str]


class IdempotencyRecord(Entity, discriminator="IDEMPOTENCY", partition_key="IDEMPOTENCY#{key}", sort_key="RECORD"):
    key: Attribute[str]
    answer: Attribute[str]
    expires_at: Attribute[datetime] = sw.time_to_live(stored_as="ttl")


class Charge(Entity, discriminator="CHARGE", partition_key="CHARGES", sort_key="{id}"):
    id: Attribute[str]


class LiveMatch(Entity, discriminator="LIVE_MATCH", partition_key="MATCH#{id}", sort_key="LIVE"):
    id: Attribute[str]
    home_goals: Attribute[int] = sw.attribute(default=0)
    away_goals: Attribute[int] = sw.attribute(default=0)
    score_at: Attribute[datetime | None] = sw.attribute(default=None)
    status: Attribute[str | None] = sw.attribute(default=None)
    status_at: Attribute[datetime | None] = sw.attribute(default=None)


class Standing(Entity, discriminator="STANDING", partition_key="STANDING#{team}", sort_key="NOW"):
    team: Attribute[str]
    points: Attribute[int]
    seq: Attribute[int]


@dataclass(frozen=True)
class ScoreChanged:
    match_id: str
    home: int
    away: int
    at: datetime


class EventOutcome(Enum):
    APPLIED = "applied"
    ALREADY_STORED = "already stored"
    SUPERSEDED = "superseded"


class PageViews(Entity, discriminator="PAGE_VIEWS", partition_key="PAGE#{path}", sort_key="VIEWS"):
    path: Attribute[str]
    count: Attribute[int] = sw.attribute(default=0)


class DailyTally(Entity, discriminator="TALLY", partition_key="TALLY#{name}", sort_key="DAY#{day}"):
    name: Attribute[str]
    day: Attribute[date]
    count: Attribute[int] = sw.attribute(default=0)
    seen: Attribute[frozenset[str]] = sw.attribute(default=frozenset())


class HiLoBlock(Entity, discriminator="HILO", partition_key="HILO#{name}", sort_key="HILO"):
    name: Attribute[str]
    hi: Attribute[int] = sw.attribute(default=0)


class Payment(Entity, discriminator="PAYMENT", partition_key="PAYMENT#{id}", sort_key="STATE"):
    id: Attribute[str]


class OutboxEvent(Entity, discriminator="OUTBOX", partition_key="OUTBOX", sort_key="{at}#{event_id}"):
    at: Attribute[datetime]
    event_id: Attribute[UUID]
    payment_id: Attribute[str]


class Order(VersionedEntity, partition_key="{customer_id}", sort_key="{order_id}"):
    customer_id: Attribute[str]
    order_id: Attribute[str]
    stock: Attribute[int]
    status: Attribute[str] = sw.attribute(default="new")
    version: Attribute[int | None] = sw.version()


@dataclass(frozen=True)
class Result:
    result_id: int
    result: str


class Results(Entity, partition_key="{id}"):
    id: Attribute[str] = sw.attribute(stored_as="ID")
    results: Attribute[list[Result]] = sw.attribute(default_factory=list, stored_as="RESULTS")


class UserAccount(VersionedEntity, partition_key="{user_id}"):
    user_id: Attribute[str] = sw.attribute(stored_as="UserId")
    balance: Attribute[Decimal]
    version: Attribute[int | None] = sw.version()
