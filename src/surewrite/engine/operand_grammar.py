"""Belongs here: what all kinds of expression share: paths, constants, calls, faults of a text. Must not be here: conditions, clauses.

Every parser here keeps its own stack, so that no text can exhaust Python's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from surewrite.core import limits
from surewrite.engine.lexer import TokenReader
from surewrite.engine.syntax import Call, DocumentPath, ExpressionKind, Operand, Operation, PathTree, ValueReference

CONDITION_FUNCTIONS: Final = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
UPDATE_FUNCTIONS: Final = frozenset({"if_not_exists", "list_append"})
FUNCTIONS: Final = CONDITION_FUNCTIONS | UPDATE_FUNCTIONS | {"size"}


class TextFault(Enum):
    """What can be wrong with a text that is well-formed."""

    REDUNDANT_PARENTHESES = auto()
    UNKNOWN_FUNCTION = auto()
    MISUSED_FUNCTION = auto()
    RESERVED_WORD = auto()
    REPEATED_SECTION = auto()


# The orders in which faults win, as measured on the service.
CONDITION_ORDER: Final = (TextFault.REDUNDANT_PARENTHESES, TextFault.UNKNOWN_FUNCTION, TextFault.MISUSED_FUNCTION, TextFault.RESERVED_WORD)
UPDATE_ORDER: Final = (
    TextFault.REDUNDANT_PARENTHESES,
    TextFault.RESERVED_WORD,
    TextFault.UNKNOWN_FUNCTION,
    TextFault.MISUSED_FUNCTION,
    TextFault.REPEATED_SECTION,
)


@dataclass(slots=True)
class _OpenCall:
    function: str
    arguments: list[Operand]


class OperandParser:
    """Reads operands from an expression and gathers what the text and the names alone tell about it.

    ``paths`` are all paths that were read and ``operations`` all calls, comparisons and sums, the inner before the
    outer; ``used_names`` and ``used_values`` are placeholders in the order of their first use. ``undefined`` maps a path
    to its first placeholder that has no name. ``arguments`` are the functions that may stand as an argument of another.
    """

    def __init__(self, text: str, kind: ExpressionKind, names: Mapping[str, str], *, arguments: frozenset[str], order: tuple[TextFault, ...]) -> None:
        self.reader: TokenReader = TokenReader(text, kind)
        self.paths: list[DocumentPath] = []
        self.operations: list[Operation] = []
        self.used_names: dict[str, None] = {}
        self.used_values: dict[str, None] = {}
        self.undefined: dict[DocumentPath, str] = {}
        self._arguments = arguments
        self._order = order
        self._names = names
        self._operators = 0
        self._faults: list[tuple[TextFault, str]] = []

    def fault(self, which: TextFault, message: str) -> None:
        """Note a fault; the whole text is read before one is raised, because another may win."""
        self._faults.append((which, message))

    def require_faultless(self) -> None:
        """Raise the fault that wins, the first one in the text among equals."""
        if self._faults:
            raise self.reader.invalid(min(self._faults, key=lambda fault: self._order.index(fault[0]))[1])

    def count_operator(self) -> None:
        self._operators += 1
        if self._operators > limits.EXPRESSION_OPERATORS:
            raise self.reader.invalid(f"The expression contains too many operators; operator count: {self._operators}")

    def redundant(self) -> None:
        self.fault(TextFault.REDUNDANT_PARENTHESES, "The expression has redundant parentheses;")

    def require_role(self, call: Call, allowed: frozenset[str]) -> None:
        """Note a fault where a known function stands in a place that is not for it."""
        if call.function in FUNCTIONS and call.function not in allowed:
            self.fault(TextFault.MISUSED_FUNCTION, f"The function is not allowed to be used this way in an expression; function: {call.function}")

    def operand(self) -> Operand:
        """A path, a constant or a call, each in parentheses or not."""
        opened: list[_OpenCall | None] = []
        # Each turn takes at least one token.
        while True:
            if self.reader.accept_sign("("):
                opened.append(None)
                continue
            if self._at_call():
                opened.append(_OpenCall(self.reader.take().text, []))
                self.reader.expect_sign("(")
                continue
            operand = self._closed(self.leaf(), opened)
            if operand is not None:
                return operand

    def _closed(self, leaf: Operand, opened: list[_OpenCall | None]) -> Operand | None:
        """The operand that ends here; None where a call wants its next argument."""
        operand = leaf
        parenthesised = False
        while opened:
            call = opened[-1]
            if call is None:
                self.reader.expect_sign(")")
                if parenthesised:
                    self.redundant()
                parenthesised = True
                opened.pop()
                continue
            call.arguments.append(operand)
            if self.reader.accept_sign(","):
                return None
            self.reader.expect_sign(")")
            operand = self._call(call)
            parenthesised = False
            opened.pop()
        return operand

    def _call(self, opened: _OpenCall) -> Call:
        if opened.function not in FUNCTIONS:
            self.fault(TextFault.UNKNOWN_FUNCTION, f"Invalid function name; function: {opened.function}")
        for argument in opened.arguments:
            if isinstance(argument, Call):
                self.require_role(argument, self._arguments)
        call = Call(opened.function, tuple(opened.arguments))
        self.operations.append(call)
        return call

    def _at_call(self) -> bool:
        following = self.reader.following()
        return self.reader.peek().kind == "word" and following.kind == "sign" and following.text == "("

    def leaf(self) -> DocumentPath | ValueReference:
        """A path or a constant."""
        if self.reader.peek().kind == "value":
            return self.value()
        return self.path()

    def value(self) -> ValueReference:
        """A constant's placeholder."""
        if self.reader.peek().kind != "value":
            raise self.reader.syntax_error()
        placeholder = self.reader.take().text
        self.used_values[placeholder] = None
        return ValueReference(placeholder)

    def path(self) -> DocumentPath:
        """A document path with its names resolved."""
        undefined: str | None = None
        parts: list[str | int] = []
        component = True
        # Each turn takes at least one token.
        while component or self.reader.accept_sign("["):
            if component:
                part, missing = self._component()
                parts.append(part)
                undefined = undefined or missing
            else:
                parts.append(self._index())
            component = self.reader.accept_sign(".")
        if len(parts) > limits.NESTING_LEVELS:
            self.fault(TextFault.RESERVED_WORD, f"The document path has too many nesting levels; nesting levels: {len(parts)}")
        path = DocumentPath(tuple(parts))
        self.paths.append(path)
        if undefined is not None:
            self.undefined[path] = undefined
        return path

    def _component(self) -> tuple[str, str | None]:
        token = self.reader.peek()
        if token.kind == "name":
            self.reader.take()
            self.used_names[token.text] = None
            name = self._names.get(token.text)
            return (token.text, token.text) if name is None else (name, None)
        if token.kind != "word":
            raise self.reader.syntax_error()
        self.reader.take()
        if token.text.upper() in limits.RESERVED_WORDS:
            self.fault(TextFault.RESERVED_WORD, f"Attribute name is a reserved keyword; reserved keyword: {token.text}")
        return token.text, None

    def _index(self) -> int:
        token = self.reader.peek()
        if token.kind != "digits":
            raise self.reader.syntax_error()
        self.reader.take()
        self.reader.expect_sign("]")
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > limits.LIST_INDEX_LARGEST:
            self.fault(TextFault.RESERVED_WORD, f"List index is not within the allowable range; index: [{token.text}]")
            return 0
        return int(digits)


