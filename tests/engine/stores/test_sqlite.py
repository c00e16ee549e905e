from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.engine.harness import Caller, Clock, create_table, number, text

from surewrite.engine.service import Service
from surewrite.engine.stores.sqlite import APPLICATION_ID, SqliteStore
from surewrite.engine.stores.store import StoreBusy, StoreFull, StoreUnusable, waiting_at_most

KILL_ROUNDS = 100 if os.environ.get("SUREWRITE_TEST_PROFILE") == "deep" else 3
KILLED_WRITERS = 4
WRITER = Path(__file__).parent / "writer.py"
A = {"pk": text("a")}

# Forks are what these tests are about; the test runner's own threads hold nothing that a child uses.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


@pytest.fixture
def caller(store: SqliteStore) -> Caller:
    clock = Clock()
    service = Service(store, clock=clock)
    create_table(service)
    return Caller(service, clock)


def test_what_was_written_is_there_when_the_file_is_opened_again(path: Path, caller: Caller) -> None:
    caller.put(**A, n=number(1))
    caller.service.close()
    again = SqliteStore(path)
    assert Caller(Service(again), Clock()).item(**A) == {**A, "n": number(1)}
    again.close()


def test_two_services_on_one_file_see_each_other(path: Path, caller: Caller) -> None:
    other_store = SqliteStore(path)
    other = Caller(Service(other_store), caller.clock)
    caller.put(**A, n=number(1))
    assert other.item(**A) == {**A, "n": number(1)}
    other("DeleteTable")
    assert caller.refusal("GetItem", Key=A).code == "ResourceNotFoundException"
    create_table(other.service, keys=(("id", "N"),))
    caller.put(id=number(1))
    assert other.item(id=number(1)) == {"id": number(1)}
    other_store.close()


def test_the_file_says_whose_it_is_and_syncs_each_commit(path: Path, store: SqliteStore) -> None:
    with store.session(write=True) as session:
        connection = session._open()
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    store.close()
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _put_and_fail(store: SqliteStore, called: list[bool]) -> None:
    with store.session(write=True) as session:
        session.put("space", b"p", b"s", A)
        session.after_commit(lambda: called.append(True))
        raise RuntimeError("by the test")


def test_a_block_that_raises_leaves_nothing(store: SqliteStore) -> None:
    called: list[bool] = []
    with pytest.raises(RuntimeError, match="by the test"):
        _put_and_fail(store, called)
    with store.session(write=False) as session:
        assert session.get("space", b"p", b"s") is None
    assert called == []


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    store.close()
    with pytest.raises(StoreUnusable, match="was closed"), store.session(write=False):
        pass


def _snapshot(path: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in path.parent.iterdir()}


def _foreign_database(path: Path, application_id: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.execute("INSERT INTO theirs VALUES (1)")
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["text", "short", "database", "marked database"])
def test_a_foreign_file_is_refused_and_left_as_it_is(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("name,price\n" * 1000)
    elif kind == "short":
        path.write_bytes(b"x")
    else:
        _foreign_database(path, 7 if kind == "marked database" else 0)
    before = _snapshot(path)
    with pytest.raises(StoreUnusable, match="was not made by this engine and was left as it was; give the path of another file"):
        SqliteStore(path)
    assert _snapshot(path) == before


def test_an_empty_file_is_made_into_a_store(path: Path) -> None:
    path.touch()
    store = SqliteStore(path)
    store.verify()
    store.close()


def test_a_file_of_another_format_is_refused(path: Path, store: SqliteStore) -> None:
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(StoreUnusable, match="has format 99, and this program reads format 2"):
        SqliteStore(path)


def _fill(caller: Caller) -> None:
    for at in range(40):
        caller.put(pk=text(str(at)), x=text("x" * 2000))


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, caller: Caller, damage: str) -> None:
    _fill(caller)
    caller.service.close()
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + b"\xa5" * 8192 + content[middle + 8192 :])
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match=r"is damaged .*; it was left as it is: restore it from a copy, or move it away"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_is_opened_whose_log_was_merged_into_it_in_part(path: Path, store: SqliteStore, caller: Caller) -> None:
    """A kill, or a full disk, ends the merge after the first page, which tells the size that the file is to have."""
    _fill(caller)
    log = path.with_name(path.name + "-wal")
    file_before, log_before = path.read_bytes(), log.read_bytes()
    store.close()
    merged = path.read_bytes()
    assert len(merged) > len(file_before)
    path.write_bytes(merged[:4096] + file_before[4096:])
    log.write_bytes(log_before)
    again = SqliteStore(path)
    assert Caller(Service(again), Clock())("Scan", Select="COUNT")["Count"] == 40
    again.close()


