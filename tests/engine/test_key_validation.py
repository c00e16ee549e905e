"""Rules of keys against the schema of a table and of its indexes."""

from __future__ import annotations

import pytest

from surewrite.engine.faults import ServiceError
from surewrite.engine.key_validation import (
    check_filter_paths,
    check_index_keys,
    check_item_key_shape,
    check_key,
    check_key_paths,
    check_update_targets,
    check_updated_index_keys,
)
from surewrite.engine.schemas import Index, KeyAttribute, KeySchema
from surewrite.engine.syntax import DocumentPath

SCHEMA = KeySchema(KeyAttribute("pk", "S"), KeyAttribute("sk", "B"))
INDEX = Index("idx", is_global=True, key=KeySchema(KeyAttribute("c", "S"), KeyAttribute("d", "B")), projection="ALL", included=frozenset(), space="s")
PREFIX = "One or more parameter values were invalid: "
EMPTY = "One or more parameter values are not valid. "
LONG_PARTITION = f"{PREFIX}Size of hashkey has exceeded the maximum size limit of2048 bytes"
LONG_SORT = f"{PREFIX}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
MISMATCH = "The provided key element does not match the schema"
BYTES_1024 = "AAAA" * 341 + "AA=="
BYTES_1025 = "AAAA" * 341 + "AAA="


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({}, MISMATCH),
        ({"pk": {"S": "a"}}, MISMATCH),
        ({"pk": {"S": "a"}, "sk": {"S": "a"}}, MISMATCH),
        ({"pk": {"S": "a"}, "other": {"B": "AA=="}}, MISMATCH),
        ({"pk": {"S": "a"}, "sk": {"B": "AA=="}, "other": {"S": "a"}}, MISMATCH),
        ({"pk": {"S": ""}, "sk": {"B": "AA=="}}, f"{EMPTY}The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"),
        ({"pk": {"S": "a"}, "sk": {"B": ""}}, f"{EMPTY}The AttributeValue for a key attribute cannot contain an empty binary value. Key: sk"),
        ({"pk": {"S": "a" * 2049}, "sk": {"B": "AA=="}}, LONG_PARTITION),
        ({"pk": {"S": "é" * 1025}, "sk": {"B": "AA=="}}, LONG_PARTITION),
        ({"pk": {"S": "a"}, "sk": {"B": BYTES_1025}}, LONG_SORT),
    ],
)
def test_a_key_has_exactly_the_attributes_of_the_schema(key, message):
    with pytest.raises(ServiceError) as caught:
        check_key(key, SCHEMA)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"sk": {"B": "AA=="}}, f"{PREFIX}Missing the key pk in the item"),
        ({"pk": {"S": "a"}}, f"{PREFIX}Missing the key sk in the item"),
        ({"pk": {"N": "1"}, "sk": {"B": "AA=="}}, f"{PREFIX}Type mismatch for key pk expected: S actual: N"),
    ],
)
def test_an_item_has_the_attributes_of_the_key(item, message):
    with pytest.raises(ServiceError) as caught:
        check_item_key_shape(item, SCHEMA)
    assert caught.value.message == message


def test_keys_of_the_largest_size_are_accepted():
    key = {"pk": {"S": "a" * 2048}, "sk": {"B": BYTES_1024}}
    check_key(key, SCHEMA)
    check_item_key_shape(key | {"other": {"S": ""}}, SCHEMA)


@pytest.mark.parametrize(
    ("attributes", "put", "updated"),
    [
        (
            {"c": {"N": "1"}},
            f"{PREFIX}Type mismatch for Index Key c Expected: S Actual: N IndexName: idx",
            "The update expression attempted to update the secondary index key to unsupported type",
        ),
        (
            {"c": {"S": ""}},
            (
                f"{EMPTY}A value specified for a secondary index key is not supported. "
                "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: idx, IndexKey: c"
            ),
            (
                f"{EMPTY}The update expression attempted to update a secondary index key to a value that is not supported. "
                "The AttributeValue for a key attribute cannot contain an empty string value."
            ),
        ),
        ({"c": {"S": "a" * 2049}}, LONG_PARTITION, "The update expression attempted to update the secondary index key beyond allowed size limits"),
        ({"d": {"B": BYTES_1025}}, LONG_SORT, "The update expression attempted to update the secondary index key beyond allowed size limits"),
    ],
)
def test_index_keys_are_held_to_the_rules_of_keys(attributes, put, updated):
    with pytest.raises(ServiceError) as caught:
        check_index_keys(attributes, [INDEX])
    assert caught.value.message == put
    with pytest.raises(ServiceError) as caught:
        check_updated_index_keys(attributes, None, [INDEX])
    assert caught.value.message == updated


def test_an_item_without_an_index_key_is_only_left_out_of_the_index():
    check_index_keys({"pk": {"S": "a"}}, [INDEX])
    check_updated_index_keys({"d": {"B": "AA=="}}, None, [INDEX])


def test_an_update_is_held_only_to_the_index_keys_that_it_changes():
    bad = {"c": {"N": "1"}}
    check_updated_index_keys(bad, bad, [INDEX])
    with pytest.raises(ServiceError, match="unsupported type"):
        check_updated_index_keys(bad, {"c": {"N": "2"}}, [INDEX])


@pytest.mark.parametrize("parts", [("pk",), ("sk", "a"), ("pk", 0)])
def test_a_key_attribute_cannot_be_updated(parts):
    with pytest.raises(ServiceError) as caught:
        check_update_targets([DocumentPath(("other",)), DocumentPath(parts)], SCHEMA)
    assert caught.value.message == f"{PREFIX}Cannot update attribute {parts[0]}. This attribute is part of the key"


def test_other_attributes_can_be_updated():
    check_update_targets([DocumentPath(("other", "pk"))], SCHEMA)


@pytest.mark.parametrize(("parts", "role"), [(("pk", "a"), "Key: pk"), (("sk", 1), "Key: sk"), (("c", "a"), "IndexKey: c")])
def test_nothing_lies_below_a_key_attribute(parts, role):
    with pytest.raises(ServiceError) as caught:
        check_key_paths([DocumentPath(parts)], SCHEMA, [INDEX])
    assert caught.value.message == f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}"


def test_paths_that_are_keys_or_lie_elsewhere_are_accepted():
    check_key_paths([DocumentPath(("pk",)), DocumentPath(("c",)), DocumentPath(("other", "pk"))], SCHEMA, [INDEX])


def test_a_filter_of_a_query_cannot_name_key_attributes():
    check_filter_paths([DocumentPath(("other",))], SCHEMA, "Filter Expression")
    with pytest.raises(ServiceError) as caught:
        check_filter_paths([DocumentPath(("sk",))], SCHEMA, "Filter Expression")
    assert caught.value.message == "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
