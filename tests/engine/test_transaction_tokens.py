from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, create_table, number, text

from surewrite.engine.service import Service, ServiceSettings
from surewrite.engine.stores.store import Store

A, B = ({"pk": text(name)} for name in "ab")


def add(shop: Caller, key: dict[str, Any] = A, amount: str = "1") -> dict[str, Any]:
    return shop.action("Update", Key=key, UpdateExpression="ADD n :n", ExpressionAttributeValues={":n": number(amount)})


def configured(store: Store, clock: Clock, settings: ServiceSettings) -> Caller:
    service = Service(store, clock=clock, settings=settings)
    create_table(service)
    return Caller(service, clock)


def test_a_repeat_succeeds_and_does_nothing(shop: Caller) -> None:
    for _ in range(3):
        assert shop.transact(add(shop), ClientRequestToken="t") == {}
    assert shop.item(**A) == {**A, "n": number(1)}


def test_without_a_token_every_request_runs(shop: Caller) -> None:
    shop.transact(add(shop))
    shop.transact(add(shop))
    assert shop.item(**A) == {**A, "n": number(2)}


def test_other_content_under_a_token_is_a_mismatch(shop: Caller) -> None:
    shop.transact(add(shop), ClientRequestToken="t")
    error = shop.refused("TransactWriteItems", {"TransactItems": [add(shop, amount="2")], "ClientRequestToken": "t"})
    assert error.code == "IdempotentParameterMismatchException"
    assert shop.item(**A) == {**A, "n": number(1)}


def test_content_is_compared_by_what_it_means(shop: Caller) -> None:
    def request(amount: str, members: list[str], *, reordered: bool) -> dict[str, Any]:
        item = {"pk": text("a"), "n": number(amount), "s": {"SS": members}}
        put = {"Item": dict(reversed(item.items())) if reordered else item, "TableName": "shop"}
        return {"Put": dict(reversed(put.items())) if reordered else put}

    shop.transact(request("1.0", ["x", "y"], reordered=False), ClientRequestToken="t")
    shop.transact(request("1", ["y", "x"], reordered=True), ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    assert shop.refused("TransactWriteItems", {"TransactItems": [request("2", ["x", "y"], reordered=False)], "ClientRequestToken": "t"}).code == (
        "IdempotentParameterMismatchException"
    )


def test_the_order_of_actions_is_content(shop: Caller) -> None:
    shop.transact(add(shop), add(shop, B), ClientRequestToken="t")
    error = shop.refused("TransactWriteItems", {"TransactItems": [add(shop, B), add(shop)], "ClientRequestToken": "t"})
    assert error.code == "IdempotentParameterMismatchException"


def test_a_token_lives_for_ten_minutes_after_its_completion(shop: Caller, clock: Clock) -> None:
    shop.transact(add(shop), ClientRequestToken="t")
    clock.advance(600)
    shop.transact(add(shop), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(1)}
    clock.advance(0.5)
    shop.transact(add(shop), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(2)}


def test_a_repeat_does_not_prolong_the_life_of_a_token(shop: Caller, clock: Clock) -> None:
    shop.transact(add(shop), ClientRequestToken="t")
    for _ in range(3):
        clock.advance(250)
        shop.transact(add(shop), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(2)}


def test_a_cancelled_original_is_not_remembered(shop: Caller) -> None:
    absent = shop.action("Put", Item=A, ConditionExpression="attribute_not_exists(pk)")
    shop.put(**A)
    shop.cancelled(absent, ClientRequestToken="t")
    shop("DeleteItem", Key=A)
    shop.transact(absent, ClientRequestToken="t")
    assert shop.item(**A) == A


def test_a_cancelled_original_can_be_remembered(store: Store, clock: Clock) -> None:
    shop = configured(store, clock, ServiceSettings(cancelled_originals_remembered=True))
    absent = shop.action("Put", Item=A, ConditionExpression="attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    shop.put(**A)
    first = shop.cancelled(absent, ClientRequestToken="t")
    shop("DeleteItem", Key=A)
    second = shop.cancelled(absent, ClientRequestToken="t")
    assert second.reasons == first.reasons
    assert shop.refused("TransactWriteItems", {"TransactItems": [add(shop)], "ClientRequestToken": "t"}).code == "IdempotentParameterMismatchException"
    assert shop.item(**A) is None


def test_tokens_can_be_ignored(store: Store, clock: Clock) -> None:
    shop = configured(store, clock, ServiceSettings(tokens_ignored=True))
    shop.transact(add(shop), ClientRequestToken="t")
    shop.transact(add(shop, amount="2"), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(3)}


def test_a_shorter_life_of_tokens_can_be_set(store: Store, clock: Clock) -> None:
    shop = configured(store, clock, ServiceSettings(token_life_seconds=10.0))
    shop.transact(add(shop), ClientRequestToken="t")
    clock.advance(11)
    shop.transact(add(shop), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(2)}


@pytest.mark.parametrize("token", ["", "x" * 37])
def test_a_token_has_1_to_36_characters(shop: Caller, token: str) -> None:
    error = shop.refused("TransactWriteItems", {"TransactItems": [add(shop)], "ClientRequestToken": token})
    assert error.code == "ValidationException"
    assert "clientRequestToken" in error.message


def test_a_repeat_after_the_table_is_gone_still_succeeds(shop: Caller) -> None:
    shop.transact(add(shop), ClientRequestToken="t")
    shop("DeleteTable")
    assert shop.transact(add(shop), ClientRequestToken="t") == {}


def test_the_token_of_another_service_on_the_same_store_counts(store: Store, clock: Clock) -> None:
    shop = configured(store, clock, ServiceSettings())
    shop.transact(add(shop), ClientRequestToken="t")
    other = Caller(Service(store, clock=clock), clock)
    other.transact(add(other), ClientRequestToken="t")
    assert shop.item(**A) == {**A, "n": number(1)}
