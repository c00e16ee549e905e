"""Batches against a backend that answers as a test says: what is left unprocessed, what is in doubt, where the deadline ends it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import surewrite as sw
from surewrite import Attribute, Entity
from surewrite.backends.embedded import EmbeddedBackend, open_embedded
from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.requests import Request
from surewrite.core.traits import EndpointTraits

Script = Callable[[Request], Answer | None]


class Note(Entity, discriminator="NOTE", partition_key="NOTE#{id}", sort_key="TEXT"):
    id: Attribute[str]
    text: Attribute[str] = sw.attribute(default="")
    ends_at: Attribute[datetime | None] = sw.time_to_live(default=None, stored_as="ttl")


class Scripted:
    """An embedded engine, in front of which the next batches are answered by ``script``; ``None`` lets a request through."""

    def __init__(self) -> None:
        self.inner = EmbeddedBackend(open_embedded("memory:"))
        self.traits: EndpointTraits = self.inner.traits
        self.script: list[Script] = []
        self.sent: list[Request] = []

    def send(self, request: Request, timeout: float) -> Answer:
        if not request.operation.startswith("Batch"):
            return self.inner.send(request, timeout)
        self.sent.append(request)
        answer = self.script.pop(0)(request) if self.script else None
        return self.inner.send(request, timeout) if answer is None else answer

    def close(self) -> None:
        self.inner.close()

    def leave_all_but(self, count: int) -> Script:
        """Make the first ``count`` of a batch and leave the rest unprocessed."""

        def answer(request: Request) -> Answer:
            if request.operation == "BatchGetItem":
                asked = request.body["RequestItems"]["notes"]
                if not count:
                    return Success({"Responses": {}, "UnprocessedKeys": {"notes": asked}})
                part = self.inner.send(Request("BatchGetItem", {"RequestItems": {"notes": {**asked, "Keys": asked["Keys"][:count]}}}), 1.0)
                left: Any = {"UnprocessedKeys": {"notes": {**asked, "Keys": asked["Keys"][count:]}}}
            else:
                entries = request.body["RequestItems"]["notes"]
                if not count:
                    return Success({"UnprocessedItems": {"notes": entries}})
                part = self.inner.send(Request("BatchWriteItem", {"RequestItems": {"notes": entries[:count]}}), 1.0)
                left = {"UnprocessedItems": {"notes": entries[count:]}}
            assert isinstance(part, Success)
            return Success({**part.body, **left})

        return answer

    def lose_answer(self, request: Request) -> Answer:
        self.inner.send(request, 1.0)
        return NoAnswer("the test lost the answer")


class Bench:
    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.interrupts_waits = False
        self.backend = Scripted()
        ids = itertools.count()
        clock = sw.Clock(lambda: 1.9e9 + self.now, lambda: self.now, self.wait)
        self.db = sw.connect(self.backend, clock=clock, chance=sw.Chance(lambda: 0.5, lambda: f"{next(ids):012d}"))
        table = self.db.table("notes")
        table.create_table(Note)
        self.notes = table.of(Note)

    def wait(self, seconds: float) -> None:
        if self.interrupts_waits:
            raise KeyboardInterrupt
        self.now += seconds
        self.waits.append(seconds)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def throttled(_: Request) -> Answer:
    return Rejection("ProvisionedThroughputExceededException")


def unanswered(_: Request) -> Answer:
    return NoAnswer("the test lost the request")


def some(count: int) -> list[Note]:
    return [Note(id=f"{number:03d}") for number in range(count)]


def keys(count: int) -> list[sw.Target[Note]]:
    return [Note.key_of(f"{number:03d}") for number in range(count)]


def test_unprocessed_keys_are_asked_for_again_after_a_pause(bench: Bench) -> None:
    bench.notes.put_many(some(5), parallel=1)
    bench.backend.script = [bench.backend.leave_all_but(2), throttled, bench.backend.leave_all_but(1)]
    assert [note.id for note in bench.notes.get_many(keys(5)) if note is not None] == [f"{number:03d}" for number in range(5)]
    assert [len(request.body["RequestItems"]["notes"]["Keys"]) for request in bench.backend.sent] == [5, 3, 3, 2]
    assert len(bench.waits) == 3


def test_keys_left_unprocessed_until_the_deadline_are_told_as_throttled(bench: Bench) -> None:
    bench.backend.script = [bench.backend.leave_all_but(0)] * 100
    with pytest.raises(sw.Throttled):
        bench.notes.get_many(keys(2))
    assert 9.0 < bench.now < 10.0


def test_an_expired_item_is_absent_from_get_many(bench: Bench) -> None:
    bench.notes.put(Note(id="000", ends_at=datetime(2026, 1, 1, tzinfo=UTC)))
    assert bench.notes.get_many(keys(1)) == [None]


def test_unprocessed_items_are_sent_again_and_nothing_else(bench: Bench) -> None:
    bench.backend.script = [bench.backend.leave_all_but(1), throttled, bench.backend.leave_all_but(1)]
    results = bench.notes.unsafe_batch_put(some(4))
    assert [len(request.body["RequestItems"]["notes"]) for request in bench.backend.sent] == [4, 3, 3, 2]
    assert [result.outcome.once for result in results if isinstance(result.outcome, sw.Applied)] == [True] * 4


def test_batches_have_25_items(bench: Bench) -> None:
    seen: list[tuple[int, int]] = []
    assert all(bench.notes.unsafe_batch_put(some(60), progress=lambda done, total: seen.append((done, total))))
    assert [len(request.body["RequestItems"]["notes"]) for request in bench.backend.sent] == [25, 25, 10]
    assert seen == [(25, 60), (50, 60), (60, 60)]


def test_items_whose_answer_was_lost_are_sent_again_and_are_not_certain_to_be_stored_once(bench: Bench) -> None:
    bench.backend.script = [bench.backend.lose_answer]
    results = bench.notes.unsafe_batch_put(some(2))
    assert [(bool(result), result.outcome.once) for result in results if isinstance(result.outcome, sw.Applied)] == [(True, False)] * 2


def test_each_resend_of_a_batch_stamps_anew_so_that_no_stamp_comes_back(bench: Bench) -> None:
    bench.backend.script = [bench.backend.lose_answer, bench.backend.leave_all_but(0)]
    (result,) = bench.notes.unsafe_batch_put([Note(id="a")])
    stamps = [(item["_s"]["S"], item["_b"]["S"]) for sent in bench.backend.sent for item in [sent.body["RequestItems"]["notes"][0]["PutRequest"]["Item"]]]
    assert len({stamp for stamp, _ in stamps}) == 3
    assert all(stamp == birth for stamp, birth in stamps)
    # What is handed out is what the last attempt stored: a write of it meets the item.
    assert bench.notes.put(result.item.replace(text="b"), if_unchanged=True).text == "b"


def test_doubt_stays_with_the_item_when_a_later_answer_leaves_it_unprocessed(bench: Bench) -> None:
    bench.backend.script = [unanswered, bench.backend.leave_all_but(1), *[throttled] * 100]
    first, second = bench.notes.unsafe_batch_put(some(2))
    assert bool(first)
    assert isinstance(second.error, sw.OutcomeUnknown)
    with pytest.raises(sw.OutcomeUnknown):
        _ = second.item


def test_items_that_are_left_unprocessed_until_the_deadline_were_not_written(bench: Bench) -> None:
    bench.backend.script = [bench.backend.leave_all_but(1)] + [bench.backend.leave_all_but(0)] * 100
    first, second = bench.notes.unsafe_batch_put(some(2))
    assert bool(first)
    assert isinstance(second.error, sw.Throttled)
    assert bench.notes.get_or_none(Note.key_of("001")) is None


def test_a_batch_that_is_refused_without_doubt_was_not_written_and_one_in_doubt_is_unknown(bench: Bench) -> None:
    def denied(_: Request) -> Answer:
        return Rejection("AccessDeniedException", "no")

    bench.backend.script = [denied]
    [refused] = bench.notes.unsafe_batch_put(some(1))
    bench.backend.script = [unanswered, denied]
    [unknown] = bench.notes.unsafe_batch_put(some(1))
    assert isinstance(refused.error, sw.InvalidRequest)
    assert refused.error.code == "AccessDeniedException"
    assert isinstance(unknown.error, sw.OutcomeUnknown)


def test_a_batch_that_never_left_was_not_written(bench: Bench) -> None:
    bench.backend.script = [lambda _: NotSent("no route")] * 100
    [result] = bench.notes.unsafe_batch_put(some(1))
    assert isinstance(result.error, sw.ConnectionFailed)


def test_a_batch_that_cannot_be_sent_has_a_result_for_each_item_and_doubt_stays(bench: Bench) -> None:
    def no_credentials(_: Request) -> Answer:
        raise sw.InvalidRequest("no credentials: the session has ended")

    def let_through(_: Request) -> None:
        return None

    bench.backend.script = [let_through, bench.backend.lose_answer, no_credentials, no_credentials]
    results = bench.notes.unsafe_batch_put(some(51))
    assert all(results[:25])
    assert {type(result.error) for result in results[25:50]} == {sw.OutcomeUnknown}
    assert isinstance(results[50].error, sw.ConnectionFailed)
    assert "no credentials" in str(results[50].error)


def test_an_answer_to_a_request_that_the_transport_sent_twice_is_not_certain_to_be_once(bench: Bench) -> None:
    def resent(request: Request) -> Answer:
        answer = bench.backend.inner.send(request, 1.0)
        assert isinstance(answer, Success)
        return Success(answer.body, resent=True)

    bench.backend.script = [resent]
    [result] = bench.notes.unsafe_batch_put(some(1))
    assert isinstance(result.outcome, sw.Applied)
    assert not result.outcome.once


def test_an_interrupted_batch_is_remembered_as_in_doubt(bench: Bench) -> None:
    def interrupt(request: Request) -> Answer:
        bench.backend.inner.send(request, 1.0)
        raise KeyboardInterrupt

    bench.backend.script = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        bench.notes.unsafe_batch_put(some(1))
    with pytest.raises(sw.AlreadyExists) as refused:
        bench.notes.create(Note(id="000"))
    assert refused.value.own_earlier_write


def test_a_batch_that_is_interrupted_between_its_attempts_is_remembered_too(bench: Bench) -> None:
    bench.backend.script = [bench.backend.lose_answer]
    bench.interrupts_waits = True
    with pytest.raises(KeyboardInterrupt):
        bench.notes.unsafe_batch_put(some(1))
    with pytest.raises(sw.AlreadyExists) as refused:
        bench.notes.create(Note(id="000"))
    assert refused.value.own_earlier_write


def test_a_raw_delete_needs_no_item_and_is_sent_again_in_doubt(bench: Bench) -> None:
    bench.notes.put(Note(id="000"))
    bench.backend.script = [bench.backend.lose_answer]
    results = bench.notes.unsafe_batch_delete(keys(2))
    assert [bool(result) for result in results] == [True, True]
    assert bench.notes.get_or_none(Note.key_of("000")) is None
