"""Belongs here: many single writes side by side, and what became of each item of a bulk write. Must not be here: batches of the service, reads.

Each write is the conditional write that the verb alone would make, with its own guard, its own deadline and its own word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from surewrite.core.effects import Lock, Operation, Steps, acquire, call_user, join_side, release, start_side
from surewrite.core.keys import is_key
from surewrite.core.outcomes import Applied, Refused
from surewrite.core.scopes import Options, Scope
from surewrite.core.values import Item, sort_token
from surewrite.core.writes import applied_item, delete, put
from surewrite.errors import InvalidRequest

E = TypeVar("E")

Progress = Callable[[int, int], Any]
"""Called with how many items are done and how many there are."""

PARALLEL: Final = 8
PARALLEL_MOST: Final = 256


@dataclass(frozen=True, slots=True)
class BulkResult(Generic[E]):
    """What became of one item of a bulk write; true if it was applied.

    ``given`` is the entity or key as it was given. Exactly one of the others is set: ``outcome`` is what the ``try_`` form
    of the verb returns, ``error`` what it raises (``OutcomeUnknown``, ``Throttled``, ``InvalidRequest``), and
    ``superseded_by`` is the position of a later item with the same key, which was written instead of this one.
    """

    given: Any
    outcome: Applied[E] | Refused[E] | None = None
    error: Exception | None = None
    superseded_by: int | None = None

    def __bool__(self) -> bool:
        return isinstance(self.outcome, Applied)

    @property
    def item(self) -> E:
        """The entity as it was stored. Raises the refusal or the error where it was not, and ``InvalidRequest`` for one that was superseded."""
        if self.error is not None:
            raise self.error
        if self.outcome is None:
            raise InvalidRequest(f"this item was not written: item {self.superseded_by} of the same call has the same key, and the last one wins")
        return applied_item(self.outcome)


def put_many(scope: Scope, entities: Iterable[Any], options: Options, parallel: int, progress: Progress | None) -> Steps[list[BulkResult[Any]]]:
    """A put of each entity, ``parallel`` at a time. The results are in the order of the entities, and none is left out."""
    return (yield from _side_by_side(scope, list(entities), lambda entity: put(scope, entity, options), parallel, progress))


def delete_many(scope: Scope, targets: Iterable[Any], options: Options, parallel: int, progress: Progress | None) -> Steps[list[BulkResult[Any]]]:
    """A delete of each entity or key, ``parallel`` at a time. The results are in the order of the targets, and none is left out."""
    return (yield from _side_by_side(scope, list(targets), lambda target: delete(scope, target, options), parallel, progress))


def key_of(scope: Scope, given: Any) -> Item:
    """The key attributes of an entity or a key. Raises ``InvalidRequest`` for what is neither."""
    return scope.schema.key_item(given) if is_key(given) else scope.schema.key_of_entity(given)


def key_token(item: Item, names: Iterable[str]) -> tuple[Any, ...]:
    """What is equal for two items exactly where their keys are."""
    return tuple(sort_token(item[name]) for name in names)


def last_of_each_key(scope: Scope, given: Sequence[Any]) -> list[BulkResult[Any] | None]:
    """A place for the result of each item: filled where it is not to be written, since its key is wrong or a later item has the same one."""
    results: list[BulkResult[Any] | None] = [None] * len(given)
    latest: dict[tuple[Any, ...], int] = {}
    for index in reversed(range(len(given))):
        try:
            token = key_token(key_of(scope, given[index]), scope.schema.key_names)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one item is the result of that item
            results[index] = BulkResult(given[index], error=error)
            continue
        winner = latest.setdefault(token, index)
        if winner != index:
            results[index] = BulkResult(given[index], superseded_by=winner)
    return results


class _Bulk:
    """The items of one call that wait to be written, and the results so far."""

    __slots__ = ("given", "lock", "progress", "results", "told", "waiting", "write")

    def __init__(self, scope: Scope, given: Sequence[Any], write: Callable[[Any], Steps[Any]], progress: Progress | None) -> None:
        self.given = given
        self.write = write
        self.progress = progress
        self.results = last_of_each_key(scope, given)
        self.waiting = deque(index for index, result in enumerate(self.results) if result is None)
        self.lock = Lock()
        self.told = len(given) - len(self.waiting)

    def work(self) -> Steps[None]:
        """Write what waits, one after another, until nothing does. Several of these run side by side."""
        for _ in self.given:
            try:
                index = self.waiting.popleft()
            except IndexError:
                return
            self.results[index] = yield from self._written(self.given[index])
            if self.progress is not None:
                yield from self._tell(self.progress)

    def _written(self, given: Any) -> Steps[BulkResult[Any]]:
        try:
            outcome = yield from self.write(given)
        except Exception as error:  # noqa: BLE001 - the other items go on, and this one's error is its result
            return BulkResult(given, error=error)
        return BulkResult(given, outcome)

    def _tell(self, progress: Progress) -> Steps[None]:
        yield from acquire(self.lock)
        self.told += 1
        try:
            yield from call_user(progress, self.told, len(self.given))
        except Exception:
            # Who asks for progress may stop the call by it; what is under way comes to its end.
            self.waiting.clear()
            raise
        yield from release(self.lock)


def _side_by_side(
    scope: Scope, given: Sequence[Any], write: Callable[[Any], Steps[Any]], parallel: Any, progress: Progress | None
) -> Steps[list[BulkResult[Any]]]:
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= PARALLEL_MOST:
        raise InvalidRequest(f"{scope.entity}: parallel is how many writes are under way at most, 1 to {PARALLEL_MOST}, not {parallel!r}")
    bulk = _Bulk(scope, given, write, progress)
    work = Operation(bulk.work)
    sides: deque[object] = deque()
    for _ in range(min(parallel, len(bulk.waiting)) - 1):
        side = yield from start_side(work)
        sides.append(side)
    yield from bulk.work()
    for side in sides:
        yield from join_side(side)
    return [result for result in bulk.results if result is not None]