def test_damage_that_comes_later_is_told_by_the_request_that_meets_it(path: Path, caller: Caller) -> None:
    caller.put(**A)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET item = '{' ")
    connection.commit()
    connection.close()
    with pytest.raises(StoreUnusable, match="an item is not readable"):
        caller.item(**A)


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="its directory does not exist"):
        SqliteStore(tmp_path / "none" / "shop.db")


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_path_that_the_system_cannot_have_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreUnusable, match="cannot be opened for writing"):
        SqliteStore(tmp_path / name)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="cannot be opened for writing"):
        SqliteStore(tmp_path)


def _open_without_rights(path: str) -> None:
    """Runs in a child: gives up root's rights, since root may write everywhere."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        SqliteStore(path)
    except StoreUnusable as refused:
        sys.exit(0 if "give this process write permission on the file and on its directory" in str(refused) else f"other words: {refused}")
    sys.exit("it opened")


@pytest.mark.parametrize("guarded", ["file", "directory"])
def test_a_file_that_may_only_be_read_is_refused(tmp_path: Path, guarded: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "shop.db"
    SqliteStore(path).close()
    path.chmod(0o444 if guarded == "file" else 0o666)
    folder.chmod(0o777 if guarded == "file" else 0o555)
    for above in (tmp_path, *tmp_path.parents[:3]):
        if above.stat().st_uid == os.getuid() and above != Path(above.root):
            above.chmod(above.stat().st_mode | 0o111)
    child = multiprocessing.get_context("fork").Process(target=_open_without_rights, args=(str(path),))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    folder.chmod(0o777)


def _put_until_full(caller: Caller) -> tuple[int, StoreFull]:
    for written in range(200):
        try:
            caller.put(pk=text(str(written)), x=text("x" * 4000))
        except StoreFull as failure:
            return written, failure
    raise AssertionError("the disk did not fill")


def test_a_full_disk_is_told_and_what_was_acknowledged_stays(path: Path) -> None:
    store = SqliteStore(path, most_pages=60)
    caller = Caller(Service(store), Clock())
    create_table(caller.service)
    written, failure = _put_until_full(caller)
    assert "free space on its disk, then send the request again; nothing was written" in str(failure)
    assert failure.applied is False
    assert caller("Scan", Select="COUNT")["Count"] == written
    caller("DeleteItem", Key={"pk": text("0")})
    caller.put(pk=text("0"))
    store.verify()
    store.close()


def test_a_lock_of_another_process_is_waited_for_and_then_told(path: Path, caller: Caller) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with waiting_at_most(0.01), pytest.raises(StoreBusy, match="nothing was written") as caught:
        caller.put(**A)
    assert caught.value.applied is False
    other.execute("ROLLBACK")
    other.close()
    caller.put(**A)
    assert caller.item(**A) == A


def test_a_lock_of_another_process_is_looked_at_every_moment_and_not_ten_times_a_second(path: Path, caller: Caller, store: SqliteStore) -> None:
    """Others that write without a pause leave it free for a moment only."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    looks: list[str] = []

    def look(statement: str) -> None:
        looks.append(statement)
        if looks.count("BEGIN IMMEDIATE") == 5:
            other.execute("ROLLBACK")

    (connection,) = store._idle
    connection.set_trace_callback(look)
    with waiting_at_most(5.0):
        caller.put(**A)
    assert looks.count("BEGIN IMMEDIATE") == 5
    other.close()


