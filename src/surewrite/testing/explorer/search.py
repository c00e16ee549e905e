"""Belongs here: all schedules of one small world, breadth first, until a word is untrue. Must not be here: which worlds are looked at.

Any attempt that was sent is carried out at any later moment or never; others act at any moment; the client stops waiting
at any moment. Two late copies of one request are one and the same, so only the older is carried out first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection
from surewrite.core.values import Item
from surewrite.testing.altered_answers import marked_as_resent, without_items
from surewrite.testing.explorer.clients import FROZEN_SECONDS, Client, Patience, Point, Start
from surewrite.testing.explorer.others import Other, unused_id
from surewrite.testing.explorer.promises import Promise, breach
from surewrite.testing.explorer.stage import Stage

STATES_MAX = 3_000_000
EFFECTS_COUNTED_MAX = 3

NO_ANSWER = NoAnswer("no answer")
NOT_SENT = NotSent("the connection was refused")
MISMATCH = Rejection("IdempotentParameterMismatchException")


@dataclass(frozen=True, slots=True)
class World:
    """What may happen around the client.

    ``late``: attempts that the client no longer waits for are still carried out. ``resends``: the transport sends each
    request twice by itself, and tells so or not. ``answers``: what may come back for an attempt that was not carried
    out. ``hides_items``: a refusal comes without the item. ``tokens``: honoured for ever; forgotten at any moment after
    the word; ignored. ``remembers_cancelled``: a cancelled transaction keeps its token. ``freezes``: the client may be
    stopped for 14 minutes, in which late attempts lose their signature and tokens are forgotten.
    """

    start: tuple[Item, ...]
    others: tuple[Other, ...] = ()
    actions_max: int = 4
    late: bool = True
    resends: Literal["never", "unseen", "told"] = "never"
    answers: tuple[Answer, ...] = ()
    hides_items: bool = False
    tokens: Literal["honoured", "forgotten", "ignored"] = "honoured"
    remembers_cancelled: bool = False
    freezes: bool = False


Step = tuple[str, int, int]
"""What happened, to which number of attempt or other, and with which answer: rendered only for a schedule that is shown."""

Copy = tuple[int, int, int]
"""(request, point that sent it, which transmission): an attempt under way that the client does not wait for."""

Token = tuple[str, int, int]
"""(token, request, answer)"""


class State(NamedTuple):
    """One moment; a tuple, for it is hashed all the time. ``answer`` is that to the request which the client waits for, -1 while it is not carried out."""

    database: int
    point: int
    answer: int
    late: tuple[Copy, ...]
    effects: int
    acted: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The shortest way to an untrue word: what is untrue, and the states and steps that lead there."""

    untrue: str
    steps: tuple[tuple[Step, State], ...]


@dataclass(slots=True)
class Found:
    """What a search came to: the number of states, the words that were told, and a schedule if a word was untrue.

    ``complete`` is false where the budget of states ended before the schedules did.
    """

    states: int = 0
    words: set[str] = field(default_factory=set[str])
    schedule: Schedule | None = None
    complete: bool = True


