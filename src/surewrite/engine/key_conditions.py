"""Belongs here: key conditions: clauses from the tree, their binding to a key schema, the range of sort keys. Must not be here: index storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from surewrite.core.values import AttributeValue, compare, key_bytes
from surewrite.engine.faults import validation
from surewrite.engine.key_validation import check_key_value
from surewrite.engine.schemas import KeyAttribute, KeySchema
from surewrite.engine.syntax import (
    Between,
    Call,
    Comparator,
    Comparison,
    DocumentPath,
    KeyClause,
    KeyConditionNode,
    KeyOperator,
    Membership,
    Operand,
    Operation,
    ValueReference,
)
from surewrite.engine.validation import INVALID

_FLIPPED: Final[Mapping[Comparator, Comparator]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BAD_CONDITION: Final = "Invalid condition in KeyConditionExpression: "


@dataclass(frozen=True, slots=True)
class SortRange:
    """The sort keys that a query reads: from ``low`` to ``high`` (None is unbounded), or those that begin with ``prefix``."""

    low: AttributeValue | None = None
    high: AttributeValue | None = None
    low_included: bool = True
    high_included: bool = True
    prefix: AttributeValue | None = None

    def admits(self, value: AttributeValue) -> bool:
        """Whether a sort key of the schema's type lies in the range."""
        if self.prefix is not None:
            return key_bytes(value).startswith(key_bytes(self.prefix))
        if self.low is not None:
            order = compare(value, self.low)
            if order is None or order < 0 or (order == 0 and not self.low_included):
                return False
        if self.high is not None:
            order = compare(value, self.high)
            if order is None or order > 0 or (order == 0 and not self.high_included):
                return False
        return True

    def low_bytes(self) -> bytes | None:
        """The lower bound by ``values.key_bytes``; ``low_included`` tells whether it belongs to the range."""
        bound = self.low if self.prefix is None else self.prefix
        return None if bound is None else key_bytes(bound)

    def high_bytes(self) -> bytes | None:
        """The upper bound by ``values.key_bytes``; ``high_included`` tells whether it belongs to the range."""
        if self.prefix is None:
            return None if self.high is None else key_bytes(self.high)
        # What begins with a prefix comes before the prefix with its last byte raised; bytes that cannot be raised fall away.
        raised = key_bytes(self.prefix).rstrip(b"\xff")
        return raised[:-1] + bytes([raised[-1] + 1]) if raised else None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """What a query reads: one partition, and which of its sort keys (None is all).

    In an index with keys of several attributes the partition key goes on with ``more_hashes``, and ``leading`` are what
    the sort key begins with, before the attribute that ``sort`` is about.
    """

    hash: AttributeValue
    sort: SortRange | None
    more_hashes: tuple[AttributeValue, ...] = ()
    leading: tuple[AttributeValue, ...] = ()


@dataclass(frozen=True, slots=True)
class ClauseTemplate:
    """A key clause with its constants still as placeholders."""

    name: str
    operator: KeyOperator
    placeholders: tuple[str, ...]

    def bind(self, values: Mapping[str, AttributeValue]) -> KeyClause:
        return KeyClause(self.name, self.operator, tuple(values[placeholder] for placeholder in self.placeholders))


def clause_templates(operations: Sequence[Operation], logical: Sequence[str]) -> tuple[ClauseTemplate, ...] | str:
    """The clauses of a key condition, or the service's message where it holds something else; ``logical`` are its words OR and NOT."""
    if logical:
        return f"Invalid operator used in KeyConditionExpression: {logical[0]}"
    found: list[ClauseTemplate] = []
    for operation in operations:
        template = _template(operation)
        if isinstance(template, str):
            return template
        found.append(template)
    if len({template.name for template in found}) < len(found):
        return "KeyConditionExpressions must only contain one condition per key"
    return tuple(found)


