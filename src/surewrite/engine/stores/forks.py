"""Belongs here: how open stores are taken through a fork of their process. Must not be here: what a store does about one."""

from __future__ import annotations

import os
from threading import get_ident
from typing import Final, Protocol
from weakref import WeakSet


class ForkedStore(Protocol):
    """A store that must be at rest while its process is copied."""

    def before_fork(self) -> None: ...

    def after_fork(self) -> None: ...


# A store that no one can use any more drops out by itself; a session holds its store.
_open: Final[WeakSet[ForkedStore]] = WeakSet()
# By thread, since two may fork at the same time: the second waits for the stores that the first has, and gives back its own only.
_forking: Final[dict[int, list[ForkedStore]]] = {}


def rest_over_forks(store: ForkedStore) -> None:
    """Call ``store.before_fork()`` before each fork from now on, and ``store.after_fork()`` after it, in the parent and in the child."""
    _open.add(store)


def _before_fork() -> None:
    resting = _forking.setdefault(get_ident(), [])
    for store in list(_open):
        store.before_fork()
        resting.append(store)


def _after_fork() -> None:
    for store in _forking.pop(get_ident(), []):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
