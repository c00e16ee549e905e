"""Belongs here: tables of simulated worlds, made once and given to each world ready. Must not be here: items, how tables are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surewrite.core.answers import Success
from surewrite.core.effects import Moment, ReadClock, Send
from surewrite.core.entities import EntityBase, TableLayout, schema_of
from surewrite.core.environment import Environment
from surewrite.core.tables import create_table
from surewrite.core.traits import EndpointTraits
from surewrite.engine.service import Service
from surewrite.engine.stores.memory import MemoryStore

_made: dict[tuple[Any, ...], str] = {}


def define_table(service: Service, name: str, entities: Sequence[type[EntityBase]], layout: TableLayout, *, stream: bool) -> None:
    """Put a table's definition into a service's store. The first of its kind is made by the library itself; the text is kept."""
    kind = (name, tuple(entities), layout, stream)
    text = _made.get(kind)
    if text is None:
        text = _made[kind] = _definition(name, entities, layout, stream=stream)
    with service.store.session(write=True) as session:
        session.put_definition(name, text)


def _definition(name: str, entities: Sequence[type[EntityBase]], layout: TableLayout, *, stream: bool) -> str:
    maker = Service(MemoryStore(), clock=lambda: 0.0)
    environment = Environment(EndpointTraits("memory"))
    steps = create_table(environment, name, layout, [schema_of(entity).bind(layout) for entity in entities], exist_ok=False)
    moment = Moment(0.0, 0.0, 0.0)
    effect = next(steps)
    while True:
        match effect:
            case ReadClock():
                answer: object = moment
            case Send(request=request):
                body = dict(request.body)
                if stream and request.operation == "CreateTable":
                    body["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
                answer = Success(maker.execute(request.operation, body))
            case _:
                raise AssertionError(f"making a table in memory waits for nothing, and it asked for {effect!r}")
        try:
            effect = steps.send(answer)
        except StopIteration:
            break
    with maker.store.session(write=False) as session:
        text = session.definition(name)
    assert text is not None
    return text
