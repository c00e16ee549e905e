"""Belongs here: a planned write as a frozen value: what is sent, what guards it, what it demands. Must not be here: making one, the current time.

The same plan is sent alone, as one action of a transaction, or in bulk. ``planning`` makes plans from intents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from surewrite.core.decisions import AnswerClass, Guard
from surewrite.core.expressions import ChangeTree
from surewrite.core.frozen import quickly_made
from surewrite.core.guards import Mark, shows_newer_order, shows_operation
from surewrite.core.outcomes import RefusalReason
from surewrite.core.requests import Request
from surewrite.core.values import AttributeValue, Item

ATTEMPT_MARK = "."
"""Stands in a stamp before the number of a later attempt; no other character of a stamp is this one."""

Verb = Literal["create", "put", "update", "upsert", "delete", "check"]
InDoubt = Literal["resend", "raise"]
Returning = Literal["new", "old"]

_OPERATIONS: dict[str, tuple[str, str]] = {
    "create": ("PutItem", "Put"),
    "put": ("PutItem", "Put"),
    "update": ("UpdateItem", "Update"),
    "upsert": ("UpdateItem", "Update"),
    "delete": ("DeleteItem", "Delete"),
    "check": ("", "ConditionCheck"),
}

_RETURN_VALUES: dict[tuple[str, Returning], str] = {
    ("UpdateItem", "new"): "ALL_NEW",
    ("UpdateItem", "old"): "ALL_OLD",
    ("PutItem", "old"): "ALL_OLD",
    ("DeleteItem", "new"): "ALL_OLD",
    ("DeleteItem", "old"): "ALL_OLD",
}


@dataclass(frozen=True, slots=True)
class Names:
    """How the table stores what this library adds; ``None`` where it is switched off or the type has none."""

    stamp: str | None
    birth: str | None
    version: str | None
    discriminator: str | None
    time_to_live: str | None


@quickly_made
@dataclass(frozen=True, slots=True)
class Expected:
    """The state that a loaded entity was read in, which its write demands to find."""

    version: int | None
    stamp: str | None
    birth: str | None


@dataclass(frozen=True, slots=True)
class VersionDemand:
    """The stored version must be this one; ``None`` demands an item that carries none."""

    version: int | None


@quickly_made
@dataclass(frozen=True, slots=True)
class Plan:
    """One write, ready to be sent any number of times with the same content."""

    verb: Verb
    entity: str
    discriminator: str | None
    names: Names
    key: Item
    body: Mapping[str, Any]
    guard: Guard
    stamp: str | None
    version: int | None = None
    """The version that the write stores, where it is known beforehand."""
    expected: Expected | None = None
    version_demand: VersionDemand | None = None
    """The bare version number that the write demands, without a loaded entity."""
    mark: Mark | None = None
    fails_on_absent: bool = True
    """Whether the condition is false where no item is stored."""
    expiry_before: int | None = None
    """The seconds since 1970 before which a time to live counts as expired; ``None`` if the type has none."""
    raise_in_doubt: bool = False
    returning: Returning = "new"
    stored: Item | None = None
    """What a put or create stores, whole."""
    changes: tuple[ChangeTree, ...] = ()
    """What an update or upsert changes beside version, stamp and birth."""
    rests_on: Mapping[str, AttributeValue | None] | None = None
    """Attributes as they were read, on which the write rests beside the stamp; ``None`` for one that was absent."""

    def __repr__(self) -> str:
        """What is written and what guards it, without key and contents: errors carry plans into logs."""
        return f"<Plan: {self.verb} {self.entity} in {self.table!r}, guard: {self.guard.value}>"

    @property
    def table(self) -> str:
        name: str = self.body["TableName"]
        return name

    def request(self, attempt: int = 1) -> Request:
        """The write as a request of its own. ``attempt`` counts from one; each has a stamp of its own."""
        operation = _OPERATIONS[self.verb][0]
        body = dict(self.body) if attempt == 1 or self.stamp is None else self._restamped(self.stamp, self.stamp_of(attempt))
        returned = _RETURN_VALUES.get((operation, self.returning))
        if returned is not None:
            body["ReturnValues"] = returned
        return Request(operation, body)

    def stamp_of(self, attempt: int) -> str | None:
        """What the attempt of that number stamps.

        A stamp is written once at most: if a resend wrote the same one again after others, a write that had loaded it
        before would find its state back, and a late attempt of that one would take effect a second time.
        """
        return self.stamp if self.stamp is None or attempt == 1 else f"{self.stamp}{ATTEMPT_MARK}{attempt}"

    def _restamped(self, stamp: str, fresh: str | None) -> dict[str, Any]:
        before, after = {"S": stamp}, {"S": fresh}
        body = dict(self.body)
        for member in ("Item", "ExpressionAttributeValues"):
            if member in body:
                body[member] = {name: after if value == before else value for name, value in body[member].items()}
        return body

    def action(self) -> dict[str, Any]:
        """The write as one action of a transaction."""
        return {_OPERATIONS[self.verb][1]: self.body}

    @property
    def once(self) -> bool:
        """Whether an applied write certainly took effect exactly once, for one life of the item, whatever was in doubt.

        Not where it also makes an item: if somebody deletes that in between, a resend makes another.
        """
        return self.guard.once and self.fails_on_absent


def classify_refusal(plan: Plan, item: Item | None, *, shows_items: bool) -> AnswerClass:
    """The class of a failed condition, by the item that came with the refusal.

    ``shows_items`` is whether the endpoint is known to send the item along: only then does its absence mean that none is stored.
    """
    if item is None:
        return AnswerClass.ABSENT if plan.fails_on_absent and shows_items else AnswerClass.UNSEEN
    if is_own(plan, item):
        return AnswerClass.OWN
    if plan.mark is not None:
        if plan.guard is Guard.OPERATION_ID and shows_operation(item, plan.mark):
            return AnswerClass.COUNTED
        if plan.guard is Guard.ORDER and shows_newer_order(item, plan.mark):
            return AnswerClass.NEWER
    if plan.expected is not None:
        return _classify_expected(plan, plan.expected, item)
    return AnswerClass.OTHER


def is_own(plan: Plan, item: Item) -> bool:
    """Whether the stored item carries the write's own stamp, or lives the life that the write began: nobody else ever writes that stamp."""
    return own_stamp(plan, item) is not None