class Search:
    """One world with one client."""

    def __init__(self, stage: Stage, world: World, start: Start, promise: Promise, patience: Patience, *, states_max: int = STATES_MAX) -> None:
        self.stage = stage
        self.world = world
        self.promise = promise
        self.states_max = states_max
        self.client = Client(stage, start, patience, old_item=not world.hides_items)
        self._no_answer = stage.answer(NO_ANSWER)
        self._mismatch = stage.answer(MISMATCH)
        # Over a transport that sends twice, one of the two is under way whatever became of the other.
        refused = (NOT_SENT,) if world.answers and world.resends == "never" else ()
        self._answers = tuple(stage.answer(answer) for answer in (*world.answers, *refused))
        self._requests: dict[tuple[int, int, int], int | None] = {}

    def run(self) -> Found:
        first = self._sent(State(self.stage.database(self.world.start), 0, -1, (), 0, 0, ()), self.client.first)
        before: dict[State, tuple[State, Step] | None] = {first: None}
        waiting = deque([first])
        found = Found()
        while waiting:
            state = waiting.popleft()
            found.states += 1
            if found.states > self.states_max:
                found.complete = False
                return found
            for step, after in self._next(state):
                if after in before:
                    continue
                before[after] = (state, step)
                point = self.client.points[after.point]
                if point.told is not None:
                    found.words.add(point.told.text)
                    untrue = breach(self.promise, point, after.effects, self.stage.item(after.database))
                    if untrue is not None:
                        found.schedule = Schedule(untrue, _way(before, after))
                        return found
                waiting.append(after)
        return found

    # ------------------------------------------------------------------------------------------------------- what can happen

    def _next(self, state: State) -> Iterator[tuple[Step, State]]:
        point = self.client.points[state.point]
        if point.told is None:
            yield from self._of_the_client(state, point)
        elif not state.late:
            # Nothing that was promised can change any more.
            return
        yield from self._late(state)
        if state.acted < self.world.actions_max:
            for number, other in enumerate(self.world.others):
                acted = self._act(number, other, state)
                if acted is not None:
                    yield ("other", number, -1), acted
        if self.world.tokens == "forgotten" and point.told is not None and state.tokens:
            yield ("forgotten", 0, -1), state._replace(tokens=())

    def _of_the_client(self, state: State, point: Point) -> Iterator[tuple[Step, State]]:
        if state.answer < 0:
            answer, after = self._carry_out(state, point.request, is_write=point.kind == "write")
            yield ("carried out", point.number, answer), after._replace(answer=answer)
            for answer in self._answers:
                yield ("answered without effect", point.number, answer), self._answered(state, point, answer)
        else:
            yield ("told", point.number, state.answer), self._answered(state._replace(answer=-1), point, state.answer)
        given_up = state
        if state.answer < 0 and self.world.late and point.kind != "read":
            given_up = state._replace(late=_with(state.late, (point.request, point.number, 0)))
        yield ("no answer", point.number, -1), self._answered(given_up._replace(answer=-1), point, self._no_answer)
        if self.world.freezes:
            thawed = state._replace(answer=-1, late=(), tokens=())
            yield ("frozen", point.number, -1), self._answered(thawed, point, self._no_answer, FROZEN_SECONDS)

    def _late(self, state: State) -> Iterator[tuple[Step, State]]:
        seen: set[int] = set()
        for copy in state.late:
            request, number, transmission = copy
            if request in seen:
                continue
            seen.add(request)
            answer, after = self._carry_out(state, request, is_write=self.client.points[number].kind == "write")
            yield (
                ("carried out again" if transmission else "carried out late", number, answer),
                after._replace(late=tuple(other for other in state.late if other != copy)),
            )

    def _answered(self, state: State, point: Point, answer: int, frozen_seconds: float = 0.0) -> State:
        """The client has an answer: it was told its word, or it sends again."""
        given = self.stage.answers[answer]
        if self.world.hides_items:
            given = without_items(given)
        if self.world.resends == "told":
            given = marked_as_resent(given)
        after = self.client.after(point, self.stage.answer(given), frozen_seconds)
        return self._sent(state, after)

    def _sent(self, state: State, point: Point) -> State:
        late = state.late
        if point.told is None and point.kind != "read" and self.world.resends != "never":
            late = _with(late, (point.request, point.number, 1))
        return state._replace(point=point.number, late=late)

    # ------------------------------------------------------------------------------------------------------- the service

    def _carry_out(self, state: State, request: int, *, is_write: bool) -> tuple[int, State]:
        token = self.stage.requests[request].body.get("ClientRequestToken")
        if token is not None and self.world.tokens != "ignored":
            for known, owner, answer in state.tokens:
                if known == token:
                    return (answer if owner == request else self._mismatch), state
        done = self.stage.execute(request, state.database)
        effects = min(EFFECTS_COUNTED_MAX, state.effects + (is_write and done.applied))
        tokens = state.tokens
        if token is not None and self.world.tokens != "ignored" and (done.applied or self.world.remembers_cancelled):
            tokens = tuple(sorted((*tokens, (token, request, done.answer))))
        return done.answer, state._replace(database=done.database, effects=effects, tokens=tokens)

    def _act(self, number: int, other: Other, state: State) -> State | None:
        request = self._request_of(number, other, state)
        if request is None:
            return None
        _, after = self._carry_out(state, request, is_write=other.same_operation)
        changed = after.database != state.database or after.tokens != state.tokens
        return after._replace(acted=state.acted + 1) if changed else None

    def _request_of(self, number: int, other: Other, state: State) -> int | None:
        place = (number, state.database, state.acted if other.by_count else 0)
        if place not in self._requests:
            request = other.request(self.stage.item(state.database), unused_id(self.stage, state.database), state.acted)
            self._requests[place] = None if request is None else self.stage.request(request)
        return self._requests[place]


def _with(late: tuple[Copy, ...], copy: Copy) -> tuple[Copy, ...]:
    return tuple(sorted((*late, copy)))


def _way(before: dict[State, tuple[State, Step] | None], last: State) -> tuple[tuple[Step, State], ...]:
    steps: list[tuple[Step, State]] = []
    state = last
    while (link := before[state]) is not None:
        steps.append((link[1], state))
        state = link[0]
    return tuple(reversed(steps))
