"""What a refusal proves, and how it is told, by the item that came with it."""

from __future__ import annotations

from typing import Any

import pytest

from surewrite.core.decisions import AnswerClass, Guard
from surewrite.core.expressions import Name
from surewrite.core.guards import Mark
from surewrite.core.outcomes import RefusalReason
from surewrite.core.plans import Expected, Names, Plan, VersionDemand, classify_refusal, explain_refusal, is_own, replaces_expired, state_of, stored_version

NAMES = Names(stamp="_s", birth="_b", version="v", discriminator="_type", time_to_live="ttl")
EXPECTED = Expected(3, "3:old", "1:birth")


def plan(verb: Any = "put", guard: Guard = Guard.STAMPED, **facts: Any) -> Plan:
    given = {"stamp": "4:mine", "version": 4, "expected": EXPECTED if guard in (Guard.STAMPED, Guard.STAMPED_DELETE) else None} | facts
    names = given.pop("names", NAMES)
    return Plan(verb, "Thing", "THING", names, {"pk": {"S": "a"}}, {"TableName": "things"}, guard, **given)


def item(version: int | None = 3, stamp: str | None = "3:old", birth: str | None = "1:birth", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict(more)
    if version is not None:
        found["v"] = {"N": str(version)}
    if stamp is not None:
        found["_s"] = {"S": stamp}
    if birth is not None:
        found["_b"] = {"S": birth}
    return found


A = AnswerClass


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (item(4, "4:mine"), A.OWN),
        (item(9, "9:other", "4:mine"), A.OWN),
        (item(4, "4:other"), A.NEVER),
        (item(3, "3:old"), A.NEVER),
        (item(5, "5:other"), A.OTHER),
        (item(4, "-:other"), A.OTHER),
        (item(4, "3:old"), A.OTHER),
        (item(4, None), A.OTHER),
        (item(4, "4:other", "2:another"), A.REBORN),
        (item(4, "4:other", None), A.OTHER),
        (None, A.ABSENT),
    ],
    ids=[
        "own stamp",
        "own birth",
        "n + 1 by another",
        "as loaded",
        "n + 2",
        "n + 1 by an older release",
        "bumped without a stamp",
        "unstamped",
        "another life",
        "no birth",
        "no item",
    ],
)
def test_the_item_that_refuses_a_save_is_read_by_the_version_rule(stored: Any, expected: AnswerClass) -> None:
    assert classify_refusal(plan(), stored, shows_items=True) is expected


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (item(5, "5:other"), A.NEVER),
        (item(3, "3:old"), A.NEVER),
        (item(1, "1:new", "1:new"), A.REBORN),
        (item(1, "1:new", None), A.OTHER),
        (None, A.ABSENT),
    ],
    ids=["the loaded life goes on", "as loaded", "another life", "no birth", "no item"],
)
def test_the_item_that_refuses_a_delete_of_a_loaded_entity_is_read_by_its_birth(stored: Any, expected: AnswerClass) -> None:
    assert classify_refusal(plan("delete", Guard.STAMPED_DELETE, stamp=None, version=None), stored, shows_items=True) is expected


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(item(None, "-:other"), A.OTHER), (item(None, "-:old"), A.NEVER), (item(None, "-:new", "-:new"), A.REBORN)],
    ids=["changed, or put back by who had loaded it", "as loaded", "another life"],
)
def test_the_item_that_refuses_a_delete_without_a_version_may_have_been_put_back(stored: Any, expected: AnswerClass) -> None:
    unversioned = plan(
        "delete", Guard.STAMPED_DELETE, stamp=None, version=None, expected=Expected(None, "-:old", "1:birth"), names=Names("_s", "_b", None, "_type", "ttl")
    )
    assert classify_refusal(unversioned, stored, shows_items=True) is expected


def test_without_stamps_nothing_but_the_own_stamp_proves_anything() -> None:
    bare = plan(guard=Guard.VERSION, expected=Expected(3, None, None))
    assert classify_refusal(bare, item(4, "4:other"), shows_items=True) is A.OTHER


@pytest.mark.parametrize(
    ("fails_on_absent", "shows_items", "expected"),
    [(True, True, A.ABSENT), (True, False, A.UNSEEN), (False, True, A.UNSEEN), (False, False, A.UNSEEN)],
)
def test_r16_a_missing_item_means_none_is_stored_only_where_it_would_be_shown_and_can_refuse(
    fails_on_absent: bool, shows_items: bool, expected: AnswerClass
) -> None:
    assert classify_refusal(plan(fails_on_absent=fails_on_absent), None, shows_items=shows_items) is expected


def test_marks_are_looked_for_under_their_guards() -> None:
    order, operation = Mark(Name(("order",)), {"N": "5"}), Mark(Name(("ops",)), {"S": "op"})
    newer, counted = {"order": {"N": "7"}}, {"ops": {"SS": ["op"]}}
    assert classify_refusal(plan(guard=Guard.ORDER, mark=order), newer, shows_items=True) is A.NEWER
    assert classify_refusal(plan(guard=Guard.ORDER, mark=order), {"order": {"N": "4"}}, shows_items=True) is A.OTHER
    assert classify_refusal(plan(guard=Guard.OPERATION_ID, mark=operation), counted, shows_items=True) is A.COUNTED
    assert classify_refusal(plan(guard=Guard.OPERATION_ID, mark=operation), {}, shows_items=True) is A.OTHER


