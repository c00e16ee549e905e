"""Belongs here: what a query or scan asks for, checked before anything is sent, and reading it page by page. Must not be here: writes, gets, cursors' text.

A page of the service holds what it looked at, not what was asked for: items of other types, expired ones and those that
the filter leaves out are dropped on the way, by the service where it can and here again. ``limit`` counts entities.
Source: Developer Guide, pages "Querying tables in DynamoDB", "Scanning tables" and "Paginating table query results".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from surewrite.core import limits
from surewrite.core.asking import ask
from surewrite.core.conditions import Condition
from surewrite.core.cursors import cursor_text, digest_of, position_of
from surewrite.core.effects import Steps, call_user, now
from surewrite.core.expressions import ConditionTree, In, Not, Rendering, Value, all_of, any_of, attribute, equals, names_judged, not_exists
from surewrite.core.indexes import IndexKey
from surewrite.core.keys import Partition, is_partition
from surewrite.core.plan_drafts import is_expired_at, tree_of
from surewrite.core.plans import expired_before, stored_text
from surewrite.core.requests import Request
from surewrite.core.schemas import BoundIndex
from surewrite.core.scopes import Occasion, Scope
from surewrite.core.service_time import is_guess, moment_after
from surewrite.core.sort_conditions import SortCondition, sort_tree
from surewrite.core.values import Item
from surewrite.errors import InvalidRequest, SurewriteError, UndecodableItem, WrongEntityType

E = TypeVar("E")
EC_co = TypeVar("EC_co", covariant=True)

Others = Literal["skip", "raise"]
"""What to do about items of types that were not asked for: not to ask for them, or to raise ``WrongEntityType``."""

OnUndecodable = Callable[[UndecodableItem], Any]
"""Called with each item that cannot be read, which is then left out; what it raises ends the call."""

PAGE_REQUESTS_MAX: Final = 100
"""A filter may leave nothing of many pages; a call ends after so many, with a cursor to go on from."""

LIMIT_LARGEST: Final = 1_000_000
"""What is sent as the number of items to look at stays below; a page ends after 1 MB anyway."""


@dataclass(frozen=True, slots=True)
class Page(Generic[EC_co]):
    """Entities of a query or scan, and where to go on: ``cursor`` is ``None`` at the end, otherwise a text that fits into a URL."""

    items: tuple[EC_co, ...]
    cursor: str | None

    def __iter__(self) -> Iterator[EC_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller says of a query or scan; ``Reading`` is what is made of it."""

    filter: Condition[Any] | None = None
    index: str | None = None
    consistent: bool | None = None
    sort_key: SortCondition | None = None
    descending: bool = False
    segment: tuple[int, int] | None = None
    others: Others = "skip"
    on_undecodable: OnUndecodable | None = None


class _OrderedChoices(Rendering):
    """Choices stand in an order of their own: as a caller wrote them they may come from a set, whose order is another in each process."""

    __slots__ = ()

    def condition(self, tree: ConditionTree) -> str:
        return super().condition(In(tree.operand, tuple(sorted(tree.choices, key=repr))) if isinstance(tree, In) else tree)


