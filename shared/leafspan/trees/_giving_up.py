"""When a build of trees gives up: a summarizer that fails every time is not asked for all the others."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.errors import FunctionFailed

MOST_FAILURES = 10
"""Groups in a row that may fail before anything has succeeded. Each was tried as often as the summarizer tries."""


class NotAsked(FunctionFailed):
    """The summarizer was not asked, since it had failed every time."""


@dataclass(slots=True)
class Patience:
    """Counts failures in a row. After ten of them, and no success before, the summarizer is given up.

    Attributes:
        failures: Number of groups in a row that failed.
        last: The error of the last one.
    """

    failures: int = 0
    last: Exception | None = None

    def succeeded(self) -> None:
        """Count a success."""
        self.failures, self.last = -1, None

    def failed(self, error: Exception) -> None:
        """Count a failure."""
        if self.failures >= 0 and not isinstance(error, NotAsked):
            self.failures += 1
            self.last = error

    @property
    def refusal(self) -> NotAsked | None:
        """The error for a group that is not tried any more. None if it is to be tried."""
        if self.failures < MOST_FAILURES or self.last is None:
            return None
        why = f"the summarizer was not asked, since it failed on {self.failures} groups in a row"
        refusal = NotAsked(
            f"{why}, and on no other, the last time with {type(self.last).__name__}: {self.last}; fix it, and build again",
            why,
        )
        refusal.__cause__ = self.last
        return refusal
