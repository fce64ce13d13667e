"""Decides when a build of trees gives up on a summarizer that fails every time."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.errors import FunctionFailed

MOST_FAILURES = 10
"""Most groups that may fail, retries included, before the first success."""


class NotAsked(FunctionFailed):
    """leafspan did not ask the summarizer, which had failed every time."""


@dataclass(slots=True)
class Patience:
    """Counts failures in a row. After ten failures without any success, leafspan gives up on the summarizer.

    Attributes:
        failures: Number of failed groups in a row.
        last: The last error.
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
        """The error for a group that is not tried any more, or None if leafspan should try the group."""
        if self.failures < MOST_FAILURES or self.last is None:
            return None
        why = f"the summarizer was not asked, since it failed on {self.failures} groups in a row"
        refusal = NotAsked(
            f"{why}, and on no other, the last time with {type(self.last).__name__}: {self.last}; fix it, and build again",
            why,
        )
        refusal.__cause__ = self.last
        return refusal
