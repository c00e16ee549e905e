"""Belongs here: what comparisons of a stored value have in common, and the size of one. Must not be here: paths and their changes."""

from __future__ import annotations

from typing import Any, Generic, TypeGuard, TypeVar

from surewrite.core import limits
from surewrite.core.codecs import TOO_DEEP, Codec, Unstorable
from surewrite.core.conditions import Comparator, Condition, Operand, common_owner
from surewrite.core.expressions import Between, Compare, In, Name, Size, Value
from surewrite.core.expressions import Operand as OperandTree
from surewrite.core.values import compare
from surewrite.errors import InvalidRequest

O = TypeVar("O")
T = TypeVar("T")


class Comparable(Generic[O, T]):
    """What can stand on the left of a comparison: a path, or the size of one."""

    __slots__ = ("_label", "codec", "operand", "owner")

    def __init__(self, owner: type, label: str, codec: Codec[Any], operand: Name | Size) -> None:
        self.owner = owner
        self.codec = codec
        self._label = label
        self.operand = operand

    def _encoded(self, value: object) -> Value:
        return self._encoded_by(self.codec, value)

    def _encoded_by(self, codec: Codec[Any], value: object) -> Value:
        try:
            return Value(codec.store(value))
        except Unstorable as error:
            raise InvalidRequest(f"{self._label} {error}") from None
        except RecursionError:
            raise InvalidRequest(f"{self._label} takes {codec.type_name}, and this one {TOO_DEEP}") from None

    def _right(self, other: object) -> OperandTree:
        """A constant or another path, as an operand of a condition."""
        if _is_comparable(other):
            common_owner(self.owner, other.owner)
            if other.operand == self.operand:
                raise InvalidRequest(f"{self._label} is compared with itself, which the service refuses")
            return other.operand
        if other is None:
            raise InvalidRequest(f"{self._label} is compared with None, and None is an absent attribute: write .not_exists() or .exists()")
        if isinstance(other, Operand):
            raise InvalidRequest(f"{self._label} is compared with a computed value, and the service computes in updates only: compare with a value or a path")
        return self._encoded(other)

    def _compare(self, operator: Comparator, other: object) -> Condition[O]:
        return Condition(self.owner, Compare(operator, self.operand, self._right(other)))

    def __eq__(self, other: T | Comparable[O, T]) -> Condition[O]:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: T | Comparable[O, T]) -> Condition[O]:  # type: ignore[override]
        return self._compare("<>", other)

    def __hash__(self) -> int:
        return hash((self.owner, self._label))

    def is_in(self, *values: T | Comparable[O, T]) -> Condition[O]:
        """Equal to one of 1 to 100 values."""
        if not 1 <= len(values) <= limits.IN_OPERANDS:
            raise InvalidRequest(f"{self._label}.is_in takes 1 to {limits.IN_OPERANDS} values, not {len(values)}: split it by |")
        try:
            return Condition(self.owner, In(self.operand, tuple([self._right(value) for value in values])))
        except InvalidRequest:
            if len(values) != 1 or not isinstance(values[0], (list, tuple, set, frozenset)):
                raise
            raise InvalidRequest(f"{self._label}.is_in takes the values one by one: write .is_in(*values)") from None


def _is_comparable(value: object) -> TypeGuard[Comparable[Any, Any]]:
    return isinstance(value, Comparable)


class Ordered(Comparable[O, T]):
    """What the service orders: texts and binaries by their bytes, numbers by value."""

    __slots__ = ()

    def __lt__(self, other: T | Comparable[O, T]) -> Condition[O]:
        return self._compare("<", other)

    def __le__(self, other: T | Comparable[O, T]) -> Condition[O]:
        return self._compare("<=", other)

    def __gt__(self, other: T | Comparable[O, T]) -> Condition[O]:
        return self._compare(">", other)

    def __ge__(self, other: T | Comparable[O, T]) -> Condition[O]:
        return self._compare(">=", other)

    def between(self, low: T | Comparable[O, T], high: T | Comparable[O, T]) -> Condition[O]:
        """From ``low`` to ``high``, both included."""
        least, most = self._right(low), self._right(high)
        if isinstance(least, Value) and isinstance(most, Value) and (compare(least.value, most.value) or 0) > 0:
            raise InvalidRequest(f"{self._label}.between takes the lower bound first")
        return Condition(self.owner, Between(self.operand, least, most))


class PathSize(Ordered[O, int]):
    """The size of a value: the length of a text, bytes of a binary, elements of a set, list or map. It is compared, not changed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self._label}>"
