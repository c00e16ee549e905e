"""Belongs here: the same methods as the blocking client, awaited; kept equal by a parity test. Must not be here: anything the blocking client lacks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import partial, wraps
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar, overload

from surewrite.async_many_items import AsyncManyOfAnyType, AsyncManyOfOneType
from surewrite.backends.targets import async_backend_for
from surewrite.core import raw, reads, retries, tables, writes
from surewrite.core.conditions import Change, Condition
from surewrite.core.effects import Operation, Steps, steps_of
from surewrite.core.entities import EntityBase, TableLayout
from surewrite.core.environment import Environment
from surewrite.core.keys import Key, Target
from surewrite.core.observation import Observer
from surewrite.core.outcomes import Canceled, Committed, Outcome
from surewrite.core.plans import InDoubt
from surewrite.core.retries import Attempt, ConflictKind
from surewrite.core.scopes import Options
from surewrite.core.table_actions import TableActions
from surewrite.core.traits import EndpointTraits
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactional_reads import transact_get
from surewrite.core.transactions import commit
from surewrite.core.writes import applied_item
from surewrite.drivers.asynchronous import AsyncDriver
from surewrite.drivers.backend import AsyncBackend
from surewrite.drivers.clocks import Chance, Clock

E = TypeVar("E", bound=EntityBase)
E1 = TypeVar("E1", bound=EntityBase)
E2 = TypeVar("E2", bound=EntityBase)
E3 = TypeVar("E3", bound=EntityBase)
R = TypeVar("R")
PS = ParamSpec("PS")


class AsyncEntityTable(AsyncManyOfOneType[E]):
    """The items of one entity type in one table. Make it with ``table.of(Entity)``; it may be kept and shared."""

    __slots__ = ()

    async def get(self, key: Key[E], *, consistent: bool | None = None) -> E:
        """The entity under the key. Raises ``ItemNotFound`` where there is none, or an expired one.

        Half a read unit per started 4 KB, a whole one where ``consistent``; types with a version are read consistently unless told otherwise.
        """
        found: E = await self._driver.run(reads.get(self._scope, key, consistent=consistent))
        return found

    async def get_or_none(self, key: Key[E], *, consistent: bool | None = None) -> E | None:
        """The entity under the key, or ``None`` where there is none, or an expired one."""
        found: E | None = await self._driver.run(reads.get_or_none(self._scope, key, consistent=consistent))
        return found

    async def create(self, entity: E) -> E:
        """Store a new item. Raises ``AlreadyExists`` where one is stored, ``OutcomeUnknown`` where nothing proves what became of it.

        In doubt it is sent again: if somebody deletes the item in between, the resend makes it once more. One write unit per started KB.
        """
        return applied_item(await self.try_create(entity))

    async def try_create(self, entity: E) -> Outcome[E]:
        """The same, with a refusal as an answer instead of an error."""
        return await self._driver.run(writes.create(self._scope, entity))

    @overload
    async def put(self, entity: E, *, condition: Condition[E] | None = None, if_unchanged: bool = False, in_doubt: InDoubt | None = None) -> E: ...
    @overload
    async def put(
        self,
        entity: E,
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        returning: Literal["old"],
    ) -> E | None: ...
    async def put(
        self,
        entity: E,
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        returning: Literal["new", "old"] = "new",
    ) -> E | None:
        """Store an entity whole, with the attributes that it was read with and does not declare.

        A versioned entity that was read or written before demands that nobody wrote since (``VersionConflict``); a new one is a
        create. Without a version the put is unconditional, or compares the loaded stamp with ``if_unchanged``. One write unit per started KB.
        ``returning="old"`` gives the entity that was replaced, ``None`` if there was none, and raises ``OldItemLost`` where its answer was lost.
        """
        options = Options(condition, if_unchanged, in_doubt, returning)
        item: E | None = applied_item(await self._driver.run(writes.put(self._scope, entity, options)))
        return item

    async def try_put(self, entity: E, *, condition: Condition[E] | None = None, if_unchanged: bool = False, in_doubt: InDoubt | None = None) -> Outcome[E]:
        """The same, with a refusal as an answer instead of an error."""
        return await self._driver.run(writes.put(self._scope, entity, Options(condition, if_unchanged, in_doubt)))

    @overload
    async def update(
        self,
        target: E | Target[E],
        *changes: Change[E],
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
    ) -> E: ...
    @overload
    async def update(
        self,
        target: E | Target[E],
        *changes: Change[E],
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        returning: Literal["old"],
    ) -> E | None: ...
    async def update(
        self,
        target: E | Target[E],
        *changes: Change[E],
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
        returning: Literal["new", "old"] = "new",
    ) -> E | None:
        """Change a stored item, and return it as the change left it. Never makes one: ``ItemNotFound`` where there is none.

        A versioned entity demands that nobody wrote since it was read; a key says ``if_version(n)`` or ``ignore_version()``. An
        entity without a version means its key only, unless ``if_unchanged``. One write unit per started KB of the larger of the
        item before and after.
        """
        options = Options(condition, if_unchanged, in_doubt, returning)
        item: E | None = applied_item(await self._driver.run(writes.update(self._scope, target, changes, options)))
        return item

    async def try_update(
        self,
        target: E | Target[E],
        *changes: Change[E],
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
    ) -> Outcome[E]:
        """The same, with a refusal as an answer instead of an error."""
        return await self._driver.run(writes.update(self._scope, target, changes, Options(condition, if_unchanged, in_doubt)))

    async def upsert(self, target: Target[E], *changes: Change[E], condition: Condition[E] | None = None, in_doubt: InDoubt | None = None) -> E:
        """Change a stored item, or make a whole one: key fields, defaults and the changes. Returns it as it is then.

        A required field that the changes leave out raises ``InvalidRequest`` before anything is sent. One write unit per
        started KB; where an expired item is stored, one more request.
        """
        return applied_item(await self.try_upsert(target, *changes, condition=condition, in_doubt=in_doubt))

    async def try_upsert(self, target: Target[E], *changes: Change[E], condition: Condition[E] | None = None, in_doubt: InDoubt | None = None) -> Outcome[E]:
        """The same, with a refusal as an answer instead of an error."""
        return await self._driver.run(writes.upsert(self._scope, target, changes, Options(condition=condition, in_doubt=in_doubt)))

    async def delete(
        self,
        target: E | Target[E],
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
    ) -> E | None:
        """Remove a stored item, and return what was removed. Raises ``ItemNotFound`` where there is none.

        After a lost answer a resend may find nothing: then it returns ``None``, the item is gone, by whose hand cannot be
        known. One write unit per started KB of the item.
        """
        return applied_item(await self.try_delete(target, condition=condition, if_unchanged=if_unchanged, in_doubt=in_doubt))

    async def try_delete(
        self,
        target: E | Target[E],
        *,
        condition: Condition[E] | None = None,
        if_unchanged: bool = False,
        in_doubt: InDoubt | None = None,
    ) -> Outcome[E | None]:
        """The same, with a refusal as an answer instead of an error; ``gone`` tells a delete whose resend found nothing."""
        return await self._driver.run(writes.delete(self._scope, target, Options(condition, if_unchanged, in_doubt)))

    async def modify(self, key: Key[E], change: Callable[[E], E] | Callable[[E], Coroutine[Any, Any, E]], *, attempts: int = retries.RUNS) -> E:
        """Read consistently, let ``change`` make the new entity, write it if nobody wrote since; on a conflict again, at most ``attempts`` times.

        The item that refused a write feeds the next try, so a conflict costs no read. An entity returned unchanged is not
        written. Raises ``ItemNotFound``, ``VersionConflict`` after the last try, ``OutcomeUnknown``, which is never tried again.
        """
        modified: E = await self._driver.run(retries.modify(self._scope, key, change, runs=attempts))
        return modified


class AsyncActions(TableActions):
    """The actions of a transaction on one table: the entity says the type. Nothing is sent before the commit."""

    __slots__ = ()


class AsyncTransaction(AsyncActions):
    """One TransactWriteItems: all of it takes effect, exactly once, or nothing does. Make it with ``table.transaction()``."""

    __slots__ = ("_driver",)

    def __init__(self, driver: AsyncDriver, table: AsyncTable, draft: TransactionDraft) -> None:
        super().__init__(table, draft)
        self._driver = driver

    def on(self, table: AsyncTable) -> AsyncActions:
        """Actions on another table of the same database, in this transaction. Raises ``InvalidRequest`` for one of another connection."""
        self._draft.require_own(table.environment, table.name)
        return AsyncActions(table, self._draft)

    async def commit(self) -> Committed:
        """Send it. Raises ``TransactionCanceled``, ``TransactionConflict``, ``OutcomeUnknown``. Two write units per started KB of each item."""
        result = await self.try_commit()
        if isinstance(result, Canceled):
            raise result.error()
        return result

    async def try_commit(self) -> Committed | Canceled:
        """The same, with a cancellation as an answer instead of an error."""
        return await self._driver.run(commit(self._draft))

    @property
    def result(self) -> Committed:
        """What the commit gave, also that at the end of a ``with`` block: ``tx.result.item_for(marker)``.

        Raises ``InvalidRequest`` before the commit, and ``TransactionCanceled`` where nothing was written.
        """
        return self._draft.told_result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None and not self._draft.committed:
            await self.commit()


class AsyncTable(AsyncManyOfAnyType):
    """One table. Make it with ``db.table(name)``; it may be kept and shared."""

    __slots__ = ()

    async def create_table(self, *entities: type[EntityBase], exist_ok: bool = False) -> None:
        """Make the table that these entities need, billed on demand, wait until it is active, and turn time to live on where one is declared.

        Their indexes are made with it. With ``exist_ok`` a table of the same key that has these indexes is used as it is.
        """
        schemas = [self.scope_of(entity).schema for entity in entities]
        await self._driver.run(tables.create_table(self._environment, self._name, self._layout, schemas, exist_ok=exist_ok))

    def of(self, entity: type[E]) -> AsyncEntityTable[E]:
        """The items of one entity type."""
        return AsyncEntityTable(self._driver, self.scope_of(entity))

    def transaction(self, *, token: str | None = None) -> AsyncTransaction:
        """A transaction on this table, and with ``on`` on others.

        ``token`` names the operation: a restarted process that sends the same content under the same name within four
        minutes finishes it without repeating it. What must hold longer is stored with its effect.
        """
        return AsyncTransaction(self._driver, self, TransactionDraft(self._environment, token))

    @overload
    async def transact_get(self, key: Key[E1], /) -> tuple[E1 | None]: ...
    @overload
    async def transact_get(self, key: Key[E1], second: Key[E2], /) -> tuple[E1 | None, E2 | None]: ...
    @overload
    async def transact_get(self, key: Key[E1], second: Key[E2], third: Key[E3], /) -> tuple[E1 | None, E2 | None, E3 | None]: ...
    @overload
    async def transact_get(self, *keys: Key[E]) -> tuple[E | None, ...]: ...
    async def transact_get(self, *keys: Key[Any]) -> tuple[Any, ...]:
        """The entities under the keys as they were at one moment, ``None`` where there is none. Two read units per started 4 KB of each."""
        return await self._driver.run(transact_get(self._environment, [(self.scope_for(key), key) for key in keys]))


class AsyncRetry:
    """Runs a body again on conflict: a decorator, and a loop of attempts. Make it with ``db.retry_on_conflict()``."""

    __slots__ = ("_driver", "_on", "_runs")

    def __init__(self, driver: AsyncDriver, runs: int, on: ConflictKind) -> None:
        self._driver = driver
        self._runs = runs
        self._on = on

    async def __aiter__(self) -> AsyncIterator[Attempt]:
        """``async for attempt in db.retry_on_conflict(): with attempt: ...``."""
        for number in range(1, self._runs + 1):
            attempt = Attempt(number, self._runs, self._on)
            yield attempt
            attempt.require_entered()
            if attempt.done:
                return
            await self._driver.run(retries.pause_before_run(number))

    def __call__(self, function: Callable[PS, Coroutine[Any, Any, R]]) -> Callable[PS, Coroutine[Any, Any, R]]:
        """``@db.retry_on_conflict()``. Raises ``InvalidRequest`` for a function whose call runs nothing of it yet."""
        retries.check_body(function, awaited=True)

        @wraps(function)
        async def rerunning(*arguments: PS.args, **named: PS.kwargs) -> R:
            result: R = await self._driver.run(retries.rerun(partial(function, *arguments, **named), self._runs, self._on))
            return result

        return rerunning


class AsyncDatabase:
    """A connection to DynamoDB, to an endpoint that speaks its protocol, or to an embedded engine. Made by ``connect_async``.

    It may be shared by tasks, and used from several event loops one after another.
    """

    __slots__ = ("_driver", "_environment")

    def __init__(self, driver: AsyncDriver, environment: Environment) -> None:
        self._driver = driver
        self._environment = environment
        driver.database = environment

    def table(
        self,
        name: str,
        *,
        key: tuple[str] | tuple[str, str] = ("pk", "sk"),
        discriminator: str | None = "_type",
        stamp: str | None = "_s",
        birth: str | None = "_b",
    ) -> AsyncTable:
        """A table by its name, its key attributes, and the names of what this library stores beside the items' own attributes.

        ``discriminator`` holds the entity type, ``stamp`` the last write, ``birth`` the write that made the item, together about
        45 bytes. ``None`` switches one off; without stamp and birth a version number alone guards, and that does not see
        a delete and recreate.
        """
        return AsyncTable(self._driver, self._environment, name, TableLayout(key, discriminator, stamp, birth))

    def retry_on_conflict(self, without_parentheses: None = None, /, *, attempts: int = retries.RUNS, on: ConflictKind = retries.DEFAULT_KINDS) -> AsyncRetry:
        """Run a body again when a write in it was refused by another writer.

        ``@db.retry_on_conflict()``, or ``async for attempt in db.retry_on_conflict(): with attempt: ...``.

        The body reads again in each run. It is not run again for ``OutcomeUnknown``, for throttling, or after a write inside it was applied.
        """
        return AsyncRetry(self._driver, retries.check_runs(attempts, without_parentheses), retries.check_kinds(on))

    @property
    def endpoint(self) -> EndpointTraits:
        """What is known of the endpoint, and what was found out since: transactions, their tokens, the item that refuses a write; ``None`` is not known yet."""
        return self._environment.traits

    async def run(self, operation: Operation[R] | Steps[R]) -> R:
        """Run an operation, such as those that recipes give."""
        return await self._driver.run(steps_of(operation))

    async def execute(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The service's own request, sent once, with no promise: ``db.execute("PutItem", {...})`` gives the answer's body.

        Raises ``ServiceFault`` with the service's error code, and ``OutcomeUnknown`` or ``ConnectionFailed`` where there is no answer.
        """
        return await self._driver.run(raw.execute(self._environment, operation, body))

    async def close(self) -> None:
        """Close the connections. Data of ``memory:`` is gone with the last reference to it."""
        await self._driver.backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def connect_async(
    target: str | object | None = None,
    *,
    timeout: float = 2.0,
    deadline: float = 10.0,
    clock: Clock | None = None,
    chance: Chance | None = None,
    observer: Observer | None = None,
) -> AsyncDatabase:
    """Connect. Nothing is sent or opened before the first call.

    ``target`` is ``"memory:"`` for a fresh embedded engine, ``"memory:NAME"`` for one shared by that name in the process,
    ``"file:PATH"`` for one on disk, a URL such as ``"http://127.0.0.1:8000"``, a ``boto3.Session``, a boto3 client whose own
    resends are off, or nothing for DynamoDB itself with the region and credentials that boto3 would find.
    ``timeout`` bounds one attempt and ``deadline`` a whole call, in seconds; settling a transaction in doubt may take as long
    again, and what makes several calls has a deadline for each. ``observer`` gets an ``Observation`` of each
    attempt, conflict, recovery and unknown outcome. ``clock`` and ``chance`` replace time and randomness in tests.
    """
    backend: AsyncBackend = async_backend_for(target)
    environment = Environment(backend.traits, timeout_seconds=timeout, deadline_seconds=deadline, observer=observer)
    return AsyncDatabase(AsyncDriver(backend, clock=clock or Clock(), chance=chance or Chance()), environment)
