"""Belongs here: checks of keys and of key attributes against a key schema, with the service's error texts. Must not be here: values without a key, storage.

Every function takes items that ``validation.check_item`` returned. Limits are those of the Developer Guide, page
"Quotas in Amazon DynamoDB", sections Partition keys and sort keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from surewrite.core import limits
from surewrite.core.values import AttributeValue, Item, value_size
from surewrite.engine.faults import ServiceError, validation
from surewrite.engine.schemas import Index, KeyAttribute, KeySchema
from surewrite.engine.syntax import DocumentPath
from surewrite.engine.validation import INVALID

KEY_MISMATCH: Final = "The provided key element does not match the schema"

# No character takes more bytes than four.
_SURELY_SHORT: Final = limits.SORT_KEY_BYTES // 4

_EMPTY_KEY: Final = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty"
_EMPTY_INDEX_KEY: Final = "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
_EMPTY_UPDATED_INDEX_KEY: Final = (
    "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. "
)


def check_key_shape(key: Item, schema: KeySchema) -> None:
    """Refuse a ``Key`` member that has not exactly the attributes of the schema in their types."""
    if len(key) != len(schema.attributes):
        raise validation(KEY_MISMATCH)
    for attribute in schema.attributes:
        value = key.get(attribute.name)
        if value is None or attribute.type not in value:
            raise validation(KEY_MISMATCH)


def check_item_key_shape(item: Item, schema: KeySchema) -> None:
    """Refuse an item to be put that lacks a key attribute or has one of another type."""
    for attribute in schema.attributes:
        value = item.get(attribute.name)
        if value is None:
            raise validation(f"{INVALID}Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            raise validation(f"{INVALID}Type mismatch for key {attribute.name} expected: {attribute.type} actual: {_type(value)}")


def check_key_content(item: Item, schema: KeySchema) -> None:
    """Refuse key attributes that are empty or too long; ``item`` may be a ``Key`` member or a whole item of the right shape."""
    check_key_filled(item, schema)
    check_key_length(item, schema)


def check_key_filled(item: Item, schema: KeySchema) -> None:
    """Refuse key attributes that are empty."""
    for attribute in schema.attributes:
        fault = _empty(item[attribute.name])
        if fault is not None:
            raise _empty_key(fault, attribute)


def check_key_length(item: Item, schema: KeySchema) -> None:
    """Refuse key attributes that are too long."""
    if _too_long(item[schema.partition.name], is_partition=True):
        raise _long_key(is_partition=True)
    if schema.sort is not None and _too_long(item[schema.sort.name], is_partition=False):
        raise _long_key(is_partition=False)


def check_key_value(value: AttributeValue, attribute: KeyAttribute, *, is_partition: bool) -> None:
    """Refuse one value of a key attribute that is empty or too long."""
    fault = _empty(value)
    if fault is not None:
        raise _empty_key(fault, attribute)
    if _too_long(value, is_partition=is_partition):
        raise _long_key(is_partition=is_partition)


def check_key(key: Item, schema: KeySchema) -> None:
    """Both checks of a ``Key`` member: its shape, then its content."""
    check_key_shape(key, schema)
    check_key_content(key, schema)


def check_index_keys(item: Item, indexes: Iterable[Index]) -> None:
    """Refuse an item to be put that has an index key attribute of another type, empty or too long. An absent one only leaves the index."""
    for index, attribute, is_partition in _index_attributes(indexes):
        value = item.get(attribute.name)
        if value is None:
            continue
        if attribute.type not in value:
            raise validation(f"{INVALID}Type mismatch for Index Key {attribute.name} Expected: {attribute.type} Actual: {_type(value)} IndexName: {index.name}")
        _check_index_key_filled(index, attribute, value)
        if _too_long(value, is_partition=is_partition):
            raise _long_key(is_partition=is_partition)


def check_index_keys_filled(item: Item, indexes: Iterable[Index]) -> None:
    """Refuse an item to be put that has an empty index key attribute of the right type."""
    for index, attribute, _ in _index_attributes(indexes):
        value = item.get(attribute.name)
        if value is not None and attribute.type in value:
            _check_index_key_filled(index, attribute, value)


def check_updated_index_keys(item: Item, old: Item | None, indexes: Iterable[Index]) -> None:
    """The same for the item that an update leaves, in the words that the service has for updates. What stays as it was is not looked at."""
    before: Item = {} if old is None else old
    for _, attribute, is_partition in _index_attributes(indexes):
        value = item.get(attribute.name)
        if value is None or value == before.get(attribute.name):
            continue
        if attribute.type not in value:
            raise validation("The update expression attempted to update the secondary index key to unsupported type")
        check_updated_index_key_filled(value)
        if _too_long(value, is_partition=is_partition):
            raise validation("The update expression attempted to update the secondary index key beyond allowed size limits")


def fits_index_key(value: AttributeValue, attribute: KeyAttribute, *, is_partition: bool) -> bool:
    """Whether a value can be that of an index key attribute."""
    return bool(value.get(attribute.type)) and not _too_long(value, is_partition=is_partition)


def check_updated_index_key_filled(value: AttributeValue) -> None:
    """Refuse an empty value that an update gives to an index key attribute."""
    fault = _empty(value)
    if fault is not None:
        raise validation(f"{_EMPTY_UPDATED_INDEX_KEY}The AttributeValue for a key attribute cannot contain an empty {fault} value.")


def check_update_targets(targets: Iterable[DocumentPath], schema: KeySchema) -> None:
    """Refuse an update of a key attribute or of something below one, even where it would leave the same value."""
    names = schema.names
    for path in targets:
        if path.parts[0] in names:
            raise validation(f"{INVALID}Cannot update attribute {path.parts[0]}. This attribute is part of the key")


def check_key_paths(paths: Iterable[DocumentPath], schema: KeySchema, indexes: Iterable[Index]) -> None:
    """Refuse paths of any expression that go below a key attribute of the table or of an index."""
    nested = [path for path in paths if len(path.parts) > 1]
    if not nested:
        return
    index_names = {name for index in indexes for name in index.key.names}
    for path in nested:
        role = "Key" if path.parts[0] in schema.names else "IndexKey" if path.parts[0] in index_names else None
        if role is not None:
            raise validation(f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}: {path.parts[0]}")


def check_filter_paths(paths: Iterable[DocumentPath], schema: KeySchema, filter_name: str) -> None:
    """Refuse a Query's filter that names a key attribute of the table or index that is read; ``filter_name`` is what the message calls it."""
    for path in paths:
        if path.parts[0] in schema.names:
            raise validation(f"{filter_name} can only contain non-primary key attributes: Primary key attribute: {path.parts[0]}")


