"""The actions on claims that go with the writes of a transaction."""

from __future__ import annotations

from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.core.effects import Moment
from surewrite.core.entities import TableLayout, schema_of
from surewrite.core.environment import Environment
from surewrite.core.outcomes import TakenValue
from surewrite.core.retries import ConflictKind, kind_of
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.traits import EndpointTraits
from surewrite.core.transaction_drafts import TransactionDraft, compile_transaction
from surewrite.core.uniqueness import ReadState, claim_intents, movement, owner_key, owner_text, rests_on_read
from surewrite.core.values import Item

NOW = Occasion(Moment(0.0, 0.0, 0.0), "uniqueunique")


class Page(Entity, discriminator="PAGE", partition_key="PAGE#{id}", sort_key="{number}"):
    id: Attribute[str]
    number: Attribute[int]
    path: Attribute[str | None] = sw.unique(default=None)


def scope() -> Scope:
    around = Environment(
        EndpointTraits("none", tokens=True, transactions=True, old_item=True, cancelled_items=True), timeout_seconds=1.0, deadline_seconds=10.0
    )
    return Scope(around, "shop", schema_of(Page).bind(TableLayout(("pk", "sk"))))


def stored(name: str, path: str) -> Item:
    key: Item = {"pk": {"S": f"PAGE#{name}"}, "sk": {"N": "1"}}
    return {**key, "_type": {"S": "PAGE"}, "id": {"S": name}, "number": {"N": "1"}, "path": {"S": path}, "_s": {"S": f"-:{name}"}}


def actions(*moves: tuple[str, str | None, str | None], foreign: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """The actions on claims of a transaction in which pages move from one path to another."""
    draft = TransactionDraft(scope().environment)
    for name, _, path in moves:
        draft.put(scope(), Page(id=name, number=1, path=path), Options())
    movements = [
        movement(intent, ReadState(None if before is None else stored(name, before)), NOW)
        for intent, (name, before, _) in zip(draft.intents, moves, strict=True)
    ]
    claims = list(claim_intents(movements, foreign).values())
    return [action.plan.action() for action in compile_transaction(TransactionDraft(draft.environment, None, claims), NOW, "token").actions]


def owners(action: dict[str, Any]) -> set[str]:
    ((_, body),) = action.items()
    return {value["S"] for value in body["ExpressionAttributeValues"].values()}


def test_a_move_is_a_put_of_the_new_claim_and_a_delete_of_the_old() -> None:
    gone, taken = actions(("a", "/1", "/2"))
    assert gone["Delete"]["Key"] == {"pk": {"S": "UNIQUE#PAGE#path#/1"}, "sk": {"N": "0"}}
    assert taken["Put"]["Item"]["pk"] == {"S": "UNIQUE#PAGE#path#/2"}
    assert owners(gone) == owners(taken) == {'["PAGE#a","1"]'}
    assert gone["Delete"]["ConditionExpression"].startswith("attribute_not_exists(#0) OR ")


def test_a_swap_is_one_put_for_each_claim_that_either_may_have() -> None:
    first, second = actions(("a", "/1", "/2"), ("b", "/2", "/1"))
    assert {next(iter(action)) for action in (first, second)} == {"Put"}
    assert owners(first) == owners(second) == {'["PAGE#a","1"]', '["PAGE#b","1"]'}


def test_a_claim_in_other_hands_is_checked_and_left() -> None:
    (check,) = actions(("a", "/1", None), foreign=frozenset({"shop/PAGE#path#/1"}))
    assert check["ConditionCheck"]["ConditionExpression"] == "attribute_exists(#0) AND #0 <> :0"


def test_what_stays_as_it_is_takes_no_action() -> None:
    with pytest.raises(sw.InvalidRequest, match="no action"):
        actions(("a", "/1", "/1"))


def test_two_items_that_take_one_value_are_refused() -> None:
    with pytest.raises(sw.InvalidRequest, match=r"take one value of Page\.path"):
        actions(("a", None, "/1"), ("b", None, "/1"))


def test_what_a_blind_write_releases_rests_on_a_read_and_a_create_on_none() -> None:
    draft = TransactionDraft(scope().environment)
    draft.put(scope(), Page(id="a", number=1), Options())
    draft.create(scope(), Page(id="b", number=1))
    draft.delete(scope(), Page.key_of("c", 1), Options())
    assert [rests_on_read(intent, tells_items=False) for intent in draft.intents] == [True, False, True]


def test_an_owner_is_read_back_from_a_claim_and_nonsense_is_nobody() -> None:
    key = Page.key_of("a", 7)
    assert owner_key(scope(), owner_text(scope(), scope().schema.key_item(key))) == key
    assert owner_key(scope(), "nonsense") is None
    assert owner_key(scope(), '["PAGE#a"]') is None


def test_a_taken_value_is_an_answer_and_no_conflict() -> None:
    assert kind_of(sw.ValueTaken("taken", taken=(TakenValue("path", None),))) is ConflictKind.CONDITION
