"""Belongs here: text of conditions, filters and key conditions to trees. Must not be here: checks that need constants, evaluation.

The grammar follows the Developer Guide, page "Condition and filter expressions, operators, and functions".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

from surewrite.engine.lexer import TokenReader
from surewrite.engine.operand_grammar import CONDITION_FUNCTIONS, CONDITION_ORDER, OperandParser
from surewrite.engine.syntax import (
    Between,
    Call,
    Comparator,
    Comparison,
    Condition,
    Conjunction,
    Disjunction,
    DocumentPath,
    Membership,
    Negation,
    Operand,
    ValueReference,
)

_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_OPERAND_FUNCTIONS: Final = frozenset({"size"})

ConditionKind = Literal["ConditionExpression", "FilterExpression", "KeyConditionExpression"]


class _Frame:
    """What has been read since a parenthesis was opened: alternatives, each of conditions that all must hold."""

    __slots__ = ("_alternatives", "_negated", "_negations")

    def __init__(self) -> None:
        self._alternatives: list[list[Condition]] = [[]]
        self._negated = False
        self._negations = 0

    def negate(self) -> None:
        self._negated = not self._negated
        self._negations += 1

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been read but the unit at hand."""
        return self._negations == 0 and self._alternatives == [[]]

    def add(self, condition: Condition) -> None:
        self._alternatives[-1].append(Negation(condition) if self._negated else condition)
        self._negated = False

    def alternative(self) -> None:
        self._alternatives.append([])

    def condition(self) -> Condition:
        joined = [conditions[0] if len(conditions) == 1 else Conjunction(tuple(conditions)) for conditions in self._alternatives]
        return joined[0] if len(joined) == 1 else Disjunction(tuple(joined))


class ConditionParser(OperandParser):
    """Reads one condition. ``logical`` are the words OR and NOT in the order of the text."""

    def __init__(self, text: str, kind: ConditionKind, names: Mapping[str, str]) -> None:
        super().__init__(text, kind, names, arguments=_OPERAND_FUNCTIONS, order=CONDITION_ORDER)
        self.logical: list[str] = []

    def parse(self) -> Condition:
        """The tree of the whole text; raises ValidationException for what the text alone shows to be wrong."""
        frames = [_Frame()]
        condition: Condition | None = None
        # Each turn takes at least one token.
        while condition is None:
            while self.reader.accept_keyword("NOT"):
                self.count_operator()
                self.logical.append("NOT")
                frames[-1].negate()
            if self.reader.accept_sign("("):
                frames.append(_Frame())
                continue
            condition = self._completed(self.operand(), frames)
        self.require_faultless()
        return condition

    def _completed(self, operand: Operand, frames: list[_Frame]) -> Condition | None:
        """The whole condition if the text ends after ``operand``'s condition; None where AND or OR wants another."""
        unit: Operand | Condition = operand
        parenthesised = False
        # Each turn closes a parenthesis, reads on, or ends.
        while True:
            if isinstance(unit, (DocumentPath, ValueReference, Call)) and self._at_comparison(self.reader):
                unit = self._comparison(unit)
                parenthesised = False
            frame = frames[-1]
            if len(frames) > 1 and frame.is_fresh and self.reader.accept_sign(")"):
                if parenthesised:
                    self.redundant()
            else:
                frame.add(self._condition(unit))
                if self.reader.accept_keyword("AND"):
                    self.count_operator()
                    return None
                if self.reader.accept_keyword("OR"):
                    self.count_operator()
                    self.logical.append("OR")
                    frame.alternative()
                    return None
                if len(frames) == 1:
                    if not self.reader.at_end():
                        raise self.reader.syntax_error()
                    return frame.condition()
                self.reader.expect_sign(")")
                unit = frame.condition()
            frames.pop()
            parenthesised = True

    def _condition(self, unit: Operand | Condition) -> Condition:
        if isinstance(unit, (DocumentPath, ValueReference)):
            raise self.reader.syntax_error()
        if isinstance(unit, Call):
            self.require_role(unit, CONDITION_FUNCTIONS)
        return unit

    @staticmethod
    def _at_comparison(reader: TokenReader) -> bool:
        token = reader.peek()
        return (token.kind == "sign" and token.text in _COMPARATORS) or reader.at_keyword("BETWEEN") or reader.at_keyword("IN")

    def _comparison(self, left: Operand) -> Condition:
        operation: Comparison | Between | Membership
        operands = [left]
        self.count_operator()
        if self.reader.accept_keyword("BETWEEN"):
            low = self.operand()
            self.reader.expect_keyword("AND")
            high = self.operand()
            operands += [low, high]
            operation = Between(left, low, high)
        elif self.reader.accept_keyword("IN"):
            choices = self._choices()
            operands += choices
            operation = Membership(left, tuple(choices))
        else:
            operator = cast("Comparator", self.reader.take().text)
            right = self.operand()
            operands.append(right)
            operation = Comparison(operator, left, right)
        for operand in operands:
            if isinstance(operand, Call):
                self.require_role(operand, _OPERAND_FUNCTIONS)
        self.operations.append(operation)
        return operation

    def _choices(self) -> list[Operand]:
        self.reader.expect_sign("(")
        choices = [self.operand()]
        # Each turn takes at least one token.
        while self.reader.accept_sign(","):
            choices.append(self.operand())
        self.reader.expect_sign(")")
        return choices
