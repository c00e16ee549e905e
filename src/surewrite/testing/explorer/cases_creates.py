"""Belongs here: cases of creates, blind puts, upserts and deletes by key: writes without a guard. Must not be here: guarded writes."""

from __future__ import annotations

from typing import Any

from surewrite.core.answers import Rejection
from surewrite.core.conditions import Condition
from surewrite.core.decisions import Guard
from surewrite.core.effects import Steps
from surewrite.core.environment import Environment
from surewrite.core.scopes import Options
from surewrite.core.writes import upsert as upsert_verb
from surewrite.testing.explorer import naive, others, subjects
from surewrite.testing.explorer.cases import Case
from surewrite.testing.explorer.clients import Patience, Start, verb, write
from surewrite.testing.explorer.promises import ANY_NUMBER, ONCE
from surewrite.testing.explorer.search import World
from surewrite.testing.explorer.stage import ITEM_ID, NOW_SECONDS, UNSTAMPED, Price, Session, Stock, scope_of

THROTTLED = Rejection("ThrottlingException")
DENIED = Rejection("AccessDeniedException")
DEFINITE = (THROTTLED, DENIED, Rejection("ResourceNotFoundException"), Rejection("ValidationException", "Item size has exceeded"))
"""Answers that say for certain that nothing was written, by the attempt that they answer."""

MODEL = (others.save(), others.delete(), others.create())
SAVES = (others.save(),)
PRICES = (others.save(Price), others.delete(Price), others.create(Price(id=ITEM_ID)))

ABSENT = World((), MODEL)
STORED = World((subjects.STOCK,), MODEL)
PRICED = World((subjects.PRICE,), PRICES)

_seven = others.put("puts an item of amount 7 that does not end", Session(id=ITEM_ID, amount=7))
SESSIONS = (others.save(Session), others.delete(Session), others.create(Session(id=ITEM_ID)))

SEVERAL_WRITES = Patience(attempts=2, settling=1)

KEY = Price.key_of(ITEM_ID)
ANY_VERSION = Stock.key_of(ITEM_ID).ignore_version()
NOT_MINE = ("#s <> :mine", {"#s": "_s"}, {":mine": {"S": "-:A"}})

_created = subjects.create(Stock(id=ITEM_ID))
_put = subjects.put_price()
_ship = subjects.update(KEY, Price.status.set("shipped"), condition=Price.status == "paid")
_buried_by = others.bury
_back_to_paid = others.change("sets the status back to paid", Price, Price.status.set("paid"), when=lambda price: price.status != "paid")
_on_to_delivered = others.change("sets the status to delivered", Price, Price.status.set("delivered"), when=lambda price: price.status != "delivered")


def _upsert_over_expired(condition: Condition[Any] | None = None) -> Start:
    def make(around: Environment) -> Steps[Any]:
        return upsert_verb(scope_of(Session, around), Session.key_of(ITEM_ID), [Session.amount.set(1)], Options(condition=condition))

    return verb(make)


