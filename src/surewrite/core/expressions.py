"""Belongs here: condition and update trees and their rendering with placeholders. Must not be here: parsing text, evaluating against a stored item.

The trees are untyped; the typed paths that users write with are in ``paths``. Every constant is already a typed
attribute value, so a value that cannot be stored is refused where the expression is written, not where it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, assert_never

from surewrite.core.frozen import quickly_made
from surewrite.core.values import AttributeValue

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
Sign = Literal["+", "-"]
FunctionName = Literal["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Name:
    """A document path: attribute name, then map keys (text) and list indexes (int)."""

    parts: tuple[str | int, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Value:
    """A constant. Its text never stands in an expression or in a message."""

    value: AttributeValue

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class Size:
    name: Name


@quickly_made
@dataclass(frozen=True, slots=True)
class IfNotExists:
    name: Name
    default: Operand


@quickly_made
@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: Sign
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class ListAppend:
    left: Operand
    right: Operand


Operand = Name | Value | Size | IfNotExists | Arithmetic | ListAppend


@quickly_made
@dataclass(frozen=True, slots=True)
class Compare:
    operator: Comparator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    operand: Operand
    choices: tuple[Operand, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Function:
    function: FunctionName
    arguments: tuple[Operand, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[ConditionTree, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[ConditionTree, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Not:
    part: ConditionTree


ConditionTree = Compare | Between | In | Function | And | Or | Not


@quickly_made
@dataclass(frozen=True, slots=True)
class SetTo:
    target: Name
    operand: Operand


@dataclass(frozen=True, slots=True)
class Remove:
    target: Name


@quickly_made
@dataclass(frozen=True, slots=True)
class AddTo:
    """ADD: a number to a number, or the elements of a set to a set."""

    target: Name
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """DELETE: the elements of a set from a set."""

    target: Name
    value: Value


ChangeTree = SetTo | Remove | AddTo | DeleteFrom


def all_of(*parts: ConditionTree | None) -> ConditionTree | None:
    """The conjunction of the parts that are given, flat; ``None`` if none is."""
    flat: list[ConditionTree] = []
    for part in parts:
        if isinstance(part, And):
            flat.extend(part.parts)
        elif part is not None:
            flat.append(part)
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(*parts: ConditionTree) -> ConditionTree:
    """The disjunction of the parts, flat."""
    flat: list[ConditionTree] = []
    for part in parts:
        if isinstance(part, Or):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def conjuncts(tree: ConditionTree | None) -> tuple[ConditionTree, ...]:
    """The parts that must all hold."""
    if tree is None:
        return ()
    return tree.parts if isinstance(tree, And) else (tree,)


@lru_cache(maxsize=4096)
def attribute(name: str) -> Name:
    """The path of a top-level attribute, made once."""
    return Name((name,))


def exists(name: Name) -> ConditionTree:
    """Something is stored under the path."""
    return Function("attribute_exists", (name,))


def not_exists(name: Name) -> ConditionTree:
    """Nothing is stored under the path."""
    return Function("attribute_not_exists", (name,))


def reads_as_none(name: Name) -> ConditionTree:
    """Nothing is stored under the path, or NULL, as other programs store what is none."""
    return any_of(not_exists(name), Function("attribute_type", (name, Value({"S": "NULL"}))))


def equals(name: Name, value: AttributeValue) -> ConditionTree:
    """The path holds exactly this value."""
    return Compare("=", name, Value(value))


def holds_on_absent(tree: ConditionTree) -> bool:
    """Whether the condition holds where no item is stored: the service judges it on an item without attributes.

    Source: the Developer Guide, comparison operator and function reference; see also the compatibility page.
    """
    match tree:
        case Compare(operator="<>"):
            return True
        case Compare() | Between() | In():
            return False
        case Function(function=function):
            return function == "attribute_not_exists"
        case And(parts=parts):
            return all(holds_on_absent(part) for part in parts)
        case Or(parts=parts):
            return any(holds_on_absent(part) for part in parts)
        case Not(part=part):
            return not holds_on_absent(part)
        case _:
            assert_never(tree)


def names_read(operand: Operand) -> Iterator[Name]:
    """Every path whose stored value the operand depends on."""
    match operand:
        case Name():
            yield operand
        case Value():
            return
        case Size(name=name):
            yield name
        case IfNotExists(name=name, default=default):
            yield name
            yield from names_read(default)
        case Arithmetic(left=left, right=right) | ListAppend(left=left, right=right):
            yield from names_read(left)
            yield from names_read(right)
        case _:
            assert_never(operand)


def names_judged(tree: ConditionTree) -> Iterator[Name]:
    """Every path that the condition looks at."""
    match tree:
        case Compare(left=left, right=right):
            yield from names_read(left)
            yield from names_read(right)
        case Between(operand=operand, low=low, high=high):
            for each in (operand, low, high):
                yield from names_read(each)
        case In(operand=operand, choices=choices):
            for each in (operand, *choices):
                yield from names_read(each)
        case Function(arguments=arguments):
            for each in arguments:
                yield from names_read(each)
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from names_judged(part)
        case Not(part=part):
            yield from names_judged(part)
        case _:
            assert_never(tree)


@dataclass(slots=True)
class Rendering:
    """Collects the placeholders of one request while its expressions are rendered."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    _aliases: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def with_placeholders(cls, names: Mapping[str, str], values: dict[str, AttributeValue]) -> Rendering:
        """A rendering that goes on where another one ended, which met these names and values."""
        return cls(dict(names), values, {name: alias for alias, name in names.items()})

    def name(self, name: Name) -> str:
        first, *members = name.parts
        text = self._alias(str(first))
        for part in members:
            text += f"[{part}]" if isinstance(part, int) else f".{self._alias(part)}"
        return text

    def _alias(self, name: str) -> str:
        alias = self._aliases.get(name)
        if alias is None:
            alias = self._aliases[name] = f"#{len(self._aliases)}"
            self.names[alias] = name
        return alias

    def value(self, value: Value) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value.value
        return placeholder

    def operand(self, operand: Operand) -> str:
        match operand:
            case Name():
                return self.name(operand)
            case Value():
                return self.value(operand)
            case Size(name=name):
                return f"size({self.name(name)})"
            case IfNotExists(name=name, default=default):
                return f"if_not_exists({self.name(name)}, {self.operand(default)})"
            case Arithmetic(operator=operator, left=left, right=right):
                return f"{self.operand(left)} {operator} {self.operand(right)}"
            case ListAppend(left=left, right=right):
                return f"list_append({self.operand(left)}, {self.operand(right)})"
            case _:
                assert_never(operand)

    def condition(self, tree: ConditionTree) -> str:
        match tree:
            case Compare(operator=operator, left=left, right=right):
                return f"{self.operand(left)} {operator} {self.operand(right)}"
            case Between(operand=operand, low=low, high=high):
                return f"{self.operand(operand)} BETWEEN {self.operand(low)} AND {self.operand(high)}"
            case In(operand=operand, choices=choices):
                return f"{self.operand(operand)} IN ({', '.join([self.operand(choice) for choice in choices])})"
            case Function(function=function, arguments=arguments):
                return f"{function}({', '.join([self.operand(argument) for argument in arguments])})"
            case And(parts=parts):
                return " AND ".join([self.conjunct(part) for part in parts])
            case Or(parts=parts):
                return " OR ".join([self.condition(part) for part in parts])
            case Not(part=part):
                inner = self.condition(part)
                return f"NOT {inner}" if isinstance(part, (Function, Not)) else f"NOT ({inner})"
            case _:
                assert_never(tree)

    def conjunct(self, tree: ConditionTree) -> str:
        """A condition as it stands beside others that must hold too."""
        return f"({self.condition(tree)})" if isinstance(tree, Or) else self.condition(tree)

    def update(self, changes: Iterable[ChangeTree], *, sets: str = "") -> str:
        """The update expression of the changes, with clauses behind SET that were rendered before."""
        sections: dict[str, list[str]] = {}
        for change in changes:
            match change:
                case SetTo(target=target, operand=operand):
                    sections.setdefault("SET", []).append(f"{self.name(target)} = {self.operand(operand)}")
                case Remove(target=target):
                    sections.setdefault("REMOVE", []).append(self.name(target))
                case AddTo(target=target, value=value):
                    sections.setdefault("ADD", []).append(f"{self.name(target)} {self.value(value)}")
                case DeleteFrom(target=target, value=value):
                    sections.setdefault("DELETE", []).append(f"{self.name(target)} {self.value(value)}")
                case _:
                    assert_never(change)
        if sets:
            sections.setdefault("SET", []).append(sets)
        return " ".join([f"{keyword} {', '.join(clauses)}" for keyword, clauses in sections.items()])


class _Masked(Rendering):
    """The same text with the names in place and every value hidden: for ``repr``, logs and errors."""

    def name(self, name: Name) -> str:
        text = ""
        for part in name.parts:
            text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
        return text

    def value(self, value: Value) -> str:
        return f"<{next(iter(value.value), '?')}>"


def describe_condition(tree: ConditionTree) -> str:
    """The condition as text, with attribute names and without values."""
    return _Masked().condition(tree)


def describe_change(change: ChangeTree) -> str:
    """The change as text, with attribute names and without values."""
    return _Masked().update((change,))


def describe_operand(operand: Operand) -> str:
    """The operand as text, with attribute names and without values."""
    return _Masked().operand(operand)