def _processes(path: Path, count: int) -> list[subprocess.Popen[str]]:
    return [subprocess.Popen([sys.executable, str(WRITER), str(path), f"w{at}"], stdout=subprocess.PIPE, text=True) for at in range(count)]


def _acknowledged(process: subprocess.Popen[str], already: int) -> int:
    process.wait(30)
    assert process.stdout is not None
    rest = process.stdout.read().split("\n")
    process.stdout.close()
    # The last line may be cut short by the kill, so it does not count unless its end came.
    return already + len(rest) - 1


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill_and_nothing_is_half_written(path: Path, store: SqliteStore) -> None:
    service = Service(store)
    create_table(service, keys=(("pk", "S"), ("sk", "S")))
    caller = Caller(service, Clock())
    for round_number in range(KILL_ROUNDS):
        before = int((caller.item(pk=text("total"), sk=text("all")) or {"n": number(0)})["n"]["N"])
        processes = _processes(path, KILLED_WRITERS)
        for process in processes:
            assert process.stdout is not None
            for _ in range(3 + round_number % 5):
                assert process.stdout.readline().endswith("\n")
        for process in processes:
            process.send_signal(signal.SIGKILL)
        counts = [_acknowledged(process, 3 + round_number % 5) for process in processes]
        store.verify()
        for writer, count in enumerate(counts):
            found = [[caller.item(pk=text(f"w{writer}-{at}"), sk=text(half)) is not None for half in ("left", "right")] for at in range(count + 2)]
            assert all(left and right for left, right in found[:count])
            assert all(left == right for left, right in found)
        total = caller.item(pk=text("total"), sk=text("all"))
        assert total is not None
        # Each writer may have one addition whose acknowledgement was not read.
        assert before + sum(counts) <= int(total["n"]["N"]) <= before + sum(counts) + KILLED_WRITERS
        for item in caller("Scan")["Items"]:
            if item["pk"]["S"] != "total":
                caller("DeleteItem", Key={"pk": item["pk"], "sk": item["sk"]})


