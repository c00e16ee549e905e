from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import NOON, Caller, Clock, create_table, index, key_schema, text

from surewrite.engine.service import Service


def creation(**members: Any) -> dict[str, Any]:
    return {
        "TableName": "made",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": key_schema("pk"),
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }


@pytest.fixture
def caller(service: Service, clock: Clock) -> Caller:
    return Caller(service, clock, "made")


def test_a_table_is_active_at_once_and_described_as_made(caller: Caller) -> None:
    made = caller.service.execute("CreateTable", creation())["TableDescription"]
    assert made["TableStatus"] == "CREATING"
    assert made["CreationDateTime"] == NOON
    assert made["KeySchema"] == key_schema("pk")
    assert made["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert caller("DescribeTable")["Table"] == {**made, "TableStatus": "ACTIVE"}


def test_settings_of_a_table_are_described(caller: Caller) -> None:
    settings = {
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "OnDemandThroughput": {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": -1},
        "WarmThroughput": {"ReadUnitsPerSecond": 15_000},
        "SSESpecification": {"Enabled": True, "SSEType": "KMS"},
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }
    caller.service.execute("CreateTable", creation(**settings))
    described = caller("DescribeTable")["Table"]
    assert described["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert described["OnDemandThroughput"] == {"MaxReadRequestUnits": 10}
    assert described["WarmThroughput"] == {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}
    assert (described["SSEDescription"]["Status"], described["SSEDescription"]["SSEType"]) == ("ENABLED", "KMS")
    assert described["LatestStreamLabel"] == "2027-01-15T08:00:00.000"
    assert described["LatestStreamArn"] == f"{described['TableArn']}/stream/{described['LatestStreamLabel']}"


def test_limits_are_those_of_a_new_account(service: Service) -> None:
    assert service.execute("DescribeLimits", {})["TableMaxReadCapacityUnits"] == 40_000


def test_the_description_counts_items_and_entries(caller: Caller) -> None:
    create_table(caller.service, "made", global_indexes=[index("by_g", "g")], extra_types={"g": "S"})
    caller.put(pk=text("a"), g=text("x"))
    caller.put(pk=text("b"))
    described = caller("DescribeTable")["Table"]
    assert (described["ItemCount"], described["GlobalSecondaryIndexes"][0]["ItemCount"]) == (2, 1)


def test_a_table_that_exists_is_not_made_again(caller: Caller) -> None:
    caller.service.execute("CreateTable", creation())
    error = caller.refused("CreateTable", creation())
    assert (error.code, error.message) == ("ResourceInUseException", "Table already exists: made")


def test_a_deleted_table_is_gone_with_its_items(caller: Caller) -> None:
    create_table(caller.service, "made", global_indexes=[index("by_g", "g")], extra_types={"g": "S"})
    caller.put(pk=text("a"), g=text("x"))
    assert caller("DeleteTable")["TableDescription"]["TableStatus"] == "DELETING"
    assert caller.refusal("GetItem", Key={"pk": text("a")}).message == "Requested resource not found"
    create_table(caller.service, "made", global_indexes=[index("by_g", "g")], extra_types={"g": "S"})
    assert caller("Scan")["Items"] == caller("Scan", IndexName="by_g")["Items"] == []


def test_a_protected_table_is_not_deleted(caller: Caller) -> None:
    caller.service.execute("CreateTable", creation(DeletionProtectionEnabled=True))
    message = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    assert caller.invalid("DeleteTable") == message


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_operations_on_a_missing_table_name_it(caller: Caller, operation: str) -> None:
    error = caller.refusal(operation)
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found: Table: made not found")


def test_names_are_listed_in_byte_order_and_by_pages(service: Service) -> None:
    for name in ("shop", "Zoo", "a.b", "ledger"):
        create_table(service, name)
    assert service.execute("ListTables", {}) == {"TableNames": ["Zoo", "a.b", "ledger", "shop"]}
    assert service.execute("ListTables", {"Limit": 3}) == {"TableNames": ["Zoo", "a.b", "ledger"], "LastEvaluatedTableName": "ledger"}
    assert service.execute("ListTables", {"Limit": 3, "ExclusiveStartTableName": "ledger"}) == {"TableNames": ["shop"]}
    assert service.execute("ListTables", {"Limit": 1, "ExclusiveStartTableName": "b-not-there"}) == {
        "TableNames": ["ledger"],
        "LastEvaluatedTableName": "ledger",
    }


INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"TableName": None}, "The parameter 'TableName' is required but was not present in the request"),
        (
            {"TableName": "ab"},
            "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "INVALID"}]},
            (
                "1 validation error detected: Value 'INVALID' at 'keySchema.1.member.keyType' failed to satisfy constraint: "
                "Member must satisfy enum value set: [HASH, RANGE]"
            ),
        ),
        (
            {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "SS"}]},
            (
                "1 validation error detected: Value 'SS' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: "
                "Member must satisfy enum value set: [B, N, S]"
            ),
        ),
        (
            {"KeySchema": key_schema("a"), "AttributeDefinitions": [{"AttributeName": "b", "AttributeType": "S"}]},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [b]",
        ),
        (
            {"AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "b")]},
            INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
        ),
        ({"KeySchema": key_schema("pk", "pk")}, "Invalid KeySchema: Some index key attribute have no definition"),
        ({"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]}, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            {"LocalSecondaryIndexes": [index("by_g", "pk")]},
            INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        ({"GlobalSecondaryIndexes": [index("one", "pk"), index("one", "pk")]}, INVALID + "Duplicate index name: one"),
        (
            {"GlobalSecondaryIndexes": [index("one", "pk", projection="INCLUDE")]},
            INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"GlobalSecondaryIndexes": [index("one", "pk", included=["x"])]},
            INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        ({"BillingMode": None}, INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"),
        ({"StreamSpecification": {"StreamEnabled": True}}, INVALID + "StreamViewType must be specified when StreamEnabled is true"),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
            INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        ({"GlobalSecondaryIndexes": []}, INVALID + "List of GlobalSecondaryIndexes is empty"),
        ({"LocalSecondaryIndexes": []}, INVALID + "List of LocalSecondaryIndexes is empty"),
        (
            {"GlobalSecondaryIndexes": [{**index("one", "pk"), "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}]},
            INVALID + "ProvisionedThroughput should not be specified for index: one when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {
                "KeySchema": key_schema("pk", "sk"),
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
                "LocalSecondaryIndexes": [index("one", "sk", "pk")],
            },
            INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: one. index hash key: sk, table hash key: pk",
        ),
        (
            {"KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in ("pk", "a", "b")]},
            (
                "1 validation error detected: Value '[KeySchemaElement(attributeName=pk, keyType=HASH), KeySchemaElement(attributeName=a, keyType=HASH), "
                "KeySchemaElement(attributeName=b, keyType=HASH)]' at 'keySchema' failed to satisfy constraint: "
                "Member must have length less than or equal to 2"
            ),
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}},
            (
                "1 validation error detected: Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            ),
        ),
    ],
)
def test_tables_that_the_service_does_not_make(caller: Caller, members: dict[str, Any], message: str) -> None:
    error = caller.refused("CreateTable", creation(**members))
    assert (error.code, error.message) == ("ValidationException", message)
    assert caller.service.execute("ListTables", {}) == {"TableNames": []}


@pytest.mark.parametrize("member", ["GlobalSecondaryIndexes", "LocalSecondaryIndexes", "KeySchema", "AttributeDefinitions"])
@pytest.mark.parametrize("element", [None, 1, "x", []])
def test_an_element_that_is_no_map_is_refused_by_the_service(caller: Caller, member: str, element: Any) -> None:
    error = caller.refused("CreateTable", creation(**{member: [element]}))
    assert error.code in ("SerializationException", "ValidationException")


def test_index_limits(service: Service, caller: Caller) -> None:
    types = {f"g{at}": "S" for at in range(21)}
    create_table(service, "twenty", global_indexes=[index(f"by_g{at}", f"g{at}") for at in range(20)], extra_types=dict(list(types.items())[:20]))
    body = creation(
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", *types)],
        GlobalSecondaryIndexes=[index(f"by_{name}", name) for name in types],
    )
    assert caller.refused("CreateTable", body).message == INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20"


def test_a_specification_of_time_to_live_is_whole(shop: Caller) -> None:
    absent = "Value null at 'timeToLiveSpecification{}' failed to satisfy constraint: Member must not be null"
    assert shop.invalid("UpdateTimeToLive") == f"1 validation error detected: {absent.format('')}"
    told = f"{absent.format('.enabled')}; {absent.format('.attributeName')}"
    assert shop.invalid("UpdateTimeToLive", TimeToLiveSpecification={}) == f"2 validation errors detected: {told}"


def test_time_to_live_is_described_as_it_is_set(shop: Caller) -> None:
    specification = {"Enabled": True, "AttributeName": "ttl"}
    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    assert shop("UpdateTimeToLive", TimeToLiveSpecification=specification) == {"TimeToLiveSpecification": specification}
    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}}
    assert shop.invalid("UpdateTimeToLive", TimeToLiveSpecification=specification) == "TimeToLive is already enabled"
    for enabled in (True, False):
        assert "different" in shop.invalid("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": enabled, "AttributeName": "other"})
    shop("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"})
    assert shop.invalid("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"}) == "TimeToLive is already disabled"
    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}


def test_time_to_live_needs_both_members(shop: Caller) -> None:
    assert "timeToLiveSpecification.attributeName" in shop.invalid("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True})
    assert "timeToLiveSpecification" in shop.invalid("UpdateTimeToLive")
