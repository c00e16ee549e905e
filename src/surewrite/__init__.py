"""Writes to DynamoDB that race, or are sent twice, and still leave the right state.

Belongs here: the list of public names. Must not be here: logic. The names of the async client are loaded when they are
first asked for, so that a program without an event loop does not pay for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surewrite.client import Actions, Database, EntityTable, Retry, Table, Transaction, connect
from surewrite.core.annotations import codec
from surewrite.core.bulk import BulkResult
from surewrite.core.codecs import Codec
from surewrite.core.conditions import Change, Condition, Operand
from surewrite.core.effects import Operation
from surewrite.core.entities import Attribute, Entity, Fields, VersionedEntity, attribute, time_to_live, version
from surewrite.core.indexes import Index, global_index, local_index
from surewrite.core.keys import Key, Partition, Target, VersionedKey
from surewrite.core.observation import Observation
from surewrite.core.outcomes import Applied, Canceled, Committed, Marker, Outcome, Refusal, RefusalReason, Refused
from surewrite.core.queries import Page
from surewrite.core.retries import Attempt, ConflictKind
from surewrite.core.sort_conditions import SortCondition, begins_with, between, equal, ge, gt, le, lt
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
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    UndecodableItem,
    VersionConflict,
    WriteRefused,
    WrongEntityType,
)

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

__version__ = "0.1.0"

_LOADED_LATE = {
    "AsyncActions": "surewrite.async_client",
    "AsyncDatabase": "surewrite.async_client",
    "AsyncEntityTable": "surewrite.async_client",
    "AsyncRetry": "surewrite.async_client",
    "AsyncTable": "surewrite.async_client",
    "AsyncTransaction": "surewrite.async_client",
    "connect_async": "surewrite.async_client",
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
    "SurewriteError",
    "Table",
    "Target",
    "Throttled",
    "Transaction",
    "TransactionCanceled",
    "TransactionConflict",
    "UndecodableItem",
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
    "equal",
    "ge",
    "global_index",
    "gt",
    "le",
    "local_index",
    "lt",
    "recipes",
    "time_to_live",
    "version",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - loaded with the first name that is asked for late

    if name == "recipes":
        return import_module("surewrite.recipes")
    if name in _LOADED_LATE:
        return getattr(import_module(_LOADED_LATE[name]), name)
    raise AttributeError(f"module 'surewrite' has no attribute {name!r}")
