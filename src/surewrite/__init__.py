"""Writes to DynamoDB that race, or are sent twice, and still leave the right state.

Belongs here: the list of public names. Must not be here: logic. A name is loaded when it is first asked for, so that a
program pays for what it uses: entities without a client, the blocking client without an event loop.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surewrite import recipes as recipes
    from surewrite.async_client import (
        AsyncActions,
        AsyncDatabase,
        AsyncEntityTable,
        AsyncRetry,
        AsyncTable,
        AsyncTransaction,
        connect_async,
    )
    from surewrite.client import Actions, Database, EntityTable, Retry, Table, Transaction, connect
    from surewrite.core.annotations import codec
    from surewrite.core.bulk import BulkResult
    from surewrite.core.codecs import Codec
    from surewrite.core.conditions import Change, Condition, Operand
    from surewrite.core.contention import Statistics
    from surewrite.core.datetime_texts import datetime_text
    from surewrite.core.effects import Operation
    from surewrite.core.entities import Attribute, Entity, Fields, VersionedEntity, attribute, time_to_live, unique, version
    from surewrite.core.indexes import Index, global_index, local_index
    from surewrite.core.keys import Key, Partition, Target, VersionedKey
    from surewrite.core.observation import Observation
    from surewrite.core.outcomes import Applied, Canceled, Committed, Marker, Outcome, Refusal, RefusalReason, Refused, TakenValue
    from surewrite.core.queries import Page
    from surewrite.core.retries import Attempt, ConflictKind
    from surewrite.core.sort_conditions import SortCondition, begins_with, between, equal, ge, gt, le, lt
    from surewrite.core.traits import EndpointTraits
    from surewrite.drivers.clocks import Chance, Clock
    from surewrite.errors import (
        AlreadyExists,
        ConditionFailed,
        ConnectionFailed,
        DefinitionError,
        InvalidRequest,
        ItemNotFound,
        OldItemLost,
        OutcomeUnknown,
        ServiceFault,
        SurewriteError,
        SurewriteWarning,
        Throttled,
        TransactionCanceled,
        TransactionConflict,
        UndecodableItem,
        ValueTaken,
        VersionConflict,
        WriteRefused,
        WrongEntityType,
    )

__version__ = "0.1.0"

_HOMES = {
    "Actions": "surewrite.client",
    "AlreadyExists": "surewrite.errors",
    "Applied": "surewrite.core.outcomes",
    "AsyncActions": "surewrite.async_client",
    "AsyncDatabase": "surewrite.async_client",
    "AsyncEntityTable": "surewrite.async_client",
    "AsyncRetry": "surewrite.async_client",
    "AsyncTable": "surewrite.async_client",
    "AsyncTransaction": "surewrite.async_client",
    "Attempt": "surewrite.core.retries",
    "Attribute": "surewrite.core.entities",
    "BulkResult": "surewrite.core.bulk",
    "Canceled": "surewrite.core.outcomes",
    "Chance": "surewrite.drivers.clocks",
    "Change": "surewrite.core.conditions",
    "Clock": "surewrite.drivers.clocks",
    "Codec": "surewrite.core.codecs",
    "Committed": "surewrite.core.outcomes",
    "Condition": "surewrite.core.conditions",
    "ConditionFailed": "surewrite.errors",
    "ConflictKind": "surewrite.core.retries",
    "ConnectionFailed": "surewrite.errors",
    "Database": "surewrite.client",
    "DefinitionError": "surewrite.errors",
    "EndpointTraits": "surewrite.core.traits",
    "Entity": "surewrite.core.entities",
    "EntityTable": "surewrite.client",
    "Fields": "surewrite.core.entities",
    "Index": "surewrite.core.indexes",
    "InvalidRequest": "surewrite.errors",
    "ItemNotFound": "surewrite.errors",
    "Key": "surewrite.core.keys",
    "Marker": "surewrite.core.outcomes",
    "Observation": "surewrite.core.observation",
    "OldItemLost": "surewrite.errors",
    "Operand": "surewrite.core.conditions",
    "Operation": "surewrite.core.effects",
    "Outcome": "surewrite.core.outcomes",
    "OutcomeUnknown": "surewrite.errors",
    "Page": "surewrite.core.queries",
    "Partition": "surewrite.core.keys",
    "Refusal": "surewrite.core.outcomes",
    "RefusalReason": "surewrite.core.outcomes",
    "Refused": "surewrite.core.outcomes",
    "Retry": "surewrite.client",
    "ServiceFault": "surewrite.errors",
    "SortCondition": "surewrite.core.sort_conditions",
    "Statistics": "surewrite.core.contention",
    "SurewriteError": "surewrite.errors",
    "SurewriteWarning": "surewrite.errors",
    "Table": "surewrite.client",
    "TakenValue": "surewrite.core.outcomes",
    "Target": "surewrite.core.keys",
    "Throttled": "surewrite.errors",
    "Transaction": "surewrite.client",
    "TransactionCanceled": "surewrite.errors",
    "TransactionConflict": "surewrite.errors",
    "UndecodableItem": "surewrite.errors",
    "ValueTaken": "surewrite.errors",
    "VersionConflict": "surewrite.errors",
    "VersionedEntity": "surewrite.core.entities",
    "VersionedKey": "surewrite.core.keys",
    "WriteRefused": "surewrite.errors",
    "WrongEntityType": "surewrite.errors",
    "attribute": "surewrite.core.entities",
    "begins_with": "surewrite.core.sort_conditions",
    "between": "surewrite.core.sort_conditions",
    "codec": "surewrite.core.annotations",
    "connect": "surewrite.client",
    "connect_async": "surewrite.async_client",
    "datetime_text": "surewrite.core.datetime_texts",
    "equal": "surewrite.core.sort_conditions",
    "ge": "surewrite.core.sort_conditions",
    "global_index": "surewrite.core.indexes",
    "gt": "surewrite.core.sort_conditions",
    "le": "surewrite.core.sort_conditions",
    "local_index": "surewrite.core.indexes",
    "lt": "surewrite.core.sort_conditions",
    "time_to_live": "surewrite.core.entities",
    "unique": "surewrite.core.entities",
    "version": "surewrite.core.entities",
}

__all__ = [
    "Actions",
    "AlreadyExists",
    "Applied",
    "AsyncActions",
    "AsyncDatabase",
    "AsyncEntityTable",
    "AsyncRetry",
    "AsyncTable",
    "AsyncTransaction",
    "Attempt",
    "Attribute",
    "BulkResult",
    "Canceled",
    "Chance",
    "Change",
    "Clock",
    "Codec",
    "Committed",
    "Condition",
    "ConditionFailed",
    "ConflictKind",
    "ConnectionFailed",
    "Database",
    "DefinitionError",
    "EndpointTraits",
    "Entity",
    "EntityTable",
    "Fields",
    "Index",
    "InvalidRequest",
    "ItemNotFound",
    "Key",
    "Marker",
    "Observation",
    "OldItemLost",
    "Operand",
    "Operation",
    "Outcome",
    "OutcomeUnknown",
    "Page",
    "Partition",
    "Refusal",
    "RefusalReason",
    "Refused",
    "Retry",
    "ServiceFault",
    "SortCondition",
    "Statistics",
    "SurewriteError",
    "SurewriteWarning",
    "Table",
    "TakenValue",
    "Target",
    "Throttled",
    "Transaction",
    "TransactionCanceled",
    "TransactionConflict",
    "UndecodableItem",
    "ValueTaken",
    "VersionConflict",
    "VersionedEntity",
    "VersionedKey",
    "WriteRefused",
    "WrongEntityType",
    "attribute",
    "begins_with",
    "between",
    "codec",
    "connect",
    "connect_async",
    "datetime_text",
    "equal",
    "ge",
    "global_index",
    "gt",
    "le",
    "local_index",
    "lt",
    "recipes",
    "time_to_live",
    "unique",
    "version",
]


def __getattr__(name: str) -> Any:
    if name == "recipes":
        return import_module("surewrite.recipes")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'surewrite' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    # The next one who asks finds it without this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
