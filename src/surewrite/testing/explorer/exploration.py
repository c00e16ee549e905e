"""Belongs here: going through the cases and saying what came of them. Must not be here: cases, the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from surewrite.errors import InvalidRequest
from surewrite.testing.explorer.cases import Case
from surewrite.testing.explorer.cases_claims import CLAIMS, ClaimCase
from surewrite.testing.explorer.cases_creates import COUNTS, CREATES, DELETES, PUTS, UPDATES
from surewrite.testing.explorer.cases_guarded import ORDERED, VERSIONED, VERSIONED_LIMITS
from surewrite.testing.explorer.cases_transactions import COMMITS, MORE_COMMITS, TRANSACTION_LIMITS
from surewrite.testing.explorer.claims import ClaimSearch
from surewrite.testing.explorer.clients import Patience
from surewrite.testing.explorer.search import Search
from surewrite.testing.explorer.stage import Stage
from surewrite.testing.explorer.stories import story

CASES: tuple[Case, ...] = (*CREATES, *PUTS, *UPDATES, *DELETES, *COUNTS, *VERSIONED, *VERSIONED_LIMITS, *ORDERED, *COMMITS, *MORE_COMMITS, *TRANSACTION_LIMITS)

FULL_PATIENCE = Patience(attempts=3, settling=5)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the search of one case came to. ``untrue`` and ``story`` are those of the shortest counter-schedule, if there is one.

    ``complete`` is false where the budget of states ended first: then nothing is shown.
    """

    name: str
    claim: str
    expected: str | None
    untrue: str | None
    story: tuple[str, ...]
    states: int
    words: frozenset[str]
    complete: bool

    @property
    def as_expected(self) -> bool:
        return self.complete and self.untrue == self.expected

    @property
    def text(self) -> str:
        """The case in words, with the schedule where a word is untrue."""
        found = f"breaks: {self.untrue}" if self.untrue is not None else "holds" if self.complete else "out of budget"
        wanted = "" if self.as_expected else f"; expected that it {'holds' if self.expected is None else f'breaks: {self.expected}'}"
        lines = [f"{self.name}: {self.claim}", f"  {found}{wanted} ({self.states} states; told: {', '.join(sorted(self.words)) or 'nothing'})"]
        return "\n".join((*lines, *(f"  {number}. {line}" for number, line in enumerate(self.story, start=1))))


@dataclass(frozen=True, slots=True)
class Report:
    """All verdicts, in order."""

    verdicts: tuple[Verdict, ...]

    @property
    def as_expected(self) -> bool:
        return all(verdict.as_expected for verdict in self.verdicts)

    @property
    def states(self) -> int:
        return sum(verdict.states for verdict in self.verdicts)

    @property
    def surprises(self) -> tuple[Verdict, ...]:
        """The verdicts that are not as the case expects."""
        return tuple(verdict for verdict in self.verdicts if not verdict.as_expected)


def case_names() -> tuple[str, ...]:
    """The names of all cases."""
    return (*(case.name for case in CASES), *(case.name for case in CLAIMS))


def explore(names: Sequence[str] | None = None, *, full: bool = False, progress: Callable[[Verdict], None] | None = None) -> Report:
    """Search the named cases, or all.

    ``full`` allows one action of others more in each case that is to hold, and one attempt more where that can be
    searched, which takes many minutes; ``progress`` gets each verdict as it is found. Raises ``InvalidRequest`` for a name that no case has.
    """
    by_name: dict[str, Case | ClaimCase] = {case.name: case for case in CASES} | {case.name: case for case in CLAIMS}
    unknown = [name for name in names or () if name not in by_name]
    if unknown:
        raise InvalidRequest(f"no such case: {', '.join(unknown)}; there are {', '.join(by_name)}")
    stage = Stage()
    verdicts: list[Verdict] = []
    for name in by_name if names is None else names:
        case = by_name[name]
        verdict = examine_claims(case) if isinstance(case, ClaimCase) else examine(stage, case, full=full)
        verdicts.append(verdict)
        if progress is not None:
            progress(verdict)
    return Report(tuple(verdicts))


def examine(stage: Stage, case: Case, *, full: bool = False) -> Verdict:
    """Search one case."""
    world, patience = case.world, case.patience
    if full and case.breaks is None:
        world = replace(world, actions_max=world.actions_max + 1)
        # Where many answers are possible, or several writes are made, one more attempt is too many schedules.
        patience = FULL_PATIENCE if patience == Patience() and not world.answers else patience
    search = Search(stage, world, case.start, case.promise, patience)
    found = search.run()
    untrue = found.schedule.untrue if found.schedule is not None else None
    return Verdict(
        name=case.name,
        claim=case.claim,
        expected=case.breaks,
        untrue=untrue,
        story=story(search, found.schedule) if found.schedule is not None else (),
        states=found.states,
        words=frozenset(found.words),
        complete=found.complete,
    )


def examine_claims(case: ClaimCase) -> Verdict:
    """Search one case of unique values; what may happen in it is fixed by what its clients do."""
    found = ClaimSearch(case.world).run()
    words = frozenset(found.words & {"applied", "refused"})
    return Verdict(case.name, case.claim, case.breaks, found.untrue, found.story, found.states, words, found.complete)
