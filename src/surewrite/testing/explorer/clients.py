"""Belongs here: the client whose write is explored, as a tree of what it asks for and is told after each answer. Must not be here: what the service does.

A generator cannot be copied, so the client is run again from its beginning for each new sequence of answers, and each
point that it reaches is kept. What it does is therefore what the library does, and nothing of it is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from surewrite.core.answers import Answer, NoAnswer, NotSent, Rejection, Success
from surewrite.core.attempts import attempt_until_decided
from surewrite.core.conclusions import conclude
from surewrite.core.effects import DrawRandom, Moment, NewId, Pause, ReadClock, Send, Steps
from surewrite.core.environment import Environment
from surewrite.core.outcomes import Applied, Canceled, Committed, Refused
from surewrite.core.plans import Plan
from surewrite.core.requests import Request
from surewrite.core.scopes import Scope
from surewrite.core.transaction_drafts import TransactionDraft
from surewrite.core.transactions import commit
from surewrite.errors import OutcomeUnknown, SurewriteError
from surewrite.testing.explorer.stage import KEY, NOW_SECONDS, Stage, environment

Word = Literal["applied", "refused", "unknown"]
Kind = Literal["write", "fence", "read"]

FROZEN_SECONDS = 840.0
"""A process that is thawed after 14 minutes: longer than a token lives, and than a signed request."""

EFFECTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Told:
    """What the caller is told. ``once``: that it took effect exactly once. ``gone`` and ``superseded`` are finer than the word."""

    word: Word
    once: bool = False
    gone: bool = False
    superseded: bool = False

    @property
    def text(self) -> str:
        finer = [name for name, said in (("gone", self.gone), ("superseded", self.superseded), ("exactly once", self.once and self.word == "applied")) if said]
        return self.word + (f" ({', '.join(finer)})" if finer else "")


Start = Callable[[Environment], Steps[Told]]
"""Begins the client's operation anew, in an environment of its own."""


@dataclass(frozen=True, slots=True)
class Patience:
    """After how many answers the clock passes the deadline: of the write itself, and of what settles a transaction in doubt."""

    attempts: int = 2
    settling: int = 4


def write(make: Callable[[Environment], tuple[Scope, Plan]]) -> Start:
    """The library's single write of a plan."""

    def start(around: Environment) -> Steps[Told]:
        scope, plan = make(around)
        moment = Moment(float(NOW_SECONDS), float(NOW_SECONDS), 0.0)

        def steps() -> Steps[Any]:
            ending = yield from attempt_until_decided(around, plan, moment)
            return conclude(scope, plan, ending, moment)

        return (yield from telling(steps()))

    return start


def transaction(draft: Callable[[Environment], TransactionDraft]) -> Start:
    """The library's commit."""

    def start(around: Environment) -> Steps[Told]:
        return (yield from telling(commit(draft(around))))

    return start


def verb(make: Callable[[Environment], Steps[Any]]) -> Start:
    """A verb of the library as a whole, where it makes more than one write."""

    def start(around: Environment) -> Steps[Told]:
        return (yield from telling(make(around)))

    return start


def telling(steps: Steps[Any]) -> Steps[Told]:
    """The word of an outcome, or of the error in its place: every error but ``OutcomeUnknown`` says that nothing was written."""
    try:
        outcome: Applied[Any] | Refused[Any] | Committed | Canceled = yield from steps
    except OutcomeUnknown as unknown:
        return Told("unknown", superseded=unknown.superseded)
    except SurewriteError:
        return Told("refused")
    match outcome:
        case Applied(once=once, gone=gone):
            return Told("applied", once=once and not gone, gone=gone)
        case Committed():
            return Told("applied", once=True)
        case Refused() | Canceled():
            return Told("refused")


@dataclass(slots=True, eq=False)
class Point:
    """Where the client stands: it waits for the answer to ``request``, or it was told its word."""

    number: int
    request: int
    sending: str
    kind: Kind
    told: Told | None
    unsettled: bool
    """Whether something that was sent to settle the write got no useful answer."""
    answers: tuple[tuple[Answer, float], ...]
    after: dict[tuple[int, float], Point] = field(default_factory=dict[tuple[int, float], "Point"])


