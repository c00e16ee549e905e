"""Belongs here: syntax trees of expressions and what is known of them from their text. Must not be here: parsing, evaluation, the client's expression classes.

Names are resolved in a tree; constants are references by placeholder, so that one tree serves every request with the
same text and names, whatever its constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from surewrite.core.values import AttributeValue

WRONG_OPERAND_TYPE: Final = "An operand in the update expression has an incorrect data type"

ExpressionKind = Literal["ConditionExpression", "FilterExpression", "KeyConditionExpression", "ProjectionExpression", "UpdateExpression"]
Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
KeyOperator = Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]


@dataclass(frozen=True, slots=True)
class DocumentPath:
    """An attribute name, then map keys (text) and list indexes (int)."""

    parts: tuple[str | int, ...]

    def __str__(self) -> str:
        """The path as the service's messages write it: ``[a, b, [1]]``."""
        return f"[{', '.join(f'[{part}]' if isinstance(part, int) else part for part in self.parts)}]"


@dataclass(frozen=True, slots=True)
class ValueReference:
    """A constant by its placeholder, such as ``:v``."""

    placeholder: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments: an operand or a whole condition, by its name."""

    function: str
    arguments: tuple[Operand, ...]


Operand = DocumentPath | ValueReference | Call


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class Membership:
    """``operand IN (choices)``."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    condition: Condition


@dataclass(frozen=True, slots=True)
class Conjunction:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    conditions: tuple[Condition, ...]


Condition = Comparison | Between | Membership | Call | Negation | Conjunction | Disjunction


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: Literal["+", "-"]
    left: Operand
    right: Operand


Operation = Call | Comparison | Between | Membership | Arithmetic
"""What has operands."""


@dataclass(frozen=True, slots=True)
class SetClause:
    target: DocumentPath
    value: Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class RemoveClause:
    target: DocumentPath


@dataclass(frozen=True, slots=True)
class AddClause:
    target: DocumentPath
    value: ValueReference


@dataclass(frozen=True, slots=True)
class DeleteClause:
    target: DocumentPath
    value: ValueReference


Clause = SetClause | RemoveClause | AddClause | DeleteClause


@dataclass(frozen=True, slots=True)
class PathTree:
    """Disjoint paths as a tree: at each part either a further tree, or the number of the path that ends there.

    The parts of one tree are all map keys or all list indexes; one of the two mappings is empty. Indexes ascend.
    """

    members: Mapping[str, PathTree | int]
    elements: Mapping[int, PathTree | int]


@dataclass(frozen=True, slots=True)
class ConditionNode:
    """A condition or filter together with the constants of its request. ``paths`` are all paths that it reads."""

    condition: Condition
    paths: tuple[DocumentPath, ...]
    values: Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class UpdateNode:
    """An update together with the constants of its request.

    ``targets`` are the paths that it writes, one a clause; ``paths`` are all paths that it reads or writes.
    ``type_mismatch`` is the message where an addition or removal meets an attribute of another type.
    """

    clauses: tuple[Clause, ...]
    targets: tuple[DocumentPath, ...]
    tree: PathTree
    paths: tuple[DocumentPath, ...]
    values: Mapping[str, AttributeValue]
    type_mismatch: str = WRONG_OPERAND_TYPE


@dataclass(frozen=True, slots=True)
class ProjectionNode:
    """The paths of a projection."""

    paths: tuple[DocumentPath, ...]
    tree: PathTree


@dataclass(frozen=True, slots=True)
class KeyClause:
    """One condition on one attribute of a key; ``values`` holds its constants, two for BETWEEN."""

    name: str
    operator: KeyOperator
    values: tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class KeyConditionNode:
    """The clauses of a key condition as written, not yet bound to a key schema."""

    clauses: tuple[KeyClause, ...]