def own_stamp(plan: Plan, item: Item) -> str | None:
    """The stamp under which an attempt of the write stored the item, or began the life that it lives; ``None`` if none did."""
    for attribute in (plan.names.stamp, plan.names.birth):
        text = stored_text(item, attribute)
        if text is not None and plan.stamp is not None and stamp_of_write(text) == plan.stamp:
            return text
    return None


def stamp_of_write(stamp: str) -> str:
    """The stamp of the write's first attempt, by that of any attempt of it."""
    return stamp.partition(ATTEMPT_MARK)[0]


def _classify_expected(plan: Plan, expected: Expected, item: Item) -> AnswerClass:
    birth = stored_text(item, plan.names.birth)
    if expected.birth is None or expected.stamp is None:
        return AnswerClass.OTHER
    if birth != expected.birth:
        return AnswerClass.REBORN if birth is not None else AnswerClass.OTHER
    if plan.guard.deletes and plan.names.version is not None:
        # The loaded life goes on, so no attempt has deleted it; its stamp moved on or the caller's condition was
        # judged on the very state that was loaded, so none ever can. Without a version that is not so: whoever had
        # loaded the item can put it back after the delete, with its birth.
        return AnswerClass.NEVER
    stamp = stored_text(item, plan.names.stamp)
    if stamp == expected.stamp and has_version(item, plan.names.version, expected.version):
        return AnswerClass.NEVER
    overtaken = plan.version is not None and has_version(item, plan.names.version, plan.version) and stamp is not None and stamp.startswith(f"{plan.version}:")
    return AnswerClass.NEVER if overtaken else AnswerClass.OTHER


