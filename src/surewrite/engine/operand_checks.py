"""Belongs here: checks of an expression's operands that need its names and constants, in the service's order. Must not be here: parsing, evaluation.

A check is made once for a text and its names, and is run on the constants of each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from surewrite.core import limits
from surewrite.core.values import AttributeValue, compare
from surewrite.engine.operand_grammar import OperandParser
from surewrite.engine.syntax import (
    AddClause,
    Arithmetic,
    Between,
    Call,
    Clause,
    Comparison,
    DeleteClause,
    DocumentPath,
    Membership,
    Operand,
    Operation,
    ValueReference,
)
from surewrite.engine.validation import LONG_TYPES

Values = Mapping[str, AttributeValue]


class Check(Protocol):
    """One rule about the constants of a request."""

    def fault(self, values: Values) -> str | None:
        """The service's message without the name of the expression, or None where the rule holds."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong whatever the constants are; no check after it is reached."""

    message: str

    def fault(self, values: Values) -> str | None:  # noqa: ARG002 - a refusal looks at nothing
        return self.message


@dataclass(frozen=True, slots=True)
class Defined:
    """The placeholder has a constant."""

    placeholder: str

    def fault(self, values: Values) -> str | None:
        if self.placeholder in values:
            return None
        return f"An expression attribute value used in expression is not defined; attribute value: {self.placeholder}"


@dataclass(frozen=True, slots=True)
class OfType:
    """The constant has a type that the operator or function takes."""

    placeholder: str
    operator: str
    allowed: frozenset[str]

    def fault(self, values: Values) -> str | None:
        kind = next(iter(values[self.placeholder]))
        return None if kind in self.allowed else _wrong_type(self.operator, kind)


@dataclass(frozen=True, slots=True)
class ActionType:
    """The constant has a type that ADD or DELETE takes."""

    placeholder: str
    action: str
    allowed: frozenset[str]

    def fault(self, values: Values) -> str | None:
        kind = next(iter(values[self.placeholder]))
        if kind in self.allowed:
            return None
        told = f"operator: {self.action}, operand type: {LONG_TYPES.get(kind, kind)}, typeSet: ALLOWED_FOR_{self.action}_OPERAND"
        return f"Incorrect operand type for operator or function; {told}"


@dataclass(frozen=True, slots=True)
class TypeName:
    """The constant is the name of a type, as attribute_type wants it."""

    placeholder: str

    def fault(self, values: Values) -> str | None:
        kind, content = next(iter(values[self.placeholder].items()))
        if kind != "S":
            return _wrong_type("attribute_type", kind)
        if content not in limits.VALUE_TYPES:
            return f"Invalid attribute type name found; type: {content}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
        return None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The constants of BETWEEN have one type and are in order."""

    low: str
    high: str

    def fault(self, values: Values) -> str | None:
        low, high = values[self.low], values[self.high]
        order = compare(low, high)
        if order is None:
            rule = "requires same data type for lower and upper bounds"
        elif order > 0:
            rule = "requires upper bound to be greater than or equal to lower bound"
        else:
            return None
        return f"The BETWEEN operator {rule}; lower bound operand: AttributeValue: {_shown(low)}, upper bound operand: AttributeValue: {_shown(high)}"


_ANY: Final = limits.VALUE_TYPES
_ORDERED: Final = limits.ORDERED_TYPES
_TEXTUAL: Final = frozenset({"S", "B"})
_NUMERIC: Final = frozenset({"N"})
_SIZED: Final = frozenset({"S", "B", "L", "M"}) | limits.SET_TYPES
_SEARCHED: Final = frozenset({"S", "B", "L"}) | limits.SET_TYPES
_ADDED: Final = _NUMERIC | limits.SET_TYPES
_LISTS: Final = frozenset({"L"})

_OPERAND_TYPES: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "attribute_exists": (_ANY,),
    "attribute_not_exists": (_ANY,),
    "attribute_type": (_ANY, _ANY),
    "begins_with": (_TEXTUAL, _TEXTUAL),
    "contains": (_SEARCHED, _ANY),
    "size": (_SIZED,),
    "if_not_exists": (_ANY, _ANY),
    "list_append": (_LISTS, _LISTS),
}
_RESULT_TYPES: Final = {"size": "N", "list_append": "L"}
_PATH_FUNCTIONS: Final = frozenset({"attribute_exists", "attribute_not_exists", "if_not_exists"})


def condition_checks(parser: OperandParser) -> tuple[Check, ...]:
    """What a condition's constants must fulfil, condition by condition: defined, counted, distinct, of a type that fits."""
    checks: list[Check] = []
    for operation in parser.operations:
        operands = _operands(operation)
        checks.extend(_definitions(operands, parser))
        checks.extend(_counts(operation))
        checks.extend(_distinctions(_label(operation), operands))
        checks.extend(_types(operation))
    return _reachable(checks)


