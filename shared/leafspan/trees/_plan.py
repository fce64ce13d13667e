"""What a build of trees is asked for, and its result."""

from __future__ import annotations

import json
from dataclasses import dataclass

from leafspan.checks import check_flag, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.language_model import identity_of
from leafspan.trees._clustering import Clusterer
from leafspan.trees._summarizer import Summarizer


@dataclass(frozen=True, slots=True)
class Plan:
    """How trees are built: see ``Index.build_tree``.

    Raises:
        InvalidArgument: if an option is out of its range.
    """

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