def explain_refusal(plan: Plan, item: Item | None) -> RefusalReason:
    """Which demand of the write the stored item did not meet: a missing item first, then another type, then the version, then the condition."""
    if item is None:
        return RefusalReason.ALREADY_EXISTS if plan.verb == "create" and not plan.fails_on_absent else RefusalReason.ITEM_NOT_FOUND
    if plan.guard is Guard.ORDER and plan.mark is not None and shows_newer_order(item, plan.mark):
        return RefusalReason.CONDITION_FAILED
    if is_expired(plan, item):
        return RefusalReason.ITEM_NOT_FOUND
    if plan.verb == "create":
        return RefusalReason.ALREADY_EXISTS
    if foreign_type(plan, item) is not None:
        return RefusalReason.WRONG_ENTITY_TYPE
    if plan.version_demand is not None and not has_version(item, plan.names.version, plan.version_demand.version):
        return RefusalReason.VERSION_CONFLICT
    if plan.expected is not None:
        moved = stored_text(item, plan.names.stamp) != plan.expected.stamp or not has_version(item, plan.names.version, plan.expected.version)
        if moved:
            return RefusalReason.VERSION_CONFLICT
    if plan.rests_on is not None and any(item.get(name) != value for name, value in plan.rests_on.items()):
        return RefusalReason.VERSION_CONFLICT
    return RefusalReason.CONDITION_FAILED


def explain_unseen_refusal(plan: Plan) -> RefusalReason:
    """The reason where nothing shows what is stored: that a condition did not hold is true of every refusal."""
    return RefusalReason.ALREADY_EXISTS if plan.verb == "create" and not plan.fails_on_absent else RefusalReason.CONDITION_FAILED


def replaces_expired(plan: Plan, item: Item) -> bool:
    """Whether an upsert that this item refused is to replace it: it has expired, and all that the upsert demands holds where none is stored.

    An order is judged on the stored item as long as there is one: a late event must not move it back.
    """
    if plan.verb != "upsert" or plan.fails_on_absent or not is_expired(plan, item):
        return False
    return not (plan.guard is Guard.ORDER and plan.mark is not None and shows_newer_order(item, plan.mark))


def state_of(plan: Plan, item: Item) -> Expected:
    """The state that the item is in, for a write that demands to find exactly it."""
    names = plan.names
    return Expected(stored_version(item, names.version), stored_text(item, names.stamp), stored_text(item, names.birth))


def is_expired(plan: Plan, item: Item) -> bool:
    """Whether the item's time to live lies before the plan's reading of the clock."""
    return plan.expiry_before is not None and expired_before(item, plan.names.time_to_live, plan.expiry_before)


def expired_before(item: Item, attribute: str | None, seconds: int) -> bool:
    """Whether a time to live in ``attribute`` lies before ``seconds`` since 1970."""
    value = item.get(attribute) if attribute is not None else None
    text = value.get("N") if value is not None else None
    return text is not None and float(text) < seconds


def foreign_type(plan: Plan, item: Item) -> str | None:
    """The discriminator of an item of another type; an item without one may be adopted."""
    stored = stored_text(item, plan.names.discriminator)
    return stored if stored is not None and plan.discriminator is not None and stored != plan.discriminator else None


def stored_text(item: Item, attribute: str | None) -> str | None:
    """The text stored in an attribute; ``None`` if there is none, or no text."""
    value: AttributeValue | None = item.get(attribute) if attribute is not None else None
    return value.get("S") if value is not None else None


def has_version(item: Item, attribute: str | None, version: int | None) -> bool:
    """Whether the item carries exactly this version; ``None`` is none at all, or NULL. What is no whole number is no version that can be demanded."""
    if version is not None:
        return stored_version(item, attribute) == version
    value = item.get(attribute) if attribute is not None else None
    return value is None or "NULL" in value


def adds_to_version(plan: Plan) -> bool:
    """Whether the service raises the version, whatever it is, so that the write fails where it is stored and no number."""
    return plan.names.version is not None and plan.version is None and plan.verb in ("update", "upsert")


def stored_version(item: Item, attribute: str | None) -> int | None:
    """The version that an item carries; ``None`` if it has none, or one that is no whole number."""
    value = item.get(attribute) if attribute is not None else None
    text = value.get("N") if value is not None else None
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return None