class Client:
    """The tree of points of one client."""

    def __init__(self, stage: Stage, start: Start, patience: Patience, *, old_item: bool | None = True) -> None:
        self._stage = stage
        self._start = start
        self._patience = patience
        self._old_item = old_item
        self.points: list[Point] = []
        self.first = self._reach(())

    def after(self, point: Point, answer: int, frozen_seconds: float = 0.0) -> Point:
        """Where the client stands once it has this answer; ``frozen_seconds`` is how long it was stopped before it looked."""
        found = point.after.get((answer, frozen_seconds))
        if found is None:
            found = point.after[answer, frozen_seconds] = self._reach((*point.answers, (self._stage.answers[answer], frozen_seconds)))
        return found

    def _reach(self, answers: tuple[tuple[Answer, float], ...]) -> Point:
        run = _Run(self._patience, answers)
        ended = run.to_the_end_of_answers(self._start(environment(old_item=self._old_item)))
        request = -1 if isinstance(ended, Told) else self._stage.request(ended)
        told = ended if isinstance(ended, Told) else None
        point = Point(len(self.points), request, run.sending, run.kind, told, run.unsettled, answers)
        self.points.append(point)
        return point


class _Run:
    """One run from the beginning. Its clock stands still but where a deadline is to pass or a process is frozen."""

    def __init__(self, patience: Patience, answers: tuple[tuple[Answer, float], ...]) -> None:
        self.sending = ""
        self.kind: Kind = "write"
        self.unsettled = False
        self._patience = patience
        self._answers = answers
        self._monotonic = 0.0
        self._frozen = 0.0
        self._ids = 0
        self._writes = 0
        self._sends_of_this_write = 0
        self._settling = 0
        self._content: object = None
        self._in_transaction = False

    def to_the_end_of_answers(self, steps: Steps[Told]) -> Request | Told:
        given = 0
        reply: Any = None
        for _ in range(EFFECTS_MAX):
            try:
                effect = steps.send(reply)
            except StopIteration as stop:
                told: Told = stop.value
                return told
            if not isinstance(effect, Send):
                reply = self._reply(effect)
                continue
            self._note(effect.request)
            if given == len(self._answers):
                steps.close()
                return effect.request
            reply, frozen = self._answers[given]
            self._note_answer(reply, frozen)
            given += 1
        raise AssertionError("the client did not come to an end")

    def _reply(self, effect: object) -> object:
        match effect:
            case ReadClock():
                wall = NOW_SECONDS + self._monotonic + self._frozen
                return Moment(wall, wall, self._monotonic)
            case DrawRandom():
                return 0.0
            case NewId():
                self._ids += 1
                if not self._in_transaction:
                    # A verb that makes another write after the first was decided begins it with a new id, and a new deadline.
                    self._sends_of_this_write = 0
                return "A" if self._ids == 1 else f"A{self._ids}"
            case Pause():
                return None
            case _:
                raise AssertionError(f"the client of a small world asked for {effect!r}")

    def _note(self, request: Request) -> None:
        """What is being sent. After a fence the write's own bytes are sent to ask for what became of them."""
        if request.operation == "GetItem":
            self.kind, self.sending = "read", "a read of the item"
            return
        content = request.body.get("TransactItems")
        self._in_transaction = content is not None
        if _is_fence(request):
            self._settling += 1
            self.kind, self.sending = "fence", f"a fence ({self._settling})"
        elif self._settling and content == self._content:
            self._settling += 1
            self.kind, self.sending = "write", f"the write again, to ask ({self._settling})"
        else:
            self._sends_of_this_write = self._sends_of_this_write + 1 if content == self._content else 1
            self._content, self._settling = content, 0
            self._writes += 1
            self.kind, self.sending = "write", f"attempt {self._writes}"

    def _note_answer(self, answer: Answer, frozen: float) -> None:
        self._frozen += frozen
        if self._settling:
            self.unsettled = self.unsettled or not _settles(answer)
            if self._settling == self._patience.settling:
                self._monotonic += environment().deadline_seconds
        elif self._sends_of_this_write == self._patience.attempts:
            self._monotonic += environment().deadline_seconds


def _is_fence(request: Request) -> bool:
    actions = request.body.get("TransactItems", ())
    return any(str(action["Delete"]["Key"].get(KEY, {}).get("S")).startswith("surewrite-fence") for action in actions if "Delete" in action)


def _settles(answer: Answer) -> bool:
    match answer:
        case NoAnswer() | NotSent():
            return False
        case Success():
            return True
        case Rejection(code=code, reasons=reasons):
            return code == "IdempotentParameterMismatchException" or any(reason.code == "ConditionalCheckFailed" for reason in reasons)