@dataclass(frozen=True, slots=True)
class Reading:
    """A query or scan, ready to be made any number of times. ``fixed`` is the part of the request that does not change."""

    scopes: tuple[Scope, ...]
    operation: Literal["Query", "Scan"]
    fixed: Mapping[str, Any]
    keys: ConditionTree | None
    filter: ConditionTree | None
    index: BoundIndex | None
    others: Others
    segment: tuple[int, int] | None
    on_undecodable: OnUndecodable | None

    @property
    def what(self) -> str:
        """For messages."""
        return f"{' and '.join(scope.entity for scope in self.scopes)}: the {self.operation.lower()}"

    def position_types(self) -> dict[str, str]:
        """The attributes that say where a page ends, with the letters of their types: the key of the table, and that of the index."""
        types = dict(self.scopes[0].schema.key_attribute_types())
        for key in self.index.keys if self.index is not None else ():
            types[key.attribute] = key.template.stored
        return types

    def digest(self) -> str:
        """What cursors of this query have in common and those of others have not."""
        rendering = _OrderedChoices()
        texts = [rendering.condition(tree) if tree is not None else None for tree in (self.keys, self.filter)]
        names = [scope.entity for scope in self.scopes]
        return digest_of([self.operation, dict(self.fixed), names, texts, rendering.names, rendering.values, self.others, self.segment])

    def request(self, seconds: int | None, limit: int | None, position: Item | None) -> Request:
        """One page, as it is asked for at that time; ``None`` where that is not known yet, so that the service leaves expired items in."""
        rendering = Rendering()
        body: dict[str, Any] = dict(self.fixed)
        if self.keys is not None:
            body["KeyConditionExpression"] = rendering.condition(self.keys)
        wanted = all_of(self._of_these_types(), self._not_expired(seconds), self.filter)
        if wanted is not None:
            body["FilterExpression"] = rendering.condition(wanted)
        if rendering.names:
            body["ExpressionAttributeNames"] = rendering.names
        if rendering.values:
            body["ExpressionAttributeValues"] = rendering.values
        if limit is not None:
            body["Limit"] = min(limit, LIMIT_LARGEST)
        if position is not None:
            body["ExclusiveStartKey"] = position
        return Request(self.operation, body)

    def _of_these_types(self) -> ConditionTree | None:
        name = self.scopes[0].names.discriminator
        if name is None or self.others == "raise":
            return None
        values = tuple(Value({"S": scope.schema.discriminator_value}) for scope in self.scopes)
        of_a_type = equals(attribute(name), values[0].value) if len(values) == 1 else In(attribute(name), values)
        return any_of(not_exists(attribute(name)), of_a_type)

    def _not_expired(self, seconds: int | None) -> ConditionTree | None:
        """Where not all types have the same time to live only the client can tell. The service takes no filter on the keys of a query."""
        names = {scope.names.time_to_live for scope in self.scopes}
        name = names.pop()
        if names or name is None or seconds is None or name in self._queried_keys():
            return None
        return Not(is_expired_at(name, seconds))

    def _queried_keys(self) -> tuple[str, ...]:
        return _key_names(self.scopes[0], self.index) if self.operation == "Query" else ()

    def entity_of(self, item: Item, seconds: int) -> Any:
        """The entity that an item holds; ``None`` for an expired one and for one of another type. Raises where others are not to be skipped."""
        scope = self._scope_of(item)
        if scope is None:
            return None
        if expired_before(item, scope.names.time_to_live, seconds):
            return None
        if self.index is None:
            return scope.schema.from_item(item)
        read = scope.schema.index(self.index.name).read
        return scope.schema.from_item(item) if read is None else scope.schema.from_item(item, partial=True, read=read)

    def _scope_of(self, item: Item) -> Scope | None:
        """The discriminator tells the type; of an item without one the key does, by the first type whose templates make it."""
        name = self.scopes[0].names.discriminator
        if name is not None and name in item:
            found = stored_text(item, name)
            scope = next((scope for scope in self.scopes if scope.schema.discriminator_value == found), None)
        else:
            found, scope = None, next((scope for scope in self.scopes if scope.schema.fits_key(item)), None)
        if scope is None and self.others == "raise":
            message = f"{self.what} met an item of a type that was not asked for: name it among the types, or skip others"
            raise WrongEntityType(message, key=self.scopes[0].schema.key_from(item), stored_type=found)
        return scope


class Pages(Generic[E]):
    """A query or scan under way. Not to be shared: each call of ``next_page`` reads on from where the one before ended."""

    __slots__ = ("_error", "_evaluated", "_remaining", "done", "position", "reading")

    def __init__(self, reading: Reading, limit: int | None, position: Item | None = None) -> None:
        self.reading = reading
        self.position: Item | None = position
        self.done = False
        self._remaining: int | None = limit
        self._evaluated: int | None = limit
        self._error: SurewriteError | None = None

    def next_page(self) -> Steps[tuple[E, ...]]:
        """The entities of one more page, often none. Afterwards ``done`` says whether that was the last, ``position`` where to go on.

        A page ends before an item that cannot be read. The call after it raises.
        """
        if self._error is not None:
            raise self._error
        moment = yield from now()
        reading = self.reading
        environment = reading.scopes[0].environment
        request = reading.request(None if is_guess(environment, moment) else Occasion(moment, "").seconds, self._evaluated, self.position)
        answer = yield from ask(environment, request, reading.what, None, moment)
        seconds = Occasion((yield from moment_after(moment)), "").seconds
        items: Sequence[Item] = answer.body["Items"]
        after: Item | None = answer.body.get("LastEvaluatedKey")
        if after is not None and after == self.position:
            raise SurewriteError(f"{reading.what} does not come on: the service ends each page at the same item")
        found: list[E] = []
        for number, item in enumerate(items, 1):
            try:
                entity: Any = reading.entity_of(item, seconds)
            except (UndecodableItem, WrongEntityType) as error:
                if isinstance(error, UndecodableItem) and reading.on_undecodable is not None:
                    yield from call_user(reading.on_undecodable, error)
                    continue
                self._error = error
                if not found:
                    raise
                self.position = self._position_at(items[number - 2])
                return tuple(found)
            if entity is None:
                continue
            found.append(entity)
            if len(found) == self._remaining:
                self.done = True
                self.position = after if number == len(items) else self._position_at(item)
                return tuple(found)
        self.position = after
        self.done = after is None
        if self._remaining is not None and self._evaluated is not None:
            # What was looked at was not enough, so the next page looks at more: a filter that leaves little costs few requests.
            self._remaining -= len(found)
            self._evaluated = max(self._remaining, 2 * self._evaluated)
        return tuple(found)

    def _position_at(self, item: Item) -> Item:
        return {name: item[name] for name in self.reading.position_types()}

    @property
    def failed(self) -> bool:
        """Whether the next item is one that cannot be read."""
        return self._error is not None


