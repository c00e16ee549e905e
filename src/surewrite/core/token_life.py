"""Belongs here: how long a transaction's token is good for. Must not be here: reading the clock."""

from __future__ import annotations

from surewrite.core import limits
from surewrite.core.effects import Moment
from surewrite.core.registry import HORIZON_SECONDS

MARGIN_SECONDS = 60.0

SEND_SECONDS_MAX = limits.TRANSACTION_TOKEN_SECONDS - HORIZON_SECONDS - MARGIN_SECONDS
"""Ten minutes of token life, less the five that a signed request lives, less one: four minutes after the first send.

Counted from the first send, because a cancelled first request may start the service's clock.
Source: the Developer Guide, managing complex workflows with transactions, idempotency.
"""

FENCE_SECONDS_MAX = limits.TRANSACTION_TOKEN_SECONDS - MARGIN_SECONDS
"""A fence proves something only while the service still remembers the write's token: nine minutes after the first send."""

SERVER_DRIFT_SECONDS_MAX = 30.0
"""If the service's clock moved that much against ours since the plan began, this process cannot tell how much time passed."""


class TokenLife:
    """The time since a token was first sent, by whichever clock says more: a frozen process has a monotonic clock that stood still.

    The service's clock counts from the first moment that knows it: what the first answer tells of it is no drift.
    """

    __slots__ = ("_ahead_seconds", "began")

    def __init__(self, began: Moment) -> None:
        self.began = began
        self._ahead_seconds = began.server - began.wall if began.server_known else None

    def elapsed_seconds(self, moment: Moment) -> float:
        return max(moment.wall - self.began.wall, moment.monotonic - self.began.monotonic, moment.wall - self.began.wall + self._drift_seconds(moment))

    def may_send(self, moment: Moment) -> bool:
        """Whether the write itself may still be sent under its token."""
        return self.elapsed_seconds(moment) < SEND_SECONDS_MAX and not self._drifted(moment)

    def fence_proves(self, moment: Moment) -> bool:
        """Whether a fence that is answered at this moment was judged against the write's token."""
        return self.elapsed_seconds(moment) < FENCE_SECONDS_MAX and not self._drifted(moment)

    def _drifted(self, moment: Moment) -> bool:
        return abs(self._drift_seconds(moment)) > SERVER_DRIFT_SECONDS_MAX

    def _drift_seconds(self, moment: Moment) -> float:
        """How far the service's clock moved against this machine's since it was first known."""
        ahead_seconds = moment.server - moment.wall
        if self._ahead_seconds is None:
            if not moment.server_known:
                return 0.0
            self._ahead_seconds = ahead_seconds
        return ahead_seconds - self._ahead_seconds
