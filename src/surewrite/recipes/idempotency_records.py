"""Belongs here: what is stored of a call with a key: its record, an answer in parts, and the errors about them. Must not be here: when a record is written.

Two recipes keep such records: ``idempotency`` together with the effect, ``idempotency_leases`` before and after one
that happens elsewhere. A record is never deleted but by its time to live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Literal, TypeVar

from surewrite.core.effects import Moment, Steps
from surewrite.core.entities import Attribute, Entity, VersionedEntity, attribute, time_to_live, version
from surewrite.core.reads import get_or_none
from surewrite.core.scopes import Scope, ScopedTable
from surewrite.errors import InvalidRequest, SurewriteError
from surewrite.recipes.documents import document_of
from surewrite.recipes.fingerprints import fingerprint
from surewrite.recipes.settings import plain_name, time_span

T = TypeVar("T")

HORIZON_SECONDS_LEAST: Final = 600.0
"""Twice the life of a signed request, five minutes: a late copy of a call must meet its record. Source: outcomes C2."""

HORIZON_SECONDS: Final = 86_400.0

INLINE_BYTES_MOST: Final = 200_000
"""Half of an item, whose limit is 400 KB, so that keys and the rest always fit."""

PARTS_BYTES_MOST: Final = 3_000_000
"""Of the 4 MB of a transaction the rest is left to the effect. Source: API Reference, TransactWriteItems."""

_PART_OUTLIVES: Final = timedelta(hours=1)
"""A part stays longer than its record, so that whoever reads the record in its last second still finds it."""

LargeAnswers = Literal["stub", "parts"]
"""What is kept of an answer that fits no item: nothing but that the effect was done, or all of it in items of its own."""

State = Literal["done", "running", "free", "in doubt"]


class _NoPayload:
    """Stands for a payload that was not given: ``None`` may be one."""


NO_PAYLOAD: Final = _NoPayload()


class IdempotencyRecord(VersionedEntity, discriminator="SUREWRITE_IDEMPOTENCY", partition_key="IDEMPOTENCY#{operation}#{key}", sort_key="RECORD"):
    """One key of one operation. ``owner`` is new for each call, ``attempt`` rises with each owner of a lease, and is 0 where there is none."""

    operation: Attribute[str]
    key: Attribute[str]
    owner: Attribute[str]
    state: Attribute[State]
    fingerprint: Attribute[str | None] = attribute(default=None)
    answer: Attribute[str | None] = attribute(default=None)
    answer_parts: Attribute[int] = attribute(default=0)
    refused: Attribute[bool] = attribute(default=False)
    attempt: Attribute[int] = attribute(default=0)
    lease_until: Attribute[float | None] = attribute(default=None)
    ends: Attribute[datetime] = time_to_live(stored_as="ttl")
    revision: Attribute[int | None] = version()


class AnswerPart(Entity, discriminator="SUREWRITE_ANSWER", partition_key="IDEMPOTENCY#{operation}#{key}", sort_key="ANSWER#{owner}#{number:03d}"):
    """A part of an answer that is too large for the record."""

    operation: Attribute[str]
    key: Attribute[str]
    owner: Attribute[str]
    number: Attribute[int]
    text: Attribute[str]
    ends: Attribute[datetime] = time_to_live(stored_as="ttl")


class IdempotencyKeyReused(InvalidRequest):
    """The key was used with another payload within its horizon. Nothing was written by this call: choose a new key for a new request."""


class AnswerNotKept(SurewriteError):
    """The effect was done by an earlier call, and its answer was too large to keep, or of no type that can be kept."""


@dataclass(frozen=True, slots=True)
class EffectDone(Generic[T]):
    """The effect was done. True.

    ``repeated`` is whether an earlier call did it, ``refused`` whether what was recorded is a refusal, ``kept`` whether the
    answer was stored for later calls.
    """

    given: T | None
    repeated: bool = False
    refused: bool = False
    kept: bool = True

    @property
    def answer(self) -> T:
        """The answer of the call that did it. Raises ``AnswerNotKept`` in a later call where it was not kept."""
        if self.repeated and not self.kept:
            raise AnswerNotKept("the effect was done by an earlier call, and its answer was not kept: read what the effect wrote")
        return self.given  # type: ignore[return-value]

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one operation in one table: how they are keyed, how long they stay, what is kept of a large answer."""

    scope: Scope
    parts: Scope
    operation: str
    horizon_seconds: float
    large_answers: LargeAnswers

    def key_of(self, key: str) -> Any:
        return IdempotencyRecord.key_of(self.operation, key)

    def ends(self, moment: Moment, lease_seconds: float = 0.0) -> datetime:
        """When a record may be forgotten. Never under a lease: the key would be free while its effect is at work."""
        return datetime.fromtimestamp(moment.server, UTC) + timedelta(seconds=self.horizon_seconds + lease_seconds)

    def kept(self, record: IdempotencyRecord, text: str | None) -> tuple[IdempotencyRecord, tuple[AnswerPart, ...]]:
        """The record as done with this answer, and the parts to be stored with it. An answer that is not kept leaves a stub: done stays done."""
        size = 0 if text is None else len(text.encode())
        if size > (INLINE_BYTES_MOST if self.large_answers == "stub" else PARTS_BYTES_MOST):
            text = None
        if text is None or size <= INLINE_BYTES_MOST:
            return record.replace(state="done", answer=text, answer_parts=0, lease_until=None), ()
        parts = tuple(self._parts_of(record, text))
        return record.replace(state="done", answer=None, answer_parts=len(parts), lease_until=None), parts

    def _parts_of(self, record: IdempotencyRecord, text: str) -> Iterator[AnswerPart]:
        # A character takes at most four bytes, so that a part of so many characters fits whatever they are.
        size = INLINE_BYTES_MOST // 4 if not text.isascii() else INLINE_BYTES_MOST
        for number, start in enumerate(range(0, len(text), size)):
            part = text[start : start + size]
            yield AnswerPart(operation=record.operation, key=record.key, owner=record.owner, number=number, text=part, ends=record.ends + _PART_OUTLIVES)

    def read(self, key: str) -> Steps[IdempotencyRecord | None]:
        """The record of a key, read consistently; an expired one is none. One read unit per started 4 KB."""
        found: IdempotencyRecord | None = yield from get_or_none(self.scope, self.key_of(key), consistent=True)
        return found

    def answered(self, record: IdempotencyRecord, *, mine: bool) -> Steps[EffectDone[Any]]:
        """What a record that is done answers."""
        text = record.answer
        if text is None and record.answer_parts:
            text = yield from self._joined(record)
        if text is None:
            return EffectDone(None, repeated=not mine, refused=record.refused, kept=False)
        return EffectDone(document_of(text), repeated=not mine, refused=record.refused)

    def _joined(self, record: IdempotencyRecord) -> Steps[str | None]:
        texts: list[str] = []
        for number in range(record.answer_parts):
            part = yield from get_or_none(self.parts, AnswerPart.key_of(record.operation, record.key, record.owner, number), consistent=True)
            if part is None:
                return None
            texts.append(part.text)
        return "".join(texts)


