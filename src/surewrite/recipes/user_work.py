"""Belongs here: calling code of users whose work counts as done once it returns. Must not be here: what is recorded of it, code that only tells."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence, Sized
from numbers import Number
from typing import Any, cast

from surewrite.core.effects import Operation, Steps, call_user, call_user_within
from surewrite.errors import InvalidRequest, SurewriteError


class WorkRefused(SurewriteError):
    """A function returned an operation, which was run, and the operation was refused or did not come to run: its work is not done.

    ``answer`` is what the operation gave, such as ``Stopped`` or ``EffectRunning``.
    """

    def __init__(self, message: str, *, key: Any = None, answer: Any = None) -> None:
        super().__init__(message, key=key)
        self.answer = answer


def work_done(function: Callable[..., Any], *arguments: Any, timeout_seconds: float | None = None) -> Steps[Any]:
    """Call a function, run the operation that it returns if it does, and give the result. ``timeout_seconds`` is for what is awaited.

    Raises ``InvalidRequest`` where what it returns shows that its work was never begun, ``WorkRefused`` where its operation was refused.
    """
    calling = call_user(function, *arguments) if timeout_seconds is None else call_user_within(timeout_seconds, function, *arguments)
    result = yield from calling
    if not isinstance(result, Operation):
        require_begun(result)
        return result
    return (yield from _carried_out(result))  # pyright: ignore[reportUnknownArgumentType] - of what an operation gives nothing is known


def _carried_out(operation: Operation[Any]) -> Steps[Any]:
    answer = yield from operation.steps()
    if _is_refusal(answer):
        raise WorkRefused(f"the operation that the function returned gave {type(answer).__name__}: what it was to do is not done", answer=answer)
    return answer


def require_begun(result: Any) -> None:
    """Refuse what nobody will run: it was not done, and must not be recorded as done."""
    if isinstance(result, (Generator, AsyncGenerator)):
        raise InvalidRequest("the function holds a yield, so nothing of it was run: write a plain one that returns one operation")
    if isinstance(result, Awaitable):
        raise InvalidRequest("the function returned what is to be awaited, and the blocking client waits for nothing, so it may not be done: wait for it there")
    given = cast("Sequence[object]", result) if isinstance(result, (list, tuple, set, frozenset)) else (result,)
    if any(isinstance(each, Operation) for each in given):
        raise InvalidRequest("the function returned operations that nobody runs, so they were not done: run each with db.run")


def _is_refusal(answer: object) -> bool:
    """Outcomes of this library are false where nothing was done; numbers, texts and collections are results, whatever their truth."""
    return answer is not None and not isinstance(answer, (Number, Sized)) and not answer
