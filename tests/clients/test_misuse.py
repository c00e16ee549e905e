"""Wrong use that no type checker sees, or that an untyped program sends anyway, is an error before anything is sent that says what to write."""

from __future__ import annotations

from datetime import date

import pytest
from tests.typing.accepted.entities import Account, DailyTally, LiveMatch, MailClaim, Order, Registrant, Results

import surewrite as sw
from surewrite import Attribute, VersionedEntity
from surewrite.recipes import AtMostOnceCounter, CounterRow

KEY = Account.key_of("alice")


def test_conditions_joined_by_and_are_refused() -> None:
    with pytest.raises(sw.InvalidRequest, match="&"):
        _ = Account.balance > 1 and Account.balance < 9


def test_a_chained_comparison_is_refused() -> None:
    with pytest.raises(sw.InvalidRequest, match="&"):
        _ = 1 < Account.balance < 9


def test_a_condition_is_no_truth() -> None:
    with pytest.raises(sw.InvalidRequest, match="no truth value"):
        bool(Account.balance == 3)
    with pytest.raises(sw.InvalidRequest, match="no truth value"):
        _ = not Account.balance > 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Account(id="a").replace(balanec=1), "balanec"),
        (lambda: Account(id="a").replace(balance="1"), r"Account\.balance"),
        (lambda: Account(id="a").replace(revision=3), "leave it out"),
        (lambda: Account.key_of(1, 2, 3), "takes 1 values, not 3"),
        (lambda: Account.key_of(3), r"Account\.id"),
        (Account.key_of, "needs 'id'"),
        (lambda: Account(id=3), r"Account\.id"),
        (Account, r"Account\(id=\.\.\.\)"),
        (lambda: Account("alice"), "by name"),
        (lambda: Account(id="a", owner="b"), "owner"),
        (lambda: Account(id="a", revision=3), "leave it out"),
        (lambda: Account.balance.add("x"), r"Account\.balance"),
        (lambda: DailyTally.seen.add(3), r"DailyTally\.seen"),
        (lambda: LiveMatch.score_at < None, "exists"),
        (lambda: LiveMatch.status == None, "exists"),  # noqa: E711 - what is refused
        (lambda: Account.balance == "10", r"Account\.balance"),
        (lambda: LiveMatch.score_at < "2026", r"LiveMatch\.score_at"),
        (lambda: Account.balance + "x", r"Account\.balance"),
        (lambda: Registrant.email.set(None), r"remove\(\)"),
        (lambda: Results.results.append("x"), r"Results\.results"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_where_it_is_written(wrong, says) -> None:
    with pytest.raises(sw.InvalidRequest, match=says):
        wrong()


@pytest.mark.parametrize("connect", [sw.connect, sw.connect_async])
def test_a_retry_without_parentheses_says_so(connect) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"parentheses: @db\.retry_on_conflict\(\)"):

        @connect("memory:").retry_on_conflict
        def body() -> None: ...


@pytest.mark.parametrize("connect", [sw.connect, sw.connect_async])
@pytest.mark.parametrize("on", [sw.ConflictKind(0), "version", None])
def test_a_retry_on_no_kind_of_conflict_is_refused(connect, on) -> None:
    with pytest.raises(sw.InvalidRequest, match="one or more kinds of conflict"):
        connect("memory:").retry_on_conflict(on=on)


def test_an_operation_on_a_table_is_not_made_over_another_connection() -> None:
    mine, other = sw.connect("memory:"), sw.connect("memory:")
    for database in (mine, other):
        database.table("shop").create_table(CounterRow)
    views = AtMostOnceCounter(mine.table("shop"), "views")
    with pytest.raises(sw.InvalidRequest, match="run it by the database of its table"):
        other.run(views.add())
    assert mine.run(views.add()) == 1
    assert other.run(AtMostOnceCounter(other.table("shop"), "views").value()) == 0


@pytest.mark.parametrize("key", ["id", (), ["pk", "sk"], ("a", "b", "c"), ("pk", ""), (1,)])
def test_key_attributes_are_given_as_a_tuple_of_one_or_two_names(key) -> None:
    with pytest.raises(sw.InvalidRequest, match=r'given as key=\("id",\) or key=\("pk", "sk"\)'):
        sw.connect("memory:").table("shop", key=key)


def test_an_entity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="replace"):
        Account(id="a").balance = 3


