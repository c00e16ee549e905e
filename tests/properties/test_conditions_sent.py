"""Any condition that is given is in the request, whatever the verb and the other options."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.effects import Moment
from surewrite.core.entities import Stored, TableLayout, schema_of, with_stored
from surewrite.core.environment import Environment
from surewrite.core.expressions import Rendering
from surewrite.core.planning import plan_check, plan_delete, plan_put, plan_update, plan_upsert
from surewrite.core.plans import Plan
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.traits import EndpointTraits
from surewrite.engine.faults import ServiceError
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore

OCCASION = Occasion(Moment(1_000.0, 1_000.0, 0.0), "id")


class Account(VersionedEntity, partition_key="{id}"):
    id: Attribute[str]
    number: Attribute[int] = sw.attribute(default=0)
    text: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


class Note(Entity, partition_key="{id}"):
    id: Attribute[str]
    number: Attribute[int] = sw.attribute(default=0)
    text: Attribute[str] = sw.attribute(default="")


class Ticket(Entity, partition_key="{id}"):
    id: Attribute[str]
    number: Attribute[int] = sw.attribute(default=0)
    text: Attribute[str] = sw.attribute(default="")
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)


def conditions(entity: Any) -> st.SearchStrategy[Any]:
    """Conditions on the two plain fields; each is false of some item that no other demand of a write refuses."""
    numbers, texts = st.integers(-3, 3), st.sampled_from(["a", "b", "probe"])
    leaves = st.one_of(
        numbers.map(lambda n: entity.number == n),
        numbers.map(lambda n: entity.number < n),
        numbers.map(lambda n: entity.number.between(n, n + 1)),
        texts.map(lambda t: entity.text != t),
        texts.map(entity.text.contains),
        st.sampled_from([entity.text.exists(), entity.text.not_exists(), entity.number.has_type("N")]),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
            st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
            inner.map(lambda one: ~one),
        ),
        max_leaves=4,
    )


@st.composite
def writes(draw: st.DrawFn) -> tuple[Any, Plan, dict[str, Any]]:
    """A verb on a stored item, with a condition; the condition, the plan, and the item that all other demands accept."""
    entity: Any = draw(st.sampled_from([Account, Note, Ticket]))
    layout = TableLayout(("pk",), None, draw(st.sampled_from(["_s", None])), draw(st.sampled_from(["_b", None])))
    scope = Scope(Environment(EndpointTraits("test")), "things", schema_of(entity).bind(layout))
    version = 3 if entity is Account else None
    stored = with_stored(entity(id="x", number=draw(st.integers(-3, 3)), text=draw(st.sampled_from(["a", "b"]))), Stored(version, "3:old", "1:old"))
    item = scope.schema.to_item(stored)
    item |= {name: {"S": text} for name, text in ((layout.stamp, "3:old"), (layout.birth, "1:old")) if name is not None}
    if version is not None:
        item["revision"] = {"N": "3"}
    condition = draw(conditions(entity))
    key: Any = entity.key_of("x")
    if entity is Account:
        key = draw(st.sampled_from([key.if_version(3), key.ignore_version()]))
    options = Options(condition=condition, in_doubt=draw(st.sampled_from([None, "resend", "raise"])))
    change = draw(st.sampled_from([entity.number.add(1), entity.text.set("z"), entity.number.set(2)]))
    target = draw(st.sampled_from([key, stored]))
    verb = draw(st.sampled_from(["put", "update", "upsert", "delete", "check"]))
    plan = {
        "put": lambda: plan_put(scope, stored, OCCASION, options),
        "update": lambda: plan_update(scope, target, [change], OCCASION, options),
        "upsert": lambda: plan_upsert(scope, key, [change], OCCASION, options),
        "delete": lambda: plan_delete(scope, target, OCCASION, options),
        "check": lambda: plan_check(scope, key, OCCASION, options),
    }[verb]()
    return condition, plan, item


def service_with(item: dict[str, Any]) -> Service:
    service = Service(MemoryStore())
    attribute = {"AttributeName": "pk"}
    service.execute(
        "CreateTable",
        {
            "TableName": "things",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{**attribute, "AttributeType": "S"}],
            "KeySchema": [{**attribute, "KeyType": "HASH"}],
        },
    )
    service.execute("PutItem", {"TableName": "things", "Item": item})
    return service


def is_made(service: Service, action: dict[str, Any]) -> bool:
    """Whether the service carries the action out; an error but a failed condition is raised."""
    try:
        service.execute("TransactWriteItems", {"TransactItems": [action]})
    except ServiceError as refused:
        if [reason.code for reason in refused.reasons] != ["ConditionalCheckFailed"]:
            raise
        return False
    return True


def check_of(condition: Any, key: dict[str, Any]) -> dict[str, Any]:
    """The condition alone, as an action that writes nothing."""
    rendering = Rendering()
    body: dict[str, Any] = {"TableName": "things", "Key": key, "ConditionExpression": rendering.condition(condition.tree)}
    body["ExpressionAttributeNames"] = rendering.names
    if rendering.values:
        body["ExpressionAttributeValues"] = rendering.values
    return {"ConditionCheck": body}


@given(writes())
def test_a_write_is_made_exactly_where_its_condition_holds(write: tuple[Any, Plan, dict[str, Any]]) -> None:
    condition, plan, item = write
    service = service_with(item)
    expected = is_made(service, check_of(condition, {"pk": item["pk"]}))
    assert is_made(service, plan.action()) is expected
