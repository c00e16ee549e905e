"""Belongs here: the parameters that came before expressions, read into the trees that expressions give. Must not be here: evaluation, key schemas, storage.

Source: Developer Guide, page "Legacy DynamoDB conditional parameters". Each is read with its own checks and messages;
what comes out is evaluated as an expression is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from surewrite.core import limits
from surewrite.core.values import AttributeValue, compare
from surewrite.engine.faults import validation
from surewrite.engine.members import Member, Shapes, require_map, require_none
from surewrite.engine.operand_grammar import disjoint_tree
from surewrite.engine.syntax import (
    AddClause,
    Between,
    Call,
    Clause,
    Comparator,
    Comparison,
    Condition,
    ConditionNode,
    Conjunction,
    DeleteClause,
    Disjunction,
    DocumentPath,
    KeyClause,
    KeyConditionNode,
    KeyOperator,
    Membership,
    Negation,
    ProjectionNode,
    RemoveClause,
    SetClause,
    UpdateNode,
    ValueReference,
)
from surewrite.engine.validation import INVALID, LONG_TYPES, check_name, check_value

ATTRIBUTES_TO_GET: Final = Member("AttributesToGet", "list", least=1)
CONDITIONAL_OPERATOR: Final = Member("ConditionalOperator", "string", choices=("OR", "AND"))

_OPERATORS: Final = ("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS")
_VALUE: Final = Member("Value", "map")
_VALUES: Final = Member("AttributeValueList", "list")
_CONDITION: Final = Shapes("Condition", (_VALUES, Member("ComparisonOperator", "string", required=True, choices=_OPERATORS)))
_EXPECTED: Final = Shapes("ExpectedAttributeValue", (_VALUE, _VALUES, Member("Exists", "boolean"), Member("ComparisonOperator", "string", choices=_OPERATORS)))
_UPDATE: Final = Shapes("AttributeValueUpdate", (_VALUE, Member("Action", "string", choices=("ADD", "PUT", "DELETE"))))

_COMPARATORS: Final[Mapping[str, Comparator]] = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_KEY_OPERATORS: Final[Mapping[str, KeyOperator]] = {
    "EQ": "=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}
_COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
_TYPES: Final = {"EQ": limits.VALUE_TYPES, "NE": limits.VALUE_TYPES, "BEGINS_WITH": frozenset({"S", "B"})}
_ADDED: Final = frozenset({"N", "L"}) | limits.SET_TYPES


def require_one_style(body: Mapping[str, Any], legacy: Iterable[str], expressions: Iterable[str]) -> None:
    """Refuse a request that has parameters of both kinds."""
    old = [member for member in legacy if body.get(member) is not None]
    new = [member for member in expressions if body.get(member) is not None]
    if old and new:
        raise mixed_styles(old, new)


def mixed_styles(legacy: Sequence[str], expressions: Sequence[str]) -> Exception:
    """The error for a request that has these parameters of both kinds."""
    told = f"Non-expression parameters: {{{', '.join(legacy)}}} Expression parameters: {{{', '.join(expressions)}}}"
    return validation(f"Can not use both expression and non-expression parameters in the same request: {told}")


def read_conditions(body: Mapping[str, Any], member: Literal["Expected", "QueryFilter", "ScanFilter"]) -> ConditionNode | None:
    """The condition that ``Expected``, or a filter, stands for; None where it is absent or empty. Joined as ConditionalOperator says."""
    shapes = _EXPECTED if member == "Expected" else _CONDITION
    entries = _structures(body, member, shapes)
    operator = body.get("ConditionalOperator")
    if operator is not None and not entries:
        raise validation("ConditionalOperator cannot be used without Filter or Expected")
    if operator is not None and len(entries) == 1:
        raise validation("ConditionalOperator can only be used when Filter or Expected has two or more elements")
    if not entries:
        return None
    constants: dict[str, AttributeValue] = {}
    conditions: list[Condition] = []
    for name, entry in entries.items():
        comparison, given = _expectation(name, entry) if member == "Expected" else (entry["ComparisonOperator"], entry.get("AttributeValueList") or ())
        conditions.append(_condition(name, comparison, _references(_operands(comparison, given), constants)))
    joined = tuple(conditions)
    condition = joined[0] if len(joined) == 1 else Disjunction(joined) if operator == "OR" else Conjunction(joined)
    return ConditionNode(condition, tuple(DocumentPath((name,)) for name in entries), constants)


def read_key_conditions(body: Mapping[str, Any]) -> KeyConditionNode | None:
    """The clauses of ``KeyConditions``, or None."""
    if body.get("KeyConditions") is None:
        return None
    clauses: list[KeyClause] = []
    for name, entry in _structures(body, "KeyConditions", _CONDITION).items():
        operator: str = entry["ComparisonOperator"]
        operands = _operands(operator, entry.get("AttributeValueList") or ())
        if operator not in _KEY_OPERATORS:
            raise validation("Attempted conditional constraint is not an indexable operation")
        clauses.append(KeyClause(name, _KEY_OPERATORS[operator], operands))
    return KeyConditionNode(tuple(clauses))


def read_attribute_updates(body: Mapping[str, Any]) -> UpdateNode | None:
    """The update that ``AttributeUpdates`` stands for; None where it is absent or empty."""
    constants: dict[str, AttributeValue] = {}
    clauses: list[Clause] = []
    for name, entry in _structures(body, "AttributeUpdates", _UPDATE).items():
        clauses.append(_clause(DocumentPath((name,)), entry, constants))
    if not clauses:
        return None
    targets = tuple(clause.target for clause in clauses)
    # Names of a map are apart, and so are paths of one part.
    tree = disjoint_tree(targets)
    assert not isinstance(tree, str)
    return UpdateNode(tuple(clauses), targets, tree, targets, constants, type_mismatch="Type mismatch for attribute to update")


def read_attributes_to_get(body: Mapping[str, Any]) -> ProjectionNode | None:
    """The projection that ``AttributesToGet`` stands for, or None."""
    names: Sequence[object] | None = body.get("AttributesToGet")
    if names is None:
        return None
    paths: dict[DocumentPath, None] = {}
    for name in names:
        path = DocumentPath((_attribute_name(name),))
        if path in paths:
            raise validation(f"{INVALID}Duplicate value in attribute name: {name}")
        paths[path] = None
    tree = disjoint_tree(paths)
    assert not isinstance(tree, str)
    return ProjectionNode(tuple(paths), tree)


def _attribute_name(name: object) -> str:
    if not isinstance(name, str):
        _NAMED.check_shapes({"AttributeName": name})
    check_name(cast("str", name))
    return cast("str", name)


_NAMED: Final = Shapes("AttributesToGet", (Member("AttributeName", "string"),))


def _structures(body: Mapping[str, Any], member: str, shapes: Shapes) -> Mapping[str, Mapping[str, Any]]:
    entries: Mapping[str, Any] = body.get(member) or {}
    faults: list[str] = []
    for name, entry in entries.items():
        shapes.check_shapes(require_map(entry, f"an element of {member}"))
        faults += shapes.faults(entry, f"{member[0].lower()}{member[1:]}.{name}.member.")
    require_none(faults)
    for name in entries:
        check_name(name)
    return entries


def _expectation(name: str, entry: Mapping[str, Any]) -> tuple[str, Sequence[object]]:
    """The operator and the values of one element of ``Expected``, which has two forms."""
    operator, exists, value, listed = (entry.get(member) for member in ("ComparisonOperator", "Exists", "Value", "AttributeValueList"))
    if value is not None and listed is not None:
        raise validation(f"{INVALID}Value and AttributeValueList cannot be used together for Attribute: {name}")
    if operator is not None:
        if exists is not None:
            raise validation(f"{INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {name}")
        if value is None and listed is None and operator not in ("NULL", "NOT_NULL"):
            raise validation(f"{INVALID}Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}")
        return operator, listed if listed is not None else () if value is None else (value,)
    if listed is not None:
        raise validation(f"{INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    if exists is False:
        if value is not None:
            raise validation(f"{INVALID}Value cannot be used when Exists is false for Attribute: {name}")
        return "NULL", ()
    if value is None:
        raise validation(f"{INVALID}Value must be provided when Exists is {'null' if exists is None else 'true'} for Attribute: {name}")
    return "EQ", (value,)


def _operands(operator: str, given: Sequence[object]) -> tuple[AttributeValue, ...]:
    """The constants of one condition, checked against its operator."""
    values = tuple(check_value(value) for value in given)
    fits = bool(values) if operator == "IN" else len(values) == _COUNTS.get(operator, 1)
    if not fits:
        raise validation(f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator")
    for value in values:
        kind = next(iter(value))
        if kind not in _TYPES.get(operator, limits.ORDERED_TYPES):
            raise validation(f"{INVALID}ComparisonOperator {operator} is not valid for {kind} AttributeValue type")
    if len({next(iter(value)) for value in values}) > 1:
        raise validation(f"{INVALID}AttributeValues inside AttributeValueList must be of same type")
    if operator == "BETWEEN" and (compare(values[0], values[1]) or 0) > 0:
        raise validation("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
    return values


def _references(values: Iterable[AttributeValue], constants: dict[str, AttributeValue]) -> tuple[ValueReference, ...]:
    """Placeholders for values, which are put among the constants."""
    references: list[ValueReference] = []
    for value in values:
        reference = ValueReference(f":{len(constants)}")
        constants[reference.placeholder] = value
        references.append(reference)
    return tuple(references)


def _condition(name: str, operator: str, operands: tuple[ValueReference, ...]) -> Condition:
    path = DocumentPath((name,))
    match operator:
        case "NULL":
            return Call("attribute_not_exists", (path,))
        case "NOT_NULL":
            return Call("attribute_exists", (path,))
        case "IN":
            return Membership(path, operands)
        case "BETWEEN":
            return Between(path, operands[0], operands[1])
        case "BEGINS_WITH":
            return Call("begins_with", (path, *operands))
        case "CONTAINS":
            return Call("contains", (path, *operands))
        case "NOT_CONTAINS":
            return Conjunction((Call("attribute_exists", (path,)), Negation(Call("contains", (path, *operands)))))
        case _:
            return Comparison(_COMPARATORS[operator], path, operands[0])


def _clause(target: DocumentPath, entry: Mapping[str, Any], constants: dict[str, AttributeValue]) -> Clause:
    action = entry.get("Action") or "PUT"
    given = entry.get("Value")
    if given is None:
        if action != "DELETE":
            raise validation(f"{INVALID}Only DELETE action is allowed when no attribute value is specified")
        return RemoveClause(target)
    value = check_value(given)
    kind = next(iter(value))
    (reference,) = _references((value,), constants)
    match action:
        case "ADD":
            if kind not in _ADDED:
                raise validation(f"{INVALID}ADD action is not supported for the type {LONG_TYPES[kind]}")
            return AddClause(target, reference)
        case "DELETE":
            if kind not in limits.SET_TYPES:
                raise validation(f"{INVALID}DELETE action with value is not supported for the type {LONG_TYPES[kind]}")
            return DeleteClause(target, reference)
        case _:
            return SetClause(target, reference)
