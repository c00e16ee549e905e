"""Belongs here: typed paths, from which conditions and changes are written. Must not be here: how trees are rendered, which paths an entity has.

Every constant is encoded by the codec of its path when the expression is written. The kinds of paths follow the kinds of
stored values, so that an operation which the service would refuse for the type is not there.
Source: Developer Guide, pages "Comparison operator and function reference" and "Update expressions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, TypeVar, cast, overload

from surewrite.core import expressions, limits
from surewrite.core.codecs import INT, Codec, Shape, StoredType
from surewrite.core.comparisons import Comparable, Ordered, PathSize
from surewrite.core.conditions import Change, Condition, Operand, common_owner
from surewrite.core.expressions import AddTo, Arithmetic, DeleteFrom, Function, FunctionName, IfNotExists, ListAppend, Name, Remove, SetTo, Size, Value
from surewrite.errors import InvalidRequest

O = TypeVar("O")
T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
Number = int | Decimal
"""What a path to a Decimal takes: an int is as exact."""


class Path(Comparable[O, T]):
    """A place in an item. ``name`` is the stored path, ``owner`` the entity, ``codec`` says how values of the place are stored.

    ``required`` is true where an item without the attribute could not be read.
    """

    __slots__ = ("name", "required")
    # Without this a path with [] would be taken for a sequence without end.
    __iter__: ClassVar[None] = None

    def __init__(self, owner: type, label: str, codec: Codec[Any], name: Name, *, required: bool = False) -> None:
        super().__init__(owner, label, codec, name)
        self.name = name
        self.required = required

    def exists(self) -> Condition[O]:
        """The attribute is stored; NULL and an empty text count."""
        return Condition(self.owner, expressions.exists(self.name))

    def not_exists(self) -> Condition[O]:
        """The attribute is not stored, or the item is not."""
        return Condition(self.owner, expressions.not_exists(self.name))

    def has_type(self, stored_type: StoredType) -> Condition[O]:
        """A value of that type is stored, such as ``"S"`` or ``"NULL"``, whatever this path would store."""
        if stored_type not in limits.VALUE_TYPES:
            raise InvalidRequest(f"{self._label}.has_type takes one of {', '.join(sorted(limits.VALUE_TYPES))}")
        return self._function("attribute_type", Value({"S": stored_type}))

    def set(self, value: T | Path[O, T] | Operand[O, T]) -> Change[O]:
        """Store a value, what another path holds, or what the service computes of the item before the update."""
        if value is None and not self.codec.optional:
            raise InvalidRequest(f"{self._label}.set takes a value, and None is an absent attribute: write .remove()")
        operand = self._source(value)
        if isinstance(operand, Value) and self.codec.shape == "set" and "NULL" in operand.value:
            return self.remove()
        return Change(self.owner, SetTo(self.name, operand))

    def remove(self) -> Change[O]:
        """Leave the attribute out. Raises ``InvalidRequest`` for a field without which the item could not be read."""
        if self.required:
            raise InvalidRequest(f"{self._label} is required, and an item without it could not be read: give the field a default or make its type `... | None`")
        return Change(self.owner, Remove(self.name))

    def if_not_exists(self, default: T | Path[O, T] | Operand[O, T]) -> Operand[O, T]:
        """What is stored here, or ``default`` where nothing is: for ``set``."""
        return Operand(self.owner, self._or_default(default))

    def _or_default(self, default: object) -> IfNotExists:
        operand = self._source(default)
        if isinstance(operand, Arithmetic):
            raise InvalidRequest(f"{self._label}.if_not_exists takes a value or a path: the service computes + and - outermost only")
        inner: expressions.Operand = operand
        functions = 1
        while isinstance(inner, IfNotExists):
            inner, functions = inner.default, functions + 1
        if functions > limits.EXPRESSION_OPERATORS:
            raise InvalidRequest(f"{self._label}.if_not_exists is nested, and the service takes {limits.EXPRESSION_OPERATORS} functions in an expression")
        return IfNotExists(self.name, operand)

    def _source(self, value: object) -> expressions.Operand:
        """A constant, a path or a computed value, as the right-hand side of a change."""
        if _is_operand(value):
            common_owner(self.owner, value.owner)
            return value.tree
        if _is_path(value):
            common_owner(self.owner, value.owner)
            return value.name
        if isinstance(value, PathSize):
            raise InvalidRequest(f"{self._label}.set takes no size: the service knows size in conditions only")
        return self._encoded(value)

    def _function(self, function: FunctionName, argument: expressions.Operand) -> Condition[O]:
        return Condition(self.owner, Function(function, (self.name, argument)))

    def _is_operand_of(self, function: FunctionName, whole: object) -> Condition[O]:
        return Condition(self.owner, Function(function, (self._right(whole), self.name)))

    def _element_operand(self, element: object) -> expressions.Operand:
        if not _is_path(element):
            return self._encoded_by(_element(self.codec), element)
        common_owner(self.owner, element.owner)
        return element.name

    def _size(self) -> PathSize[O]:
        return PathSize(self.owner, f"size of {self._label}", INT, Size(self.name))

    def _member(self, part: str | int, codec: Codec[Any]) -> Path[O, Any]:
        label = f"{self._label}[{part}]" if isinstance(part, int) else f"{self._label}.{part}"
        return path_to(self.owner, label, codec, Name((*self.name.parts, part)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._label}>"


def _is_operand(value: object) -> TypeGuard[Operand[Any, Any]]:
    return isinstance(value, Operand)


def _is_path(value: object) -> TypeGuard[Path[Any, Any]]:
    return isinstance(value, Path)


def _is_set(value: object) -> TypeGuard[AbstractSet[object]]:
    return isinstance(value, (set, frozenset))


class OrderedPath(Path[O, T], Ordered[O, T]):
    """A path to a value that the service orders."""

    __slots__ = ()

    def not_exists_or_lt(self, value: T) -> Condition[O]:
        """Nothing is stored here, or something less than ``value``: apply only if newer."""
        return self.not_exists() | (self < value)

    def not_exists_or_le(self, value: T) -> Condition[O]:
        """Nothing is stored here, or something not greater than ``value``."""
        return self.not_exists() | (self <= value)


class NumberOperand(Operand[O, T]):
    """A stored number, or a default: one ``+`` or ``-`` may follow."""

    __slots__ = ("_path",)

    def __init__(self, path: NumberPath[O, T], tree: IfNotExists) -> None:
        super().__init__(path.owner, tree)
        self._path = path

    def __add__(self, other: T | Path[O, T] | NumberOperand[O, T]) -> Operand[O, T]:
        return self._path.computed(self.tree, "+", other)

    def __sub__(self, other: T | Path[O, T] | NumberOperand[O, T]) -> Operand[O, T]:
        return self._path.computed(self.tree, "-", other)

    def __radd__(self, other: T) -> Operand[O, T]:
        return self._path.computed_from(other, "+", self.tree)

    def __rsub__(self, other: T) -> Operand[O, T]:
        return self._path.computed_from(other, "-", self.tree)


class NumberPath(OrderedPath[O, T]):
    """A path to a number."""

    __slots__ = ()

    def __add__(self, other: T | Path[O, T] | NumberOperand[O, T]) -> Operand[O, T]:
        return self.computed(self.name, "+", other)

    def __sub__(self, other: T | Path[O, T] | NumberOperand[O, T]) -> Operand[O, T]:
        return self.computed(self.name, "-", other)

    def __radd__(self, other: T) -> Operand[O, T]:
        return self.computed_from(other, "+", self.name)

    def __rsub__(self, other: T) -> Operand[O, T]:
        return self.computed_from(other, "-", self.name)

    def add(self, amount: T, /) -> Change[O]:
        """Add to the stored number; to 0 where nothing is stored. Not idempotent: sent twice it counts twice."""
        return Change(self.owner, AddTo(self.name, self._encoded(amount)))

    def if_not_exists(self, default: T | Path[O, T] | Operand[O, T]) -> NumberOperand[O, T]:
        """The stored number, or ``default`` where nothing is stored."""
        return NumberOperand(self, self._or_default(default))

    def computed(self, left: expressions.Operand, operator: expressions.Sign, other: object) -> Operand[O, T]:
        """``left`` plus or minus another number; the service takes exactly two operands."""
        right = self._source(other)
        if isinstance(right, Arithmetic):
            raise InvalidRequest(f"{self._label}: the service takes one + or - in a change")
        return Operand(self.owner, Arithmetic(operator, left, right))

    def computed_from(self, constant: object, operator: expressions.Sign, right: expressions.Operand) -> Operand[O, T]:
        """A constant plus or minus what is stored."""
        return Operand(self.owner, Arithmetic(operator, self._encoded(constant), right))


class SequencePath(OrderedPath[O, T]):
    """A path to a text or to a binary value, of which parts can be looked for."""

    __slots__ = ()

    def begins_with(self, prefix: T | Path[O, T]) -> Condition[O]:
        """What is stored begins with ``prefix``."""
        return self._function("begins_with", self._right(prefix))

    def contains(self, part: T | Path[O, T]) -> Condition[O]:
        """``part`` stands in what is stored."""
        return self._function("contains", self._right(part))

    def is_prefix_of(self, whole: T) -> Condition[O]:
        """``whole`` begins with what is stored here."""
        return self._is_operand_of("begins_with", whole)

    def is_part_of(self, whole: T) -> Condition[O]:
        """What is stored here stands in ``whole``."""
        return self._is_operand_of("contains", whole)

    def size(self) -> PathSize[O]:
        """The length of a text as the service counts it, or the number of bytes."""
        return self._size()


class TextPath(SequencePath[O, T]):
    """A path to a text."""

    __slots__ = ()


class BytesPath(SequencePath[O, T]):
    """A path to a binary value."""

    __slots__ = ()


def _element(codec: Codec[Any]) -> Codec[Any]:
    assert codec.element is not None
    return codec.element


class SetPath(Path[O, AbstractSet[U]]):
    """A path to a set. An empty set is stored as nothing: ``set`` of one removes the attribute."""

    __slots__ = ()

    def add(self, *elements: U) -> Change[O]:
        """Add elements to the stored set; those that are in it change nothing."""
        return Change(self.owner, AddTo(self.name, self._elements("add", elements)))

    def discard(self, *elements: U) -> Change[O]:
        """Take elements out of the stored set; those that are not in it change nothing. The last one takes the attribute with it."""
        return Change(self.owner, DeleteFrom(self.name, self._elements("discard", elements)))

    def contains(self, element: U | Path[O, U]) -> Condition[O]:
        """``element``, or what another path holds, is in the set."""
        return self._function("contains", self._element_operand(element))

    def size(self) -> PathSize[O]:
        """The number of elements; an empty set is absent and has no size, so that every comparison with it fails."""
        return self._size()

    def _elements(self, verb: str, elements: Iterable[object]) -> Value:
        codec = _element(self.codec)
        members = {self._encoded_by(codec, element).value[codec.stored] for element in elements}
        if not members:
            raise InvalidRequest(f"{self._label}.{verb} takes one element or more")
        return Value({self.codec.stored: sorted(members)})

    def _encoded(self, value: object) -> Value:
        if _is_set(value) and value:
            return self._elements("set", value)
        return super()._encoded(value)

    def _right(self, other: object) -> expressions.Operand:
        if _is_set(other) and not other:
            raise InvalidRequest(f"{self._label} is compared with an empty set, which is stored as nothing: write .not_exists() or .exists()")
        return super()._right(other)


class ListOperand(Operand[O, T]):
    """A stored list, or a default: another list may follow."""

    __slots__ = ("_path",)

    def __init__(self, path: ListPath[O, Any], tree: IfNotExists) -> None:
        super().__init__(path.owner, tree)
        self._path = path

    def followed_by(self, other: T | Path[O, T]) -> Operand[O, T]:
        """This list and then the other one."""
        return Operand(self.owner, ListAppend(self.tree, self._path.part_of_list(other)))

    def preceded_by(self, other: T | Path[O, T]) -> Operand[O, T]:
        """The other list and then this one."""
        return Operand(self.owner, ListAppend(self._path.part_of_list(other), self.tree))


class ListPath(Path[O, list[U] | tuple[U, ...]]):
    """A path to a list. ``[index]`` is an element, counted from 0."""

    __slots__ = ()

    def append(self, *elements: U) -> Change[O]:
        """Put elements at the end of the stored list. Not idempotent: sent twice they stand there twice."""
        return Change(self.owner, SetTo(self.name, ListAppend(self.name, self._list("append", elements))))

    def prepend(self, *elements: U) -> Change[O]:
        """Put elements before the stored list. Not idempotent: sent twice they stand there twice."""
        return Change(self.owner, SetTo(self.name, ListAppend(self._list("prepend", elements), self.name)))

    def followed_by(self, other: list[U] | tuple[U, ...] | Path[O, list[U] | tuple[U, ...]]) -> Operand[O, list[U] | tuple[U, ...]]:
        """This list and then the other one, for ``set``."""
        return Operand(self.owner, ListAppend(self.name, self.part_of_list(other)))

    def if_not_exists(
        self, default: list[U] | tuple[U, ...] | Path[O, list[U] | tuple[U, ...]] | Operand[O, list[U] | tuple[U, ...]]
    ) -> ListOperand[O, list[U] | tuple[U, ...]]:
        """The stored list, or ``default`` where nothing is stored."""
        return ListOperand(self, self._or_default(default))

    def contains(self, element: U | Path[O, U]) -> Condition[O]:
        """``element``, or what another path holds, is in the list."""
        return self._function("contains", self._element_operand(element))

    def size(self) -> PathSize[O]:
        """The number of elements."""
        return self._size()

    @overload
    def __getitem__(self: ListPath[O, int], index: int) -> NumberPath[O, int]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: ListPath[O, Decimal], index: int) -> NumberPath[O, Number]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: ListPath[O, str], index: int) -> TextPath[O, str]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: ListPath[O, frozenset[V]], index: int) -> SetPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: ListPath[O, list[V]], index: int) -> ListPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: ListPath[O, dict[str, V]], index: int) -> MapPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, index: int) -> ValuePath[O, U]: ...
    def __getitem__(self: ListPath[Any, Any], index: int) -> Path[Any, Any]:
        """The element at an index, from 0; one that is not there is absent in conditions, and ``set`` of it appends."""
        _require_index(self, index)
        return self._member(index, _element(self.codec))

    def part_of_list(self, other: object) -> expressions.Operand:
        """A list as an operand of an append, which cannot be one itself."""
        operand = self._source(other)
        if isinstance(operand, ListAppend):
            raise InvalidRequest(f"{self._label}: the service appends once in a change")
        return operand

    def _list(self, verb: str, elements: tuple[object, ...]) -> Value:
        if not elements:
            raise InvalidRequest(f"{self._label}.{verb} takes one element or more")
        return self._encoded(elements)

    def _encoded(self, value: object) -> Value:
        if isinstance(value, (list, tuple)):
            codec = _element(self.codec)
            return Value({"L": [self._encoded_by(codec, element).value for element in cast("Iterable[object]", value)]})
        return super()._encoded(value)


class MapPath(Path[O, dict[str, U]]):
    """A path to a map. ``[name]`` is a member."""

    __slots__ = ()

    @overload
    def __getitem__(self: MapPath[O, int], name: str) -> NumberPath[O, int]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: MapPath[O, Decimal], name: str) -> NumberPath[O, Number]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: MapPath[O, str], name: str) -> TextPath[O, str]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: MapPath[O, frozenset[V]], name: str) -> SetPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: MapPath[O, list[V]], name: str) -> ListPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self: MapPath[O, dict[str, V]], name: str) -> MapPath[O, V]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: str) -> ValuePath[O, U]: ...
    def __getitem__(self: MapPath[Any, Any], name: str) -> Path[Any, Any]:
        """The member of a name. The map must be stored for a change of a member."""
        return self._member(_require_name(self, name), _element(self.codec))

    def size(self) -> PathSize[O]:
        """The number of members."""
        return self._size()


class RecordPath(Path[O, T]):
    """A path to a dataclass, or to a tuple of fixed length. ``[name]`` or ``[index]`` is a member; a name that it has not is refused."""

    __slots__ = ()

    def __getitem__(self, member: str | int) -> MemberPath[O]:
        """The path to a member, of the kind of its type; checked when it is written, not by the type checker."""
        if self.codec.members is not None:
            codec = self.codec.members().get(member) if isinstance(member, str) else None
            known = ", ".join(self.codec.members())
        else:
            _require_index(self, member)
            codec = self.codec.items[member] if isinstance(member, int) and member < len(self.codec.items) else None
            known = f"0 to {len(self.codec.items) - 1}"
        if codec is None:
            raise InvalidRequest(f"{self._label} has no member {member!r}: it has {known}")
        return cast("MemberPath[O]", self._member(member, codec))

    def size(self) -> PathSize[O]:
        """The number of members that are stored."""
        return self._size()


if TYPE_CHECKING:

    class ValuePath(OrderedPath[O, T]):
        """A path to a type of which no checker can say how it is stored, such as an enum or a dataclass: it may be ordered or have members."""

        def __getitem__(self, member: str | int) -> MemberPath[O]: ...
        def size(self) -> PathSize[O]: ...

    class MemberPath(NumberPath[O, Any]):
        """A path of which the type checker knows the entity only: every operation passes it, and the ones of its kind exist."""

        def add(self, *amount: Any) -> Change[O]: ...
        def discard(self, *elements: Any) -> Change[O]: ...
        def append(self, *elements: Any) -> Change[O]: ...
        def prepend(self, *elements: Any) -> Change[O]: ...
        def begins_with(self, prefix: Any) -> Condition[O]: ...
        def contains(self, part: Any) -> Condition[O]: ...
        def followed_by(self, other: Any) -> Operand[O, Any]: ...
        def size(self) -> PathSize[O]: ...
        def __getitem__(self, member: str | int) -> MemberPath[O]: ...


def _require_name(path: Path[Any, Any], name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{path!r}[...] takes the name of a member")
    return name


def _require_index(path: Path[Any, Any], index: object) -> None:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index <= limits.LIST_INDEX_LARGEST:
        raise InvalidRequest(f"{path!r}[...] takes an index counted from 0: the service does not count from the end")


_KINDS: Mapping[Shape, Callable[..., Path[Any, Any]]] = {
    "number": NumberPath,
    "text": TextPath,
    "bytes": BytesPath,
    "ordered": OrderedPath,
    "plain": Path,
    "set": SetPath,
    "list": ListPath,
    "map": MapPath,
    "record": RecordPath,
}


def path_to(owner: type, label: str, codec: Codec[Any], name: Name, *, required: bool = False) -> Path[Any, Any]:
    """The path of the kind that fits the codec. ``label`` names it in messages."""
    return _KINDS["record" if codec.items else codec.shape](owner, label, codec, name, required=required)
