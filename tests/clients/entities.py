"""Entities that only this suite needs; those of the documents stand in tests/typing/accepted/entities.py."""

from __future__ import annotations

from datetime import datetime

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Note(Entity, discriminator="NOTE", partition_key="NOTE#{id}", sort_key="TEXT"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    lines: Attribute[list[str]] = sw.attribute(default_factory=list)
    tags: Attribute[frozenset[str]] = sw.attribute(default=frozenset())
    rank: Attribute[int | None] = sw.attribute(default=None)


class Page(VersionedEntity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="PAGE"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    reads: Attribute[int] = sw.attribute(default=0)
    version: Attribute[int | None] = sw.version()


class Session(Entity, discriminator="SESSION", partition_key="SESSION#{id}", sort_key="SESSION"):
    id: Attribute[str]
    hits: Attribute[int] = sw.attribute(default=0)
    owner: Attribute[str] = sw.attribute(default="nobody")
    seq: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Lease(VersionedEntity, discriminator="LEASE", partition_key="LEASE#{id}", sort_key="LEASE"):
    id: Attribute[str]
    holder: Attribute[str] = sw.attribute(default="nobody")
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")
    version: Attribute[int | None] = sw.version()
