"""Parameters that came before expressions: what they stand for, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.harness import Caller, create_table, index, number, text

A = {"pk": text("a")}
INVALID = "One or more parameter values were invalid: "
STORED: dict[str, Any] = {**A, "n": number(5), "s": text("hello"), "b": {"BOOL": True}, "ss": {"SS": ["x", "y"]}, "l": {"L": [text("x")]}}


def condition(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


HOLDING = [
    ("n", {"Value": number("5.0")}),
    ("n", {"Value": number(5), "Exists": True}),
    ("gone", {"Exists": False}),
    ("n", {"ComparisonOperator": "EQ", "Value": number(5)}),
    ("ss", condition("EQ", {"SS": ["y", "x"]})),
    ("n", condition("NE", number(4))),
    ("gone", condition("NE", number(4))),
    ("n", condition("LT", number(6))),
    ("n", condition("LE", number(5))),
    ("n", condition("GT", number(4))),
    ("n", condition("GE", number(5))),
    ("n", condition("BETWEEN", number(5), number(6))),
    ("n", condition("IN", number(1), number(5))),
    ("s", condition("BEGINS_WITH", text("he"))),
    ("s", condition("CONTAINS", text("ell"))),
    ("ss", condition("CONTAINS", text("x"))),
    ("l", condition("CONTAINS", text("x"))),
    ("s", condition("NOT_CONTAINS", text("z"))),
    ("n", condition("NOT_NULL")),
    ("gone", condition("NULL")),
]
FAILING = [
    ("n", {"Value": text("5")}),
    ("n", {"Exists": False}),
    ("gone", {"Value": number(5)}),
    ("n", condition("NE", number(5))),
    ("s", condition("LT", number(6))),
    ("gone", condition("LT", number(6))),
    ("n", condition("BETWEEN", number(6), number(7))),
    ("n", condition("IN", number(1))),
    ("s", condition("CONTAINS", text("z"))),
    ("s", condition("NOT_CONTAINS", text("ell"))),
    ("gone", condition("NOT_CONTAINS", text("z"))),
    ("n", condition("NULL")),
    ("gone", condition("NOT_NULL")),
]


@pytest.mark.parametrize(("name", "expected"), HOLDING)
def test_an_expectation_that_holds_lets_the_write_pass(shop: Caller, name: str, expected: dict[str, Any]) -> None:
    shop.put(**STORED)
    shop("PutItem", Item={**A, "new": number(1)}, Expected={name: expected})
    assert shop.item(**A) == {**A, "new": number(1)}


@pytest.mark.parametrize(("name", "expected"), FAILING)
@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_an_expectation_that_fails_refuses_the_write(shop: Caller, operation: str, name: str, expected: dict[str, Any]) -> None:
    shop.put(**STORED)
    subject = "Item" if operation == "PutItem" else "Key"
    error = shop.refusal(operation, **{subject: A}, Expected={name: expected}, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert (error.code, error.item) == ("ConditionalCheckFailedException", STORED)


@pytest.mark.parametrize(("name", "filtered"), [entry for entry in HOLDING + FAILING if "AttributeValueList" in entry[1]])
def test_filters_choose_as_expectations_do(rows: Caller, name: str, filtered: dict[str, Any]) -> None:
    rows.put(**STORED, sk=number(1))
    count = 1 if (name, filtered) in HOLDING else 0
    assert rows("Scan", ScanFilter={name: filtered})["Count"] == count
    assert rows("Query", KeyConditions={"pk": condition("EQ", text("a"))}, QueryFilter={name: filtered})["Count"] == count


def test_conditions_are_joined_as_the_operator_says(shop: Caller) -> None:
    shop.put(**STORED)
    mixed = {"n": condition("EQ", number(5)), "s": condition("NULL")}
    assert shop("Scan", ScanFilter=mixed)["Count"] == 0
    assert shop("Scan", ScanFilter=mixed, ConditionalOperator="AND")["Count"] == 0
    assert shop("Scan", ScanFilter=mixed, ConditionalOperator="OR")["Count"] == 1
    shop("PutItem", Item=STORED, Expected=mixed, ConditionalOperator="OR")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"Value": number(1), "AttributeValueList": [number(1)]}, "Value and AttributeValueList cannot be used together for Attribute: n"),
        ({"Exists": True, "ComparisonOperator": "EQ"}, "Exists and ComparisonOperator cannot be used together for Attribute: n"),
        ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: n"),
        ({"AttributeValueList": [number(1)]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: n"),
        ({}, "Value must be provided when Exists is null for Attribute: n"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: n"),
        ({"Exists": False, "Value": number(1)}, "Value cannot be used when Exists is false for Attribute: n"),
        (condition("EQ", number(1), number(2)), "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (condition("NULL", number(1)), "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (condition("BETWEEN", number(1)), "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (condition("IN"), "Invalid number of argument(s) for the IN ComparisonOperator"),
        (condition("BETWEEN", {"M": {}}, {"M": {}}), "ComparisonOperator BETWEEN is not valid for M AttributeValue type"),
        (condition("BEGINS_WITH", number(1)), "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
        (condition("IN", number(1), text("1")), "AttributeValues inside AttributeValueList must be of same type"),
    ],
)
def test_expectations_that_contradict_themselves(shop: Caller, expected: dict[str, Any], message: str) -> None:
    assert shop.invalid("PutItem", Item=A, Expected={"n": expected}) == INVALID + message


def test_bounds_are_in_order(shop: Caller) -> None:
    message = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    assert shop.invalid("Scan", ScanFilter={"n": condition("BETWEEN", number(2), number(1))}) == message


def test_the_members_of_conditions_are_held_to_their_constraints(shop: Caller) -> None:
    assert shop.invalid("Scan", ScanFilter={"n": {}}) == (
        "1 validation error detected: Value null at 'scanFilter.n.member.comparisonOperator' failed to satisfy constraint: Member must not be null"
    )
    assert shop.invalid("PutItem", Item=A, Expected={"n": {"ComparisonOperator": "IS"}}) == (
        "1 validation error detected: Value 'IS' at 'expected.n.member.comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set: "
        "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
    )
    assert shop.refusal("PutItem", Item=A, Expected={"n": "x"}).code == "SerializationException"


def test_an_operator_joins_two_or_more_conditions(shop: Caller) -> None:
    for members in ({}, {"Expected": {}}):
        message = shop.invalid("PutItem", Item=A, ConditionalOperator="OR", **members)
        assert message == "ConditionalOperator cannot be used without Filter or Expected"
    message = shop.invalid("PutItem", Item=A, ConditionalOperator="OR", Expected={"n": {"Exists": False}})
    assert message == "ConditionalOperator can only be used when Filter or Expected has two or more elements"


@pytest.mark.parametrize(
    ("operation", "members", "told"),
    [
        (
            "PutItem",
            {"Item": A, "Expected": {}, "ConditionExpression": "a = b"},
            "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
        ),
        (
            "UpdateItem",
            {"Key": A, "AttributeUpdates": {}, "UpdateExpression": "SET"},
            "Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}",
        ),
        (
            "GetItem",
            {"Key": A, "AttributesToGet": ["n"], "ProjectionExpression": "n"},
            "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
        ),
        (
            "Query",
            {"QueryFilter": {}, "KeyConditionExpression": "pk = :p"},
            "Non-expression parameters: {QueryFilter} Expression parameters: {KeyConditionExpression}",
        ),
        (
            "Query",
            {"KeyConditions": {}, "KeyConditionExpression": "pk = :p"},
            "Non-expression parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}",
        ),
        ("Scan", {"ScanFilter": {}, "FilterExpression": "a = b"}, "Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}"),
    ],
)
def test_both_kinds_do_not_go_together(shop: Caller, operation: str, members: dict[str, Any], told: str) -> None:
    assert shop.invalid(operation, **members) == f"Can not use both expression and non-expression parameters in the same request: {told}"


def test_both_kinds_do_not_go_together_in_a_batch_even_on_two_tables(shop: Caller) -> None:
    create_table(shop.service, "other")
    items = {"shop": {"Keys": [A], "AttributesToGet": ["n"]}, "other": {"Keys": [A], "ProjectionExpression": "n"}}
    assert shop.refused("BatchGetItem", {"RequestItems": items}).message == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )


def test_key_conditions_go_with_expressions_that_are_older_than_those_on_keys(rows: Caller) -> None:
    rows.put(**STORED, sk=number(1))
    members = {"KeyConditions": {"pk": condition("EQ", text("a"))}, "FilterExpression": "n = :n", "ProjectionExpression": "s"}
    assert rows("Query", **members, ExpressionAttributeValues={":n": number(5)})["Items"] == [{"s": text("hello")}]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (condition("EQ", number(2)), ["2"]),
        (condition("LT", number(2)), ["1"]),
        (condition("LE", number(2)), ["1", "2"]),
        (condition("GT", number(2)), ["3"]),
        (condition("GE", number(2)), ["2", "3"]),
        (condition("BETWEEN", number(2), number(3)), ["2", "3"]),
    ],
)
def test_key_conditions_choose_a_range(rows: Caller, sort: dict[str, Any], expected: list[str]) -> None:
    for at in (1, 2, 3):
        rows.put(pk=text("a"), sk=number(at))
    page = rows("Query", KeyConditions={"sk": sort, "pk": condition("EQ", text("a"))})
    assert [item["sk"]["N"] for item in page["Items"]] == expected


def test_key_conditions_choose_a_prefix_in_an_index(shop: Caller) -> None:
    create_table(shop.service, "indexed", global_indexes=[index("by_g", "g", "h")], extra_types={"g": "S", "h": "S"})
    indexed = Caller(shop.service, shop.clock, "indexed")
    for name in ("xa", "xb", "y"):
        indexed.put(pk=text(name), g=text("g"), h=text(name))
    keys = {"g": condition("EQ", text("g")), "h": condition("BEGINS_WITH", text("x"))}
    assert [item["h"]["S"] for item in indexed("Query", IndexName="by_g", KeyConditions=keys)["Items"]] == ["xa", "xb"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sk": condition("EQ", number(1))}, "Query condition missed key schema element: pk"),
        ({"pk": condition("GT", text("a"))}, "Query key condition not supported"),
        ({"pk": condition("EQ", text("a")), "sk": condition("NE", number(1))}, "Attempted conditional constraint is not an indexable operation"),
        ({"pk": condition("EQ", text("a")), "sk": condition("IN", number(1))}, "Attempted conditional constraint is not an indexable operation"),
        ({"pk": condition("EQ", number(1))}, INVALID + "Condition parameter type does not match schema type"),
        (
            {name: condition("EQ", text("a")) for name in ("pk", "sk", "x")},
            "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
        ),
    ],
)
def test_key_conditions_that_fit_no_key(rows: Caller, keys: dict[str, Any], message: str) -> None:
    assert rows.invalid("Query", KeyConditions=keys) == message


def test_a_query_filter_names_no_key_attribute(rows: Caller) -> None:
    members = {"KeyConditions": {"pk": condition("EQ", text("a"))}, "QueryFilter": {"sk": condition("EQ", number(1))}}
    assert rows.invalid("Query", **members) == "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk"


def test_attributes_to_get_are_names_and_not_paths(shop: Caller) -> None:
    item = {**A, "n": number(1), "m.x": number(2), "m": {"M": {"x": number(3)}}, "size": number(4)}
    shop.put(**item)
    wanted = ["m.x", "size", "gone"]
    shown = {"m.x": number(2), "size": number(4)}
    assert shop("GetItem", Key=A, AttributesToGet=wanted) == {"Item": shown}
    assert shop("Scan", AttributesToGet=wanted)["Items"] == [shown]
    batch = shop.service.execute("BatchGetItem", {"RequestItems": {"shop": {"Keys": [A], "AttributesToGet": wanted}}})
    assert batch["Responses"] == {"shop": [shown]}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["n", "n"], INVALID + "Duplicate value in attribute name: n"),
        (
            [],
            "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        ([""], INVALID + "Empty attribute name"),
    ],
)
def test_attributes_to_get_are_some_and_each_one_once(shop: Caller, names: list[str], message: str) -> None:
    assert shop.invalid("GetItem", Key=A, AttributesToGet=names) == message
    assert shop.refusal("GetItem", Key=A, AttributesToGet=[1]).message == "NUMBER_VALUE cannot be converted to String"


def test_a_selection_speaks_of_attributes_to_get(shop: Caller) -> None:
    assert shop.invalid("Scan", Select="COUNT", AttributesToGet=["n"]) == "Cannot specify the AttributesToGet when choosing to get only the Count"


@pytest.mark.parametrize(
    ("updates", "changed"),
    [
        ({"n": {"Value": number(7)}}, {"n": number(7)}),
        ({"new": {"Value": text("x"), "Action": "PUT"}}, {"new": text("x")}),
        ({"n": {"Action": "DELETE"}}, {"n": None}),
        ({"gone": {"Action": "DELETE"}}, {}),
        ({"n": {"Value": number(2), "Action": "ADD"}}, {"n": number(7)}),
        ({"new": {"Value": number(2), "Action": "ADD"}}, {"new": number(2)}),
        ({"ss": {"Value": {"SS": ["z"]}, "Action": "ADD"}}, {"ss": {"SS": ["x", "y", "z"]}}),
        ({"ss": {"Value": {"SS": ["x"]}, "Action": "DELETE"}}, {"ss": {"SS": ["y"]}}),
        ({"ss": {"Value": {"SS": ["x", "y"]}, "Action": "DELETE"}}, {"ss": None}),
        ({"l": {"Value": {"L": [number(1)]}, "Action": "ADD"}}, {"l": {"L": [text("x"), number(1)]}}),
        ({"new": {"Value": {"L": [number(1)]}, "Action": "ADD"}}, {"new": {"L": [number(1)]}}),
        ({"a.b": {"Value": number(1)}}, {"a.b": number(1)}),
        ({}, {}),
    ],
)
def test_attribute_updates_change_an_item(shop: Caller, updates: dict[str, Any], changed: dict[str, Any]) -> None:
    shop.put(**STORED)
    answer = shop("UpdateItem", Key=A, AttributeUpdates=updates, ReturnValues="UPDATED_NEW")
    present = {name: value for name, value in changed.items() if value is not None}
    assert answer == ({"Attributes": present} if present else {})
    assert shop.item(**A) == {name: value for name, value in {**STORED, **changed}.items() if value is not None}


def test_attribute_updates_make_an_item_unless_they_only_delete(shop: Caller) -> None:
    shop("UpdateItem", Key=A, AttributeUpdates={"n": {"Action": "DELETE"}})
    assert shop.item(**A) is None
    shop("UpdateItem", Key=A, AttributeUpdates={"n": {"Value": number(1), "Action": "ADD"}, "x": {"Action": "DELETE"}})
    assert shop.item(**A) == {**A, "n": number(1)}
    shop("UpdateItem", Key={"pk": text("b")}, AttributeUpdates={})
    assert shop.item(pk=text("b")) == {"pk": text("b")}


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"n": {}}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        ({"n": {"Action": "ADD"}}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        ({"n": {"Action": "ADD", "Value": text("x")}}, INVALID + "ADD action is not supported for the type STRING"),
        ({"n": {"Action": "DELETE", "Value": number(1)}}, INVALID + "DELETE action with value is not supported for the type NUMBER"),
        ({"s": {"Action": "ADD", "Value": number(1)}}, "Type mismatch for attribute to update"),
        ({"s": {"Action": "DELETE", "Value": {"SS": ["x"]}}}, "Type mismatch for attribute to update"),
        ({"pk": {"Value": text("b")}}, INVALID + "Cannot update attribute pk. This attribute is part of the key"),
        (
            {"n": {"Action": "SET", "Value": number(1)}},
            (
                "1 validation error detected: Value 'SET' at 'attributeUpdates.n.member.action' failed to satisfy constraint: "
                "Member must satisfy enum value set: [ADD, PUT, DELETE]"
            ),
        ),
    ],
)
def test_attribute_updates_that_the_service_does_not_make(shop: Caller, updates: dict[str, Any], message: str) -> None:
    shop.put(**STORED)
    assert shop.invalid("UpdateItem", Key=A, AttributeUpdates=updates) == message
    assert shop.item(**A) == STORED


def test_transactions_do_not_know_legacy_parameters(shop: Caller) -> None:
    error = shop.refused("TransactWriteItems", {"TransactItems": [shop.action("Put", Item=A, Expected={})]})
    assert "Expected" in error.message
