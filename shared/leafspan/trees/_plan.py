"""What a build of trees needs, from a clusterer and a summarizer to patience with it, and its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from leafspan.checks import check_flag, keep_whole, shown
from leafspan.embedding import Embed
from leafspan.errors import FunctionFailed, InvalidArgument
from leafspan.flows import Flow
from leafspan.language_model import identity_of
from leafspan.trees._clustering import Clusterer


@dataclass(frozen=True, slots=True)
class Plan:
    """How trees are built: the options of ``Index.build_tree``."""

    clusterer: Clusterer
    summarizer: Summarizer
    summarizer_was_given: bool = True
    max_layers: int = 5
    across_documents: bool = False

    def __post_init__(self) -> None:
        keep_whole(self, "max_layers", 1)
        check_flag("across_documents", self.across_documents)
        if not callable(self.clusterer) or isinstance(self.clusterer, type):
            raise InvalidArgument(f"clusterer must be a function such as Bisecting(), got {shown(self.clusterer)}")

    @property
    def identity(self) -> str:
        """Text that differs if a build would make another tree of the same document."""
        clusterer = identity_of(self.clusterer)
        return json.dumps([self.summarizer.identity, self.summarizer.max_input_words, clusterer, self.max_layers])


@dataclass(frozen=True, slots=True)
class FailedSummary:
    """A summary that could not be made.

    Attributes:
        tree: Id of the document whose tree has the summary; "all documents" for a layer above the documents' trees.
        layer: Layer of the summary, >= 1. 0 if leaves of the document are missing.
        error: A ``FunctionFailed`` whose cause is the last error of the summarizer, or an error that says what is wrong
            with the document.
    """

    tree: str
    layer: int
    error: Exception


@dataclass(frozen=True, slots=True)
class TreesBuilt:
    """What ``build_tree`` did.

    Attributes:
        built: Ids of the documents whose trees are new.
        unchanged: Number of documents whose trees are up to date.
        summaries: Number of summaries written.
        asked: Number of different summaries that the summarizer had to make.
        reused: Number of different summaries that had been made before, from the same texts.
        failed: Summaries that failed. Their trees were not written; build again.
    """

    built: tuple[str, ...]
    unchanged: int
    summaries: int
    asked: int
    reused: int
    failed: tuple[FailedSummary, ...]

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"TreesBuilt({len(self.built)} built, {self.unchanged} unchanged, {self.summaries} summaries{failed})"

    @property
    def share_asked(self) -> float:
        """The share of the needed summaries that the summarizer was asked for, in [0, 1]. 0 if no summary was needed."""
        needed = self.asked + self.reused
        return self.asked / needed if needed else 0.0


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

    @property
    def max_input_words(self) -> int:
        """Most words of the texts that one summary is made from, >= 1. A cluster of several texts has no more words."""

    @property
    def asks(self) -> bool:
        """Whether each summary needs a call of a language model, or of a function that may ask one."""

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """Summarise each group of texts.

        Args:
            groups: Texts of each group, in the order of the document.
            embed: The embedding flow. An error in it ends the work.
            keep: Flow to run for each summary as soon as it is finished. An error in it ends the work.

        Returns:
            The errors of the failed groups, by the group's place, from 0, in ``groups``.
        """


MOST_FAILURES = 10  # most groups that may fail, retries included, before the first success


class NotAsked(FunctionFailed):
    """leafspan did not ask the summarizer, which had failed every time."""


@dataclass(slots=True)
class Patience:
    """Counts failures. After ten without any success, leafspan gives up on the summarizer."""

    failures: float = 0  # groups that failed; minus infinity after a success
    last: Exception | None = None

    def note(self, error: Exception | None) -> None:
        """Count a failure, or a success."""
        if error is None:
            self.failures = -inf
        elif not isinstance(error, NotAsked):
            self.failures, self.last = self.failures + 1, error

    @property
    def refusal(self) -> NotAsked | None:
        """The error for a group that is not tried any more, or None if leafspan should try the group."""
        if self.failures < MOST_FAILURES:
            return None
        why = f"the summarizer was not asked, since it failed on {self.failures} groups in a row"
        refusal = NotAsked(
            f"{why}, and on no other, the last time with {type(self.last).__name__}: {self.last}; fix it, and build again",
            why,
        )
        refusal.__cause__ = self.last
        return refusal
