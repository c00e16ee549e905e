"""Belongs here: a progress bar on standard error. Must not be here: results, work."""

from __future__ import annotations

import os
import sys
from typing import TextIO

WIDTH = 30
COLUMNS_UNTOLD = 80
"""The width of a terminal that does not tell it."""


class Progress:
    """A bar that redraws itself in place on a terminal, and says nothing elsewhere, so that logs stay readable."""

    def __init__(self, total: int, *, stream: TextIO | None = None) -> None:
        self._total = max(1, total)
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._line = ""

    def show(self, done: int, label: str) -> None:
        """Draw how much is done, and what is being done now."""
        if not self._shown:
            return
        share = min(1.0, done / self._total)
        filled = round(share * WIDTH)
        line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}  {label}"[: self._columns() - 1]
        if line != self._line:
            self._stream.write("\r" + line.ljust(len(self._line)))
            self._stream.flush()
            self._line = line

    def clear(self) -> None:
        """Remove the bar, so that what is printed next starts at the margin."""
        if self._line:
            self._stream.write("\r" + " " * len(self._line) + "\r")
            self._stream.flush()
            self._line = ""

    def _columns(self) -> int:
        """Asked for each time, since a window may be made narrower. A line that wraps could not be drawn over."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or COLUMNS_UNTOLD
        except (OSError, ValueError):
            return COLUMNS_UNTOLD
