"""Recipes are tested over every place of the client suite, and in the world of the schedules.

Belongs here: the fixtures of both for this folder. Must not be here: a recipe's own fixtures.
"""

from __future__ import annotations

from tests.clients.conftest import (
    connect,
    db,
    kept_tables,
    lossy,
    make_table,
    overtake,
    place,
    pytest_collection_modifyitems,
    pytest_generate_tests,
    pytest_pyfunc_call,
    running,
    shop,
    shop_name,
    store,
    stored,
    together,
)
from tests.schedules.conftest import make_world, world

__all__ = [
    "connect",
    "db",
    "kept_tables",
    "lossy",
    "make_table",
    "make_world",
    "overtake",
    "place",
    "pytest_collection_modifyitems",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "running",
    "shop",
    "shop_name",
    "store",
    "stored",
    "together",
    "world",
]
