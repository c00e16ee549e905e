"""How often a write may take effect, read off its request without the library's own planning."""

from __future__ import annotations

import pytest

from surewrite.core.requests import Request
from surewrite.testing.write_classes import WriteClass, class_of_write

KEY = {"pk": {"S": "a"}}


def update(expression: str, condition: str | None = None, **values: dict[str, str]) -> Request:
    body = {"TableName": "shop", "Key": KEY, "UpdateExpression": expression, "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}}
    if condition is not None:
        body["ConditionExpression"] = condition
    if "#s" in f"{expression} {condition}":
        body["ExpressionAttributeNames"] = {"#s": "_s"}
    return Request("UpdateItem", body)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (update("SET n = :v", v={"N": "1"}), WriteClass.IDEMPOTENT),
        (update("ADD tags :v", v={"SS": ["x"]}), WriteClass.IDEMPOTENT),
        (update("ADD n :v", v={"N": "1"}), WriteClass.NOT_IDEMPOTENT),
        (update("SET n = n + :v", v={"N": "1"}), WriteClass.NOT_IDEMPOTENT),
        (update("SET l = list_append(l, :v)", v={"L": []}), WriteClass.NOT_IDEMPOTENT),
        (update("SET n = n + :v", "#s <> :s", v={"N": "1"}, s={"S": "mine"}), WriteClass.NOT_IDEMPOTENT),
        (update("SET n = n + :v", "#s = :s", v={"N": "1"}, s={"S": "loaded"}), WriteClass.STAMPED),
        (update("SET n = :new", "n = :old", new={"N": "2"}, old={"N": "1"}), WriteClass.LIFE),
        (update("SET n = :v", "attribute_not_exists(n) OR n < :v", v={"N": "2"}), WriteClass.LIFE),
        (update("ADD ids :id, n :v", "NOT contains(ids, :one)", id={"SS": ["x"]}, v={"N": "1"}, one={"S": "x"}), WriteClass.LIFE),
        (Request("PutItem", {"TableName": "shop", "Item": KEY}), WriteClass.IDEMPOTENT),
        (Request("DeleteItem", {"TableName": "shop", "Key": KEY}), WriteClass.IDEMPOTENT),
        (Request("TransactWriteItems", {"TransactItems": []}), WriteClass.TOKEN),
    ],
)
def test_the_class_of_a_request(request_: Request, kind: WriteClass) -> None:
    assert class_of_write(request_) is kind