def _index_attributes(indexes: Iterable[Index]) -> Iterable[tuple[Index, KeyAttribute, bool]]:
    for index in indexes:
        for attribute in index.key.partitions:
            yield index, attribute, True
        for attribute in index.key.sorts:
            yield index, attribute, False


def _check_index_key_filled(index: Index, attribute: KeyAttribute, value: AttributeValue) -> None:
    fault = _empty(value)
    if fault is not None:
        raise validation(
            f"{_EMPTY_INDEX_KEY}The AttributeValue for a key attribute cannot contain an empty {fault} value."
            f" IndexName: {index.name}, IndexKey: {attribute.name}"
        )


def _empty_key(fault: str, attribute: KeyAttribute) -> ServiceError:
    return validation(f"{_EMPTY_KEY} {fault} value. Key: {attribute.name}")


def _empty(value: AttributeValue) -> str | None:
    if value.get("S") == "":
        return "string"
    return "binary" if value.get("B") == "" else None


def _too_long(value: AttributeValue, *, is_partition: bool) -> bool:
    # Most keys are far from the limit, and every request asks.
    if len(next(iter(value.values()))) <= _SURELY_SHORT:
        return False
    return value_size(value) > (limits.PARTITION_KEY_BYTES if is_partition else limits.SORT_KEY_BYTES)


def _long_key(*, is_partition: bool) -> ServiceError:
    if is_partition:
        return validation(f"{INVALID}Size of hashkey has exceeded the maximum size limit of{limits.PARTITION_KEY_BYTES} bytes")
    return validation(f"{INVALID}Aggregated size of all range keys has exceeded the size limit of {limits.SORT_KEY_BYTES} bytes")


def _type(value: AttributeValue) -> str:
    return next(iter(value))