def _template(operation: Operation) -> ClauseTemplate | str:
    match operation:
        case Comparison(operator, left, right) if operator != "<>":
            if isinstance(left, ValueReference):
                return _clause(cast("KeyOperator", _FLIPPED[operator]), (right, left), operator)
            return _clause(operator, (left, right), operator)
        case Between(operand, low, high):
            return _clause("BETWEEN", (operand, low, high), "BETWEEN")
        case Call("begins_with", arguments):
            return _clause("begins_with", arguments, "begins_with")
        case Call(function, _):
            return f"Invalid operator used in KeyConditionExpression: {function}"
        case Membership():
            return "Invalid operator used in KeyConditionExpression: IN"
        case _:
            return f"Invalid operator used in KeyConditionExpression: {operation.operator}"


def _clause(operator: KeyOperator, operands: Sequence[Operand], written: str) -> ClauseTemplate | str:
    names = [operand for operand in operands if isinstance(operand, DocumentPath)]
    if not names:
        return f"{_BAD_CONDITION}No key attribute specified"
    if len(names) > 1:
        return f"{_BAD_CONDITION}Multiple attribute names used in one condition"
    name = operands[0]
    if not isinstance(name, DocumentPath):
        return f"{_BAD_CONDITION}{written} operator must have the key attribute as its first operand"
    attribute, *nested = name.parts
    if nested:
        return "KeyConditionExpressions cannot have conditions on nested attributes"
    placeholders = [operand.placeholder for operand in operands if isinstance(operand, ValueReference)]
    if len(placeholders) < len(operands) - 1:
        return "KeyConditionExpressions cannot contain nested operations"
    return ClauseTemplate(str(attribute), operator, tuple(placeholders))


def bind_key_condition(node: KeyConditionNode, schema: KeySchema) -> KeyRange:
    """The range of ``schema`` that a key condition asks for; raises ValidationException where it does not fit the schema."""
    count, most = len(node.clauses), len(schema.attributes)
    if count > most:
        raise validation(f"The number of query conditions ({count}) exceeds the number of key attributes defined in the schema ({most})")
    clauses = {clause.name: clause for clause in node.clauses}
    hashes: list[KeyClause] = []
    for attribute in schema.partitions:
        clause = clauses.pop(attribute.name, None)
        if clause is None:
            raise validation(f"Query condition missed key schema element: {attribute.name}")
        hashes.append(clause)
    # The attributes of a sort key are used from the first one on, without gaps.
    sorts: list[KeyClause] = []
    for attribute in schema.sorts if clauses else ():
        if attribute.name not in clauses:
            raise validation(f"Query condition missed key schema element: {attribute.name}")
        sorts.append(clauses.pop(attribute.name))
        if not clauses:
            break
    for clause in hashes + sorts[:-1]:
        if clause.operator != "=":
            raise validation("Query key condition not supported")
    for clause, attribute in zip(hashes, schema.partitions, strict=True):
        _check_values(clause, attribute, is_partition=True)
    for clause, attribute in zip(sorts, schema.sorts, strict=False):
        _check_values(clause, attribute, is_partition=False)
    more = tuple([clause.values[0] for clause in hashes[1:]])
    if not sorts:
        return KeyRange(hashes[0].values[0], None, more)
    return KeyRange(hashes[0].values[0], _sort_range(sorts[-1]), more, tuple([clause.values[0] for clause in sorts[:-1]]))


def _check_values(clause: KeyClause, attribute: KeyAttribute, *, is_partition: bool) -> None:
    for value in clause.values:
        if attribute.type not in value:
            raise validation(f"{INVALID}Condition parameter type does not match schema type")
    for value in clause.values:
        check_key_value(value, attribute, is_partition=is_partition)


def _sort_range(clause: KeyClause) -> SortRange:
    value = clause.values[0]
    match clause.operator:
        case "=":
            return SortRange(value, value)
        case "<":
            return SortRange(high=value, high_included=False)
        case "<=":
            return SortRange(high=value)
        case ">":
            return SortRange(low=value, low_included=False)
        case ">=":
            return SortRange(low=value)
        case "BETWEEN":
            return SortRange(value, clause.values[1])
        case "begins_with":
            return SortRange(prefix=value, high_included=False)
