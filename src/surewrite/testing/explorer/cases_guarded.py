"""Belongs here: cases of writes that a version and stamp, an order or an operation id guards. Must not be here: transactions."""

from __future__ import annotations

from surewrite.core.decisions import Guard
from surewrite.testing.explorer import naive, others, subjects
from surewrite.testing.explorer.cases import Case
from surewrite.testing.explorer.cases_creates import DEFINITE, KEY, MODEL, SAVES
from surewrite.testing.explorer.clients import write
from surewrite.testing.explorer.promises import ONCE, Promise
from surewrite.testing.explorer.search import World
from surewrite.testing.explorer.stage import ITEM_ID, LOADED, UNSTAMPED, Price, Stock

FIVE = 5
RELEASES = (*MODEL, others.OLDER_RELEASE, others.FOREIGN_BUMP)
STALE = others.stale_put(subjects.STOCK)
LIFE = Promise("once", life=f"1:{LOADED}")
NEWEST = Promise("once", order=20)

_save = subjects.save()
_delete = subjects.delete_loaded()
_first = Stock.key_of(ITEM_ID).if_version(1)
_one = {":one": {"N": "1"}}
_version = ("#v = :one", {"#v": "revision"}, _one)
_version_and_birth = ("#v = :one AND #b = :b", {"#v": "revision", "#b": "_b"}, {**_one, ":b": {"S": f"1:{LOADED}"}})
_stamp = ("#s = :s", {"#s": "_s"}, {":s": {"S": f"1:{LOADED}"}})


def _stored(*others_: others.Other, actions_max: int = 4) -> World:
    return World((subjects.STOCK,), others_, actions_max)


_PRICED = World(
    (subjects.PRICE,),
    (others.save(Price), others.delete(Price), others.create(Price(id=ITEM_ID)), others.put("puts back what it had loaded", subjects.loaded_price())),
    FIVE,
)

VERSIONED = (
    Case(
        "save",
        "a save of a loaded entity: others save, delete, make anew, stamp without a version, bump without a stamp",
        write(_save),
        _stored(*RELEASES, actions_max=FIVE),
        ONCE,
    ),
    Case("save-while-nobody-deletes", "the same among saves only", write(_save), _stored(*SAVES, actions_max=FIVE), ONCE),
    Case(
        "save-by-definite-answers",
        "a definite answer to a resend proves nothing of the first attempt",
        write(_save),
        World((subjects.STOCK,), MODEL, 3, answers=DEFINITE),
        ONCE,
    ),
    Case(
        "save-refused-without-item",
        "where a refusal shows no item, a read settles only what it proves",
        write(_save),
        World((subjects.STOCK,), RELEASES, 3, hides_items=True),
        ONCE,
    ),
    Case(
        "save-over-told-resends",
        "a transport that resends and says so puts the write in doubt",
        write(_save),
        World((subjects.STOCK,), MODEL, resends="told"),
        ONCE,
    ),
    Case("save-among-old-copies", "a foreign program that puts back an old copy", write(_save), _stored(*RELEASES, STALE), ONCE),
    Case(
        "update-of-the-loaded",
        "an add under version and stamp: resent, and once",
        write(subjects.update_loaded(Stock.amount.add(-subjects.TAKEN))),
        _stored(*RELEASES, actions_max=FIVE),
        ONCE,
    ),
    Case(
        "update-of-the-loaded-with-a-condition",
        "the same under a condition of the caller's",
        write(subjects.update_loaded(Stock.amount.add(-3), condition=Stock.status == "shipped")),
        _stored(*RELEASES),
        ONCE,
    ),
    Case(
        "delete-of-the-loaded",
        "a delete of a loaded entity: once, and gone is true of the life that was loaded",
        write(_delete),
        _stored(*RELEASES, actions_max=FIVE),
        LIFE,
    ),
    Case(
        "delete-of-the-loaded-refused-without-item",
        "the same where a refusal shows no item",
        write(_delete),
        World((subjects.STOCK,), RELEASES, 3, hides_items=True),
        LIFE,
    ),
    Case("put-if-unchanged", "a put of an unchanged loaded entity without a version", write(subjects.put_price(if_unchanged=True)), _PRICED, ONCE),
    Case("delete-if-unchanged", "a delete of such an entity, which whoever had loaded it can put back whole", write(subjects.delete_price()), _PRICED, ONCE),
    Case(
        "update-by-version-while-nobody-deletes",
        "a bare version number guards one life of the item",
        write(subjects.update(_first, Stock.amount.add(-3))),
        _stored(*SAVES, actions_max=FIVE),
        ONCE,
    ),
    Case(
        "update-by-version-among-deletes",
        "also where the item is deleted and not made anew",
        write(subjects.update(_first, Stock.amount.add(-3))),
        World((subjects.STOCK,), (others.save(), others.delete()), 3, answers=DEFINITE),
        ONCE,
    ),
    Case(
        "update-by-version-refused-without-item",
        "and where a refusal shows no item",
        write(subjects.update(_first, Stock.amount.add(-3))),
        World((subjects.STOCK,), (others.save(), others.delete()), hides_items=True),
        ONCE,
    ),
    Case(
        "delete-by-version-while-nobody-makes-anew",
        "a delete by a bare version number, for one life of the item",
        write(subjects.delete(_first)),
        World((subjects.STOCK,), (others.save(), others.delete()), 3, answers=DEFINITE),
        ONCE,
    ),
    Case(
        "save-with-stamps-off-while-nobody-deletes",
        "without stamps a save has the number only, which guards one life",
        write(subjects.save(UNSTAMPED)),
        World((subjects.STOCK_UNSTAMPED,), (others.save(layout=UNSTAMPED),)),
        ONCE,
    ),
    Case(
        "save-by-version-and-birth",
        "version and birth would guard too",
        write(naive.with_condition(_save, *_version_and_birth)),
        _stored(*RELEASES, actions_max=FIVE),
        ONCE,
    ),
)

