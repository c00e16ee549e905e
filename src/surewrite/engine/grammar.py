"""Belongs here: text of expressions to syntax trees, with the service's limits and messages. Must not be here: evaluation, the client's expression classes.

What a text and its names alone decide is kept for the next request with the same ones; the constants of each request
are then checked against it, so that a repeated expression costs no parse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from surewrite.core.values import AttributeValue
from surewrite.engine.condition_grammar import ConditionKind, ConditionParser
from surewrite.engine.key_conditions import ClauseTemplate, KeyRange, SortRange, bind_key_condition, clause_templates
from surewrite.engine.lexer import invalid
from surewrite.engine.operand_checks import Check, Refusal, condition_checks, projection_checks, update_checks
from surewrite.engine.operand_grammar import OperandParser, disjoint_tree
from surewrite.engine.substitutions import Substitutions, require_expressions
from surewrite.engine.syntax import (
    Clause,
    Condition,
    ConditionNode,
    DocumentPath,
    ExpressionKind,
    KeyConditionNode,
    PathTree,
    ProjectionNode,
    UpdateNode,
)
from surewrite.engine.update_grammar import ProjectionParser, UpdateParser

__all__ = [
    "KeyRange",
    "SortRange",
    "Substitutions",
    "bind_key_condition",
    "parse_condition",
    "parse_key_condition",
    "parse_projection",
    "parse_update",
    "require_expressions",
]

# One entry is a few kilobytes; a program has far fewer expressions than this.
_KEPT_EXPRESSIONS: Final = 512
_NO_PATHS: Final = PathTree({}, {})

_Names = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What was learned from a text and its names: placeholders it uses, paths it reads, checks of its constants."""

    kind: ExpressionKind
    names: tuple[str, ...]
    values: tuple[str, ...]
    paths: tuple[DocumentPath, ...]
    checks: tuple[Check, ...]

    def apply(self, substitutions: Substitutions) -> Mapping[str, AttributeValue]:
        """The request's constants, checked, with use noted."""
        values = substitutions.values
        for check in self.checks:
            fault = check.fault(values)
            if fault is not None:
                raise invalid(self.kind, fault)
        substitutions.use(self.names, self.values)
        return values


def parse_condition(text: str, kind: Literal["ConditionExpression", "FilterExpression"], substitutions: Substitutions) -> ConditionNode:
    """The tree of a condition or filter; raises ValidationException with the service's message."""
    known, condition = _condition(text, kind, substitutions.names_key)
    return ConditionNode(condition, known.paths, known.apply(substitutions))


def parse_update(text: str, substitutions: Substitutions) -> UpdateNode:
    """The tree of an update; raises ValidationException with the service's message."""
    known, clauses, targets, tree = _update(text, substitutions.names_key)
    return UpdateNode(clauses, targets, tree, known.paths, known.apply(substitutions))


def parse_projection(text: str, substitutions: Substitutions) -> ProjectionNode:
    """The paths of a projection; raises ValidationException with the service's message."""
    known, node = _projection(text, substitutions.names_key)
    known.apply(substitutions)
    return node


def parse_key_condition(text: str, substitutions: Substitutions) -> KeyConditionNode:
    """The clauses of a key condition; raises ValidationException with the service's message. ``bind_key_condition`` fits them to a key schema."""
    known, clauses = _key_condition(text, substitutions.names_key)
    values = known.apply(substitutions)
    return KeyConditionNode(tuple(clause.bind(values) for clause in clauses))


def _known(kind: ExpressionKind, parser: OperandParser, checks: tuple[Check, ...]) -> _Known:
    return _Known(kind, tuple(parser.used_names), tuple(parser.used_values), tuple(dict.fromkeys(parser.paths)), checks)


@lru_cache(maxsize=_KEPT_EXPRESSIONS)
def _condition(text: str, kind: ConditionKind, names: _Names) -> tuple[_Known, Condition]:
    parser = ConditionParser(text, kind, dict(names))
    condition = parser.parse()
    return _known(kind, parser, condition_checks(parser)), condition


@lru_cache(maxsize=_KEPT_EXPRESSIONS)
def _update(text: str, names: _Names) -> tuple[_Known, tuple[Clause, ...], tuple[DocumentPath, ...], PathTree]:
    parser = UpdateParser(text, dict(names))
    clauses = parser.parse()
    targets = tuple(clause.target for clause in clauses)
    tree, clash = _apart(targets)
    return _known("UpdateExpression", parser, update_checks(parser, clauses, clash)), clauses, targets, tree


@lru_cache(maxsize=_KEPT_EXPRESSIONS)
def _projection(text: str, names: _Names) -> tuple[_Known, ProjectionNode]:
    parser = ProjectionParser(text, dict(names))
    paths = parser.parse()
    tree, clash = _apart(paths)
    return _known("ProjectionExpression", parser, projection_checks(parser, clash)), ProjectionNode(paths, tree)


@lru_cache(maxsize=_KEPT_EXPRESSIONS)
def _key_condition(text: str, names: _Names) -> tuple[_Known, tuple[ClauseTemplate, ...]]:
    parser = ConditionParser(text, "KeyConditionExpression", dict(names))
    parser.parse()
    clauses = clause_templates(parser.operations, parser.logical)
    checks = condition_checks(parser)
    if isinstance(clauses, str):
        return _known("KeyConditionExpression", parser, (*checks, Refusal(clauses))), ()
    return _known("KeyConditionExpression", parser, checks), clauses


def _apart(paths: tuple[DocumentPath, ...]) -> tuple[PathTree, str | None]:
    tree = disjoint_tree(paths)
    return (_NO_PATHS, tree) if isinstance(tree, str) else (tree, None)
