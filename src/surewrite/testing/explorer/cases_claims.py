"""Belongs here: cases of unique values, and plans that are wrong on purpose. Must not be here: the search."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surewrite.core.conditions import Condition
from surewrite.core.scopes import Occasion, Options
from surewrite.core.transaction_drafts import Intent
from surewrite.core.uniqueness import Movement, ReadState, movement
from surewrite.testing.explorer.claims import Act, ClaimWorld, Holder


@dataclass(frozen=True, slots=True)
class ClaimCase:
    """One world, and what its search must come to: ``breaks`` is how it goes wrong, ``None`` where it holds."""

    name: str
    claim: str
    world: ClaimWorld
    breaks: str | None = None


def on_nothing(intent: Intent, state: ReadState | None, now: Occasion) -> Movement:
    """A plan that moves the claims of what it read, and does not demand that it is still so."""
    return replace(movement(intent, state, now), intent=replace(intent, replace_expired=None))


def on_the_old_value(intent: Intent, state: ReadState | None, now: Occasion) -> Movement:
    """A plan that demands the value that it read, and not the stamp."""
    item = None if state is None else state.item
    demanded: Condition[Holder]
    if item is None:
        demanded = Holder.id.not_exists()
    else:
        demanded = Holder.value.not_exists() if "value" not in item else Holder.value == item["value"]["S"]
    return replace(movement(intent, state, now), intent=replace(intent, options=Options(condition=demanded), replace_expired=None))


_TWO = (("a", "m1"), ("b", "m2"))
_ONE = (("b", "m2"),)
_BOTH_MOVE_A: tuple[tuple[Act, ...], ...] = ((("update", "a", "m3"),), (("update", "a", "m4"),))
_THERE_AND_BACK: tuple[Act, ...] = (("update", "a", "m3"), ("update", "a", "m1"))
_BOTH_MAKE_A: tuple[tuple[Act, ...], ...] = ((("upsert", "a", "m3"),), (("upsert", "a", "m4"),))

CLAIMS: tuple[ClaimCase, ...] = (
    ClaimCase("claims-update", "two clients move one item's value by key", ClaimWorld(_TWO, _BOTH_MOVE_A)),
    ClaimCase(
        "claims-update-on-the-old-value",
        "a demand on the old value suffices where no copy is late",
        ClaimWorld(_TWO, _BOTH_MOVE_A, late=False, plan=on_the_old_value),
    ),
    ClaimCase(
        "claims-naive-update",
        "two clients move one item's value, and demand nothing",
        ClaimWorld(_TWO, _BOTH_MOVE_A, late=False, plan=on_nothing),
        "m3 is claimed for a, which has m4: it stays taken",
    ),
    ClaimCase(
        "claims-there-and-back",
        "a value goes there and back among late copies, while another item wants it",
        ClaimWorld(_TWO, (_THERE_AND_BACK, (("update", "b", "m3"),))),
    ),
    ClaimCase(
        "claims-naive-there-and-back",
        "a demand on the old value only: a late copy finds it again after there and back",
        ClaimWorld(_TWO, (_THERE_AND_BACK,), plan=on_the_old_value),
        "an update took effect twice",
    ),
    ClaimCase("claims-upsert", "two clients make one item", ClaimWorld(_ONE, _BOTH_MAKE_A)),
    ClaimCase(
        "claims-naive-upsert",
        "two clients make one item, and demand nothing",
        ClaimWorld(_ONE, _BOTH_MAKE_A, late=False, plan=on_nothing),
        "m3 is claimed for a, which has m4: it stays taken",
    ),
    ClaimCase(
        "claims-put", "two clients put one item whole, without a version", ClaimWorld(_TWO, ((("put", "a", "m3"),), (("put", "a", "m2"), ("put", "a", None))))
    ),
    ClaimCase(
        "claims-delete",
        "an item is deleted and made again while another takes its value",
        ClaimWorld(_TWO, ((("delete", "a", None), ("upsert", "a", "m1")), (("update", "b", "m1"),), (("update", "a", "m4"),))),
    ),
    ClaimCase(
        "claims-unset",
        "a value is unset and set by two clients",
        ClaimWorld((("a", None), ("b", "m2")), ((("update", "a", "m3"), ("update", "a", None)), (("update", "a", "m4"),))),
    ),
)