CREATES = (
    Case("create", "a create tells the truth, whatever others do and however late an attempt is", write(_created), ABSENT, ANY_NUMBER),
    Case(
        "create-by-definite-answers",
        "a definite answer to a resend proves nothing of the first attempt",
        write(_created),
        World((), MODEL, 3, answers=DEFINITE),
        ANY_NUMBER,
    ),
    Case(
        "create-while-nobody-deletes",
        "a create takes effect at most once while nobody deletes",
        write(_created),
        World((), (others.save(), others.create())),
        ONCE,
    ),
    Case("create-without-late-copies", "a create tells the truth where no attempt is late", write(_created), World((), MODEL, late=False), ANY_NUMBER),
    Case("create-never-resent", "with in_doubt=raise a create takes effect at most once", write(subjects.create(Stock(id=ITEM_ID), "raise")), ABSENT, ONCE),
    Case(
        "create-refused-without-item",
        "where a refusal shows no item, a read settles only what it proves",
        write(_created),
        World((), MODEL, hides_items=True),
        ANY_NUMBER,
    ),
    Case(
        "create-over-told-resends",
        "a transport that resends and says so puts the write in doubt",
        write(_created),
        World((), MODEL, 3, resends="told"),
        ANY_NUMBER,
    ),
    Case(
        "create-over-a-grave",
        "a create over an expired item is not repeated over a later grave: its time is frozen in the plan",
        write(subjects.create(Session(id=ITEM_ID))),
        World((subjects.EXPIRED,), (others.save(Session), _buried_by(lambda acted: NOW_SECONDS + acted))),
        ONCE,
    ),
    Case(
        "upsert-over-an-expired-item",
        "an upsert replaces an expired item by a whole new one and tells the truth, over all the writes that this takes",
        _upsert_over_expired(),
        World((subjects.EXPIRED,), SESSIONS, 3),
        ANY_NUMBER,
        patience=SEVERAL_WRITES,
    ),
    Case(
        "upsert-over-an-expired-item-by-definite-answers",
        "the same where resends and the second write are throttled or denied",
        _upsert_over_expired(),
        World((subjects.EXPIRED,), SESSIONS, 1, answers=(THROTTLED, DENIED)),
        ANY_NUMBER,
        patience=SEVERAL_WRITES,
    ),
    Case(
        "upsert-over-an-expired-item-with-a-condition",
        "the same under a condition: a refusal of a later write proves nothing of an earlier one",
        _upsert_over_expired(Session.amount.not_exists() | (Session.amount != 7)),
        World((subjects.EXPIRED,), (others.save(Session), _seven, others.delete(Session)), 3),
        ANY_NUMBER,
        patience=SEVERAL_WRITES,
    ),
    Case(
        "create-with-stamps-off",
        "without stamps a create in doubt is unknown",
        write(subjects.create(Stock(id=ITEM_ID), layout=UNSTAMPED)),
        World((), (others.save(layout=UNSTAMPED), others.delete(layout=UNSTAMPED), others.create(layout=UNSTAMPED))),
        ANY_NUMBER,
    ),
    Case(
        "create-resurrects",
        "a late or own resend of a create makes again what another deleted: at least once, not once",
        write(_created),
        ABSENT,
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "create-resurrects-without-late-copies",
        "the client's own resend is enough",
        write(_created),
        World((), MODEL, late=False),
        ONCE,
        breaks="told applied, took effect twice",
    ),
    Case(
        "create-naive-refusal",
        "a refusal in doubt is no refusal for good",
        naive.under_rule(_created, naive.last_answer_wins),
        ABSENT,
        ANY_NUMBER,
        breaks="told refused, took effect",
    ),
    Case(
        "create-naive-definite-answers",
        "the last answer must not win over doubt",
        naive.under_rule(_created, naive.last_answer_wins),
        World((), (), answers=DEFINITE),
        ANY_NUMBER,
        breaks="told refused, took effect",
    ),
    Case(
        "create-over-unseen-resends-while-nobody-deletes",
        "the birth settles a create even over a transport that resends unseen",
        write(_created),
        World((), (others.save(), others.create()), 3, resends="unseen"),
        ANY_NUMBER,
    ),
    Case(
        "create-over-unseen-resends",
        "a transport that resends and does not say so makes a refusal untrue",
        write(_created),
        World((), MODEL, 3, resends="unseen"),
        ANY_NUMBER,
        breaks="told applied (exactly once), took effect twice",
    ),
    Case(
        "create-naive-grave",
        "a create that takes every grave for absent comes back over the next one",
        write(
            naive.with_condition(
                subjects.create(Session(id=ITEM_ID)), "attribute_not_exists(#pk) OR attribute_exists(#ttl)", {"#pk": "pk", "#ttl": "expires"}, {}
            )
        ),
        World((), (others.save(Session), _buried_by(lambda acted: NOW_SECONDS + acted))),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
)

PUTS = (
    Case("put", "a blind put tells the truth", write(_put), PRICED, ANY_NUMBER),
    Case(
        "put-alone",
        "with no other writer a resent put takes effect as if once",
        naive.under_rule(naive.with_condition(_put, *NOT_MINE), naive.by_the_table),
        World((subjects.PRICE,)),
        ONCE,
    ),
    Case("put-never-resent", "with in_doubt=raise a put takes effect at most once", write(subjects.put_price("raise")), PRICED, ONCE),
    Case(
        "put-naive-stamp-guard",
        "stamp <> mine guards nothing once another has written",
        naive.under_rule(naive.with_condition(_put, *NOT_MINE, Guard.VERSION), naive.by_the_table),
        World((subjects.PRICE,), (others.save(Price),)),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
)

UPDATES = (
    Case("update-of-constants", "an update of constants tells the truth", write(_ship), World((subjects.PRICE,), (*PRICES, _back_to_paid)), ANY_NUMBER),
    Case(
        "update-of-constants-by-definite-answers",
        "the same where resends are throttled or denied",
        write(_ship),
        World((subjects.PRICE,), PRICES, 3, answers=DEFINITE),
        ANY_NUMBER,
    ),
    Case(
        "transition-that-never-comes-back",
        "a transition takes effect at most once while its state does not return",
        write(_ship),
        World((subjects.PRICE,), (_on_to_delivered,)),
        ONCE,
    ),
    Case(
        "transition-that-comes-back",
        "where the state returns a resend makes the transition again",
        write(_ship),
        World((subjects.PRICE,), (_back_to_paid,)),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "transition-naive-stamp-guard",
        "stamp <> mine does not help",
        naive.under_rule(
            naive.with_condition(
                _ship, "#s <> :mine AND #status = :paid", {"#s": "_s", "#status": "status"}, {":mine": {"S": "-:A"}, ":paid": {"S": "paid"}}, Guard.VERSION
            ),
            naive.by_the_table,
        ),
        World((subjects.PRICE,), (_back_to_paid,)),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "update-naive-not-found",
        "no item after a lost answer does not say that nothing was done",
        naive.under_rule(_ship, naive.last_answer_wins),
        World((subjects.PRICE,), (others.delete(Price),)),
        ANY_NUMBER,
        breaks="told refused, took effect",
    ),
    Case("upsert", "an upsert of constants tells the truth", write(subjects.upsert(KEY, Price.status.set("shipped"))), World((), PRICES), ANY_NUMBER),
    Case(
        "upsert-of-the-first-version",
        "an upsert that demands that there is no version takes effect at most once while nobody deletes",
        write(subjects.upsert(Stock.key_of(ITEM_ID).if_version(None), Stock.status.set("shipped"))),
        World((), (others.save(), others.create())),
        ONCE,
    ),
)

DELETES = (
    Case("delete-by-key", "a delete by key tells the truth, gone included", write(subjects.delete(KEY)), PRICED, ANY_NUMBER),
    Case(
        "delete-by-key-refused-without-item",
        "the same where a refusal shows no item",
        write(subjects.delete(KEY)),
        World((subjects.PRICE,), PRICES, hides_items=True),
        ANY_NUMBER,
    ),
    Case(
        "delete-by-key-by-definite-answers",
        "the same where resends are throttled or denied",
        write(subjects.delete(KEY)),
        World((subjects.PRICE,), PRICES, 3, answers=DEFINITE),
        ANY_NUMBER,
    ),
    Case("delete-by-key-never-resent", "with in_doubt=raise a delete takes effect at most once", write(subjects.delete(KEY, "raise")), PRICED, ONCE),
    Case(
        "delete-hits-a-new-life",
        "a resent delete by key removes what another made anew",
        write(subjects.delete(KEY)),
        World((subjects.PRICE,), PRICES[1:]),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "delete-naive-absence",
        "that nothing is stored does not say who deleted it",
        naive.under_rule(subjects.delete(KEY), naive.absence_is_success),
        World((subjects.PRICE,), PRICES[1:]),
        ANY_NUMBER,
        breaks="told applied, never took effect",
    ),
)

COUNTS = (
    Case("add", "an add that is never resent takes effect at most once", write(subjects.update(KEY, Price.amount.add(5))), PRICED, ONCE),
    Case(
        "add-resent-on-request",
        "with in_doubt=resend an add says by its word that it may have counted more than once",
        write(subjects.update(KEY, Price.amount.add(5), in_doubt="resend")),
        PRICED,
        ANY_NUMBER,
    ),
    Case(
        "add-by-definite-answers",
        "the same where attempts are throttled or denied",
        write(subjects.update(KEY, Price.amount.add(5))),
        World((subjects.PRICE,), PRICES, 3, answers=DEFINITE),
        ONCE,
    ),
    Case("take", "a take, likewise", write(subjects.update(KEY, Price.amount.add(-3), condition=Price.amount >= 3)), PRICED, ONCE),
    Case(
        "update-that-ignores-the-version",
        "an update that lets the service raise the version is never resent",
        write(subjects.update(ANY_VERSION, Stock.status.set("shipped"))),
        STORED,
        ONCE,
    ),
    Case(
        "take-alone",
        "with no other writer stamp <> mine lets a resend count once",
        naive.under_rule(naive.with_condition(subjects.update(KEY, Price.amount.add(-3)), *NOT_MINE, Guard.IDEMPOTENT), naive.by_the_table),
        World((subjects.PRICE,)),
        ONCE,
    ),
    Case(
        "take-naive-stamp-guard",
        "stamp <> mine takes twice once another has written",
        naive.under_rule(
            naive.with_condition(
                subjects.update(KEY, Price.amount.add(-3)),
                "#s <> :mine AND #n >= :t",
                {"#s": "_s", "#n": "amount"},
                {":mine": {"S": "-:A"}, ":t": {"N": "3"}},
                Guard.VERSION,
            ),
            naive.by_the_table,
        ),
        World((subjects.PRICE,), (others.save(Price),)),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "add-over-unseen-resends",
        "no table mends a transport that resends an add unseen",
        write(subjects.update(KEY, Price.amount.add(5))),
        World((subjects.PRICE,), resends="unseen"),
        ONCE,
        breaks="told applied (exactly once), took effect twice",
    ),
    Case(
        "add-over-told-resends-by-its-word",
        "its word says so: not exactly once, or unknown",
        write(subjects.update(KEY, Price.amount.add(5))),
        World((subjects.PRICE,), PRICES, 3, resends="told", answers=DEFINITE),
        ANY_NUMBER,
    ),
    Case(
        "add-over-told-resends",
        "nor one that tells: such a transport must not be given an add",
        write(subjects.update(KEY, Price.amount.add(5))),
        World((subjects.PRICE,), resends="told"),
        ONCE,
        breaks="told applied, took effect twice",
    ),
)
