"""Which path a field gives on the class and which value on the instance, for every kind of type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, assert_type
from uuid import UUID

import surewrite as sw
from surewrite import Attribute, Change, Condition, Entity, Fields, Key, Operand, Partition, Target, VersionedEntity, VersionedKey
from surewrite.core.comparisons import PathSize
from surewrite.core.paths import BytesPath, ListPath, MapPath, NumberPath, OrderedPath, Path, SetPath, TextPath


class State(Enum):
    NEW = "new"


@dataclass(frozen=True)
class Address:
    city: str


@dataclass(frozen=True)
class Money:
    cents: int


class Stamped(Fields):
    made_at: Attribute[datetime]


class All(Stamped, Entity, discriminator="ALL", partition_key="{text}", sort_key="{number}"):
    text: Attribute[str]
    number: Attribute[int]
    maybe_text: Attribute[str | None] = sw.attribute(default=None)
    maybe_number: Attribute[int | None] = sw.attribute(default=None)
    price: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    ratio: Attribute[float] = sw.attribute(default=0.0)
    wait: Attribute[timedelta] = sw.attribute(default=timedelta(0))
    flag: Attribute[bool] = sw.attribute(default=False)
    blob: Attribute[bytes] = sw.attribute(default=b"")
    at: Attribute[datetime | None] = sw.attribute(default=None)
    day: Attribute[date | None] = sw.attribute(default=None)
    ref: Attribute[UUID | None] = sw.attribute(default=None)
    state: Attribute[State] = sw.attribute(default=State.NEW)
    choice: Attribute[Literal["a", "b"]] = sw.attribute(default="a")
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    numbers: Attribute[set[int]] = sw.attribute(default_factory=set)
    lines: Attribute[list[int]] = sw.attribute(default_factory=list)
    marks: Attribute[tuple[str, ...]] = sw.attribute(default=())
    counts: Attribute[dict[str, int]] = sw.attribute(default_factory=dict)
    address: Attribute[Address | None] = sw.attribute(default=None)
    money: Attribute[Money] = sw.attribute(default=Money(0), codec=sw.codec(Money, via=int, encode=lambda own: own.cents, decode=Money))
    ends: Attribute[datetime | None] = sw.time_to_live(default=None)


class Versioned(VersionedEntity, discriminator="VERSIONED", partition_key="{id}"):
    id: Attribute[str]
    revision: Attribute[int | None] = sw.version()


assert_type(All.text, TextPath[All, str])
assert_type(All.maybe_text, TextPath[All, str])
assert_type(All.number, NumberPath[All, int])
assert_type(All.maybe_number, NumberPath[All, int])
assert_type(All.price, NumberPath[All, int | Decimal])
assert_type(All.ratio, NumberPath[All, float])
assert_type(All.wait, NumberPath[All, timedelta])
assert_type(All.flag, Path[All, bool])
assert_type(All.blob, BytesPath[All, bytes])
assert_type(All.at, OrderedPath[All, datetime])
assert_type(All.day, OrderedPath[All, date])
assert_type(All.ref, OrderedPath[All, UUID])
assert_type(All.tags, SetPath[All, str])
assert_type(All.numbers, SetPath[All, int])
assert_type(All.lines, ListPath[All, int])
assert_type(All.marks, ListPath[All, str])
assert_type(All.counts, MapPath[All, int])
assert_type(All.counts["a"], NumberPath[All, int])
assert_type(All.lines[0], NumberPath[All, int])
assert_type(All.marks[0], TextPath[All, str])
assert_type(All.made_at, OrderedPath[All, datetime])
assert_type(Versioned.revision, NumberPath[Versioned, int])
assert_type(All.tags.size(), PathSize[All])

assert_type(All.state == State.NEW, Condition[All])
assert_type(All.choice == "a", Condition[All])
assert_type(All.money == Money(3), Condition[All])
assert_type(All.address["city"].begins_with("B"), Condition[All])
assert_type(All.tags.size() > 3, Condition[All])
assert_type(All.number.between(1, 3) & ~(All.flag == True) | All.tags.contains("x"), Condition[All])
assert_type(All.number.set(All.number + 1), Change[All])
assert_type(All.number.set(All.number.if_not_exists(0) + 1), Change[All])
assert_type(All.number.set(1 - All.number.if_not_exists(0)), Change[All])
assert_type(All.lines.set(All.lines.if_not_exists([]).preceded_by([1])), Change[All])
assert_type(All.price.add(3), Change[All])
assert_type(All.counts["a"].add(1), Change[All])
assert_type(All.tags.set(frozenset({"a"})), Change[All])
assert_type(All.lines.set(All.lines.followed_by([1])), Change[All])
assert_type(All.state.set(State.NEW), Change[All])
assert_type(All.at.remove(), Change[All])
assert_type(All.number + 1, Operand[All, int])

one = All(text="a", number=1, made_at=datetime.max)
assert_type(one.text, str)
assert_type(one.maybe_number, int | None)
assert_type(one.tags, frozenset[str])
assert_type(one.money, Money)
assert_type(one.replace(number=2), All)
assert_type(Versioned(id="a").revision, int | None)

assert_type(All.key_of("a", 1), Target[All])
assert_type(Versioned.key_of("a"), VersionedKey[Versioned])
assert_type(Versioned.key_of("a").if_version(3), Target[Versioned])
assert_type(All.partition_of("a"), Partition[All])
key: Key[All] = All.key_of("a", 1)
anything: Any = key


class Narrow(Entity, discriminator="NARROW", partition_key="{text}", sort_key="{number}"):
    text: Attribute[str]
    number: Attribute[int]


class Wide(Narrow, discriminator="WIDE"):
    more: Attribute[str] = sw.attribute(default="")


assert_type(Wide.number, NumberPath[Wide, int])
assert_type(Wide(text="a", number=1).number, int)
assert_type(Wide.key_of("a", 1), Target[Wide])
