"""Belongs here: text of update and projection expressions to trees. Must not be here: checks that need constants, evaluation.

The grammar follows the Developer Guide, page "Using update expressions in DynamoDB".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from surewrite.engine.operand_grammar import UPDATE_FUNCTIONS, UPDATE_ORDER, OperandParser, TextFault
from surewrite.engine.syntax import AddClause, Arithmetic, Call, Clause, DeleteClause, DocumentPath, Operand, RemoveClause, SetClause

_SECTIONS: Final = ("SET", "REMOVE", "ADD", "DELETE")
# The service refuses list_append as an argument, even of itself.
_ARGUMENT_FUNCTIONS: Final = frozenset({"if_not_exists"})


class UpdateParser(OperandParser):
    """Reads one update expression."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        super().__init__(text, "UpdateExpression", names, arguments=_ARGUMENT_FUNCTIONS, order=UPDATE_ORDER)

    def parse(self) -> tuple[Clause, ...]:
        """The clauses in the order of the text; raises ValidationException for what the text alone shows to be wrong."""
        clauses: list[Clause] = []
        seen: set[str] = set()
        # Each turn takes at least one token.
        while not self.reader.at_end():
            section = next((name for name in _SECTIONS if self.reader.accept_keyword(name)), None)
            if section is None:
                raise self.reader.syntax_error()
            if section in seen:
                self.fault(TextFault.REPEATED_SECTION, f'The "{section}" section can only be used once in an update expression;')
            seen.add(section)
            clauses.append(self._clause(section))
            while self.reader.accept_sign(","):
                clauses.append(self._clause(section))
        self.require_faultless()
        return tuple(clauses)

    def _clause(self, section: str) -> Clause:
        if any(self.reader.at_keyword(name) for name in _SECTIONS):
            raise self.reader.syntax_error()
        target = self.path()
        match section:
            case "SET":
                self.reader.expect_sign("=")
                return SetClause(target, self._assigned())
            case "REMOVE":
                return RemoveClause(target)
            case "ADD":
                return AddClause(target, self.value())
            case _:
                return DeleteClause(target, self.value())

    def _assigned(self) -> Operand | Arithmetic:
        """The right side of an assignment: an operand, a sum or a difference of two, each in parentheses or not."""
        depth = 0
        while self.reader.accept_sign("("):
            depth += 1
        value: Operand | Arithmetic = self._role_checked(self.operand())
        parenthesised = False
        # Each turn takes a token or ends.
        while True:
            operator = self._operator()
            if operator is not None:
                if isinstance(value, Arithmetic):
                    raise self.reader.syntax_error()
                self.reader.take()
                self.count_operator()
                value = Arithmetic(operator, value, self._role_checked(self.operand()))
                self.operations.append(value)
                parenthesised = False
            elif depth:
                self.reader.expect_sign(")")
                depth -= 1
                if parenthesised:
                    self.redundant()
                parenthesised = True
            else:
                return value

    def _operator(self) -> Literal["+", "-"] | None:
        return "+" if self.reader.at_sign("+") else "-" if self.reader.at_sign("-") else None

    def _role_checked(self, operand: Operand) -> Operand:
        if isinstance(operand, Call):
            self.require_role(operand, UPDATE_FUNCTIONS)
        return operand


class ProjectionParser(OperandParser):
    """Reads one projection expression."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        super().__init__(text, "ProjectionExpression", names, arguments=frozenset(), order=(TextFault.RESERVED_WORD,))

    def parse(self) -> tuple[DocumentPath, ...]:
        """The paths in the order of the text; raises ValidationException for what the text alone shows to be wrong."""
        paths = [self.path()]
        # Each turn takes at least one token.
        while self.reader.accept_sign(","):
            paths.append(self.path())
        if not self.reader.at_end():
            raise self.reader.syntax_error()
        self.require_faultless()
        return tuple(paths)
