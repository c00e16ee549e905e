"""Belongs here: cases of transactions, tokens and the fence. Must not be here: single writes."""

from __future__ import annotations

from collections.abc import Callable

from surewrite.core.answers import Reason, Rejection
from surewrite.core.decisions import Decision
from surewrite.core.requests import Request
from surewrite.core.scopes import Options
from surewrite.core.transaction_drafts import compile_transaction, token_of_name
from surewrite.core.values import Item
from surewrite.testing.explorer import naive, others, subjects
from surewrite.testing.explorer.cases import Case
from surewrite.testing.explorer.cases_creates import SEVERAL_WRITES
from surewrite.testing.explorer.clients import transaction
from surewrite.testing.explorer.promises import ONCE, TRANSACTION, Promise
from surewrite.testing.explorer.search import World
from surewrite.testing.explorer.stage import ITEM_ID, ROW_ID, OperationRow, Price, Session, Stock, environment, occasion
from surewrite.testing.explorer.subjects import Draft, drafted

THREE = 3
KEY = Price.key_of(ITEM_ID)
ANY_VERSION = Stock.key_of(ITEM_ID).ignore_version()

BUSY = (
    Rejection("TransactionCanceledException", reasons=(Reason("TransactionConflict"),)),
    Rejection("TransactionInProgressException"),
    Rejection("AccessDeniedException"),
)

_drain = others.change("takes all", Price, Price.amount.set(0), when=lambda price: price.amount >= THREE)
_fill = others.change("fills up", Price, Price.amount.set(10), when=lambda price: price.amount < THREE)
_AROUND = (_drain, _fill, others.delete(Price), others.create(Price(id=ITEM_ID)))

_take = drafted(lambda draft, scope: draft.update(scope(Price), KEY, [Price.amount.add(-THREE)], Options(condition=Price.amount >= THREE)))
_add = drafted(lambda draft, scope: draft.update(scope(Price), KEY, [Price.amount.add(1)], Options()))
_create = drafted(lambda draft, scope: draft.create(scope(Price), Price(id=ITEM_ID)))
_delete = drafted(lambda draft, scope: draft.delete(scope(Price), KEY, Options()))
_put = drafted(lambda draft, scope: draft.put(scope(Price), Price(id=ITEM_ID, amount=subjects.SAVED), Options()))
_upsert = drafted(lambda draft, scope: draft.upsert(scope(Session), Session.key_of(ITEM_ID), [Session.amount.set(1)], Options()))
_save = drafted(lambda draft, scope: draft.put(scope(Stock), subjects.loaded_stock().replace(amount=subjects.SAVED), Options()))
_named_take = drafted(
    lambda draft, scope: draft.update(scope(Price), KEY, [Price.amount.add(-THREE)], Options(condition=Price.amount >= THREE)), name="order 7"
)
_with_row = drafted(
    lambda draft, scope: (
        draft.update(scope(Stock), ANY_VERSION, [Stock.amount.add(5)], Options()),
        draft.create(scope(OperationRow), OperationRow(id=ROW_ID)),
    )
)


def _committed(draft: Draft) -> Callable[[], Request]:
    """The request of a named transaction, as every process that is given the name sends it."""
    made = draft(environment())
    assert made.name is not None
    request = compile_transaction(made, occasion(""), token_of_name(made.name)).request()
    return lambda: request


_OTHER_CONTENT = others.commits(
    "commits another transaction under the same name",
    _committed(drafted(lambda draft, scope: draft.create(scope(OperationRow), OperationRow(id=ROW_ID)), name="order 7")),
)
_RESTARTED = others.commits("a restarted process commits the transaction of the same name", _committed(_named_take), same_operation=True)

_SUBJECTS: tuple[tuple[str, Draft, tuple[Item, ...]], ...] = (
    ("take", _take, (subjects.PRICE,)),
    ("add", _add, (subjects.PRICE,)),
    ("create", _create, ()),
    ("delete", _delete, (subjects.PRICE,)),
    ("put", _put, (subjects.PRICE,)),
)

COMMITS = tuple(
    Case(
        f"transaction-{name}-{'remembered' if remembers else 'forgotten'}",
        f"a {name} as a transaction: once, and unknown only while nothing answers; cancelled originals are {'remembered' if remembers else 'forgotten'}",
        transaction(draft),
        World(start, _AROUND, THREE, remembers_cancelled=remembers),
        TRANSACTION,
    )
    for name, draft, start in _SUBJECTS
    for remembers in (False, True)
)

