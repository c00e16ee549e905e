"""Each schedule is played by both clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.schedules.world import BOTH_CLIENTS, World

MakeWorld = Callable[..., World]


@pytest.fixture(params=BOTH_CLIENTS)
def make_world(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    """Makes worlds with settings of the test's own."""
    made: list[World] = []

    def make(**settings: Any) -> World:
        made.append(World(request.param, **settings))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world()