def test_a_path_has_only_the_changes_of_its_type() -> None:
    with pytest.raises(AttributeError):
        _ = Account.balance.append


def test_a_keyword_of_a_class_that_does_not_exist_is_refused() -> None:
    with pytest.raises(sw.DefinitionError, match="sort_kye"):

        class Bad(VersionedEntity, partition_key="B#{id}", sort_kye="x"):
            id: Attribute[str]
            version: Attribute[int | None] = sw.version()


def test_a_plain_default_is_refused() -> None:
    with pytest.raises(sw.DefinitionError, match=r"attribute\(default=\.\.\.\)"):

        class Bad(VersionedEntity, partition_key="B#{n}"):
            n: Attribute[int] = 0
            version: Attribute[int | None] = sw.version()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda accounts: accounts.update(KEY, Account.balance.add(10)), "has a version"),
        (lambda accounts: accounts.try_update(KEY, Account.balance.add(10)), "has a version"),
        (lambda accounts: accounts.upsert(KEY, Account.balance.add(10)), "has a version"),
        (lambda accounts: accounts.delete(KEY), "has a version"),
        (lambda accounts: accounts.update(MailClaim.key_of("x"), Account.balance.add(1)), r"write Account\.key_of"),
        (lambda accounts: accounts.update(KEY.if_version(1), DailyTally.count.add(1)), "speaks of a field of DailyTally"),
        (lambda accounts: accounts.update(KEY.if_version(1), Account.balance.add(1), condition=Order.stock > 1), "speaks of a field of Order"),
        (lambda accounts: accounts.put(MailClaim(address="a", owner="b")), "MailClaim is no Account"),
        (lambda accounts: accounts.update(KEY.if_version(1), Account.balance > 3), "a change is made by a field"),
        (lambda accounts: accounts.put(Account(id="a"), condition=Account.balance.exists), "a condition is made by a field"),
        (lambda accounts: accounts.put(Account(id="a"), condition=True), "a condition is made by a field"),
        (lambda accounts: accounts.update(KEY.if_version(1), Account.balance.add(1), in_doubt="never"), 'in_doubt is "resend" or "raise"'),
        (lambda accounts: accounts.put(Account(id="a"), in_doubt="Raise"), 'in_doubt is "resend" or "raise"'),
        (lambda accounts: accounts.put(Account(id="a"), returning="none"), 'returning is "new" or "old"'),
        (lambda accounts: accounts.get("alice"), "key"),
        (lambda accounts: accounts.create(None), r"expected an entity, not NoneType: write Account\(\.\.\.\)"),
        (lambda accounts: accounts.create(KEY), "expected an entity, not a key"),
    ],
)
async def test_a_call_that_makes_no_sense_is_refused_before_anything_is_sent(lossy, call, says) -> None:
    db, faults = lossy()
    with pytest.raises(sw.InvalidRequest, match=says):
        await call(db.table("surewrite-test-no-such-table").of(Account))
    assert faults.sent == 0


@pytest.mark.parametrize(("given", "says"), [(None, "not NoneType$"), (print, r"not builtin_function_or_method: call it"), (5, "not int$")])
async def test_only_an_operation_can_be_run(lossy, given, says) -> None:
    db, _ = lossy()
    with pytest.raises(sw.InvalidRequest, match=f"run takes an operation.* {says}"):
        await db.run(given)


@pytest.mark.parametrize("given", ["Account", Account(id="a"), dict])
async def test_a_table_of_what_is_no_class_of_entities_is_refused(lossy, given) -> None:
    db, _ = lossy()
    with pytest.raises(sw.InvalidRequest, match="expected the class of the entities"):
        db.table("shop").of(given)


def test_a_key_of_a_type_without_a_version_demands_none() -> None:
    with pytest.raises(AttributeError):
        _ = DailyTally.key_of("x", date(2026, 11, 29)).if_version


async def test_an_action_on_a_table_of_another_connection_is_refused(connect, shop, shop_name) -> None:
    tx = shop.transaction()
    with pytest.raises(sw.InvalidRequest, match="is of another connection"):
        tx.on(connect().table(shop_name)).delete(MailClaim.key_of("a"))
    tx.on(shop).delete(MailClaim.key_of("a"))


async def test_a_check_without_a_condition_is_refused(shop) -> None:
    with pytest.raises(sw.InvalidRequest, match=r"a check demands a condition, such as MailClaim\.field"):
        shop.transaction().check(MailClaim.key_of("a"), None)
