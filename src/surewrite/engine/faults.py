"""Belongs here: the errors that the service answers with. Must not be here: the rules that raise them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surewrite.core.values import Item


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """Why one action of a transaction failed; ``code`` is ``"None"`` where it did not."""

    code: str
    message: str | None = None
    item: Item | None = None

    def members(self) -> dict[str, Any]:
        """The reason in the service's own shape."""
        found: dict[str, Any] = {"Code": self.code}
        if self.message is not None:
            found["Message"] = self.message
        if self.item is not None:
            found["Item"] = self.item
        return found


class ServiceError(Exception):
    """An error answer of the service: its code without namespace, its message, and what it carries along."""

    def __init__(self, code: str, message: str, *, item: Item | None = None, reasons: tuple[CancellationReason, ...] = ()) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.item = item
        self.reasons = reasons

    def members(self) -> dict[str, Any]:
        """What the error body carries besides its type and message."""
        found: dict[str, Any] = {}
        if self.item is not None:
            found["Item"] = self.item
        if self.reasons:
            found["CancellationReasons"] = [reason.members() for reason in self.reasons]
        return found


def validation(message: str) -> ServiceError:
    """A ValidationException: the request is malformed and nothing was looked at or changed."""
    return ServiceError("ValidationException", message)


def serialization(message: str) -> ServiceError:
    """A SerializationException: the JSON of the request does not have the types of the service's model."""
    return ServiceError("SerializationException", message)
