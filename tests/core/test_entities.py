"""Entities as values: what they are made of, what they refuse, and every error in a declaration."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import pytest

import surewrite as sw
from surewrite import Attribute, DefinitionError, Entity, Fields, InvalidRequest, VersionedEntity
from surewrite.core.entities import Stored, TableLayout, schema_of, stored_state, with_stored
from surewrite.core.paths import NumberPath, TextPath


class Account(VersionedEntity, discriminator="ACCOUNT", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
    id: Attribute[str]
    balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
    note: Attribute[str | None] = sw.attribute(default=None)
    revision: Attribute[int | None] = sw.version()


class Basket(Entity, discriminator="BASKET", partition_key="BASKET#{id}"):
    id: Attribute[str]
    lines: Attribute[list[int]] = sw.attribute(default_factory=list)
    ends: Attribute[datetime | None] = sw.time_to_live(default=None)


LOADED = Stored(version=3, stamp="3:x", birth="1:y", unknown={"other": {"S": "o"}})
anything: Any = Account


def loaded() -> Account:
    return with_stored(Account(id="a", balance=Decimal(5)), LOADED)


# ------------------------------------------------------------------------------------------------------------- instances


def test_an_entity_has_its_values_and_defaults_and_no_version() -> None:
    account = Account(id="a")
    assert (account.id, account.balance, account.note, account.revision) == ("a", Decimal(0), None, None)
    assert stored_state(account) is None


def test_a_default_factory_makes_a_value_for_each_entity() -> None:
    first, second = Basket(id="a"), Basket(id="b")
    first.lines.append(1)
    assert second.lines == []


def test_an_int_is_taken_for_a_decimal_and_kept_as_one() -> None:
    made = anything(id="a", balance=3)
    assert type(made.balance) is Decimal


def test_a_time_to_live_is_rounded_up_when_the_entity_is_made() -> None:
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert Basket(id="a", ends=noon + timedelta(microseconds=1)).ends == noon + timedelta(seconds=1)


def test_what_the_caller_does_with_a_list_given_changes_no_entity() -> None:
    given = [1]
    basket = Basket(id="a", lines=given)
    given.append(2)
    assert basket.lines == [1]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (anything, "Account needs id: write Account(id=...)"),
        (lambda: anything("alice"), "takes its fields by name"),
        (lambda: anything(id=3), "Account.id takes str, not int"),
        (lambda: anything(id=None), "Attribute[str | None]"),
        (lambda: anything(id="a", balance=1.5), "Account.balance takes Decimal, not float: write Decimal(str(value))"),
        (lambda: anything(id="a", balance=Decimal("NaN")), "Account.balance cannot store this Decimal: NaN"),
        (lambda: anything(id="a", balance=True), "takes Decimal, not bool"),
        (lambda: anything(id="a", owner="b"), "Account has no field 'owner'"),
        (lambda: anything(id="a", balanec=1), "did you mean balance"),
        (lambda: anything(id="a", revision=3), "the version, which the library sets"),
    ],
)
def test_values_that_cannot_be_stored_are_refused_when_the_entity_is_made(make: Callable[[], Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        make()


def test_an_entity_cannot_be_changed() -> None:
    account: Any = Account(id="a")
    with pytest.raises(AttributeError, match=re.escape("write entity.replace(balance=...)")):
        account.balance = Decimal(1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del account.balance
    with pytest.raises(AttributeError, match="cannot be changed"):
        account.anything_else = 1
    assert account == Account(id="a")


def test_entities_are_equal_by_type_fields_and_version() -> None:
    class Twin(VersionedEntity, discriminator="TWIN", partition_key="ACCOUNT#{id}", sort_key="BALANCE"):
        id: Attribute[str]
        balance: Attribute[Decimal] = sw.attribute(default=Decimal(0))
        note: Attribute[str | None] = sw.attribute(default=None)
        revision: Attribute[int | None] = sw.version()

    assert Account(id="a") == Account(id="a", balance=Decimal("0.0"))
    assert Account(id="a") != Account(id="b")
    assert Account(id="a") != Twin(id="a")
    assert loaded() != Account(id="a", balance=Decimal(5))
    assert loaded() == with_stored(Account(id="a", balance=Decimal(5)), Stored(3, "other", None))
    assert len({Account(id="a"), Account(id="a"), loaded()}) == 2


def test_an_entity_with_a_list_is_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(Basket(id="a"))


def test_the_text_of_an_entity_shows_its_declared_fields() -> None:
    assert repr(loaded()) == "Account(id='a', balance=Decimal('5'), note=None, revision=3)"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda entity: pickle.loads(pickle.dumps(entity))])
def test_copies_are_equal_and_keep_the_state(copied: Callable[[Account], Account]) -> None:
    other = copied(loaded())
    assert other == loaded()
    assert stored_state(other) == LOADED
    assert other.replace(balance=Decimal(6)).balance == 6


# --------------------------------------------------------------------------------------------------------------- replace


def test_replace_keeps_version_stamp_birth_and_unknown_attributes() -> None:
    other = loaded().replace(balance=Decimal(6))
    assert (other.balance, other.revision) == (6, 3)
    assert stored_state(other) == LOADED
    assert loaded().balance == 5


def test_replace_of_a_key_field_by_another_value_makes_a_new_unstored_entity() -> None:
    other = loaded().replace(id="b")
    assert stored_state(other) is None
    assert other.revision is None
    same = loaded().replace(id="a")
    assert stored_state(same) == LOADED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"balanec": 1}, "did you mean balance"),
        ({"balance": "1"}, "Account.balance takes Decimal, not str"),
        ({"id": None}, "takes str, not None"),
        ({"revision": 4}, "which every write raises by itself"),
    ],
)
def test_replace_checks_names_and_values(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        loaded().replace(**changes)


def test_with_stored_shows_the_version_and_leaves_the_given_entity() -> None:
    new = Account(id="a")
    stored = with_stored(new, LOADED)
    assert (stored.revision, new.revision) == (3, None)
    assert stored_state(new) is None
    assert stored_state(with_stored(Basket(id="a"), LOADED)) == LOADED


# ----------------------------------------------------------------------------------------------------------- declarations


def two_versions() -> type:
    class Bad(VersionedEntity, partition_key="{id}"):
        id: Attribute[str]
        first: Attribute[int | None] = sw.version()
        second: Attribute[int | None] = sw.version()

    return Bad


def version_in_key() -> type:
    class Bad(VersionedEntity, partition_key="B#{revision}"):
        id: Attribute[str]
        revision: Attribute[int | None] = sw.version()

    return Bad


def version_on_entity() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        revision: Attribute[int | None] = sw.version()

    return Bad


def no_version() -> type:
    class Bad(VersionedEntity, partition_key="{id}"):
        id: Attribute[str]

    return Bad


def version_of_another_type() -> type:
    class Bad(VersionedEntity, partition_key="{id}"):
        id: Attribute[str]
        revision: Attribute[int] = sw.version()  # type: ignore[assignment]

    return Bad


def two_times_to_live() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        first: Attribute[datetime] = sw.time_to_live()
        second: Attribute[datetime] = sw.time_to_live()

    return Bad


def time_to_live_of_another_type() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        ends: Attribute[date] = sw.time_to_live()

    return Bad


def time_to_live_in_key() -> type:
    class Bad(Entity, partition_key="{ends}"):
        ends: Attribute[datetime] = sw.time_to_live()

    return Bad


def unknown_field_in_key() -> type:
    class Bad(Entity, partition_key="B#{nope}"):
        id: Attribute[str]

    return Bad


def fields_side_by_side() -> type:
    class Bad(Entity, partition_key="{id}{name}"):
        id: Attribute[str]
        name: Attribute[str]

    return Bad


def optional_in_key() -> type:
    class Bad(Entity, partition_key="B#{id}"):
        id: Attribute[str | None]

    return Bad


def sort_without_partition() -> type:
    class Bad(Entity, sort_key="B#{id}"):
        id: Attribute[str]

    return Bad


def plain_default() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        n: Attribute[int] = 0  # type: ignore[assignment]

    return Bad


def mutable_default() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        lines: Attribute[list[int]] = sw.attribute(default=[])

    return Bad


def wrong_default() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        n: Attribute[int] = sw.attribute(default="0")  # type: ignore[arg-type]

    return Bad


def two_defaults() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[list[int]] = sw.attribute(default=[], default_factory=list)  # type: ignore[call-overload]

    return Bad


def reserved_name() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        replace: Attribute[str]  # type: ignore[assignment]

    return Bad


def private_name() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        _hidden: Attribute[str]

    return Bad


def two_fields_stored_alike() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        other: Attribute[str] = sw.attribute(stored_as="id")

    return Bad


def bare_type() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        n: int

    return Bad


def no_annotation() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        n = sw.attribute(default=0)

    return Bad


def unknown_type() -> type:
    class Bad(Entity, partition_key="{id}"):
        id: Attribute[str]
        n: Attribute[complex]

    return Bad


def both_kinds() -> type:
    class Bad(Entity, VersionedEntity):  # type: ignore[misc]
        pass

    return Bad


def inherited_discriminator() -> type:
    class Bad(Account):
        pass

    return Bad


def empty_discriminator() -> type:
    class Bad(Entity, discriminator="", partition_key="{id}"):
        id: Attribute[str]

    return Bad


def foreign_base() -> type:
    class Plain:
        made: Attribute[str] = sw.attribute(default="")

    class Bad(Plain, Entity, partition_key="{id}"):
        id: Attribute[str]

    return Bad


def hidden_field() -> type:
    class Base(Entity):
        id: Attribute[str]

    class Bad(Base, partition_key="{id}"):
        id = "x"  # type: ignore[assignment]

    return Bad


def misspelt_keyword() -> type:
    class Bad(Entity, partition_key="B#{id}", sort_kye="x"):  # type: ignore[call-arg]
        id: Attribute[str]

    return Bad


@pytest.mark.parametrize(
    ("declare", "reason"),
    [
        (two_versions, "two versions, first and second"),
        (version_in_key, "take it out of the key"),
        (version_on_entity, "derive Bad from VersionedEntity"),
        (no_version, "write revision: Attribute[int | None] = sw.version()"),
        (version_of_another_type, "write Attribute[int | None] = sw.version()"),
        (two_times_to_live, "two times to live, first and second"),
        (time_to_live_of_another_type, "write Attribute[datetime] = sw.time_to_live()"),
        (time_to_live_in_key, "take it out of the key"),
        (unknown_field_in_key, "has no field 'nope'; it has id"),
        (fields_side_by_side, "write a literal such as # between them"),
        (optional_in_key, "leave out `| None`"),
        (sort_without_partition, "sort_key needs a partition_key"),
        (plain_default, "sw.attribute(default=...)"),
        (mutable_default, "write default_factory=list"),
        (wrong_default, "Bad.n: its default does not fit: the field takes int, not str"),
        (two_defaults, "default or default_factory, not both"),
        (reserved_name, "write stored_as='replace'"),
        (private_name, "names that begin with _"),
        (two_fields_stored_alike, "id and other are both stored as 'id'"),
        (bare_type, "write n: Attribute[int]"),
        (no_annotation, "write n: Attribute[...] = ..."),
        (unknown_type, "Bad.n: complex is no type that can be stored: use str, int"),
        (both_kinds, "derived from sw.Fields"),
        (inherited_discriminator, "under the discriminator of Account"),
        (empty_discriminator, "cannot be empty"),
        (foreign_base, "derive it from sw.Fields"),
        (hidden_field, "hides a field of a base"),
        (misspelt_keyword, "write sort_key"),
    ],
)
def test_an_error_in_a_declaration_is_told_when_the_class_is_made_with_what_to_write(declare: Callable[[], type], reason: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(reason)):
        declare()


def test_one_attribute_object_is_one_field() -> None:
    shared: Any = sw.attribute(default="")
    annotations = {"id": Attribute[str], "first": Attribute[str], "second": Attribute[str]}
    # Until Python 3.12 an error of __set_name__ comes as the cause of another.
    with pytest.raises((DefinitionError, RuntimeError)) as refused:
        type(Entity)("Bad", (Entity,), {"__annotations__": annotations, "first": shared, "second": shared}, partition_key="{id}")
    error = refused.value if isinstance(refused.value, DefinitionError) else refused.value.__cause__
    assert isinstance(error, DefinitionError)
    assert "declare each of them by a call of its own" in str(error)


def test_a_version_cannot_be_a_parameter() -> None:
    with pytest.raises(DefinitionError, match="leave out init"):
        sw.version(init=True)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ inheritance


class Timestamps(Fields):
    made_at: Attribute[date] = sw.attribute(default=date(2026, 1, 1))


class Named(Timestamps, VersionedEntity):
    id: Attribute[str]
    name: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


class Person(Named, discriminator="PERSON", partition_key="PERSON#{id}", sort_key="{name}"):
    name: Attribute[str] = sw.attribute(default="nobody", stored_as="full_name")
    table: ClassVar[str] = "people"


class Employee(Person, discriminator="EMPLOYEE"):
    salary: Attribute[int] = sw.attribute(default=0)


def test_fields_are_inherited_and_may_be_declared_again() -> None:
    person = Person(id="a")
    assert (person.made_at, person.name) == (date(2026, 1, 1), "nobody")
    assert [field.name for field in schema_of(Person).definition.fields] == ["made_at", "id", "name", "revision"]
    assert Person.table == "people"
    assert repr(Person.name) == "<TextPath Person.name>"


def test_templates_are_inherited_and_a_discriminator_is_not() -> None:
    assert Employee.key_of("a", "x").partition == ("S", "PERSON#a")
    assert Employee.key_of("a", "x") != Person.key_of("a", "x")
    assert schema_of(Employee).definition.discriminator == "EMPLOYEE"


def test_a_path_is_about_the_class_that_it_is_asked_of() -> None:
    assert Person.made_at.owner is Person
    assert Timestamps.made_at.owner is Timestamps


# ------------------------------------------------------------------------------------------------------------ annotations


class Early(Entity, discriminator="EARLY", partition_key="{id}"):
    id: Attribute[str]
    late: Attribute[Late | None] = sw.attribute(default=None)
    date: Attribute[date | None] = sw.attribute(default=None)


@dataclass(frozen=True)
class Late:
    n: int


class Never(Entity, discriminator="NEVER", partition_key="{id}"):
    id: Attribute[str]
    what: Attribute[Nowhere]  # type: ignore[name-defined]  # noqa: F821 - the case


def test_a_type_that_is_defined_later_is_found_at_first_use() -> None:
    assert Early(id="a", late=Late(3)).late == Late(3)


def test_a_field_may_have_the_name_of_its_type() -> None:
    assert Early(id="a", date=date(2026, 1, 1)).date == date(2026, 1, 1)


def test_a_type_that_is_not_found_is_told_at_first_use() -> None:
    for use in (lambda: Never(id="a"), lambda: Never.id == "a", lambda: Never.key_of("a"), lambda: schema_of(Never).bind):  # type: ignore[call-arg]
        with pytest.raises(DefinitionError, match=r"Never: the annotations name 'Nowhere', which cannot be found: define it"):
            use()


def test_types_of_a_function_are_found() -> None:
    @dataclass(frozen=True)
    class Local:
        n: int

    class Holder(Entity, discriminator="HOLDER", partition_key="{id}"):
        id: Attribute[str]
        local: Attribute[Local]

    assert Holder(id="a", local=Local(1)).local.n == 1


def test_paths_follow_the_types() -> None:
    assert type(Account.balance) is NumberPath
    assert type(Account.note) is TextPath


def test_a_value_that_was_not_read_says_so() -> None:
    class Wide(Entity, discriminator="WIDE", partition_key="{id}"):
        id: Attribute[str]
        more: Attribute[str]

    partial = schema_of(Wide).bind(TableLayout(("id",))).from_item({"id": {"S": "a"}}, partial=True)
    with pytest.raises(AttributeError, match=r"Wide\.more was not read"):
        _ = partial.more
    assert repr(partial) == "Wide(id='a')"
    with pytest.raises(InvalidRequest, match="read in part"):
        partial.replace(id="b")


@dataclass
class Link:
    """A mutable value that can hold itself."""

    next: Link | None = None


class Chain(Entity, discriminator="CHAIN", partition_key="CHAIN#{id}"):
    id: Attribute[str]
    first: Attribute[Link | None] = sw.attribute(default=None)


def test_a_value_that_contains_itself_is_refused() -> None:
    link = Link()
    link.next = link
    for use in (lambda: Chain(id="a", first=link), lambda: Chain.first.set(link), lambda: Chain.first == link):
        with pytest.raises(InvalidRequest, match=r"Chain\.first takes Link.*contains itself, or lies deeper than the 32 levels"):
            use()


@pytest.mark.parametrize("keyword", ["discriminator", "partition_key", "sort_key"])
@pytest.mark.parametrize("wrong", ["\ud800", 5])
def test_a_class_keyword_that_is_no_text_of_the_service_is_refused(keyword: str, wrong: Any) -> None:
    keywords: dict[str, Any] = {"discriminator": "T", "partition_key": "T#{id}", "sort_key": "S", keyword: wrong}
    with pytest.raises(DefinitionError, match=f"Wrong: {keyword}= takes"):

        class Wrong(Entity, **keywords):
            id: Attribute[str]


@pytest.mark.parametrize("wrong", ["\ud800", 5])
def test_a_stored_name_that_is_no_text_of_the_service_is_refused(wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=r"Wrong\.id: stored_as= takes"):

        class Wrong(Entity, discriminator="T", partition_key="T"):
            id: Attribute[str] = sw.attribute(stored_as=wrong)
