"""Belongs here: a simulated process: its clocks, locks, side operations, and the strands of user code that run in it.

Must not be here: the scheduler, what becomes of a request, the user's view of a client.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Protocol, cast

from surewrite.core.answers import Answer, Rejection, Success
from surewrite.core.effects import Acquire, Lock, Moment, Operation, Pause, Send, Steps, StopSide
from surewrite.drivers.clocks import ServerOffset
from surewrite.drivers.simulated import Alarm, Wish, perform, run_wishes
from surewrite.testing.choices import Choices
from surewrite.testing.faults import Cancel, Crash, Freeze, Mishap
from surewrite.testing.ledger import Attempt, Call, Ledger
from surewrite.testing.network import Network
from surewrite.testing.strands import Awaited, CoroutineStrand, ProcessEnded, SimulatedInterrupt, Strand, blocking_strand, leave_blocking
from surewrite.testing.words import word_of
from surewrite.testing.world_settings import WorldSettings

FREEZE_SHORT_SECONDS = 3.0
ALARM_EARLY_SECONDS = 1e-6
"""Sums of seconds are not exact: a time limit that is so near has come."""

STEPS_MAX = 100_000
"""A process that makes more steps than this in one world runs in circles."""


class WorldOfProcess(Protocol):
    """What a process needs of its world."""

    now: float
    faulty: bool
    settings: WorldSettings
    choices: Choices
    ledger: Ledger
    network: Network
    interrupts: tuple[tuple[tuple[str, float], ...], float]

    def tick(self) -> int: ...

    def after(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None: ...

    def server_time(self) -> float: ...

    def note(self, who: str, text: str) -> None: ...


@dataclass(slots=True, eq=False)
class _Side:
    """A side operation: its strand, and who waits for its end."""

    strand: Strand
    waiting: Strand | None = None
    ticket: int = 0
    error: BaseException | None = None


@dataclass(slots=True)
class _Held:
    """A lock that a call holds, and those that wait for it, in order."""

    waiting: deque[tuple[Strand, int, Call]]


class Process:
    """Runs strands of user code and is the host of their driver. ``crashed`` is called when a crash befalls it."""

    def __init__(
        self, world: WorldOfProcess, name: str, *, blocking: bool, skew_seconds: float, number: int, counters: Counters, crashed: Callable[[], None]
    ) -> None:
        self.world = world
        self.name = name
        self.blocking = blocking
        self.number = number
        self.counters = counters
        self.ended = False
        self.failure: BaseException | None = None
        self.database: object = None
        self._crashed = crashed
        self._skew = skew_seconds
        self._frozen_until = 0.0
        self._frozen_in_all = 0.0
        self._steps = 0
        self._strands: list[Strand] = []
        self._active: Strand | None = None
        self._locks: dict[Lock, _Held] = {}
        self._sides: dict[Strand, _Side] = {}
        self._offset = ServerOffset()

    # ------------------------------------------------------------------------------------------------- for the client

    def start(self, body: Callable[[], Any]) -> Strand:
        """Begin user code: a function where the process is blocking, else one that gives a coroutine."""
        strand = blocking_strand(body) if self.blocking else CoroutineStrand(body())
        self._strands.append(strand)
        self.world.after(0.0, self.go_on, strand, 0, None, None)
        return strand

    def end_all(self) -> None:
        """Nothing of this process runs any more, and whatever comes for it is dropped."""
        self.ended = True
        for strand in self._strands:
            if not strand.done:
                strand.end()

    def go_on(self, strand: Strand, ticket: int, value: Any, error: BaseException | None) -> None:
        """Give a waiting strand its answer, unless it waits for something else by now, and begin what it wishes for next."""
        world = self.world
        if strand.done or strand.ticket != ticket:
            return
        if world.now < self._frozen_until:
            world.after(self._frozen_until - world.now, self.go_on, strand, ticket, value, error)
            return
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise RuntimeError(f"{self.name} made {STEPS_MAX} steps and did not end: its code, or a retry in it, runs in circles")
        before, self._active = self._active, strand
        try:
            wish = strand.step(value, error)
        except BaseException as raised:
            if isinstance(raised, KeyboardInterrupt) and not isinstance(raised, SimulatedInterrupt):
                raise
            # Kept: whether it is a failure is for the world to say.
            self._strand_ended(strand, raised)
        else:
            if wish is None:
                self._strand_ended(strand, None)
            else:
                self._begin_waiting(strand, wish)
        finally:
            self._active = before

    # ----------------------------------------------------------------------------------------------------- as the host

    def moment(self) -> Moment:
        wall = self.world.server_time() + self._skew
        return Moment(wall, wall + self._offset.seconds, self.world.now - self._frozen_in_all, self._offset.known)

    def draw(self) -> float:
        self.counters.points += 1
        return self.world.choices.share((self.name, self.counters.points, "jitter"))

    def new_id(self) -> str:
        self.counters.ids += 1
        return f"{self.counters.id_prefix}{self.counters.ids:06}"

    def begin(self, steps: Steps[Any]) -> Call:
        world, strand = self.world, self._active
        if strand is None or self.ended:
            raise ProcessEnded
        ledger = world.ledger
        # The name and the arguments of an operation are those of its generator, which has not begun yet.
        generator = cast("GeneratorType[Any, Any, Any]", steps)
        frame = generator.gi_frame
        arguments: Mapping[str, Any] = dict(frame.f_locals) if frame is not None else {}
        parent = strand.calls[-1] if strand.calls else None
        call = Call(
            number=len(ledger.calls),
            client=self.name,
            incarnation=self.number,
            verb=generator.gi_code.co_name,
            arguments=arguments,
            began=world.now,
            began_tick=world.tick(),
            began_position=len(ledger.commits),
            parent=parent,
        )
        options = arguments.get("options")
        call.allows_repeats = getattr(options, "in_doubt", None) == "resend"
        ledger.calls.append(call)
        strand.calls.append(call)
        return call

    def end(self, call: Call, result: Any, error: BaseException | None) -> None:
        strand = self._active
        if strand is not None and strand.calls and strand.calls[-1] is call:
            strand.calls.pop()
        if self.ended or isinstance(error, (ProcessEnded, GeneratorExit)):
            return
        world = self.world
        call.result, call.error, call.word = result, error, word_of(call, result, error)
        call.ended, call.ended_tick, call.ended_position = world.now, world.tick(), len(world.ledger.commits)
        for lock in tuple(call.held):
            self.release(call, lock)
        for side in call.sides:
            self._cancel(side.strand)
        call.sides.clear()

    def release(self, call: Call, lock: Lock) -> None:
        call.held.remove(lock)
        held = self._locks[lock]
        while held.waiting:
            strand, ticket, waiter = held.waiting.popleft()
            if not strand.done and strand.ticket == ticket:
                waiter.held.append(lock)
                self.world.after(0.0, self.go_on, strand, ticket, None, None)
                return
        del self._locks[lock]

    def start_side(self, call: Call, operation: Operation[Any]) -> object:
        if self.blocking:
            strand = blocking_strand(lambda: _run_blocking(self, operation))
        else:
            strand = CoroutineStrand(_run_awaited(self, operation))
        side = _Side(strand)
        call.sides.append(side)
        self._strands.append(strand)
        self._sides[strand] = side
        self.world.after(0.0, self.go_on, strand, 0, None, None)
        return side

    def set_alarm(self, seconds: float) -> Alarm:
        alarm = Alarm()
        assert self._active is not None
        self.world.after(seconds, self._ring, alarm, self._active, self.moment().monotonic + seconds)
        return alarm

    def _ring(self, alarm: Alarm, strand: Strand, due: float) -> None:
        if alarm.off or strand.done:
            return
        left = due - self.moment().monotonic
        if left > ALARM_EARLY_SECONDS:
            # The process stood still meanwhile, and so did its clock.
            self.world.after(left, self._ring, alarm, strand, due)
            return
        alarm.rang = True
        self.go_on(strand, strand.ticket, None, strand.cancellation())

    def switch(self, wish: Wish) -> Any:
        if self.ended:
            raise ProcessEnded
        return leave_blocking(wish)

    # --------------------------------------------------------------------------------------------------------- waiting

    def _begin_waiting(self, strand: Strand, wish: Wish) -> None:
        world, effect, ticket = self.world, wish.effect, strand.ticket
        match effect:
            case Send():
                self._send(strand, wish.call, effect)
            case Pause(seconds=seconds):
                world.after(max(0.0, seconds), self.go_on, strand, ticket, None, None)
                self._maybe_interrupt(strand, seconds)
            case Acquire(lock=lock):
                held = self._locks.get(lock)
                if held is not None:
                    held.waiting.append((strand, ticket, wish.call))
                    self._maybe_interrupt(strand, 2 * world.settings.latency_seconds_most)
                    return
                wish.call.held.append(lock)
                self._locks[lock] = _Held(deque())
                world.after(0.0, self.go_on, strand, ticket, None, None)
            case StopSide(handle=handle, interrupt=interrupt):
                assert isinstance(handle, _Side)
                self._stop_side(strand, wish.call, handle, interrupt=interrupt)
                self._maybe_interrupt(strand, 2 * world.settings.latency_seconds_most)

    def _send(self, strand: Strand, call: Call, effect: Send) -> None:
        world = self.world
        self.counters.attempts += 1
        attempt = Attempt(call, self.counters.attempts, effect.request, world.now, world.tick())
        call.attempts.append(attempt)
        ticket, sent = strand.ticket, world.server_time() + self._skew

        def deliver(answered: Attempt, answer: Answer) -> None:
            if strand.ticket != ticket or strand.done:
                return
            if world.now < self._frozen_until:
                world.after(self._frozen_until - world.now, deliver, answered, answer)
                return
            answered.answer, answered.answered_at, answered.answered_tick = answer, world.now, world.tick()
            if isinstance(answer, (Success, Rejection)) and answer.server_time is not None:
                self._offset.learn(answer.server_time, sent=sent, read=world.server_time() + self._skew)
            self.go_on(strand, ticket, answer, None)

        mishap = world.network.send(attempt, effect.timeout_seconds, self.moment().server, deliver)
        if mishap is None:
            self._maybe_interrupt(strand, 2 * world.settings.latency_seconds_most)
        else:
            world.after(mishap.after_seconds, self._befall, mishap, strand)

    def _stop_side(self, strand: Strand, call: Call, side: _Side, *, interrupt: bool) -> None:
        if interrupt and side in call.sides:
            call.sides.remove(side)
        side.waiting, side.ticket = strand, strand.ticket
        if side.strand.done:
            self._tell_stopped(side)
        elif interrupt:
            self._cancel(side.strand)

    def _cancel(self, strand: Strand) -> None:
        if not strand.done:
            self.world.after(0.0, self.go_on, strand, strand.ticket, None, strand.cancellation())

    def _strand_ended(self, strand: Strand, raised: BaseException | None) -> None:
        side = self._sides.pop(strand, None)
        if side is None:
            self.failure = raised
            return
        side.error = None if isinstance(raised, type(strand.cancellation())) else raised
        if side.waiting is not None:
            self._tell_stopped(side)

    def _tell_stopped(self, side: _Side) -> None:
        assert side.waiting is not None
        self.world.after(0.0, self.go_on, side.waiting, side.ticket, side.strand.result, side.error)

    # ------------------------------------------------------------------------------------------------------ interrupts

    def _maybe_interrupt(self, strand: Strand, within: float) -> None:
        world = self.world
        rates, total = world.interrupts
        if not world.faulty or not (total or world.choices.replays):
            return
        self.counters.points += 1
        what = world.choices.happens((self.name, self.counters.points, "interrupt"), rates, total)
        if what:
            seconds = world.choices.seconds((self.name, self.counters.points, "interrupted after"), within, 0.0)
            world.after(seconds, self._interrupt, what, self.counters.points, strand, strand.ticket)

    def _interrupt(self, what: str, point: int, strand: Strand, ticket: int) -> None:
        world = self.world
        if strand.done or strand.ticket != ticket:
            return
        if what == "crashed":
            self._crashed()
        elif what == "cancelled":
            world.note(self.name, "the call is cancelled")
            self.go_on(strand, ticket, None, strand.cancellation())
        else:
            self.freeze(
                world.choices.scaled_seconds((self.name, point, "frozen"), (FREEZE_SHORT_SECONDS, world.settings.freeze_seconds_most), FREEZE_SHORT_SECONDS)
            )

    def _befall(self, mishap: Mishap, strand: Strand) -> None:
        if self.ended or strand.done:
            return
        match mishap:
            case Crash():
                self._crashed()
            case Freeze(seconds=seconds):
                self.freeze(seconds)
            case Cancel():
                self.world.note(self.name, "the call is cancelled")
                self.go_on(strand, strand.ticket, None, strand.cancellation())

    def freeze(self, seconds: float) -> None:
        """Stand still: nothing runs and the monotonic clock does not move, while the world goes on."""
        self.world.note(self.name, f"stands still for {seconds:.1f} s")
        self._frozen_until = self.world.now + seconds
        self._frozen_in_all += seconds


@dataclass(slots=True)
class Counters:
    """What is counted across the restarts of a client, so that no label, id or attempt number comes twice.

    ``id_prefix``: six characters that no other client of the world begins its ids with.
    """

    id_prefix: str
    points: int = 0
    ids: int = 0
    attempts: int = 0
    choices: int = 0


async def _run_awaited(process: Process, operation: Operation[Any]) -> Any:
    return await Awaited(perform(process, operation.steps(), awaits=True))


def _run_blocking(process: Process, operation: Operation[Any]) -> Any:
    return run_wishes(process, perform(process, operation.steps(), awaits=False))