class _Node:
    """A branch of a path tree that is being built; ``path`` is the first path through it."""

    __slots__ = ("branches", "path")

    def __init__(self, path: DocumentPath) -> None:
        self.path = path
        self.branches: dict[str | int, _Node | int] = {}


def disjoint_tree(paths: Iterable[DocumentPath]) -> PathTree | str:
    """The paths as one tree, or the service's message where two overlap or, failing that, conflict. Cost grows with the parts of all paths."""
    listed = tuple(paths)
    root = _Node(DocumentPath(()))
    conflict: str | None = None
    for number, path in enumerate(listed):
        node = root
        for depth, part in enumerate(path.parts):
            if conflict is None and node.branches and isinstance(next(iter(node.branches)), int) != isinstance(part, int):
                conflict = _clash("conflict", _first_below(node, listed), path)
            branch = node.branches.get(part)
            last = depth == len(path.parts) - 1
            if branch is None:
                branch = number if last else _Node(path)
                node.branches[part] = branch
            elif isinstance(branch, int):
                return _clash("overlap", listed[branch], path)
            elif last:
                return _clash("overlap", branch.path, path)
            if isinstance(branch, _Node):
                node = branch
    return _frozen(root) if conflict is None else conflict


def _first_below(node: _Node, paths: tuple[DocumentPath, ...]) -> DocumentPath:
    branch = next(iter(node.branches.values()))
    return paths[branch] if isinstance(branch, int) else branch.path


def _clash(verb: str, first: DocumentPath, second: DocumentPath) -> str:
    return f"Two document paths {verb} with each other; must remove or rewrite one of these paths; path one: {first}, path two: {second}"


def _frozen(node: _Node) -> PathTree:
    frozen = [(part, branch if isinstance(branch, int) else _frozen(branch)) for part, branch in node.branches.items()]
    members = {part: branch for part, branch in frozen if isinstance(part, str)}
    elements = sorted(((part, branch) for part, branch in frozen if isinstance(part, int)), key=lambda element: element[0])
    return PathTree(members, dict(elements))
