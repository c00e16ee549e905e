"""Belongs here: generators for table operations: create, describe, time to live. Must not be here: items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surewrite.core.answers import Rejection, Success
from surewrite.core.asking import ask, failure, until_answered
from surewrite.core.effects import Steps, now, pause
from surewrite.core.entities import BoundSchema, TableLayout
from surewrite.core.environment import Environment
from surewrite.core.requests import Request
from surewrite.core.table_indexes import attribute_types, index_members, key_schema, require_indexes, table_indexes
from surewrite.errors import InvalidRequest, SurewriteError

ACTIVE_POLL_SECONDS = 0.5
ACTIVE_POLLS_MAX = 240
"""Two minutes: a new table is usually active within seconds."""


def create_table(environment: Environment, table: str, layout: TableLayout, schemas: Sequence[BoundSchema[Any]], *, exist_ok: bool) -> Steps[None]:
    """Make the table that the entities need, billed on demand, wait until it is active, and turn time to live on where one is declared.

    With ``exist_ok`` a table of the same key, with the indexes that the entities declare, is left as it is. Raises
    ``InvalidRequest`` where entities contradict each other, and where a table of this name exists already, or with another
    key or without an index.
    """
    if not schemas:
        raise InvalidRequest(f"create_table of {table!r} needs an entity, to know the types of its key attributes")
    keys = _key_types(table, layout, schemas)
    ttl = _time_to_live(table, schemas)
    indexes = table_indexes(table, schemas)
    types = attribute_types(table, keys, indexes, schemas)
    definition: dict[str, Any] = {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "KeySchema": key_schema([name for name, _ in keys]),
        **index_members(indexes),
    }
    existed = yield from _create(environment, table, Request("CreateTable", definition))
    if existed and not exist_ok:
        raise InvalidRequest(f"the table {table!r} exists already; pass exist_ok=True to use it", code="ResourceInUseException")
    existing = yield from _wait_until_active(environment, table)
    _require_same_key(table, keys, existing)
    require_indexes(table, indexes, existing)
    if ttl is not None:
        yield from _turn_on_time_to_live(environment, table, ttl)


def _key_types(table: str, layout: TableLayout, schemas: Sequence[BoundSchema[Any]]) -> tuple[tuple[str, str], ...]:
    first = schemas[0]
    for schema in schemas[1:]:
        if schema.key_attribute_types() != first.key_attribute_types():
            raise InvalidRequest(
                f"{first.entity.__name__} and {schema.entity.__name__} cannot share the table {table!r}: their keys are {first.key_attribute_types()}"
                f" and {schema.key_attribute_types()}"
            )
    assert len(first.key_attribute_types()) == len(layout.key)
    return tuple(first.key_attribute_types())


def _time_to_live(table: str, schemas: Sequence[BoundSchema[Any]]) -> str | None:
    names = {schema.time_to_live.stored_name: schema.entity.__name__ for schema in schemas if schema.time_to_live is not None}
    if len(names) > 1:
        told = " and ".join(f"{name!r} ({entity})" for name, entity in names.items())
        raise InvalidRequest(
            f"a table has one time to live attribute, and the entities of {table!r} declare {told}:"
            " give them one name by stored_as=, or a recipe a table of its own"
        )
    return next(iter(names), None)


def _describe(environment: Environment, table: str) -> Steps[Mapping[str, Any]]:
    started = yield from now()
    answer = yield from ask(environment, Request("DescribeTable", {"TableName": table}), f"describing the table {table!r}", None, started)
    described: Mapping[str, Any] = answer.body["Table"]
    return described


def _wait_until_active(environment: Environment, table: str) -> Steps[Mapping[str, Any]]:
    for _ in range(ACTIVE_POLLS_MAX):
        described = yield from _describe(environment, table)
        if described.get("TableStatus", "ACTIVE") in ("ACTIVE", "UPDATING"):
            return described
        yield from pause(ACTIVE_POLL_SECONDS)
    raise SurewriteError(f"the table {table!r} did not become active within {ACTIVE_POLLS_MAX * ACTIVE_POLL_SECONDS:.0f} seconds; it may still do so")


def _create(environment: Environment, table: str, request: Request) -> Steps[bool]:
    """Send the creation until it is answered. True if the table was there before: after a lost answer that may be our own doing, and is not told."""
    moment = yield from now()
    reply = yield from until_answered(environment, request, moment, moment.monotonic + environment.deadline_seconds)
    if isinstance(reply.answer, Success):
        return False
    if isinstance(reply.answer, Rejection) and reply.answer.code == "ResourceInUseException":
        return not reply.in_doubt
    raise failure(environment, request, reply, f"the creation of the table {table!r}", None, advice="trying again with exist_ok=True is safe")


def _require_same_key(table: str, keys: Sequence[tuple[str, str]], described: Mapping[str, Any]) -> None:
    types = {definition["AttributeName"]: definition["AttributeType"] for definition in described["AttributeDefinitions"]}
    ordered = sorted(described["KeySchema"], key=lambda element: element["KeyType"] != "HASH")
    stored = tuple((element["AttributeName"], types[element["AttributeName"]]) for element in ordered)
    if stored != tuple(keys):
        raise InvalidRequest(f"the table {table!r} has the key {stored}, and these entities need {tuple(keys)}")


def _turn_on_time_to_live(environment: Environment, table: str, attribute: str) -> Steps[None]:
    started = yield from now()
    what = f"time to live of the table {table!r}"
    described = yield from ask(environment, Request("DescribeTimeToLive", {"TableName": table}), what, None, started)
    description = described.body.get("TimeToLiveDescription", {})
    if description.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"):
        if description.get("AttributeName") != attribute:
            raise InvalidRequest(f"the table {table!r} has its time to live in {description.get('AttributeName')!r}, and these entities need {attribute!r}")
        return
    specification = {"Enabled": True, "AttributeName": attribute}
    yield from ask(environment, Request("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": specification}), what, None, started)