def test_a_delete_has_no_stamp_to_be_recognised_by() -> None:
    assert not is_own(plan("delete", Guard.IDEMPOTENT_DELETE, stamp=None), item(4, "4:mine"))


R = RefusalReason


@pytest.mark.parametrize(
    ("refused", "stored", "reason"),
    [
        (plan("create", Guard.IDEMPOTENT, fails_on_absent=False), item(), R.ALREADY_EXISTS),
        (plan("create", Guard.IDEMPOTENT, fails_on_absent=False), None, R.ALREADY_EXISTS),
        (plan("create", Guard.IDEMPOTENT, fails_on_absent=False), item(_type={"S": "OTHER"}), R.ALREADY_EXISTS),
        (plan("update"), None, R.ITEM_NOT_FOUND),
        (plan("update", expiry_before=100), item(ttl={"N": "99"}), R.ITEM_NOT_FOUND),
        (plan("update", expiry_before=100), item(4, ttl={"N": "100"}), R.VERSION_CONFLICT),
        (plan("update"), item(_type={"S": "OTHER"}), R.WRONG_ENTITY_TYPE),
        (plan("update"), item(4, "4:other"), R.VERSION_CONFLICT),
        (plan("update"), item(3, "3:other"), R.VERSION_CONFLICT),
        (plan("update"), item(), R.CONDITION_FAILED),
        (plan("update", Guard.VERSION, version_demand=VersionDemand(3)), item(4), R.VERSION_CONFLICT),
        (plan("update", Guard.VERSION, version_demand=VersionDemand(None)), item(4), R.VERSION_CONFLICT),
        (plan("update", Guard.VERSION, version_demand=VersionDemand(3)), item(3), R.CONDITION_FAILED),
        (plan("update", Guard.IDEMPOTENT), item(), R.CONDITION_FAILED),
        (
            plan("upsert", Guard.ORDER, mark=Mark(Name(("order",)), {"N": "5"}), expiry_before=100),
            item(ttl={"N": "1"}, order={"N": "5"}),
            R.CONDITION_FAILED,
        ),
    ],
)
def test_a_refusal_is_told_by_the_first_demand_that_was_not_met(refused: Plan, stored: Any, reason: RefusalReason) -> None:
    assert explain_refusal(refused, stored) is reason


@pytest.mark.parametrize("guard", Guard)
def test_a_write_that_also_makes_an_item_is_not_certainly_once(guard: Guard) -> None:
    assert plan(guard=guard).once is guard.once
    assert not plan(guard=guard, fails_on_absent=False).once


def test_only_an_upsert_that_would_make_an_item_replaces_an_expired_one() -> None:
    gone = item(ttl={"N": "99"})
    upsert = {"fails_on_absent": False, "expiry_before": 100}
    assert replaces_expired(plan("upsert", Guard.IDEMPOTENT, **upsert), gone)
    assert not replaces_expired(plan("upsert", Guard.IDEMPOTENT, **upsert), item(ttl={"N": "100"}))
    assert not replaces_expired(plan("upsert", Guard.IDEMPOTENT, **upsert), item())
    assert not replaces_expired(plan("upsert", Guard.IDEMPOTENT, expiry_before=100), gone)
    assert not replaces_expired(plan("update", Guard.IDEMPOTENT, **upsert), gone)
    newer = Mark(Name(("order",)), {"N": "5"})
    assert not replaces_expired(plan("upsert", Guard.ORDER, mark=newer, **upsert), {**gone, "order": {"N": "5"}})
    assert replaces_expired(plan("upsert", Guard.ORDER, mark=newer, **upsert), {**gone, "order": {"N": "4"}})


def test_the_state_of_an_item_is_what_a_replacement_demands() -> None:
    assert state_of(plan(), item()) == EXPECTED
    assert state_of(plan(), {}) == Expected(None, None, None)


@pytest.mark.parametrize(("stored", "version"), [({"N": "3"}, 3), ({"N": "3.5"}, None), ({"S": "3"}, None), ({"NULL": True}, None)])
def test_a_version_is_a_whole_number(stored: Any, version: int | None) -> None:
    assert stored_version({"v": stored}, "v") == version


@pytest.mark.parametrize(
    ("verb", "returning", "asked"),
    [
        ("put", "new", None),
        ("put", "old", "ALL_OLD"),
        ("update", "new", "ALL_NEW"),
        ("update", "old", "ALL_OLD"),
        ("delete", "new", "ALL_OLD"),
        ("delete", "old", "ALL_OLD"),
    ],
)
def test_a_request_asks_for_the_item_that_its_verb_returns(verb: str, returning: str, asked: str | None) -> None:
    assert plan(verb, returning=returning).request().body.get("ReturnValues") == asked
    assert "ReturnValues" not in next(iter(plan(verb, returning=returning).action().values()))
