"""The page of the decision table says what the table says."""

from __future__ import annotations

import pytest

import decision_table
from surewrite.core.decisions import TABLES, AnswerClass, Decision, Guard


def test_the_page_is_current() -> None:
    assert decision_table.PAGE.read_text(encoding="utf-8") == decision_table.page(), "run python tools/decision_table.py"


def test_the_common_rows_and_the_differences_give_back_the_whole_table() -> None:
    lines = decision_table.page().splitlines()
    common = decision_table.common_rows()
    for guard in Guard:
        for answer in AnswerClass:
            without, in_doubt = (decision.name.replace("_", " ").lower() for decision in TABLES[guard][answer])
            own = f"| {guard.name.replace('_', ' ').lower()} | {answer.value} | {without} | {in_doubt} |"
            assert (own in lines) != (TABLES[guard][answer] == common[answer]), (guard, answer)


def test_a_changed_rule_changes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    before = decision_table.page()
    monkeypatch.setitem(TABLES, Guard.ORDER, TABLES[Guard.ORDER] | {AnswerClass.NEWER: (Decision.REFUSED, Decision.REFUSED)})
    assert decision_table.page() != before