def query(scopes: Sequence[Scope], partition: Any, wanted: Wanted) -> Reading:
    """A query of one partition of the table or of an index. Raises ``InvalidRequest`` for what the service would refuse or misread."""
    what = _described(scopes)
    if not is_partition(partition):
        raise InvalidRequest(f"{what}: a query takes a partition, such as {scopes[0].entity}.partition_of(...), not {type(partition).__name__}")
    index = _index(scopes, wanted.index if wanted.index is not None else partition.index)
    _check_partition(what, partition, index)
    names = _key_names(scopes[0], index)
    templates = _templates(scopes[0], index)
    letters, value = partition.partition
    if letters != templates[0][1]:
        raise InvalidRequest(f"{what}: {partition.entity.__name__} has a partition key of type {letters}, and this one is of type {templates[0][1]}")
    keys = equals(attribute(names[0]), {letters: value})
    if wanted.sort_key is not None:
        keys = _with_sort_key(what, scopes[0], index, keys, wanted.sort_key)
    fixed = {"ScanIndexForward": False} if wanted.descending else {}
    return _reading(scopes, "Query", wanted, index, keys, fixed)


def scan(scopes: Sequence[Scope], wanted: Wanted) -> Reading:
    """A scan of the whole table or index, or of one segment of it. Raises ``InvalidRequest`` for what the service would refuse."""
    index = _index(scopes, wanted.index)
    fixed: dict[str, Any] = {}
    if wanted.segment is not None:
        segment, total = _checked_segment(_described(scopes), wanted.segment)
        fixed = {"Segment": segment, "TotalSegments": total}
    return _reading(scopes, "Scan", wanted, index, None, fixed)


def page(reading: Reading, cursor: str | None, limit: int | None) -> Steps[Page[Any]]:
    """At most ``limit`` entities from where ``cursor`` says; without a limit one page of the service, 1 MB before the filter.

    Fewer than ``limit`` entities may come with a cursor: where the filter left nothing of many pages, and before an item
    that cannot be read. The page that begins with such an item raises.
    """
    digest = reading.digest()
    position = None if cursor is None else position_of(cursor, digest, reading.position_types())
    pages: Pages[Any] = Pages(reading, checked_limit(reading, limit), position)
    found: list[Any] = []
    for _ in range(1 if limit is None else PAGE_REQUESTS_MAX):
        try:
            found.extend((yield from pages.next_page()))
        except (UndecodableItem, WrongEntityType):
            # What earlier requests found is told first; the next page begins with the item.
            if not (found and pages.failed):
                raise
        if pages.done or pages.failed:
            break
    return Page(tuple(found), None if pages.position is None else cursor_text(digest, pages.position))


