"""The grammar takes any text: it gives a tree that can be evaluated, or the service's error, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surewrite.engine.evaluator import apply_update, holds, project
from surewrite.engine.faults import ServiceError
from surewrite.engine.grammar import Substitutions, parse_condition, parse_key_condition, parse_projection, parse_update

TOKENS = (
    *("a", "b.c", "a[0]", "b[1].c", "#n", "#m", ":v", ":s", ":l", ":x", "status", "_", "1", "!", "é", "\x00"),
    *("(", ")", ",", ".", "[", "]", "=", "<>", "<", "<=", ">", ">=", "+", "-", ":", "#"),
    *("AND", "or", "NOT", "BETWEEN", "in", "SET", "remove", "ADD", "DELETE"),
    *("size(", "attribute_exists(", "attribute_type(", "contains(", "begins_with(", "if_not_exists(", "list_append(", "f("),
    *("a = :v", "SET a = :v", "attribute_exists(a)", "REMOVE b[0]", "ADD a :v", "b.c"),
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join), st.lists(st.sampled_from(TOKENS), max_size=6).map("".join), st.text(max_size=20)
)
ITEMS = (None, {}, {"a": {"N": "1"}, "b": {"M": {"c": {"L": [{"S": "x"}]}}}}, {"a": {"L": [{"SS": ["p", "q"]}]}, "b": {"L": [{"N": "1"}]}})


def _substitutions() -> Substitutions:
    return Substitutions({"#n": "a", "#m": "b.c"}, {":v": {"N": "1"}, ":s": {"SS": ["p"]}, ":l": {"L": []}})


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except ServiceError as refused:
        return refused


@given(TEXTS)
def test_a_condition_is_evaluated_or_refused(text):
    for item in ITEMS:
        outcome = _outcome(lambda item=item: holds(parse_condition(text, "ConditionExpression", _substitutions()), item))
        if isinstance(outcome, ServiceError):
            assert outcome.code == "ValidationException"
            assert outcome.message.startswith("Invalid ConditionExpression: ")
        else:
            assert isinstance(outcome, bool)


@given(TEXTS)
def test_an_update_is_applied_or_refused_and_leaves_its_inputs_alone(text):
    for item in ITEMS:
        before = repr(item)
        outcome = _outcome(lambda item=item: apply_update(parse_update(text, _substitutions()), item, {"k": {"S": "x"}}))
        if isinstance(outcome, ServiceError):
            assert outcome.code == "ValidationException"
        else:
            assert isinstance(outcome.updated_old(), dict)
            assert isinstance(outcome.updated_new(), dict)
        assert repr(item) == before


@given(TEXTS)
def test_a_projection_is_applied_or_refused(text):
    outcome = _outcome(lambda: project(parse_projection(text, _substitutions()), ITEMS[2] or {}))
    assert outcome.code == "ValidationException" if isinstance(outcome, ServiceError) else isinstance(outcome, dict)


@given(TEXTS)
def test_a_key_condition_is_parsed_or_refused(text):
    outcome = _outcome(lambda: parse_key_condition(text, _substitutions()))
    assert outcome.code == "ValidationException" if isinstance(outcome, ServiceError) else len(outcome.clauses) > 0
