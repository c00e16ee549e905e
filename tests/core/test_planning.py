"""The request that each verb and option compiles to, whole."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity
from surewrite.core.codecs import Codec
from surewrite.core.decisions import Guard
from surewrite.core.effects import Moment
from surewrite.core.entities import Stored, TableLayout, schema_of, with_stored
from surewrite.core.environment import Environment
from surewrite.core.expressions import Rendering, all_of, holds_on_absent
from surewrite.core.plan_drafts import Draft, changes_beside
from surewrite.core.planning import plan_check, plan_create, plan_delete, plan_put, plan_update, plan_upsert, plan_upsert_over_expired
from surewrite.core.plans import Expected, Plan
from surewrite.core.scopes import Occasion, Options, Scope
from surewrite.core.traits import EndpointTraits
from surewrite.core.values import item_size


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="{id}"):
    id: Attribute[str]
    balance: Attribute[int] = sw.attribute(default=0)
    revision: Attribute[int | None] = sw.version()


class Note(Entity, partition_key="{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    order: Attribute[int] = sw.attribute(default=0)


class Ticket(Entity, partition_key="{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)


OCCASION = Occasion(Moment(1_000.4, 1_000.9, 0.0), "id")
NOTHING = Options()
BARE = TableLayout(("pk",), None, None, None)


def scope(entity: type[Any], layout: TableLayout | None = None) -> Scope:
    return Scope(
        Environment(EndpointTraits("test")),
        "things",
        schema_of(entity).bind(layout or TableLayout(("pk",), "_type" if entity is Account else None, "_s", "_b")),
    )


def loaded(entity: Any, version: int | None, stamp: str | None = "3:old", birth: str | None = "1:birth") -> Any:
    return with_stored(entity, Stored(version, stamp, birth))


def spelled(plan: Plan) -> dict[str, str]:
    """The expressions of a plan with names and values put in, as a person would write them."""
    return _spelled(plan.body)


def _spelled(body: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in ("UpdateExpression", "ConditionExpression"):
        text = body.get(part)
        if text is not None:
            for placeholder, value in {**body.get("ExpressionAttributeNames", {}), **body.get("ExpressionAttributeValues", {})}.items():
                shown = value if isinstance(value, str) else next(iter(value.values()))
                text = _replace_whole(text, placeholder, str(shown))
            found["update" if part == "UpdateExpression" else "when"] = text
    return found


def _replace_whole(text: str, placeholder: str, shown: str) -> str:
    return re.sub(re.escape(placeholder) + r"(?![A-Za-z0-9_])", shown, text)


ACCOUNT, NOTE, TICKET = Account.key_of("a"), Note.key_of("a"), Ticket.key_of("a")
OLD = loaded(Account(id="a"), 3)
OLD_NOTE = loaded(Note(id="a"), None, "-:old")
OLD_TICKET = loaded(Ticket(id="a"), None, "-:old")
OF_ACCOUNT = "(attribute_not_exists(_type) OR _type = ACCOUNT)"
STAMPED = "_s = -:id, _b = if_not_exists(_b, -:id)"
ALIVE = "NOT (ttl < 1000)"


def case(entity: type[Any], compile_plan: Any, guard: Guard, layout: TableLayout | None = None, **expected: str) -> Any:
    return entity, compile_plan, guard, layout, expected


CASES: dict[str, Any] = {
    "create": case(Account, lambda s: plan_create(s, Account(id="a"), OCCASION, NOTHING), Guard.IDEMPOTENT, when="attribute_not_exists(pk)"),
    "create of a type with a time to live": case(
        Ticket, lambda s: plan_create(s, Ticket(id="a"), OCCASION, NOTHING), Guard.IDEMPOTENT, when="attribute_not_exists(pk) OR ttl < 1000"
    ),
    "put of a new versioned entity": case(
        Account, lambda s: plan_put(s, Account(id="a"), OCCASION, NOTHING), Guard.IDEMPOTENT, when="attribute_not_exists(pk)"
    ),
    "put of a loaded versioned entity": case(
        Account, lambda s: plan_put(s, OLD, OCCASION, NOTHING), Guard.STAMPED, when="attribute_exists(pk) AND revision = 3 AND _s = 3:old"
    ),
    "put of a loaded entity without a version": case(
        Account,
        lambda s: plan_put(s, loaded(Account(id="a"), None, None, None), OCCASION, NOTHING),
        Guard.VERSION,
        when="attribute_exists(pk) AND (attribute_not_exists(revision) OR attribute_type(revision, NULL)) AND attribute_not_exists(_s)",
    ),
    "put blind": case(Note, lambda s: plan_put(s, Note(id="a"), OCCASION, NOTHING), Guard.IDEMPOTENT),
    "put with a condition": case(Note, lambda s: plan_put(s, Note(id="a"), OCCASION, Options(condition=Note.count == 1)), Guard.IDEMPOTENT, when="count = 1"),
    "put if unchanged": case(
        Note, lambda s: plan_put(s, OLD_NOTE, OCCASION, Options(if_unchanged=True)), Guard.STAMPED, when="attribute_exists(pk) AND _s = -:old"
    ),
    "put with an order": case(Note, lambda s: plan_put(s, Note(id="a", order=5), OCCASION, Options(condition=Note.order < 5)), Guard.ORDER, when="order < 5"),
    "update of a loaded entity": case(
        Account,
        lambda s: plan_update(s, OLD, [Account.balance.add(1)], OCCASION, NOTHING),
        Guard.STAMPED,
        update="ADD balance 1 SET revision = 4, _s = 4:id, _b = if_not_exists(_b, 4:id)",
        when="attribute_exists(pk) AND revision = 3 AND _s = 3:old",
    ),
    "update if_version": case(
        Account,
        lambda s: plan_update(s, ACCOUNT.if_version(3), [Account.balance.add(1)], OCCASION, NOTHING),
        Guard.VERSION,
        update="ADD balance 1 SET revision = 4, _s = 4:id, _b = if_not_exists(_b, 4:id)",
        when=f"attribute_exists(pk) AND {OF_ACCOUNT} AND revision = 3",
    ),
    "update ignore_version": case(
        Account,
        lambda s: plan_update(s, ACCOUNT.ignore_version(), [Account.balance.set(1)], OCCASION, NOTHING),
        Guard.NOT_IDEMPOTENT,
        update="SET balance = 1, revision = if_not_exists(revision, 0) + 1, _s = -:id, _b = if_not_exists(_b, -:id)",
        when=f"attribute_exists(pk) AND {OF_ACCOUNT}",
    ),
    "update of constants": case(
        Note,
        lambda s: plan_update(s, NOTE, [Note.text.set("x")], OCCASION, NOTHING),
        Guard.IDEMPOTENT,
        update="SET text = x, _s = -:id, _b = if_not_exists(_b, -:id)",
        when="attribute_exists(pk)",
    ),
    "update of an unversioned entity means its key": case(
        Note,
        lambda s: plan_update(s, OLD_NOTE, [Note.count.add(1)], OCCASION, NOTHING),
        Guard.NOT_IDEMPOTENT,
        update=f"ADD count 1 SET {STAMPED}",
        when="attribute_exists(pk)",
    ),
    "update that the caller lets resend": case(
        Note,
        lambda s: plan_update(s, NOTE, [Note.count.add(1)], OCCASION, Options(in_doubt="resend")),
        Guard.IDEMPOTENT,
        update=f"ADD count 1 SET {STAMPED}",
        when="attribute_exists(pk)",
    ),
    "update of a type with a time to live": case(
        Ticket,
        lambda s: plan_update(s, TICKET, [Ticket.text.set("x")], OCCASION, Options(condition=Ticket.text == "y")),
        Guard.IDEMPOTENT,
        update="SET text = x, _s = -:id, _b = if_not_exists(_b, -:id)",
        when=f"attribute_exists(pk) AND {ALIVE} AND text = y",
    ),
    "upsert of constants": case(
        Note,
        lambda s: plan_upsert(s, NOTE, [Note.text.set("x")], OCCASION, NOTHING),
        Guard.IDEMPOTENT,
        update=f"SET text = x, id = a, count = if_not_exists(count, 0), order = if_not_exists(order, 0), {STAMPED}",
    ),
    "upsert over what may have expired": case(
        Ticket,
        lambda s: plan_upsert(s, TICKET, [Ticket.text.set("x")], OCCASION, NOTHING),
        Guard.IDEMPOTENT,
        update="SET text = x, id = a, _s = -:id, _b = if_not_exists(_b, -:id)",
        when=ALIVE,
    ),
    "upsert over an expired item": case(
        Ticket,
        lambda s: plan_upsert_over_expired(s, TICKET, [Ticket.text.set("x")], Expected(None, "-:old", "-:old"), OCCASION),
        Guard.STAMPED,
        when="attribute_exists(pk) AND ttl < 1000 AND _s = -:old",
    ),
    "upsert over an expired item without stamps": case(
        Ticket,
        lambda s: plan_upsert_over_expired(s, TICKET, [Ticket.text.set("x")], Expected(None, None, None), OCCASION),
        Guard.IDEMPOTENT,
        BARE,
        when="attribute_exists(pk) AND ttl < 1000",
    ),
    "delete of a loaded entity": case(
        Account, lambda s: plan_delete(s, OLD, OCCASION, NOTHING), Guard.STAMPED_DELETE, when="attribute_exists(pk) AND revision = 3 AND _s = 3:old"
    ),
    "delete by key": case(Note, lambda s: plan_delete(s, NOTE, OCCASION, NOTHING), Guard.IDEMPOTENT_DELETE, when="attribute_exists(pk)"),
    "delete if unchanged": case(
        Ticket,
        lambda s: plan_delete(s, OLD_TICKET, OCCASION, Options(if_unchanged=True)),
        Guard.STAMPED_DELETE,
        when=f"attribute_exists(pk) AND {ALIVE} AND _s = -:old",
    ),
    "delete if_version": case(
        Account,
        lambda s: plan_delete(s, ACCOUNT.if_version(3), OCCASION, NOTHING),
        Guard.VERSION_DELETE,
        when=f"attribute_exists(pk) AND {OF_ACCOUNT} AND revision = 3",
    ),
    "delete without stamps": case(
        Account,
        lambda s: plan_delete(s, OLD, OCCASION, NOTHING),
        Guard.VERSION_DELETE,
        TableLayout(("pk",), "_type", None, None),
        when="attribute_exists(pk) AND revision = 3",
    ),
    "check that holds on nothing": case(
        Ticket, lambda s: plan_check(s, TICKET, OCCASION, Options(Ticket.text.not_exists())), Guard.TOKEN, when="ttl < 1000 OR attribute_not_exists(text)"
    ),
    "check that needs an item": case(Ticket, lambda s: plan_check(s, TICKET, OCCASION, Options(Ticket.text == "x")), Guard.TOKEN, when=f"{ALIVE} AND text = x"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_verb_compiles_to_its_request_and_guard(name: str) -> None:
    entity, compile_plan, guard, layout, expected = CASES[name]
    plan = compile_plan(scope(entity, layout))
    assert spelled(plan) == expected
    assert plan.guard is guard
    assert ("ReturnValuesOnConditionCheckFailure" in plan.body) is ("when" in expected)


def test_a_put_stores_version_stamp_and_birth() -> None:
    stored = plan_put(scope(Account), OLD.replace(balance=7), OCCASION, NOTHING).stored
    assert stored == {
        "pk": {"S": "a"}, "id": {"S": "a"}, "balance": {"N": "7"}, "revision": {"N": "4"},
        "_type": {"S": "ACCOUNT"}, "_s": {"S": "4:id"}, "_b": {"S": "1:birth"},
    }  # fmt: skip
    made = plan_create(scope(Account), Account(id="a"), OCCASION, NOTHING).stored
    assert made is not None
    assert (made["revision"], made["_s"], made["_b"]) == ({"N": "1"}, {"S": "1:id"}, {"S": "1:id"})


def test_switched_off_attributes_are_neither_stored_nor_asked_for() -> None:
    bare = scope(Account, BARE)
    assert set(plan_create(bare, Account(id="a"), OCCASION, NOTHING).stored or {}) == {"pk", "id", "balance", "revision"}
    assert spelled(plan_update(bare, ACCOUNT.if_version(3), [Account.balance.add(1)], OCCASION, NOTHING)) == {
        "update": "ADD balance 1 SET revision = 4",
        "when": "attribute_exists(pk) AND revision = 3",
    }


PART = with_stored(Note(id="a"), Stored(None, "-:x", "-:x", partial=True))
REFUSED: dict[str, Any] = {
    "a put of what was read in part": (Note, lambda s: plan_put(s, PART, OCCASION, NOTHING), "read in part"),
    "a change of the key": (Note, lambda s: plan_update(s, NOTE, [Note.id.set("b")], OCCASION, NOTHING), "part of the key"),
    "a change of the version": (Account, lambda s: plan_update(s, OLD, [Account.revision.set(9)], OCCASION, NOTHING), "cannot be set"),
    "no change": (Note, lambda s: plan_update(s, NOTE, [], OCCASION, NOTHING), "no change was given"),
    "a change of another type": (Note, lambda s: plan_update(s, NOTE, [Account.balance.add(1)], OCCASION, NOTHING), "field of Account"),
    "a condition on another type": (Note, lambda s: plan_delete(s, NOTE, OCCASION, Options(condition=Account.balance == 1)), "field of Account"),
    "a key that says nothing of the version": (Account, lambda s: plan_update(s, ACCOUNT, [Account.balance.add(1)], OCCASION, NOTHING), "if_version"),
    "an entity that was never stored": (Account, lambda s: plan_update(s, Account(id="a"), [Account.balance.add(1)], OCCASION, NOTHING), "never stored"),
    "if_unchanged of a new entity": (Note, lambda s: plan_put(s, Note(id="a"), OCCASION, Options(if_unchanged=True)), "read or written before"),
    "an upsert of an entity": (Note, lambda s: plan_upsert(s, OLD_NOTE, [Note.text.set("x")], OCCASION, NOTHING), "takes a key"),
    "an item that is too large": (Note, lambda s: plan_put(s, Note(id="a", text="x" * 410_000), OCCASION, NOTHING), "text 410004 bytes"),
    "a condition that is none": (Note, lambda s: plan_delete(s, NOTE, OCCASION, Options(condition=True)), "made by a field"),  # type: ignore[arg-type]
    "a change that is none": (Note, lambda s: plan_update(s, NOTE, ["text"], OCCASION, NOTHING), "made by a field"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_before_anything_is_sent(name: str) -> None:
    entity, compile_plan, message = REFUSED[name]
    with pytest.raises(sw.InvalidRequest, match=message):
        compile_plan(scope(entity))


def test_the_time_in_a_condition_is_the_service_time_cut_down_to_seconds() -> None:
    later = Occasion(Moment(5_000.0, datetime(2026, 11, 29, tzinfo=UTC).timestamp() + 0.999, 0.0), "id")
    when = spelled(plan_create(scope(Ticket), Ticket(id="a"), later, NOTHING))["when"]
    assert when == f"attribute_not_exists(pk) OR ttl < {int(datetime(2026, 11, 29, tzinfo=UTC).timestamp())}"


class Session(VersionedEntity, discriminator="-1", partition_key="{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)
    revision: Attribute[int | None] = sw.version()


class Visit(Entity, partition_key="{id}"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    count: Attribute[int] = sw.attribute(default=0)
    ends_at: Attribute[datetime | None] = sw.time_to_live(stored_as="ttl", default=None)


CHANGES: tuple[Any, ...] = (lambda t: t.count.add(1), lambda t: t.text.set("x"), lambda t: t.count.set(t.count.if_not_exists(7) + 1), lambda t: t.text.remove())
CONDITIONS: tuple[Any, ...] = (
    lambda t: None,
    lambda t: t.count == 1,
    lambda t: (t.count == -1) | t.text.not_exists(),
    lambda t: (t.count >= 0) & ~t.text.begins_with("x"),
    lambda t: t.count.not_exists(),
)
TYPES: tuple[tuple[type[Any], TableLayout], ...] = tuple(
    (entity, TableLayout(("pk",), discriminator if entity is Session else None, stamp, birth))
    for entity in (Session, Visit, Note)
    for discriminator in ("_type", None)
    for stamp, birth in (("_s", "_b"), ("_s", None), (None, None))
)


@given(st.data())
def test_what_is_compiled_once_says_what_is_rendered_each_time(data: st.DataObject) -> None:
    """One database, so that what the first writes compile is found by the others."""
    environment = Environment(EndpointTraits("test"))
    for _ in range(data.draw(st.integers(1, 6))):
        entity, layout = data.draw(st.sampled_from(TYPES))
        place = Scope(environment, "things", schema_of(entity).bind(layout))
        version = data.draw(st.sampled_from([None, 0, 7, -1, -2, -3])) if entity is Session else None
        stamp = data.draw(st.sampled_from([None, "3:old"])) if layout.stamp is not None else None
        occasion = Occasion(Moment(0.0, float(data.draw(st.integers(0, 10_000))), 0.0), data.draw(st.sampled_from(["id", "other"])))
        options = Options(data.draw(st.sampled_from(CONDITIONS))(entity), if_unchanged=entity is not Session and layout.stamp is not None)
        target = _target(data, entity, version, stamp)
        if isinstance(target, entity) and entity is not Session and layout.stamp is None:
            continue
        whole = isinstance(target, entity)
        verb = data.draw(st.sampled_from(["update", "put", "delete"])) if whole else "update"
        changes = data.draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=1)) if verb == "update" else []
        made = [change(entity) for change in changes]
        if verb == "update":
            plan = plan_update(place, target, made, occasion, options)
        else:
            plan = plan_put(place, target, occasion, options) if verb == "put" else plan_delete(place, target, occasion, options)
        _check_straightforward(place, plan, occasion, options, whole=whole, own=[change.tree for change in made])


def _target(data: st.DataObject, entity: type[Any], version: int | None, stamp: str | None) -> Any:
    if data.draw(st.booleans()):
        return loaded(entity(id="a"), version, stamp)
    key = entity.key_of("a")
    if entity is not Session:
        return key
    return key.if_version(version) if data.draw(st.booleans()) else key.ignore_version()


def _check_straightforward(place: Scope, plan: Plan, occasion: Occasion, options: Options, *, whole: bool, own: list[Any]) -> None:
    """The same request, its condition and changes made of the values of this call and rendered at once."""
    draft = Draft(place, occasion, options, plan.key)
    if whole:
        state: Any = draft.unchanged(plan.expected) if plan.expected is not None else None
    else:
        state = draft.has_version(plan.version_demand.version) if plan.version_demand is not None else None
    condition = all_of(draft.present(), None if whole else draft.of_this_type(), state, draft.condition)
    assert condition is not None
    rendering = Rendering()
    body: dict[str, Any] = {"ConditionExpression": rendering.condition(condition)}
    if plan.verb == "update":
        body["UpdateExpression"] = rendering.update([*own, *changes_beside(place.names, plan.version, plan.stamp)])
        assert list(plan.changes) == own
    body |= {"ExpressionAttributeNames": rendering.names, "ExpressionAttributeValues": rendering.values}
    assert spelled(plan) == _spelled(body)
    sent = plan.body
    text = sent["ConditionExpression"] + " " + sent.get("UpdateExpression", "")
    # The service refuses a placeholder that is not used, and one that it does not know.
    assert set(re.findall(r"[#:]\d+", text)) == {*sent.get("ExpressionAttributeNames", {}), *sent.get("ExpressionAttributeValues", {})}
    assert plan.fails_on_absent is not holds_on_absent(condition)


def test_plans_that_are_compiled_once_share_no_values() -> None:
    one = plan_put(scope(Account), loaded(Account(id="a"), None), OCCASION, NOTHING)
    other = plan_put(scope(Account), loaded(Account(id="a"), None, "4:new"), OCCASION, NOTHING)
    assert one.body["ExpressionAttributeValues"][":0"] is not other.body["ExpressionAttributeValues"][":0"]
    assert one.body["ExpressionAttributeValues"] != other.body["ExpressionAttributeValues"]


@pytest.mark.parametrize("letter", ["a", "ä", "語", "😀", "\x00", "'"])
def test_an_item_of_letters_of_any_length_is_held_to_the_limit_of_the_service(letter: str) -> None:
    empty = plan_put(scope(Note), Note(id="a"), OCCASION, NOTHING).stored
    assert empty is not None
    room = 409_600 - item_size(empty)
    fits = letter * (room // len(letter.encode()))
    assert plan_put(scope(Note), Note(id="a", text=fits), OCCASION, NOTHING).stored is not None
    with pytest.raises(sw.InvalidRequest, match="409600"):
        plan_put(scope(Note), Note(id="a", text=fits + letter), OCCASION, NOTHING)


def test_a_text_that_comes_twice_counts_twice() -> None:
    half = "x" * 205_000
    with pytest.raises(sw.InvalidRequest, match="409600"):
        plan_put(scope(Pair), Pair(id="a", first=half, second=half), OCCASION, NOTHING)


class _Shout(str):
    __slots__ = ()


class Pair(Entity, partition_key="{id}"):
    id: Attribute[str]
    first: Attribute[str] = sw.attribute(default="")
    second: Attribute[str] = sw.attribute(default="")
    third: Attribute[str] = sw.attribute(default="", codec=Codec("str", "S", "text", str, lambda text: {"S": _Shout(text)}, lambda value: str(value["S"])))


@pytest.mark.parametrize(("length", "fits"), [(100, True), (410_000, False)])
def test_a_codec_may_store_a_text_of_a_class_of_its_own(length: int, *, fits: bool) -> None:
    pair = Pair(id="a", third="x" * length)
    if fits:
        assert (plan_put(scope(Pair), pair, OCCASION, NOTHING).stored or {})["third"] == {"S": "x" * length}
    else:
        with pytest.raises(sw.InvalidRequest, match="409600"):
            plan_put(scope(Pair), pair, OCCASION, NOTHING)
