"""Rules of the names and constants that a request gives for its expressions."""

from __future__ import annotations

import pytest

from surewrite.core.values import AttributeValue
from surewrite.engine.faults import ServiceError
from surewrite.engine.grammar import Substitutions, parse_condition, parse_update, require_expressions


def test_unused_names_and_constants_are_refused_once_all_expressions_are_parsed():
    given = Substitutions({"#x": "a", "#y": "b", "#z": "c"}, {":v": {"N": "1"}, ":w": {"N": "1"}})
    parse_update("SET #x = :v", given)
    with pytest.raises(ServiceError) as caught:
        given.require_all_used()
    assert caught.value.message == "Value provided in ExpressionAttributeNames unused in expressions: keys: {#y, #z}"
    parse_condition("#y = #z", "ConditionExpression", given)
    with pytest.raises(ServiceError) as caught:
        given.require_all_used()
    assert caught.value.message == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"
    parse_condition("a = :w", "ConditionExpression", given)
    given.require_all_used()


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        ({}, None, "ExpressionAttributeNames must not be empty"),
        (None, {}, "ExpressionAttributeValues must not be empty"),
        ({"a": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"'),
        ({"#": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"'),
        ({"#a-b": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"'),
        (None, {"v": {"N": "1"}}, 'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"'),
        (
            None,
            {":v": {}},
            (
                "ExpressionAttributeValues contains invalid value: "
                "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :v"
            ),
        ),
        (
            None,
            {":v": {"SS": []}},
            "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may not be empty for key :v",
        ),
    ],
)
def test_names_and_constants_are_checked_themselves(names, values, message):
    with pytest.raises(ServiceError) as caught:
        Substitutions(names, values)
    assert caught.value.message == message


def test_a_placeholder_has_at_most_255_bytes():
    Substitutions({"#" + "a" * 254: "x"}, None)
    with pytest.raises(ServiceError, match="ExpressionAttributeNames contains invalid key"):
        Substitutions({"#" + "a" * 255: "x"}, None)


def test_all_names_and_constants_together_have_at_most_two_megabytes():
    constants = {f":{number}": {"S": "x" * 1_000_000} for number in range(2)}
    Substitutions(None, constants)
    with pytest.raises(ServiceError, match="maximum allowed size"):
        Substitutions(None, constants | {":2": {"S": "x" * 100_000}})


def test_constants_are_copied_and_made_canonical():
    value: AttributeValue = {"L": [{"N": "1.0"}]}
    given = Substitutions(None, {":v": value})
    value["L"].append({"N": "2"})
    assert given.values == {":v": {"L": [{"N": "1"}]}}


def test_names_and_constants_need_an_expression():
    require_expressions(None, None, {"ConditionExpression": None})
    require_expressions({"#a": "b"}, None, {"UpdateExpression": "SET #a = b", "ConditionExpression": None})
    with pytest.raises(ServiceError) as caught:
        require_expressions(None, {":v": {"N": "1"}}, {"ConditionExpression": None})
    assert caught.value.message == "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
    with pytest.raises(ServiceError) as caught:
        require_expressions({"#a": "b"}, None, {"UpdateExpression": None, "ConditionExpression": None})
    assert caught.value.message == "ExpressionAttributeNames can only be specified when using expressions"


def test_constants_need_an_expression_that_can_use_them():
    with pytest.raises(ServiceError) as caught:
        require_expressions(None, {":v": {"N": "1"}}, {"FilterExpression": None, "ProjectionExpression": "a"})
    assert caught.value.message == "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"


def test_all_placeholders_are_checked_before_any_constant():
    with pytest.raises(ServiceError) as caught:
        Substitutions(None, {":v": {"N": "x"}, "w": {"N": "1"}})
    assert caught.value.message == 'ExpressionAttributeValues contains invalid key: Syntax error; key: "w"'
