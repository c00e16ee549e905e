"""Belongs here: seeing which clocks, ids and chance of the real machine a piece of code reads, and where. Must not be here: preventing it, worlds.

Nothing is replaced: the interpreter tells of each call of a built-in function while it is looked at. That is slow, so only a
run that has failed is looked at.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import sysconfig
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

R = TypeVar("R")

_BUILT_IN: Final = frozenset(
    {time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns, time.sleep, os.urandom, os.getpid}
)
_CLOCKS_OF_DATES: Final = frozenset({"now", "utcnow", "today"})
_SHARED_CHANCE: Final = vars(random)["_inst"]
_STANDARD_LIBRARY: Final = sysconfig.get_paths()["stdlib"] + os.sep
_PACKAGE: Final = str(Path(__file__).resolve().parent.parent) + os.sep
_NO_MATTER: Final = frozenset({"logging", "warnings", "traceback"})
"""What these read is in their lines, not in what is written."""

FRAMES_MAX: Final = 200
READS_MAX: Final = 20


def watch_real_reads(function: Callable[[], R]) -> tuple[R, tuple[str, ...]]:
    """The result of a function, and what it read of the real machine, such as ``datetime.now (shop.py:12)``, each once.

    Where a profiler runs already nothing is looked at, since there can be one only.
    """
    if sys.getprofile() is not None:
        return function(), ()
    found: dict[str, None] = {}

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and len(found) < READS_MAX:
            name = _name_of_read(called)
            text = _told(frame, name) if name is not None else None
            if text is not None:
                found[text] = None

    # A collection in the middle would run what others hang on collections, such as a test tool that takes its time.
    collects = gc.isenabled()
    gc.disable()
    sys.setprofile(look)
    try:
        result = function()
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return result, tuple(found)


def _name_of_read(called: Any) -> str | None:
    owner = getattr(called, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__name__}.{called.__name__}" if issubclass(owner, date) and called.__name__ in _CLOCKS_OF_DATES else None
    if owner is _SHARED_CHANCE:
        return f"random.{called.__name__}"
    return f"{called.__module__.replace('posix', 'os')}.{called.__name__}" if called in _BUILT_IN else None


def _told(frame: FrameType, name: str) -> str | None:
    """The read as its author wrote it: ``uuid.uuid4`` and not what that calls in turn, with the place in code that is no library's."""
    walked: FrameType | None = frame
    in_a_row = True
    for _ in range(FRAMES_MAX):
        if walked is None:
            return name
        path, module = walked.f_code.co_filename, str(walked.f_globals.get("__name__", ""))
        if path.startswith((_STANDARD_LIBRARY, "<frozen")) and "site-packages" not in path:
            if module.partition(".")[0] in _NO_MATTER:
                return None
            name = f"{module}.{walked.f_code.co_name}" if in_a_row else name
        elif path.startswith(_PACKAGE):
            in_a_row = False
        else:
            return f"{name} ({Path(path).name}:{walked.f_lineno})"
        walked = walked.f_back
    return name
