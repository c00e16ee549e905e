from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, number, text

from surewrite.engine.faults import CancellationReason, ServiceError
from surewrite.engine.transactions import HeldTransaction

A, B, C = ({"pk": text(name)} for name in "abc")
NONE = CancellationReason("None")
CONFLICT = CancellationReason("TransactionConflict", "Transaction is ongoing for the item")


def hold(shop: Caller, **members: Any) -> HeldTransaction:
    """A held transaction that puts A and checks B."""
    actions = [shop.action("Put", Item={**A, "n": number(2)}), shop.action("ConditionCheck", Key=B, ConditionExpression="attribute_not_exists(pk)")]
    return shop.service.hold_transaction({"TransactItems": actions, **members})


def test_a_held_transaction_takes_effect_at_its_commit(shop: Caller) -> None:
    held = hold(shop, ReturnConsumedCapacity="TOTAL")
    assert shop.item(**A) is None
    answer = held.commit()
    assert answer["ConsumedCapacity"][0]["TableName"] == "shop"
    assert shop.item(**A) == {**A, "n": number(2)}


def test_a_cancelled_one_has_no_effect_and_frees_its_items(shop: Caller) -> None:
    hold(shop, ClientRequestToken="t").cancel()
    shop.put(**A)
    hold(shop, ClientRequestToken="t").commit()
    assert shop.item(**A) == {**A, "n": number(2)}


@pytest.mark.parametrize("key", [A, B])
@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_plain_writes_on_its_items_conflict(shop: Caller, operation: str, key: dict[str, Any]) -> None:
    held = hold(shop)
    error = shop.refusal(operation, **({"Item": key} if operation == "PutItem" else {"Key": key}))
    assert (error.code, error.message) == ("TransactionConflictException", "Transaction is ongoing for the item")
    held.commit()
    shop(operation, **({"Item": key} if operation == "PutItem" else {"Key": key}))


def test_a_conflict_comes_before_the_condition(shop: Caller) -> None:
    hold(shop)
    assert shop.refusal("PutItem", Item=A, ConditionExpression="attribute_exists(pk)").code == "TransactionConflictException"


def test_another_transaction_is_cancelled_with_the_conflict_at_its_index(shop: Caller) -> None:
    hold(shop)
    failing = shop.action("ConditionCheck", Key=C, ConditionExpression="attribute_exists(pk)")
    error = shop.cancelled(shop.action("Put", Item={"pk": text("d")}), shop.action("Delete", Key=B), failing)
    assert error.reasons == (NONE, CONFLICT, CancellationReason("ConditionalCheckFailed", "The conditional request failed"))
    assert shop.item(pk=text("d")) is None


def test_a_transactional_read_is_cancelled_with_the_conflict_at_its_index(shop: Caller) -> None:
    hold(shop)
    with pytest.raises(ServiceError) as caught:
        shop.service.execute("TransactGetItems", {"TransactItems": [shop.action("Get", Key=C), shop.action("Get", Key=A)]})
    assert (caught.value.code, caught.value.reasons) == ("TransactionCanceledException", (NONE, CONFLICT))


def test_plain_reads_see_the_state_before(shop: Caller) -> None:
    shop.put(**A, n=number(1))
    hold(shop)
    before = {**A, "n": number(1)}
    assert shop.item(**A) == before
    assert shop("Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": text("a")})["Items"] == [before]
    assert shop("Scan")["Items"] == [before]
    assert shop.service.execute("BatchGetItem", {"RequestItems": {"shop": {"Keys": [A]}}})["Responses"] == {"shop": [before]}


def test_an_entry_of_a_batch_on_its_items_is_left_unprocessed(shop: Caller) -> None:
    hold(shop)
    entries = [{"PutRequest": {"Item": A}}, {"PutRequest": {"Item": C}}]
    assert shop.service.execute("BatchWriteItem", {"RequestItems": {"shop": entries}})["UnprocessedItems"] == {"shop": [entries[0]]}
    assert shop.item(**C) == C


def test_its_token_is_in_progress(shop: Caller) -> None:
    held = hold(shop, ClientRequestToken="t")
    for actions in ([shop.action("Put", Item=C)], [shop.action("Put", Item={**A, "n": number(2)})]):
        error = shop.refused("TransactWriteItems", {"TransactItems": actions, "ClientRequestToken": "t"})
        assert (error.code, error.message) == ("TransactionInProgressException", "Transaction from previous request is still in progress")
    held.commit()
    assert shop.refused("TransactWriteItems", {"TransactItems": [shop.action("Put", Item=C)], "ClientRequestToken": "t"}).code == (
        "IdempotentParameterMismatchException"
    )


def test_holding_a_finished_token_replays_it_at_the_commit(shop: Caller) -> None:
    hold(shop, ClientRequestToken="t").commit()
    shop.put(**A)
    hold(shop, ClientRequestToken="t").commit()
    assert shop.item(**A) == A


def test_one_that_is_refused_holds_nothing(shop: Caller) -> None:
    shop.put(**B)
    with pytest.raises(ServiceError) as caught:
        hold(shop, ClientRequestToken="t")
    assert caught.value.reasons == (NONE, CancellationReason("ConditionalCheckFailed", "The conditional request failed"))
    shop.put(**A)
    shop("DeleteItem", Key=B)
    hold(shop, ClientRequestToken="t").commit()


def test_two_held_ones_on_the_same_item_conflict(shop: Caller) -> None:
    hold(shop)
    with pytest.raises(ServiceError) as caught:
        hold(shop)
    assert caught.value.reasons == (CONFLICT, CONFLICT)


def test_it_ends_once(shop: Caller) -> None:
    held = hold(shop)
    held.commit()
    with pytest.raises(RuntimeError, match="already committed or cancelled"):
        held.commit()
    with pytest.raises(RuntimeError, match="already committed or cancelled"):
        held.cancel()
