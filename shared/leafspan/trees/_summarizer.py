"""The protocols of summarizers and their caches, and when a build gives up on one that always fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from leafspan.embedding import Embed
from leafspan.errors import FunctionFailed
from leafspan.flows import Flow

Keep = Callable[[int, str], Flow[None]]
"""A flow that a summarizer runs for each finished summary, with its group's place and its text.

Several may run at the same time: in worker threads, or in several tasks of an event loop. An error in one ends the work.
"""


class Summarizer(Protocol):
    """Makes a summary of several texts. docs/trees.md lists leafspan's summarizers."""

    @property
    def identity(self) -> str:
        """Text that changes whenever the summarizer would make other summaries of the same texts.

        It is the same in every process, and need not contain the embedder. leafspan caches summaries under this text. So a
        summarizer with another identity makes the summaries again.
        """
        ...

    @property
    def max_input_words(self) -> int:
        """Most words of the texts that one summary is made from, >= 1. A cluster of several texts has no more words."""
        ...

    @property
    def asks(self) -> bool:
        """Whether each summary needs a call of a language model, or of a function that may ask one."""
        ...

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """Summarise each group of texts.

        Args:
            groups: Texts of each group, in the order of the document.
            embed: The embedding flow. An error in it ends the work.
            keep: Flow to run for each summary as soon as it is finished. An error in it ends the work.

        Returns:
            The errors of the failed groups, by the group's place, from 0, in ``groups``.
        """
        ...


class SummaryCache(Protocol):
    """Earlier summaries by key. A key identifies everything that a summary depends on."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of the cached keys."""
        ...

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Keep a text."""
        ...


MOST_FAILURES = 10
"""Most groups that may fail, retries included, before the first success."""


class NotAsked(FunctionFailed):
    """leafspan did not ask the summarizer, which had failed every time."""


@dataclass(slots=True)
class Patience:
    """Counts failures in a row. After ten failures without any success, leafspan gives up on the summarizer."""

    failures: int = 0  # groups that failed; -1 after a success
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
