from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.harness import number

from surewrite.engine.stores.memory import MemoryStore
from surewrite.engine.stores.store import SLOTS, Position, TokenRecord, slot_of

A = {"n": number(1)}
B = {"n": number(2)}


def everything(store: MemoryStore) -> list[object]:
    with store.session(write=False) as session:
        rows = list(session.scan("space", 0, SLOTS, None))
        return [rows, session.table_names(), session.definition("made"), session.token("t"), session.size("space")]


def _change_all_and_fail(store: MemoryStore, called: list[bool]) -> None:
    with store.session(write=True) as session:
        session.put("space", b"p", b"s", B)
        session.put("space", b"p", b"t", B)
        session.put("space", b"new", b"t", B)
        session.delete("space", b"q", b"s")
        session.put_definition("made", "other text")
        session.put_definition("new", "text")
        session.delete_definition("made")
        session.put_token("t", TokenRecord("other", 2.0, "{}"))
        session.forget_tokens(5.0)
        session.drop_space("other")
        session.after_commit(lambda: called.append(True))
        raise RuntimeError("by the test")


def test_a_block_that_raises_takes_all_its_changes_back() -> None:
    store = MemoryStore()
    with store.session(write=True) as session:
        session.put("space", b"p", b"s", A)
        session.put("space", b"q", b"s", A)
        session.put_definition("made", "text")
        session.put_token("t", TokenRecord("digest", 1.0, "{}"))
        session.put("other", b"p", b"s", A)
    before = everything(store)
    called: list[bool] = []
    with pytest.raises(RuntimeError, match="by the test"):
        _change_all_and_fail(store, called)
    assert everything(store) == before
    assert called == []
    with store.session(write=False) as session:
        assert session.get("other", b"p", b"s") == A


def test_a_reading_session_does_not_write() -> None:
    with pytest.raises(AssertionError, match="reading session"), MemoryStore().session(write=False) as session:
        session.put("space", b"p", b"s", A)


def test_acts_follow_a_commit_in_order() -> None:
    called: list[int] = []
    with MemoryStore().session(write=True) as session:
        session.after_commit(lambda: called.append(1))
        session.after_commit(lambda: called.append(2))
        assert called == []
    assert called == [1, 2]


def test_tokens_are_forgotten_from_their_completion_on() -> None:
    store = MemoryStore()
    with store.session(write=True) as session:
        for at in range(4):
            session.put_token(str(at), TokenRecord("digest", float(at), "{}"))
        session.forget_tokens(2.0)
        assert [session.token(str(at)) is not None for at in range(4)] == [False, False, True, True]


@given(st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=2), st.booleans()), max_size=30), st.binary(max_size=2), st.binary(max_size=2))
def test_rows_and_scans_are_those_of_a_sorted_list(changes: list[tuple[bytes, bytes, bool]], low: bytes, high: bytes) -> None:
    store = MemoryStore()
    kept: dict[tuple[int, bytes, bytes], int] = {}
    with store.session(write=True) as session:
        for at, (partition, sort, stays) in enumerate(changes):
            place = (slot_of(partition), partition, sort)
            if stays:
                session.put("space", partition, sort, {"n": number(at)})
                kept[place] = at
            else:
                session.delete("space", partition, sort)
                kept.pop(place, None)
        ordered = sorted(kept)
        assert [int(item["n"]["N"]) for item in session.scan("space", 0, SLOTS, None)] == [kept[place] for place in ordered]
        for at, place in enumerate(ordered):
            rest = list(session.scan("space", 0, SLOTS, Position(*place)))
            assert [int(item["n"]["N"]) for item in rest] == [kept[later] for later in ordered[at + 1 :]]
        for partition in {partition for _, partition, _ in ordered}:
            inside = [kept[place] for place in ordered if place[1] == partition and low <= place[2] < high]
            assert [int(item["n"]["N"]) for item in session.rows("space", partition, low, high, descending=False)] == inside
            assert [int(item["n"]["N"]) for item in session.rows("space", partition, low, high, descending=True)] == inside[::-1]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_the_sessions_of_other_threads() -> None:
    store = MemoryStore()
    entered, leave = threading.Event(), threading.Event()

    def hold_a_session() -> None:
        with store.session(write=True) as session:
            session.put("space", b"p", b"s", A)
            entered.set()
            leave.wait(10)
            session.put("space", b"p", b"t", B)

    thread = threading.Thread(target=hold_a_session)
    thread.start()
    entered.wait(10)
    timer = threading.Timer(0.1, leave.set)
    timer.start()
    child = os.fork()
    if child == 0:
        free = store._lock.acquire(blocking=False)
        os._exit(0 if free and store._contents.spaces["space"].size == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    timer.join()