def checked_limit(reading: Reading, limit: Any) -> int | None:
    """Refuse a number of entities that makes no sense."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidRequest(f"{reading.what} takes a limit of at least 1 entity, or None for all, not {limit!r}")
    return limit


def _reading(
    scopes: Sequence[Scope], operation: Literal["Query", "Scan"], wanted: Wanted, index: BoundIndex | None, keys: ConditionTree | None, fixed: Mapping[str, Any]
) -> Reading:
    what = _described(scopes)
    if wanted.others not in ("skip", "raise"):
        raise InvalidRequest(f'{what}: others is "skip" or "raise"')
    body: dict[str, Any] = {"TableName": scopes[0].table, "ConsistentRead": _consistent(what, scopes, index, consistent=wanted.consistent), **fixed}
    if index is not None:
        body["IndexName"] = index.name
        if index.read is None:
            # A global index that holds less than was declared makes the service refuse this, where a put would drop data.
            body["Select"] = "ALL_ATTRIBUTES"
    chosen = _filter(what, scopes, wanted.filter)
    if chosen is not None and operation == "Query":
        _require_no_keys(what, chosen, _key_names(scopes[0], index))
    on_undecodable: Any = wanted.on_undecodable
    if on_undecodable is not None and not callable(on_undecodable):
        raise InvalidRequest(f"{what}: on_undecodable is called with each UndecodableItem, such as problems.append of a list, and this is {on_undecodable!r}")
    return Reading(tuple(scopes), operation, body, keys, chosen, index, wanted.others, wanted.segment, wanted.on_undecodable)


def _described(scopes: Sequence[Scope]) -> str:
    if not scopes:
        raise InvalidRequest("name at least one type to read: types=(Customer, Order)")
    return " and ".join(scope.entity for scope in scopes)


def _index(scopes: Sequence[Scope], name: str | None) -> BoundIndex | None:
    """The index, which all types must declare with the same key attributes."""
    if name is None:
        return None
    found = [scope.schema.index(name) for scope in scopes]
    shapes = [[(key.attribute, key.template.stored) for key in index.keys] for index in found]
    for scope, shape in zip(scopes, shapes, strict=True):
        if shape != shapes[0]:
            raise InvalidRequest(f"{scopes[0].entity} and {scope.entity} declare the index {name!r} with different keys")
    whole = all(index.read is None for index in found)
    if not whole and any(index.read is None for index in found):
        raise InvalidRequest(f"{_described(scopes)} declare the index {name!r} with different projections")
    return found[0]


def _check_partition(what: str, partition: Partition[Any], index: BoundIndex | None) -> None:
    if index is None:
        return
    if partition.index is not None and partition.index != index.name:
        raise InvalidRequest(f"{what}: the partition is one of the index {partition.index!r}, and the query names the index {index.name!r}")
    if partition.index is None and index.is_global:
        raise InvalidRequest(
            f"{what}: the index {index.name!r} has partitions of its own: write {partition.entity.__name__}.index_partition_of({index.name!r}, ...)"
        )


def _templates(scope: Scope, index: BoundIndex | None) -> tuple[tuple[str, str], ...]:
    return scope.schema.key_attribute_types() if index is None else tuple((key.attribute, key.template.stored) for key in index.keys)


def _key_names(scope: Scope, index: BoundIndex | None) -> tuple[str, ...]:
    return tuple(name for name, _ in _templates(scope, index))


def _with_sort_key(what: str, scope: Scope, index: BoundIndex | None, keys: ConditionTree, condition: SortCondition) -> ConditionTree:
    definition = scope.schema.definition
    sort: IndexKey | None = index.keys[1] if index is not None and len(index.keys) > 1 else None
    template = sort.template if sort is not None else definition.sort if index is None else None
    if template is None:
        raise InvalidRequest(f"{what}: there is no sort key here, so a query can have no condition on one: leave out sort_key")
    name = sort.attribute if sort is not None else scope.schema.key_names[1]
    both = all_of(keys, sort_tree(what, condition, name, template))
    assert both is not None
    return both


def _consistent(what: str, scopes: Sequence[Scope], index: BoundIndex | None, *, consistent: bool | None) -> bool:
    if index is not None and index.is_global:
        if consistent:
            raise InvalidRequest(f"{what}: the global index {index.name!r} cannot be read consistently: query the table, or leave out consistent")
        return False
    return any(scope.schema.version is not None for scope in scopes) if consistent is None else consistent


def _filter(what: str, scopes: Sequence[Scope], condition: Any) -> ConditionTree | None:
    if condition is None:
        return None
    owner: type | None = getattr(condition, "owner", None)
    if owner is None or len(scopes) == 1:
        return tree_of(scopes[0], condition)
    chosen = next((scope for scope in scopes if issubclass(scope.schema.entity, owner)), None)
    if chosen is None:
        raise InvalidRequest(f"{what}: the filter speaks of a field of {owner.__name__}")
    return tree_of(chosen, condition)


def _require_no_keys(what: str, tree: ConditionTree, keys: Sequence[str]) -> None:
    for name in names_judged(tree):
        if name.parts[0] in keys:
            raise InvalidRequest(f"{what}: {name.parts[0]!r} is part of the key that is queried, and a filter cannot judge it: use the partition and sort_key=")


def _checked_segment(what: str, segment: Any) -> tuple[int, int]:
    match segment:
        case (int() as number, int() as total) if 0 <= number < total <= limits.SCAN_SEGMENTS:
            return number, total
        case _:
            pass
    raise InvalidRequest(f"{what}: segment is (number, how many), such as (0, 4), counted from 0, of at most {limits.SCAN_SEGMENTS}")
