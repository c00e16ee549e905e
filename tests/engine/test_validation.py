"""Rules of attribute values and items as they come in."""

from __future__ import annotations

import pytest

from surewrite.core.values import AttributeValue
from surewrite.engine.faults import ServiceError
from surewrite.engine.validation import check_item, check_item_size, check_updated_size, check_value

PREFIX = "One or more parameter values were invalid: "


def nested(wrappers: int, kind: str) -> AttributeValue:
    value: AttributeValue = {"S": "x"}
    for _ in range(wrappers):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    return value


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"S": ""}, {"S": ""}),
        ({"B": ""}, {"B": ""}),
        ({"N": "1.0"}, {"N": "1"}),
        ({"BOOL": False}, {"BOOL": False}),
        ({"NULL": True}, {"NULL": True}),
        ({"SS": ["b", ""]}, {"SS": ["", "b"]}),
        ({"BS": ["AQ==", ""]}, {"BS": ["", "AQ=="]}),
        ({"NS": ["10", "9"]}, {"NS": ["9", "10"]}),
        ({"L": []}, {"L": []}),
        ({"M": {}}, {"M": {}}),
        ({"S": "x", "N": None}, {"S": "x"}),
        ({"S": "x", "unknown": 1}, {"S": "x"}),
    ],
)
def test_a_value_is_stored_in_its_canonical_form(value, stored):
    assert check_value(value) == stored


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"unknown": 1}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": None}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": "x", "N": "1"}, "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
        ({"S": "x", "N": "y"}, "The parameter cannot be converted to a numeric value: y"),
        ({"NULL": False}, f"{PREFIX}Null attribute value types must have the value of true"),
        ({"SS": []}, f"{PREFIX}An string set  may not be empty"),
        ({"NS": []}, f"{PREFIX}An number set  may not be empty"),
        ({"BS": []}, f"{PREFIX}Binary sets should not be empty"),
        ({"SS": ["a", "a"]}, f"{PREFIX}Input collection [a, a] contains duplicates."),
        ({"BS": ["Yg==", "Yg=="]}, f"{PREFIX}Input collection [Yg==, Yg==]of type BS contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"NS": ["1", ""]}, "The parameter cannot be converted to a numeric value"),
        ({"N": ""}, "The parameter cannot be converted to a numeric value"),
        ({"N": "abc"}, "The parameter cannot be converted to a numeric value: abc"),
        ({"N": "9" * 39}, "Attempting to store more than 38 significant digits in a Number"),
        ({"N": "1e126"}, "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ({"N": "-1e-131"}, "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
        ({"M": {"": {"S": "x"}}}, f"{PREFIX}Empty attribute name"),
        ({"L": [{"M": {"a": {}}}]}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    ],
)
def test_a_value_that_the_service_does_not_store_is_refused(value, message):
    for check in (check_value, lambda value: check_item({"a": value})):
        with pytest.raises(ServiceError) as caught:
            check(value)
        assert (caught.value.code, caught.value.message) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"N": 1}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"S": {}}, "Start of structure or map found where not expected"),
        ({"S": []}, "Start of list found where not expected"),
        ({"BOOL": "true"}, "STRING_VALUE cannot be converted to Boolean"),
        ({"L": {}}, "Start of structure or map found where not expected"),
        ({"M": []}, "Start of list found where not expected"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"B": "a"}, "Invalid base64 text in a binary value"),
        ({"B": "Yg="}, "Invalid base64 text in a binary value"),
        ({"B": "Y-=="}, "Invalid base64 text in a binary value"),
        ({"S": "\ud800"}, "The text is not well-formed Unicode"),
        ("text", "Unexpected value type in payload"),
        (None, "Unexpected value type in payload"),
        ({"L": [1]}, "Unexpected value type in payload"),
    ],
)
def test_a_value_of_a_wrong_json_type_is_a_serialization_fault(value, message):
    with pytest.raises(ServiceError) as caught:
        check_value(value)
    assert (caught.value.code, caught.value.message) == ("SerializationException", message)


@pytest.mark.parametrize("kind", ["L", "M"])
def test_a_value_has_at_most_32_levels_with_its_own(kind):
    assert check_item({"a": nested(31, kind)}) == {"a": nested(31, kind)}
    for wrappers in (32, 2000):
        with pytest.raises(ServiceError, match="Nesting Levels have exceeded supported limits"):
            check_item({"a": nested(wrappers, kind)})


def test_an_attribute_name_has_one_to_65535_bytes():
    check_item({"é" * 32_767: {"S": ""}})
    with pytest.raises(ServiceError, match="Empty attribute name"):
        check_item({"": {"S": ""}})
    with pytest.raises(ServiceError, match="Attribute name is too large"):
        check_item({"é" * 32_768: {"S": ""}})


def test_a_checked_item_shares_nothing_with_the_request():
    item = {"m": {"M": {"l": {"L": [{"S": "x"}]}}}}
    stored = check_item(item)
    item["m"]["M"]["l"]["L"].clear()
    assert stored == {"m": {"M": {"l": {"L": [{"S": "x"}]}}}}


def test_an_item_has_at_most_409600_bytes():
    fits = {"a": {"S": "x" * 409_599}}
    assert check_item_size(fits) == check_updated_size(fits) == 409_600
    large = {"a": {"S": "x" * 409_600}}
    with pytest.raises(ServiceError) as caught:
        check_item_size(large)
    assert caught.value.message == "Item size has exceeded the maximum allowed size"
    with pytest.raises(ServiceError) as caught:
        check_updated_size(large)
    assert caught.value.message == "Item size to update has exceeded the maximum allowed size"