def _add(path: str, times: int) -> None:
    caller = Caller(Service(SqliteStore(path)), Clock())
    for at in range(times):
        action = caller.action("Update", Key=A, UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": number(1)})
        for _ in range(2):
            caller.transact(action, ClientRequestToken=f"{os.getpid()}-{at}")
        caller.transact(action, ClientRequestToken=f"shared-{at}")
    caller.service.close()


def test_processes_lose_nothing_and_share_tokens(path: Path, caller: Caller) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_add, args=(str(path), 5)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert caller.item(**A) == {**A, "n": number(15)}


def test_opening_a_file_again_does_not_drop_the_locks_of_the_process(path: Path, caller: Caller) -> None:
    caller.put(**A)
    second = SqliteStore(path)
    second.close()
    # A process that closes its only connection merges the log and removes it, unless it finds the lock of another process.
    other = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM entry').fetchall(); c.close()"
    subprocess.run([sys.executable, "-c", other, str(path)], check=True)
    assert path.with_name(path.name + "-wal").exists()
    caller.put(pk=text("b"))
    third = SqliteStore(path)
    assert Caller(Service(third), Clock())("Scan", Select="COUNT")["Count"] == 2
    third.close()


def _open_and_add(path: str, go: Any) -> None:
    go.wait(30)
    store = SqliteStore(path)
    with store.session(write=True) as session:
        session.put("space", str(os.getpid()).encode(), b"", A)
    store.close()


def test_processes_that_make_the_file_at_once_share_it(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    go = context.Event()
    children = [context.Process(target=_open_and_add, args=(str(path), go)) for _ in range(5)]
    for child in children:
        child.start()
    go.set()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    store = SqliteStore(path)
    with store.session(write=False) as session:
        assert session.size("space") == 5
    store.close()


def _write_in_child(caller: Caller, name: str) -> None:
    for at in range(20):
        caller.put(pk=text(f"{name}-{at}"))
    os._exit(0)


def test_a_forked_child_writes_on_connections_of_its_own(caller: Caller, store: SqliteStore) -> None:
    caller.put(**A)
    parents = list(store._idle)
    assert parents
    child = os.fork()
    if child == 0:
        _write_in_child(caller, "child")
    for at in range(20):
        caller.put(pk=text(f"parent-{at}"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert caller("Scan", Select="COUNT")["Count"] == 41
    for connection in parents:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    store.verify()


def test_the_log_outlives_the_parent_that_closes_first(path: Path, caller: Caller, store: SqliteStore) -> None:
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        caller.put(pk=text("child-before"))
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        _write_in_child(caller, "child")
    os.read(ready[0], 1)
    store.close()
    os.write(go[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*ready, *go):
        os.close(end)
    again = SqliteStore(path)
    assert Caller(Service(again), Clock())("Scan", Select="COUNT")["Count"] == 21
    again.verify()
    again.close()


def test_a_fork_waits_for_the_sessions_of_other_threads(caller: Caller, store: SqliteStore) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold_a_session() -> None:
        with store.session(write=True) as session:
            session.put("space", b"p", b"s", A)
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold_a_session)
    thread.start()
    entered.wait(10)
    timer = threading.Timer(0.1, leave.set)
    timer.start()
    child = os.fork()
    if child == 0:
        with store.session(write=False) as session:
            os._exit(0 if session.get("space", b"p", b"s") == A else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    timer.join()


def test_connections_that_are_kept_are_bounded(store: SqliteStore) -> None:
    sessions = [store.session(write=False) for _ in range(20)]
    for session in sessions:
        session.__enter__()
    for session in sessions:
        session.__exit__(None, None, None)
    assert len(store._idle) == 8


def test_large_items_and_many_of_them_come_back_whole(caller: Caller) -> None:
    content: dict[str, Any] = {"b": {"B": "AAEC/w=="}, "s": {"SS": ["a", "é", "\U0001f600"]}, "l": {"L": [{"NULL": True}]}}
    caller.put(pk=text("é\U0001f600"), x=text("\x00x" * 150_000), **content)
    assert caller.item(pk=text("é\U0001f600")) == {"pk": text("é\U0001f600"), "x": text("\x00x" * 150_000), **content}


def test_connections_that_are_opened_later_open_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without its directory, in a program that changes its own."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")
    store = SqliteStore("shop.db")
    caller = Caller(Service(store), Clock())
    create_table(caller.service)
    monkeypatch.chdir(tmp_path / "second")
    with store.session(write=False):
        caller.put(**A)
    store.close()
    assert list((tmp_path / "second").iterdir()) == []
    again = SqliteStore(tmp_path / "first" / "shop.db")
    assert Caller(Service(again), Clock())("Scan", Select="COUNT")["Count"] == 1
    again.close()


def test_a_file_that_is_removed_during_a_session_is_told_and_keeps_nothing(path: Path, store: SqliteStore, caller: Caller) -> None:
    """It may go while the session waits for the lock of another process."""
    moved = path.with_name("moved.db")

    def write() -> None:
        with store.session(write=True) as session:
            session.put_definition("more", "{}")
            path.rename(moved)

    with pytest.raises(StoreUnusable, match="was removed or replaced") as told:
        write()
    assert told.value.applied is False
    with closing(sqlite3.connect(moved)) as connection:
        assert connection.execute("SELECT count(*) FROM definition WHERE name = 'more'").fetchone() == (0,)


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_file_that_is_removed_under_a_store_is_told_and_not_written_to(path: Path, store: SqliteStore, caller: Caller, replaced: bool) -> None:
    caller.put(**A)
    for each in path.parent.iterdir():
        each.unlink()
    if replaced:
        SqliteStore(path).close()
    for write in (True, False):
        with pytest.raises(StoreUnusable, match="was removed or replaced while it was open") as told, store.session(write=write):
            pass
        assert told.value.applied is False
    assert path.exists() is replaced
