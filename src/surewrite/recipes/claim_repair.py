"""Belongs here: finding claims of unique values that do not agree with the items, and mending them. Must not be here: claims that are made with a write.

A scan is no snapshot: it sees an item before a write and its claim after it. So what a scan shows is only a suspicion. It is
looked at again by consistent reads, and each repair is a transaction that demands the item and the claim as they were
seen: a fresh claim is never deleted, and no claim is made for a value that the item has no more. Source: outcomes C1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from surewrite.core import queries
from surewrite.core.batches import get_many
from surewrite.core.conditions import Condition
from surewrite.core.effects import Operation, Steps, call_user
from surewrite.core.entities import stored_state
from surewrite.core.expressions import all_of, attribute, equals, exists, not_exists
from surewrite.core.keys import Key
from surewrite.core.queries import Pages, Wanted
from surewrite.core.reads import get_item
from surewrite.core.scopes import Options, Scope, ScopedTable
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.core.uniqueness import claim_key, claim_scope, new_claim, owner_key, owner_text
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest, TransactionConflict

PAGES_MAX: Final = 1_000_000
"""Bounds a scan: a page holds 1 MB."""

Progress = Callable[["ClaimsReport"], Any]
"""Called after each page with what was found so far."""


class ClaimFault(Enum):
    """How an item and a claim may disagree."""

    STRAY = "a value is claimed for an item that has not got it"
    MISSING = "an item has a value that is not claimed"
    TAKEN = "an item has a value that another item has too, which it is claimed for or was found first"


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """One disagreement.

    ``field`` is the unique field, ``claimed`` what the claim is made of (it holds the value), ``item`` the key of the item that has the value
    (of a stray claim, that has it not; ``None`` where the claim names no item of the type), ``holder`` that of the other item of a taken value.
    ``repaired`` is true once the repair took effect. A taken value is for people to decide, and never repaired.
    """

    fault: ClaimFault
    field: str
    claimed: str
    item: Key[Any] | None
    holder: Key[Any] | None = None
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class ClaimsReport:
    """What was looked at, and what was found. ``clean`` says that nothing is left to do."""

    items: int = 0
    claims: int = 0
    findings: tuple[ClaimFinding, ...] = ()

    @property
    def clean(self) -> bool:
        return all(finding.repaired for finding in self.findings)


def verify_claims(table: ScopedTable, entity: type[Any], *, progress: Progress | None = None) -> Operation[ClaimsReport]:
    """Compare every item of a type with the claims of its unique fields, and write nothing.

    What other writers change meanwhile is not told as a fault. Cost: two consistent scans of the table, one read unit per started 4 KB of
    all that it holds, one read unit for each claim that an item should have, and one for the owner of each claim.
    Raises ``InvalidRequest`` for a type without unique fields, ``UndecodableItem`` for an item that does not fit.
    """
    return Operation(lambda: ClaimCheck(table.scope_of(entity), progress, repairs=False).run())


def repair_claims(table: ScopedTable, entity: type[Any], *, dry_run: bool = False, progress: Progress | None = None) -> Operation[ClaimsReport]:
    """Delete the claims whose items have not got the value, and make those that are missing, each by a transaction of its own.

    Also how items get their claims that were stored before the field was unique, or under another ``normalise``. Running it
    again, or beside other writers, does no harm; a repair that they keep from its items is told as not made. With ``dry_run``
    nothing is written, as in ``verify_claims``.
    Cost: that of ``verify_claims``, and four write units for each repair of a small item.
    """
    return Operation(lambda: ClaimCheck(table.scope_of(entity), progress, repairs=not dry_run).run())


class ClaimCheck:
    """One run over a table."""

    def __init__(self, scope: Scope, progress: Progress | None, *, repairs: bool) -> None:
        if not scope.schema.uniques:
            raise InvalidRequest(f"{scope.entity} has no unique field, so it claims nothing: declare one by sw.unique()")
        self._scope = scope
        self._claims = claim_scope(scope)
        self._progress = progress
        self._repairs = repairs
        self._report = ClaimsReport()
        # Items that were found without their claims: where two of them have one value, neither claim tells so.
        self._wanting: dict[str, Key[Any]] = {}

    def run(self) -> Steps[ClaimsReport]:
        """Claims first: a value that a stray claim holds is then free for the item that has it."""
        claims: type[Any] = self._claims.schema.entity
        of_this_type: Condition[Any] = claims.entity == self._scope.schema.definition.discriminator
        yield from self._over(Pages(queries.scan((self._claims,), Wanted(filter=of_this_type, consistent=True)), None), self._look_at_claims)
        yield from self._over(Pages(queries.scan((self._scope,), Wanted(consistent=True)), None), self._look_at_items)
        return self._report

    def _over(self, pages: Pages[Any], look_at: Callable[[tuple[Any, ...]], Steps[None]]) -> Steps[None]:
        for _ in range(PAGES_MAX):
            if pages.done:
                return
            page = yield from pages.next_page()
            yield from look_at(page)
            if self._progress is not None:
                yield from call_user(self._progress, self._report)

    def _add(self, finding: ClaimFinding) -> None:
        self._report = replace(self._report, findings=(*self._report.findings, finding))

    # -------------------------------------------------------------------------------------------------------------- claims

    def _look_at_claims(self, page: tuple[Any, ...]) -> Steps[None]:
        for claim in page:
            owner = owner_key(self._scope, claim.owner)
            item = None if owner is None else (yield from self._item(owner))
            if item is None or claim.claimed not in self._scope.schema.claims_of(item):
                # It may have been released since the page was read: then its item was changed with it.
                stored, _ = yield from get_item(self._claims, claim_key(self._claims, claim.claimed), consistent=True)
                if stored is not None and self._claims.schema.from_item(stored) == claim and _stamp(self._claims, stored) == _stamp_of(claim):
                    yield from self._found_stray(claim, owner, item)
        self._report = replace(self._report, claims=self._report.claims + len(page))

    def _found_stray(self, claim: Any, owner: Key[Any] | None, item: Item | None) -> Steps[None]:
        finding = ClaimFinding(ClaimFault.STRAY, claim.field, claim.claimed, owner)
        if self._repairs and owner is not None:
            draft = TransactionDraft(self._scope.environment)
            draft.check(self._scope, owner, self._as_seen(item))
            draft.delete(self._claims, claim_key(self._claims, claim.claimed), Options(condition=_has_stamp(self._claims, _stamp_of(claim))))
            finding = replace(finding, repaired=(yield from _is_made(draft)))
        self._add(finding)

    # --------------------------------------------------------------------------------------------------------------- items

    def _look_at_items(self, page: tuple[Any, ...]) -> Steps[None]:
        wanted = [(entity, claimed, field) for entity in page for claimed, field in self._scope.schema.claims_of(self._scope.schema.to_item(entity)).items()]
        keys = [(self._claims, claim_key(self._claims, claimed)) for _, claimed, _ in wanted]
        found = yield from get_many(self._scope.environment, keys, consistent=True, progress=None)
        for (entity, claimed, field), claim in zip(wanted, found, strict=True):
            if claim is None or claim.owner != owner_text(self._scope, self._scope.schema.key_of_entity(entity)):
                yield from self._look_at_item(entity, claimed, field, claim)
        self._report = replace(self._report, items=self._report.items + len(page))

    def _look_at_item(self, entity: Any, claimed: str, field: str, claim: Any) -> Steps[None]:
        key: Key[Any] = self._scope.schema.entity.key_of(entity)
        item = yield from self._item(key)
        if item is None or claimed not in self._scope.schema.claims_of(item) or _stamp(self._scope, item) != _stamp_of(entity):
            # It was written since the page was read, and its claims with it.
            return
        holder = self._wanting.get(claimed) if claim is None else owner_key(self._scope, claim.owner)
        held = None if holder is None else (yield from self._item(holder))
        if held is not None and claimed in self._scope.schema.claims_of(held):
            self._add(ClaimFinding(ClaimFault.TAKEN, field, claimed, key, holder))
            return
        finding = ClaimFinding(ClaimFault.MISSING, field, claimed, key)
        self._wanting[claimed] = key
        if self._repairs:
            draft = TransactionDraft(self._scope.environment)
            draft.check(self._scope, key, self._as_seen(item))
            absent: Condition[Any] = Condition(self._claims.schema.entity, not_exists(attribute(self._claims.schema.key_names[0])))
            draft.put(self._claims, new_claim(self._scope, self._claims, claimed, field, item), Options(condition=absent))
            finding = replace(finding, repaired=(yield from _is_made(draft)))
        self._add(finding)

    # ------------------------------------------------------------------------------------------------------------- as read

    def _item(self, key: Key[Any]) -> Steps[Item | None]:
        """The item of this type under the key."""
        item, _ = yield from get_item(self._scope, key, consistent=True)
        name = self._scope.names.discriminator
        if item is None or (name is not None and name in item and item[name] != {"S": self._scope.schema.discriminator_value}):
            return None
        return item

    def _as_seen(self, item: Item | None) -> Condition[Any]:
        """Nobody wrote since: by the stamp, and by the values themselves, for writers that leave stamps alone."""
        schema = self._scope.schema
        key = attribute(schema.key_names[0])
        if item is None:
            return Condition(schema.entity, not_exists(key))
        values = [
            equals(attribute(name), item[name]) if name in item else not_exists(attribute(name))
            for name in sorted(schema.claim_names)
            if name not in schema.key_names
        ]
        tree = all_of(exists(key), _has_stamp(self._scope, _stamp(self._scope, item)).tree, *values)
        assert tree is not None
        return Condition(schema.entity, tree)


def _is_made(draft: TransactionDraft) -> Steps[bool]:
    """Whether a repair took effect. What others wrote to meanwhile, or kept writing to, is left to a later run."""
    try:
        return bool((yield from commit(draft)))
    except TransactionConflict:
        return False


def _stamp(scope: Scope, item: Item) -> str | None:
    assert scope.names.stamp is not None
    value = item.get(scope.names.stamp)
    return None if value is None else value.get("S")


def _stamp_of(entity: Any) -> str | None:
    state = stored_state(entity)
    return None if state is None else state.stamp


def _has_stamp(scope: Scope, stamp: str | None) -> Condition[Any]:
    assert scope.names.stamp is not None
    name = attribute(scope.names.stamp)
    return Condition(scope.schema.entity, not_exists(name) if stamp is None else equals(name, {"S": stamp}))
