"""Belongs here: conditions, changes and operands as users hold them: a tree and the entity it is about. Must not be here: paths, rendering, encoding."""

from __future__ import annotations

from typing import Generic, Literal, NoReturn, TypeVar

from surewrite.core import expressions, limits
from surewrite.core.expressions import ChangeTree, ConditionTree
from surewrite.errors import InvalidRequest

O = TypeVar("O")
OC_contra = TypeVar("OC_contra", contravariant=True)
T = TypeVar("T")


def common_owner(first: type | None, second: type | None) -> type | None:
    """The narrower of two entity types that one expression is about; raises ``InvalidRequest`` if no item can be of both."""
    if first is None or second is None:
        return first or second
    if issubclass(first, second):
        return first
    if issubclass(second, first):
        return second
    raise InvalidRequest(f"one expression is about one item: {first.__name__} and {second.__name__} are stored in different items")


class Condition(Generic[OC_contra]):
    """What must hold of the stored item. Combine conditions by ``&``, ``|`` and ``~``, each in parentheses.

    ``owner`` is the entity whose paths it is made of, ``tree`` the condition itself. Values are encoded when the condition
    is written, so one that cannot be stored is refused there. An item that is not stored has no attributes: on it
    ``not_exists`` and ``<>`` hold, and nothing else does. A condition with more ``&``, ``|`` and ``~`` than the service takes
    operators is refused where it is joined.
    """

    __slots__ = ("joins", "owner", "tree")

    def __init__(self, owner: type | None, tree: ConditionTree, joins: int = 0) -> None:
        # Also what keeps the tree shallow enough for every walk over it.
        if joins > limits.EXPRESSION_OPERATORS:
            raise InvalidRequest(
                f"the condition is joined by more than {limits.EXPRESSION_OPERATORS} of &, | and ~, and the service takes {limits.EXPRESSION_OPERATORS}"
                " operators in an expression: .is_in(...) is one for up to 100 values"
            )
        self.owner = owner
        self.tree = tree
        self.joins = joins

    def __and__(self, other: Condition[OC_contra]) -> Condition[OC_contra]:
        both = expressions.all_of(self.tree, _condition(other, "&").tree)
        assert both is not None
        return Condition(common_owner(self.owner, other.owner), both, self.joins + other.joins + 1)

    def __or__(self, other: Condition[OC_contra]) -> Condition[OC_contra]:
        either = expressions.any_of(self.tree, _condition(other, "|").tree)
        return Condition(common_owner(self.owner, other.owner), either, self.joins + other.joins + 1)

    def __invert__(self) -> Condition[OC_contra]:
        return Condition(self.owner, expressions.Not(self.tree), self.joins + 1)

    def __bool__(self) -> NoReturn:
        """Raises ``InvalidRequest``: ``and``, ``or``, ``not``, ``if`` and a chained comparison would drop a part unseen."""
        raise InvalidRequest(
            "a condition is judged by the service and has no truth value here: write (a) & (b) for `and`, (a) | (b) for `or`, ~(a) for `not`, "
            "path.between(low, high) for a chained comparison"
        )

    def __repr__(self) -> str:
        """The condition as text, every value masked."""
        return f"<Condition on {owner_name(self.owner)}: {expressions.describe_condition(self.tree)}>"


def _condition(other: Condition[OC_contra], operator: str) -> Condition[OC_contra]:
    # What the checker knows is not what every caller has checked.
    if not isinstance(other, Condition):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidRequest(f"{operator} joins two conditions, and one of them is {type(other).__name__}: put each comparison in parentheses")
    return other


class Change(Generic[OC_contra]):
    """What an update does to one attribute. ``owner`` is the entity whose path it was made of, ``tree`` the change itself."""

    __slots__ = ("owner", "tree")

    def __init__(self, owner: type | None, tree: ChangeTree) -> None:
        self.owner = owner
        self.tree = tree

    def __repr__(self) -> str:
        """The change as text, every value masked."""
        return f"<Change of {owner_name(self.owner)}: {expressions.describe_change(self.tree)}>"


class Operand(Generic[O, T]):
    """A value that the service computes from the item as it was before the update; give it to ``set``."""

    __slots__ = ("owner", "tree")

    def __init__(self, owner: type | None, tree: expressions.Operand) -> None:
        self.owner = owner
        self.tree = tree

    def __repr__(self) -> str:
        """The operand as text, every value masked."""
        return f"<Operand of {owner_name(self.owner)}: {expressions.describe_operand(self.tree)}>"


def owner_name(owner: type | None) -> str:
    """The name of the entity for messages."""
    return "any entity" if owner is None else owner.__name__


Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