VERSIONED_LIMITS = (
    Case(
        "update-by-version-hits-a-new-life",
        "a bare version number does not see a delete and recreate",
        write(subjects.update(_first, Stock.amount.add(-3))),
        _stored(*MODEL),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "delete-by-version-hits-a-new-life",
        "nor does a delete by it",
        write(subjects.delete(_first)),
        _stored(*MODEL[1:]),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "save-with-stamps-off",
        "without stamps a save has the number only",
        write(subjects.save(UNSTAMPED)),
        World((subjects.STOCK_UNSTAMPED,), (others.save(layout=UNSTAMPED), others.delete(layout=UNSTAMPED), others.create(layout=UNSTAMPED))),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "save-among-resets",
        "a writer that lowers versions makes refused untrue",
        write(_save),
        _stored(*RELEASES, others.FOREIGN_RESET),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-by-version-and-birth-among-resets",
        "and without the loaded stamp it lets a late copy in",
        write(naive.with_condition(_save, *_version_and_birth)),
        _stored(*RELEASES, others.FOREIGN_RESET),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "save-by-stamp-among-resets",
        "the loaded stamp alone does not mend the word",
        write(naive.with_condition(_save, *_stamp)),
        _stored(*RELEASES, others.FOREIGN_RESET),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-over-unseen-resends",
        "a transport that resends and does not say so makes a refusal untrue",
        write(_save),
        World((subjects.STOCK,), SAVES, resends="unseen"),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-naive",
        "a conflict that is one's own earlier attempt",
        naive.under_rule(_save, naive.no_stamp_is_read),
        _stored(*SAVES),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-naive-refusal",
        "a refusal in doubt is no refusal for good",
        naive.under_rule(_save, naive.last_answer_wins),
        _stored(*SAVES),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-naive-number",
        "a condition on the number only",
        naive.under_rule(naive.with_condition(_save, *_version), naive.next_version_is_refusal),
        _stored(*MODEL),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "save-naive-without-birth",
        "version + 1 under another stamp, without birth, is no definite conflict",
        naive.under_rule(_save, naive.next_version_is_refusal),
        _stored(*MODEL),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-naive-plain-stamp",
        "a stamp that does not name its version: an older release stamps without one",
        naive.under_rule(_save, naive.next_version_in_the_same_life_is_refusal),
        _stored(*MODEL, others.OLDER_RELEASE),
        ONCE,
        breaks="told refused, took effect",
    ),
    Case(
        "save-naive-old-copy",
        "the same, where a foreign program puts back an old copy",
        naive.under_rule(_save, naive.next_version_in_the_same_life_is_refusal),
        _stored(others.save(), STALE),
        ONCE,
        breaks="told refused, took effect",
    ),
)

