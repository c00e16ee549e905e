"""Looking at locks from outside. Belongs here: what tests of several drivers ask of a lock. Must not be here: drivers."""

from __future__ import annotations

import threading
from typing import Any

SECONDS_MAX = 5.0
"""Nothing is held that long; a lock that is stays held for ever."""


def is_free_for_others(lock: Any) -> bool:
    """Whether another thread than this one gets the lock."""
    got: list[bool] = []

    def take() -> None:
        got.append(lock.acquire(timeout=SECONDS_MAX))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]
