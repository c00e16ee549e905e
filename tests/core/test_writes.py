"""What a write tells of the item that came with its answer."""

from __future__ import annotations

from datetime import datetime

import pytest

import surewrite as sw
from surewrite import Attribute, Entity, VersionedEntity


class Note(Entity, discriminator="NOTE", partition_key="THING#{id}", sort_key="DATA"):
    id: Attribute[str]


class Task(Entity, discriminator="TASK", partition_key="THING#{id}", sort_key="DATA"):
    id: Attribute[str]
    due: Attribute[int]
    seen: Attribute[int] = sw.attribute(default=0)


class Page(VersionedEntity, discriminator="PAGE", partition_key="THING#{id}", sort_key="DATA"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    revision: Attribute[int | None] = sw.version()


class Session(VersionedEntity, discriminator="SESSION", partition_key="THING#{id}", sort_key="DATA"):
    id: Attribute[str]
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None)
    revision: Attribute[int | None] = sw.version()


KEY = Task.key_of("a")
STORED_KEY = {"pk": {"S": "THING#a"}, "sk": {"S": "DATA"}}


@pytest.fixture
def db() -> sw.Database:
    db = sw.connect("memory:")
    db.table("things").create_table(Task)
    return db


def store_without_due(db: sw.Database) -> None:
    db.execute("PutItem", {"TableName": "things", "Item": STORED_KEY})


def stored(db: sw.Database) -> dict[str, dict[str, str]]:
    return dict(db.execute("GetItem", {"TableName": "things", "Key": STORED_KEY}).get("Item", {}))


def test_a_put_over_an_item_of_another_type_is_not_told_as_refused(db: sw.Database) -> None:
    db.table("things").of(Note).put(Note(id="a"))
    with pytest.raises(sw.UndecodableItem, match="the put was applied") as raised:
        db.table("things").of(Task).put(Task(id="a", due=1), returning="old")
    assert not isinstance(raised.value, sw.WriteRefused)
    assert stored(db)["_type"] == {"S": "TASK"}


def test_an_update_that_left_an_item_which_cannot_be_read_says_that_it_was_applied(db: sw.Database) -> None:
    store_without_due(db)
    with pytest.raises(sw.UndecodableItem, match="the update was applied") as raised:
        db.table("things").of(Task).update(KEY, Task.seen.add(1))
    assert (raised.value.entity, raised.value.field) == (Task, "due")
    assert stored(db)["seen"] == {"N": "1"}


def test_a_delete_of_an_item_that_cannot_be_read_says_that_it_was_applied(db: sw.Database) -> None:
    store_without_due(db)
    with pytest.raises(sw.UndecodableItem, match="the delete was applied"):
        db.table("things").of(Task).delete(KEY)
    assert stored(db) == {}


@pytest.mark.parametrize("version", [{"NULL": True}, {"S": "3"}])
def test_a_version_that_the_service_cannot_add_to_is_told_as_a_thing_to_look_at(db: sw.Database, version: dict[str, object]) -> None:
    item = STORED_KEY | {"_type": {"S": "PAGE"}, "id": {"S": "a"}, "revision": version}
    db.execute("PutItem", {"TableName": "things", "Item": item})
    told = r"data type; .*'revision' is stored as a number: NULL is adopted by key\.if_version\(None\)"
    target, change = Page.key_of("a").ignore_version(), Page.text.set("y")
    things = db.table("things")
    for write in (things.of(Page).update, things.of(Page).upsert):
        with pytest.raises(sw.InvalidRequest, match=told):
            write(target, change)
    tx = things.transaction()
    tx.update(target, change)
    with pytest.raises(sw.InvalidRequest, match=told):
        tx.commit()
    assert stored(db) == item


def test_a_type_that_does_not_fit_a_change_says_nothing_of_a_version_that_is_checked(db: sw.Database) -> None:
    db.execute("PutItem", {"TableName": "things", "Item": STORED_KEY | {"id": {"S": "a"}, "due": {"S": "soon"}, "_type": {"S": "TASK"}}})
    with pytest.raises(sw.InvalidRequest, match="data type") as refused:
        db.table("things").of(Task).update(KEY, Task.due.add(1))
    assert "version" not in str(refused.value)


def test_an_expired_item_whose_version_is_no_number_is_told_as_a_thing_to_look_at_and_create_takes_its_place(db: sw.Database) -> None:
    db.execute("PutItem", {"TableName": "things", "Item": STORED_KEY | {"id": {"S": "a"}, "ends_at": {"N": "100"}, "revision": {"S": "3"}}})
    sessions = db.table("things").of(Session)
    with pytest.raises(sw.Throttled, match="version or stamp is stored as another type, and then create takes its place"):
        sessions.upsert(Session.key_of("a").ignore_version(), Session.ends_at.remove())
    assert sessions.create(Session(id="a")).revision == 1