MORE_COMMITS = (
    Case(
        "transaction-save",
        "a save of a loaded entity as a transaction",
        transaction(_save),
        World((subjects.STOCK,), (others.save(), others.delete(), others.create()), THREE),
        TRANSACTION,
    ),
    Case(
        "transaction-busy",
        "conflicts, transactions in progress and lost rights between the attempts",
        transaction(_take),
        World((subjects.PRICE,), (_drain, _fill), 2, answers=BUSY),
        TRANSACTION,
    ),
    Case(
        "transaction-busy-remembered",
        "the same where cancelled originals are remembered",
        transaction(_take),
        World((subjects.PRICE,), (_drain, _fill), 2, answers=BUSY, remembers_cancelled=True),
        TRANSACTION,
    ),
    Case("transaction-named", "a transaction that the caller named", transaction(_named_take), World((subjects.PRICE,), _AROUND, THREE), TRANSACTION),
    Case(
        "transaction-over-an-expired-item",
        "an upsert in a transaction replaces an expired item, in another transaction",
        transaction(_upsert),
        World((subjects.EXPIRED,), (others.save(Session), others.delete(Session), others.create(Session(id=ITEM_ID))), 2),
        ONCE,
        patience=SEVERAL_WRITES,
    ),
    Case(
        "transaction-over-told-resends",
        "a transport that resends and says so: the token makes one of the two",
        transaction(_take),
        World((subjects.PRICE,), (_drain, _fill), 2, resends="told"),
        TRANSACTION,
    ),
    Case(
        "transaction-of-two",
        "two items: both or neither",
        transaction(_with_row),
        World((subjects.STOCK,), (others.save(), others.delete(), others.create()), 2),
        TRANSACTION,
    ),
    Case(
        "transaction-refused-without-item",
        "a cancellation that shows no item is settled all the same",
        transaction(_create),
        World((), _AROUND, 2, hides_items=True),
        TRANSACTION,
    ),
    Case(
        "transaction-named-twice",
        "two contents under one name: one of them is written",
        transaction(_named_take),
        World((subjects.PRICE,), (_drain, _fill, _OTHER_CONTENT), THREE),
        TRANSACTION,
    ),
    Case(
        "transaction-named-restarted",
        "two processes under one name: written once between them",
        transaction(_named_take),
        World((subjects.PRICE,), (_drain, _fill, _RESTARTED), THREE),
        Promise("operation", settles=True),
    ),
    Case(
        "transaction-frozen",
        "a process that is frozen for longer than its token lives does not send again",
        transaction(_add),
        World((subjects.PRICE,), (_drain,), 2, freezes=True),
        ONCE,
    ),
    Case("transaction-without-late-copies", "where no attempt is late", transaction(_create), World((), _AROUND, THREE, late=False), TRANSACTION),
    Case(
        "transaction-refused-in-doubt",
        "without a fence, unknown is the only true word for a refusal in doubt",
        naive.without_fence(_take, in_doubt=Decision.UNKNOWN),
        World((subjects.PRICE,), (_drain, _fill)),
        ONCE,
    ),
    Case(
        "operation-row",
        "a row that names the operation, in the same transaction: once, even where tokens are ignored",
        naive.without_fence(_with_row, in_doubt=Decision.UNKNOWN),
        World((subjects.STOCK,), (others.save(), others.delete(), others.create()), tokens="ignored"),
        ONCE,
    ),
)

TRANSACTION_LIMITS = (
    Case(
        "token-outlived",
        "an attempt that is carried out after its token was forgotten counts again: attempts must not live so long",
        transaction(_add),
        World((subjects.PRICE,), (_drain,), 2, tokens="forgotten"),
        ONCE,
        breaks="told applied (exactly once), took effect twice",
    ),
    Case(
        "token-ignored",
        "an endpoint that ignores tokens makes it twice: this is why it is probed",
        transaction(_add),
        World((subjects.PRICE,), (), tokens="ignored"),
        ONCE,
        breaks="told applied (exactly once), took effect twice",
    ),
    Case(
        "token-naive-refusal",
        "a token guards success, not refusal",
        naive.without_fence(_take, in_doubt=Decision.REFUSED),
        World((subjects.PRICE,), (_drain, _fill)),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "token-naive-refusal-of-a-create",
        "the same for a create",
        naive.without_fence(_create, in_doubt=Decision.REFUSED),
        World((), (others.create(Price(id=ITEM_ID)), others.delete(Price))),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "token-naive-fresh",
        "a fresh token while in doubt",
        naive.without_fence(_add, in_doubt=Decision.UNKNOWN, fresh_tokens=True),
        World((subjects.PRICE,)),
        ONCE,
        breaks="told applied, took effect twice",
    ),
    Case(
        "token-naive-fence",
        "a fence under another token proves nothing",
        naive.fenced_under_another_token(_add),
        World((subjects.PRICE,)),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "token-naive-thaw",
        "a retry loop that does not see that it was frozen",
        naive.without_fence(_add, in_doubt=Decision.UNKNOWN),
        World((subjects.PRICE,), freezes=True),
        ONCE,
        breaks="told applied, took effect twice",
    ),
)
