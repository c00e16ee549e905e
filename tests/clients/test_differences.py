"""Each known difference is asked about by a test; one that nobody asks about would be a silent exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.differences import DIFFERENCES

SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("[ct]*.py"))


@pytest.mark.parametrize("rule", sorted({rule for _, rule in DIFFERENCES}))
def test_a_test_asks_for_the_difference(rule: str) -> None:
    assert f'"{rule}"' in SOURCES