def records_of(table: ScopedTable, operation: str, horizon_seconds: float, large_answers: LargeAnswers) -> Records:
    """Checked settings. Raises ``InvalidRequest`` for a horizon below ten minutes, an empty name, and a table without a sort key."""
    checked = time_span(horizon_seconds, "horizon_seconds, twice the life of a request that is under way", least=HORIZON_SECONDS_LEAST)
    if large_answers not in ("stub", "parts"):
        raise InvalidRequest('large_answers is "stub" or "parts"')
    return Records(table.scope_of(IdempotencyRecord), table.scope_of(AnswerPart), plain_name(operation, "an operation"), checked, large_answers)


def fingerprint_of(payload: object) -> str | None:
    """The fingerprint of a payload that was given."""
    return None if payload is NO_PAYLOAD else fingerprint(payload)


def require_same_call(record: IdempotencyRecord, wanted: str | None, *, leased: bool) -> None:
    """Refuse a call whose payload is not that of the call that used the key first, and a record that the other recipe wrote."""
    if (record.attempt > 0) is not leased:
        raise InvalidRequest(
            f"{record.operation}: this name is used by Idempotency and by LeasedEffects in one table, and the one cannot tell what the other has done:"
            " give one of them another name"
        )
    if record.fingerprint != wanted:
        raise IdempotencyKeyReused(
            f"{record.operation}: this key was used with another payload within its horizon; nothing was written: choose a new key for a new request",
            key=IdempotencyRecord.key_of(record.operation, record.key),
        )