_newer = subjects.upsert(KEY, Price.amount.set(20), condition=Price.amount.not_exists_or_lt(20))
_orders = (others.apply_if_newer(30), others.apply_if_newer(15))
_off = others.change("sets the status to off", Price, Price.status.set("off"), when=lambda price: price.status != "off")
_on = others.change("sets the status back to paid", Price, Price.status.set("paid"), when=lambda price: price.status != "paid")
_to_30 = others.change("brings the order 30", Price, Price.amount.set(30), when=lambda price: price.amount < 30)
_to_15 = others.change("brings the order 15", Price, Price.amount.set(15), when=lambda price: price.amount < 15)
_ID = "m1"
_unseen = ~Price.operations.contains(_ID)
_counted = (Price.amount.add(5), Price.operations.add(_ID))
_operation = subjects.update(KEY, *_counted, condition=_unseen)
_flush = subjects.update(KEY, Price.amount.add(40), Price.flushes["me"].set(1), condition=Price.flushes["me"].not_exists_or_lt(1))
_next_flush = others.change(
    "A's next flush, made once the first took effect", Price, Price.amount.add(2), Price.flushes["me"].set(2), when=lambda price: price.flushes.get("me") == 1
)

ORDERED = (
    Case("apply-if-newer", "a state is applied once and never moves back while nobody deletes", write(_newer), World((subjects.PRICE,), _orders), NEWEST),
    Case("apply-if-newer-to-nothing", "the same where no item was stored", write(_newer), World((), _orders), NEWEST),
    Case(
        "update-if-newer",
        "an update of a stored item only, by order, where it may be deleted",
        write(subjects.update(KEY, Price.amount.set(20), condition=(Price.amount < 20) & (Price.status == "paid"))),
        World((subjects.PRICE,), (_to_30, _to_15, _off, _on, others.delete(Price)), answers=DEFINITE, actions_max=3),
        ONCE,
    ),
    Case(
        "operation-id-among-deletes",
        "an operation id, where the item is deleted and not made anew",
        write(_operation),
        World((subjects.PRICE,), (others.save(Price), others.delete(Price)), 3, answers=DEFINITE),
        ONCE,
    ),
    Case(
        "operation-id",
        "an add with an operation id in the item: resent, and once while nobody deletes",
        write(_operation),
        World((subjects.PRICE,), (others.save(Price),)),
        ONCE,
    ),
    Case(
        "operation-id-shared",
        "the same, where another worker was given the same operation",
        write(_operation),
        World((subjects.PRICE,), (others.save(Price), others.same_operation("counts the same operation", *_counted, condition=_unseen))),
        Promise("operation"),
    ),
    Case(
        "sequence-of-a-writer",
        "a flush with a sequence for each writer: resent, and once",
        write(_flush),
        World((subjects.PRICE,), (others.change("adds 1", Price, Price.amount.add(1)), _next_flush)),
        ONCE,
    ),
    Case(
        "apply-if-newer-after-a-delete",
        "an order guards one life of the item",
        write(_newer),
        World((subjects.PRICE,), (*_orders, others.delete(Price))),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "operation-id-after-a-delete",
        "so does an operation id",
        write(_operation),
        World((subjects.PRICE,), (others.delete(Price), others.create(Price(id=ITEM_ID)))),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
    Case(
        "operation-id-naive-role",
        "an element that others take out again guards nothing",
        write(naive.with_condition(_operation, "NOT contains(#o, :id)", {"#o": "operations"}, {":id": {"S": _ID}}, Guard.OPERATION_ID)),
        World((subjects.PRICE,), (others.change("takes the element out", Price, Price.operations.discard(_ID), when=lambda price: _ID in price.operations),)),
        ONCE,
        breaks="told unknown, took effect twice",
    ),
)
