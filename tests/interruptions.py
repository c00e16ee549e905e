"""Interrupts at chosen steps of the code of some modules, for tests that try each of them. See tests/README.md.

The interpreter looks for signals when a function begins and when a call returns; each of these places is a step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType
from typing import Any

STEPS_MAX = 2000


class Interrupted(BaseException):
    """What the handler of a signal raises."""


def interrupted_at(step: int, work: Callable[[], object], files: Collection[Path]) -> bool:
    """Run ``work`` and interrupt it at that step within the files, counted from one; false if it has fewer steps."""
    left = step
    names = {str(file) for file in files}

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename in names:
            left -= 1
            if left == 0:
                raise Interrupted

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    except Interrupted:
        return True
    finally:
        sys.setprofile(before)
    return False
