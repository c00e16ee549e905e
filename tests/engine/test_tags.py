from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, create_table

from surewrite.engine.service import Service

ARN = "arn:aws:dynamodb:local:000000000000:table/shop"


def tag(key: str, value: str) -> dict[str, str]:
    return {"Key": key, "Value": value}


def tags(service: Service) -> list[dict[str, str]]:
    found: list[dict[str, str]] = service.execute("ListTagsOfResource", {"ResourceArn": ARN})["Tags"]
    return found


def test_a_table_is_made_with_its_tags(service: Service) -> None:
    create_table(service, Tags=[tag("team", "blue"), tag("empty", "")])
    assert tags(service) == [tag("team", "blue"), tag("empty", "")]


def test_tags_are_added_replaced_and_taken_away(shop: Caller) -> None:
    service = shop.service
    assert tags(service) == []
    assert service.execute("TagResource", {"ResourceArn": ARN, "Tags": [tag("team", "blue"), tag("cost", "1")]}) == {}
    service.execute("TagResource", {"ResourceArn": ARN, "Tags": [tag("team", "red")]})
    assert tags(service) == [tag("team", "red"), tag("cost", "1")]
    assert service.execute("UntagResource", {"ResourceArn": ARN, "TagKeys": ["team", "gone"]}) == {}
    assert tags(service) == [tag("cost", "1")]
    shop("UpdateTable", TableClass="STANDARD")
    shop("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    assert tags(service) == [tag("cost", "1")]


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource"])
def test_the_arn_names_a_table_that_exists(shop: Caller, operation: str) -> None:
    members: dict[str, Any] = {"TagResource": {"Tags": [tag("a", "b")]}, "UntagResource": {"TagKeys": ["a"]}}.get(operation, {})
    missing = ARN.replace("shop", "none")
    error = shop.refused(operation, {"ResourceArn": missing, **members})
    assert (error.code, error.message) == ("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {missing} not found")
    error = shop.refused(operation, {"ResourceArn": "shop", **members})
    assert (error.code, error.message) == ("ValidationException", "Invalid TableArn: Invalid ResourceArn provided as input shop")


def test_some_tag_or_key_is_given(shop: Caller) -> None:
    assert shop.refused("TagResource", {"ResourceArn": ARN, "Tags": []}).message == "Atleast one Tag needs to be provided as Input."
    assert shop.refused("UntagResource", {"ResourceArn": ARN, "TagKeys": []}).message == "Atleast one Tag Key needs to be provided as Input."


def test_a_table_has_at_most_fifty_tags(shop: Caller) -> None:
    shop.service.execute("TagResource", {"ResourceArn": ARN, "Tags": [tag(str(at), "x") for at in range(50)]})
    error = shop.refused("TagResource", {"ResourceArn": ARN, "Tags": [tag("more", "x")]})
    assert error.code == "ValidationException"
    assert len(tags(shop.service)) == 50


def test_keys_and_values_have_bounds(shop: Caller) -> None:
    error = shop.refused("TagResource", {"ResourceArn": ARN, "Tags": [tag("", "x" * 257)]})
    assert "'tags.1.member.key'" in error.message
    assert "'tags.1.member.value'" in error.message
