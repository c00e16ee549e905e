"""The bar stays on its line, however narrow the terminal is."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest

from surewrite.cli.progress import COLUMNS_UNTOLD, Progress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are not for this system")
LABEL = "registration: as people write it, " * 4


def drawn(columns: int) -> list[str]:
    """What a terminal of that width is sent for two lines and their removal."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with os.fdopen(theirs, "w", encoding="ascii") as stream:
        bar = Progress(10, stream=stream)
        bar.show(3, LABEL)
        bar.show(4, "short")
        bar.clear()
    pieces: list[bytes] = []
    # The end of what was written to a terminal is an error to whoever reads it.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            pieces.append(piece)
    os.close(ours)
    return b"".join(pieces).decode().split("\r")[1:]


@pytest.mark.parametrize(("columns", "most"), [(20, 19), (60, 59), (0, COLUMNS_UNTOLD - 1)])
def test_no_line_is_wider_than_the_terminal(columns: int, most: int) -> None:
    lines = drawn(columns)
    assert max(map(len, lines)) == most
    assert lines[-2:] == [" " * len(lines[-2]), ""]


def test_a_stream_that_is_no_terminal_is_sent_nothing() -> None:
    stream = io.StringIO()
    bar = Progress(10, stream=stream)
    bar.show(3, LABEL)
    bar.clear()
    assert stream.getvalue() == ""
