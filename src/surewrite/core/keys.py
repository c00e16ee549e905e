"""Belongs here: keys of items and partitions as values, with what they demand of the version. Must not be here: templates, tables, entities.

A key is made by ``key_of`` of an entity. It holds the field values that it was made of and the values of the key
attributes, and knows no table: one key names the item in any table that stores the entity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeGuard, TypeVar

from surewrite.core.frozen import quickly_made
from surewrite.core.templates import KeyValue
from surewrite.errors import InvalidRequest

EC_co = TypeVar("EC_co", covariant=True)


@quickly_made
@dataclass(frozen=True, slots=True)
class Demand:
    """What a write says of the stored version: that it must be ``version`` (``None``: that there is none), or, unchecked, nothing."""

    checked: bool
    version: int | None = None


@quickly_made
@dataclass(frozen=True, slots=True, repr=False)
class Key(Generic[EC_co]):
    """Names one item: enough to read it. Equal keys name one item; hashable.

    ``as_stored`` is true for the key of a stored item that no ``key_of`` makes; it names that item all the same.
    """

    entity: type[EC_co]
    partition: KeyValue
    sort: KeyValue | None = None
    values: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    as_stored: bool = field(default=False, compare=False, kw_only=True)

    def _described(self) -> str:
        if self.as_stored:
            return f"<key of {self.entity.__name__} as stored: {', '.join(repr(value) for _, value in filter(None, (self.partition, self.sort)))}>"
        return f"{self.entity.__name__}.key_of({', '.join(f'{name}={value!r}' for name, value in self.values)})"

    def __repr__(self) -> str:
        return self._described()


@quickly_made
@dataclass(frozen=True, slots=True, repr=False)
class Target(Key[EC_co]):
    """Names one item and says what its version must be: enough to change it. ``demand`` is ``None`` for a type without a version."""

    demand: Demand | None = None

    def __repr__(self) -> str:
        if self.demand is None:
            return self._described()
        return f"{self._described()}.{f'if_version({self.demand.version})' if self.demand.checked else 'ignore_version()'}"


@quickly_made
@dataclass(frozen=True, slots=True, repr=False)
class VersionedKey(Key[EC_co]):
    """Names one item of a type with a version. To change it, say what the version must be."""

    def if_version(self, version: int | None) -> Target[EC_co]:
        """The item, provided that it has this version; ``None``: that it has none yet.

        A number does not see that an item was deleted and made again in between and has the same number; a loaded
        entity does, since its stamp is compared too. Raises ``InvalidRequest`` for what is no int.
        """
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(f"{self.entity.__name__}: if_version takes an int or None, not {type(version).__name__}", key=self)
        return Target(self.entity, self.partition, self.sort, self.values, Demand(checked=True, version=version), as_stored=self.as_stored)

    def ignore_version(self) -> Target[EC_co]:
        """The item, whatever its version is. The service still adds 1 to it, so the write is not idempotent and is not resent in doubt."""
        return Target(self.entity, self.partition, self.sort, self.values, Demand(checked=False), as_stored=self.as_stored)


@dataclass(frozen=True, slots=True, repr=False)
class Partition(Generic[EC_co]):
    """Names all items that share a partition key: of the table, or of the index that ``index`` names. Equal partitions are one; hashable."""

    entity: type[EC_co]
    partition: KeyValue
    values: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    index: str | None = None

    def __repr__(self) -> str:
        values = [f"{name}={value!r}" for name, value in self.values]
        if self.index is None:
            return f"{self.entity.__name__}.partition_of({', '.join(values)})"
        return f"{self.entity.__name__}.index_partition_of({', '.join((repr(self.index), *values))})"


def refuse_demand(key: Key[Any], reader: str) -> None:
    """Refuse a version that is said of an item which ``reader`` reads, to demand the version that it finds."""
    if isinstance(key, Target) and key.demand is not None and key.demand.checked:
        raise InvalidRequest(
            f"{key.entity.__name__}: {reader} reads the item and demands the version that it read: leave if_version out; to demand another one, update or put",
            key=key,
        )


def is_key(value: object) -> TypeGuard[Key[Any]]:
    """Whether something that a caller gave is a key, of whatever type."""
    return isinstance(value, Key)


def is_target(value: object) -> TypeGuard[Target[Any]]:
    """Whether something that a caller gave is a key that says all that a write needs to know."""
    return isinstance(value, Target)


def is_partition(value: object) -> TypeGuard[Partition[Any]]:
    """Whether something that a caller gave is a partition, of whatever type."""
    return isinstance(value, Partition)