def update_checks(parser: OperandParser, clauses: Sequence[Clause], clash: str | None) -> tuple[Check, ...]:
    """What an update's constants must fulfil: all names, all constants, targets apart, actions' types, functions' operands."""
    checks: list[Check] = [*_definitions(parser.paths, parser)]
    checks.extend(Defined(placeholder) for placeholder in parser.used_values)
    if clash is not None:
        checks.append(Refusal(clash))
    for clause in clauses:
        match clause:
            case AddClause(_, value):
                checks.append(ActionType(value.placeholder, "ADD", _ADDED))
            case DeleteClause(_, value):
                checks.append(ActionType(value.placeholder, "DELETE", limits.SET_TYPES))
            case _:
                pass
    for operation in parser.operations:
        checks.extend(_counts(operation))
        checks.extend(_types(operation))
    return _reachable(checks)


def projection_checks(parser: OperandParser, clash: str | None) -> tuple[Check, ...]:
    """What a projection must fulfil: all names, paths apart."""
    return _reachable([*_definitions(parser.paths, parser), *([] if clash is None else [Refusal(clash)])])


def _reachable(checks: Sequence[Check]) -> tuple[Check, ...]:
    for number, check in enumerate(checks):
        if isinstance(check, Refusal):
            return tuple(checks[: number + 1])
    return tuple(checks)


def _definitions(operands: Iterable[Operand], parser: OperandParser) -> Iterator[Check]:
    for operand in operands:
        if isinstance(operand, ValueReference):
            yield Defined(operand.placeholder)
        elif isinstance(operand, DocumentPath) and operand in parser.undefined:
            yield Refusal(f"An expression attribute name used in the document path is not defined; attribute name: {parser.undefined[operand]}")


def _counts(operation: Operation) -> Iterator[Check]:
    match operation:
        case Call(function, arguments) if len(arguments) != len(_OPERAND_TYPES[function]):
            told = f"operator or function: {function}, number of operands: {len(arguments)}"
            yield Refusal(f"Incorrect number of operands for operator or function; {told}")
        case Membership(_, choices) if len(choices) > limits.IN_OPERANDS:
            yield Refusal(f"The IN operator is provided with too many operands; number of operands: {len(choices)}")
        case _:
            return


def _distinctions(label: str, operands: Sequence[Operand]) -> Iterator[Check]:
    first = operands[0]
    if isinstance(first, DocumentPath) and first in operands[1:]:
        yield Refusal(
            f"The first operand must be distinct from the remaining operands for this operator or function; operator: {label}, first operand: {first}"
        )


def _types(operation: Operation) -> Iterator[Check]:
    label = _label(operation)
    match operation:
        case Call(function, arguments):
            if function in _PATH_FUNCTIONS and not isinstance(arguments[0], DocumentPath):
                yield Refusal(f"Operator or function requires a document path; operator or function: {function}")
            for operand, allowed in zip(arguments, _OPERAND_TYPES[function], strict=False):
                yield from _type(label, operand, allowed)
            if function == "attribute_type" and len(arguments) > 1:
                yield _type_name(arguments[1])
        case Comparison(operator, left, right):
            if operator not in {"=", "<>"}:
                yield from _type(label, left, _ORDERED)
                yield from _type(label, right, _ORDERED)
        case Between(operand, low, high):
            for part in (operand, low, high):
                yield from _type(label, part, _ORDERED)
            if isinstance(low, ValueReference) and isinstance(high, ValueReference):
                yield Bounds(low.placeholder, high.placeholder)
        case Arithmetic(_, left, right):
            yield from _type(label, left, _NUMERIC)
            yield from _type(label, right, _NUMERIC)
        case Membership():
            return
        case _:
            assert_never(operation)


def _type(label: str, operand: Operand, allowed: frozenset[str]) -> Iterator[Check]:
    if isinstance(operand, ValueReference):
        if allowed is not _ANY:
            yield OfType(operand.placeholder, label, allowed)
    elif isinstance(operand, Call):
        kind = _RESULT_TYPES.get(operand.function)
        if kind is not None and kind not in allowed:
            yield Refusal(_wrong_type(label, kind))


def _type_name(operand: Operand) -> Check:
    if isinstance(operand, ValueReference):
        return TypeName(operand.placeholder)
    return Refusal(_wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"))


def _operands(operation: Operation) -> tuple[Operand, ...]:
    match operation:
        case Call(_, arguments):
            return arguments
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return left, right
        case Between(operand, low, high):
            return operand, low, high
        case Membership(operand, choices):
            return operand, *choices
        case _:
            assert_never(operation)


def _label(operation: Operation) -> str:
    match operation:
        case Call(function, _):
            return function
        case Comparison(operator, _, _) | Arithmetic(operator, _, _):
            return operator
        case Between():
            return "BETWEEN"
        case Membership():
            return "IN"
        case _:
            assert_never(operation)


def _wrong_type(operator: str, kind: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"


def _shown(value: AttributeValue) -> str:
    kind, content = next(iter(value.items()))
    return f"{{{kind}:{content}}}"
