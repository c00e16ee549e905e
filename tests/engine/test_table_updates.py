"""What UpdateTable changes of a table, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import NOON, Caller, Clock, create_table, index, number, text

from surewrite.engine.service import Service

A, B = ({"pk": text(name)} for name in "ab")
INVALID = "One or more parameter values were invalid: "
G = [{"AttributeName": "g", "AttributeType": "S"}]
QUERY: dict[str, Any] = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": text("g")}}


def units(reads: int, writes: int) -> dict[str, Any]:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}}


def create(name: str = "by_g", *keys: str, **members: Any) -> dict[str, Any]:
    return {"Create": {**index(name, *(keys or ("g",))), **members}}


@pytest.fixture
def provisioned(service: Service, clock: Clock) -> Caller:
    """A table of 5 and 5 units with a global index of 1 and 1."""
    create_table(service, global_indexes=[{**index("by_g", "g"), **units(1, 1)}], extra_types={"g": "S"}, BillingMode="PROVISIONED", **units(5, 5))
    return Caller(service, clock)


def described(caller: Caller) -> dict[str, Any]:
    found: dict[str, Any] = caller("DescribeTable")["Table"]
    return found


def told_units(description: dict[str, Any]) -> tuple[int, int]:
    told = description["ProvisionedThroughput"]
    return told["ReadCapacityUnits"], told["WriteCapacityUnits"]


def test_an_index_is_added_with_the_entries_of_the_items_that_fit_it(shop: Caller) -> None:
    shop.put(**A, g=text("g"), x=number(1))
    for at, value in enumerate((number(1), text(""), text("x" * 2049), {"NULL": True})):
        shop.put(pk=text(str(at)), g=value)
    answer = shop("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create()])["TableDescription"]
    assert (answer["TableStatus"], answer["GlobalSecondaryIndexes"][0]["IndexStatus"]) == ("UPDATING", "CREATING")
    now = described(shop)
    assert (now["TableStatus"], now["GlobalSecondaryIndexes"][0]["IndexStatus"], now["GlobalSecondaryIndexes"][0]["ItemCount"]) == ("ACTIVE", "ACTIVE", 1)
    assert {definition["AttributeName"] for definition in now["AttributeDefinitions"]} == {"pk", "g"}
    shop.put(**B, g=text("g"))
    assert [item["pk"]["S"] for item in shop("Query", IndexName="by_g", **QUERY)["Items"]] == ["a", "b"]


def test_an_item_that_fits_no_key_of_a_new_index_can_still_be_changed(shop: Caller) -> None:
    shop.put(**A, g=number(1))
    shop("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create()])
    shop("UpdateItem", Key=A, UpdateExpression="SET x = :x", ExpressionAttributeValues={":x": number(1)})
    assert shop("Scan", IndexName="by_g")["Count"] == 0
    shop("UpdateItem", Key=A, UpdateExpression="SET g = :g", ExpressionAttributeValues={":g": text("g")})
    assert shop("Scan", IndexName="by_g")["Count"] == 1
    shop("DeleteItem", Key=A)
    assert shop("Scan", IndexName="by_g")["Count"] == 0


def test_an_index_is_taken_away_with_its_entries_and_definitions(provisioned: Caller) -> None:
    provisioned.put(**A, g=text("g"))
    provisioned("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_g"}}])
    now = described(provisioned)
    assert "GlobalSecondaryIndexes" not in now
    assert [definition["AttributeName"] for definition in now["AttributeDefinitions"]] == ["pk"]
    assert provisioned.invalid("Query", IndexName="by_g", **QUERY) == "The table does not have the specified index: by_g"
    provisioned("DeleteItem", Key=A)
    provisioned("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create(**units(1, 1))])
    assert provisioned("Query", IndexName="by_g", **QUERY)["Items"] == []


def test_provisioned_units_change(provisioned: Caller, clock: Clock) -> None:
    clock.advance(60)
    provisioned("UpdateTable", **units(6, 4))
    now = described(provisioned)
    assert told_units(now) == (6, 4)
    told = now["ProvisionedThroughput"]
    assert (told["LastIncreaseDateTime"], told["LastDecreaseDateTime"], told["NumberOfDecreasesToday"]) == (NOON + 60, NOON + 60, 1)
    provisioned("UpdateTable", GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by_g", **units(2, 3)}}])
    assert told_units(described(provisioned)["GlobalSecondaryIndexes"][0]) == (2, 3)


def test_a_provisioned_table_is_ready_for_its_units(provisioned: Caller) -> None:
    now = described(provisioned)
    assert now["WarmThroughput"] == {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 5, "Status": "ACTIVE"}
    assert now["GlobalSecondaryIndexes"][0]["WarmThroughput"]["ReadUnitsPerSecond"] == 1


def test_units_that_do_not_change_are_refused(provisioned: Caller) -> None:
    assert provisioned.invalid("UpdateTable", **units(5, 5)) == (
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
    message = provisioned.invalid("UpdateTable", GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by_g", **units(1, 1)}}])
    assert message.startswith("The provisioned throughput for the index by_g will not change.")


def test_a_table_goes_to_on_demand_and_back(provisioned: Caller) -> None:
    provisioned("UpdateTable", BillingMode="PAY_PER_REQUEST")
    now = described(provisioned)
    assert now["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": NOON}
    assert told_units(now) == told_units(now["GlobalSecondaryIndexes"][0]) == (0, 0)
    back = {"BillingMode": "PROVISIONED", **units(5, 5)}
    assert provisioned.invalid("UpdateTable", **back) == INVALID + "ProvisionedThroughput must be specified for index: by_g"
    provisioned("UpdateTable", **back, GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by_g", **units(1, 2)}}])
    now = described(provisioned)
    assert now["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert (told_units(now), told_units(now["GlobalSecondaryIndexes"][0])) == ((5, 5), (1, 2))


def test_a_stream_is_turned_on_and_off(shop: Caller) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert shop.invalid("UpdateTable", StreamSpecification={"StreamEnabled": False}) == "Table has no stream to disable: TableName: shop"
    shop("UpdateTable", StreamSpecification=stream)
    assert described(shop)["StreamSpecification"] == stream
    shop.put(**A)
    assert shop.invalid("UpdateTable", StreamSpecification=stream) == "Table already has an enabled stream: TableName: shop"
    shop("UpdateTable", StreamSpecification={"StreamEnabled": False})
    shop.put(**B)
    now = described(shop)
    assert "StreamSpecification" not in now
    assert "LatestStreamArn" in now
    assert [record.keys for record in shop.service.stream_records("shop")] == [A]


def test_single_settings_change(shop: Caller) -> None:
    shop("UpdateTable", DeletionProtectionEnabled=True)
    assert shop.refusal("DeleteTable").code == "ValidationException"
    shop("UpdateTable", DeletionProtectionEnabled=False)
    shop("UpdateTable", TableClass="STANDARD_INFREQUENT_ACCESS")
    shop("UpdateTable", OnDemandThroughput={"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6})
    shop("UpdateTable", SSESpecification={"Enabled": True})
    now = described(shop)
    assert now["DeletionProtectionEnabled"] is False
    assert now["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert now["OnDemandThroughput"] == {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 6}
    assert now["SSEDescription"]["Status"] == "ENABLED"
    shop("UpdateTable", OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}, SSESpecification={"Enabled": False})
    assert described(shop).keys() & {"OnDemandThroughput", "SSEDescription"} == set()
    shop("DeleteTable")


def test_time_to_live_and_items_outlive_an_update(shop: Caller) -> None:
    shop.put(**A)
    shop("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    shop("UpdateTable", TableClass="STANDARD")
    assert shop("DescribeTimeToLive")["TimeToLiveDescription"]["AttributeName"] == "ttl"
    assert shop.item(**A) == A


NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, NOTHING),
        ({"AttributeDefinitions": G}, NOTHING),
        ({"GlobalSecondaryIndexUpdates": []}, NOTHING),
        (units(1, 1), INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"),
        (
            {"BillingMode": "PROVISIONED"},
            INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        ({"GlobalSecondaryIndexUpdates": [create()]}, "Invalid KeySchema: Some index key attribute have no definition"),
        (
            {"AttributeDefinitions": G, "GlobalSecondaryIndexUpdates": [create("by_g", "g", "pk")]},
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            {"AttributeDefinitions": G, "GlobalSecondaryIndexUpdates": [create(**units(1, 1))]},
            INVALID + "ProvisionedThroughput should not be specified for index: by_g when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"AttributeDefinitions": G, "GlobalSecondaryIndexUpdates": [create(Projection={"ProjectionType": "INCLUDE"})]},
            INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "one"}}, {"Update": {"IndexName": "one"}}]},
            INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: one",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "one", "ProvisionedThroughput": {"ReadCapacityUnits": 1}}}]},
            (
                "1 validation error detected: Value null at 'globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.writeCapacityUnits' "
                "failed to satisfy constraint: Member must not be null"
            ),
        ),
        ({"StreamSpecification": {"StreamEnabled": True}}, INVALID + "StreamViewType must be specified when StreamEnabled is true"),
    ],
)
def test_updates_that_the_service_does_not_make(shop: Caller, members: dict[str, Any], message: str) -> None:
    before = described(shop)
    assert shop.invalid("UpdateTable", **members) == message
    assert described(shop) == before


def test_an_element_is_exactly_one_action(shop: Caller) -> None:
    for update in ({}, {**create(), "Delete": {"IndexName": "one"}}):
        assert "must not be null" in shop.invalid("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[update])


def test_one_index_is_made_or_taken_away_at_a_time(provisioned: Caller) -> None:
    updates = [create("more", **units(1, 1)), {"Delete": {"IndexName": "by_g"}}]
    error = provisioned.refusal("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=updates)
    message = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    assert (error.code, error.message) == ("LimitExceededException", message)


def test_an_index_is_not_made_twice_and_an_attribute_keeps_its_type(provisioned: Caller) -> None:
    message = provisioned.invalid("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create(**units(1, 1))])
    assert message == "Attempting to create an index which already exists: by_g"
    other = [{"AttributeName": "g", "AttributeType": "N"}]
    assert "cannot become N" in provisioned.invalid("UpdateTable", AttributeDefinitions=other, GlobalSecondaryIndexUpdates=[create("more", **units(1, 1))])


@pytest.mark.parametrize("action", ["Update", "Delete"])
def test_an_index_that_is_not_there_is_not_found(shop: Caller, action: str) -> None:
    assert shop.refusal("UpdateTable", GlobalSecondaryIndexUpdates=[{action: {"IndexName": "none"}}]).code == "ResourceNotFoundException"


def test_a_missing_table_is_named(service: Service) -> None:
    error = Caller(service, Clock(), "none").refusal("UpdateTable", TableClass="STANDARD")
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Table: none not found")


def test_no_table_gets_more_than_twenty_global_indexes(service: Service, clock: Clock) -> None:
    types = {f"g{at}": "S" for at in range(20)}
    create_table(service, global_indexes=[index(f"by_{name}", name) for name in types], extra_types=types)
    message = Caller(service, clock).invalid("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create()])
    assert message == INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20"


def test_roles_of_a_new_index_are_those_of_a_key(shop: Caller) -> None:
    schema = [{"AttributeName": "g", "KeyType": "RANGE"}]
    message = shop.invalid("UpdateTable", AttributeDefinitions=G, GlobalSecondaryIndexUpdates=[create(KeySchema=schema)])
    assert message == "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
